//! DWARF expressions in unwind rows.
//!
//! Nearly all are one of two: a register plus a constant (registers saved by a signal trampoline), or the
//! memory at such a place (its frame address, and that of realigned functions). These are taken apart when
//! the row is decoded; anything longer (linkage stubs) runs in gimli's machine. Source: DWARF 5, 2.5.1.

use gimli::{
    EndianSlice, Evaluation, EvaluationResult, Expression, Location, Operation, RunTimeEndian,
    Value,
};

use super::registers::Registers;
use super::unwinder::{StackDump, Truncation};

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Most operations of one expression. Real ones have under ten; a loop in a hostile one would never end.
const MOST_OPERATIONS: u32 = 256;

/// How to compute an address or a value from a frame's registers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Computation {
    /// A register plus a constant.
    Register { register: u8, offset: i64 },
    /// The eight bytes in memory at a register plus a constant.
    Memory { register: u8, offset: i64 },
    /// Anything else.
    Program(Box<[u8]>),
}

const ENCODING: gimli::Encoding =
    gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };

impl Computation {
    pub(super) fn decode(expression: Expression<Slice<'_>>) -> Self {
        let program = || Self::Program(expression.0.slice().into());
        let mut operations = expression.operations(ENCODING);
        let Ok(Some(Operation::RegisterOffset { register, offset, .. })) = operations.next() else {
            return program();
        };
        let Ok(register) = u8::try_from(register.0) else { return program() };
        match (operations.next(), operations.next()) {
            (Ok(None), _) => Self::Register { register, offset },
            (Ok(Some(Operation::Deref { size: 8, space: false, .. })), Ok(None)) => {
                Self::Memory { register, offset }
            }
            _ => program(),
        }
    }

    /// The result. `frame` is the frame address, which register rules find on the expression's stack.
    pub(super) fn run(
        &self,
        registers: &Registers,
        stack: &StackDump<'_>,
        frame: Option<u64>,
    ) -> Result<u64, Truncation> {
        let place = |register, offset| Ok(value(registers, register)?.wrapping_add_signed(offset));
        match self {
            Self::Register { register, offset } => place(*register, *offset),
            Self::Memory { register, offset } => stack.read(place(*register, *offset)?),
            Self::Program(code) => evaluate(code, registers, stack, frame),
        }
    }
}

/// A register as expressions see it: the return address column is the instruction pointer.
fn value(registers: &Registers, register: u8) -> Result<u64, Truncation> {
    if register == registers.arch().return_address() {
        return Ok(registers.instruction_pointer);
    }
    registers.get(register).ok_or(Truncation::RegisterUnknown { register })
}

fn evaluate(
    code: &[u8],
    registers: &Registers,
    stack: &StackDump<'_>,
    frame: Option<u64>,
) -> Result<u64, Truncation> {
    let mut evaluation = Evaluation::new(EndianSlice::new(code, RunTimeEndian::Little), ENCODING);
    evaluation.set_max_iterations(MOST_OPERATIONS);
    if let Some(frame) = frame {
        evaluation.set_initial_value(frame);
    }
    let failed = |_| Truncation::BadRow;
    let mut state = evaluation.evaluate().map_err(failed)?;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let register = u8::try_from(register.0).map_err(|_| Truncation::BadRow)?;
                let value = Value::Generic(value(registers, register)?);
                evaluation.resume_with_register(value).map_err(failed)?
            }
            EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                let value = Value::Generic(stack.read(address)?);
                evaluation.resume_with_memory(value).map_err(failed)?
            }
            _ => return Err(Truncation::BadRow),
        };
    }
    match evaluation.as_result().last().map(|piece| &piece.location) {
        Some(Location::Address { address }) => Ok(*address),
        _ => Err(Truncation::BadRow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Avma};

    fn run(code: &[u8], frame: Option<u64>) -> (Computation, Result<u64, Truncation>) {
        let bytes: Vec<u8> = (0..32).collect();
        let stack = StackDump { base: Avma(0x1000), bytes: &bytes };
        let registers = Registers::new(Arch::X86_64, 0x40_0005, 0x1000, 0x1010);
        let expression = Expression(EndianSlice::new(code, RunTimeEndian::Little));
        let computation = Computation::decode(expression);
        let result = computation.run(&registers, &stack, frame);
        (computation, result)
    }

    #[test]
    fn usual_forms_need_no_machine() {
        // DW_OP_breg7 8
        let (form, value) = run(&[0x77, 8], None);
        assert_eq!((form, value), (Computation::Register { register: 7, offset: 8 }, Ok(0x1008)));
        // DW_OP_breg6 -8, DW_OP_deref
        let (form, value) = run(&[0x76, 0x78, 0x06], None);
        assert_eq!(form, Computation::Memory { register: 6, offset: -8 });
        assert_eq!(value, Ok(u64::from_le_bytes([8, 9, 10, 11, 12, 13, 14, 15])));
    }

    #[test]
    fn the_linkage_tables_expression() {
        // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: eight more once the push is done.
        let code = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        let (form, value) = run(&code, None);
        assert!(matches!(form, Computation::Program(_)));
        assert_eq!(value, Ok(0x1008));
    }

    #[test]
    fn register_rules_find_the_frame_address() {
        // plus_uconst 16 on the frame address.
        assert_eq!(run(&[0x23, 16], Some(0x1000)).1, Ok(0x1010));
        assert_eq!(run(&[0x23, 16], None).1, Err(Truncation::BadRow));
    }

    #[test]
    fn hostile_expressions_end() {
        assert_eq!(run(&[0x2f, 0xfd, 0xff], None).1, Err(Truncation::BadRow), "jumps to itself");
        assert_eq!(run(&[0x73, 0], None).1, Err(Truncation::RegisterUnknown { register: 3 }));
        assert!(run(&[0x77, 0xff, 0xff, 0, 0x06], None).1.is_err(), "beyond the dump");
        assert_eq!(run(&[], None).1, Err(Truncation::BadRow));
    }
}
