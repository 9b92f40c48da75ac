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

/// Entries that one question may read: some ms. Units of generated code and of whole programs have more.
const MOST_ENTRIES: usize = 200_000;

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

impl Lines {
    /// Whether the function that begins at an address is said to list its tail calls, and each of them has
    /// a function that it leads to. DWARF 5, section 3.4 (call site entries); the attributes of GNU mean
    /// the same. Linear in the entries of the unit before the function, up to a limit.
    pub(crate) fn lists_tail_calls(&self, start: u64) -> Result<bool, gimli::Error> {
        self.0.with_dependent(|_, context| {
            let Some(unit) = context.find_dwarf_and_unit(start).skip_all_loads() else {
                return Ok(false);
            };
            let mut entries = unit.entries();
            for _ in 0..MOST_ENTRIES {
                let Some(entry) = entries.next_dfs()? else { return Ok(false) };
                if entry.tag() == gimli::DW_TAG_subprogram && begins_at(unit, entry, start)? {
                    let all = [
                        gimli::DW_AT_call_all_calls,
                        gimli::DW_AT_call_all_tail_calls,
                        gimli::DW_AT_GNU_all_call_sites,
                        gimli::DW_AT_GNU_all_tail_call_sites,
                    ];
                    let complete = all.into_iter().any(|name| is_set(entry, name));
                    let depth = entry.depth();
                    return Ok(complete && have_targets(&mut entries, depth)?);
                }
            }
            Ok(false)
        })
    }
}

type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// Whether the first code of a function is at an address.
fn begins_at<'a>(
    unit: gimli::UnitRef<'_, Slice<'a>>,
    function: &Entry<'a>,
    start: u64,
) -> Result<bool, gimli::Error> {
    if let Some(low) = function.attr_value(gimli::DW_AT_low_pc) {
        return Ok(unit.attr_address(low)? == Some(start));
    }
    let mut ranges = unit.die_ranges(function)?;
    Ok(ranges.next()?.is_some_and(|range| range.begin == start))
}

fn is_set(entry: &Entry<'_>, name: gimli::DwAt) -> bool {
    matches!(entry.attr_value(name), Some(gimli::AttributeValue::Flag(true)))
}

/// Whether all tail calls below an entry of this depth, the last that was read, say where they lead.
fn have_targets(
    entries: &mut gimli::EntriesCursor<'_, Slice<'_>>,
    depth: isize,
) -> Result<bool, gimli::Error> {
    for _ in 0..MOST_ENTRIES {
        let Some(entry) = entries.next_dfs()?.filter(|entry| entry.depth() > depth) else {
            return Ok(true);
        };
        let is_site = matches!(entry.tag(), gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site);
        let names = [gimli::DW_AT_call_tail_call, gimli::DW_AT_GNU_tail_call];
        let is_tail_call = is_site && names.into_iter().any(|name| is_set(entry, name));
        // Sites of GNU name the function as what the entry is an instance of.
        let origins = [gimli::DW_AT_call_origin, gimli::DW_AT_abstract_origin];
        let leads = || origins.into_iter().any(|name| entry.attr_value(name).is_some());
        if is_tail_call && !leads() {
            return Ok(false);
        }
    }
    Ok(false)
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("bytes", &self.sections().memory_bytes())
            .finish_non_exhaustive()
    }
}
