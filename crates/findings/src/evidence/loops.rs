//! Polling loops: the same wait, ended by its own timer, again and again at a near-constant period
//! with little work between.
//!
//! Rounds are grouped by thread, cause and the function that waits. Loops of a shell make a new
//! process for each round (`while ...; do sleep 0.1; done`), so groups of threads that waited less
//! often than a loop must are joined by their process's name and parent.

use std::collections::{BTreeMap, BTreeSet};

use culprit_engine::wakers::{Lives, is_descendant};
use culprit_model::{
    Cause, FrameId, Interval, Nanos, ProcessId, Recording, StackId, Text, ThreadId, Time,
    WakeSource,
};

use super::Family;
use super::chain::IntervalId;
use super::locks::Locks;
use super::pacing::{Pace, Sources, paces};
use super::serving::Serving;
use super::stacks::{Stacks, WaitKind};

/// Rounds that a loop has at least: with fewer, a near-constant period is chance. At 3 two equal
/// time-outs of a start-up count, at 10 a loop of 1 s is missed in runs under 10 s.
pub(crate) const MIN_ROUNDS: usize = 5;

/// Spread of the period (distance of its quartiles by its median) that counts as near-constant.
/// Timers of an idle machine spread by under 1 %; a slow look between rounds adds its own spread.
pub(crate) const MAX_SPREAD: f64 = 0.25;

/// Share of the rounds whose end must be known to be a timer's, where nothing says who ended the
/// others: records of wakeups can be lost.
const MIN_TIMED: f64 = 0.25;

/// How far a wait that an unknown interrupt ended may be from the loop's other waits to be one of
/// them, as a share; and the spread up to which such waits are a timer's where nothing else is known.
/// The idle loop of some virtual CPUs traces nothing, so that the interrupt is known by what it did
/// alone. Timers spread by under 1 % from 1 ms on; what devices bring does not come so evenly.
const ALIKE: f64 = 0.02;

/// Share of a round that the thread may work: above it the loop is paced work, not polling.
pub(crate) const MAX_WORK: f64 = 0.5;

/// Share of the rounds in which the thread may hold a lock that another one waits for: above it the
/// sleep is what the critical section consists of, and the waiters' wait for the lock is the matter.
/// Who polls under a lock by chance does so in single rounds; who sleeps in a contended critical
/// section does so in nearly all.
const MAX_HOLDING: f64 = 0.25;

/// Rounds that are a loop where the waits are exactly alike and somebody waits for each of them: at 3,
/// equal time-outs of a start-up count; at 5, followers of few events are missed.
const MIN_EXACT_ROUNDS: usize = 4;

/// Share of the rounds that may begin with an input which another one brought. A thread that takes a
/// request, sleeps and answers looks at nothing; it is paced by who asks. One that polls comes upon
/// such a wait by chance.
const MAX_FED: f64 = 0.5;

/// One polling loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loop {
    /// Its rounds, in the order of the `intervals` table.
    pub(crate) rounds: Vec<IntervalId>,
    /// Sleep or poll.
    pub(crate) cause: Cause,
    /// The function that waits.
    pub(crate) function: Option<FrameId>,
    /// Median length of a round's wait.
    pub(crate) wait: Nanos,
    /// Median time from the start of a round to the start of the next.
    pub(crate) period: Nanos,
    /// Distance of the quartiles of the waits by their median.
    pub(crate) spread: f64,
    /// True when timers are known to end it.
    timed: bool,
    /// Share of a round that is not the wait.
    pub(crate) work: f64,
    /// Whether it sets the pace of what it brings to others, or may look at what they do.
    pub(crate) pace: Pace,
    /// True when each round is a process of its own.
    pub(crate) by_processes: bool,
    /// When the last round ended.
    pub(crate) end: Time,
    /// Start of the last round.
    pub(crate) last: Time,
}

/// Every polling loop of a recording.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    /// Ordered by thread, cause and function.
    pub(crate) loops: Vec<Loop>,
    /// Which loop a round belongs to, sorted by interval.
    round_of: Vec<((ThreadId, Time), usize)>,
}

