//! Our sums against the kernel's own: how well a recording's time adds up.
//!
//! Two oracles. A thread's intervals must tile its life, so their sum equals it. And
//! `/proc/PID/task/TID/schedstat` keeps on-CPU and run-queue time per thread; the difference of two
//! snapshots must equal our on-CPU time between them, and our waits for a CPU that ended between
//! them. In a virtual machine the kernel leaves out of a thread's time what the hypervisor took
//! from its CPU meanwhile (kernel/sched/core.c, `update_rq_clock_task`); the thread was on it all the
//! same, so there ours may be more by what `/proc/stat` counts as stolen.

use culprit_model::counter_names::STEAL_NS;
use culprit_model::{Interval, Loss, LossKind, Nanos, Recording, Text, ThreadId, Time};

/// Sums may differ from the kernel's by this share of on-CPU time before it is called a loss. With
/// the scheduler's tracepoints 0.1 % was seen; without them the kernel's own tracing work between
/// the two switch records of a thread costs about a microsecond a switch.
pub const CPU_TOLERANCE: f64 = 0.005;
/// The same for run-queue time, whose start (the wakeup) and end are recorded on two CPUs.
pub const RUN_QUEUE_TOLERANCE: f64 = 0.01;
/// Differences below this do not matter.
pub const SLACK: Nanos = Nanos(1_000_000);
/// The kernel's sum of a thread that runs is as old as the last tick: at most this much
/// (`CONFIG_HZ` is 100 or more). A snapshot that was taken while its thread ran is only used where
/// there is no other.
pub const TICK: Nanos = Nanos(10_000_000);
/// Stolen time is counted in hundredths of a second (proc_stat(5), `USER_HZ`).
const STEAL_UNIT: Nanos = Nanos(10_000_000);

/// How far one of our sums may be from the oracle's.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Allowance {
    /// As a share of the oracle's.
    pub tolerance: f64,
    /// As an amount, however small the sum.
    pub slack: Nanos,
    /// By how much ours may be more beside that.
    pub more: Nanos,
    /// By how much ours may be less beside that.
    pub less: Nanos,
}

/// One of our sums beside the number that it should equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// Ours.
    pub ours: Nanos,
    /// The oracle's.
    pub theirs: Nanos,
}

impl Sum {
    /// How far ours is from theirs: negative when ours is less.
    #[must_use]
    pub fn difference_ns(&self) -> i64 {
        let clamp = |n: Nanos| i64::try_from(n.0).unwrap_or(i64::MAX);
        clamp(self.ours) - clamp(self.theirs)
    }

    /// The difference as a share of theirs; 0 when theirs is 0.
    #[must_use]
    pub fn residual(&self) -> f64 {
        let size = Nanos(self.difference_ns().unsigned_abs()).share_of(self.theirs);
        if self.difference_ns() < 0 { -size } else { size }
    }

    /// By which share of theirs ours is off; none when that is within what is allowed.
    #[must_use]
    pub fn off(&self, allowed: &Allowance) -> Option<f64> {
        let excused = if self.difference_ns() > 0 { allowed.more } else { allowed.less };
        let apart = Nanos(self.difference_ns().unsigned_abs()).saturating_sub(excused);
        let share = apart.share_of(self.theirs);
        (apart > allowed.slack && share > allowed.tolerance).then_some(share)
    }

    fn add(&mut self, other: Self) {
        self.ours += other.ours;
        self.theirs += other.theirs;
    }
}

/// One thread's sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSums {
    /// Which thread.
    pub thread: ThreadId,
    /// All intervals against the thread's life.
    pub life: Sum,
    /// On-CPU intervals against schedstat; none without two snapshots.
    pub cpu: Option<Sum>,
    /// Runnable intervals against schedstat; none without two snapshots.
    pub run_queue: Option<Sum>,
}

/// Every recorded thread's sums and their totals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accounting {
    /// One entry a recorded thread, in the order of the `threads` table.
    pub threads: Vec<ThreadSums>,
    /// All threads' lives.
    pub life: Sum,
    /// On-CPU time of the threads that have snapshots.
    pub cpu: Sum,
    /// Run-queue time of the threads that have snapshots.
    pub run_queue: Sum,
    /// How many threads have snapshots.
    pub checked: usize,
    /// How often these threads got onto a CPU. What the recorder itself does at each switch lies
    /// between the two switch records: the kernel charges it to a thread, we do not.
    pub switches_in: u64,
    /// How far the sums may differ for reasons of the snapshots: [`SLACK`], and a [`TICK`] for each
    /// that was taken while its thread ran.
    pub slack: Nanos,
    /// The most that the hypervisor can have taken of the machine's CPUs meanwhile; 0 where it never
    /// took any.
    pub stolen: Nanos,
    /// Time in rows that lost switch records touch.
    pub uncertain: Nanos,
}

