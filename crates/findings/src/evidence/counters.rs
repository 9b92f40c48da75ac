//! What counters grew by: differences of the first and last reading, per process and name.

use std::collections::BTreeMap;

use culprit_model::{ProcessId, Recording, Text, Time};

/// What a counter grew by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Growth {
    /// By how much.
    pub(crate) value: u64,
    /// When it was last read: what happened later is not in it.
    pub(crate) until: Time,
}

/// First and last reading of one counter, and the highest: what counts events never falls, so that a lower
/// reading is of something else, such as the parent of a container that has ended.
#[derive(Debug, Clone, Copy)]
struct Reading {
    first: u64,
    last: u64,
    highest: u64,
    /// When the highest was read.
    until: Time,
    count: u32,
    /// Half of the process's life: a single reading before it tells too little.
    half: Time,
}

/// Growth of every counter of a recording.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    readings: BTreeMap<(Option<ProcessId>, Text), Reading>,
}

impl Counters {
    /// Reads the counters table once. A process that was born during the recording counts from
    /// zero, and so does the command's own: it was held before its first instruction.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut readings: BTreeMap<_, Reading> = BTreeMap::new();
        for counter in &recording.counters {
            let born = counter.process.is_some_and(|p| {
                let start = recording.process(p).start;
                recording.meta.root_process == Some(p) || start.0 > 0 && start <= counter.time
            });
            let first = if born { 0 } else { counter.value };
            let half = counter.process.map_or(Time(u64::MAX), |p| half_life(recording, p));
            let reading =
                readings.entry((counter.process, counter.name.clone())).or_insert(Reading {
                    first,
                    last: 0,
                    highest: 0,
                    until: counter.time,
                    count: 0,
                    half,
                });
            reading.last = counter.value;
            if counter.value >= reading.highest {
                (reading.highest, reading.until) = (counter.value, counter.time);
            }
            reading.count += 1;
        }
        Self { readings }
    }

    /// What a counter grew by; none when it was read neither twice nor once late enough.
    pub(crate) fn growth(&self, process: Option<ProcessId>, name: &str) -> Option<Growth> {
        let reading = self.readings.get(&(process, Text::from(name)))?;
        let value = reading.highest.saturating_sub(reading.first);
        (reading.count > 1 || reading.until >= reading.half)
            .then_some(Growth { value, until: reading.until })
    }

    /// The last value of a gauge; none when it was never read.
    pub(crate) fn last(&self, process: Option<ProcessId>, name: &str) -> Option<u64> {
        self.readings.get(&(process, Text::from(name))).map(|r| r.last)
    }
}

/// The middle of what was recorded of a process's life.
fn half_life(recording: &Recording, process: ProcessId) -> Time {
    let process = recording.process(process);
    let end = process.end.unwrap_or(Time(recording.meta.wall.0));
    Time(process.start.0.midpoint(end.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::{Counter, counter_names};

    #[test]
    fn what_is_read_once_a_container_has_ended_is_not_its_own() {
        let read = |(time, value)| Counter {
            time: Time(time),
            process: None,
            name: counter_names::MEMORY_LIMIT_HITS.into(),
            value,
        };
        let recording = Recording {
            counters: [(0, 2), (100, 50), (200, 548), (300, 0)].map(read).to_vec(),
            ..Recording::default()
        };
        let hits = Counters::of(&recording).growth(None, counter_names::MEMORY_LIMIT_HITS);
        assert_eq!(hits, Some(Growth { value: 546, until: Time(200) }));
    }
}