type ThreadKey = (ThreadId, Cause, Option<FunctionKey>);
type FamilyKey = (Text, Option<ProcessId>, Cause, Option<FunctionKey>);
type FunctionKey = (Option<Text>, Text);

impl Loops {
    /// Finds every loop; n log n in the waits that a timer ended.
    pub(crate) fn of(
        recording: &Recording,
        lives: &Lives,
        (stacks, locks): (&Stacks, &Locks),
        serving: &Serving,
    ) -> Self {
        let mut by_thread: BTreeMap<ThreadKey, Vec<IntervalId>> = BTreeMap::new();
        for (row, interval) in (0u32..).map(IntervalId).zip(&recording.intervals) {
            if may_be_round(interval) {
                let function = stacks.focus(interval.stack).map(|f| function_key(recording, f));
                by_thread.entry((interval.thread, interval.cause, function)).or_default().push(row);
            }
        }
        let holds = Holds::of(recording, stacks, locks);
        let mut found = Self::default();
        let mut few: BTreeMap<FamilyKey, Vec<IntervalId>> = BTreeMap::new();
        let answered = answered_polls(recording, stacks);
        by_thread.retain(|key, _| !answered.contains(key));
        for ((thread, cause, function), waits) in by_thread {
            let rounds = without_other_interrupts(recording, cause, waits);
            if rounds.len() >= MIN_ROUNDS || is_exact(recording, cause, &rounds) {
                if holds.share_of(recording, &rounds) <= MAX_HOLDING
                    && fed(recording, stacks, serving, &rounds) <= MAX_FED
                {
                    found.add(measure(recording, lives, stacks, rounds, false));
                }
            } else {
                let process = recording.process(recording.thread(thread).process);
                let family = (process.name.clone(), process.parent, cause, function);
                few.entry(family).or_default().extend(rounds);
            }
        }
        for (_, mut rounds) in few {
            keep_single_threads(recording, &mut rounds);
            if rounds.len() >= MIN_ROUNDS {
                rounds.sort_unstable_by_key(|r| recording.intervals[r.index()].start);
                found.add(measure(recording, lives, stacks, rounds, true));
            }
        }
        let paces = paces(&Sources { recording, lives, stacks, locks, serving }, &found.loops);
        found.loops.iter_mut().zip(paces).for_each(|(found, pace)| found.pace = pace);
        found.index(recording);
        found
    }

    /// Keeps what is a loop by its numbers.
    fn add(&mut self, candidate: Loop) {
        if candidate.timed && candidate.spread <= MAX_SPREAD && candidate.work <= MAX_WORK {
            self.loops.push(candidate);
        }
    }

    fn index(&mut self, recording: &Recording) {
        for (at, found) in self.loops.iter().enumerate() {
            self.round_of.extend(found.rounds.iter().map(|r| {
                let interval = &recording.intervals[r.index()];
                ((interval.thread, interval.start), at)
            }));
        }
        self.round_of.sort_unstable();
    }

    /// The loop that a wait is a round of.
    pub(crate) fn loop_of(&self, interval: &Interval) -> Option<usize> {
        let key = (interval.thread, interval.start);
        let at = self.round_of.binary_search_by_key(&key, |(k, _)| *k).ok()?;
        Some(self.round_of[at].1)
    }

    /// True when a wait is a round of a loop that goes at a pace of its own: it asks, or brings something to others.
    pub(crate) fn is_paced(&self, interval: &Interval) -> bool {
        self.loop_of(interval).is_some_and(|at| self.loops[at].pace != Pace::Unknown)
    }

    /// True when a wait is a round of some loop that may look at what others do.
    pub(crate) fn is_round(&self, interval: &Interval) -> bool {
        let found = || self.loop_of(interval).map(|at| &self.loops[at]);
        may_be_round(interval) && found().is_some_and(|found| found.pace == Pace::Unknown)
    }
}

