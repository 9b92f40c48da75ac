//! What counters grew by: differences of the first and last reading, per process and name.

use std::collections::BTreeMap;

use culprit_model::{ProcessId, Recording, Text};

/// Growth of every counter of a recording.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// First and last value of each.
    readings: BTreeMap<(Option<ProcessId>, Text), (u64, u64)>,
}

impl Counters {
    /// Reads the counters table once. A process that was born during the recording counts from
    /// zero, and so does the command's own: it was held before its first instruction.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut readings = BTreeMap::new();
        for counter in &recording.counters {
            let born = counter.process.is_some_and(|p| {
                let start = recording.process(p).start;
                recording.meta.root_process == Some(p) || start.0 > 0 && start <= counter.time
            });
            let first = if born { 0 } else { counter.value };
            readings
                .entry((counter.process, counter.name.clone()))
                .and_modify(|(_, last)| *last = counter.value)
                .or_insert((first, counter.value));
        }
        Self { readings }
    }

    /// What a counter grew by; none when it was never read.
    pub(crate) fn growth(&self, process: Option<ProcessId>, name: &str) -> Option<u64> {
        let (first, last) = self.readings.get(&(process, Text::from(name)))?;
        Some(last.saturating_sub(*first))
    }

    /// The last value of a gauge; none when it was never read.
    pub(crate) fn last(&self, process: Option<ProcessId>, name: &str) -> Option<u64> {
        self.readings.get(&(process, Text::from(name))).map(|(_, last)| *last)
    }
}
