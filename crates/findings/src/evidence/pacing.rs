//! Loops that look at nothing: their thread sets the pace of what it brings to others.
//!
//! A thread that sleeps, hands something over, and sleeps again may look whether the last one was done, or
//! may send at an agreed rate. Two things tell the second: it asks a server, as a client that thinks in
//! between does; or it wakes on a grid, which takes a clock to keep, while pauses of one length drift.
//! A shell that does no more between two processes that sleep than to write into a pipe looks at nothing
//! either.
//!
//! ```text
//! pauses    |--- 10 ---|work|--- 10 ---|w|--- 10 ---|work|    wakes wander off
//! grid      |--- 10 ---|work|-- 8 --|w|--- 9.5 ---|work|      a late wake is made good by the next pause
//! ```

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, Recording, ThreadId, Time, WakeSource};

use super::Family;
use super::chain::IntervalId;
use super::locks::Locks;
use super::loops::{Loop, is_input};
use super::serving::Serving;
use super::stacks::Stacks;

/// Share of the rounds after which a loop must bring others something: who looks at what others do comes
/// upon it in some rounds, who sets the pace gives in nearly all.
pub(crate) const MIN_GIVES: f64 = 0.5;

/// Wakes from which a grid is told. Of pauses that drift, the deviation from a line is `sqrt(n / 15)` times
/// that of one pause, 1.6 at 40; of a grid it is 0.7, whatever their number.
const MIN_WAKES: usize = 40;

/// Deviation of the wakes from a line, by the deviation of the times between them, up to which they are
/// on a grid: between 0.7 and 1.6.
const ON_GRID: f64 = 0.9;

/// The same for many wakes, as a share of what drifting pauses would have: late wakes come in bunches on
/// busy machines, which moves a grid's deviation towards 1.
const OF_DRIFT: f64 = 0.35;

/// What tells it.
pub(super) struct Sources<'a> {
    pub(super) recording: &'a Recording,
    pub(super) stacks: &'a Stacks,
    pub(super) locks: &'a Locks,
    pub(super) serving: &'a Serving,
}

/// When a thread brought something to others that waited for it.
#[derive(Default)]
struct Gifts {
    /// To anybody.
    all: Vec<Time>,
    /// To a server, whose wait was for requests.
    requests: Vec<Time>,
}

/// Which of these loops set a pace, in their order.
pub(super) fn paced(sources: &Sources<'_>, loops: &[Loop]) -> Vec<bool> {
    let givers: Vec<Option<ThreadId>> =
        loops.iter().map(|found| giver(sources.recording, found)).collect();
    let mut gifts: BTreeMap<_, _> =
        givers.iter().flatten().map(|thread| (*thread, Gifts::default())).collect();
    if gifts.is_empty() {
        return vec![false; loops.len()];
    }
    for row in sources.recording.intervals.iter().filter(|row| row.cause.is_blocked()) {
        sources.note(row, &mut gifts);
    }
    gifts.values_mut().for_each(|gifts| {
        gifts.all.sort_unstable();
        gifts.requests.sort_unstable();
    });
    let paces = |(found, giver): (&Loop, &Option<ThreadId>)| {
        if asks_after(sources, &found.rounds) >= MIN_GIVES {
            return true;
        }
        let Some(gifts) = giver.and_then(|thread| gifts.get(&thread)) else { return false };
        let share = |moments: &[Time]| share_followed(sources.recording, &found.rounds, moments);
        share(&gifts.requests) >= MIN_GIVES
            || (share(&gifts.all) >= MIN_GIVES
                && (found.by_processes || is_on_grid(sources.recording, &found.rounds)))
    };
    loops.iter().zip(&givers).map(paces).collect()
}

/// Who would bring something between the rounds of a loop: its thread, or the shell whose only children
/// the rounds are; one that has others may look by them.
fn giver(recording: &Recording, found: &Loop) -> Option<ThreadId> {
    let thread = |round: &IntervalId| recording.intervals[round.index()].thread;
    if !found.by_processes {
        return Some(thread(&found.rounds[0]));
    }
    let process = |thread: ThreadId| recording.thread(thread).process;
    let parent = recording.process(process(thread(&found.rounds[0]))).parent?;
    let rounds: BTreeSet<_> = found.rounds.iter().map(|round| process(thread(round))).collect();
    let children = recording.processes.iter().filter(|p| p.parent == Some(parent)).count();
    let shell = recording.threads.iter().position(|t| t.process == parent)?;
    (children == rounds.len()).then(|| ThreadId(u32::try_from(shell).unwrap_or(u32::MAX)))
}

