//! Which bytes of memory an instruction touched that has just been executed.
//!
//! A watchpoint of the processor stops behind the instruction, so that its start has to be found by decoding its
//! function from the beginning: instructions of x86 have no fixed length. Addresses are computed from the
//! registers as they are then; where the instruction has overwritten one that it needed, the address is unknown.

use iced_x86::{
    Decoder, DecoderOptions, InstructionInfo, InstructionInfoFactory, OpAccess, Register,
    UsedMemory,
};
use object::elf;

use super::instruction::MOST_CODE;
use super::{FunctionRange, ModuleImage};
use crate::{Registers, Svma};

/// Memory that an instruction touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// The first byte; none where a register that it depends on has been overwritten.
    pub start: Option<u64>,
    /// How many bytes.
    pub bytes: u64,
    /// Whether it read them; it may have written as well.
    pub reads: bool,
    /// Whether its function writes whole vectors or strings of bytes elsewhere than to its own stack, as functions
    /// that copy do and those that compare or search do not.
    pub copies: bool,
}

impl ModuleImage {
    /// The memory that the instruction before `behind` touched around the address `watched` of the process. None
    /// where the function cannot be decoded, and for an instruction that touches no such memory.
    pub fn memory_access(
        &self,
        behind: Svma,
        function: FunctionRange,
        registers: &Registers,
        watched: u64,
    ) -> Option<MemoryAccess> {
        let length = behind.0.checked_sub(function.start.0).filter(|length| *length < MOST_CODE)?;
        if self.elf.machine != elf::EM_X86_64.0 {
            return None;
        }
        let whole = function.end.0.saturating_sub(function.start.0).clamp(length, MOST_CODE);
        let bytes = self.code_bytes(function.start.0, whole)?;
        let start = function.start.0;
        let instructions = || Decoder::with_ip(64, &bytes, start, DecoderOptions::NONE).into_iter();
        let last = instructions().find(|instruction| instruction.next_ip() == behind.0)?;
        let mut factory = InstructionInfoFactory::new();
        let access = access(factory.info(&last), registers, watched)?;
        let copies = instructions().any(|one| {
            one.is_string_instruction() && writes(factory.info(&one), 1)
                || writes(factory.info(&one), VECTOR_BYTES)
        });
        Some(MemoryAccess { copies, ..access })
    }
}

/// Bytes of the smallest vector.
const VECTOR_BYTES: usize = 16;

/// Whether an instruction writes so many bytes at a time, not to the stack of its function.
fn writes(info: &InstructionInfo, bytes: usize) -> bool {
    info.used_memory().iter().any(|used| {
        let write = matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        let own = matches!(used.base(), Register::RSP | Register::RBP);
        write && !own && used.memory_size().size() >= bytes
    })
}

/// The access among those of an instruction that touches `watched`.
fn access(info: &InstructionInfo, registers: &Registers, watched: u64) -> Option<MemoryAccess> {
    let candidates = info.used_memory().iter().map(|used| {
        let access = used.access();
        let reads = !matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::None);
        let bytes = u64::try_from(used.memory_size().size()).unwrap_or(0);
        MemoryAccess { start: address(info, used, registers), bytes, reads, copies: false }
    });
    let touches = |access: &MemoryAccess| match access.start {
        Some(start) => start <= watched && watched - start < access.bytes,
        None => true,
    };
    candidates.filter(touches).max_by_key(|access| access.start.is_some())
}

fn address(info: &InstructionInfo, used: &UsedMemory, registers: &Registers) -> Option<u64> {
    let value = |register: Register| {
        if register == Register::None {
            return Some(0);
        }
        let written = info.used_registers().iter().any(|used| {
            let changes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            changes && used.register().full_register() == register.full_register()
        });
        registers.get(dwarf_number(register)?).filter(|_| !written)
    };
    let scaled = value(used.index())?.wrapping_mul(u64::from(used.scale()));
    Some(value(used.base())?.wrapping_add(scaled).wrapping_add(used.displacement()))
}

/// DWARF's number of a general register (System V ABI of x86-64, figure 3.36).
fn dwarf_number(register: Register) -> Option<u8> {
    Some(match register.full_register() {
        Register::RAX => 0,
        Register::RDX => 1,
        Register::RCX => 2,
        Register::RBX => 3,
        Register::RSI => 4,
        Register::RDI => 5,
        Register::RBP => 6,
        Register::RSP => 7,
        Register::R8 => 8,
        Register::R9 => 9,
        Register::R10 => 10,
        Register::R11 => 11,
        Register::R12 => 12,
        Register::R13 => 13,
        Register::R14 => 14,
        Register::R15 => 15,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    fn of(code: &[u8], watched: u64) -> Option<MemoryAccess> {
        let mut registers = Registers::new(Arch::X86_64, 0, 0x7000, 0);
        registers.set(5, 0x1000);
        registers.set(1, 2);
        let instruction = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
        access(InstructionInfoFactory::new().info(&instruction), &registers, watched)
    }

    #[test]
    fn the_first_byte_and_the_size_are_known() {
        // vmovdqu ymm0, [rdi]; movzx eax, byte [rdi+rdx*2+1]; mov byte [rdi], 0
        let vector = of(&[0xc5, 0xfe, 0x6f, 0x07], 0x1005);
        assert_eq!(
            vector,
            Some(MemoryAccess { start: Some(0x1000), bytes: 32, reads: true, copies: false })
        );
        let byte = of(&[0x0f, 0xb6, 0x44, 0x57, 0x01], 0x1005);
        assert_eq!(
            byte,
            Some(MemoryAccess { start: Some(0x1005), bytes: 1, reads: true, copies: false })
        );
        let write = of(&[0xc6, 0x07, 0x00], 0x1000);
        assert_eq!(write.map(|access| access.reads), Some(false));
    }

    #[test]
    fn functions_that_copy_write_vectors() {
        let of = |code: &[u8]| {
            let instruction = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
            writes(InstructionInfoFactory::new().info(&instruction), VECTOR_BYTES)
        };
        // vmovdqu [rdi], ymm0; vmovdqu ymm0, [rdi]; vmovdqu [rsp+16], ymm0; mov [rdi], rax
        assert!(of(&[0xc5, 0xfe, 0x7f, 0x07]));
        assert!(!of(&[0xc5, 0xfe, 0x6f, 0x07]));
        assert!(!of(&[0xc5, 0xfe, 0x7f, 0x44, 0x24, 0x10]));
        assert!(!of(&[0x48, 0x89, 0x07]));
    }

    #[test]
    fn an_overwritten_register_leaves_the_address_unknown() {
        // movzx edi, byte [rdi]; then one that touches another address: mov eax, [rdi]
        let byte = of(&[0x0f, 0xb6, 0x3f], 0x1000);
        assert_eq!(byte, Some(MemoryAccess { start: None, bytes: 1, reads: true, copies: false }));
        assert_eq!(of(&[0x8b, 0x07], 0x2000), None);
    }
}
