//! A recording cut to a stretch of its time, as if it had been recorded from there to there.
//!
//! ```text
//! before    | launcher ....| execve  command ......... exit | recorder notices |
//! after                    | command ......... exit |
//! ```
//!
//! A command's recording starts before the command, because nothing of it may be missed, and ends
//! after it. What lies outside belongs to the recorder and to engines, so it is taken away once the
//! intervals are built; a flight recorder's file is cut in the same way until it fits its bound.

mod activities;
mod keep;

#[cfg(test)]
mod tests;

use culprit_model::{
    ClockPair, Counter, Loss, MarkKind, Nanos, ProcessId, Recording, Text, Thread, Time,
};
use rustc_hash::FxHashMap;

use keep::Kept;

/// Takes away what happened before `from` and after `to`, and counts times from `from` on.
///
/// Threads and processes that did not live in between are gone, with the stacks and frames that
/// only they had. Intervals that reach over an edge end there; the kernel's accounts lose what the
/// rows outside say. Of each counter, the last reading before `from` stays as the first one, and
/// the first after `to` as the last.
///
/// The recording must have its intervals: raw switches are not cut. Nothing is done when the
/// stretch is empty or the whole recording. The cost is linear in all rows.
pub fn cut(recording: &mut Recording, from: Time, to: Time) {
    let to = to.min(Time(recording.meta.wall.0));
    if from >= to || (from == Time::START && to.0 == recording.meta.wall.0) {
        return;
    }
    let window = Window { from, to };
    account_for_less(recording, window);
    intervals(recording, window);
    events(recording, window);
    activities::cut(recording, window);
    recording.counters = counters(std::mem::take(&mut recording.counters), window);
    mappings(recording, window);
    recording.losses.retain_mut(|loss| window.loss(loss));
    meta(recording, window);
    Kept::of(recording, window).apply(recording);
    lives(recording, window);
}

/// What is kept.
#[derive(Debug, Clone, Copy)]
struct Window {
    from: Time,
    to: Time,
}

impl Window {
    const fn holds(self, time: Time) -> bool {
        self.from.0 <= time.0 && time.0 <= self.to.0
    }

    /// The time on the new clock; what is outside is moved to the edge.
    fn time(self, time: Time) -> Time {
        Time(time.min(self.to).since(self.from).0)
    }

    /// Whether a life has a part in here.
    fn sees(self, start: Time, end: Option<Time>) -> bool {
        start < self.to && end.is_none_or(|end| end > self.from)
    }

    /// The new ends of a stretch; none when nothing of it is in here.
    fn stretch(self, start: Time, length: Nanos) -> Option<(Time, Nanos)> {
        let (begin, end) = (self.time(start), self.time(start + length));
        let inside = begin < end || (length == Nanos::ZERO && self.holds(start));
        inside.then(|| (begin, end.since(begin)))
    }

    /// How much of a stretch lies outside of here, within `bounds`.
    fn outside(self, start: Time, length: Nanos, bounds: (Time, Time)) -> Nanos {
        let (start, end) = (start.max(bounds.0), (start + length).min(bounds.1));
        let inside = end.min(self.to).since(start.max(self.from));
        end.since(start).saturating_sub(inside)
    }

    /// Moves a loss; false when it tells of another time only.
    fn loss(self, loss: &mut Loss) -> bool {
        let (from, to) = (loss.from.unwrap_or(Time::START), loss.to.or(loss.from));
        if to.is_some_and(|to| to < self.from) || from > self.to {
            return false;
        }
        loss.from = loss.from.map(|time| self.time(time));
        loss.to = loss.to.map(|time| self.time(time));
        true
    }
}

/// Takes from the kernel's accounts of each thread what its own rows outside add up to.
fn account_for_less(recording: &mut Recording, window: Window) {
    let Recording { threads, intervals, .. } = recording;
    for row in &*intervals {
        let Some(thread) = threads.get_mut(row.thread.index()) else { continue };
        let (Some(first), Some(last)) = (thread.sched_from, thread.sched_to) else { continue };
        let outside = window.outside(row.start, row.duration, (first, last));
        let account = match row.cause {
            cause if cause.is_cpu() => &mut thread.sched_cpu,
            cause if cause.is_runnable() => &mut thread.sched_wait,
            _ => continue,
        };
        *account = account.map(|sum| sum.saturating_sub(outside));
    }
    for thread in threads {
        accounted_span(thread, window);
    }
}

