//! Which CPUs there were: for a process, for everybody else, and for nobody.

use culprit_model::{Nanos, ProcessId, counter_names};

use super::Evidence;

/// What the machine's CPUs did while a recording was made, summed over CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MachineUse {
    /// CPU time of programs outside the recording, the recorder's own included.
    pub(crate) outside: Nanos,
    /// Time in which CPUs had nothing to do.
    pub(crate) idle: Nanos,
}

impl Evidence<'_> {
    /// How many CPUs a process may use, if these are fewer than the machine has. One that lived too short to be read
    /// has those of the process above it, because children inherit them.
    pub(crate) fn few_cpus(&self, process: ProcessId) -> Option<u64> {
        let mut next = Some(process);
        while let Some(at) = next {
            let allowed = self.counters.last(Some(at), counter_names::ALLOWED_CPUS);
            if let Some(allowed) = allowed {
                return Some(allowed).filter(|cpus| *cpus < u64::from(self.recording.meta.cpus));
            }
            // A parent's row comes before its children's, so the walk ends.
            next = self.recording.process(at).parent.filter(|above| *above < at);
        }
        None
    }

    /// What the machine's CPUs did; none where the recording does not say.
    pub(crate) fn machine_use(&self) -> Option<MachineUse> {
        let busy = self.counters.growth(None, counter_names::MACHINE_CPU_NS)?.value;
        let rows = self.recording.intervals.iter();
        let own: Nanos = rows.filter(|row| row.cause.is_cpu()).map(|row| row.duration).sum();
        let all = self.recording.meta.wall.0.saturating_mul(self.recording.meta.cpus.into());
        Some(MachineUse {
            outside: Nanos(busy.saturating_sub(own.0)),
            idle: Nanos(all.saturating_sub(busy)),
        })
    }
}
