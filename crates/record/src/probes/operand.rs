//! Where a value is when a probe is hit: an argument of a function, or an operand of a static probe.
//!
//! Operands are in the assembler's words, `SIZE@WHERE`, a negative size for signed values: a register
//! (`-4@%edi`), a constant (`8@$5`), memory (`8@-24(%rbp)`). Registers that records hold are read,
//! constants too; memory is not. Source: systemtap's `sys/sdt.h`.

use super::Hit;

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    /// An integer argument, from 0.
    Argument(u8),
    /// So many low bytes of a register, by its `PERF_REG_` number.
    Register(u32, u8),
    /// Always the same.
    Constant(u64),
    /// Where records do not reach.
    Elsewhere,
}

/// Names of registers on x86-64 by their `PERF_REG_` numbers.
#[cfg(target_arch = "x86_64")]
const REGISTERS: [([&str; 4], u32); 8] = [
    (["rax", "eax", "ax", "al"], 0),
    (["rcx", "ecx", "cx", "cl"], 2),
    (["rdx", "edx", "dx", "dl"], 3),
    (["rsi", "esi", "si", "sil"], 4),
    (["rdi", "edi", "di", "dil"], 5),
    (["rsp", "esp", "sp", "spl"], 7),
    (["r8", "r8d", "r8w", "r8b"], 16),
    (["r9", "r9d", "r9w", "r9b"], 17),
];

/// The same on ARM.
#[cfg(target_arch = "aarch64")]
const REGISTERS: [([&str; 2], u32); 8] = [
    (["x0", "w0"], 0),
    (["x1", "w1"], 1),
    (["x2", "w2"], 2),
    (["x3", "w3"], 3),
    (["x4", "w4"], 4),
    (["x5", "w5"], 5),
    (["x6", "w6"], 6),
    (["x7", "w7"], 7),
];

impl Operand {
    /// The operand at a position of a static probe's list, from 0.
    pub(crate) fn of(list: &str, at: u8) -> Self {
        let word = list.split_whitespace().nth(at.into());
        word.and_then(Self::parse).unwrap_or(Self::Elsewhere)
    }

    fn parse(word: &str) -> Option<Self> {
        let (size, place) = word.split_once('@')?;
        let size: i8 = size.parse().ok()?;
        if let Some(number) = place.strip_prefix('$') {
            let number: i64 = number.parse().ok()?;
            return Some(Self::Constant(number.cast_unsigned()));
        }
        let name = place.strip_prefix('%').unwrap_or(place);
        let (_, bit) = REGISTERS.iter().find(|(names, _)| names.contains(&name))?;
        Some(Self::Register(*bit, size.unsigned_abs().clamp(1, 8)))
    }

    /// The value at a hit; none where it was not recorded.
    pub(crate) fn value(self, hit: &Hit<'_>) -> Option<u64> {
        match self {
            Self::Argument(number) => hit.argument(number.into()),
            Self::Register(bit, bytes) => {
                Some(hit.register(bit)? & (u64::MAX >> (64 - 8 * u32::from(bytes))))
            }
            Self::Constant(value) => Some(value),
            Self::Elsewhere => None,
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn operands_are_read_as_the_assembler_writes_them() {
        let list = "8@%rdi -4@%esi 8@$-1 8@-24(%rbp) 4@%r9d";
        let found: Vec<_> = (0..6).map(|at| Operand::of(list, at)).collect();
        assert_eq!(
            found,
            [
                Operand::Register(5, 8),
                Operand::Register(4, 4),
                Operand::Constant(u64::MAX),
                Operand::Elsewhere,
                Operand::Register(17, 4),
                Operand::Elsewhere,
            ]
        );
    }

    #[test]
    fn a_small_operand_is_the_registers_low_bytes() {
        // rax rcx rdx rsi rdi rsp rip r8 r9
        let registers = [0, 0, 0, 0xffff_ffff_0000_0007, 9, 0, 0, 0, 0];
        let mask = crate::probes::PROBE_REGISTERS;
        let hit =
            Hit { registers: &registers, mask, instruction: 0, caller: None, stack_pointer: 0 };
        assert_eq!(Operand::Register(4, 4).value(&hit), Some(7));
        assert_eq!(Operand::Register(5, 8).value(&hit), Some(9));
        assert_eq!(Operand::Elsewhere.value(&hit), None);
    }
}
