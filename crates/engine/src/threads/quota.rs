//! Ready time that a cgroup's CPU quota takes.
//!
//! Since Linux 6.18 a thread whose group has used its quota up is taken off the CPU on its way back
//! to user code, inside `task_work_run` (kernel/sched/fair.c, `throttle_cfs_rq_work`): the stack
//! tells. Before, the group's whole run queue was taken away and the thread looks preempted: then
//! only the length of the gap, next to a rise of the cgroup's `nr_throttled`, suggests it.

use culprit_model::{Cause, Nanos, Recording, Time, counter_names};

/// A gap at the throttling stack counts from this length on, while the kernel counted throttled
/// periods: threads also give way there for other reasons. It is the smallest period that the
/// kernel accepts (`min_cfs_quota_period`); shorter gaps there are ordinary preemptions, for
/// `task_work_run` yields between its items too.
const SHORTEST_AT_STACK: Nanos = Nanos(1_000_000);

/// Without that stack a gap counts from this length on: ordinary preemptions beside throttling had
/// a median of 4.8 ms on two busy CPUs, throttled ones 60.8 ms. Half of it would take every second
/// ordinary gap along, double would miss quotas with a short period.
const SHORTEST_WITHOUT_STACK: Nanos = Nanos(5_000_000);

/// The first kernel whose stacks tell.
const STACKS_TELL_SINCE: (u32, u32) = (6, 18);

/// What a recording knows about CPU quotas.
#[derive(Debug)]
pub(super) struct Quota {
    /// Stretches in which the number of throttled periods rose; none where it was not read.
    throttled: Option<Vec<(Time, Time)>>,
    stacks_tell: bool,
}

impl Quota {
    pub(super) fn of(recording: &Recording) -> Self {
        let readings: Vec<(Time, u64)> = recording
            .counters
            .iter()
            .filter(|c| c.process.is_none() && c.name.as_str() == counter_names::QUOTA_THROTTLED)
            .map(|c| (c.time, c.value))
            .collect();
        let rises = readings.windows(2).filter(|pair| pair[1].1 > pair[0].1);
        Self {
            throttled: (readings.len() > 1)
                .then(|| rises.map(|pair| (pair[0].0, pair[1].0)).collect()),
            stacks_tell: release(&recording.meta.kernel).is_none_or(|r| r >= STACKS_TELL_SINCE),
        }
    }

    /// The cause of ready time; `at_stack` when the stack is the throttling one.
    pub(super) fn cause(&self, at_stack: bool, from: Time, to: Time) -> Cause {
        let held = if at_stack {
            to.since(from) >= SHORTEST_AT_STACK && self.rises(from, to).unwrap_or(false)
        } else {
            !self.stacks_tell
                && to.since(from) >= SHORTEST_WITHOUT_STACK
                && self.rises(from, to).unwrap_or(false)
        };
        if held { Cause::RunnableQuota } else { Cause::Runnable }
    }

    /// Whether throttled periods were counted around a stretch; none where nobody counted.
    fn rises(&self, from: Time, to: Time) -> Option<bool> {
        let windows = self.throttled.as_ref()?;
        let first = windows.partition_point(|(_, end)| *end < from);
        Some(windows.get(first).is_some_and(|(start, _)| *start <= to))
    }
}

/// Major and minor number of a kernel release such as `6.18.3-cloud-amd64`.
fn release(kernel: &str) -> Option<(u32, u32)> {
    let mut parts = kernel.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::{Counter, Meta, Text};

    fn quota(kernel: &str, throttled: &[(u64, u64)]) -> Quota {
        let counters = throttled.iter().map(|(time, value)| Counter {
            time: Time(*time),
            process: None,
            name: Text::from(counter_names::QUOTA_THROTTLED),
            value: *value,
        });
        Quota::of(&Recording {
            meta: Meta { kernel: kernel.to_owned(), ..Meta::default() },
            counters: counters.collect(),
            ..Recording::default()
        })
    }

    #[test]
    fn the_stack_tells_on_new_kernels_and_only_while_periods_were_throttled() {
        let quota = quota("6.18.1", &[(0, 0), (100_000_000, 0), (200_000_000, 3)]);
        let at = |from, to| quota.cause(true, Time(from), Time(to));
        assert_eq!(at(10_000_000, 70_000_000), Cause::Runnable);
        assert_eq!(at(110_000_000, 170_000_000), Cause::RunnableQuota);
        assert_eq!(at(110_000_000, 110_500_000), Cause::Runnable);
        assert_eq!(quota.cause(false, Time(110_000_000), Time(170_000_000)), Cause::Runnable);
    }

    #[test]
    fn long_gaps_tell_on_old_kernels() {
        let quota = quota("5.10.0-28", &[(0, 0), (100_000_000, 2)]);
        let at = |from, to| quota.cause(false, Time(from), Time(to));
        assert_eq!(at(10_000_000, 70_000_000), Cause::RunnableQuota);
        assert_eq!(at(10_000_000, 13_000_000), Cause::Runnable);
    }

    #[test]
    fn nothing_is_guessed_where_nobody_counted() {
        assert_eq!(quota("5.10.0", &[]).cause(false, Time(0), Time(90_000_000)), Cause::Runnable);
        let at_stack = quota("6.18.0", &[]).cause(true, Time(0), Time(90_000_000));
        assert_eq!(at_stack, Cause::Runnable);
    }
}
