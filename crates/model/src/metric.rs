//! What a stack weighs.

use crate::label::labels;

labels! {
    /// What a stack weighs.
    Metric ("metric") {
        /// All wall-clock time of threads, ns.
        Wall = "wall",
        /// Time on a CPU, ns.
        Cpu = "cpu",
        /// Time blocked, ns.
        Blocked = "blocked",
        /// Time ready without a CPU, ns.
        Runnable = "runnable",
        /// Page faults, count.
        Faults = "faults",
        /// Times that another profiler looked, or that an event of its choice happened, count.
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
        /// An amount whose unit the file does not tell.
        Amount = "amount",
    }
}

impl Metric {
    /// The unit of the metric's values.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Wall | Self::Cpu | Self::Blocked | Self::Runnable => "ns",
            Self::AllocBytes | Self::LiveBytes | Self::IoBytes => "bytes",
            Self::Faults
            | Self::Samples
            | Self::Cycles
            | Self::Instructions
            | Self::CacheMisses
            | Self::Allocs
            | Self::Live => "count",
            Self::Amount => "",
        }
    }

    /// True for lengths of time: a row covers a stretch, and a time range can cut it.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Wall | Self::Cpu | Self::Blocked | Self::Runnable)
    }
}
