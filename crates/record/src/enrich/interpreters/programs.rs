//! Files with an interpreter in them, each looked at once.

use std::fs::File;
use std::path::Path;

use culprit_place::procfs::{self, Mapping};
use culprit_symbols::{FileOffset, mapping_svma};
use rustc_hash::FxHashMap;

use crate::symbolize::modules::kernel_pid;

/// A file: device and number.
type FileKey = ((u32, u32), u64);

/// What files have an interpreter in them, and what is known of it.
#[derive(Debug)]
pub(super) struct Programs<P>(FxHashMap<FileKey, Option<InFile<P>>>);

impl<P> Default for Programs<P> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

/// An interpreter in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFile<P> {
    /// What its file says.
    pub(super) program: P,
    /// Where the file's mapped piece belongs, as its own symbols count: offset and address.
    text: (u64, u64),
}

impl<P> InFile<P> {
    /// Where the process has what the file's symbols have at `address`.
    pub(super) fn address(&self, map: &Mapping, address: u64) -> u64 {
        let (offset, text) = self.text;
        let moved = map.range.start.wrapping_sub(map.offset).wrapping_add(offset);
        moved.wrapping_sub(text).wrapping_add(address)
    }
}

impl<P: Clone> Programs<P> {
    /// Whether a mapped file has been looked at.
    pub(super) fn is_known(&self, map: &Mapping) -> bool {
        self.0.contains_key(&(map.device, map.inode))
    }

    /// The interpreter in a mapped file; `parse` finds it in the file. A file that cannot be opened now is
    /// tried again: its process may have been between two programs.
    pub(super) fn of(
        &mut self,
        pid: i32,
        map: &Mapping,
        parse: impl Fn(File, &str) -> Option<P>,
    ) -> Option<InFile<P>> {
        let key = (map.device, map.inode);
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        let (file, again) = (open(pid, map)?, open(pid, map)?);
        let found = parse(file, &map.path).and_then(|program| {
            let text = mapping_svma(again, &map.path, FileOffset(map.offset)).ok()??;
            Some(InFile { program, text: (map.offset, text.0) })
        });
        self.0.insert(key, found.clone());
        found
    }
}

/// The file that is mapped. The kernel leads root to it by the mapping itself, which also works where the
/// path means another file by now, or none: a process that has changed its root shows paths that do not
/// begin there.
fn open(pid: i32, map: &Mapping) -> Option<File> {
    let range = format!("/proc/{pid}/map_files/{:x}-{:x}", map.range.start, map.range.end);
    File::open(range).ok().or_else(|| {
        let root = procfs::root_of(kernel_pid(pid)).ok()?;
        procfs::open_in_root(&root, Path::new(&map.path)).ok()
    })
}

/// The pieces of a process that may have an interpreter: its program, and libraries whose names are so.
pub(super) fn candidates<'m>(
    maps: &'m [Mapping],
    is_library: impl Fn(&str) -> bool + 'm,
) -> impl Iterator<Item = &'m Mapping> {
    let code = maps.iter().filter(|map| map.execute && map.path.starts_with('/'));
    let main = code.clone().next().map(|map| &map.path);
    code.filter(move |map| {
        let name = map.path.rsplit('/').next().unwrap_or(&map.path);
        Some(&map.path) == main || is_library(name)
    })
}
