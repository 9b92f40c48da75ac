//! .NET programs in one file: the assemblies stand behind the program's own parts, and the runtime maps
//! them from there.
//!
//! ```text
//! ELF file of the runtime        its data have the place of the manifest, and a mark
//! System.Private.CoreLib.dll     files, each somewhere
//! app.dll
//! manifest                       place, size and name of each file
//! ```
//!
//! Compressed assemblies are unpacked into memory: no mapping leads to them. Source: .NET's
//! `src/native/corehost/apphost/bundle_marker.h` and `src/native/corehost/bundle/` (`header.h`,
//! `file_entry.cpp`, `reader.cpp`).

use object::elf;

use super::bytes::{size, u8_at, u32_at, u64_at};
use super::pe::{PAGE, Pe};
use crate::FileOffset;
use crate::image::elf::Elf;
use crate::image::source::Source;

/// What stands behind the place of the manifest: SHA-256 of `.net core bundle`.
pub(super) const MARK: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
    0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// Data of a program in which the mark is looked for: .NET 8 has 0.3 MiB.
const MOST_DATA: u64 = 16 << 20;

/// A manifest of 266 files has 15 KiB.
const LARGEST_MANIFEST: u64 = 16 << 20;

/// Versions of the manifest: that of .NET 5, and that of .NET 6 and newer, in which a file may be compressed.
const PLAIN: u32 = 2;
const WITH_COMPRESSION: u32 = 6;

/// The kind of files that are assemblies.
const ASSEMBLY: u8 = 1;

/// An assembly in a program's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundledAssembly {
    /// Its name: `System.Private.CoreLib.dll`.
    pub name: String,
    /// Where in the program's file it begins.
    pub offset: FileOffset,
    size: u64,
}

/// The assemblies in a program's file.
#[derive(Debug, Default)]
pub(in crate::image) struct Bundle {
    assemblies: Vec<BundledAssembly>,
}

impl Bundle {
    /// Those of an ELF file; none in most.
    pub(in crate::image) fn read(elf: &Elf, source: &Source) -> Self {
        let found = manifest_place(elf, source).and_then(|at| {
            let length = source.length().checked_sub(at)?.min(LARGEST_MANIFEST);
            assemblies(&source.read("manifest", at, length).ok()?)
        });
        Self { assemblies: found.unwrap_or_default() }
    }

    /// The assembly of a name, without its ending.
    pub(in crate::image) fn named(&self, name: &str) -> Option<&BundledAssembly> {
        let is_named =
            |assembly: &&BundledAssembly| assembly.name.strip_suffix(".dll") == Some(name);
        self.assemblies.iter().find(is_named)
    }

    /// The assembly whose code an executable mapping of the file begins with.
    pub(in crate::image) fn find(
        &self,
        source: &Source,
        mapping: FileOffset,
    ) -> Option<&BundledAssembly> {
        let near = self.assemblies.iter().filter(|assembly| {
            let end = assembly.offset.0.saturating_add(assembly.size);
            assembly.offset.0.saturating_sub(PAGE) <= mapping.0 && mapping.0 < end
        });
        let distance = |assembly: &&BundledAssembly| {
            let pe = Pe::parse(source, assembly.offset.0).ok().flatten()?;
            pe.code_behind(mapping)
        };
        // Of two whose code begins in the same page, the nearer one.
        let near = near.filter_map(|assembly| Some((distance(&assembly)?, assembly)));
        near.min_by_key(|(distance, _)| *distance).map(|(_, assembly)| assembly)
    }
}

/// Where the manifest begins, as the data of the program say.
fn manifest_place(elf: &Elf, source: &Source) -> Option<u64> {
    let data = elf.segments.iter().filter(|segment| {
        segment.kind == elf::PT_LOAD.0 && !segment.executable && segment.file_size <= MOST_DATA
    });
    let mut places = data.filter_map(|segment| {
        let bytes = source.read("data", segment.offset, segment.file_size).ok()?;
        let mark = bytes.windows(MARK.len()).position(|window| window == MARK)?;
        u64_at(&bytes, mark.checked_sub(8)?)
    });
    // A host without assemblies has the mark, too.
    places.find(|place| *place != 0)
}

/// What a manifest lists.
fn assemblies(manifest: &[u8]) -> Option<Vec<BundledAssembly>> {
    let version = u32_at(manifest, 0)?;
    if version != PLAIN && version != WITH_COMPRESSION {
        return None;
    }
    let mut reader = Reader { bytes: manifest, at: 8 };
    let count = reader.number()?;
    reader.text()?;
    // Where two of the files are, and flags.
    reader.skip(5 * 8)?;
    let mut assemblies = Vec::new();
    for _ in 0..count {
        let (offset, size) = (reader.long()?, reader.long()?);
        let compressed = version == WITH_COMPRESSION && reader.long()? != 0;
        let kind = reader.byte()?;
        let name = reader.text()?;
        if kind == ASSEMBLY && !compressed {
            assemblies.push(BundledAssembly { name, offset: FileOffset(offset), size });
        }
    }
    Some(assemblies)
}

/// Reads a manifest from its beginning.
#[derive(Debug)]
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn skip(&mut self, count: usize) -> Option<usize> {
        let at = self.at;
        self.at = at.checked_add(count).filter(|end| *end <= self.bytes.len())?;
        Some(at)
    }

    fn byte(&mut self) -> Option<u8> {
        let at = self.skip(1)?;
        u8_at(self.bytes, at)
    }

    fn number(&mut self) -> Option<u32> {
        let at = self.skip(4)?;
        u32_at(self.bytes, at)
    }

    fn long(&mut self) -> Option<u64> {
        let at = self.skip(8)?;
        u64_at(self.bytes, at)
    }

    /// A text behind its length, which has seven bits a byte and at most two bytes.
    fn text(&mut self) -> Option<String> {
        let first = u32::from(self.byte()?);
        let length = if first < 0x80 {
            first
        } else {
            let second = u32::from(self.byte().filter(|byte| *byte < 0x80)?);
            first & 0x7f | second << 7
        };
        let at = self.skip(size(length))?;
        let text = self.bytes.get(at..self.at)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}
