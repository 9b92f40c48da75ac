//! Files and lines of methods: Portable PDB files, which compilers of .NET write beside an assembly.
//!
//! ```text
//! assembly, debug directory    id of its PDB
//! PDB, #Pdb                    the same id
//!      Document                a file's name, in parts
//!      MethodDebugInformation  one row for each method of the assembly: file, lines of its instructions
//! ```
//!
//! Source: .NET's `docs/design/specs/PortablePdb-Metadata.md` and `PE-COFF.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bytes::{compressed, size, u32_at};
use super::metadata::{Metadata, streams};
use super::pe::{Directory, Pe};
use super::tables::id;
use crate::image::elf::string_at;
use crate::image::source::Source;

/// The part of an image with entries for debuggers.
const DEBUG: usize = 6;

/// The kind of an entry that names a PDB.
const CODE_VIEW: u32 = 2;

/// A linker writes at most ten entries.
const MOST_ENTRIES: u32 = 64;

/// The largest PDB that is read; that of the C# compiler itself has 5 MiB.
const LARGEST: u64 = 256 << 20;

/// Bytes of a file's name that are kept (`PATH_MAX` of Linux).
const LONGEST_PATH: usize = 4096;

/// Bytes that the names of all files of a PDB may have together.
const MOST_PATHS: usize = 64 << 20;

/// What an assembly says about its PDB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PdbLink {
    /// GUID and time stamp, as both files have them.
    id: [u8; 20],
    /// Where the compiler wrote it.
    path: String,
}

impl PdbLink {
    /// Reads the entry; none where the assembly was compiled without a PDB.
    pub(super) fn read(pe: &Pe, source: &Source) -> Option<Self> {
        let debug = pe.directory(DEBUG)?;
        let debug = Directory { size: debug.size.min(28 * MOST_ENTRIES), ..debug };
        let entries = pe.read(source, "debug directory", debug).ok()?;
        let (entries, _) = entries.as_chunks::<28>();
        entries.iter().find_map(|entry| Self::from_entry(pe, source, entry))
    }

    fn from_entry(pe: &Pe, source: &Source, entry: &[u8]) -> Option<Self> {
        // Version "PM" marks a Portable PDB.
        let portable = u32_at(entry, 8)? >> 16 == 0x504d;
        if u32_at(entry, 12)? != CODE_VIEW || !portable {
            return None;
        }
        let part = Directory { address: u32_at(entry, 20)?, size: u32_at(entry, 16)?.min(4096) };
        let bytes = pe.read(source, "link to the PDB", part).ok()?;
        if !bytes.starts_with(b"RSDS") {
            return None;
        }
        let mut id = [0; 20];
        id.get_mut(..16)?.copy_from_slice(bytes.get(4..20)?);
        id.get_mut(16..)?.copy_from_slice(entry.get(4..8)?);
        let path = String::from_utf8_lossy(string_at(&bytes, 24)).into_owned();
        Some(Self { id, path })
    }

    /// Where the PDB may be: beside the assembly, then where the compiler wrote it.
    pub(super) fn candidates(&self, assembly: &str) -> Vec<PathBuf> {
        let (file, written) = (Path::new(assembly), PathBuf::from(&self.path));
        // An assembly in a program's own file has another name than that file.
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut candidates = vec![file.with_extension("pdb"), file.with_file_name(name)];
        candidates.extend(Some(written).filter(|written| written.is_absolute()));
        candidates.dedup();
        candidates
    }
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::image) struct SourcePlace {
    pub(in crate::image) file: Arc<str>,
    pub(in crate::image) line: u32,
}

/// The lines at which methods begin.
#[derive(Debug)]
pub(super) struct Pdb {
    files: Vec<Arc<str>>,
    /// One entry a method of the assembly: file and line.
    methods: Vec<Option<(u32, u32)>>,
}

