//! The call frame tables of one file, and the way from an address to its row.
//!
//! `.eh_frame` is indexed by `.eh_frame_hdr`, which the linker sorts; a section without that index
//! (`.debug_frame`, some static programs) gets one by a walk over its entries when the file is opened.
//! Files without section headers are found through PT_GNU_EH_FRAME. Source: LSB 5.0 core, chapter 10.6.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, FrameDescriptionEntry,
    RunTimeEndian, UnwindContext, UnwindSection,
};
use object::elf;

use super::index::{HeaderTable, entries_address};
use super::parts::begins_within_a_function;
use super::registers::Arch;
use super::row::Row;
use crate::Error;
use crate::image::{Elf, Source};

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Unwind information of one file; shared by all processes that map it.
#[derive(Debug)]
pub(crate) struct UnwindTables {
    /// Distinguishes files in the unwinder's cache; unique in this process.
    pub(super) id: u32,
    /// `None` for machines that cannot be unwound; then there are no sections either.
    pub(super) arch: Option<Arch>,
    sections: Vec<FrameSection>,
}

#[derive(Debug)]
struct FrameSection {
    bytes: Vec<u8>,
    bases: BaseAddresses,
    endian: RunTimeEndian,
    index: Index,
    /// Positions of all entries, in order; made at the first question.
    order: OnceLock<Vec<usize>>,
    debug: bool,
}

#[derive(Debug)]
enum Index {
    /// The linker's.
    Header(HeaderTable),
    /// Made by a walk: sorted by start.
    Walked(Vec<Entry>),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    end: u64,
    offset: usize,
}

/// A part of a function that lies elsewhere, and what its unwind entries say where the function is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitPart {
    pub(crate) part: Range<u64>,
    pub(crate) function: Range<u64>,
}

/// Why there is no row for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRow {
    /// No entry covers the address: hand-written code, or a compiler that writes none (Go).
    NotCovered,
    /// The entry is damaged or uses an unknown rule.
    Malformed,
}

impl UnwindTables {
    pub(crate) fn read(elf: &Elf, source: &Source) -> Result<Self, Error> {
        let arch = match elf.machine {
            machine if machine == elf::EM_X86_64.0 && elf.wide => Some(Arch::X86_64),
            machine if machine == elf::EM_AARCH64.0 => Some(Arch::Aarch64),
            _ => None,
        };
        let mut sections = Vec::new();
        if arch.is_some() {
            sections.extend(eh_frame(elf, source)?);
            sections.extend(debug_frame(elf, source)?);
        }
        Ok(Self { id: next_id(), arch, sections })
    }

