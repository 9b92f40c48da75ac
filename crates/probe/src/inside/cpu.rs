//! Keeping a thread on one CPU.
//!
//! Two threads that wake each other are on one CPU or on two as the scheduler likes, from one
//! connection to the next. On two, each message wakes an idle CPU, which on a virtual machine is a
//! trip to the hypervisor and may take several times as long as everything else. On one, what is left
//! is the way itself.

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

/// The CPU that the calling thread is on.
#[must_use]
pub fn this_cpu() -> usize {
    sched_getcpu()
}

/// Keeps the calling thread on `cpu`; false where it may not be there, and then nothing has changed.
#[must_use]
pub fn stay_on(cpu: usize) -> bool {
    let mut one = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return false;
    }
    one.set(cpu);
    sched_setaffinity(None, &one).is_ok()
}