/// Leaves out waits in processes of which several threads wait: a server's threads that each pause once, for
/// a request of their own, are no rounds of one loop.
fn keep_single_threads(recording: &Recording, rounds: &mut Vec<IntervalId>) {
    let thread = |round: &IntervalId| recording.intervals[round.index()].thread;
    let process = |round: &IntervalId| recording.thread(thread(round)).process;
    let mut threads: BTreeMap<ProcessId, BTreeSet<ThreadId>> = BTreeMap::new();
    for round in rounds.iter() {
        threads.entry(process(round)).or_default().insert(thread(round));
    }
    rounds.retain(|round| threads.get(&process(round)).is_some_and(|threads| threads.len() == 1));
}

/// The places at which something that was polled for came at least once. There a poll ends with the
/// event that it is for, and its time limit delays nothing: the accept loop of a server looks like a
/// polling loop until somebody calls. The end of a child is no such event: its signal ends whatever
/// wait its parent is in.
fn answered_polls(recording: &Recording, stacks: &Stacks) -> BTreeSet<ThreadKey> {
    let process = |thread: ThreadId| recording.thread(thread).process;
    let is_child = |row: &Interval, by| is_descendant(recording, process(by), process(row.thread));
    let answered = recording.intervals.iter().filter(|row| {
        row.cause == Cause::Poll
            && (row.waker.is_some_and(|by| !is_child(row, by))
                || row.woken_by == Some(WakeSource::Network))
    });
    answered
        .map(|row| {
            let function = stacks.focus(row.stack).map(|frame| function_key(recording, frame));
            (row.thread, row.cause, function)
        })
        .collect()
}

/// When threads held a lock that another one waited for: whoever ends the wait for a lock had it. Of a
/// lock that goes to whoever comes first, few waits are ended, by the last of many holders; there, a
/// thread that is below the function in which others wait is one.
#[derive(Debug, Default)]
struct Holds {
    /// The waits that each thread ended, by their ends.
    ended: BTreeMap<ThreadId, Vec<LockWait>>,
    /// The waits in each function of each process, by their ends.
    inside: BTreeMap<(ProcessId, FunctionKey), Vec<LockWait>>,
}

/// A wait for a lock.
#[derive(Debug, Clone, Copy)]
struct LockWait {
    from: Time,
    to: Time,
    thread: ThreadId,
}

/// Waits that are looked at for one which began before a moment: those which end soonest after it
/// nearly always did.
const LOOKED_AT: usize = 64;

impl Holds {
    fn of(recording: &Recording, stacks: &Stacks, locks: &Locks) -> Self {
        let mut holds = Self::default();
        let waits = recording.intervals.iter().filter(|row| row.cause == Cause::Lock);
        let is_lock = |row: &&Interval| {
            locks.is_lock(recording, stacks, row) || stacks.in_family(row.stack, Family::KernelLock)
        };
        for row in waits.filter(is_lock) {
            let (from, thread) = (row.start, row.thread);
            let wait = LockWait { from, to: from + row.duration, thread };
            if let Some(holder) = row.waker.filter(|holder| *holder != thread) {
                holds.ended.entry(holder).or_default().push(wait);
            }
            if let Some(function) = stacks.own_focus(row.stack) {
                let process = recording.thread(thread).process;
                let place = (process, function_key(recording, function));
                holds.inside.entry(place).or_default().push(wait);
            }
        }
        let all = holds.ended.values_mut().chain(holds.inside.values_mut());
        all.for_each(|waits| waits.sort_unstable_by_key(|wait| wait.to));
        holds
    }

    /// The share of the rounds that ended while their thread held a lock. The wait for a lock ends
    /// when it is let go, after the round.
    fn share_of(&self, recording: &Recording, rounds: &[IntervalId]) -> f64 {
        let mut places = BTreeMap::new();
        let held = rounds.iter().filter(|id| {
            let round = &recording.intervals[id.index()];
            let of_stack = round.stack.map(|stack| {
                &*places.entry(stack).or_insert_with(|| self.around(recording, round.thread, stack))
            });
            self.releases(round) || of_stack.is_some_and(|waits| are_kept(waits, round))
        });
        held.count() as f64 / rounds.len().max(1) as f64
    }

    fn releases(&self, round: &Interval) -> bool {
        let end = round.start + round.duration;
        let waits = self.ended.get(&round.thread).map_or(&[][..], Vec::as_slice);
        let next = waits.partition_point(|wait| wait.to < end);
        waits.get(next).is_some_and(|wait| wait.from < end)
    }

