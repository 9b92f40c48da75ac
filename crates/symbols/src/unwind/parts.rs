//! Parts of functions that the compiler moved away, told by their unwind entries.
//!
//! ```text
//! code        .text.unlikely: | .. | part of f | ..        .text: | .. | f | g | ..
//! .eh_frame   .. | f: frame as at a call | part: frame as within f | g: frame as at a call | ..
//! ```
//!
//! A compiler writes the entries of one function one behind the other. The first has the frame as the
//! caller left it. A part is entered by jumps, mostly where the frame is set up already: its entry says
//! so before its first instruction. Parts that are entered without a frame look like functions. Code of
//! the linker (`.plt`) looks like a part: whoever asks has to see a jump from the function into the part.

use gimli::{
    BaseAddresses, CallFrameInstruction, EndianSlice, FrameDescriptionEntry, RunTimeEndian,
    UnwindSection,
};

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Whether an entry's code begins with another frame than that of a function that was just called.
pub(super) fn begins_within_a_function<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Slice<'a>>,
) -> bool
where
    S: UnwindSection<Slice<'a>>,
{
    let mut instructions = entry.instructions(section, bases);
    while let Ok(Some(instruction)) = instructions.next() {
        match instruction {
            CallFrameInstruction::AdvanceLoc { .. } | CallFrameInstruction::SetLoc { .. } => break,
            CallFrameInstruction::DefCfa { .. }
            | CallFrameInstruction::DefCfaSf { .. }
            | CallFrameInstruction::DefCfaRegister { .. }
            | CallFrameInstruction::DefCfaOffset { .. }
            | CallFrameInstruction::DefCfaOffsetSf { .. }
            | CallFrameInstruction::DefCfaExpression { .. } => return true,
            _ => {}
        }
    }
    false
}
