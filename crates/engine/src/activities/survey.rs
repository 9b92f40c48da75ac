//! How long activities took, and how that time passed.

use std::collections::BTreeMap;

use culprit_model::{Activity, ActivityId, Cause, Label as _, Nanos, Recording, Text};

use super::owners::Owners;
use super::worked::worked;

/// How the time of an activity and of its parts passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// From start to end.
    pub latency: Nanos,
    /// Threads on a CPU; more than the latency where several worked at once.
    pub cpu: Nanos,
    /// Threads ready, without a CPU.
    pub runnable: Nanos,
    /// Threads blocked.
    pub blocked: Nanos,
    /// From start to end, no thread worked on it or on a part of it.
    pub nobody: Nanos,
}

impl Passed {
    fn add(&mut self, other: &Self) {
        self.latency += other.latency;
        self.cpu += other.cpu;
        self.runnable += other.runnable;
        self.blocked += other.blocked;
        self.nobody += other.nobody;
    }
}

/// The activities of one name, or those of them that one process began.
#[derive(Debug, Clone, PartialEq)]
pub struct NameRow {
    /// The name.
    pub name: Text,
    /// The process, where they are divided by it: `NAME (PID)`.
    pub process: Option<Text>,
    /// Those that ended, in the order of the table.
    pub ended: Vec<ActivityId>,
    /// How many did not end within the recording.
    pub open: usize,
    /// Their latencies, the shortest first.
    pub latencies: Vec<Nanos>,
    /// How the time of those that ended passed, together. One that is part of another of the same
    /// name counts there and not again.
    pub passed: Passed,
    /// The same by cause: thread time, the causes that took the most first.
    pub causes: Vec<(Cause, Nanos)>,
}

/// Every activity of a recording, measured.
#[derive(Debug)]
pub struct Survey<'r> {
    recording: &'r Recording,
    passed: Vec<Passed>,
    /// True for those that ended and are part of none that ended of the same name.
    outermost: Vec<bool>,
    /// Thread time by activity with its parts, for each cause that there is.
    causes: Vec<(Cause, Vec<Nanos>)>,
}

impl<'r> Survey<'r> {
    /// Measures the activities of a recording whose intervals are built. Linear in intervals and
    /// activities.
    #[must_use]
    pub fn of(recording: &'r Recording) -> Self {
        let causes = causes(recording);
        let worked = worked(recording);
        let mut passed: Vec<Passed> = (recording.activities.iter().zip(&worked))
            .map(|(activity, worked)| {
                let latency = latency(activity).unwrap_or_default();
                Passed { latency, nobody: latency.saturating_sub(*worked), ..Passed::default() }
            })
            .collect();
        for (cause, sums) in &causes {
            for (passed, sum) in passed.iter_mut().zip(sums) {
                let part = match cause {
                    cause if cause.is_cpu() => &mut passed.cpu,
                    cause if cause.is_runnable() => &mut passed.runnable,
                    _ => &mut passed.blocked,
                };
                *part += *sum;
            }
        }
        Self { recording, passed, outermost: outermost(&recording.activities), causes }
    }

    /// How the time of one activity passed, its parts included.
    #[must_use]
    pub fn passed(&self, id: ActivityId) -> Passed {
        self.passed.get(id.index()).copied().unwrap_or_default()
    }

    /// Thread time of one activity by cause, its parts included; the causes that took most first.
    #[must_use]
    pub fn causes(&self, id: ActivityId) -> Vec<(Cause, Nanos)> {
        let sum = |sums: &Vec<Nanos>| sums.get(id.index()).copied().unwrap_or_default();
        ranked(self.causes.iter().map(|(cause, sums)| (*cause, sum(sums))))
    }

    /// The activities that `keeps` wants by name, those that took most time first.
    #[must_use]
    pub fn by_name(&self, keeps: impl Fn(ActivityId, &Activity) -> bool) -> Vec<NameRow> {
        let mut rows = self.divided(keeps, |_| None);
        rows.sort_by(|a, b| b.passed.latency.cmp(&a.passed.latency).then(a.name.cmp(&b.name)));
        rows
    }

    /// The same for each process that began some, which are the instances of a service: by name, those
    /// with the most activities first.
    #[must_use]
    pub fn by_process(&self, keeps: impl Fn(ActivityId, &Activity) -> bool) -> Vec<NameRow> {
        let process = |activity: &Activity| {
            let process = self.recording.thread(activity.thread).process;
            Some(Text::from(self.recording.process_name(process).as_str()))
        };
        let mut rows = self.divided(keeps, process);
        rows.sort_by(|a, b| {
            let more = b.ended.len().cmp(&a.ended.len());
            a.name.cmp(&b.name).then(more).then(a.process.cmp(&b.process))
        });
        rows
    }

