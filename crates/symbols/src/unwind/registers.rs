//! A thread's registers, by DWARF number, with "unknown" as a value of its own.
//!
//! A caller's register that no row restores is unknown, not zero and not what the callee left in it: a
//! row that needs it then fails where it happens instead of leading somewhere else. Sources: System V ABI
//! x86-64 supplement, figures 3.4 and 3.36; AAPCS64 and its DWARF supplement; the kernel's
//! `arch/*/include/uapi/asm/perf_regs.h`.

use std::fmt;

use crate::Avma;

/// A machine that can be unwound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// Highest DWARF number kept, plus one.
pub(super) const COUNT: usize = 33;

impl Arch {
    /// The machine that this program was compiled for, where it can be unwound.
    pub const NATIVE: Option<Self> = if cfg!(target_arch = "x86_64") {
        Some(Self::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Self::Aarch64)
    } else {
        None
    };

    pub(super) const fn stack_pointer(self) -> u8 {
        match self {
            Self::X86_64 => 7,
            Self::Aarch64 => 31,
        }
    }

    pub(super) const fn frame_pointer(self) -> u8 {
        match self {
            Self::X86_64 => 6,
            Self::Aarch64 => 29,
        }
    }

    /// The register that stands for the return address: a column of its own on x86-64 (where it doubles
    /// as the instruction pointer in expressions), the link register on ARM.
    pub(super) const fn return_address(self) -> u8 {
        match self {
            Self::X86_64 => 16,
            Self::Aarch64 => 30,
        }
    }

    /// Registers that a callee hands back as it found them; all others are unknown in the caller.
    pub(super) const fn preserved(self) -> u64 {
        match self {
            // rbx, rbp, r12 to r15.
            Self::X86_64 => 1 << 3 | 1 << 6 | 0b1111 << 12,
            // x19 to x29.
            Self::Aarch64 => ((1 << 11) - 1) << 19,
        }
    }

    /// A return address without the signature that ARM's pointer authentication puts into its upper bits.
    pub(super) const fn code_address(self, value: u64) -> u64 {
        match self {
            Self::X86_64 => value,
            Self::Aarch64 => value & 0x000f_ffff_ffff_ffff,
        }
    }

    /// DWARF number of a register in the kernel's order, `PERF_REG_*`.
    fn dwarf_of_perf(self, index: usize) -> Option<u8> {
        // AX BX CX DX SI DI BP SP IP, then FLAGS and six segments, then R8 to R15.
        const X86_64: [u8; 9] = [0, 3, 2, 1, 4, 5, 6, 7, 16];
        match self {
            Self::X86_64 => match index {
                0..=8 => Some(X86_64[index]),
                16..=23 => u8::try_from(index - 8).ok(),
                _ => None,
            },
            Self::Aarch64 => u8::try_from(index).ok().filter(|&index| index <= 32),
        }
    }
}

/// The registers of one frame. Unset ones are unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    arch: Arch,
    pub(super) instruction_pointer: u64,
    values: [u64; COUNT],
    known: u64,
}

impl Registers {
    /// The three registers that ordinary code needs; the others are unknown.
    pub fn new(
        arch: Arch,
        instruction_pointer: u64,
        stack_pointer: u64,
        frame_pointer: u64,
    ) -> Self {
        let mut registers = Self { arch, instruction_pointer, values: [0; COUNT], known: 0 };
        registers.set(arch.stack_pointer(), stack_pointer);
        registers.set(arch.frame_pointer(), frame_pointer);
        registers
    }

    /// The two registers that are known of a thread that waits; the others are unknown.
    pub fn of_waiting(arch: Arch, instruction_pointer: u64, stack_pointer: u64) -> Self {
        let mut registers = Self::new(arch, instruction_pointer, stack_pointer, 0);
        registers.forget(arch.frame_pointer());
        registers
    }

    /// Registers as a `PERF_SAMPLE_REGS_USER` record holds them: one value for each bit of `mask`, lowest
    /// bit first. `None` when instruction or stack pointer is not among them, or values are missing.
    pub fn from_perf(arch: Arch, mask: u64, values: &[u64]) -> Option<Self> {
        let mut registers = Self { arch, instruction_pointer: 0, values: [0; COUNT], known: 0 };
        let mut values = values.iter();
        for index in (0..64).filter(|index| mask >> index & 1 != 0) {
            let value = *values.next()?;
            if let Some(dwarf) = arch.dwarf_of_perf(index) {
                registers.set(dwarf, value);
            }
        }
        let pointer = match arch {
            Arch::X86_64 => arch.return_address(),
            Arch::Aarch64 => 32,
        };
        registers.instruction_pointer = registers.get(pointer)?;
        registers.stack_pointer().map(|_| registers)
    }

