//! The frame of an ELF file: program headers, section headers, build id, links to debug files.
//!
//! Only headers are read here; section contents are fetched when somebody asks. Both classes and both
//! byte orders go through one generic function over the layouts of the `object` crate, whose reader
//! types are not used because they want the whole file in memory or a cache that a hostile file can
//! grow without bound. Source: System V ABI, gABI chapters 4 and 5.

use std::fmt;

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{CompressionHeader, FileHeader, ProgramHeader, SectionHeader};
use object::{CompressedData, CompressionFormat, Endianness, pod};

use super::source::{LARGEST_PIECE, Source};
use crate::{Error, FileOffset, Svma};

/// More program or section headers than any linker writes (`-ffunction-sections` objects reach some
/// hundred thousand sections; linked files stay under a thousand).
const MOST_HEADERS: u64 = 1 << 20;

/// The linker's hash of a module's content; the identity under which symbols are kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// A build id of 1 to 64 bytes (20 is usual, Go and others use other lengths); `None` otherwise,
    /// and for all zeros, which the kernel writes when it found none.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let usable = (1..=64).contains(&bytes.len()) && bytes.iter().any(|&byte| byte != 0);
        usable.then(|| Self(bytes.into()))
    }

    /// The bytes as stored in the file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether two ids mean the same content. The kernel's records cut or zero-pad ids to 20 bytes, so
    /// the shorter one decides and trailing zeros do not count.
    pub fn matches(&self, other: &Self) -> bool {
        let (a, b) = (trim_zeros(&self.0), trim_zeros(&other.0));
        a == b || (a.len().min(b.len()) >= 20 && a[..20] == b[..20])
    }
}

fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..length]
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

/// One program header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) kind: u32,
    pub(crate) executable: bool,
    pub(crate) offset: u64,
    pub(crate) file_size: u64,
    pub(crate) address: u64,
}

impl Segment {
    fn contains(&self, offset: u64) -> bool {
        offset.checked_sub(self.offset).is_some_and(|within| within < self.file_size)
    }
}

/// One section header.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
}

impl Section {
    pub(crate) fn is_executable(&self) -> bool {
        self.flags & elf::SHF_EXECINSTR.0 != 0
    }

    pub(crate) fn has_bytes(&self) -> bool {
        self.kind != elf::SHT_NOBITS.0 && self.size > 0
    }

    /// Addresses that the section takes when loaded; empty for sections that are not loaded.
    pub(crate) fn range(&self) -> std::ops::Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }
}

/// The headers of one ELF file.
#[derive(Debug)]
pub(crate) struct Elf {
    pub(crate) wide: bool,
    pub(crate) endian: Endianness,
    pub(crate) machine: u16,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
}

impl Elf {
    /// What is loaded of a file of another format, for the questions about addresses.
    pub(super) fn from_segments(machine: u16, wide: bool, segments: Vec<Segment>) -> Self {
        Self { wide, endian: Endianness::Little, machine, segments, sections: Vec::new() }
    }

    pub(crate) fn parse(source: &Source) -> Result<Self, Error> {
        let ident = source.read("ELF identification", 0, 16)?;
        if ident.get(..4) != Some(&elf::ELFMAG[..]) {
            return Err(source.malformed("not an ELF file"));
        }
        match ident.get(4).copied() {
            Some(class) if class == elf::ELFCLASS64.0 => {
                parse_class::<FileHeader64<Endianness>>(source, true)
            }
            Some(class) if class == elf::ELFCLASS32.0 => {
                parse_class::<FileHeader32<Endianness>>(source, false)
            }
            other => Err(source.malformed(format!("unknown ELF class {other:?}"))),
        }
    }

    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of a section, decompressed.
    pub(crate) fn bytes(&self, source: &Source, section: &Section) -> Result<Vec<u8>, Error> {
        if !section.has_bytes() {
            return Ok(Vec::new());
        }
        let raw = source.read(&section.name, section.offset, section.size)?;
        if section.flags & elf::SHF_COMPRESSED.0 == 0 {
            return Ok(raw);
        }
        let unpacked = if self.wide {
            decompress::<elf::CompressionHeader64<Endianness>>(self.endian, &raw)
        } else {
            decompress::<elf::CompressionHeader32<Endianness>>(self.endian, &raw)
        };
        unpacked.map_err(|reason| source.malformed(format!("{}: {reason}", section.name)))
    }

    /// The bytes of a named section; empty when there is none.
    pub(crate) fn bytes_of(&self, source: &Source, name: &str) -> Result<Vec<u8>, Error> {
        self.section(name).map_or(Ok(Vec::new()), |section| self.bytes(source, section))
    }

