//! What a stack weighs.

use crate::cause::Cause;
use crate::label::{Label as _, labels};

labels! {
    /// What a stack weighs.
    Metric ("metric") {
        /// All wall-clock time of threads, ns.
        Wall = "wall",
        /// The elapsed time of a run, each moment given to the one thing that the run was waiting
        /// for, ns. The rows are those that the engine derives from the intervals.
        Run = "run",
        /// Time on a CPU, ns.
        Cpu = "cpu",
        /// Time blocked, ns.
        Blocked = "blocked",
        /// Time ready without a CPU, ns.
        Runnable = "runnable",
        /// Page faults, count.
        Faults = "faults",
        /// Samples of another profiler, or events that it counted, count.
        Samples = "samples",
        /// CPU cycles, count.
        Cycles = "cycles",
        /// Instructions executed, count.
        Instructions = "instructions",
        /// Cache misses, count.
        CacheMisses = "cache-misses",
        /// Allocations of memory, count.
        Allocs = "allocs",
        /// Memory allocated, bytes.
        AllocBytes = "alloc-bytes",
        /// Allocations that were not freed when the profile was taken, count.
        Live = "live",
        /// Memory that was not freed when the profile was taken, bytes.
        LiveBytes = "live-bytes",
        /// Data read or written, bytes.
        IoBytes = "io-bytes",
        /// An amount whose unit the file does not name.
        Amount = "amount",
        /// How often threads blocked, count.
        Waits = "waits",
        /// Time of one cause, ns; the words from here on are the causes'. Plain `runnable` stands
        /// above and holds time held back by a quota too.
        CpuUser = "cpu.user",
        /// As above.
        CpuKernel = "cpu.kernel",
        /// As above.
        RunnableQuota = "runnable.quota",
        /// As above.
        Disk = "blocked.disk",
        /// As above.
        Fsync = "blocked.fsync",
        /// As above.
        Fault = "blocked.fault",
        /// As above.
        Net = "blocked.net",
        /// As above.
        Lock = "blocked.lock",
        /// As above.
        Sleep = "blocked.sleep",
        /// As above.
        Poll = "blocked.poll",
        /// As above.
        Pipe = "blocked.pipe",
        /// As above.
        Ipc = "blocked.ipc",
        /// As above.
        Child = "blocked.child",
        /// As above.
        Notify = "blocked.notify",
        /// As above.
        Memory = "blocked.memory",
        /// As above.
        Signal = "blocked.signal",
        /// As above.
        Stopped = "blocked.stopped",
        /// As above.
        Other = "blocked.other",
        /// As above.
        Thread = "blocked.thread",
    }
}

impl Metric {
    /// The unit of the metric's values.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::AllocBytes | Self::LiveBytes | Self::IoBytes => "bytes",
            Self::Faults
            | Self::Waits
            | Self::Samples
            | Self::Cycles
            | Self::Instructions
            | Self::CacheMisses
            | Self::Allocs
            | Self::Live => "count",
            Self::Amount => "",
            _ => "ns",
        }
    }

    /// True for lengths of time: a row covers a stretch, and a time range can cut it.
    #[must_use]
    pub fn is_time(self) -> bool {
        self.unit() == "ns"
    }

    /// The one cause whose time this is; none for the metrics of several.
    #[must_use]
    pub fn cause(self) -> Option<Cause> {
        Cause::from_word(self.word()).filter(|cause| *cause != Cause::Runnable)
    }

    /// True when time of a cause, or waits for it, count.
    #[must_use]
    pub fn counts(self, cause: Cause) -> bool {
        match self {
            Self::Wall | Self::Run => true,
            Self::Cpu => cause.is_cpu(),
            Self::Blocked | Self::Waits => cause.is_blocked(),
            Self::Runnable => cause.is_runnable(),
            one => one.cause() == Some(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_a_metric_of_time() {
        for cause in Cause::ALL {
            let metric: Metric = cause.word().parse().unwrap();
            assert!(metric.is_time() && metric.counts(*cause), "{cause}");
            assert_eq!(metric.cause(), (*cause != Cause::Runnable).then_some(*cause));
        }
        assert!(!Metric::Waits.is_time() && !Metric::Faults.counts(Cause::Lock));
    }
}
