//! The walk from the innermost frame outwards.
//!
//! Invariants: each step moves up the stack (or leaves a signal's stack), so every walk ends; a frame that
//! is only a guess is counted; a walk that did not reach the outermost frame says why and where.

use std::ops::Range;

use gimli::UnwindContext;
use rustc_hash::FxHashMap;

use super::generated::{self, GeneratedCode, InterpretedFrame};
use super::registers::{Arch, Registers};
use super::row::Row;
use super::space::UnwindSpace;
use super::tables::NoRow;
use crate::{Avma, CodeAddress, CodeMap};

/// Most frames of one stack: a 64 KiB dump (the kernel's limit) holds at most this many return addresses.
const MOST_FRAMES: usize = 8192;

/// Most remembered addresses; at some 24 bytes each this is 24 MiB. A program with more distinct return
/// addresses than that starts over and decodes again.
const MOST_CACHED: usize = 1 << 20;

/// A copy of a thread's stack.
#[derive(Clone, Copy, Debug)]
pub struct StackDump<'a> {
    /// Address of the first byte: the stack pointer when the copy was made.
    pub base: Avma,
    /// The bytes, upwards from `base`.
    pub bytes: &'a [u8],
}

impl StackDump<'_> {
    /// The eight bytes at an address, if they were copied.
    pub(super) fn read(&self, address: u64) -> Result<u64, Truncation> {
        let at = address.checked_sub(self.base.0).and_then(|at| usize::try_from(at).ok());
        let bytes = at.and_then(|at| self.bytes.get(at..)?.first_chunk::<8>());
        bytes
            .map(|bytes| u64::from_le_bytes(*bytes))
            .ok_or(Truncation::StackEnd { address: Avma(address) })
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The outermost frame of the thread was reached.
    Complete,
    /// The walk stopped before; the frames so far are good.
    Truncated(Truncation),
}

/// Why a walk stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Truncation {
    /// Memory was needed that the copy does not hold: the stack is deeper than the dump.
    #[error("the copied stack ends before {address}")]
    StackEnd {
        /// The address that was needed.
        address: Avma,
    },
    /// The frame's row needs a register whose value was lost on the way or never recorded.
    #[error("the value of register {register} (DWARF number) is unknown")]
    RegisterUnknown {
        /// Its DWARF number.
        register: u8,
    },
    /// The unwind information is damaged or uses something unknown.
    #[error("the unwind information of this address is unusable")]
    BadRow,
    /// No unwind information, and the frame pointer leads nowhere.
    #[error("no unwind information for this address, and its frame pointer is invalid")]
    NoRow,
    /// The caller's frame does not lie above the callee's.
    #[error("the caller's frame is not above this frame")]
    NoProgress,
    /// More frames than a copied stack can hold.
    #[error("more than {MOST_FRAMES} frames")]
    TooDeep,
}

/// The result of a walk, beside the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unwound {
    /// Whether the outermost frame was reached.
    pub outcome: Outcome,
    /// Frames found by following the frame pointer, because nothing better was known: generated code and
    /// code without unwind entries. A function that keeps no frame pointer may be missing among them.
    pub by_frame_pointer: u32,
    /// Whether an unwind entry says that the last frame has no caller. Otherwise a walk is complete where a frame
    /// pointer or a return address is zero, which may be chance.
    pub root_is_stated: bool,
}

/// Decoded rows and scratch memory. One per thread of the analysis; knows nothing of processes.
#[derive(Debug, Default)]
pub struct Unwinder {
    context: Context,
    rows: Vec<Row>,
    row_numbers: FxHashMap<Row, u32>,
    /// By file and address in it.
    known: FxHashMap<(u32, u64), Result<u32, NoRow>>,
    /// Frames of interpreters on the stack that was walked last.
    interpreted: Vec<InterpretedFrame>,
    /// Values that registers have in its frames and that were asked for.
    pointers: Vec<FramePointer>,
}

