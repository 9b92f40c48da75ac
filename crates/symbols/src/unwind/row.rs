//! One row of the call frame table: how to get from a frame to its caller.
//!
//! gimli's rows borrow the section and are large (a rule per register number). This form is small, owns
//! its expressions, can be compared, and is what the unwinder keeps. Source: DWARF 5, section 6.4.

use gimli::{
    CfaRule, EndianSlice, Evaluation, EvaluationResult, Location, RegisterRule, RunTimeEndian,
    Value,
};
use gimli::{UnwindSection, UnwindTableRow};

use super::registers::{Arch, COUNT, Registers};
use super::unwinder::{StackDump, Truncation};

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Most operations of one expression. Real ones (signal trampolines, lazy binding) have under ten; a
/// loop in a hostile one would never end.
const MOST_OPERATIONS: u32 = 256;

/// Where the caller's stack pointer stood before the call (the canonical frame address).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cfa {
    Register { register: u8, offset: i64 },
    Expression(Box<[u8]>),
}

/// Where a caller's register is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    /// Not recoverable. As the return address rule: there is no caller.
    Undefined,
    SameValue,
    /// In memory at the frame address plus this.
    AtFrame(i64),
    /// The frame address plus this.
    FramePlus(i64),
    Register(u8),
    /// In memory at the address that the expression computes.
    At(Box<[u8]>),
    /// What the expression computes.
    Computed(Box<[u8]>),
    Constant(u64),
}

/// One decoded row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) cfa: Cfa,
    pub(super) return_address: Rule,
    pub(super) registers: Box<[(u8, Rule)]>,
    /// The frame is a signal trampoline: its caller was interrupted, not calling.
    pub(super) signal: bool,
}

impl Row {
    /// Takes over what matters of a row; `None` for rules that gimli does not know either.
    pub(super) fn decode<'a, S>(
        section: &S,
        row: &UnwindTableRow<usize>,
        return_address: u16,
        signal: bool,
    ) -> Option<Self>
    where
        S: UnwindSection<Slice<'a>>,
    {
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                Cfa::Register { register: u8::try_from(register.0).ok()?, offset: *offset }
            }
            CfaRule::Expression(expression) => {
                Cfa::Expression(expression.get(section).ok()?.0.slice().into())
            }
        };
        let mut registers = Vec::new();
        let mut return_rule = Rule::SameValue;
        for (register, rule) in row.registers() {
            let rule = decode_rule(section, rule)?;
            if register.0 == return_address {
                return_rule = rule;
            } else if let Some(register) =
                u8::try_from(register.0).ok().filter(|&number| usize::from(number) < COUNT)
            {
                registers.push((register, rule));
            }
        }
        // gimli gives no rule for "undefined"; a return address without rule means that there is none.
        if row.register(gimli::Register(return_address)).is_none()
            && arch_has_no_link(return_address)
        {
            return_rule = Rule::Undefined;
        }
        Some(Self { cfa, return_address: return_rule, registers: registers.into(), signal })
    }

    /// Turns the registers of a frame into those of its caller. `Ok(false)`: this was the outermost frame.
    pub(super) fn step(
        &self,
        registers: &mut Registers,
        stack: &StackDump<'_>,
    ) -> Result<bool, Truncation> {
        let arch = registers.arch();
        if self.return_address == Rule::Undefined {
            return Ok(false);
        }
        let frame = match &self.cfa {
            Cfa::Register { register, offset } => {
                let base = registers
                    .get(*register)
                    .ok_or(Truncation::RegisterUnknown { register: *register })?;
                base.wrapping_add_signed(*offset)
            }
            Cfa::Expression(code) => evaluate(code, registers, stack, None)?,
        };
        let scope = Scope { frame, registers, stack };
        let return_address = scope.value(arch.return_address(), &self.return_address)?;
        let mut caller = *registers;
        caller.keep(arch.preserved());
        caller.set(arch.stack_pointer(), frame);
        for (register, rule) in &self.registers {
            // A register that cannot be recovered is unknown; only a frame that needs it fails.
            match scope.value(*register, rule) {
                Ok(value) => caller.set(*register, value),
                Err(_) => caller.forget(*register),
            }
        }
        caller.instruction_pointer = arch.code_address(return_address);
        // In expressions of the caller the column stands for its own instruction pointer.
        caller.set(arch.return_address(), return_address);
        *registers = caller;
        Ok(true)
    }
}