impl Accounting {
    /// How far the sums of time on a CPU may be apart: the kernel's has nothing of what was stolen.
    #[must_use]
    pub fn cpu_allowance(&self) -> Allowance {
        let (tolerance, slack) = (CPU_TOLERANCE, self.slack);
        Allowance { tolerance, slack, more: self.stolen, less: Nanos::ZERO }
    }

    /// How far the sums of time on run queues may be apart: where a wakeup that ends a CPU's idle
    /// time is not traced, ours has nothing of what is stolen between it and the switch.
    #[must_use]
    pub fn run_queue_allowance(&self) -> Allowance {
        let (tolerance, slack) = (RUN_QUEUE_TOLERANCE, self.slack);
        Allowance { tolerance, slack, more: Nanos::ZERO, less: self.stolen }
    }

    /// True when a total differs from the kernel's by more than is allowed.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.cpu.off(&self.cpu_allowance()).is_some()
            || self.run_queue.off(&self.run_queue_allowance()).is_some()
    }

    /// How much on-CPU time a switch that the kernel counts and we do not: the recorder's own work,
    /// where nothing else is amiss. None when ours is not less, or nothing was checked.
    #[must_use]
    pub fn cost_of_a_switch(&self) -> Option<Nanos> {
        let missing = self.cpu.theirs.saturating_sub(self.cpu.ours);
        missing.0.checked_div(self.switches_in).filter(|cost| *cost > 0).map(Nanos)
    }

    /// The loss row that a difference deserves, if it does.
    pub(crate) fn losses(&self) -> Option<Loss> {
        self.differs().then(|| Loss {
            kind: LossKind::AccountingDiffers,
            count: self.checked as u64,
            from: None,
            to: None,
            detail: Text::from(format!(
                "on-CPU {} against {} of the kernel{}, run queue {} against {}",
                self.cpu.ours,
                self.cpu.theirs,
                self.cost_of_a_switch()
                    .map(|cost| format!(" ({cost} a switch)"))
                    .unwrap_or_default(),
                self.run_queue.ours,
                self.run_queue.theirs
            )),
        })
    }
}

/// Adds up a recording whose intervals are built. Linear in intervals.
#[must_use]
pub fn accounting(recording: &Recording) -> Accounting {
    let mut sums = Accounting { slack: SLACK, stolen: stolen(recording), ..Accounting::default() };
    let mut rest = recording.intervals.as_slice();
    for (at, thread) in recording.threads.iter().enumerate().filter(|(_, t)| t.recorded) {
        let id = ThreadId::from_index(at);
        rest = &rest[rest.partition_point(|row| row.thread < id)..];
        let (own, later) = rest.split_at(rest.partition_point(|row| row.thread <= id));
        rest = later;
        let mut entry = ThreadSums {
            thread: id,
            life: Sum {
                ours: own.iter().map(|row| row.duration).sum(),
                theirs: recording.thread_end(id).since(thread.start),
            },
            cpu: None,
            run_queue: None,
        };
        if let (Some(from), Some(to)) = (thread.sched_from, thread.sched_to) {
            let cpu = own.iter().filter(|row| row.cause.is_cpu());
            let cpu = cpu.map(|row| clipped(row.start, row.duration, from, to)).sum();
            entry.cpu = thread.sched_cpu.map(|theirs| Sum { ours: cpu, theirs });
            // The kernel adds a wait for the CPU when it is over, whole (kernel/sched/stats.h,
            // sched_info_arrive): one that a snapshot falls into belongs to the later snapshot.
            let over = |row: &&Interval| (from..=to).contains(&(row.start + row.duration));
            let waits = own.iter().filter(|row| row.cause.is_runnable()).filter(over);
            let waited = waits.map(|row| row.duration).sum();
            entry.run_queue = thread.sched_wait.map(|theirs| Sum { ours: waited, theirs });
        }
        sums.life.add(entry.life);
        sums.cpu.add(entry.cpu.unwrap_or_default());
        sums.run_queue.add(entry.run_queue.unwrap_or_default());
        if entry.cpu.is_some() {
            sums.checked += 1;
            sums.switches_in += switches_in(own);
            let ends = [thread.sched_from, thread.sched_to].into_iter().flatten();
            let rough = ends.filter(|time| runs_at(own, *time)).count();
            sums.slack += Nanos(TICK.0.saturating_mul(rough as u64));
        }
        sums.uncertain += own.iter().filter(|row| row.uncertain).map(|row| row.duration).sum();
        sums.threads.push(entry);
    }
    sums
}