/// An address that was asked for, held by a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePointer {
    /// Which frame of the walk it is; 0 is the innermost.
    pub depth: usize,
    /// Where in the frame.
    pub place: FramePlace,
    /// The address.
    pub value: u64,
}

/// Where a frame has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FramePlace {
    /// In a register, by its DWARF number.
    Register(u8),
    /// In memory, so many bytes below its caller's stack pointer.
    Slot(u64),
}

/// What to look for in the frames of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Frames of code at these addresses are looked at.
    pub code: &'a [Range<u64>],
    /// Addresses in this range are kept.
    pub values: &'a Range<u64>,
}

/// Most bytes of a frame that are looked at. The loops of interpreters have some hundred.
const LARGEST_FRAME: u64 = 4096;

/// gimli's scratch memory, which has no `Debug`.
#[derive(Default)]
struct Context(UnwindContext<usize>);

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Context")
    }
}

impl Unwinder {
    /// An unwinder that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Walks a stack and appends its frames to `sink`, innermost first. The first is an instruction
    /// pointer, the others are return addresses, but for the frame that a signal interrupted.
    pub fn unwind(
        &mut self,
        space: &UnwindSpace,
        registers: Registers,
        stack: StackDump<'_>,
        sink: &mut Vec<CodeAddress>,
    ) -> Unwound {
        self.unwind_generated((space, &CodeMap::default()), registers, stack, sink)
    }

    /// As [`unwind`](Self::unwind), where runtimes have said how the frames of code look that they
    /// generated. [`interpreted`](Self::interpreted) has what was found of interpreters.
    pub fn unwind_generated(
        &mut self,
        code: (&UnwindSpace, &CodeMap<GeneratedCode>),
        registers: Registers,
        stack: StackDump<'_>,
        sink: &mut Vec<CodeAddress>,
    ) -> Unwound {
        let nothing = Wanted { code: &[], values: &(0..0) };
        self.unwind_looking(code, registers, stack, sink, nothing)
    }

    /// As [`unwind_generated`](Self::unwind_generated). [`pointers`](Self::pointers) has then what is wanted.
    pub fn unwind_looking(
        &mut self,
        (space, generated): (&UnwindSpace, &CodeMap<GeneratedCode>),
        mut registers: Registers,
        stack: StackDump<'_>,
        sink: &mut Vec<CodeAddress>,
        wanted: Wanted<'_>,
    ) -> Unwound {
        let mut here = CodeAddress::InstructionPointer(Avma(registers.instruction_pointer));
        let (mut by_frame_pointer, mut root_is_stated) = (0, false);
        let first = sink.len();
        self.interpreted.clear();
        self.pointers.clear();
        sink.push(here);
        let outcome = loop {
            let below = (registers.stack_pointer(), registers.instruction_pointer);
            let interrupted = is_interrupted(here);
            let depth = sink.len() - first - 1;
            let looked_at = wanted.code.iter().any(|code| code.contains(&here.lookup().0));
            if looked_at {
                self.look_at_registers(&registers, depth, wanted.values);
            }
            let step = self.step((space, generated), (depth, here), &mut registers, &stack);
            if let (true, Some(lowest), Some(caller)) =
                (looked_at, below.0, registers.stack_pointer())
            {
                self.look_at_memory(&stack, lowest..caller, depth, wanted.values);
            }
            match step {
                Ok(Step::Outermost { stated }) => {
                    root_is_stated = stated;
                    break Outcome::Complete;
                }
                Ok(Step::Caller { kind, guessed }) => {
                    if registers.instruction_pointer == 0 {
                        // Hand-made stacks (coroutines, `makecontext`) end with a zero return address.
                        break Outcome::Complete;
                    }
                    if kind == Kind::Call && !advanced(below, &registers, interrupted) {
                        break Outcome::Truncated(Truncation::NoProgress);
                    }
                    by_frame_pointer += u32::from(guessed);
                    here = kind.address(registers.instruction_pointer);
                }
                Err(reason) => break Outcome::Truncated(reason),
            }
            if sink.len() - first >= MOST_FRAMES {
                break Outcome::Truncated(Truncation::TooDeep);
            }
            sink.push(here);
        };
        Unwound { outcome, by_frame_pointer, root_is_stated }
    }