    /// The waits in the functions of a thread's stack.
    fn around(&self, recording: &Recording, thread: ThreadId, stack: StackId) -> Vec<&[LockWait]> {
        if self.inside.is_empty() {
            return Vec::new();
        }
        let process = recording.thread(thread).process;
        let places = recording.stack(stack).map(|frame| (process, function_key(recording, frame)));
        places.filter_map(|place| self.inside.get(&place)).map(Vec::as_slice).collect()
    }
}

/// Whether another thread waits for a lock when a round ends, in one of the places that `around` has.
fn are_kept(around: &[&[LockWait]], round: &Interval) -> bool {
    let end = round.start + round.duration;
    around.iter().any(|waits| {
        let next = waits.partition_point(|wait| wait.to < end);
        let mut near = waits[next..].iter().take(LOOKED_AT);
        near.any(|wait| wait.from < end && wait.thread != round.thread)
    })
}

/// True for few sleeps that are as alike as only a timer's are.
fn is_exact(recording: &Recording, cause: Cause, rounds: &[IntervalId]) -> bool {
    let lengths = sorted(rounds.iter().map(|id| recording.intervals[id.index()].duration));
    cause == Cause::Sleep && rounds.len() >= MIN_EXACT_ROUNDS && spread(&lengths) <= ALIKE
}

/// The share of the rounds before which the thread waited for an input and another one brought it, other than a
/// server's answer to what it asked. `rounds` are one thread's, in time order.
fn fed(recording: &Recording, stacks: &Stacks, serving: &Serving, rounds: &[IntervalId]) -> f64 {
    let process = |thread: ThreadId| recording.thread(thread).process;
    let is_answer = |row: &Interval| {
        let by_server = row.waker.is_some_and(|by| serving.listens(process(by)));
        by_server && !serving.listens(process(row.thread))
    };
    let between = rounds.windows(2).map(|pair| (pair[0].index() + 1)..pair[1].index());
    let fed = between.filter(|rows| {
        let mut rows = recording.intervals[rows.clone()].iter();
        rows.any(|row| is_input(recording, stacks, row) && !is_answer(row))
    });
    fed.count() as f64 / rounds.len().max(1) as f64
}

/// True for a wait that ended when another one brought something. Who gets an interpreter's lock back
/// was brought nothing, so that mutexes and the conditions which such locks are built of do not count.
pub(super) fn is_input(recording: &Recording, stacks: &Stacks, row: &Interval) -> bool {
    let process = |thread: ThreadId| recording.thread(thread).process;
    match row.cause {
        Cause::Net | Cause::Ipc | Cause::Pipe | Cause::Poll => {
            let brought = row.waker.is_some_and(|by| by != row.thread)
                || row.woken_by == Some(WakeSource::Network);
            brought && !stacks.writes(row.stack)
        }
        Cause::Lock => {
            let by_own = |by| process(by) == process(row.thread);
            let kind = stacks.wait_kind(row.stack);
            matches!(kind, None | Some(WaitKind::Semaphore | WaitKind::Park))
                && row.waker.is_some_and(by_own)
        }
        _ => false,
    }
}

/// True for a wait that can have a time limit and that, as far as is known, its timer ended.
pub(super) fn may_be_round(interval: &Interval) -> bool {
    let may = matches!(
        interval.cause,
        Cause::Sleep | Cause::Poll | Cause::Lock | Cause::Signal | Cause::Ipc | Cause::Net
    );
    may && interval.waker.is_none()
        && interval.woken_by.is_none_or(|w| matches!(w, WakeSource::Timer | WakeSource::Interrupt))
}

