//! The one pass that turns raw tables into intervals, thread by thread.

use culprit_model::{Interval, LossKind, Recording, Switch, SwitchKind, ThreadId, Time};

use super::evidence::Evidence;
use super::interpreters;
use super::quota::Quota;
use super::reconcile::reconcile;
use super::timeline::Timeline;
use crate::accounting::{Accounting, accounting};
use crate::causes::Causes;

/// Stretches of time in which switch records were lost, merged and in order.
#[derive(Debug)]
pub(super) struct Holes(Vec<(Time, Time)>);

impl Holes {
    fn of(recording: &Recording) -> Self {
        let lost = recording.losses.iter().filter(|loss| loss.kind == LossKind::SwitchesLost);
        let mut spans: Vec<(Time, Time)> = lost
            .map(|loss| (loss.from.unwrap_or(Time::START), loss.to.unwrap_or(Time(u64::MAX))))
            .collect();
        spans.sort_unstable();
        let mut merged: Vec<(Time, Time)> = Vec::with_capacity(spans.len());
        for (from, to) in spans {
            match merged.last_mut().filter(|(_, end)| from <= *end) {
                Some((_, end)) => *end = to.max(*end),
                None => merged.push((from, to)),
            }
        }
        Self(merged)
    }

    /// Whether records were lost in a stretch.
    pub(super) fn touch(&self, from: Time, to: Time) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let first = self.0.partition_point(|(_, end)| *end <= from);
        self.0.get(first).is_some_and(|(start, _)| *start < to)
    }
}

/// Builds the intervals of a recording that was read and has none because its recorder never built them;
/// `unfinished` says that the recorder did not finish the file.
///
/// A damaged file may have lost its intervals. Built anew from what else is left of it they would claim time
/// that nobody measured. Only a file that never had any still has its switches.
pub fn build_missing(recording: &mut Recording, unfinished: bool) {
    let never_built = unfinished || !recording.switches.is_empty();
    if never_built && recording.intervals.is_empty() {
        build(recording);
    }
}

/// Builds the intervals of every recorded thread and takes the raw switches out of the recording.
///
/// Rows come ordered by thread, then by start, and tile each thread's life. A loss row is added
/// when the sums differ from the kernel's own accounting by more than
/// [`Accounting::differs`] allows; the result says by how much in any case.
///
/// A thread that was switched out dead has ended there, also where its exit record was lost. A
/// recording that holds intervals already is left as it is. The cost is linear in switches,
/// samples, wakeups, frames and stacks.
pub fn build(recording: &mut Recording) -> Accounting {
    if recording.intervals.is_empty() {
        // A file that was never finished has its rows as they were told.
        recording.switches.sort_by_key(|row| row.time);
        recording.samples.sort_by_key(|row| row.time);
        recording.wakeups.sort_by_key(|row| row.time);
        interpreters::merge(recording);
        let causes = Causes::of(recording);
        end_the_dead(recording, &causes);
        recording.intervals = intervals(recording, &causes);
        reconcile(recording);
        recording.switches = Vec::new();
        crate::activities::build(recording);
        let sums = accounting(recording);
        recording.losses.extend(sums.losses());
        return sums;
    }
    accounting(recording)
}

/// Ends the threads that were switched out dead but whose exit was not recorded, and the processes
/// all of whose threads have ended.
fn end_the_dead(recording: &mut Recording, causes: &Causes) {
    let dead = |switch: &&Switch| {
        let letter = switch.state.and_then(char::from_u32);
        switch.kind != SwitchKind::In
            && (matches!(letter, Some('X' | 'Z'))
                || switch.stack.is_some_and(|stack| causes.ends(stack)))
    };
    for switch in recording.switches.iter().filter(dead) {
        if let Some(thread) = recording.threads.get_mut(switch.thread.index()) {
            thread.end.get_or_insert(switch.time);
        }
    }
    let mut ends = vec![Some(Time::START); recording.processes.len()];
    for thread in &recording.threads {
        if let Some(end) = ends.get_mut(thread.process.index()) {
            *end = end.zip(thread.end).map(|(known, own)| known.max(own));
        }
    }
    for (process, end) in recording.processes.iter_mut().zip(ends) {
        let end = end.filter(|end| process.recorded && *end > process.start);
        process.end = process.end.or(end);
    }
}

fn intervals(recording: &Recording, causes: &Causes) -> Vec<Interval> {
    let quota = Quota::of(recording);
    let holes = Holes::of(recording);
    let evidence = Evidence::of(recording);
    let size = recording.switches.len() + recording.samples.len() + recording.threads.len();
    let mut rows = Vec::with_capacity(size);
    for (at, thread) in recording.threads.iter().enumerate() {
        if thread.recorded {
            let id = ThreadId::from_index(at);
            Timeline::new(recording, id, &evidence, &mut rows).write(causes, &quota, &holes);
        }
    }
    rows.shrink_to_fit();
    rows
}
