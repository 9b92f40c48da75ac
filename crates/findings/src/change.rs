//! Which findings a change of the program made go away, and which came with it.
//!
//! Runs before and after are recorded in the same place. A finding is the same on both sides when its
//! rule and the function that it points at are: the module may be another one, for a fix is often a
//! new file. What a rule says about a whole run points at no function.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use culprit_model::{Finding, Nanos, Text};

use crate::difference::RunSummary;
use crate::rules::{cpu_quota_throttling, run_queue};
use crate::settle::MIN_SHARE;

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It cost time before. After, it costs less, and less than 1 % of the wall time.
    Gone,
    /// It costs less than before in every run after.
    Shrank,
    /// It costs about the same on both sides, or its runs overlap.
    Stayed,
    /// It costs more than before in every run after.
    Grew,
    /// It costs time after. Before, it cost less, and less than 1 % of the wall time.
    Came,
}

impl Change {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Shrank => "shrank",
            Self::Stayed => "stayed",
            Self::Grew => "grew",
            Self::Came => "came",
        }
    }
}

/// A finding before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingChange {
    /// What became of it.
    pub change: Change,
    /// The finding as the run with the median cost has it: of the runs after the change, where they
    /// have it.
    pub finding: Finding,
    /// What it costs a run before (mean over the runs).
    pub before: Nanos,
    /// What it costs a run after.
    pub after: Nanos,
    /// In how many runs before it was found.
    pub runs_before: usize,
    /// In how many runs after.
    pub runs_after: usize,
}

