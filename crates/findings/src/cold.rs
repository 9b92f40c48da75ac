//! Cold against warm: what a command's first run took longer than the runs after it.
//!
//! The first run of a program reads its files from the disk, fills caches and starts what later runs
//! find; they say nothing about it, and a median hides it.

use culprit_model::{Cause, Nanos};

use crate::RunSummary;

/// How many times as long as the longest later run a first run must be. That the first of n like runs
/// is the longest is chance in one of n; that it is so by a quarter is not, where later ones are alike.
const MIN_RATIO: f64 = 1.25;

/// Later runs from which it is known how much they vary.
const MIN_LATER: usize = 2;

/// Share of the extra time from which a cause is told.
const MIN_SHARE: f64 = 0.1;

/// A first run that took longer than all later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColdRun {
    /// Wall time of the first run.
    pub first: Nanos,
    /// The shortest and the longest of the others.
    pub later: (Nanos, Nanos),
    /// What the first one spent more on than the mean of the others, the most first.
    pub extra: Vec<(Cause, Nanos)>,
}

/// How many times as long as the longest later run a first run must be for its extra time to be a cost of
/// its own, and not a slower beginning.
const ONCE: f64 = 2.0;

impl ColdRun {
    /// True where the first run paid for something that the later ones had already: it took much longer
    /// than the longest of them, and so longer by more than they differ by.
    #[must_use]
    pub fn is_paid_once(&self) -> bool {
        self.first.seconds() >= ONCE * self.later.1.seconds()
    }
}

/// What a first run was cold of; none where it was like the others, or where they are too few.
#[must_use]
pub fn cold_run(runs: &[RunSummary]) -> Option<ColdRun> {
    let (first, later) = runs.split_first().filter(|(_, later)| later.len() >= MIN_LATER)?;
    let walls = || later.iter().map(RunSummary::wall);
    let (shortest, longest) = (walls().min()?, walls().max()?);
    if first.wall().seconds() < MIN_RATIO * longest.seconds() {
        return None;
    }
    let sums: Vec<_> = later.iter().map(RunSummary::by_cause).collect();
    let mean = |cause: Cause| {
        let all: Nanos = sums.iter().filter_map(|sums| sums.get(&cause)).copied().sum();
        Nanos(all.0 / sums.len() as u64)
    };
    let more =
        first.by_cause().into_iter().map(|(cause, time)| (cause, time.saturating_sub(mean(cause))));
    let whole = first.wall().saturating_sub(shortest);
    let mut extra: Vec<_> = more.filter(|(_, time)| time.share_of(whole) >= MIN_SHARE).collect();
    extra.sort_by_key(|(cause, time)| (std::cmp::Reverse(*time), *cause));
    Some(ColdRun { first: first.wall(), later: (shortest, longest), extra })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{End, Scene};

    fn run(disk_ms: u64, work_ms: u64) -> RunSummary {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.wait(main, disk_ms, Cause::Disk, "main;load;libc.so.6!read;k:io_schedule", End::Disk);
        scene.run(main, work_ms, Cause::CpuUser, "main;work");
        RunSummary::of(&scene.done())
    }

    #[test]
    fn a_first_run_that_waits_for_the_disk_is_told_with_the_wait() {
        let cold = cold_run(&[run(500, 300), run(1, 290), run(1, 310)]).expect("cold");
        assert_eq!(cold.first, Nanos(800_000_000));
        assert_eq!(cold.later, (Nanos(291_000_000), Nanos(311_000_000)));
        assert_eq!(cold.extra, [(Cause::Disk, Nanos(499_000_000))]);
        assert!(cold.is_paid_once());
    }

    #[test]
    fn a_somewhat_slower_beginning_is_not_paid_once() {
        assert!(
            !cold_run(&[run(150, 300), run(1, 290), run(1, 310)]).expect("cold").is_paid_once()
        );
        assert!(!cold_run(&[run(700, 300), run(1, 20), run(1, 580)]).expect("cold").is_paid_once());
    }

    #[test]
    fn runs_that_are_alike_or_too_few_say_nothing() {
        assert!(cold_run(&[run(1, 330), run(1, 290), run(1, 310)]).is_none());
        assert!(cold_run(&[run(500, 300), run(1, 290)]).is_none());
        assert!(cold_run(&[]).is_none());
    }
}
