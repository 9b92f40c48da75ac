//! Whose time counts: for each interval, how much of it somebody waited for.
//!
//! For a command that ran to its end the answer is its critical path, from the end of its first
//! process backwards. A service has no end to start from; there, a thread's *home wait* is idleness
//! (it goes round a loop and waits at its head for the next request, job or tick: the place with the
//! fewest callers), and what it does away from home is work for somebody, waits included: those are
//! followed like a command's. A wait at home counts only as far as another thread's work waited for
//! it.

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, Recording, ThreadId, Time};

use super::callers::{Callers, callers};
use super::lives::Lives;
use super::path::{
    CommandPath, CriticalPath, PathWait, Row, Segment, critical_path, selected_path,
};
use crate::causes::Causes;

/// A thread is idle when nothing of it counts and it ran less than this share of its life.
const IDLE_CPU_SHARE: f64 = 0.05;

/// The share of a thread's waits from which one that comes only once may be its home. Threads wait so when
/// they start, or when another one hands something over. A spare worker's only wait makes up all of them; at
/// double, services that are recorded for a few requests lose homes.
const MIN_HOME: f64 = 0.05;

/// The share of a thread's life from which its last wait says that it only stands by.
const STANDS_BY: f64 = 0.80;

/// What the relevance was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The critical path of a command, walked from where the program ended.
    Command {
        /// The thread that it starts from: the one that ended the first process.
        thread: ThreadId,
        /// The command's start.
        from: Time,
        /// The end of that thread; the kernel may free the command's memory for some time after it.
        to: Time,
    },
    /// Every thread's time away from its home wait.
    Service,
}

/// For each interval, how much of it counts.
#[derive(Debug, Clone)]
pub struct Relevance {
    /// What it was computed from.
    pub scope: Scope,
    /// The measured thing's wall time: the command's life, or the recording's length.
    pub wall: Nanos,
    /// The critical path of a command; for a service the paths of all waits away from home, one
    /// after the other.
    pub path: CriticalPath,
    own: Vec<Nanos>,
    waited: Vec<Nanos>,
    idle: Vec<bool>,
}

impl Scope {
    /// What the relevance of a recording is computed from: a command when its first process was
    /// recorded and has ended by itself. Linear in threads.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self::of_lives(recording, &Lives::of(recording))
    }

    /// As [`Scope::of`], where the threads' rows are known.
    pub(crate) fn of_lives(recording: &Recording, lives: &Lives) -> Self {
        let found = command(recording, lives).filter(|_| !was_interrupted(recording));
        found.map_or(Self::Service, |(thread, from, to)| Self::Command { thread, from, to })
    }
}

impl Relevance {
    /// Computes the relevance of every interval. Linear in intervals, times the logarithm of a
    /// thread's rows for each wait that is followed.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self::on_path(recording, None)
    }

    /// As [`Relevance::of`], where the command's path may be known.
    #[must_use]
    pub fn on_path(recording: &Recording, known: Option<&CommandPath>) -> Self {
        let lives = Lives::of(recording);
        match Scope::of_lives(recording, &lives) {
            scope @ Scope::Command { thread, from, to } => {
                let path = CommandPath::path(known, recording, &lives, (thread, (from, to)));
                let path = path.into_owned();
                Self::charge(recording, &lives, scope, to.since(from), path)
            }
            Scope::Service => Self::of_service(recording, &lives),
        }
    }

    /// The relevance of what one thread's time between two instants was spent on, for a range that
    /// the user selected.
    #[must_use]
    pub fn of_range(recording: &Recording, thread: ThreadId, range: (Time, Time)) -> Self {
        let lives = Lives::of(recording);
        let path = selected_path(recording, &lives, thread, range);
        let scope = Scope::Command { thread, from: range.0, to: range.1 };
        Self::charge(recording, &lives, scope, range.1.since(range.0), path)
    }

    /// How much of an interval counts as its own: time on the path in which its thread was the one
    /// that acted, or waited for what is no thread.
    #[must_use]
    pub fn own(&self, interval: usize) -> Nanos {
        self.own.get(interval).copied().unwrap_or_default()
    }

    /// How much of a wait is on the path, whatever explains it: what the wait delayed.
    #[must_use]
    pub fn waited(&self, interval: usize) -> Nanos {
        self.waited.get(interval).copied().unwrap_or_default()
    }

    /// True for a thread that nobody waited for and that hardly ran.
    #[must_use]
    pub fn is_idle(&self, thread: ThreadId) -> bool {
        self.idle.get(thread.index()).copied().unwrap_or(true)
    }

    /// All time that counts. For a command that is its life.
    #[must_use]
    pub fn total(&self) -> Nanos {
        self.own.iter().copied().sum()
    }

    fn charge(
        recording: &Recording,
        lives: &Lives,
        scope: Scope,
        wall: Nanos,
        path: CriticalPath,
    ) -> Self {
        let mut own = vec![Nanos::ZERO; recording.intervals.len()];
        let mut waited = own.clone();
        for segment in &path.segments {
            let Some(at) = segment.interval.map(Row::index) else { continue };
            own[at] += segment.length();
            if recording.intervals[at].cause.is_blocked() && !segment.residue {
                waited[at] += segment.length();
            }
        }
        for wait in &path.waits {
            waited[wait.interval.index()] += wait.to.since(wait.from);
        }
        let idle = idle_threads(recording, lives, &own);
        Self { scope, wall, path, own, waited, idle }
    }

    fn of_service(recording: &Recording, lives: &Lives) -> Self {
        let mut path = CriticalPath::default();
        let mut own = vec![Nanos::ZERO; recording.intervals.len()];
        let idle = idle_waits(recording, lives);
        for (at, row) in recording.intervals.iter().enumerate() {
            if !row.cause.is_blocked() {
                own[at] = row.duration;
            } else if !idle[at] {
                let range = (row.start, row.start + row.duration);
                extend(&mut path, critical_path(recording, lives, row.thread, range));
            }
        }
        let wall = recording.meta.wall;
        let mut relevance = Self::charge(recording, lives, Scope::Service, wall, path);
        for ((charged, own), row) in relevance.own.iter_mut().zip(own).zip(&recording.intervals) {
            *charged = (*charged).max(own).min(row.duration);
        }
        relevance.idle = idle_threads(recording, lives, &relevance.own);
        relevance
    }
}

