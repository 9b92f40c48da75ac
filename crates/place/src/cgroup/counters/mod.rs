//! What the kernel counts for a cgroup, wherever its files lie: v1 trees of their own, or v2.
//!
//! Every number is optional: a controller may be off, a file missing on this kernel, a limit not
//! set. Sources: `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/`, `scheduler/sched-bwc.rst`,
//! `accounting/psi.rst`.

mod files;
mod reader;

use culprit_model::counter_names;

pub use reader::CounterReader;
pub(super) use reader::Elsewhere;

/// One reading of a cgroup. Counters count from the cgroup's making; limits and sizes are gauges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// CPU time and quota.
    pub cpu: CpuCounters,
    /// Memory and its limit.
    pub memory: MemoryCounters,
    /// Block I/O.
    pub io: IoCounters,
    /// Time in which members waited for a resource (pressure stall information).
    pub pressure: Pressure,
}

/// CPU time and quota of a cgroup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// CPU time used, ns.
    pub usage_ns: Option<u64>,
    /// Of it, in user space, ns: where the kernel counts by ticks, an estimate.
    pub user_ns: Option<u64>,
    /// Of it, in the kernel, ns.
    pub system_ns: Option<u64>,
    /// Enforcement periods that have begun while there was something to run.
    pub periods: Option<u64>,
    /// Periods in which the quota ran out.
    pub throttled_periods: Option<u64>,
    /// Time held back, ns, summed over CPUs.
    pub throttled_ns: Option<u64>,
    /// CPU time allowed in a period, ns; none without a quota.
    pub quota_ns: Option<u64>,
    /// The period, ns.
    pub period_ns: Option<u64>,
}

impl CpuCounters {
    /// What was used here, and what another cgroup says of quota.
    const fn with_quota_of(self, other: Self) -> Self {
        let Self { usage_ns, user_ns, system_ns, .. } = self;
        Self { usage_ns, user_ns, system_ns, ..other }
    }
}

/// Memory of a cgroup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounters {
    /// In use, page cache included, bytes.
    pub usage_bytes: Option<u64>,
    /// The most that was ever in use, bytes.
    pub peak_bytes: Option<u64>,
    /// The limit, bytes; none without one.
    pub limit_bytes: Option<u64>,
    /// How often the limit was hit and memory had to be reclaimed.
    pub limit_hits: Option<u64>,
    /// Processes that were killed for want of memory.
    pub oom_kills: Option<u64>,
    /// Pages of files that were read again soon after memory for others was wanted
    /// (`workingset_refault_file`, Linux 5.9).
    pub file_refaults: Option<u64>,
}

/// Block I/O of a cgroup, over all devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCounters {
    /// Bytes read from devices.
    pub read_bytes: Option<u64>,
    /// Bytes written to devices.
    pub write_bytes: Option<u64>,
    /// Requests that read.
    pub reads: Option<u64>,
    /// Requests that wrote.
    pub writes: Option<u64>,
}

/// Time in which at least one member (`some`) or all (`full`) waited for a resource, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Waited for a CPU.
    pub cpu_some_ns: Option<u64>,
    /// Some waited for memory.
    pub memory_some_ns: Option<u64>,
    /// All waited for memory.
    pub memory_full_ns: Option<u64>,
    /// Some waited for I/O.
    pub io_some_ns: Option<u64>,
    /// All waited for I/O.
    pub io_full_ns: Option<u64>,
}

impl Counters {
    /// The numbers that are there, under the names that recordings give them.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            (counter_names::CPU_NS, self.cpu.usage_ns),
            (counter_names::QUOTA_PERIODS, self.cpu.periods),
            (counter_names::QUOTA_THROTTLED, self.cpu.throttled_periods),
            (counter_names::QUOTA_THROTTLED_NS, self.cpu.throttled_ns),
            (counter_names::QUOTA_NS, self.cpu.quota_ns),
            (counter_names::QUOTA_PERIOD_NS, self.cpu.period_ns),
            (counter_names::MEMORY_BYTES, self.memory.usage_bytes),
            (counter_names::MEMORY_LIMIT_BYTES, self.memory.limit_bytes),
            (counter_names::MEMORY_LIMIT_HITS, self.memory.limit_hits),
            (counter_names::FILE_REFAULTS, self.memory.file_refaults),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// What a process may use, by its cgroup and those above it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// CPU time in a period, and the period, both ns; none without a quota.
    pub cpu_quota_ns: Option<(u64, u64)>,
    /// Memory, bytes; none without a limit.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    fn tighten(&mut self, quota: Option<(u64, u64)>, memory: Option<u64>) {
        // Quotas of different periods compare by their share of a CPU.
        let share =
            |(time, period): (u64, u64)| (u128::from(time) << 64) / u128::from(period.max(1));
        self.cpu_quota_ns =
            [self.cpu_quota_ns, quota].into_iter().flatten().min_by_key(|q| share(*q));
        self.memory_bytes = [self.memory_bytes, memory].into_iter().flatten().min();
    }
}
