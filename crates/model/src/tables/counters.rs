//! Numbers read again and again: of processes, cgroups, the machine.

use crate::column::table;
use crate::ids::ProcessId;
use crate::text::Text;
use crate::time::Time;

table! {
    /// One reading of one number. Ordered by time. Counters count from an unspecified start: use
    /// differences; gauges (memory, limits) are values.
    Counter in "counters" {
        /// When it was read.
        time: Time,
        /// Whose: none for the recorded cgroup or the machine (see the name).
        process: Option<ProcessId>,
        /// What: one of the names in `counter_names`.
        name: Text,
        /// The value; the name says the unit.
        value: u64,
    }
}

/// The names of counters. A name ending in `_ns` counts nanoseconds, in `_bytes` bytes, else events.
pub mod names {
    /// Process: read-like system calls (`/proc/PID/io` `syscr`).
    pub const IO_READS: &str = "io.reads";
    /// Process: write-like system calls (`syscw`).
    pub const IO_WRITES: &str = "io.writes";
    /// Process: bytes asked of read-like calls (`rchar`), files and pipes and terminals alike.
    pub const IO_READ_BYTES: &str = "io.read_bytes";
    /// Process: bytes given to write-like calls (`wchar`).
    pub const IO_WRITE_BYTES: &str = "io.write_bytes";
    /// Process: bytes fetched from storage (`read_bytes`).
    pub const IO_DISK_READ_BYTES: &str = "io.disk_read_bytes";
    /// Process: bytes sent to storage (`write_bytes`).
    pub const IO_DISK_WRITE_BYTES: &str = "io.disk_write_bytes";
    /// Process: private resident memory, a gauge (`/proc/PID/status` `RssAnon`).
    pub const RSS_ANON_BYTES: &str = "memory.anon_bytes";
    /// Process: file-backed resident memory, a gauge (`RssFile`).
    pub const RSS_FILE_BYTES: &str = "memory.file_bytes";
    /// Process: shared-memory resident, a gauge (`RssShmem`).
    pub const RSS_SHMEM_BYTES: &str = "memory.shmem_bytes";
    /// Process: swapped out, a gauge (`VmSwap`).
    pub const SWAP_BYTES: &str = "memory.swap_bytes";
    /// Process: datagrams that were dropped because its sockets were full (`/proc/PID/net/udp` `drops`).
    pub const DATAGRAM_DROPS: &str = "net.datagram_drops";
    /// Cgroup: enforcement periods of the CPU quota (`nr_periods`).
    pub const QUOTA_PERIODS: &str = "cgroup.cpu.periods";
    /// Cgroup: periods in which it was held back (`nr_throttled`).
    pub const QUOTA_THROTTLED: &str = "cgroup.cpu.throttled";
    /// Cgroup: time held back, summed over CPUs or threads as the kernel does.
    pub const QUOTA_THROTTLED_NS: &str = "cgroup.cpu.throttled_ns";
    /// Cgroup: the CPU time allowed a period, a gauge; absent when unlimited.
    pub const QUOTA_NS: &str = "cgroup.cpu.quota_ns";
    /// Cgroup: the period, a gauge.
    pub const QUOTA_PERIOD_NS: &str = "cgroup.cpu.period_ns";
    /// Cgroup: CPU time used.
    pub const CPU_NS: &str = "cgroup.cpu.usage_ns";
    /// Cgroup: memory in use, a gauge.
    pub const MEMORY_BYTES: &str = "cgroup.memory.usage_bytes";
    /// Cgroup: memory limit, a gauge; absent when unlimited.
    pub const MEMORY_LIMIT_BYTES: &str = "cgroup.memory.limit_bytes";
    /// Cgroup: times that the memory limit was hit.
    pub const MEMORY_LIMIT_HITS: &str = "cgroup.memory.limit_hits";
    /// Cgroup: pages of files that were read again after they had been dropped for others
    /// (`workingset_refault_file`, Linux 5.9).
    pub const FILE_REFAULTS: &str = "cgroup.memory.file_refaults";
    /// Cgroup: bytes read from devices.
    pub const CGROUP_READ_BYTES: &str = "cgroup.io.read_bytes";
    /// Cgroup: bytes written to devices.
    pub const CGROUP_WRITE_BYTES: &str = "cgroup.io.write_bytes";
    /// Cgroup: requests that read from devices.
    pub const CGROUP_READS: &str = "cgroup.io.reads";
    /// Cgroup: requests that write to devices.
    pub const CGROUP_WRITES: &str = "cgroup.io.writes";
    /// Cgroup: bytes a second that may be read, a gauge; absent when unlimited.
    pub const READ_LIMIT_BYTES: &str = "cgroup.io.read_limit_bytes";
    /// Cgroup: bytes a second that may be written, a gauge; absent when unlimited.
    pub const WRITE_LIMIT_BYTES: &str = "cgroup.io.write_limit_bytes";
    /// Cgroup: requests a second that may read, a gauge; absent when unlimited.
    pub const READS_LIMIT: &str = "cgroup.io.reads_limit";
    /// Cgroup: requests a second that may write, a gauge; absent when unlimited.
    pub const WRITES_LIMIT: &str = "cgroup.io.writes_limit";
    /// Process: how many CPUs its first thread may use, a gauge (`/proc/PID/status` `Cpus_allowed_list`): an
    /// affinity mask or a cpuset makes it fewer than the machine has.
    pub const ALLOWED_CPUS: &str = "cpu.allowed";
    /// Machine: time in which its CPUs worked for anybody, summed over CPUs (`/proc/stat`: `user`, `nice`,
    /// `system`, `irq`, `softirq`).
    pub const MACHINE_CPU_NS: &str = "machine.cpu_ns";
    /// Machine: time stolen by the hypervisor, summed over CPUs (`/proc/stat`).
    pub const STEAL_NS: &str = "machine.steal_ns";
}
