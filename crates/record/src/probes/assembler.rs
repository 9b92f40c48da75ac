//! Instructions of the kernel's program machine (BPF), with labels instead of distances.
//!
//! The programs of this crate are short and have no loops, and a compiler for them is on few machines. Source:
//! Documentation/bpf/standardization/instruction-set.rst.

use std::collections::BTreeMap;

/// A register. `R0` holds results, `R1` to `R5` arguments, `R6` to `R9` outlive calls, `FP` is the top of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reg {
    R0 = 0,
    R1 = 1,
    R2 = 2,
    R3 = 3,
    R4 = 4,
    R6 = 6,
    R7 = 7,
    R8 = 8,
    R9 = 9,
    Fp = 10,
}

/// Functions of the kernel, by their numbers (include/uapi/linux/bpf.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    Clock = 5,
    PidTgid = 14,
    ReadUser = 112,
    ReadKernel = 113,
    ReadUserText = 114,
    SequenceWrite = 127,
    RingReserve = 131,
    RingSubmit = 132,
    CopyFromUser = 148,
    TaskRegisters = 175,
}

/// When a jump is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum When {
    Equal = 0x15,
    Above = 0x25,
    NotEqual = 0x55,
    Negative = 0xc5,
    NotPositive = 0xd5,
    Always = 0x05,
}

/// A program that is being written.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<u64>,
    labels: BTreeMap<&'static str, usize>,
    jumps: Vec<(usize, &'static str)>,
}

impl Assembler {
    fn push(&mut self, operation: u8, to: Reg, from: u8, offset: i16, value: i32) -> &mut Self {
        let registers = u64::from(to as u8) | u64::from(from) << 4;
        let offset = u64::from(u16::from_le_bytes(offset.to_le_bytes()));
        let value = u64::from(u32::from_le_bytes(value.to_le_bytes()));
        self.code.push(u64::from(operation) | registers << 8 | offset << 16 | value << 32);
        self
    }

    /// `to = from`
    pub(crate) fn copy(&mut self, to: Reg, from: Reg) -> &mut Self {
        self.push(0xbf, to, from as u8, 0, 0)
    }

    /// `to = value`
    pub(crate) fn set(&mut self, to: Reg, value: i32) -> &mut Self {
        self.push(0xb7, to, 0, 0, value)
    }

    /// `to += value`
    pub(crate) fn add(&mut self, to: Reg, value: i32) -> &mut Self {
        self.push(0x07, to, 0, 0, value)
    }

    /// `to >>= bits`
    pub(crate) fn shift_right(&mut self, to: Reg, bits: i32) -> &mut Self {
        self.push(0x77, to, 0, 0, bits)
    }

    /// `to = FP + offset`
    pub(crate) fn stack(&mut self, to: Reg, offset: i16) -> &mut Self {
        self.copy(to, Reg::Fp).add(to, i32::from(offset))
    }

    /// `to = the map`
    pub(crate) fn map(&mut self, to: Reg, descriptor: i32) -> &mut Self {
        self.push(0x18, to, 1, 0, descriptor).code.push(0);
        self
    }

    /// `to = *(u64 *)(from + offset)`
    pub(crate) fn load(&mut self, to: Reg, from: Reg, offset: i16) -> &mut Self {
        self.push(0x79, to, from as u8, offset, 0)
    }

    /// `to = *(u32 *)(from + offset)`
    pub(crate) fn load_half(&mut self, to: Reg, from: Reg, offset: i16) -> &mut Self {
        self.push(0x61, to, from as u8, offset, 0)
    }

    /// `*(u64 *)(to + offset) = from`
    pub(crate) fn store(&mut self, to: Reg, offset: i16, from: Reg) -> &mut Self {
        self.push(0x7b, to, from as u8, offset, 0)
    }

    /// `*(u32 *)(to + offset) = from`
    pub(crate) fn store_half(&mut self, to: Reg, offset: i16, from: Reg) -> &mut Self {
        self.push(0x63, to, from as u8, offset, 0)
    }

    /// `*(u64 *)(to + offset) = value`
    pub(crate) fn store_value(&mut self, to: Reg, offset: i16, value: i32) -> &mut Self {
        self.push(0x7a, to, 0, offset, value)
    }

    /// `*(u32 *)(to + offset) = value`
    pub(crate) fn store_half_value(&mut self, to: Reg, offset: i16, value: i32) -> &mut Self {
        self.push(0x62, to, 0, offset, value)
    }

    /// `*(u64 *)(to + offset) += from`, whoever else does the same.
    pub(crate) fn add_shared(&mut self, to: Reg, offset: i16, from: Reg) -> &mut Self {
        self.push(0xdb, to, from as u8, offset, 0)
    }

    /// Calls a function of the kernel.
    pub(crate) fn call(&mut self, helper: Helper) -> &mut Self {
        self.push(0x85, Reg::R0, 0, 0, helper as i32)
    }

    /// Goes to a label if `register` compares so with `value`.
    pub(crate) fn jump(
        &mut self,
        when: When,
        register: Reg,
        value: i32,
        label: &'static str,
    ) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(when as u8, register, 0, 0, value)
    }

    /// Goes to a label.
    pub(crate) fn go(&mut self, label: &'static str) -> &mut Self {
        self.jump(When::Always, Reg::R0, 0, label)
    }

    /// The next instruction has this name.
    pub(crate) fn label(&mut self, label: &'static str) -> &mut Self {
        self.labels.insert(label, self.code.len());
        self
    }

    /// Ends the program with a result.
    pub(crate) fn finish(&mut self, result: i32) -> &mut Self {
        self.set(Reg::R0, result).push(0x95, Reg::R0, 0, 0, 0)
    }

    /// The instructions; a jump to a label that does not exist goes nowhere, which the kernel refuses.
    pub(crate) fn build(&self) -> Vec<u64> {
        let mut code = self.code.clone();
        for (at, label) in &self.jumps {
            let Some(to) = self.labels.get(label) else { continue };
            let distance = to.wrapping_sub(at + 1) as u64 & 0xffff;
            if let Some(instruction) = code.get_mut(*at) {
                *instruction |= distance << 16;
            }
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_count_from_the_next_instruction() {
        let mut program = Assembler::default();
        program.set(Reg::R1, -1).jump(When::Equal, Reg::R1, 0, "end").set(Reg::R1, 2);
        program.label("end").finish(0);
        let code = program.build();
        assert_eq!(code[0], 0xffff_ffff_0000_01b7);
        assert_eq!(code[1] >> 16 & 0xffff, 1, "one instruction is skipped");
        assert_eq!(code[4], 0x95);
    }
}