/// True for a command that a signal told to end (128 + SIGINT, 128 + SIGTERM; 124 where timeout(1) sent
/// it): it was a service, and its end says nothing about what somebody waited for.
fn was_interrupted(recording: &Recording) -> bool {
    matches!(recording.meta.exit_code, Some(124 | 130 | 143))
}

/// The thread and the time from which a command's path is walked; none when it has not ended or its
/// first process was not recorded.
fn command(recording: &Recording, lives: &Lives) -> Option<(ThreadId, Time, Time)> {
    let root = recording.meta.root_process?;
    let process = recording.processes.get(root.index())?;
    let span = recording.meta.command_span;
    let end = process.end.or(span.map(|(_, to)| to))?;
    let thread = lives.ender(root)?;
    let from = span.map_or(process.start, |(from, _)| from);
    let to = end.min(recording.thread_end(thread));
    (from < to).then_some((thread, from, to))
}

/// Which intervals are idleness: waits at a thread's home, and waits of a thread that has no task.
/// One entry an interval.
pub(crate) fn idle_waits(recording: &Recording, lives: &Lives) -> Vec<bool> {
    let places = Places::of(recording);
    let mut idle = vec![false; recording.intervals.len()];
    for at in 0..recording.threads.len() {
        let rows = lives.rows(ThreadId::from_index(at));
        let home = places.home(&recording.intervals[rows.clone()]);
        let standing_by = places.standing_by(&recording.intervals[rows.clone()]);
        let standing_by = standing_by.map(|at| rows.start + at);
        for at in rows {
            let row = &recording.intervals[at];
            let at_home = || home.is_some_and(|home| is_at_home(places.place(row), home));
            let is_idle = || lives.is_parked(row) || standing_by == Some(at) || at_home();
            idle[at] = row.cause.is_blocked() && is_idle();
        }
    }
    idle
}

/// Where a thread waits: its callers, why it waits, and in which function of the program or its libraries.
/// The same place whatever the kernel did below it. Where no such function is known, it comes last.
type Place<'a> = (bool, Callers, Cause, Option<&'a str>);

/// Whether a wait is at its thread's home. Of one that began before the recording, /proc says the kernel's
/// functions alone; its reason has to do then. Where callers are missing, the function that waits has to do, too.
/// A wait whose stack was lost has no reason either: it is where the thread waits else.
fn is_at_home(place: Place<'_>, home: Place<'_>) -> bool {
    let (_, callers, cause, function) = place;
    let fits = function.is_none() || callers.are_missing && function == home.3;
    let is_lost = function.is_none() && cause == Cause::Other;
    place == home || cause == home.2 && fits || is_lost
}