    /// For files whose tables could not be read.
    pub(crate) fn none() -> Self {
        Self { id: next_id(), arch: None, sections: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.sections.iter().map(FrameSection::memory_bytes).sum()
    }

    /// Extent of the function around an address, as its unwind entry states it.
    pub(crate) fn function(&self, address: u64) -> Option<Range<u64>> {
        self.sections.iter().find_map(|section| section.extent(address))
    }

    /// Extent of the last function that begins at or before an address, by its unwind entry. It may end before
    /// the address.
    pub(crate) fn function_at_or_before(&self, address: u64) -> Option<Range<u64>> {
        let nearest = self.sections.iter().filter_map(|section| section.at_or_before(address));
        nearest.max_by_key(|extent| extent.start)
    }

    /// The part of a function around an address, if its unwind entry looks like one. The first question
    /// sorts the entries.
    pub(crate) fn split_part(&self, address: u64) -> Option<SplitPart> {
        let arch = self.arch?;
        self.sections.iter().find_map(|section| section.split_part(address, arch))
    }

    pub(super) fn row(
        &self,
        address: u64,
        context: &mut UnwindContext<usize>,
    ) -> Result<Row, NoRow> {
        let mut failure = NoRow::NotCovered;
        for section in &self.sections {
            match section.row(address, context) {
                Ok(row) => return Ok(row),
                Err(NoRow::Malformed) => failure = NoRow::Malformed,
                Err(NoRow::NotCovered) => {}
            }
        }
        Err(failure)
    }
}

fn next_id() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn endian(elf: &Elf) -> RunTimeEndian {
    match elf.endian {
        object::Endianness::Little => RunTimeEndian::Little,
        object::Endianness::Big => RunTimeEndian::Big,
    }
}

fn bases(elf: &Elf) -> BaseAddresses {
    let address = |name| elf.section(name).map_or(0, |section| section.address);
    BaseAddresses::default()
        .set_eh_frame(address(".eh_frame"))
        .set_eh_frame_hdr(address(".eh_frame_hdr"))
        .set_text(address(".text"))
        .set_got(address(".got"))
}

fn eh_frame(elf: &Elf, source: &Source) -> Result<Option<FrameSection>, Error> {
    let Some(section) = elf.section(".eh_frame").filter(|section| section.has_bytes()) else {
        return eh_frame_of_segment(elf, source);
    };
    let bytes = elf.bytes(source, section)?;
    let header = elf.bytes_of(source, ".eh_frame_hdr")?;
    Ok(Some(FrameSection::new(bytes, &header, bases(elf), endian(elf), false)))
}

/// Without section headers: the program header leads to the index, and the index to the entries, which
/// reach at most to the end of the segment.
fn eh_frame_of_segment(elf: &Elf, source: &Source) -> Result<Option<FrameSection>, Error> {
    let Some(found) = elf.segments.iter().find(|segment| segment.kind == elf::PT_GNU_EH_FRAME.0)
    else {
        return Ok(None);
    };
    let header = source.read("PT_GNU_EH_FRAME", found.offset, found.file_size)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(found.address);
    let Some(address) = entries_address(&header, found.address, endian(elf)) else {
        return Ok(None);
    };
    let Some((offset, size)) = elf.loaded_bytes(address) else { return Ok(None) };
    let bytes = source.read(".eh_frame", offset, size)?;
    Ok(Some(FrameSection::new(bytes, &header, bases.set_eh_frame(address), endian(elf), false)))
}

fn debug_frame(elf: &Elf, source: &Source) -> Result<Option<FrameSection>, Error> {
    let bytes = elf.bytes_of(source, ".debug_frame")?;
    let section = FrameSection::new(bytes, &[], bases(elf), endian(elf), true);
    Ok((!section.bytes.is_empty()).then_some(section))
}

impl FrameSection {
    fn new(
        bytes: Vec<u8>,
        header: &[u8],
        bases: BaseAddresses,
        endian: RunTimeEndian,
        debug: bool,
    ) -> Self {
        let address = |bases: &gimli::SectionBaseAddresses| bases.section.unwrap_or(0);
        let (at, entries) = (address(&bases.eh_frame_hdr), address(&bases.eh_frame));
        let table = HeaderTable::parse(header, at, entries, endian);
        let index = table.map_or_else(|| Index::Walked(Vec::new()), Index::Header);
        let mut section = Self { bytes, bases, endian, index, order: OnceLock::new(), debug };
        if matches!(section.index, Index::Walked(_)) {
            let mut entries = if debug {
                walk(&section.debug(), &section.bases)
            } else {
                walk(&section.eh(), &section.bases)
            };
            entries.sort_by_key(|entry| (entry.start, entry.offset));
            section.index = Index::Walked(entries);
        }
        section
    }

    fn memory_bytes(&self) -> usize {
        let index = match &self.index {
            Index::Header(table) => table.memory_bytes(),
            Index::Walked(entries) => entries.capacity() * size_of::<Entry>(),
        };
        let order = self.order.get().map_or(0, Vec::capacity);
        self.bytes.capacity() + index + order * size_of::<usize>()
    }

    fn eh(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.bytes, self.endian);
        section.set_address_size(8);
        section
    }

