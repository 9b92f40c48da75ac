//! What the instructions around an address do with memory that other threads use.
//!
//! A clock's interrupt finds the next instruction to execute, so the costly one is mostly the one
//! before it: `lock xadd` is slow, and the thread is found at what follows. Instructions of x86 have
//! no fixed length, so a function is decoded from its start.
//!
//! Only the file's bytes are looked at. Code that patches itself (the kernel's `lock` prefixes, a
//! debugger's breakpoints) is none that programs and libraries have.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register, UsedRegister,
};
use object::elf;

use super::source::Source;
use super::{FunctionRange, ModuleImage};
use crate::Svma;

/// What a thread that was interrupted at an address was doing with memory that others use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// At or right behind an atomic read and write of a memory cell.
    Atomic,
    /// The same, of a cell whose address stands in the code.
    AtomicFixed,
    /// In a short loop that changes nothing it depends on.
    Spin,
    /// In a short loop with the instruction that tells the processor that it waits.
    Pause,
}

/// Instructions up to which a loop is a short one: loops that wait test one or two cells and count
/// at most; 16 hold a test, a count, a pause and what a compiler adds.
const SHORT_LOOP: usize = 16;

/// Code that is decoded for one address at most; larger functions are generated ones, in which the
/// start is too far away.
pub(super) const MOST_CODE: u64 = 256 * 1024;

/// Code behind the address that is decoded: the longest short loop of x86.
const BEHIND: u64 = 15 * SHORT_LOOP as u64;

/// Descriptors that images keep for their code at most. The usual limit of a process is 1024, and
/// the rings of a recording need the rest; programs with as many libraries are rare.
const MOST_KEPT: usize = 256;

/// How many are kept now.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// A module's file, as long as it may stay open.
#[derive(Debug)]
pub(super) struct Code(Arc<Source>);

impl Code {
    /// Keeps the file, unless too many are.
    pub(super) fn keep(source: Arc<Source>) -> Option<Self> {
        let room = |kept| (kept < MOST_KEPT).then_some(kept + 1);
        KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        Some(Self(source))
    }