    /// Where the frame stands.
    pub fn instruction_pointer(&self) -> Avma {
        Avma(self.instruction_pointer)
    }

    /// The machine that these registers belong to.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The mask of `PERF_REG_*` bits to ask the kernel for (`sample_regs_user`): all general registers.
    pub const fn perf_mask(arch: Arch) -> u64 {
        match arch {
            Arch::X86_64 => 0x1ff | 0xff << 16,
            Arch::Aarch64 => (1 << 33) - 1,
        }
    }

    /// Sets a register by DWARF number; numbers that no row uses are ignored.
    pub fn set(&mut self, register: u8, value: u64) {
        if let Some(slot) = self.values.get_mut(usize::from(register)) {
            *slot = value;
            self.known |= 1 << register;
        }
    }

    /// The value of a register by DWARF number, if it is known.
    pub fn get(&self, register: u8) -> Option<u64> {
        let value = *self.values.get(usize::from(register))?;
        (self.known >> register & 1 != 0).then_some(value)
    }

    pub(super) fn forget(&mut self, register: u8) {
        if usize::from(register) < COUNT {
            self.known &= !(1 << register);
        }
    }

    /// Before a caller's registers are restored: what a callee may change is unknown, and the stack
    /// pointer is the frame address.
    pub(super) fn enter_caller(&mut self, frame: u64) {
        self.known &= self.arch.preserved();
        self.set(self.arch.stack_pointer(), frame);
    }

    /// Registers whose value is known, by DWARF number.
    pub(super) fn known(&self) -> impl Iterator<Item = (u8, u64)> {
        let known = self.known;
        let numbered = (0_u8..).zip(self.values.iter().copied());
        numbered.filter(move |(register, _)| known >> register & 1 != 0)
    }

    /// Where the frame's stack begins, if it is known.
    pub fn stack_pointer(&self) -> Option<u64> {
        self.get(self.arch.stack_pointer())
    }

    pub(super) fn frame_pointer(&self) -> Option<u64> {
        self.get(self.arch.frame_pointer())
    }
}

impl fmt::Debug for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = (0..COUNT).filter(|register| self.known >> register & 1 != 0);
        let mut map = f.debug_map();
        map.entry(&"ip", &format_args!("{:#x}", self.instruction_pointer));
        for register in known {
            map.entry(&register, &format_args!("{:#x}", self.values[register]));
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_order_becomes_dwarfs() {
        let mask = Registers::perf_mask(Arch::X86_64);
        assert_eq!(mask.count_ones(), 17);
        // Values are their own PERF_REG index.
        let values: Vec<u64> = (0..9).chain(16..24).collect();
        let registers =
            Registers::from_perf(Arch::X86_64, mask, &values).expect("ip and sp are there");
        assert_eq!(registers.instruction_pointer, 8);
        assert_eq!(registers.stack_pointer(), Some(7));
        assert_eq!(registers.frame_pointer(), Some(6));
        assert_eq!(registers.get(3), Some(1), "rbx is 3 in DWARF, 1 in perf");
        assert_eq!(registers.get(8), Some(16), "r8");
        assert_eq!(registers.get(15), Some(23), "r15");
        assert_eq!(
            Registers::from_perf(Arch::X86_64, mask, &values[..5]),
            None,
            "values are missing"
        );
        assert_eq!(Registers::from_perf(Arch::X86_64, 0b111, &[1, 2, 3]), None, "no ip");
    }

    #[test]
    fn what_was_never_set_is_unknown() {
        let mut registers = Registers::new(Arch::X86_64, 1, 2, 3);
        assert_eq!(registers.get(3), None);
        registers.set(3, 9);
        assert_eq!(registers.get(3), Some(9));
        registers.set(0, 5);
        registers.enter_caller(16);
        assert_eq!(
            (registers.get(0), registers.get(3), registers.get(7)),
            (None, Some(9), Some(16))
        );
        registers.forget(3);
        registers.set(200, 1);
        assert_eq!((registers.get(3), registers.get(200)), (None, None));
    }
}