    /// The frames of interpreters on the stack that was walked last, innermost first.
    pub fn interpreted(&self) -> &[InterpretedFrame] {
        &self.interpreted
    }

    /// What was wanted and found on the stack that was walked last, the innermost frame first.
    pub fn pointers(&self) -> &[FramePointer] {
        &self.pointers
    }

    fn look_at_registers(&mut self, registers: &Registers, depth: usize, values: &Range<u64>) {
        let held = registers.known().filter(|(_, value)| values.contains(value));
        self.pointers.extend(held.map(|(register, value)| FramePointer {
            depth,
            place: FramePlace::Register(register),
            value,
        }));
    }

    /// `frame` goes from the stack pointer to that of its caller.
    fn look_at_memory(
        &mut self,
        stack: &StackDump<'_>,
        frame: Range<u64>,
        depth: usize,
        values: &Range<u64>,
    ) {
        let size = frame.end.saturating_sub(frame.start).min(LARGEST_FRAME);
        for below in (8..=size).step_by(8) {
            let value = stack.read(frame.end - below).ok().filter(|value| values.contains(value));
            let place = FramePlace::Slot(below);
            self.pointers.extend(value.map(|value| FramePointer { depth, place, value }));
        }
    }

    fn step(
        &mut self,
        (space, generated): (&UnwindSpace, &CodeMap<GeneratedCode>),
        (depth, here): (usize, CodeAddress),
        registers: &mut Registers,
        stack: &StackDump<'_>,
    ) -> Result<Step, Truncation> {
        let lookup = here.lookup().0;
        let Some(range) = space.find(lookup) else {
            return step_without_row(space, here, registers, stack);
        };
        if range.tables.is_none()
            && let Some((_, code)) = generated.find(lookup)
            && let Some(found) =
                generated::step(space, *code, is_interrupted(here), registers, stack)
        {
            let frame = found.interpreted.map(|frame| InterpretedFrame { depth, ..frame });
            self.interpreted.extend(frame);
            return Ok(Step::Caller { kind: Kind::Call, guessed: false });
        }
        let Some(tables) =
            range.tables.as_ref().filter(|tables| tables.arch == Some(registers.arch()))
        else {
            return step_without_row(space, here, registers, stack);
        };
        let module_address = lookup.wrapping_sub(range.bias);
        let known = self.known.get(&(tables.id, module_address)).copied();
        let number = known.unwrap_or_else(|| {
            let row = tables.row(module_address, &mut self.context.0);
            self.remember((tables.id, module_address), row)
        });
        match number {
            Ok(number) => {
                let row = self.rows.get(number as usize).ok_or(Truncation::BadRow)?;
                let kind = if row.signal { Kind::Signal } else { Kind::Call };
                let more = row.step(registers, stack)?;
                Ok(if more {
                    Step::Caller { kind, guessed: false }
                } else {
                    Step::Outermost { stated: true }
                })
            }
            Err(NoRow::NotCovered) => step_without_row(space, here, registers, stack),
            Err(NoRow::Malformed) => Err(Truncation::BadRow),
        }
    }

    fn remember(&mut self, key: (u32, u64), row: Result<Row, NoRow>) -> Result<u32, NoRow> {
        if self.known.len() >= MOST_CACHED {
            self.known.clear();
            self.row_numbers.clear();
            self.rows.clear();
        }
        let number = row.map(|row| {
            let next = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
            *self.row_numbers.entry(row).or_insert_with_key(|row| {
                self.rows.push(row.clone());
                next
            })
        });
        self.known.insert(key, number);
        number
    }

