//! The critical path: a thread's life with each wait replaced by what was really waited for.
//!
//! The walk goes backwards. Time that the thread ran or was ready is its own. A wait that another
//! thread ended is a window into that thread's life, walked the same way; what its life does not
//! explain (it had not begun, it was itself off the CPU since before the wakeup) stays the wait's
//! own. So the segments tile the walked time, and each nanosecond is charged once.
//!
//! A path goes on in another thread in five places. Where a thread has no task of a runtime that moves
//! tasks between threads, with the one that works. Where the wait for a child process ended, with the
//! thread that ended that process, whichever thread was the last to go. Where something else ended that
//! wait, with the child that worked meanwhile. And where the thread that ended the command was not born
//! yet, with its process's first thread.

use std::borrow::Cow;
use std::num::NonZeroU32;

use culprit_model::{Cause, Interval, Nanos, Recording, ThreadId, Time, WakeSource};
use rustc_hash::FxHashMap;

use super::chain::{Ended, ended};
use super::creator::creator;
use super::lives::{Lives, end};
use super::patience::Patience;
use super::process_of;
use super::relevance::Scope;
use super::sites::WaitSites;
use super::tasks::Meanwhile;

/// Windows inside windows; real chains of waits are shorter.
const DEEPEST: usize = 64;

/// A place in a table or list. A path has as many as there are waits: four bytes each, also where there
/// may be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(NonZeroU32);

impl Row {
    /// The value as an index.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The handle of the row at `index`; the last one that there can be, past 2^32 - 2.
    #[must_use]
    #[inline]
    pub fn from_index(index: usize) -> Self {
        let number = u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
        Self(NonZeroU32::new(number).unwrap_or(NonZeroU32::MAX))
    }
}

/// A stretch of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Row of the `intervals` table that is charged; none when the thread has no row there.
    pub interval: Option<Row>,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// The wait that this stretch explains, as place in [`CriticalPath::waits`]; none when the
    /// charged thread is the one whose path it is.
    pub under: Option<Row>,
    /// True for what the life of the thread that ended a wait leaves unexplained of it.
    pub residue: bool,
}

impl Segment {
    /// How long.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// A wait on the path that another thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathWait {
    /// Row of the `intervals` table.
    pub interval: Row,
    /// The part of it that is on the path: from when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// What ended it.
    pub ended: Ended,
    /// The thread that the path goes on with: the one that ended the wait, or the process of that
    /// one.
    pub thread: ThreadId,
    /// The wait that this one explains a part of, as place in [`CriticalPath::waits`].
    pub under: Option<Row>,
}

/// What a thread's time between two instants was really spent on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// Stretches in order of time; they tile the walked time.
    pub segments: Vec<Segment>,
    /// Waits that other threads ended, an outer one before those that explain it.
    pub waits: Vec<PathWait>,
}

impl CriticalPath {
    /// The waits around a segment, the innermost first.
    pub fn around<'a>(&'a self, segment: &Segment) -> impl Iterator<Item = &'a PathWait> {
        let mut next = segment.under;
        std::iter::from_fn(move || {
            let wait = self.waits.get(next?.index())?;
            next = wait.under;
            Some(wait)
        })
    }
}

/// The critical path of the command that a recording is of: walked once for all that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPath {
    thread: ThreadId,
    range: (Time, Time),
    path: CriticalPath,
}

impl CommandPath {
    /// Walks it; none where no command ended.
    #[must_use]
    pub fn of(recording: &Recording) -> Option<Self> {
        let lives = Lives::of(recording);
        let Scope::Command { thread, from, to } = Scope::of_lives(recording, &lives) else {
            return None;
        };
        let path = critical_path(recording, &lives, thread, (from, to));
        Some(Self { thread, range: (from, to), path })
    }

    /// Its stretches in order of time; they tile the command's life.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.path.segments
    }

    /// The critical path of a thread of the same recording between two instants: this one where it is
    /// that, else walked anew.
    #[must_use]
    pub fn path<'a>(
        known: Option<&'a Self>,
        recording: &Recording,
        lives: &Lives,
        (thread, range): (ThreadId, (Time, Time)),
    ) -> Cow<'a, CriticalPath> {
        match known.filter(|known| (known.thread, known.range) == (thread, range)) {
            Some(known) => Cow::Borrowed(&known.path),
            None => Cow::Owned(critical_path(recording, lives, thread, range)),
        }
    }
}