/// The most that the hypervisor can have taken between the first and the last reading of what it
/// took since the machine started.
fn stolen(recording: &Recording) -> Nanos {
    let mut readings = recording.counters.iter().filter(|row| *row.name == *STEAL_NS);
    let Some(first) = readings.next() else { return Nanos::ZERO };
    let last = readings.next_back().unwrap_or(first);
    if last.value == 0 {
        return Nanos::ZERO;
    }
    Nanos(last.value.saturating_sub(first.value)) + STEAL_UNIT
}

/// Whether a thread is on a CPU before and after a time.
fn runs_at(rows: &[Interval], time: Time) -> bool {
    let next = rows.partition_point(|row| row.start < time);
    next.checked_sub(1).and_then(|at| rows.get(at)).is_some_and(|row| {
        let ended = row.start + row.duration <= time;
        row.cause.is_cpu() && (!ended || rows.get(next).is_some_and(|row| row.cause.is_cpu()))
    })
}

/// How often a thread's rows go from off the CPU to on it.
fn switches_in(rows: &[Interval]) -> u64 {
    let onto = |pair: &&[Interval]| !pair[0].cause.is_cpu() && pair[1].cause.is_cpu();
    rows.windows(2).filter(onto).count() as u64
}

/// How much of a stretch lies between two times.
pub(crate) fn clipped(start: Time, duration: Nanos, from: Time, to: Time) -> Nanos {
    (start + duration).min(to).since(start.max(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::Counter;
    use culprit_model::notation::parse;

    #[test]
    fn sums_are_those_between_the_snapshots() {
        let mut recording =
            parse("app(1)/main(1) UUrrUUssUr\napp(1)/other(2) ssssssssss").expect("parses");
        let thread = &mut recording.threads[0];
        // The last wait for a CPU is not over at the second snapshot.
        (thread.sched_from, thread.sched_to) = (Some(Time(1_000_000)), Some(Time(9_500_000)));
        (thread.sched_cpu, thread.sched_wait) = (Some(Nanos(4_020_000)), Some(Nanos(2_000_000)));
        let sums = accounting(&recording);
        assert_eq!((sums.life.ours, sums.life.theirs), (Nanos(20_000_000), Nanos(20_000_000)));
        assert_eq!((sums.cpu.ours, sums.cpu.difference_ns()), (Nanos(4_000_000), -20_000));
        assert_eq!((sums.run_queue.ours, sums.checked), (Nanos(2_000_000), 1));
        assert_eq!((sums.switches_in, sums.cost_of_a_switch()), (2, Some(Nanos(10_000))));
        assert!(!sums.differs(), "20 us do not matter");
    }

    #[test]
    fn what_the_hypervisor_took_is_not_ours_to_miss() {
        let sum = |ours, theirs| Sum { ours: Nanos(ours), theirs: Nanos(theirs) };
        let more = Nanos(20_000_000);
        let allowed = Allowance { tolerance: 0.005, slack: SLACK, more, ..Allowance::default() };
        assert_eq!(sum(1_019_000_000, 1_000_000_000).off(&allowed), None);
        assert_eq!(sum(1_030_000_000, 1_000_000_000).off(&allowed), Some(0.01));
        // Less is never explained by it.
        assert_eq!(sum(990_000_000, 1_000_000_000).off(&allowed), Some(0.01));
        assert_eq!(sum(990_000, 0).off(&allowed), None);
    }

    #[test]
    fn stolen_time_is_counted_where_a_hypervisor_takes_some() {
        let mut recording = parse("app(1)/main(1) UUUU").expect("parses");
        let mut read = |values: &[u64]| {
            let row = |value: &u64| Counter {
                time: Time(*value),
                process: None,
                name: STEAL_NS.into(),
                value: *value,
            };
            recording.counters = values.iter().map(row).collect();
            accounting(&recording).stolen
        };
        assert_eq!(read(&[]), Nanos::ZERO);
        assert_eq!(read(&[0, 0]), Nanos::ZERO);
        assert_eq!(read(&[70_000_000, 80_000_000, 90_000_000]), Nanos(30_000_000));
    }

    #[test]
    fn a_large_difference_is_a_loss() {
        let mut recording = parse("tick 1s\napp(1)/main(1) UUUUUUUUUU").expect("parses");
        let thread = &mut recording.threads[0];
        (thread.sched_from, thread.sched_to) = (Some(Time(0)), Some(Time(10_000_000_000)));
        (thread.sched_cpu, thread.sched_wait) = (Some(Nanos(11_000_000_000)), Some(Nanos(0)));
        let sums = accounting(&recording);
        assert!(sums.differs());
        assert_eq!(sums.losses().map(|loss| loss.kind), Some(LossKind::AccountingDiffers));
    }
}