    fn divided(
        &self,
        keeps: impl Fn(ActivityId, &Activity) -> bool,
        process: impl Fn(&Activity) -> Option<Text>,
    ) -> Vec<NameRow> {
        let mut rows: BTreeMap<(&Text, Option<Text>), NameRow> = BTreeMap::new();
        for (at, activity) in self.recording.activities.iter().enumerate() {
            let id = ActivityId::from_index(at);
            if !keeps(id, activity) {
                continue;
            }
            let process = process(activity);
            let key = (&activity.name, process.clone());
            let row = rows.entry(key).or_insert_with(|| NameRow {
                name: activity.name.clone(),
                process,
                ended: Vec::new(),
                open: 0,
                latencies: Vec::new(),
                passed: Passed::default(),
                causes: Vec::new(),
            });
            let Some(latency) = latency(activity) else {
                row.open += 1;
                continue;
            };
            row.ended.push(id);
            row.latencies.push(latency);
            if self.outermost[at] {
                row.passed.add(&self.passed[at]);
            }
        }
        let mut rows: Vec<NameRow> = rows.into_values().collect();
        for row in &mut rows {
            row.latencies.sort_unstable();
            row.causes = self.causes_together(&row.ended);
        }
        rows
    }

    /// The slowest of these, at most so many; of equal ones the earlier first.
    #[must_use]
    pub fn slowest(&self, mut ids: Vec<ActivityId>, most: usize) -> Vec<ActivityId> {
        ids.sort_by_key(|id| (std::cmp::Reverse(self.passed(*id).latency), *id));
        ids.truncate(most);
        ids
    }

    fn causes_together(&self, ids: &[ActivityId]) -> Vec<(Cause, Nanos)> {
        let wanted = || ids.iter().map(|id| id.index()).filter(|at| self.outermost[*at]);
        ranked(self.causes.iter().map(|(cause, sums)| (*cause, wanted().map(|at| sums[at]).sum())))
    }
}

/// The latency that so many of a hundred do not exceed: the smallest value that at least this share
/// of all values do not exceed; none of no values. `sorted` begins with the shortest.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank within a list"
)]
pub fn quantile(sorted: &[Nanos], share: f64) -> Option<Nanos> {
    let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

fn latency(activity: &Activity) -> Option<Nanos> {
    activity.end.map(|end| end.since(activity.start))
}

/// Those with time, the most first.
fn ranked(causes: impl Iterator<Item = (Cause, Nanos)>) -> Vec<(Cause, Nanos)> {
    let mut ranked: Vec<_> = causes.filter(|(_, sum)| *sum > Nanos::ZERO).collect();
    ranked.sort_by_key(|(cause, sum)| (std::cmp::Reverse(*sum), *cause));
    ranked
}

/// Thread time of each activity with its parts, for each cause that there is.
fn causes(recording: &Recording) -> Vec<(Cause, Vec<Nanos>)> {
    let owners = Owners::of(recording);
    let count = recording.activities.len();
    let mut sums: Vec<Vec<Nanos>> = vec![Vec::new(); Cause::ALL.len()];
    for row in &recording.intervals {
        let owner = owners.at(row.thread, row.start).filter(|id| id.index() < count);
        if let Some(owner) = owner {
            let of_cause = &mut sums[usize::from(row.cause.code())];
            if of_cause.is_empty() {
                of_cause.resize(count, Nanos::ZERO);
            }
            of_cause[owner.index()] += row.duration;
        }
    }
    let found = Cause::ALL.iter().copied().zip(sums).filter(|(_, sums)| !sums.is_empty());
    let whole = found.map(|(cause, mut sums)| {
        for (at, activity) in recording.activities.iter().enumerate().rev() {
            if let Some(parent) = activity.parent.filter(|parent| parent.index() < at) {
                let sum = sums[at];
                sums[parent.index()] += sum;
            }
        }
        (cause, sums)
    });
    whole.collect()
}

/// Which activities ended and are part of none that ended of the same name.
fn outermost(activities: &[Activity]) -> Vec<bool> {
    // The nearest activity of the same name that ended and stands above, found by going down from
    // each: children of a node are visited between its entry and its exit.
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); activities.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, activity) in activities.iter().enumerate().rev() {
        match activity.parent.map(|id| id.index()).filter(|parent| *parent < at) {
            Some(parent) => children[parent].push(at),
            None => open.push((at, false)),
        }
    }
    let mut above: BTreeMap<&Text, u32> = BTreeMap::new();
    let mut outermost = vec![false; activities.len()];
    while let Some((at, left)) = open.pop() {
        let activity = &activities[at];
        if activity.end.is_some() {
            let count = above.entry(&activity.name).or_default();
            if left {
                *count -= 1;
            } else {
                outermost[at] = *count == 0;
                *count += 1;
            }
        }
        if !left {
            open.push((at, true));
            open.extend(std::mem::take(&mut children[at]).into_iter().map(|child| (child, false)));
        }
    }
    outermost
}