/// One thread's life, walked backwards.
struct Walk {
    thread: ThreadId,
    /// Where the walk ends.
    from: Time,
    /// Where it stands.
    now: Time,
    /// The wait that is explained.
    under: Option<Row>,
    /// True where a user's range ends, and not a wait: what goes on beyond it is followed, too.
    goes_on: bool,
    /// True while no thread of the process works on a task: the walk stays on its thread.
    rests: bool,
    /// Whom the thread waited for in the later waits that the walk has come from.
    patience: Patience,
}

impl Walk {
    /// From `now` back to `from`.
    fn new(thread: ThreadId, from: Time, now: Time, under: Option<Row>) -> Self {
        Self {
            thread,
            from,
            now,
            under,
            goes_on: false,
            rests: false,
            patience: Patience::default(),
        }
    }
}

/// The critical path of a thread in a range that somebody selected: as [`critical_path`], but a wait
/// that lasts beyond the range is followed to the thread that ended it later, because until then that
/// one was waited for.
#[must_use]
pub fn selected_path(
    recording: &Recording,
    lives: &Lives,
    thread: ThreadId,
    range: (Time, Time),
) -> CriticalPath {
    walked(recording, lives, (thread, true), range)
}

/// The critical path of a thread between two instants. Linear in the rows that it passes, times the
/// logarithm of a thread's rows for each wait followed.
#[must_use]
pub fn critical_path(
    recording: &Recording,
    lives: &Lives,
    thread: ThreadId,
    range: (Time, Time),
) -> CriticalPath {
    walked(recording, lives, (thread, false), range)
}

fn walked(
    recording: &Recording,
    lives: &Lives,
    (thread, goes_on): (ThreadId, bool),
    (from, to): (Time, Time),
) -> CriticalPath {
    let mut path = CriticalPath::default();
    let rows = &recording.intervals[lives.rows(thread)];
    let before = |time: Time| rows.partition_point(|row| row.start < time);
    let within = before(to).saturating_sub(before(from));
    path.segments.reserve(within);
    let mut near = FxHashMap::<ThreadId, Option<usize>>::default();
    let mut sites = WaitSites::new(recording);
    let mut open = vec![Walk { goes_on, ..Walk::new(thread, from, to.max(from), None) }];
    while let Some(walk) = open.last_mut() {
        if walk.now <= walk.from {
            open.pop();
            continue;
        }
        let looked = near.entry(walk.thread).or_default();
        let Some(at) = lives.before_near(recording, walk.thread, walk.now, looked) else {
            match before_birth(recording, lives, &path, &open) {
                Some(other) => go_on(&mut open, other),
                None => leave(recording, lives, &mut path, &mut open),
            }
            continue;
        };
        let row = &recording.intervals[at];
        if !walk.rests && lives.tasks.is_spare(row) {
            pass_on(recording, lives, &mut open, row);
            continue;
        }
        let start = row.start.max(walk.from);
        let stop = std::mem::replace(&mut walk.now, start);
        let own = Segment {
            interval: Some(Row::from_index(at)),
            from: start,
            to: stop,
            under: walk.under,
            residue: false,
        };
        let under = walk.under;
        let Followed { ended, thread, goes_on } =
            followed(recording, lives, &mut sites, walk, (row, (start, stop)));
        let follows = thread
            .filter(|other| open.len() < DEEPEST && open.iter().all(|walk| walk.thread != *other));
        let Some(other) = follows else {
            path.segments.push(own);
            continue;
        };
        let interval = Row::from_index(at);
        let inner = Some(Row::from_index(path.waits.len()));
        path.waits.push(PathWait { interval, from: start, to: stop, ended, thread: other, under });
        let now = match goes_on {
            true => stop,
            false => last_active(recording, lives, (other, near.entry(other).or_default()), stop),
        };
        let now = now.clamp(start, stop);
        if now < stop {
            path.segments.push(Segment { from: now, residue: true, ..own });
        }
        open.push(Walk { goes_on, ..Walk::new(other, start, now, inner) });
    }
    path.segments.reverse();
    path
}