impl Sources<'_> {
    /// Notes who ended a wait by bringing something.
    fn note(&self, row: &Interval, gifts: &mut BTreeMap<ThreadId, Gifts>) {
        let end = row.start + row.duration;
        let (recording, stacks) = (self.recording, self.stacks);
        let is_request = || self.serving.for_requests(recording, stacks, row).is_some();
        if row.waker.is_none() && row.woken_by == Some(WakeSource::Network) && is_request() {
            // Nothing tells the sender; but hardly ever does a request come by chance just when a thread
            // is between two rounds.
            let others = gifts.iter_mut().filter(|(thread, _)| **thread != row.thread);
            others.for_each(|(_, gifts)| gifts.requests.push(end));
        }
        let giver = row.waker.filter(|by| *by != row.thread);
        let Some(gifts) = giver.and_then(|by| gifts.get_mut(&by)) else { return };
        // What a pool's thread waits for is a condition, which who only hands over a lock does not bring.
        let condition = row.cause == Cause::Lock && !self.locks.is_lock(recording, stacks, row);
        if condition || is_input(recording, stacks, row) {
            gifts.all.push(end);
        }
        if is_request() {
            gifts.requests.push(end);
        }
    }
}

/// The share of the rounds after which their thread waits for the answer of somebody outside of the
/// recording: it asks at its own rate, and nothing tells whether it looks for a change by that.
fn asks_after(sources: &Sources<'_>, rounds: &[IntervalId]) -> f64 {
    let Sources { recording, stacks, .. } = *sources;
    let is_answer = |row: &Interval| {
        let by_other = match row.waker {
            Some(by) => !recording.thread(by).recorded,
            None => row.woken_by == Some(WakeSource::Network),
        };
        row.cause == Cause::Net && by_other && !stacks.in_family(row.stack, Family::Accept)
    };
    let between = rounds.windows(2).filter(|pair| {
        let own = recording.intervals[pair[0].index()].thread;
        let rows = &recording.intervals[pair[0].index()..=pair[1].index().max(pair[0].index())];
        rows.iter().take_while(|row| row.thread == own).any(is_answer)
    });
    between.count() as f64 / rounds.len().saturating_sub(1).max(1) as f64
}

/// The share of the rounds between whose end and the start of the next one of these moments lies.
fn share_followed(recording: &Recording, rounds: &[IntervalId], moments: &[Time]) -> f64 {
    let row = |id: &IntervalId| &recording.intervals[id.index()];
    let followed = rounds.windows(2).filter(|pair| {
        let from = row(&pair[0]).start + row(&pair[0]).duration;
        let next = moments.partition_point(|moment| *moment < from);
        moments.get(next).is_some_and(|moment| *moment <= row(&pair[1]).start)
    });
    followed.count() as f64 / rounds.len().saturating_sub(1).max(1) as f64
}

/// True for rounds whose ends keep to a grid.
pub(crate) fn is_on_grid(recording: &Recording, rounds: &[IntervalId]) -> bool {
    let end = |id: &IntervalId| {
        let row = &recording.intervals[id.index()];
        (row.start + row.duration).0 as f64
    };
    let ends: Vec<f64> = rounds.iter().map(end).collect();
    let drift = (ends.len() as f64 / 15.0).sqrt();
    ends.len() >= MIN_WAKES && off_grid(&ends) <= ON_GRID.max(OF_DRIFT * drift)
}

/// The deviation of these moments from the line that fits them best, by the deviation of the steps
/// between them. Who comes too late for a place of the grid leaves it out, so that steps are counted in
/// usual ones.
fn off_grid(moments: &[f64]) -> f64 {
    let mut steps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or_default().max(f64::MIN_POSITIVE);
    let mut places = vec![0.0];
    for pair in moments.windows(2) {
        let last = places.last().copied().unwrap_or_default();
        places.push(last + ((pair[1] - pair[0]) / usual).round().max(1.0));
    }
    let count = moments.len() as f64;
    let middle = places.iter().sum::<f64>() / count;
    let mean = moments.iter().sum::<f64>() / count;
    let placed = || places.iter().zip(moments).map(|(at, moment)| (at - middle, moment - mean));
    let slope = placed().map(|(at, moment)| at * moment).sum::<f64>()
        / placed().map(|(at, _)| at * at).sum::<f64>();
    let apart: Vec<f64> = placed().map(|(at, moment)| moment - slope * at).collect();
    let from_line = apart.iter().map(|apart| apart * apart).sum::<f64>() / count;
    let of_steps =
        apart.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum::<f64>() / (count - 1.0);
    (from_line / of_steps.max(f64::MIN_POSITIVE)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments 10 ms apart whose lateness in us is told, which lasts or is made good.
    fn moments(lasts: bool) -> Vec<f64> {
        let mut late = 0.0;
        let lateness = |at: usize| ((at * 7919) % 101) as f64;
        let moment = |at: usize| {
            late = if lasts { late + lateness(at) } else { lateness(at) };
            at as f64 * 10_000.0 + late
        };
        (0..60).map(moment).collect()
    }

    #[test]
    fn pauses_drift_and_a_grid_does_not() {
        assert!(off_grid(&moments(false)) < ON_GRID, "{}", off_grid(&moments(false)));
        assert!(off_grid(&moments(true)) > ON_GRID, "{}", off_grid(&moments(true)));
        let mut with_a_gap = moments(false);
        with_a_gap.drain(20..23);
        assert!(off_grid(&with_a_gap) < ON_GRID, "{}", off_grid(&with_a_gap));
    }
}