/// On machines with a link register a return address without rule is still in that register.
fn arch_has_no_link(return_address: u16) -> bool {
    return_address == u16::from(Arch::X86_64.return_address())
}

fn decode_rule<'a, S>(section: &S, rule: &RegisterRule<usize>) -> Option<Rule>
where
    S: UnwindSection<Slice<'a>>,
{
    Some(match rule {
        RegisterRule::Undefined => Rule::Undefined,
        RegisterRule::SameValue => Rule::SameValue,
        RegisterRule::Offset(offset) => Rule::AtFrame(*offset),
        RegisterRule::ValOffset(offset) => Rule::FramePlus(*offset),
        RegisterRule::Register(register) => Rule::Register(u8::try_from(register.0).ok()?),
        RegisterRule::Expression(expression) => {
            Rule::At(expression.get(section).ok()?.0.slice().into())
        }
        RegisterRule::ValExpression(expression) => {
            Rule::Computed(expression.get(section).ok()?.0.slice().into())
        }
        RegisterRule::Constant(value) => Rule::Constant(*value),
        _ => return None,
    })
}

/// What rules are evaluated in: the frame address and the callee's registers.
struct Scope<'r, 's> {
    frame: u64,
    registers: &'r Registers,
    stack: &'r StackDump<'s>,
}

impl Scope<'_, '_> {
    fn value(&self, own: u8, rule: &Rule) -> Result<u64, Truncation> {
        let register =
            |register| self.registers.get(register).ok_or(Truncation::RegisterUnknown { register });
        match rule {
            Rule::AtFrame(offset) => self.stack.read(self.frame.wrapping_add_signed(*offset)),
            Rule::FramePlus(offset) => Ok(self.frame.wrapping_add_signed(*offset)),
            Rule::SameValue => register(own),
            Rule::Register(other) => register(*other),
            Rule::At(code) => {
                self.stack.read(evaluate(code, self.registers, self.stack, Some(self.frame))?)
            }
            Rule::Computed(code) => evaluate(code, self.registers, self.stack, Some(self.frame)),
            Rule::Constant(value) => Ok(*value),
            Rule::Undefined => Err(Truncation::RegisterUnknown { register: own }),
        }
    }
}

/// Runs a DWARF expression. `initial` is pushed first (the frame address, for register rules).
fn evaluate(
    code: &[u8],
    registers: &Registers,
    stack: &StackDump<'_>,
    initial: Option<u64>,
) -> Result<u64, Truncation> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let mut evaluation = Evaluation::new(EndianSlice::new(code, RunTimeEndian::Little), encoding);
    evaluation.set_max_iterations(MOST_OPERATIONS);
    if let Some(initial) = initial {
        evaluation.set_initial_value(initial);
    }
    let failed = |_| Truncation::BadRow;
    let mut state = evaluation.evaluate().map_err(failed)?;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let register = u8::try_from(register.0).map_err(|_| Truncation::BadRow)?;
                let value = if register == registers.arch().return_address() {
                    Some(registers.instruction_pointer)
                } else {
                    registers.get(register)
                };
                let value = value.ok_or(Truncation::RegisterUnknown { register })?;
                evaluation.resume_with_register(Value::Generic(value)).map_err(failed)?
            }
            EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                let value = stack.read(address)?;
                evaluation.resume_with_memory(Value::Generic(value)).map_err(failed)?
            }
            _ => return Err(Truncation::BadRow),
        };
    }
    match evaluation.as_result().last().map(|piece| &piece.location) {
        Some(Location::Address { address }) => Ok(*address),
        _ => Err(Truncation::BadRow),
    }
}