impl Pdb {
    /// Reads the PDB of an assembly; none where it is another's, or damaged.
    pub(super) fn read(source: &Source, link: &PdbLink) -> Option<Self> {
        let length = source.length();
        if length > LARGEST {
            return None;
        }
        let bytes = source.read("PDB", 0, length).ok()?;
        let streams = streams(&bytes)?;
        let (_, about) = streams.iter().find(|(name, _)| *name == b"#Pdb")?;
        if about.get(..20)? != link.id {
            return None;
        }
        let metadata = Metadata::parse(&bytes)?;
        let mut left = MOST_PATHS;
        let mut file = |row| {
            let path = file_name(&metadata, row).unwrap_or_default();
            left = left.checked_sub(path.len())?;
            Some(Arc::from(path))
        };
        let files = (1..=metadata.count(id::DOCUMENT)).map_while(&mut file).collect();
        let methods = 1..=metadata.count(id::METHOD_DEBUG);
        let methods = methods.map(|row| first_line(&metadata, row)).collect();
        Some(Self { files, methods })
    }

    /// Where a method begins, by its row.
    pub(super) fn place(&self, method: u32) -> Option<SourcePlace> {
        let (file, line) = (*self.methods.get(size(method.checked_sub(1)?))?)?;
        let file = self.files.get(size(file.checked_sub(1)?))?;
        Some(SourcePlace { file: Arc::clone(file), line }).filter(|_| !file.is_empty())
    }

    /// Bytes that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        let files: usize = self.files.iter().map(|file| file.len()).sum();
        files + self.methods.len() * size_of::<Option<(u32, u32)>>()
    }
}

/// A file's name: a separator, and the parts between which it stands.
fn file_name(metadata: &Metadata<'_>, row: u32) -> Option<String> {
    let blob = metadata.blob(metadata.cell(id::DOCUMENT, row, 0)?)?;
    let (&separator, _) = blob.split_first()?;
    let mut path = Vec::new();
    let mut at = 1;
    while at < blob.len() && path.len() < LONGEST_PATH {
        let (part, next) = compressed(blob, at)?;
        if at > 1 && separator != 0 {
            path.push(separator);
        }
        path.extend_from_slice(
            metadata.blob(part)?.get(..LONGEST_PATH).unwrap_or(metadata.blob(part)?),
        );
        at = next;
    }
    Some(String::from_utf8_lossy(&path).into_owned())
}

/// File and line of a method's first instruction that has a line.
fn first_line(metadata: &Metadata<'_>, row: u32) -> Option<(u32, u32)> {
    let mut file = metadata.cell(id::METHOD_DEBUG, row, 0)?;
    let blob = metadata.blob(metadata.cell(id::METHOD_DEBUG, row, 1)?)?;
    let (_, mut at) = compressed(blob, 0)?;
    if file == 0 {
        (file, at) = compressed(blob, at)?;
    }
    let mut first = true;
    while at < blob.len() {
        let (distance, next) = compressed(blob, at)?;
        let (lines, next) = compressed(blob, next)?;
        if distance == 0 && !first {
            // Not an instruction: what follows is in another file.
            (file, at) = (lines, next);
            continue;
        }
        first = false;
        // Columns of one line or of several: their number of bytes is the same.
        let (columns, next) = compressed(blob, next)?;
        if lines == 0 && columns == 0 {
            // An instruction without a place.
            at = next;
            continue;
        }
        let (line, _) = compressed(blob, next)?;
        return Some((file, line)).filter(|(_, line)| *line > 0);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pdb_is_looked_for_beside_the_assembly_first() {
        let link = |path: &str| PdbLink { id: [1; 20], path: path.to_owned() };
        let candidates = link("/build/obj/app.pdb").candidates("/srv/app.dll");
        assert_eq!(candidates, ["/srv/app.pdb", "/build/obj/app.pdb"].map(PathBuf::from));
        for path in ["app.pdb", "C:\\build\\app.pdb", "/srv/app.pdb"] {
            assert_eq!(link(path).candidates("/srv/app.dll").len(), 1, "{path}");
        }
        let in_program = link("C:\\build\\app.pdb").candidates("/srv/shop.v2");
        assert_eq!(in_program, ["/srv/shop.pdb", "/srv/app.pdb"].map(PathBuf::from));
    }
}
