//! The clocks of a recording.
//!
//! Everything is timed by CLOCK_MONOTONIC, the clock that the kernel was asked to stamp records
//! with; pairs with CLOCK_REALTIME at both ends make it comparable with logs.

use std::time::Duration;

use culprit_model::ClockPair;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// `CLOCK_MONOTONIC`, ns.
pub(crate) fn monotonic_ns() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// CPU time that this process has used so far, all threads, ns.
pub(crate) fn own_cpu_ns() -> u64 {
    nanos(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time that the calling thread has used so far, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// Both clocks at one instant: the real time is read between two readings of the monotonic one,
/// and belongs to their middle.
pub(crate) fn pair() -> ClockPair {
    let before = monotonic_ns();
    let realtime = nanos(clock_gettime(ClockId::Realtime));
    let after = monotonic_ns();
    ClockPair { monotonic: before + (after - before) / 2, realtime }
}

/// The real time at a time since boot (`CLOCK_BOOTTIME`), ns; as the clocks stand now.
pub(crate) fn realtime_of_boot(since_boot: Duration) -> u64 {
    let boot = nanos(clock_gettime(ClockId::Boottime));
    let since = u64::try_from(since_boot.as_nanos()).unwrap_or(u64::MAX);
    pair().realtime.saturating_sub(boot.saturating_sub(since))
}

fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
