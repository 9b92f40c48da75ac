//! Loops that look at nothing: their thread sets the pace of what it brings to others.
//!
//! A thread that sleeps, hands something over, and sleeps again may look whether the last one was done, or
//! may send at an agreed rate. Two things tell the second: it sends something to a server that hands it on to
//! others; or it wakes on a grid, which takes a clock to keep, while pauses of one length drift. A shell that
//! brings something to others between two processes that sleep looks at nothing either.
//!
//! A server that answers the asker alone tells less: the asker may be a client that thinks in between, or may
//! look for work there.
//!
//! ```text
//! pauses    |--- 10 ---|work|--- 10 ---|w|--- 10 ---|work|    wakes wander off
//! grid      |--- 10 ---|work|-- 8 --|w|--- 9.5 ---|work|      a late wake is made good by the next pause
//! ```

use std::collections::{BTreeMap, BTreeSet};

use culprit_engine::wakers::{Lives, is_descendant};
use culprit_model::{Cause, Interval, ProcessId, Recording, ThreadId, Time, WakeSource};

use super::Family;
use super::chain::IntervalId;
use super::locks::Locks;
use super::loops::{Loop, is_input, may_be_round};
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

/// How a loop goes on between its waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Pace {
    /// It may look at what others do.
    #[default]
    Unknown,
    /// It asks a server that keeps the answer to itself. Such a loop looks for something, or is a client that
    /// thinks between its questions: who waits for it tells which.
    Asks,
    /// It sets the pace of what it brings to others.
    Sets,
}

/// What tells it.
pub(super) struct Sources<'a> {
    pub(super) recording: &'a Recording,
    pub(super) lives: &'a Lives,
    pub(super) stacks: &'a Stacks,
    pub(super) locks: &'a Locks,
    pub(super) serving: &'a Serving,
}

/// When a loop brought something to others that waited for it.
#[derive(Default)]
struct Gifts {
    /// To anybody.
    all: Vec<Time>,
    /// To a server, whose wait was for requests, with the row of that wait if it is known who brought it.
    requests: Vec<(Time, Option<usize>)>,
}

/// Who brings what a loop brings.
struct Givers {
    threads: BTreeSet<ThreadId>,
    /// Their processes.
    processes: BTreeSet<ProcessId>,
}

/// How these loops go on, in their order.
pub(super) fn paces(sources: &Sources<'_>, loops: &[Loop]) -> Vec<Pace> {
    let givers: Vec<Givers> = loops.iter().map(|found| sources.givers(found)).collect();
    let gifts = sources.gifts(&givers);
    let handed = sources.handed_on(&gifts);
    let each = loops.iter().zip(givers.iter().zip(&gifts));
    each.map(|(found, (givers, gifts))| sources.pace(found, (givers, gifts), &handed)).collect()
}

/// Whom each server's thread woke, and when.
type HandedOn = BTreeMap<ThreadId, Vec<(Time, ThreadId)>>;