    /// Distinct rows and remembered addresses, for reports on memory and sharing.
    pub fn cached(&self) -> (usize, usize) {
        (self.rows.len(), self.known.len())
    }
}

/// What one step found.
enum Step {
    Caller { kind: Kind, guessed: bool },
    Outermost { stated: bool },
}

/// How a frame came to be below its caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    Signal,
}

impl Kind {
    fn address(self, instruction_pointer: u64) -> CodeAddress {
        match self {
            Self::Call => CodeAddress::ReturnAddress(Avma(instruction_pointer)),
            Self::Signal => CodeAddress::InstructionPointer(Avma(instruction_pointer)),
        }
    }
}

/// Whether a frame was stopped at an instruction (the innermost one, or one that a signal came into), and
/// not in a call.
fn is_interrupted(here: CodeAddress) -> bool {
    matches!(here, CodeAddress::InstructionPointer(_))
}

/// Whether a caller lies above its callee. Only an interrupted frame may leave the stack pointer as it was
/// (ARM, where the return address needs no memory); anything else would allow a walk without end.
fn advanced(callee: (Option<u64>, u64), caller: &Registers, interrupted: bool) -> bool {
    let (Some(below), instruction_pointer) = callee else { return false };
    let moved = caller.instruction_pointer != instruction_pointer;
    caller
        .stack_pointer()
        .is_some_and(|above| above > below || (interrupted && above == below && moved))
}

/// The caller of a frame without unwind information, in known code only. An interrupted function that has
/// not set up its frame, or never does, has its return address at the stack pointer (on x86-64; on ARM in
/// the link register); this is tried when the frame pointer leads nowhere.
fn step_without_row(
    space: &UnwindSpace,
    here: CodeAddress,
    registers: &mut Registers,
    stack: &StackDump<'_>,
) -> Result<Step, Truncation> {
    let by_frame = frame_pointer_step(space, registers, stack);
    if matches!(by_frame, Ok(Step::Caller { .. })) || !is_interrupted(here) {
        return by_frame;
    }
    bare_step(space, registers, stack).map_or(by_frame, Ok)
}

/// Follows the frame pointer: `[frame pointer]` is the caller's frame pointer, the return address stands
/// above it, on both machines.
fn frame_pointer_step(
    space: &UnwindSpace,
    registers: &mut Registers,
    stack: &StackDump<'_>,
) -> Result<Step, Truncation> {
    let arch = registers.arch();
    let frame = registers.frame_pointer().ok_or(Truncation::NoRow)?;
    if frame == 0 {
        // Both ABIs mark the outermost frame so.
        return Ok(Step::Outermost { stated: false });
    }
    if frame % 8 != 0 || registers.stack_pointer().is_some_and(|top| frame < top) {
        return Err(Truncation::NoRow);
    }
    let caller_frame = stack.read(frame)?;
    let return_address = arch.code_address(stack.read(frame.wrapping_add(8))?);
    if return_address != 0 && !space.is_return_address(Avma(return_address)) {
        return Err(Truncation::NoRow);
    }
    *registers = Registers::new(arch, return_address, frame.wrapping_add(16), caller_frame);
    Ok(Step::Caller { kind: Kind::Call, guessed: true })
}

/// A function without a frame: nothing was pushed since the call.
fn bare_step(
    space: &UnwindSpace,
    registers: &mut Registers,
    stack: &StackDump<'_>,
) -> Option<Step> {
    let arch = registers.arch();
    let top = registers.stack_pointer()?;
    let (return_address, above) = match arch {
        Arch::X86_64 => (stack.read(top).ok()?, top.checked_add(8)?),
        Arch::Aarch64 => (registers.get(arch.return_address())?, top),
    };
    let return_address = arch.code_address(return_address);
    if !space.is_return_address(Avma(return_address)) {
        return None;
    }
    registers.enter_caller(above);
    registers.instruction_pointer = return_address;
    Some(Step::Caller { kind: Kind::Call, guessed: true })
}

#[cfg(test)]
mod tests;
