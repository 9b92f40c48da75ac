//! What processes have in memory, over time: private memory, and pages of mapped files.

use std::collections::BTreeMap;

use culprit_model::{ProcessId, Recording, Time, counter_names};

/// What a process had in memory at one time, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resident {
    /// When it was read.
    pub(crate) time: Time,
    /// Its own memory: anonymous pages, those in swap included.
    pub(crate) private: u64,
    /// Pages of files that it has mapped.
    pub(crate) file: u64,
    /// Pages of shared memory that it has mapped.
    pub(crate) shared: u64,
}

impl Resident {
    /// All that counts as resident.
    pub(crate) const fn total(&self) -> u64 {
        self.private.saturating_add(self.file).saturating_add(self.shared)
    }
}

/// What every process has in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    processes: BTreeMap<ProcessId, Vec<Resident>>,
}

impl Memory {
    /// Reads the counters table once.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut processes: BTreeMap<ProcessId, Vec<Resident>> = BTreeMap::new();
        for counter in &recording.counters {
            let Some(process) = counter.process else { continue };
            let part: fn(&mut Resident) -> &mut u64 = match counter.name.as_str() {
                counter_names::RSS_ANON_BYTES | counter_names::SWAP_BYTES => |r| &mut r.private,
                counter_names::RSS_FILE_BYTES => |r| &mut r.file,
                counter_names::RSS_SHMEM_BYTES => |r| &mut r.shared,
                _ => continue,
            };
            let readings = processes.entry(process).or_default();
            if readings.last().is_none_or(|last| last.time != counter.time) {
                readings.push(Resident { time: counter.time, private: 0, file: 0, shared: 0 });
            }
            if let Some(last) = readings.last_mut() {
                let part = part(last);
                *part = part.saturating_add(counter.value);
            }
        }
        Self { processes }
    }

    /// The readings of each process, in order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ProcessId, &[Resident])> {
        self.processes.iter().map(|(process, readings)| (*process, readings.as_slice()))
    }
}
