//! Which file a page fault touched.
//!
//! The kernel tells of each mapping of data as it is made, so the file behind an address is known
//! also when the mapping, or the process, is gone by the time its faults are handled. A forked
//! child shares its parent's list until one of the two maps something. Unmapping is not told: an
//! address belongs to the mapping that covered it last.

use std::collections::BTreeMap;
use std::sync::Arc;

use culprit_kernel::Map;
use culprit_model::Text;
use rustc_hash::FxHashMap;

/// Mappings of data by process.
#[derive(Debug, Default)]
pub(crate) struct FaultFiles {
    processes: FxHashMap<i32, Arc<Maps>>,
    paths: FxHashMap<Box<[u8]>, Text>,
}

/// By first address: one past the last address, and the file; none for memory without one.
type Maps = BTreeMap<u64, (u64, Option<Text>)>;

impl FaultFiles {
    /// A process mapped data.
    pub(crate) fn map(&mut self, map: &Map<'_>) {
        let file = is_file(map.path).then(|| self.text(map.path));
        let maps = Arc::make_mut(self.processes.entry(map.task.pid).or_default());
        let end = map.address.saturating_add(map.length);
        let last = maps.range(..end).next_back().map(|(_, last)| last.clone());
        // What the last one has beyond the new one stays.
        if let Some((beyond, file)) = last.filter(|(beyond, _)| *beyond > end) {
            maps.insert(end, (beyond, file));
        }
        let covered: Vec<u64> = maps.range(map.address..end).map(|(start, _)| *start).collect();
        for start in covered {
            maps.remove(&start);
        }
        maps.insert(map.address, (end, file));
    }

    /// The file that a process has mapped at an address.
    pub(crate) fn find(&self, pid: i32, address: u64) -> Option<Text> {
        let maps = self.processes.get(&pid)?;
        let (_, (end, file)) = maps.range(..=address).next_back()?;
        file.clone().filter(|_| address < *end)
    }

    /// A child has what its parent has.
    pub(crate) fn fork(&mut self, parent: i32, child: i32) {
        if let Some(maps) = self.processes.get(&parent).cloned() {
            self.processes.insert(child, maps);
        }
    }

    /// A process ended, or executed a program.
    pub(crate) fn clear(&mut self, pid: i32) {
        self.processes.remove(&pid);
    }

    fn text(&mut self, path: &[u8]) -> Text {
        if let Some(known) = self.paths.get(path) {
            return known.clone();
        }
        let text = Text::from(String::from_utf8_lossy(path).into_owned());
        self.paths.insert(path.into(), text.clone());
        text
    }
}

/// `//anon` and `[heap]` are no files.
fn is_file(path: &[u8]) -> bool {
    path.starts_with(b"/") && !path.starts_with(b"//")
}

#[cfg(test)]
mod tests {
    use culprit_kernel::Task;

    use super::*;

    fn map(pid: i32, address: u64, length: u64, path: &str) -> Map<'_> {
        let task = Task { pid, tid: pid };
        let (file, build_id, path) = (None, None, path.as_bytes());
        Map { task, address, length, offset: 0, executable: false, file, build_id, path }
    }

    fn file(files: &FaultFiles, pid: i32, address: u64) -> Option<String> {
        files.find(pid, address).map(|text| text.to_string())
    }

    #[test]
    fn the_last_mapping_over_an_address_names_it() {
        let mut files = FaultFiles::default();
        files.map(&map(1, 100, 50, "/a"));
        files.map(&map(1, 120, 10, "//anon"));
        assert_eq!(file(&files, 1, 110).as_deref(), Some("/a"));
        assert_eq!(file(&files, 1, 125), None);
        assert_eq!(file(&files, 1, 140).as_deref(), Some("/a"));
        files.map(&map(1, 100, 50, "/b"));
        assert_eq!(file(&files, 1, 125).as_deref(), Some("/b"));
        assert_eq!(file(&files, 1, 150), None);
    }

    #[test]
    fn a_child_keeps_what_it_had_when_its_parent_maps_more() {
        let mut files = FaultFiles::default();
        files.map(&map(1, 100, 50, "/a"));
        files.fork(1, 2);
        files.map(&map(1, 100, 50, "/b"));
        assert_eq!(file(&files, 2, 110).as_deref(), Some("/a"));
        files.clear(2);
        assert_eq!(file(&files, 2, 110), None);
    }
}