/// The waits of one place without those that an interrupt ended which need not have been a timer's.
/// Of the interrupts whose kind is unknown those are taken for timers' that ended waits as long as
/// the others; where there are no others, all or none of them, by how even they are.
fn without_other_interrupts(
    recording: &Recording,
    cause: Cause,
    waits: Vec<IntervalId>,
) -> Vec<IntervalId> {
    let row = |id: &IntervalId| &recording.intervals[id.index()];
    let is_unknown = |id: &IntervalId| row(id).woken_by == Some(WakeSource::Interrupt);
    let known = sorted(waits.iter().filter(|id| !is_unknown(id)).map(|id| row(id).duration));
    let lengths = match known.is_empty() {
        true => sorted(waits.iter().map(|id| row(id).duration)),
        false => known.clone(),
    };
    let median = quantile(&lengths, 0.5);
    // What ends a receive may be a packet as well, and those may come at an even pace.
    let many = lengths.len() >= 2 * MIN_ROUNDS;
    let even = cause != Cause::Net && many && spread(&lengths) <= ALIKE;
    let alike = |id: &IntervalId| {
        let apart = row(id).duration.0.abs_diff(median.0);
        (even || !known.is_empty()) && Nanos(apart).share_of(median) <= ALIKE
    };
    waits.into_iter().filter(|id| !is_unknown(id) || alike(id)).collect()
}

/// True when enough ends are known to be timers', or taken for it. Nothing else ends a sleep.
fn is_timed(cause: Cause, rows: &[&Interval]) -> bool {
    let source =
        |i: &&&Interval| matches!(i.woken_by, Some(WakeSource::Timer | WakeSource::Interrupt));
    let timers = rows.iter().filter(source).count();
    cause == Cause::Sleep || timers as f64 >= MIN_TIMED * rows.len() as f64
}

fn function_key(recording: &Recording, frame: FrameId) -> FunctionKey {
    let frame = recording.frame(frame);
    (frame.module.map(|m| recording.module(m).name.clone()), frame.function.clone())
}

/// The numbers of a candidate; `rounds` are in time order.
fn measure(
    recording: &Recording,
    lives: &Lives,
    stacks: &Stacks,
    rounds: Vec<IntervalId>,
    by_processes: bool,
) -> Loop {
    let rows: Vec<&Interval> = rounds.iter().map(|r| &recording.intervals[r.index()]).collect();
    let waits = sorted(rows.iter().map(|i| i.duration));
    let periods = sorted(rows.windows(2).map(|w| w[1].start.since(w[0].start)));
    let (wait, period) = (quantile(&waits, 0.5), quantile(&periods, 0.5));
    let spread = spread(&waits);
    let work = if by_processes {
        1.0 - wait.share_of(period).min(1.0)
    } else {
        work_share(recording, lives, &rows)
    };
    let last = rows[rows.len() - 1];
    Loop {
        cause: last.cause,
        timed: is_timed(last.cause, &rows),
        function: stacks.focus(last.stack),
        wait,
        period,
        spread,
        work,
        pace: Pace::Unknown,
        by_processes,
        end: last.start + last.duration,
        last: last.start,
        rounds,
    }
}

/// The share of the loop's time, first round to last, that the thread was on a CPU or ready.
/// Waits between rounds (for a closed loop's partner, say) are neither work nor the loop's wait.
fn work_share(recording: &Recording, lives: &Lives, rounds: &[&Interval]) -> f64 {
    let (first, last) = (rounds[0], rounds[rounds.len() - 1]);
    let end = last.start + last.duration;
    let rows = &recording.intervals[lives.rows(first.thread)];
    let worked: Nanos = rows
        .iter()
        .filter(|i| i.start >= first.start && i.start < end)
        .filter(|i| i.cause.is_cpu() || i.cause.is_runnable())
        .map(|i| i.duration)
        .sum();
    let waited: Nanos = rounds.iter().map(|i| i.duration).sum();
    worked.share_of(worked + waited)
}

fn sorted(lengths: impl Iterator<Item = Nanos>) -> Vec<Nanos> {
    let mut lengths: Vec<_> = lengths.collect();
    lengths.sort_unstable();
    lengths
}

/// Distance of the quartiles of sorted lengths by their median.
fn spread(sorted: &[Nanos]) -> f64 {
    let quartiles = (quantile(sorted, 0.25), quantile(sorted, 0.75));
    quartiles.1.saturating_sub(quartiles.0).share_of(quantile(sorted, 0.5))
}

/// The value at a share of the way through sorted values; zero for none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is a valid index"
)]
pub(crate) fn quantile(sorted: &[Nanos], share: f64) -> Nanos {
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}
