//! DWARF: inlined frames, files and lines.
//!
//! The sections are held in memory and the parsed form borrows from them; `self_cell` keeps the two
//! together. `addr2line` parses units when an address first falls into them, so the cost is that of the
//! units that were on somebody's stack, not of the file.

use gimli::{EndianSlice, RunTimeEndian, SectionId};
use object::Endianness;

use super::elf::Elf;
use super::source::Source;
use crate::Error;

/// Largest sum of debug sections that is held for one module. Full debug information of a browser is
/// 2 to 3 GiB and would not fit beside the measured program; everything smaller seen so far (clang:
/// 0.9 GiB, rustc: 0.6 GiB) does. Above the limit names still come from the symbol table.
const LARGEST_DEBUG: u64 = 1 << 30;

/// The sections that functions and lines need; variables, types and locations are left on disk.
const NEEDED: [SectionId; 10] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
type Context<'a> = addr2line::Context<Slice<'a>>;

/// The debug sections of a file, and of the supplementary file (`dwz`) that it shares names with.
#[derive(Debug)]
pub(crate) struct DebugSections {
    sections: Vec<(SectionId, Vec<u8>)>,
    endian: RunTimeEndian,
    supplementary: Option<Box<DebugSections>>,
}

impl DebugSections {
    /// Reads what [`NEEDED`] lists. `None` when the file has no line information at all.
    pub(crate) fn read(elf: &Elf, source: &Source) -> Result<Option<Self>, Error> {
        let present: Vec<_> =
            NEEDED.iter().filter_map(|id| Some((*id, elf.section(id.name())?))).collect();
        let has = |wanted| present.iter().any(|(id, section)| *id == wanted && section.has_bytes());
        if !has(SectionId::DebugInfo) {
            return Ok(None);
        }
        let size: u64 =
            present.iter().map(|(_, section)| section.size).fold(0, u64::saturating_add);
        check_size(source, size)?;
        let mut sections = Vec::new();
        for (id, section) in present {
            sections.push((id, elf.bytes(source, section)?));
        }
        check_size(source, sections.iter().map(|(_, bytes)| bytes.len() as u64).sum())?;
        let endian = match elf.endian {
            Endianness::Little => RunTimeEndian::Little,
            Endianness::Big => RunTimeEndian::Big,
        };
        Ok(Some(Self { sections, endian, supplementary: None }))
    }

    pub(crate) fn set_supplementary(&mut self, supplementary: Self) {
        self.supplementary = Some(Box::new(supplementary));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let own: usize = self.sections.iter().map(|(_, bytes)| bytes.capacity()).sum();
        own + self.supplementary.as_ref().map_or(0, |file| file.memory_bytes())
    }

    fn slice(&self, wanted: SectionId) -> Slice<'_> {
        let bytes =
            self.sections.iter().find(|(id, _)| *id == wanted).map_or(&[][..], |(_, bytes)| bytes);
        EndianSlice::new(bytes, self.endian)
    }

    fn context(&self) -> Result<Context<'_>, gimli::Error> {
        let mut dwarf = gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(self.slice(id)))?;
        if let Some(supplementary) = &self.supplementary {
            dwarf.load_sup(|id| Ok::<_, gimli::Error>(supplementary.slice(id)))?;
        }
        Context::from_dwarf(dwarf)
    }
}

fn check_size(source: &Source, size: u64) -> Result<(), Error> {
    if size <= LARGEST_DEBUG {
        return Ok(());
    }
    let what = "debug information".to_owned();
    Err(Error::TooLarge { path: source.path().to_owned(), what, size, limit: LARGEST_DEBUG })
}

self_cell::self_cell!(
    struct Cell {
        owner: DebugSections,
        #[not_covariant]
        dependent: Context,
    }
);

/// Parsed debug information of one file.
pub(crate) struct Lines(Cell);

/// One function at an address: the real one, or one inlined into it.
#[derive(Debug)]
pub(crate) struct LineFrame<'a> {
    /// Linker name where the compiler gave one, else the source name; absent for assembler.
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
}

impl Lines {
    pub(crate) fn parse(sections: DebugSections) -> Result<Self, gimli::Error> {
        Cell::try_new(sections, DebugSections::context).map(Self)
    }

    pub(crate) fn sections(&self) -> &DebugSections {
        self.0.borrow_owner()
    }

    /// Calls `visit` for each frame at the address, innermost first.
    pub(crate) fn frames(
        &self,
        address: u64,
        mut visit: impl FnMut(LineFrame<'_>),
    ) -> Result<(), gimli::Error> {
        if address == u64::MAX {
            return Ok(()); // No code ends behind it, and addr2line adds one.
        }
        self.0.with_dependent(|_, context| {
            // Split units (`-gsplit-dwarf`) are not loaded: their frames keep lines, names come from symbols.
            let mut frames = context.find_frames(address).skip_all_loads()?;
            while let Some(frame) = frames.next()? {
                let location = frame.location;
                visit(LineFrame {
                    name: frame.function.as_ref().map(|function| function.name.slice()),
                    file: location.as_ref().and_then(|location| location.file),
                    line: location.as_ref().and_then(|location| location.line),
                    column: location.as_ref().and_then(|location| location.column),
                });
            }
            Ok(())
        })
    }
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("bytes", &self.sections().memory_bytes())
            .finish_non_exhaustive()
    }
}