    /// Where a byte of the file is loaded, by the PT_LOAD table.
    pub(crate) fn svma(&self, offset: FileOffset) -> Option<Svma> {
        let loads = self.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD.0);
        // Small files load one page through two segments (the tail of the code is also the head of the
        // data); the question is always about code, so the executable one is asked first.
        let mut candidates: Vec<&Segment> = loads.collect();
        candidates.sort_by_key(|segment| !segment.executable);
        candidates.into_iter().find_map(|segment| {
            let within = offset
                .0
                .checked_sub(segment.offset)
                .filter(|&within| within < segment.file_size)?;
            segment.address.checked_add(within).map(Svma)
        })
    }

    /// Where in the file an address is loaded from: offset, and bytes from there to the segment's end.
    pub(crate) fn loaded_bytes(&self, address: u64) -> Option<(u64, u64)> {
        let loads = self.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD.0);
        loads.into_iter().find_map(|segment| {
            let within = address.checked_sub(segment.address)?;
            let left = segment.file_size.checked_sub(within).filter(|&left| left > 0)?;
            Some((segment.offset.checked_add(within)?, left))
        })
    }

    /// Where the loaded segment begins that an address of the file's bytes is in.
    pub(crate) fn segment_start(&self, address: u64) -> Option<u64> {
        let mut loads = self.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD.0);
        let holds = |segment: &&Segment| {
            address.checked_sub(segment.address).is_some_and(|within| within < segment.file_size)
        };
        loads.find(holds).map(|segment| segment.address)
    }

    /// As [`svma`](Self::svma), for the start of an executable mapping. The kernel maps whole pages, so the
    /// offset may lie up to a page before the segment's first byte.
    pub(crate) fn mapping_svma(&self, offset: FileOffset) -> Option<Svma> {
        // The largest page size of the machines that we run on (64 KiB on some arm64 kernels).
        const LARGEST_PAGE: u64 = 64 * 1024;
        let code = self
            .segments
            .iter()
            .filter(|segment| segment.kind == elf::PT_LOAD.0 && segment.executable);
        let begins_before = |segment: &&Segment| {
            let before =
                segment.offset.checked_sub(offset.0).filter(|&before| before < LARGEST_PAGE)?;
            Some((before, segment.address.checked_sub(before)?))
        };
        // Two small segments can both lie within a page after the offset: the nearer one was mapped.
        let nearest = code.clone().filter_map(|segment| begins_before(&segment)).min();
        self.svma(offset)
            .filter(|_| code.clone().any(|segment| segment.contains(offset.0)))
            .or(nearest.map(|(_, address)| Svma(address)))
    }

    /// The build id note, from the sections or, without any, from the program headers.
    pub(crate) fn build_id(&self, source: &Source) -> Option<BuildId> {
        let sections = self.sections.iter().filter(|section| section.kind == elf::SHT_NOTE.0);
        let sections = sections.map(|section| (section.offset, section.size));
        let segments = self.segments.iter().filter(|segment| segment.kind == elf::PT_NOTE.0);
        let segments = segments.map(|segment| (segment.offset, segment.file_size));
        sections.chain(segments).find_map(|(offset, size)| {
            // Core dumps have notes of megabytes; a build id stands in the first bytes of a small one.
            let notes = source.read("notes", offset, size.min(64 * 1024)).ok()?;
            build_id_in_notes(&notes, self.endian)
        })
    }
}

/// Finds the GNU build id in a run of notes (name size, description size, type, name, description,
/// each padded to four bytes).
pub(crate) fn build_id_in_notes(notes: &[u8], endian: Endianness) -> Option<BuildId> {
    use object::Endian;
    let word = |at: usize| -> Option<usize> {
        let bytes: [u8; 4] = notes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(endian.read_u32(bytes)).ok()
    };
    let padded = |size: usize| size.checked_add(3).map(|size| size & !3);
    let mut at = 0;
    loop {
        let (name_size, description_size, kind) = (word(at)?, word(at + 4)?, word(at + 8)?);
        let name_at = at + 12;
        let description_at = name_at.checked_add(padded(name_size)?)?;
        let name = notes.get(name_at..name_at.checked_add(name_size)?)?;
        let description =
            notes.get(description_at..description_at.checked_add(description_size)?)?;
        if kind == 3 && name == b"GNU\0" {
            return BuildId::new(description);
        }
        at = description_at.checked_add(padded(description_size)?)?;
    }
}