/// Moves the times of a thread's two readings; forgets them when nothing lies between them.
fn accounted_span(thread: &mut Thread, window: Window) {
    let span = thread.sched_from.zip(thread.sched_to);
    let span = span.map(|(first, last)| (window.time(first), window.time(last)));
    let span = span.filter(|(first, last)| first < last);
    (thread.sched_from, thread.sched_to) = span.unzip();
    if span.is_none() {
        (thread.sched_cpu, thread.sched_wait) = (None, None);
    }
}

fn intervals(recording: &mut Recording, window: Window) {
    recording.intervals.retain_mut(|row| match window.stretch(row.start, row.duration) {
        Some(stretch) => {
            (row.start, row.duration) = stretch;
            true
        }
        None => false,
    });
}

/// Rows that happened at one instant.
fn events(recording: &mut Recording, window: Window) {
    let keep = |time: &mut Time| {
        let inside = window.holds(*time);
        *time = window.time(*time);
        inside
    };
    recording.switches.retain_mut(|row| keep(&mut row.time));
    recording.samples.retain_mut(|row| keep(&mut row.time));
    recording.wakeups.retain_mut(|row| keep(&mut row.time));
    recording.faults.retain_mut(|row| keep(&mut row.time));
    recording.observations.retain_mut(|row| keep(&mut row.time));
    recording.interpreter_stacks.retain_mut(|row| keep(&mut row.time));
    recording.costs.retain_mut(|row| keep(&mut row.time));
    recording.activity_edges.retain_mut(|row| keep(&mut row.time));
}

/// Readings in the window, and the nearest one on each side.
fn counters(rows: Vec<Counter>, window: Window) -> Vec<Counter> {
    let key = |row: &Counter| (row.process, row.name.clone());
    let mut nearest: FxHashMap<(Option<ProcessId>, Text), usize> = FxHashMap::default();
    let mut closed: FxHashMap<(Option<ProcessId>, Text), ()> = FxHashMap::default();
    let mut keep = vec![false; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        keep[at] = if row.time < window.from {
            if let Some(earlier) = nearest.insert(key(row), at) {
                keep[earlier] = false;
            }
            true
        } else {
            row.time <= window.to || closed.insert(key(row), ()).is_none()
        };
    }
    let kept = rows.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(row, _)| row);
    kept.map(|row| Counter { time: window.time(row.time), ..row }).collect()
}

/// Mappings that hold in the window: those of a program that was replaced before it do not.
fn mappings(recording: &mut Recording, window: Window) {
    let mut executed: FxHashMap<ProcessId, Time> = FxHashMap::default();
    for mark in &recording.marks {
        if mark.kind == MarkKind::Exec && mark.time <= window.from {
            executed.insert(mark.process, mark.time);
        }
    }
    recording.mappings.retain_mut(|row| {
        let replaced = executed.get(&row.process).is_some_and(|exec| row.time < *exec);
        let holds = row.time <= window.to && !replaced;
        row.time = window.time(row.time);
        holds
    });
    recording.marks.retain_mut(|row| {
        let inside = window.holds(row.time);
        row.time = window.time(row.time);
        inside
    });
}

fn meta(recording: &mut Recording, window: Window) {
    let meta = &mut recording.meta;
    meta.wall = window.to.since(window.from);
    let later = |clock: ClockPair, by: Nanos| ClockPair {
        monotonic: clock.monotonic.saturating_add(by.0),
        realtime: clock.realtime.saturating_add(by.0),
    };
    meta.start = later(meta.start, Nanos(window.from.0));
    meta.end = later(meta.start, meta.wall);
    meta.command_span = meta.command_span.map(|(a, b)| (window.time(a), window.time(b)));
}

/// Births and deaths on the new clock; who lived on after the window has no end.
fn lives(recording: &mut Recording, window: Window) {
    let end = |end: Option<Time>| end.filter(|end| *end <= window.to).map(|end| window.time(end));
    for thread in &mut recording.threads {
        (thread.start, thread.end) = (window.time(thread.start), end(thread.end));
    }
    for process in &mut recording.processes {
        (process.start, process.end) = (window.time(process.start), end(process.end));
    }
}
