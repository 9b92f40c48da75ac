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
    }
}

impl Metric {
    /// The unit of the metric's values.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Wall | Self::Cpu | Self::Blocked | Self::Runnable => "ns",
            Self::Faults => "count",
        }
    }
}