/// Compares the findings of runs before and after a change: those that cost at least a hundredth of
/// the wall time in at least half of the runs of a side. The largest change of cost first,
/// then the costliest.
#[must_use]
pub fn find_changes(before: &[RunSummary], after: &[RunSummary]) -> Vec<FindingChange> {
    let (before, after) = (Side::of(before), Side::of(after));
    let mut keys: Vec<&Key> = before.found.keys().chain(after.found.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut changes: Vec<FindingChange> =
        keys.into_iter().filter_map(|key| changed(key, &before, &after)).collect();
    changes.sort_by(|a, b| {
        let size = |change: &FindingChange| change.before.0.abs_diff(change.after.0);
        size(b)
            .cmp(&size(a))
            .then(b.after.cmp(&a.after))
            .then(a.finding.id.cmp(b.finding.id))
            .then_with(|| a.finding.title.cmp(&b.finding.title))
    });
    changes
}

fn changed(key: &Key, before: &Side<'_>, after: &Side<'_>) -> Option<FindingChange> {
    let (counted, counts) = (before.counts(key), after.counts(key));
    if !counted && !counts {
        return None;
    }
    // The wall times may differ, so a cost can fall and yet become a larger share.
    let less = after.cost(key) < before.cost(key);
    let change = match difference(&before.costs_of_runs(key), &after.costs_of_runs(key)) {
        _ if less && counted && !after.costs(key) => Change::Gone,
        _ if !less && counts && !before.costs(key) => Change::Came,
        Ordering::Less => Change::Shrank,
        Ordering::Equal => Change::Stayed,
        Ordering::Greater => Change::Grew,
    };
    let typical = if change == Change::Gone { before.typical(key) } else { after.typical(key) };
    Some(FindingChange {
        change,
        finding: typical.or_else(|| before.typical(key))?.clone(),
        before: before.cost(key),
        after: after.cost(key),
        runs_before: before.runs_with(key),
        runs_after: after.runs_with(key),
    })
}

/// Means of a cost that differ by less than this share of the larger one are about the same.
const SAME: f64 = 0.1;

/// How a cost changed: the means must differ, and no run of one side may cost as much as a run of the
/// other.
fn difference(before: &[Nanos], after: &[Nanos]) -> Ordering {
    let mean = |costs: &[Nanos]| {
        Nanos(costs.iter().map(|cost| cost.0).sum::<u64>() / (costs.len() as u64).max(1))
    };
    let ends = |costs: &[Nanos]| (costs.iter().min().copied(), costs.iter().max().copied());
    let (mean_before, mean_after) = (mean(before), mean(after));
    let apart = Nanos(mean_before.0.abs_diff(mean_after.0));
    if apart.share_of(mean_before.max(mean_after)) < SAME {
        return Ordering::Equal;
    }
    let ((least_before, most_before), (least_after, most_after)) = (ends(before), ends(after));
    match () {
        () if most_after < least_before => Ordering::Less,
        () if least_after > most_before => Ordering::Greater,
        () => Ordering::Equal,
    }
}

type Key = (&'static str, Text);

/// Rules that make one claim about a whole run. Where its threads happened to be when others had the CPUs
/// is another function in each run, and says nothing about what has become of the finding.
const OF_THE_RUN: [&str; 2] = [run_queue::DOC.id, cpu_quota_throttling::DOC.id];

fn key(finding: &Finding) -> Key {
    let function = finding.at.first().map(|at| at.function.clone());
    let function = function.filter(|_| !OF_THE_RUN.contains(&finding.id));
    (finding.id, function.unwrap_or_default())
}

/// The findings of one side's runs.
struct Side<'a> {
    runs: usize,
    /// Mean wall time of a run.
    wall: Nanos,
    /// By finding, the position of the run and the finding in it.
    found: BTreeMap<Key, Vec<(usize, &'a Finding)>>,
}

impl<'a> Side<'a> {
    fn of(runs: &'a [RunSummary]) -> Self {
        let mut found: BTreeMap<Key, Vec<(usize, &Finding)>> = BTreeMap::new();
        for (at, run) in runs.iter().enumerate() {
            for finding in run.findings().iter().filter(|finding| finding.cost > Nanos::ZERO) {
                found.entry(key(finding)).or_default().push((at, finding));
            }
        }
        let walls: Nanos = runs.iter().map(RunSummary::wall).sum();
        Self { runs: runs.len(), wall: Nanos(walls.0 / (runs.len() as u64).max(1)), found }
    }

    fn all(&self, key: &Key) -> &[(usize, &'a Finding)] {
        self.found.get(key).map_or(&[], Vec::as_slice)
    }

    /// Mean cost over all runs, those without the finding too.
    fn cost(&self, key: &Key) -> Nanos {
        let sum: Nanos = self.all(key).iter().map(|(_, finding)| finding.cost).sum();
        Nanos(sum.0 / (self.runs as u64).max(1))
    }

    /// What it costs in each run; zero in runs without it.
    fn costs_of_runs(&self, key: &Key) -> Vec<Nanos> {
        let mut costs = vec![Nanos::ZERO; self.runs];
        for (run, finding) in self.all(key) {
            costs[*run] += finding.cost;
        }
        costs
    }

    /// Whether it costs enough to be spoken of.
    fn costs(&self, key: &Key) -> bool {
        self.cost(key).share_of(self.wall) >= MIN_SHARE
    }

    /// Whether it costs enough, in enough of the runs, to be this side's and not a chance's.
    fn counts(&self, key: &Key) -> bool {
        self.costs(key) && 2 * self.runs_with(key) >= self.runs
    }

    fn runs_with(&self, key: &Key) -> usize {
        let mut runs: Vec<usize> = self.all(key).iter().map(|(run, _)| *run).collect();
        runs.dedup();
        runs.len()
    }

    fn typical(&self, key: &Key) -> Option<&'a Finding> {
        let mut all: Vec<&Finding> = self.all(key).iter().map(|(_, finding)| *finding).collect();
        all.sort_by_key(|finding| finding.cost);
        all.get(all.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::Cause;

    use super::*;
    use crate::scene::{End, Scene};

    /// Looks eight times, a second apart or as soon as it may; then computes.
    fn run(polls: bool) -> RunSummary {
        let mut scene = Scene::default();
        let driver = scene.program("driver", None, 0);
        let follower = scene.program("follower", Some(driver), 0);
        for _ in 0..8 {
            scene.run(driver, 50, Cause::CpuUser, "main;think");
            let wait = if polls { 950 } else { 1 };
            scene.wait(
                driver,
                wait,
                Cause::Pipe,
                "main;next_row;libc.so.6!read;k:anon_pipe_read",
                End::By(follower),
            );
            if polls {
                scene.wait(follower, 999, Cause::Sleep, "main;follow;k:do_nanosleep", End::Timer);
            } else {
                scene.wait(follower, 50, Cause::Poll, "main;follow;k:do_sys_poll", End::By(driver));
            }
            scene.run(follower, 1, Cause::CpuUser, "main;print");
        }
        RunSummary::of(&scene.done())
    }

    fn kinds(before: &[RunSummary], after: &[RunSummary]) -> Vec<(Change, &'static str)> {
        let changes = find_changes(before, after);
        changes.iter().map(|change| (change.change, change.finding.id)).collect()
    }

    #[test]
    fn what_went_away_and_what_came_are_told_apart() {
        let (guilty, fixed) = ([run(true), run(true)], [run(false), run(false)]);
        let gone = find_changes(&guilty, &fixed);
        assert_eq!((gone[0].change, gone[0].finding.id), (Change::Gone, "poll-sleep-loop"));
        assert!(gone[0].before > Nanos(7_000_000_000) && gone[0].after == Nanos::ZERO);
        assert_eq!((gone[0].runs_before, gone[0].runs_after), (2, 0));
        assert_eq!(kinds(&fixed, &guilty)[0], (Change::Came, "poll-sleep-loop"));
        assert_eq!(kinds(&guilty, &guilty)[0], (Change::Stayed, "poll-sleep-loop"));
    }

    #[test]
    fn what_costs_less_after_never_came() {
        let cost = |costs: &[u64]| costs.iter().copied().map(Nanos).collect::<Vec<_>>();
        assert_eq!(difference(&cost(&[88, 90]), &cost(&[38, 40])), Ordering::Less);
        assert_eq!(difference(&cost(&[38]), &cost(&[88])), Ordering::Greater);
        assert_eq!(difference(&cost(&[100]), &cost(&[95])), Ordering::Equal);
        // One run of each side costs as much: that is no change yet.
        assert_eq!(difference(&cost(&[100, 40]), &cost(&[40, 30])), Ordering::Equal);
        assert_eq!(difference(&cost(&[]), &cost(&[])), Ordering::Equal);
    }

    /// Two threads on one CPU, which wait for it in a function of the run's own.
    fn crowded(function: &str) -> RunSummary {
        let mut scene = Scene::default();
        let one = scene.program("one", None, 0);
        for _ in 0..8 {
            scene.run(one, 50, Cause::CpuUser, "main;work");
            scene.run(one, 50, Cause::Runnable, &format!("main;{function}"));
        }
        RunSummary::of(&scene.done())
    }

    #[test]
    fn waiting_for_a_cpu_is_one_finding_wherever_threads_were() {
        let (before, after) = ([crowded("parse")], [crowded("print")]);
        let told = kinds(&before, &after);
        let queue: Vec<_> = told.iter().filter(|(_, id)| *id == "run-queue").collect();
        assert_eq!(queue, [&(Change::Stayed, "run-queue")], "{told:?}");
    }

    #[test]
    fn what_one_run_of_many_had_is_no_change() {
        let before = [run(false), run(false), run(true)];
        let gone = kinds(&before, &[run(false)]);
        assert!(!gone.contains(&(Change::Gone, "poll-sleep-loop")), "{gone:?}");
        assert!(find_changes(&[], &[]).is_empty());
    }
}