    fn debug(&self) -> DebugFrame<Slice<'_>> {
        let mut section = DebugFrame::new(&self.bytes, self.endian);
        section.set_address_size(8);
        section
    }

    /// Position in the section of the entry that may cover an address.
    fn entry_offset(&self, address: u64) -> Option<usize> {
        match &self.index {
            Index::Header(table) => table.entry(address),
            Index::Walked(entries) => {
                let after = entries.partition_point(|entry| entry.start <= address);
                let entry = entries.get(after.checked_sub(1)?)?;
                (address < entry.end).then_some(entry.offset)
            }
        }
    }

    fn extent(&self, address: u64) -> Option<Range<u64>> {
        self.extent_at(self.entry_offset(address)?).filter(|extent| extent.contains(&address))
    }

    fn at_or_before(&self, address: u64) -> Option<Range<u64>> {
        match &self.index {
            Index::Header(table) => self.extent_at(table.entry(address)?),
            Index::Walked(entries) => {
                let after = entries.partition_point(|entry| entry.start <= address);
                let entry = entries.get(after.checked_sub(1)?)?;
                Some(entry.start..entry.end)
            }
        }
    }

    /// Extent of the function whose entry is at a position of the section.
    fn extent_at(&self, offset: usize) -> Option<Range<u64>> {
        let entry = if self.debug {
            entry_at(&self.debug(), &self.bases, offset)
        } else {
            entry_at(&self.eh(), &self.bases, offset)
        };
        entry.ok().map(|entry| extent_of(&entry))
    }

    fn split_part(&self, address: u64, arch: Arch) -> Option<SplitPart> {
        let offset = self.entry_offset(address)?;
        let order = self.order.get_or_init(|| self.offsets());
        let before = order.get(..order.partition_point(|entry| *entry < offset))?;
        if self.debug {
            split_part_in(&self.debug(), &self.bases, (offset, before), (address, arch))
        } else {
            split_part_in(&self.eh(), &self.bases, (offset, before), (address, arch))
        }
    }

    /// Positions of all entries, in order.
    fn offsets(&self) -> Vec<usize> {
        let mut offsets: Vec<usize> = match &self.index {
            Index::Header(table) => table.entries().collect(),
            Index::Walked(entries) => entries.iter().map(|entry| entry.offset).collect(),
        };
        offsets.sort_unstable();
        offsets
    }

    fn row(&self, address: u64, context: &mut UnwindContext<usize>) -> Result<Row, NoRow> {
        let offset = self.entry_offset(address).ok_or(NoRow::NotCovered)?;
        if self.debug {
            row_in(&self.debug(), &self.bases, offset, address, context)
        } else {
            row_in(&self.eh(), &self.bases, offset, address, context)
        }
    }
}

/// All entries of a section, as far as they can be read.
fn walk<'a, S>(section: &S, bases: &BaseAddresses) -> Vec<Entry>
where
    S: UnwindSection<Slice<'a>>,
{
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(entry) = partial.parse(S::cie_from_offset) else { continue };
        let (start, end) = (entry.initial_address(), entry.end_address());
        // Discarded functions (`--gc-sections`) leave entries at address zero.
        if start != 0 && start < end {
            found.push(Entry { start, end, offset: entry.offset() });
        }
    }
    found
}

fn entry_at<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    offset: usize,
) -> Result<FrameDescriptionEntry<Slice<'a>>, NoRow>
where
    S: UnwindSection<Slice<'a>>,
    S::Offset: From<usize>,
{
    section.fde_from_offset(bases, offset.into(), S::cie_from_offset).map_err(|_| NoRow::Malformed)
}

fn extent_of(entry: &FrameDescriptionEntry<Slice<'_>>) -> Range<u64> {
    entry.initial_address()..entry.end_address()
}

/// The part whose entry is at `offset`; `before` are the entries before it.
fn split_part_in<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    (offset, before): (usize, &[usize]),
    (address, arch): (u64, Arch),
) -> Option<SplitPart>
where
    S: UnwindSection<Slice<'a>>,
    S::Offset: From<usize>,
{
    let is_part = |entry: &_| begins_within_a_function(section, bases, entry, arch);
    let part = entry_at(section, bases, offset).ok()?;
    if !part.contains(address) || !is_part(&part) {
        return None;
    }
    for offset in before.iter().rev() {
        let entry = entry_at(section, bases, *offset).ok()?;
        if !is_part(&entry) {
            return Some(SplitPart { part: extent_of(&part), function: extent_of(&entry) });
        }
    }
    None
}

fn row_in<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    offset: usize,
    address: u64,
    context: &mut UnwindContext<usize>,
) -> Result<Row, NoRow>
where
    S: UnwindSection<Slice<'a>>,
    S::Offset: From<usize>,
{
    let entry = entry_at(section, bases, offset)?;
    if !entry.contains(address) {
        return Err(NoRow::NotCovered);
    }
    let row = entry
        .unwind_info_for_address(section, bases, context, address)
        .map_err(|_| NoRow::Malformed)?;
    let return_address = entry.cie().return_address_register().0;
    Row::decode(section, row, return_address, entry.is_signal_trampoline()).ok_or(NoRow::Malformed)
}
