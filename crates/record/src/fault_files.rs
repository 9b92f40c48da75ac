//! Which file a page fault touched.
//!
//! Data mappings are not recorded (there may be thousands a second), so the file behind an address
//! is looked up in /proc when a major fault asks for it. Major faults take a disk's time each, and
//! a process's mappings are read again at most ten times a second.

use culprit_model::{Nanos, Text, Time};
use culprit_place::procfs::{self, Mapping};
use rustc_hash::FxHashMap;

use crate::modules::kernel_pid;

/// How long an unsuccessful look is trusted.
const TRUSTED: Nanos = Nanos(100_000_000);

/// Mappings of processes that had major faults.
#[derive(Debug, Default)]
pub(crate) struct FaultFiles {
    seen: FxHashMap<i32, (Time, Vec<Mapping>)>,
}

impl FaultFiles {
    /// The file that a process has mapped at an address.
    pub(crate) fn find(&mut self, pid: i32, address: u64, time: Time) -> Option<Text> {
        if let Some((read, maps)) = self.seen.get(&pid) {
            let found = file_at(maps, address);
            if found.is_some() || time.since(*read) < TRUSTED {
                return found;
            }
        }
        let maps = procfs::maps(kernel_pid(pid)).unwrap_or_default();
        let found = file_at(&maps, address);
        self.seen.insert(pid, (time, maps));
        found
    }
}

fn file_at(maps: &[Mapping], address: u64) -> Option<Text> {
    let map = maps.iter().find(|map| map.range.contains(&address))?;
    map.path.starts_with('/').then(|| Text::from(map.path.as_str()))
}
