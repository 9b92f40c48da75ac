//! One row of the call frame table: how to get from a frame to its caller.
//!
//! gimli's rows borrow the section and are large (a rule per register number). This form is small, owns
//! its expressions, can be compared, and is what the unwinder keeps. Source: DWARF 5, section 6.4.

use gimli::{CfaRule, EndianSlice, RegisterRule, RunTimeEndian, UnwindSection, UnwindTableRow};

use super::expression::Computation;
use super::registers::{Arch, COUNT, Registers};
use super::unwinder::{StackDump, Truncation};

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

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
    At(Computation),
    /// What the expression computes.
    Computed(Computation),
    Constant(u64),
}

/// One decoded row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Row {
    /// Where the caller's stack pointer stood before the call (the canonical frame address).
    frame: Computation,
    return_address: Rule,
    registers: Box<[(u8, Rule)]>,
    /// Whether a register's rule reads registers; then all must be evaluated before any is changed.
    reads_registers: bool,
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
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                Computation::Register { register: u8::try_from(register.0).ok()?, offset: *offset }
            }
            CfaRule::Expression(expression) => Computation::decode(expression.get(section).ok()?),
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
        let reads_registers = registers.iter().any(|(_, rule)| !rule.is_of_frame());
        let registers = registers.into();
        Some(Self { frame, return_address: return_rule, registers, reads_registers, signal })
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
        let frame = self.frame.run(registers, stack, None)?;
        let return_address =
            Scope { frame, registers, stack }.value(arch.return_address(), &self.return_address)?;
        if self.reads_registers {
            let callee = *registers;
            self.restore(registers, &Scope { frame, registers: &callee, stack });
        } else {
            self.restore_from_frame(registers, frame, stack);
        }
        registers.instruction_pointer = arch.code_address(return_address);
        Ok(true)
    }

    fn restore(&self, registers: &mut Registers, scope: &Scope<'_, '_>) {
        registers.enter_caller(scope.frame);
        for (register, rule) in &self.registers {
            assign(registers, *register, scope.value(*register, rule));
        }
    }

    /// As [`restore`](Self::restore) for the usual row, without a copy of all registers.
    fn restore_from_frame(&self, registers: &mut Registers, frame: u64, stack: &StackDump<'_>) {
        let top = registers.stack_pointer();
        registers.enter_caller(frame);
        for (register, rule) in &self.registers {
            match rule {
                Rule::AtFrame(offset) => {
                    let slot = frame.wrapping_add_signed(*offset);
                    if !was_popped(slot, top) {
                        assign(registers, *register, stack.read(slot));
                    }
                }
                Rule::FramePlus(offset) => {
                    registers.set(*register, frame.wrapping_add_signed(*offset));
                }
                Rule::Constant(value) => registers.set(*register, *value),
                Rule::SameValue => {}
                _ => registers.forget(*register),
            }
        }
    }
}

/// Whether a register's slot lies below the stack pointer. Compilers do not mark in an epilogue which
/// registers were popped already, to save space: the slot is dead then, and the register holds its value.
fn was_popped(slot: u64, stack_pointer: Option<u64>) -> bool {
    stack_pointer.is_some_and(|top| slot < top)
}

impl Rule {
    /// Whether the frame address (and memory) alone decides.
    fn is_of_frame(&self) -> bool {
        matches!(
            self,
            Self::AtFrame(_)
                | Self::FramePlus(_)
                | Self::Constant(_)
                | Self::Undefined
                | Self::SameValue
        )
    }
}

/// Sets a caller's register. One that cannot be recovered is unknown; only a frame that needs it fails.
fn assign(registers: &mut Registers, register: u8, value: Result<u64, Truncation>) {
    match value {
        Ok(value) => registers.set(register, value),
        Err(_) => registers.forget(register),
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
            Rule::At(Computation::decode(expression.get(section).ok()?))
        }
        RegisterRule::ValExpression(expression) => {
            Rule::Computed(Computation::decode(expression.get(section).ok()?))
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
            Rule::AtFrame(offset) => {
                let slot = self.frame.wrapping_add_signed(*offset);
                if was_popped(slot, self.registers.stack_pointer()) {
                    return register(own);
                }
                self.stack.read(slot)
            }
            Rule::FramePlus(offset) => Ok(self.frame.wrapping_add_signed(*offset)),
            Rule::SameValue => register(own),
            Rule::Register(other) => register(*other),
            Rule::At(place) => {
                self.stack.read(place.run(self.registers, self.stack, Some(self.frame))?)
            }
            Rule::Computed(value) => value.run(self.registers, self.stack, Some(self.frame)),
            Rule::Constant(value) => Ok(*value),
            Rule::Undefined => Err(Truncation::RegisterUnknown { register: own }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Avma;

    /// Frame address at the stack pointer plus 8, as between the last `pop` and `ret`.
    fn epilogue(registers: Vec<(u8, Rule)>, reads_registers: bool) -> Row {
        Row {
            frame: Computation::Register { register: 7, offset: 8 },
            return_address: Rule::AtFrame(-8),
            registers: registers.into(),
            reads_registers,
            signal: false,
        }
    }

    #[test]
    fn a_popped_register_keeps_its_value() {
        let bytes = 0x1234u64.to_le_bytes();
        let stack = StackDump { base: Avma(0x1000), bytes: &bytes };
        for reads_registers in [false, true] {
            // The slot of rbp (6) is below the stack pointer and was not copied.
            let row = epilogue(vec![(6, Rule::AtFrame(-16))], reads_registers);
            let mut registers = Registers::new(Arch::X86_64, 1, 0x1000, 77);
            assert_eq!(row.step(&mut registers, &stack), Ok(true));
            assert_eq!(registers.instruction_pointer, 0x1234);
            assert_eq!((registers.get(6), registers.get(7)), (Some(77), Some(0x1008)));
        }
    }

    #[test]
    fn an_unreadable_register_is_unknown_and_an_unreadable_return_address_ends_the_walk() {
        let bytes = 0x1234u64.to_le_bytes();
        let stack = StackDump { base: Avma(0x1000), bytes: &bytes };
        let mut registers = Registers::new(Arch::X86_64, 1, 0x1000, 77);
        let row = epilogue(vec![(6, Rule::AtFrame(16)), (3, Rule::Undefined)], false);
        assert_eq!(row.step(&mut registers, &stack), Ok(true));
        assert_eq!((registers.get(6), registers.get(3)), (None, None));
        let missing = Truncation::StackEnd { address: Avma(0x1008) };
        assert_eq!(row.step(&mut registers, &stack), Err(missing));
    }
}