fn decompress<H>(endian: Endianness, raw: &[u8]) -> Result<Vec<u8>, String>
where
    H: CompressionHeader<Endian = Endianness>,
{
    let (header, data) =
        pod::from_bytes::<H>(raw).map_err(|()| "the compression header is cut short".to_owned())?;
    let kind = header.ch_type(endian);
    let format = if kind == elf::ELFCOMPRESS_ZLIB {
        CompressionFormat::Zlib
    } else if kind == elf::ELFCOMPRESS_ZSTD {
        CompressionFormat::Zstandard
    } else {
        return Err(format!("unknown compression {}", kind.0));
    };
    let uncompressed_size = header.ch_size(endian).into();
    if uncompressed_size > LARGEST_PIECE {
        return Err(format!(
            "{uncompressed_size} bytes when unpacked, the limit is {LARGEST_PIECE}"
        ));
    }
    let data = CompressedData { format, data, uncompressed_size };
    data.decompress().map(std::borrow::Cow::into_owned).map_err(|error| error.to_string())
}

fn parse_class<H>(source: &Source, wide: bool) -> Result<Elf, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let bytes = source.read("ELF header", 0, size_of::<H>() as u64)?;
    let (header, _) = pod::from_bytes::<H>(&bytes)
        .map_err(|()| source.malformed("the ELF header is cut short"))?;
    if !header.is_supported() {
        return Err(source.malformed("unsupported ELF header"));
    }
    let endian = header.endian().map_err(|error| source.malformed(error.to_string()))?;
    let sections = sections::<H>(source, header, endian)?;
    Ok(Elf {
        wide,
        endian,
        machine: header.e_machine(endian).0,
        segments: segments::<H>(source, header, endian)?,
        sections,
    })
}

fn segments<H>(source: &Source, header: &H, endian: Endianness) -> Result<Vec<Segment>, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let (offset, count) = (header.e_phoff(endian).into(), u64::from(header.e_phnum(endian)));
    if offset == 0 {
        return Ok(Vec::new());
    }
    let bytes =
        source.read("program headers", offset, count * size_of::<H::ProgramHeader>() as u64)?;
    let raw = table::<H::ProgramHeader>(&bytes);
    let segments = raw.iter().map(|raw| Segment {
        kind: raw.p_type(endian).0,
        executable: raw.p_flags(endian).0 & elf::PF_X.0 != 0,
        offset: raw.p_offset(endian).into(),
        file_size: raw.p_filesz(endian).into(),
        address: raw.p_vaddr(endian).into(),
    });
    Ok(segments.collect())
}

fn sections<H>(source: &Source, header: &H, endian: Endianness) -> Result<Vec<Section>, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let offset = header.e_shoff(endian).into();
    if offset == 0 {
        return Ok(Vec::new());
    }
    let entry = size_of::<H::SectionHeader>() as u64;
    let mut count = u64::from(header.e_shnum(endian));
    let mut names = u32::from(header.e_shstrndx(endian).0);
    if count == 0 || names == u32::from(elf::SHN_XINDEX.0) {
        // More than 0xff00 sections: the first header holds the true numbers.
        let bytes = source.read("first section header", offset, entry)?;
        if let Some(first) = table::<H::SectionHeader>(&bytes).first() {
            count = if count == 0 { first.sh_size(endian).into() } else { count };
            names =
                if names == u32::from(elf::SHN_XINDEX.0) { first.sh_link(endian) } else { names };
        }
    }
    if count > MOST_HEADERS {
        return Err(source.malformed(format!("{count} section headers")));
    }
    let bytes = source.read("section headers", offset, count * entry)?;
    let raw = table::<H::SectionHeader>(&bytes);
    let names = usize::try_from(names).ok().and_then(|index| raw.get(index));
    let names = match names {
        Some(names) => source.read(
            "section names",
            names.sh_offset(endian).into(),
            names.sh_size(endian).into(),
        )?,
        None => Vec::new(),
    };
    let section = |raw: &H::SectionHeader| Section {
        name: String::from_utf8_lossy(string_at(&names, raw.sh_name(endian))).into_owned(),
        kind: raw.sh_type(endian).0,
        flags: raw.sh_flags(endian).0,
        address: raw.sh_addr(endian).into(),
        offset: raw.sh_offset(endian).into(),
        size: raw.sh_size(endian).into(),
        link: raw.sh_link(endian),
    };
    Ok(raw.iter().map(section).collect())
}

/// As many whole entries as the bytes hold.
pub(crate) fn table<T: pod::Pod>(bytes: &[u8]) -> &[T] {
    let count = bytes.len() / size_of::<T>().max(1);
    pod::slice_from_bytes::<T>(bytes, count).map_or(&[], |(entries, _)| entries)
}

/// The zero-terminated string at an offset of a string table; empty when out of range.
pub(crate) fn string_at(strings: &[u8], at: u32) -> &[u8] {
    let tail = usize::try_from(at).ok().and_then(|at| strings.get(at..)).unwrap_or_default();
    let length = tail.iter().position(|&byte| byte == 0).unwrap_or(tail.len());
    &tail[..length]
}