    /// The file.
    pub(super) fn source(&self) -> &Arc<Source> {
        &self.0
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ModuleImage {
    /// What a thread does that was interrupted at an address of a function: `None` for most code, and
    /// where that cannot be told. Decodes the function from its start to the address, at some 10 ns an
    /// instruction.
    pub fn instruction(&self, address: Svma, function: FunctionRange) -> Option<Instruction> {
        let within =
            address.0.checked_sub(function.start.0).filter(|within| *within < MOST_CODE)?;
        let size = function.end.0.saturating_sub(function.start.0);
        let size = size.min(within.saturating_add(BEHIND));
        let bytes = self.code_bytes(function.start.0, size)?;
        match self.elf.machine {
            machine if machine == elf::EM_X86_64.0 => x86(&bytes, 64, function.start.0, address.0),
            machine if machine == elf::EM_386.0 => x86(&bytes, 32, function.start.0, address.0),
            machine if machine == elf::EM_AARCH64.0 => aarch64(&bytes, within),
            _ => None,
        }
    }
}

impl ModuleImage {
    /// As many bytes of the code at an address as the file has, up to a size; none where the file does
    /// not load the address or may not stay open.
    pub(super) fn code_bytes(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let (offset, left) = self.elf.loaded_bytes(address)?;
        self.code_source()?.read("code", offset, size.min(left)).ok()
    }

    /// The file, as long as it may stay open.
    pub(super) fn code_source(&self) -> Option<&Source> {
        self.code.as_ref().map(|code| &**code.source())
    }
}

/// The same for code of x86 that begins at `start`.
fn x86(bytes: &[u8], bits: u32, start: u64, address: u64) -> Option<Instruction> {
    let code: Vec<_> =
        Decoder::with_ip(bits, bytes, start, DecoderOptions::NONE).into_iter().collect();
    let at = code.iter().position(|i| i.ip() == address)?;
    let found = smallest_loop(at, code.len(), |j| {
        let branch = &code[j];
        let near = matches!(
            branch.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        let target = branch.near_branch_target();
        near.then(|| code.binary_search_by_key(&target, iced_x86::Instruction::ip).ok()).flatten()
    });
    let body = found.map(|range| &code[range]);
    if let Some(body) = body {
        if body.iter().any(|i| i.mnemonic() == Mnemonic::Pause) {
            return Some(Instruction::Pause);
        }
        if only_waits(body) {
            return Some(Instruction::Spin);
        }
    }
    // What stands before the target of a jump need not have been executed before it, but where it
    // is never passed on from, it was not.
    let before = at.checked_sub(1).map(|before| &code[before]);
    let before = before.filter(|i| i.flow_control() == FlowControl::Next);
    before.into_iter().chain([&code[at]]).find_map(atomic)
}

/// The smallest short loop around the instruction `at` of `count`: `target` tells where one jumps to.
fn smallest_loop(
    at: usize,
    count: usize,
    target: impl Fn(usize) -> Option<usize>,
) -> Option<RangeInclusive<usize>> {
    let ends = at..count.min(at + SHORT_LOOP);
    let loops = ends.filter_map(|end| Some(target(end)?..=end));
    loops
        .filter(|found| *found.start() <= at && found.end() - found.start() < SHORT_LOOP)
        .min_by_key(|found| found.end() - found.start())
}

/// Whether an instruction reads and writes a cell that other threads may use in one step. What is
/// addressed by the stack pointer is the thread's own (`lock or` there is a fence), and so is what a
/// segment register leads to.
fn atomic(instruction: &iced_x86::Instruction) -> Option<Instruction> {
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg
        && [instruction.op0_kind(), instruction.op1_kind()].contains(&OpKind::Memory);
    if !exchanges && !instruction.has_lock_prefix() {
        return None;
    }
    let base = instruction.memory_base();
    let own = matches!(base, Register::RSP | Register::ESP)
        || matches!(instruction.segment_prefix(), Register::FS | Register::GS);
    let fixed = matches!(base, Register::RIP | Register::EIP | Register::None)
        && instruction.memory_index() == Register::None;
    let found = if fixed { Instruction::AtomicFixed } else { Instruction::Atomic };
    (!own).then_some(found)
}

/// Whether a loop only waits: it looks at memory, can be left, calls nothing, stores nothing but by
/// an atomic instruction (a lock that is tried again), and no register takes a value into the next
/// round that this one made. All rounds are the same then until memory changes.
fn only_waits(body: &[iced_x86::Instruction]) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let (mut made, mut needed) = (Vec::new(), Vec::new());
    let (mut looks, mut leaves) = (false, false);
    for instruction in body {
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::UnconditionalBranch => {}
            FlowControl::ConditionalBranch => leaves = true,
            _ => return false,
        }
        let info = factory.info(instruction);
        for memory in info.used_memory() {
            looks |= reads(memory.access());
            if writes(memory.access()) && atomic(instruction).is_none() {
                return false;
            }
        }
        let registers = || info.used_registers().iter().filter(|r| is_general(r));
        for register in registers().filter(|r| reads(r.access())) {
            let register = register.register().full_register();
            if !made.contains(&register) {
                needed.push(register);
            }
        }
        made.extend(
            registers().filter(|r| writes(r.access())).map(|r| r.register().full_register()),
        );
    }
    looks && leaves && !needed.iter().any(|register| made.contains(register))
}

/// True for registers that carry values; segments lead to memory and stay.
fn is_general(register: &UsedRegister) -> bool {
    !register.register().is_segment_register()
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// The same for code of aarch64, whose words are little-endian on every machine. The exclusive pairs
/// are loops themselves: a thread that is found in one is at its store, which decides. Addresses are in
/// registers always.
fn aarch64(bytes: &[u8], within: u64) -> Option<Instruction> {
    let (words, _) = bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let at = usize::try_from(within / 4).ok().filter(|at| *at < words.len())?;
    let target = |j: usize| {
        let jump = arm_jump(words[j])?;
        j.checked_add_signed(isize::try_from(jump).ok()?)
    };
    let found = smallest_loop(at, words.len(), target);
    let body = found.map_or(&[][..], |range| &words[range]);
    if body.iter().copied().any(arm_waits) {
        return Some(Instruction::Pause);
    }
    let near = &words[at.saturating_sub(1)..=at];
    let atomic = near.iter().chain(body).copied().any(arm_atomic);
    atomic.then_some(Instruction::Atomic)
}

/// Distance in words that an instruction jumps, for those that loops end with (Arm Architecture
/// Reference Manual for A-profile, C4.1: B.cond, CBZ and CBNZ, TBZ and TBNZ, B).
fn arm_jump(word: u32) -> Option<i64> {
    let signed = |from: u32, bits: u32| {
        let shifted = (word >> from) << (32 - bits);
        i64::from(shifted.cast_signed() >> (32 - bits))
    };
    if word & 0xff00_0010 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 {
        Some(signed(5, 19))
    } else if word & 0x7e00_0000 == 0x3600_0000 {
        Some(signed(5, 14))
    } else if word & 0xfc00_0000 == 0x1400_0000 {
        Some(signed(0, 26))
    } else {
        None
    }
}

/// YIELD, WFE, or the ISB that compilers emit for a hint, as YIELD does nothing on most cores.
fn arm_waits(word: u32) -> bool {
    matches!(word, 0xd503_203f | 0xd503_205f | 0xd503_3fdf)
}

/// Atomic memory operations, compare and swap, and both halves of exclusive pairs; not LDAPR, LDAR and
/// STLR, which are plain loads and stores with an order.
fn arm_atomic(word: u32) -> bool {
    let operation = word & 0x3b20_0c00 == 0x3820_0000 && word & 0xf000 != 0xc000;
    let swap = word & 0x3fa0_7c00 == 0x08a0_7c00;
    let exclusive = word & 0x3f80_0000 == 0x0800_0000;
    operation || swap || exclusive
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of each instruction boundary of a function at an even address.
    fn told(bytes: &[u8]) -> Vec<Option<Instruction>> {
        let code = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).into_iter();
        code.map(|i| x86(bytes, 64, 0x1000, i.ip())).collect()
    }

    use Instruction::{Atomic, AtomicFixed, Pause, Spin};

    #[test]
    fn an_atomic_instruction_and_what_follows_it() {
        // mov eax, 1; lock xadd [rdi], rax; mov ecx, eax; ret
        let code = [0xb8, 1, 0, 0, 0, 0xf0, 0x48, 0x0f, 0xc1, 0x07, 0x89, 0xc1, 0xc3];
        assert_eq!(told(&code), [None, Some(Atomic), Some(Atomic), None]);
        // lock inc dword [rip+8]; ret: every thread counts in the same cell
        let code = [0xf0, 0xff, 0x05, 8, 0, 0, 0, 0xc3];
        assert_eq!(told(&code), [Some(AtomicFixed), Some(AtomicFixed)]);
        // xchg [rdi], eax; ret: locked without a prefix, and not between two registers
        assert_eq!(told(&[0x87, 0x07, 0xc3]), [Some(Atomic), Some(Atomic)]);
        assert_eq!(told(&[0x87, 0xc8, 0xc3]), [None, None]);
    }

    #[test]
    fn fences_and_thread_local_cells_are_nobody_elses() {
        // lock or dword [rsp], 0; ret
        assert_eq!(told(&[0xf0, 0x83, 0x0c, 0x24, 0, 0xc3]), [None, None]);
        // lock inc dword fs:[rax]; ret
        assert_eq!(told(&[0x64, 0xf0, 0xff, 0x00, 0xc3]), [None, None]);
    }

    #[test]
    fn a_loop_that_tries_until_it_wins_is_atomic_and_no_wait() {
        // mov eax, [rdi]; L: lea edx, [rax+1]; lock cmpxchg [rdi], edx; jne L; ret
        let code = [0x8b, 0x07, 0x8d, 0x50, 0x01, 0xf0, 0x0f, 0xb1, 0x17, 0x75, 0xf7, 0xc3];
        assert_eq!(told(&code), [None, None, Some(Atomic), Some(Atomic), None]);
    }

    #[test]
    fn loops_that_change_nothing_wait() {
        // L: mov eax, [rip+8]; test eax, eax; je L; ret
        let look = [0x8b, 0x05, 8, 0, 0, 0, 0x85, 0xc0, 0x74, 0xf6, 0xc3];
        assert_eq!(told(&look), [Some(Spin), Some(Spin), Some(Spin), None]);
        // L: mov eax, 1; xchg [rdi], eax; test eax, eax; jne L; ret
        let lock = [0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf5, 0xc3];
        assert_eq!(told(&lock)[..4], [Some(Spin); 4]);
        // L: pause; cmp dword [rdi], 0; je L; ret
        let pause = [0xf3, 0x90, 0x83, 0x3f, 0, 0x74, 0xf9, 0xc3];
        assert_eq!(told(&pause), [Some(Pause), Some(Pause), Some(Pause), None]);
    }

    #[test]
    fn loops_that_get_on_by_themselves_do_not() {
        // L: add eax, [rdi]; add rdi, 4; cmp rdi, rsi; jne L; ret: a sum
        let sum = [0x03, 0x07, 0x48, 0x83, 0xc7, 4, 0x48, 0x39, 0xf7, 0x75, 0xf5, 0xc3];
        assert_eq!(told(&sum), [None; 5]);
        // L: mov rdi, [rdi]; test rdi, rdi; jne L; ret: a walk along a list
        let walk = [0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8, 0xc3];
        assert_eq!(told(&walk), [None; 4]);
        // L: mov eax, [rdi]; mov [rsi], eax; test eax, eax; jne L; ret: stores
        let copy = [0x8b, 0x07, 0x89, 0x06, 0x85, 0xc0, 0x75, 0xf8, 0xc3];
        assert_eq!(told(&copy), [None; 5]);
        // L: dec eax; jne L; ret: a delay that looks at nothing
        assert_eq!(told(&[0xff, 0xc8, 0x75, 0xfc, 0xc3]), [None; 3]);
    }

    #[test]
    fn an_address_within_an_instruction_or_outside_tells_nothing() {
        let code = [0xf0, 0xff, 0x05, 8, 0, 0, 0, 0xc3];
        for address in [0x1001, 0x1008, 0xfff] {
            assert_eq!(x86(&code, 64, 0x1000, address), None, "{address:#x}");
        }
        assert_eq!(x86(&[], 64, 0x1000, 0x1000), None);
    }

    #[test]
    fn code_of_aarch64_is_known_by_its_words() {
        let told = |words: &[u32], at: u64| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            aarch64(&bytes, at * 4)
        };
        // ldadd x1, x0, [x2]; ret
        let counts = [0xf821_0040, 0xd65f_03c0];
        assert_eq!((told(&counts, 0), told(&counts, 1)), (Some(Atomic), Some(Atomic)));
        // cas w0, w1, [x2]; ret
        assert_eq!(told(&[0x88a0_7c41, 0xd65f_03c0], 1), Some(Atomic));
        // L: ldxr w0, [x1]; add w0, w0, #1; stxr w2, w0, [x1]; cbnz w2, L; ret
        let pair = [0x885f_7c20, 0x1100_0400, 0x8802_7c20, 0x35ff_ffa2, 0xd65f_03c0];
        let all: Vec<_> = (0..5).map(|at| told(&pair, at)).collect();
        assert_eq!(all, [Some(Atomic), Some(Atomic), Some(Atomic), Some(Atomic), None]);
        // L: yield; ldar w0, [x1]; cbz w0, L; ret
        let waits = [0xd503_203f, 0x88df_fc20, 0x34ff_ffc0, 0xd65f_03c0];
        assert_eq!((told(&waits, 1), told(&waits, 3)), (Some(Pause), None));
        // ldar w0, [x1]; ldapr w0, [x1]; ret
        assert_eq!(told(&[0x88df_fc20, 0xb8bf_c020, 0xd65f_03c0], 1), None);
    }

    #[test]
    fn a_function_of_this_test_is_read_from_its_file() {
        let own = std::env::current_exe().expect("this test");
        let image = std::fs::File::open(&own).expect("it runs");
        let image = ModuleImage::open(image, "own", None).expect("an ELF file");
        let file = std::fs::File::open(&own).expect("it runs");
        let wanted = &mut |name: &str| name.contains("culprit_test_counts");
        let found = super::super::find_functions(file, "own", wanted).expect("an ELF file");
        culprit_test_counts(std::hint::black_box(&AtomicUsize::new(0)));
        let start = image.svma(found[0].offset).expect("it is loaded");
        let end = Svma(start.0 + found[0].size);
        let range = FunctionRange { start, end };
        let told = (start.0..end.0).filter_map(|at| image.instruction(Svma(at), range));
        assert!(told.count() > 0, "an atomic instruction in {} bytes", found[0].size);
    }

    #[inline(never)]
    fn culprit_test_counts(cell: &AtomicUsize) {
        cell.fetch_add(1, Ordering::Relaxed);
    }
}
