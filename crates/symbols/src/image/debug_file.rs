//! Symbols and lines kept outside the module: separate debug files, `dwz` files, MiniDebugInfo.
//!
//! Distributions strip programs and ship the rest apart. The search order is gdb's ("Debugging
//! Information in Separate Files" in its manual): by build id, then by the name in `.gnu_debuglink`
//! beside the program, in `.debug/` and below `/usr/lib/debug`. A file counts only when its build id or
//! CRC agrees; the paths are the target's, and the caller opens them through the target's root.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::elf::{BuildId, Elf, string_at};
use super::source::Source;
use super::symtab::SymbolTable;
use super::{ModuleImage, Problem, static_table};
use crate::Error;

/// Where distributions put debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Largest unpacked `.gnu_debugdata`; the one of Fedora's largest program (Firefox) has about 20 MiB.
const LARGEST_MINIDEBUG: u64 = 256 << 20;

/// The decoder's memory, KiB: `xz -9` needs 64 MiB, the format allows 4 GiB.
const XZ_MEMORY_KIB: u32 = 128 * 1024;

/// Where the module's separate debug file may be, best first.
pub(super) fn candidates(image: &ModuleImage) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = image.build_id().and_then(build_id_path).into_iter().collect();
    if let Some((name, _)) = &image.debug_link {
        let folder = Path::new(image.path()).parent().unwrap_or(Path::new("/"));
        paths.push(folder.join(name));
        paths.push(folder.join(".debug").join(name));
        let below = folder.strip_prefix("/").unwrap_or(folder);
        paths.push(Path::new(DEBUG_ROOT).join(below).join(name));
    }
    // A link that names the program itself (`objcopy --add-gnu-debuglink` on an unstripped one).
    paths.retain(|path| path != Path::new(image.path()));
    paths
}

fn build_id_path(id: &BuildId) -> Option<PathBuf> {
    let text = id.to_string();
    let (folder, name) = text.split_at_checked(2)?;
    Some(Path::new(DEBUG_ROOT).join(".build-id").join(folder).join(format!("{name}.debug")))
}

/// Name and CRC from `.gnu_debuglink`. Names with a slash are refused: they are file names by definition,
/// and a hostile one could point anywhere.
pub(super) fn debug_link(elf: &Elf, source: &Source) -> Option<(String, u32)> {
    let bytes = elf.bytes_of(source, ".gnu_debuglink").ok()?;
    let name = std::str::from_utf8(string_at(&bytes, 0)).ok()?.to_owned();
    let crc: [u8; 4] = bytes.get((name.len() + 4) & !3..)?.get(..4)?.try_into().ok()?;
    let crc = match elf.endian {
        object::Endianness::Little => u32::from_le_bytes(crc),
        object::Endianness::Big => u32::from_be_bytes(crc),
    };
    (!name.is_empty() && !name.contains('/')).then_some((name, crc))
}

/// See [`ModuleImage::attach_debug_files`].
pub(super) fn attach(image: &mut ModuleImage, open: &mut dyn FnMut(&Path) -> Option<File>) {
    let complete = image.elf.section(".symtab").is_some();
    let has_lines = image.resolver.get_mut().is_ok_and(|resolver| resolver.has_lines());
    if complete && has_lines {
        return;
    }
    for path in candidates(image) {
        let Some(file) = open(&path) else { continue };
        match attach_one(image, file, &path, open) {
            Ok(()) => return,
            Err(error) => {
                image.problems.push(Problem { part: "debug-file", reason: error.to_string() })
            }
        }
    }
}

fn attach_one(
    image: &mut ModuleImage,
    file: File,
    path: &Path,
    open: &mut dyn FnMut(&Path) -> Option<File>,
) -> Result<(), Error> {
    let (source, _) = Source::from_file(file, &path.to_string_lossy())?;
    let elf = Elf::parse(&source)?;
    belongs(image, &elf, &source)?;
    let table = static_table(&elf, &source)?;
    if !table.is_empty() {
        image.tables.insert(0, table);
    }
    let supplementary = supplementary(&elf, &source, path, open);
    if let Ok(resolver) = image.resolver.get_mut()
        && !resolver.has_lines()
    {
        resolver.set_debug_file(elf, source, supplementary);
    }
    Ok(())
}

/// Checks by build id where both have one, else by the CRC of the link.
fn belongs(image: &ModuleImage, elf: &Elf, source: &Source) -> Result<(), Error> {
    if let Some(expected) = &image.build_id
        && let Some(found) = elf.build_id(source)
    {
        let path = source.path().to_owned();
        let mismatch = || Error::BuildIdMismatch {
            path,
            expected: expected.clone(),
            found: Some(found.clone()),
        };
        return if found.matches(expected) { Ok(()) } else { Err(mismatch()) };
    }
    let Some((_, expected)) = &image.debug_link else {
        return Err(source.malformed("no build id and no CRC links it to the program"));
    };
    let found = source.crc32()?;
    if found == *expected {
        return Ok(());
    }
    Err(source.malformed(format!("its CRC is {found:#010x}, the program expects {expected:#010x}")))
}

/// The `dwz` file that several debug files share names with: `.gnu_debugaltlink` is its path, absolute or
/// relative to the debug file, then its build id.
fn supplementary(
    elf: &Elf,
    source: &Source,
    debug_file: &Path,
    open: &mut dyn FnMut(&Path) -> Option<File>,
) -> Option<(Elf, Source)> {
    let bytes = elf.bytes_of(source, ".gnu_debugaltlink").ok()?;
    let name = string_at(&bytes, 0);
    let expected = BuildId::new(bytes.get(name.len() + 1..)?)?;
    let path = debug_file.parent()?.join(std::str::from_utf8(name).ok()?);
    for path in [path].into_iter().chain(build_id_path(&expected)) {
        let Some(file) = open(&path) else { continue };
        let Ok((source, _)) = Source::from_file(file, &path.to_string_lossy()) else { continue };
        let Ok(elf) = Elf::parse(&source) else { continue };
        if elf.build_id(&source).is_some_and(|found| found.matches(&expected)) {
            return Some((elf, source));
        }
    }
    None
}

/// The symbols in `.gnu_debugdata`: an ELF file with nothing but a symbol table, packed with xz
/// (Fedora's MiniDebugInfo).
pub(super) fn minidebug_table(elf: &Elf, source: &Source) -> Result<SymbolTable, Error> {
    match minidebug(elf, source)? {
        Some((inner, from)) => static_table(&inner, &from),
        None => Ok(SymbolTable::default()),
    }
}

/// The file of symbols that is packed into a stripped one.
pub(super) fn minidebug(elf: &Elf, source: &Source) -> Result<Option<(Elf, Source)>, Error> {
    let packed = elf.bytes_of(source, ".gnu_debugdata")?;
    if packed.is_empty() {
        return Ok(None);
    }
    let failed = |error: std::io::Error| source.malformed(format!(".gnu_debugdata: {error}"));
    let mut unpacked = Vec::new();
    let reader = lzma_rust2::XzReader::new_mem_limit(packed.as_slice(), true, XZ_MEMORY_KIB);
    let size =
        reader.take(LARGEST_MINIDEBUG + 1).read_to_end(&mut unpacked).map_err(failed)? as u64;
    if size > LARGEST_MINIDEBUG {
        let (path, what) = (source.path().to_owned(), ".gnu_debugdata".to_owned());
        return Err(Error::TooLarge { path, what, size, limit: LARGEST_MINIDEBUG });
    }
    let inner = Source::from_bytes(unpacked.into(), source.path());
    Ok(Some((Elf::parse(&inner)?, inner)))
}