/// Where a walk goes on from a row.
struct Followed {
    ended: Ended,
    /// None where the row is its thread's own time.
    thread: Option<ThreadId>,
    /// True where that one's waits are followed beyond the row's end.
    goes_on: bool,
}

/// What a row of a walk's thread is really time of, from the first to the last instant that the walk passes.
fn followed(
    recording: &Recording,
    lives: &Lives,
    sites: &mut WaitSites<'_>,
    walk: &mut Walk,
    (row, (start, stop)): (&Interval, (Time, Time)),
) -> Followed {
    let beyond = end(row) > stop;
    let goes_on = walk.goes_on && beyond;
    let known = row.cause.is_blocked() && (!beyond || goes_on);
    let ended = if known { ended(recording, lives, row) } else { Ended::Unknown };
    let within = walk.rests.then(|| process_of(recording, row.thread)).flatten();
    let child = lives.waited_child(recording, (row, stop), ended).filter(|_| known);
    let ender = ended.thread().filter(|_| child.is_none());
    let ender = ender.map(|other| self::ender(recording, lives, (row, stop), other));
    let awaited = walk.patience.still_awaited(sites, row, ended);
    let awaited = awaited.filter(|by| !waits_for_time(recording, lives, *by, (start, stop)));
    let awaited = awaited.or(child);
    walk.patience.pass(sites, row, ender.or(awaited));
    // One that is awaited still did not act when the limit passed: its own waits go on beyond that.
    let goes_on = goes_on || awaited.is_some();
    let thread = ender
        .or(awaited)
        .filter(|other| within.is_none() || within != process_of(recording, *other));
    Followed { ended, thread, goes_on }
}

/// Lets the innermost walk, whose thread has no task of the program in `row`, go on with the thread of
/// its process that works; while none does, the time is the wait's that ends that.
fn pass_on(recording: &Recording, lives: &Lives, open: &mut Vec<Walk>, row: &Interval) {
    let others: Vec<ThreadId> = open.iter().rev().skip(1).map(|walk| walk.thread).collect();
    let Some(walk) = open.last_mut() else { return };
    let waker = row.waker.filter(|_| end(row) == walk.now && row.cause.is_blocked());
    let waker = waker.and_then(|by| lives.before(recording, by, walk.now));
    let waker = waker.map(|at| &recording.intervals[at]);
    let meanwhile = lives.tasks.meanwhile(recording, (row, walk.now), waker);
    let (since, thread) = match meanwhile {
        Meanwhile::Works(thread, since) if thread == walk.thread => (since, None),
        Meanwhile::Works(thread, _) if !others.contains(&thread) => {
            walk.thread = thread;
            return;
        }
        // That one waits for this very walk.
        Meanwhile::Works(..) => (row.start, None),
        Meanwhile::Waits(since, ended) => (since, ended),
    };
    let from = since.max(row.start).max(walk.from);
    let lived = |thread: &ThreadId| {
        born(recording, lives, *thread).is_some_and(|born| born <= from) && !others.contains(thread)
    };
    let thread = thread.filter(|_| row.cause.is_blocked()).filter(lived).unwrap_or(walk.thread);
    let (now, under, goes_on) = (walk.now, walk.under, walk.goes_on);
    walk.now = from;
    open.push(Walk { goes_on, rests: true, ..Walk::new(thread, from, now, under) });
}

/// The thread that ended the process of `other`, where `other` ended a wait of another process by
/// being the last thread of its own to go.
fn ender(
    recording: &Recording,
    lives: &Lives,
    (row, stop): (&Interval, Time),
    other: ThreadId,
) -> ThreadId {
    let Some(process) = process_of(recording, other) else { return other };
    let gone = recording.processes.get(process.index()).and_then(|p| p.end);
    let dies = lives.ends.is_dying(row.waker_stack)
        || row.cause == Cause::Child && gone.is_some_and(|gone| gone <= stop);
    if !dies || Some(process) == process_of(recording, row.thread) {
        return other;
    }
    lives.ender(process).filter(|ender| recording.thread_end(*ender) <= stop).unwrap_or(other)
}

