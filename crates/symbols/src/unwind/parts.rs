//! Parts of functions that the compiler moved away, told by their unwind entries.
//!
//! ```text
//! code        .text.unlikely: | .. | part of f | ..        .text: | .. | f | g | ..
//! .eh_frame   .. | f: frame as at a call | part: frame as within f | g: frame as at a call | ..
//! ```
//!
//! A compiler writes the entries of one function one behind the other. The first begins with the frame as
//! a call leaves it. A part is entered by jumps, mostly where the frame is set up already, and its entry
//! begins with that. Parts that are entered without a frame look like functions. Code of the linker
//! (`.plt`) looks like a part: whoever asks has to see a jump from the function into the part.

use gimli::{
    BaseAddresses, CfaRule, EndianSlice, FrameDescriptionEntry, Register, RunTimeEndian,
    UnwindContext, UnwindSection,
};

use super::registers::Arch;

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Whether an entry's code begins with another frame than that of a function that was just called.
pub(super) fn begins_within_a_function<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Slice<'a>>,
    arch: Arch,
) -> bool
where
    S: UnwindSection<Slice<'a>>,
{
    // The stack pointer by DWARF number, and what a call pushes.
    let (register, offset) = match arch {
        Arch::X86_64 => (Register(7), 8),
        Arch::Aarch64 => (Register(31), 0),
    };
    let called = CfaRule::RegisterAndOffset { register, offset };
    let mut context = UnwindContext::new();
    let start = entry.initial_address();
    let row = entry.unwind_info_for_address(section, bases, &mut context, start);
    row.is_ok_and(|row| *row.cfa() != called)
}
