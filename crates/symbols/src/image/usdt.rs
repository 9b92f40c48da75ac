//! Static probes (USDT): places that a program's author marked for whoever wants to look, with the
//! arguments that can be seen there.
//!
//! Each is a note of type 3 and owner `stapsdt` in the section `.note.stapsdt`: three addresses (the
//! instruction; where the section `.stapsdt.base` was when the program was linked, so that a file
//! moved since can be put right; a counter of listeners or 0), then provider, name and arguments,
//! each ended by a zero. Source: systemtap's `sys/sdt.h` and its page UserSpaceProbeImplementation.

use std::fs::File;

use object::Endianness;

use super::elf::Elf;
use super::source::Source;
use crate::{Error, FileOffset};

/// A static probe of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaticProbe {
    /// The instruction that is marked: a `nop`.
    pub offset: FileOffset,
    /// Where the file's data holds how many listen, for probes that do some work only for listeners.
    pub listeners: Option<FileOffset>,
    /// Who offers it.
    pub provider: String,
    /// What happened.
    pub name: String,
    /// Where the arguments are, in the assembler's words: `-4@%edi 8@-24(%rbp)`.
    pub arguments: String,
}

/// Notes of a section that are read: SystemTap's own tests have thousands, a database some hundred.
const MOST_PROBES: usize = 1 << 16;

/// The static probes of a 64-bit file, ordered by place; none where it offers none.
///
/// # Errors
/// When the file cannot be read or is no ELF file. What makes no sense in a damaged note is left out.
pub fn find_static_probes(file: File, path: &str) -> Result<Vec<StaticProbe>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    let elf = Elf::parse(&source)?;
    if !elf.wide {
        return Ok(Vec::new());
    }
    let notes = match elf.section(".note.stapsdt") {
        Some(section) => elf.bytes(&source, section)?,
        None => return Ok(Vec::new()),
    };
    let base = elf.section(".stapsdt.base").map(|section| section.address);
    let mut found = Vec::new();
    let mut rest = notes.as_slice();
    while let Some((description, after)) = note(rest, elf.endian)
        && found.len() < MOST_PROBES
    {
        found.extend(description.and_then(|bytes| probe(&elf, base, bytes)));
        rest = after;
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The description of the first note where it is of a probe, and what follows the note.
fn note(bytes: &[u8], endian: Endianness) -> Option<(Option<&[u8]>, &[u8])> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        let word = if endian == Endianness::Big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        };
        usize::try_from(word).ok()
    };
    let (owner, length, kind) = (word(0)?, word(4)?, word(8)?);
    let start = 12_usize.checked_add(owner)?.checked_next_multiple_of(4)?;
    let end = start.checked_add(length)?;
    let description = bytes.get(start..end)?;
    let ours = kind == 3 && bytes.get(12..12 + owner)? == b"stapsdt\0";
    let after = bytes.get(end.checked_next_multiple_of(4)?..).unwrap_or_default();
    Some((ours.then_some(description), after))
}

fn probe(elf: &Elf, base: Option<u64>, description: &[u8]) -> Option<StaticProbe> {
    let address = |at: usize| {
        let bytes = description.get(at..at + 8)?.try_into().ok()?;
        Some(match elf.endian {
            Endianness::Big => u64::from_be_bytes(bytes),
            Endianness::Little => u64::from_le_bytes(bytes),
        })
    };
    let (at, linked, counter) = (address(0)?, address(8)?, address(16)?);
    // Prelink moves what the section headers say, and leaves the notes.
    let moved = base.map_or(0, |base| base.wrapping_sub(linked));
    let offset = |address: u64| {
        elf.loaded_bytes(address.wrapping_add(moved)).map(|(offset, _)| FileOffset(offset))
    };
    let mut words = description.get(24..)?.split(|byte| *byte == 0);
    let mut word = || Some(String::from_utf8_lossy(words.next()?).into_owned());
    let (provider, name, arguments) = (word()?, word()?, word()?);
    let listeners = match counter {
        0 => None,
        counter => Some(offset(counter)?),
    };
    Some(StaticProbe { offset: offset(at)?, listeners, provider, name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(owner: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [owner.len(), description.len()] {
            bytes.extend(u32::try_from(word).expect("small").to_le_bytes());
        }
        bytes.extend(kind.to_le_bytes());
        for part in [owner, description] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn notes_follow_each_other_and_others_are_passed_over() {
        let all = [note_of(b"GNU\0", 3, b"other"), note_of(b"stapsdt\0", 3, b"mine")].concat();
        let (first, rest) = note(&all, Endianness::Little).expect("a note");
        assert_eq!(first, None);
        let (second, rest) = note(rest, Endianness::Little).expect("another");
        assert_eq!((second, rest), (Some(&b"mine"[..]), &b""[..]));
        assert_eq!(note(rest, Endianness::Little), None);
    }

    #[test]
    fn damaged_notes_end_the_list() {
        let whole = note_of(b"stapsdt\0", 3, &[1; 40]);
        for end in 0..whole.len() {
            let _ = note(&whole[..end], Endianness::Little);
        }
        let mut huge = whole.clone();
        huge[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(note(&huge, Endianness::Little), None);
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        let own = std::env::current_exe().and_then(File::open).expect("it runs");
        assert!(find_static_probes(own, "own").is_ok());
        assert!(find_static_probes(tempfile::tempfile().expect("room"), "empty").is_err());
    }
}
