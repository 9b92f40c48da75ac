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
    /// What is allowed.
    pub limits: IoLimits,
}

/// What a cgroup and those above it allow of one device, the slowest one; none without a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoLimits {
    /// Bytes a second to read.
    pub read_bytes: Option<u64>,
    /// Bytes a second to write.
    pub write_bytes: Option<u64>,
    /// Requests a second that read.
    pub reads: Option<u64>,
    /// Requests a second that write.
    pub writes: Option<u64>,
}

impl IoLimits {
    /// The stricter ones of both.
    fn tightest(self, other: Self) -> Self {
        let least = |one: Option<u64>, two: Option<u64>| [one, two].into_iter().flatten().min();
        Self {
            read_bytes: least(self.read_bytes, other.read_bytes),
            write_bytes: least(self.write_bytes, other.write_bytes),
            reads: least(self.reads, other.reads),
            writes: least(self.writes, other.writes),
        }
    }
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
    /// What was counted of the quota, of the memory limit and of I/O since an earlier reading; limits and
    /// sizes stay.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let since = |now: Option<u64>, then: Option<u64>| {
            now.map(|now| now.saturating_sub(then.unwrap_or_default()))
        };
        let (cpu, memory, io) = (&before.cpu, &before.memory, &before.io);
        Self {
            cpu: CpuCounters {
                usage_ns: since(self.cpu.usage_ns, cpu.usage_ns),
                periods: since(self.cpu.periods, cpu.periods),
                throttled_periods: since(self.cpu.throttled_periods, cpu.throttled_periods),
                throttled_ns: since(self.cpu.throttled_ns, cpu.throttled_ns),
                ..self.cpu
            },
            memory: MemoryCounters {
                limit_hits: since(self.memory.limit_hits, memory.limit_hits),
                file_refaults: since(self.memory.file_refaults, memory.file_refaults),
                ..self.memory
            },
            io: IoCounters {
                read_bytes: since(self.io.read_bytes, io.read_bytes),
                write_bytes: since(self.io.write_bytes, io.write_bytes),
                reads: since(self.io.reads, io.reads),
                writes: since(self.io.writes, io.writes),
                limits: self.io.limits,
            },
            ..*self
        }
    }

    /// What two cgroups count together. The limits are those of the one that holds its members back more.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let sum = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            _ => one.or(two),
        };
        let throttled = |counters: &Self| (counters.cpu.throttled_periods, counters.cpu.periods);
        let quota = match (self.cpu.quota_ns, other.cpu.quota_ns) {
            (Some(_), Some(_)) if throttled(self) >= throttled(other) => &self.cpu,
            (Some(_), None) => &self.cpu,
            _ => &other.cpu,
        };
        let memory = match (self.memory.limit_bytes, other.memory.limit_bytes) {
            (Some(_), Some(_)) if self.memory.limit_hits >= other.memory.limit_hits => &self.memory,
            (Some(_), None) => &self.memory,
            _ => &other.memory,
        };
        Self {
            cpu: CpuCounters {
                usage_ns: sum(self.cpu.usage_ns, other.cpu.usage_ns),
                periods: sum(self.cpu.periods, other.cpu.periods),
                throttled_periods: sum(self.cpu.throttled_periods, other.cpu.throttled_periods),
                throttled_ns: sum(self.cpu.throttled_ns, other.cpu.throttled_ns),
                quota_ns: quota.quota_ns,
                period_ns: quota.period_ns,
                ..self.cpu
            },
            memory: MemoryCounters {
                usage_bytes: memory.usage_bytes,
                limit_bytes: memory.limit_bytes,
                limit_hits: sum(self.memory.limit_hits, other.memory.limit_hits),
                file_refaults: sum(self.memory.file_refaults, other.memory.file_refaults),
                ..self.memory
            },
            io: IoCounters {
                read_bytes: sum(self.io.read_bytes, other.io.read_bytes),
                write_bytes: sum(self.io.write_bytes, other.io.write_bytes),
                reads: sum(self.io.reads, other.io.reads),
                writes: sum(self.io.writes, other.io.writes),
                limits: self.io.limits.tightest(other.io.limits),
            },
            ..*self
        }
    }

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
            (counter_names::CGROUP_READ_BYTES, self.io.read_bytes),
            (counter_names::CGROUP_WRITE_BYTES, self.io.write_bytes),
            (counter_names::CGROUP_READS, self.io.reads),
            (counter_names::CGROUP_WRITES, self.io.writes),
            (counter_names::READ_LIMIT_BYTES, self.io.limits.read_bytes),
            (counter_names::WRITE_LIMIT_BYTES, self.io.limits.write_bytes),
            (counter_names::READS_LIMIT, self.io.limits.reads),
            (counter_names::WRITES_LIMIT, self.io.limits.writes),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(periods: u64, throttled: u64, quota_ns: Option<u64>, hits: u64) -> Counters {
        let cpu = CpuCounters {
            periods: Some(periods),
            throttled_periods: Some(throttled),
            quota_ns,
            period_ns: quota_ns.map(|_| 100_000_000),
            ..CpuCounters::default()
        };
        let memory = MemoryCounters { limit_hits: Some(hits), ..MemoryCounters::default() };
        Counters { cpu, memory, ..Counters::default() }
    }

    #[test]
    fn a_joined_cgroup_counts_from_when_it_was_joined() {
        let recorded = counted(0, 0, None, 3);
        let joined = counted(50, 40, Some(20_000_000), 9).since(&counted(20, 15, None, 5));
        let together = recorded.with(&joined);
        assert_eq!(together.cpu.periods, Some(30));
        assert_eq!(together.cpu.throttled_periods, Some(25));
        assert_eq!(together.cpu.quota_ns, Some(20_000_000), "the one that has a quota tells it");
        assert_eq!(together.memory.limit_hits, Some(7));
    }

    #[test]
    fn the_quota_that_holds_back_more_is_told() {
        let one = counted(10, 1, Some(50_000_000), 0);
        let other = counted(10, 9, Some(30_000_000), 0);
        assert_eq!(one.with(&other).cpu.quota_ns, Some(30_000_000));
        assert_eq!(other.with(&one).cpu.quota_ns, Some(30_000_000));
    }
}