/// The places of a recording's waits.
struct Places<'a> {
    recording: &'a Recording,
    causes: Causes,
    /// One entry a stack.
    callers: Vec<Callers>,
}

impl<'a> Places<'a> {
    fn of(recording: &'a Recording) -> Self {
        Self { recording, causes: Causes::of(recording), callers: callers(recording) }
    }

    fn place(&self, row: &Interval) -> Place<'a> {
        let callers = row.stack.map_or(Callers::UNKNOWN, |stack| self.callers[stack.index()]);
        let leaf = row.stack.and_then(|stack| self.causes.user_part(stack));
        let frame = leaf.and_then(|stack| self.recording.stack(stack).next());
        let function = frame.map(|frame| self.recording.frame(frame).function.as_str());
        (function.is_none(), callers, row.cause, function)
    }

    /// The wait in which a thread only stands by until the end: the first thread of a server that sleeps, or
    /// waits for the others. It takes most of the thread's life, and nothing but the end comes after it.
    fn standing_by(&self, rows: &[Interval]) -> Option<usize> {
        let whole: Nanos = rows.iter().map(|row| row.duration).sum();
        let at = rows.iter().rposition(|row| row.cause.is_blocked() && may_be_home(row.cause))?;
        let after: Nanos = rows[at + 1..].iter().map(|row| row.duration).sum();
        let is_most = rows[at].duration.share_of(whole) >= STANDS_BY;
        let is_last = after.share_of(whole) < 1.0 - STANDS_BY;
        (is_most && is_last && !self.place(&rows[at]).1.takes_lock).then_some(at)
    }

    /// Where a thread waits for work: of the waits that work can end, those with the fewest callers;
    /// of several such places the one with the most time. A wait whose callers are not all known is one
    /// only where no other is, and so is a short one that comes only once.
    fn home(&self, rows: &[Interval]) -> Option<Place<'a>> {
        let waits = rows.iter().filter(|row| may_be_home(row.cause));
        let waits = waits.map(|row| (self.place(row), row));
        let mut sums: BTreeMap<Place<'a>, (u32, Nanos)> = BTreeMap::new();
        for (place, row) in waits.filter(|((_, callers, ..), _)| !callers.takes_lock) {
            let (times, sum) = sums.entry(place).or_default();
            (*times, *sum) = (*times + 1, *sum + row.duration);
        }
        let all: Nanos = sums.values().map(|(_, sum)| *sum).sum();
        sums.retain(|_, (times, sum)| *times > 1 || sum.share_of(all) >= MIN_HOME);
        let (fewest, _) = sums.first_key_value()?;
        let is_level = |place: &Place<'_>| (place.0, place.1) == (fewest.0, fewest.1);
        let level = sums.iter().take_while(|(place, _)| is_level(place));
        level.max_by_key(|(_, (_, total))| *total).map(|(place, _)| *place)
    }
}

/// Whether a thread may stand by for work in such a wait. Disks, flushes, faults and memory answer
/// a request of the thread itself.
const fn may_be_home(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Net
            | Cause::Lock
            | Cause::Sleep
            | Cause::Poll
            | Cause::Pipe
            | Cause::Ipc
            | Cause::Child
            | Cause::Notify
            | Cause::Signal
            | Cause::Stopped
            | Cause::Other
    )
}

fn idle_threads(recording: &Recording, lives: &Lives, own: &[Nanos]) -> Vec<bool> {
    let idle = |at| {
        let rows = lives.rows(ThreadId::from_index(at));
        let blocked_counts =
            rows.clone().any(|at| recording.intervals[at].cause.is_blocked() && own[at].0 > 0);
        let sum = |wanted: fn(Cause) -> bool| -> Nanos {
            let rows = recording.intervals[rows.clone()].iter();
            rows.filter(|row| wanted(row.cause)).map(|row| row.duration).sum()
        };
        !blocked_counts && sum(Cause::is_cpu).share_of(sum(|_| true)) < IDLE_CPU_SHARE
    };
    (0..recording.threads.len()).map(idle).collect()
}

/// Appends a path; its places of waits move.
fn extend(path: &mut CriticalPath, more: CriticalPath) {
    let moved = path.waits.len();
    let shift = |under: Option<Row>| under.map(|at| Row::from_index(at.index() + moved));
    let segments = more.segments.into_iter();
    path.segments.extend(segments.map(|s| Segment { under: shift(s.under), ..s }));
    let waits = more.waits.into_iter();
    path.waits.extend(waits.map(|w| PathWait { under: shift(w.under), ..w }));
}