impl Sources<'_> {
    /// Of a loop's thread. A runtime's scheduler runs the program's tasks on any thread of the process; and
    /// between two processes that sleep, the shell or another child of it does something.
    fn givers(&self, found: &Loop) -> Givers {
        let recording = self.recording;
        let of = |row: &IntervalId| recording.intervals[row.index()].thread;
        let thread = of(&found.rounds[0]);
        let own = recording.thread(thread).process;
        let mut processes = BTreeSet::from([own]);
        if found.by_processes {
            let Some(shell) = recording.process(own).parent else {
                return Givers { threads: BTreeSet::new(), processes };
            };
            let all = (0..recording.processes.len()).map(ProcessId::from_index);
            processes =
                all.filter(|one| *one == shell || is_descendant(recording, *one, shell)).collect();
        } else if !self.is_scheduler(found) {
            return Givers { threads: BTreeSet::from([thread]), processes };
        }
        let threads = (0..recording.threads.len()).map(ThreadId::from_index);
        let is_giver = |thread: &ThreadId| processes.contains(&recording.thread(*thread).process);
        Givers { threads: threads.filter(is_giver).collect(), processes }
    }

    /// True for waits of a runtime for the next timer of any of its tasks.
    fn is_scheduler(&self, found: &Loop) -> bool {
        let first = &self.recording.intervals[found.rounds[0].index()];
        self.stacks.in_family(first.stack, Family::Scheduler)
    }

    /// What the givers of each loop brought, in time order.
    fn gifts(&self, givers: &[Givers]) -> Vec<Gifts> {
        let mut gifts: Vec<Gifts> = givers.iter().map(|_| Gifts::default()).collect();
        let mut loops_of: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
        for (at, givers) in givers.iter().enumerate() {
            givers.threads.iter().for_each(|thread| loops_of.entry(*thread).or_default().push(at));
        }
        if loops_of.is_empty() {
            return gifts;
        }
        let rows = self.recording.intervals.iter().enumerate();
        for (at, row) in rows.filter(|(_, row)| row.cause.is_blocked()) {
            self.note((at, row), (givers, &loops_of), &mut gifts);
        }
        for gifts in &mut gifts {
            gifts.all.sort_unstable();
            gifts.requests.sort_unstable();
        }
        gifts
    }

    /// Notes who ended a wait by bringing something.
    fn note(
        &self,
        (at, row): (usize, &Interval),
        (givers, loops_of): (&[Givers], &BTreeMap<ThreadId, Vec<usize>>),
        gifts: &mut [Gifts],
    ) {
        let end = row.start + row.duration;
        let (recording, stacks) = (self.recording, self.stacks);
        let is_request = || self.serving.for_requests(recording, stacks, row).is_some();
        if row.waker.is_none() && row.woken_by == Some(WakeSource::Network) && is_request() {
            // Nothing tells the sender; but hardly ever does a request come by chance just when a thread
            // is between two rounds.
            let others = givers.iter().zip(gifts.iter_mut());
            let others = others.filter(|(givers, _)| !givers.threads.contains(&row.thread));
            others.for_each(|(_, gifts)| gifts.requests.push((end, None)));
        }
        let giver = row.waker.filter(|by| *by != row.thread);
        let Some(loops) = giver.and_then(|by| loops_of.get(&by)) else { return };
        // What a pool's thread waits for is a condition, which who only hands over a lock does not bring.
        let condition = row.cause == Cause::Lock && !self.locks.is_lock(recording, stacks, row);
        let is_input = condition || is_input(recording, stacks, row);
        let is_request = is_request();
        for at_loop in loops {
            // What one of them brings to another is no gift.
            if givers[*at_loop].threads.contains(&row.thread) {
                continue;
            }
            if is_input {
                gifts[*at_loop].all.push(end);
            }
            if is_request {
                gifts[*at_loop].requests.push((end, Some(at)));
            }
        }
    }

    /// Whom the servers woke that these loops asked.
    fn handed_on(&self, gifts: &[Gifts]) -> HandedOn {
        let rows = gifts.iter().flat_map(|gifts| &gifts.requests).filter_map(|(_, row)| *row);
        let mut handed: HandedOn =
            rows.map(|row| (self.recording.intervals[row].thread, Vec::new())).collect();
        if handed.is_empty() {
            return handed;
        }
        for row in self.recording.intervals.iter().filter(|row| row.cause.is_blocked()) {
            let by = row.waker.filter(|by| *by != row.thread);
            if let Some(woken) = by.and_then(|by| handed.get_mut(&by)) {
                woken.push((row.start + row.duration, row.thread));
            }
        }
        handed.values_mut().for_each(|woken| woken.sort_unstable());
        handed
    }

    /// True unless a server answers its asker alone before it waits again.
    fn is_handed_on(&self, row: Option<usize>, givers: &Givers, handed: &HandedOn) -> bool {
        let Some(row) = row else { return true };
        let recording = self.recording;
        let wait = &recording.intervals[row];
        let from = wait.start + wait.duration;
        let rest = &recording.intervals[row + 1..self.lives.rows(wait.thread).end];
        let next = rest.iter().find(|row| row.cause.is_blocked()).map(|row| row.start);
        let woken = handed.get(&wait.thread).map_or(&[][..], Vec::as_slice);
        let woken = &woken[woken.partition_point(|(time, _)| *time < from)..];
        let mut woken = woken.iter().take_while(|(time, _)| next.is_none_or(|next| *time <= next));
        woken.any(|(_, thread)| !givers.processes.contains(&recording.thread(*thread).process))
    }

    fn pace(&self, found: &Loop, (givers, gifts): (&Givers, &Gifts), handed: &HandedOn) -> Pace {
        if asks_after(self, &found.rounds) >= MIN_GIVES {
            return Pace::Sets;
        }
        let share = |moments: &[Time]| share_followed(self.recording, &found.rounds, moments);
        let asked: Vec<Time> = gifts.requests.iter().map(|(time, _)| *time).collect();
        if share(&asked) >= MIN_GIVES {
            let on =
                gifts.requests.iter().filter(|(_, row)| self.is_handed_on(*row, givers, handed));
            let on: Vec<Time> = on.map(|(time, _)| *time).collect();
            return if share(&on) >= MIN_GIVES { Pace::Sets } else { Pace::Asks };
        }
        let on_time = || found.by_processes || is_on_grid(self.recording, &self.wakes(found));
        if share(&gifts.all) >= MIN_GIVES && on_time() { Pace::Sets } else { Pace::Unknown }
    }

    /// The rounds of a loop, in time order. Where a runtime's scheduler waits, any of its threads may: all that
    /// waited as long are taken.
    fn wakes(&self, found: &Loop) -> Vec<IntervalId> {
        if !self.is_scheduler(found) {
            return found.rounds.clone();
        }
        let recording = self.recording;
        let process = |thread: ThreadId| recording.thread(thread).process;
        let own = process(recording.intervals[found.rounds[0].index()].thread);
        let is_wake = |row: &Interval| {
            row.cause == found.cause
                && process(row.thread) == own
                && row.duration.0 * 2 >= found.wait.0
                && may_be_round(row)
                && self.stacks.in_family(row.stack, Family::Scheduler)
        };
        let rows = (0u32..).map(IntervalId).zip(&recording.intervals);
        let mut wakes: Vec<IntervalId> =
            rows.filter(|(_, row)| is_wake(row)).map(|(id, _)| id).collect();
        wakes.sort_unstable_by_key(|id| recording.intervals[id.index()].start);
        wakes
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
