//! Page faults by thread: those that read, and the one that a wait served.

use culprit_model::{Fault, FaultKind, Interval, Nanos, Recording, Text, ThreadId, Time};

/// How long after its wait a fault may be reported: the kernel counts a major fault when the page
/// is mapped, after the wait ended and the thread got a CPU again (mm/memory.c `mm_account_fault`).
/// The run queue of a busy machine holds a thread for some 10 ms.
const REPORTED_WITHIN: Nanos = Nanos(100_000_000);

/// Major faults of a recording.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Thread, time, row of the faults table; sorted.
    major: Vec<(ThreadId, Time, usize)>,
}

impl Faults {
    /// Sorts the major faults by thread.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut major: Vec<_> = recording
            .faults
            .iter()
            .enumerate()
            .filter(|(_, f)| f.kind == FaultKind::Major)
            .map(|(row, f)| (f.thread, f.time, row))
            .collect();
        major.sort_unstable();
        Self { major }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.major.len()
    }

    /// True when a thread had one.
    pub(crate) fn any_of(&self, thread: ThreadId) -> bool {
        let at = self.major.partition_point(|f| f.0 < thread);
        self.major.get(at).is_some_and(|f| f.0 == thread)
    }

    /// A thread's faults from one time to another, those reported shortly after it with them, by time.
    pub(crate) fn between<'r>(
        &self,
        recording: &'r Recording,
        thread: ThreadId,
        from: Time,
        until: Time,
    ) -> impl Iterator<Item = &'r Fault> {
        let first = self.major.partition_point(|f| (f.0, f.1) < (thread, from));
        let until = until + REPORTED_WITHIN;
        let those = self.major[first..].iter().take_while(move |f| f.0 == thread && f.1 <= until);
        those.map(|f| &recording.faults[f.2])
    }

    /// The fault that a wait served; none where faults were not recorded.
    pub(crate) fn of_wait<'r>(
        &self,
        recording: &'r Recording,
        wait: &Interval,
    ) -> Option<&'r Fault> {
        let end = wait.start + wait.duration;
        self.between(recording, wait.thread, wait.start, end).next()
    }

    /// The file that a wait's fault read; none for swap and where unknown.
    pub(crate) fn file(&self, recording: &Recording, wait: &Interval) -> Option<Text> {
        self.of_wait(recording, wait)?.file.clone()
    }
}