/// Whether a thread spent more than half of a time in waits that timers ended. As what another one waited for
/// that tells no more than that one's own timer.
fn waits_for_time(
    recording: &Recording,
    lives: &Lives,
    thread: ThreadId,
    (from, to): (Time, Time),
) -> bool {
    let rows = &recording.intervals[lives.rows(thread)];
    let first = rows.partition_point(|row| end(row) <= from);
    let within = rows[first..].iter().take_while(|row| row.start < to);
    let timed = within.filter(|row| row.woken_by == Some(WakeSource::Timer));
    let sum: Nanos = timed.map(|row| end(row).min(to).since(row.start.max(from))).sum();
    sum.0 > to.since(from).0 / 2
}

/// When a thread's rows begin; none when it has none.
fn born(recording: &Recording, lives: &Lives, thread: ThreadId) -> Option<Time> {
    Some(recording.intervals[lives.rows(thread)].first()?.start)
}

/// The thread that the innermost walk goes on with where its own was not born yet: the one that made it, or the
/// first one of the process whose path it is. None for a lock: before the one that released it was born, somebody
/// else held it.
fn before_birth(
    recording: &Recording,
    lives: &Lives,
    path: &CriticalPath,
    open: &[Walk],
) -> Option<ThreadId> {
    let walk = open.last().filter(|walk| !walk.rests)?;
    if born(recording, lives, walk.thread)? < walk.now {
        return None;
    }
    let wait = walk.under.and_then(|at| path.waits.get(at.index()));
    if wait.is_some_and(|wait| recording.intervals[wait.interval.index()].cause == Cause::Lock) {
        return None;
    }
    let creator = creator(recording, lives, walk.thread);
    let creator = creator.filter(|maker| open.iter().all(|walk| walk.thread != *maker));
    creator.or_else(|| first_thread(recording, walk.thread).filter(|_| walk.under.is_none()))
}

/// The first thread of a thread's process; none for itself.
fn first_thread(recording: &Recording, thread: ThreadId) -> Option<ThreadId> {
    let process = process_of(recording, thread)?;
    let pid = recording.processes.get(process.index())?.pid.0;
    let is_first = |thread: &culprit_model::Thread| {
        thread.process == process && thread.tid.0 == pid && thread.recorded
    };
    let first = ThreadId::from_index(recording.threads.iter().position(is_first)?);
    (first != thread).then_some(first)
}

/// Lets the innermost walk go on in another thread's life.
fn go_on(open: &mut [Walk], other: ThreadId) {
    if let Some(walk) = open.last_mut() {
        walk.thread = other;
    }
}

/// Charges what is left of a walk whose thread has no row there: to the wait that it explains, or
/// to nobody. A thread that lived earlier is picked up again at its end.
fn leave(recording: &Recording, lives: &Lives, path: &mut CriticalPath, open: &mut [Walk]) {
    let Some(walk) = open.last_mut() else { return };
    let rows = &recording.intervals[lives.rows(walk.thread)];
    let last = rows.partition_point(|row| row.start < walk.now).checked_sub(1);
    let ended = last.map_or(walk.from, |at| end(&rows[at])).clamp(walk.from, walk.now);
    let waiter = walk.under.and_then(|at| path.waits.get(at.index())).copied();
    path.segments.push(Segment {
        interval: waiter.map(|wait| wait.interval),
        from: ended,
        to: walk.now,
        under: waiter.and_then(|wait| wait.under),
        residue: waiter.is_some(),
    });
    walk.now = ended;
}

/// When a waker was last seen able to act before a time: a waker acts on the CPU, so the part of a
/// wait of its own that reaches past the wakeup is none of its doing.
fn last_active(
    recording: &Recording,
    lives: &Lives,
    (thread, near): (ThreadId, &mut Option<usize>),
    time: Time,
) -> Time {
    let row = lives.before_near(recording, thread, time, near).map(|at| &recording.intervals[at]);
    match row.filter(|row| row.cause.is_blocked() && end(row) > time) {
        Some(row) => row.start,
        None => time,
    }
}
