//! The frame of a PE file: what is loaded from where, and the directories that lead to .NET's parts.
//!
//! Source: "PE Format" of Microsoft's documentation, and ECMA-335 II.25. Images for Linux have the mark
//! of the system in the machine's number (.NET's `src/coreclr/inc/pedecoder.h`).

use object::elf;

use super::bytes::{size, u16_at, u32_at};
use crate::image::elf::{Elf, Segment};
use crate::image::source::Source;
use crate::{Error, FileOffset};

/// A section whose header has this bit holds code that is executed.
const EXECUTABLE: u32 = 0x2000_0000;

/// What is combined (exclusive or) with the machine's number: Linux, macOS, FreeBSD, NetBSD, illumos;
/// none for Windows and for images of any system.
const SYSTEMS: [u16; 6] = [0, 0x7b79, 0x4644, 0xadc4, 0x1993, 0x1992];

/// Numbers of machines in PE files, and those in ELF files: x86-64, aarch64, x86, ARM.
const MACHINES: [(u16, u16); 4] = [
    (0x8664, elf::EM_X86_64.0),
    (0xaa64, elf::EM_AARCH64.0),
    (0x014c, elf::EM_386.0),
    (0x01c4, elf::EM_ARM.0),
];

/// The largest page of the machines that recordings are made on, which is the one that names them.
pub(super) const PAGE: u64 = if cfg!(target_arch = "x86_64") { 4096 } else { 64 * 1024 };

/// The optional header has 240 bytes; one with more than this is none.
const LARGEST_OPTIONAL_HEADER: u16 = 1024;

/// A part of the image: address relative to its start, and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) address: u32,
    pub(super) size: u32,
}

impl Directory {
    /// The two numbers at a place; none for an empty part.
    pub(super) fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let (address, size) = (u32_at(bytes, at)?, u32_at(bytes, at.checked_add(4)?)?);
        (address != 0 && size != 0).then_some(Self { address, size })
    }
}

/// One section header.
#[derive(Clone, Copy, Debug)]
struct Section {
    address: u32,
    file_offset: u32,
    file_size: u32,
    executable: bool,
}

/// The headers of one PE file.
#[derive(Debug)]
pub(super) struct Pe {
    /// Where in the source it begins.
    base: u64,
    /// The machine, as ELF files number it.
    pub(super) machine: u16,
    wide: bool,
    sections: Vec<Section>,
    directories: Vec<Option<Directory>>,
}

impl Pe {
    /// Reads the headers of a file that begins at a place of the source; none where it is of another format.
    pub(super) fn parse(source: &Source, base: u64) -> Result<Option<Self>, Error> {
        let Ok(start) = source.read("DOS header", base, 64) else { return Ok(None) };
        if !start.starts_with(b"MZ") {
            return Ok(None);
        }
        let at = base.saturating_add(u32_at(&start, 0x3c).unwrap_or(0).into());
        let header = source.read("PE header", at, 24)?;
        if !header.starts_with(b"PE\0\0") {
            return Err(source.malformed("not a PE file"));
        }
        let machine = u16_at(&header, 4).unwrap_or(0);
        let machine = elf_machine(machine)
            .ok_or_else(|| source.malformed(format!("code for an unknown machine {machine:#x}")))?;
        let optional_size = u16_at(&header, 20).unwrap_or(0).min(LARGEST_OPTIONAL_HEADER);
        let optional = source.read("PE optional header", at + 24, optional_size.into())?;
        let wide = u16_at(&optional, 0) == Some(0x20b);
        let count = u64::from(u16_at(&header, 6).unwrap_or(0));
        let sections_at = at + 24 + u64::from(u16_at(&header, 20).unwrap_or(0));
        let sections = source.read("PE sections", sections_at, count * 40)?;
        let (sections, _) = sections.as_chunks::<40>();
        Ok(Some(Self {
            base,
            machine,
            wide,
            sections: sections.iter().filter_map(|raw| section(raw)).collect(),
            directories: directories(&optional, wide),
        }))
    }

    /// One of the image's parts by its number.
    pub(super) fn directory(&self, number: usize) -> Option<Directory> {
        self.directories.get(number).copied().flatten()
    }

    /// The bytes of a part, from the file.
    pub(super) fn read(
        &self,
        source: &Source,
        what: &str,
        part: Directory,
    ) -> Result<Vec<u8>, Error> {
        let inside = |section: &&Section| {
            let within = part.address.checked_sub(section.address)?;
            let left = section.file_size.checked_sub(within)?;
            (part.size <= left).then(|| self.in_source(section).saturating_add(within.into()))
        };
        let offset = self.sections.iter().find_map(|section| inside(&section));
        let offset =
            offset.ok_or_else(|| source.malformed(format!("{what} is not in the file")))?;
        source.read(what, offset, part.size.into())
    }

    /// Where in the source a section begins.
    fn in_source(&self, section: &Section) -> u64 {
        self.base.saturating_add(section.file_offset.into())
    }

    /// How far behind the start of a mapping its code begins, where it is a mapping of this code: whole pages
    /// are mapped.
    pub(super) fn code_behind(&self, mapping: FileOffset) -> Option<u64> {
        let code = self.sections.iter().filter(|section| section.executable);
        let behind = code.filter_map(|section| self.in_source(section).checked_sub(mapping.0));
        behind.filter(|behind| *behind < PAGE).min()
    }

    /// What is loaded, in the form that addresses are looked up in. Addresses are relative to the
    /// image's start.
    pub(super) fn loaded(&self) -> Elf {
        let segment = |section: &Section| Segment {
            kind: elf::PT_LOAD.0,
            executable: section.executable,
            offset: self.in_source(section),
            file_size: section.file_size.into(),
            address: section.address.into(),
        };
        Elf::from_segments(self.machine, self.wide, self.sections.iter().map(segment).collect())
    }
}

fn elf_machine(number: u16) -> Option<u16> {
    let of_system = |system: &u16| {
        let plain = number ^ system;
        MACHINES.iter().find(|(pe, _)| *pe == plain).map(|(_, elf)| *elf)
    };
    SYSTEMS.iter().find_map(of_system)
}

fn section(raw: &[u8]) -> Option<Section> {
    Some(Section {
        address: u32_at(raw, 12)?,
        file_size: u32_at(raw, 16)?,
        file_offset: u32_at(raw, 20)?,
        executable: u32_at(raw, 36)? & EXECUTABLE != 0,
    })
}

fn directories(optional: &[u8], wide: bool) -> Vec<Option<Directory>> {
    let at = if wide { 112 } else { 96 };
    let count = u32_at(optional, at - 4).unwrap_or(0).min(16);
    (0..size(count)).map(|number| Directory::at(optional, at + number * 8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_carry_the_mark_of_their_system() {
        assert_eq!(elf_machine(0x8664), Some(elf::EM_X86_64.0));
        assert_eq!(elf_machine(0x8664 ^ 0x7b79), Some(elf::EM_X86_64.0));
        assert_eq!(elf_machine(0xaa64 ^ 0x7b79), Some(elf::EM_AARCH64.0));
        assert_eq!(elf_machine(0x1234), None);
    }
}
