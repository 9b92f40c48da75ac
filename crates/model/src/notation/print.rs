//! A finished recording as the text that describes it.

use std::fmt::Write as _;

use super::{ABSENT, LETTERS};
use crate::cause::Cause;
use crate::ids::{StackId, ThreadId};
use crate::recording::Recording;
use crate::tables::{Interval, WakeSource, WakeupKind};
use crate::time::{Nanos, Time};

/// The text of a recording's threads, stacks and wakers, at one character a tick: what holds in
/// the middle of a tick is drawn. [`parse`](super::parse) reads it back where every interval is a
/// whole number of ticks and there are no more distinct places than letters.
#[must_use]
pub fn print(recording: &Recording, tick: Nanos) -> String {
    let tick = Nanos(tick.0.max(1));
    let letters = Letters::of(recording);
    let mut text = format!("tick {}ns\n", tick.0);
    for (letter, cause, stack) in &letters.0 {
        if let Some(stack) = stack {
            let _ = writeln!(text, "stack {letter} {cause} {}", names(recording, *stack));
        }
    }
    for at in 0..recording.threads.len() {
        let id = ThreadId::from_index(at);
        let _ =
            writeln!(text, "{}  {}", title(recording, id), strip(recording, id, tick, &letters));
    }
    for wake in recording.wakeups.iter().filter(|row| row.kind == WakeupKind::Waking) {
        let waker = match (wake.source, wake.waker) {
            (WakeSource::Thread, Some(waker)) => handle(recording, waker),
            (source, _) => source.to_string(),
        };
        let (thread, ticks) = (handle(recording, wake.thread), wake.time.0 / tick.0);
        let stack = wake.waker_stack.map(|stack| format!(" {}", names(recording, stack)));
        let _ = writeln!(text, "wake {ticks} {waker} > {thread}{}", stack.unwrap_or_default());
    }
    if let Some(root) = recording.meta.root_process {
        let process = recording.process(root);
        let _ = writeln!(text, "root {}({})", process.name, process.pid);
    }
    text
}

/// The character of each distinct (cause, stack).
struct Letters(Vec<(char, Cause, Option<StackId>)>);

impl Letters {
    fn of(recording: &Recording) -> Self {
        let plain = |letter: char| LETTERS.iter().any(|(known, _)| *known == letter);
        let mut free = ('a'..='z').chain('A'..='Z').chain('0'..='9').filter(|c| !plain(*c));
        let mut known: Vec<(char, Cause, Option<StackId>)> = Vec::new();
        for row in &recording.intervals {
            if known.iter().any(|(_, cause, stack)| (*cause, *stack) == (row.cause, row.stack)) {
                continue;
            }
            let letter = match row.stack {
                None => LETTERS.iter().find(|(_, cause)| *cause == row.cause).map(|(c, _)| *c),
                Some(_) => free.next(),
            };
            known.push((letter.unwrap_or('?'), row.cause, row.stack));
        }
        Self(known)
    }

    fn letter(&self, row: &Interval) -> char {
        let same = |(_, cause, stack): &&(char, Cause, Option<StackId>)| {
            (*cause, *stack) == (row.cause, row.stack)
        };
        self.0.iter().find(same).map_or('?', |(letter, ..)| *letter)
    }
}

fn strip(recording: &Recording, id: ThreadId, tick: Nanos, letters: &Letters) -> String {
    let rows: Vec<&Interval> = recording.intervals.iter().filter(|r| r.thread == id).collect();
    let end = rows.last().map_or(Time::START, |row| row.start + row.duration);
    let mut strip = String::new();
    let mut middle = Time(tick.0 / 2);
    while middle < end {
        let at = rows.partition_point(|row| row.start <= middle).checked_sub(1);
        let row = at.map(|at| rows[at]).filter(|row| row.start + row.duration > middle);
        strip.push(row.map_or(ABSENT, |row| letters.letter(row)));
        middle = middle + tick;
    }
    if recording.thread(id).end.is_some() {
        strip.push('|');
    }
    strip
}

fn names(recording: &Recording, stack: StackId) -> String {
    let mut names: Vec<String> = recording.stack(stack).map(|f| recording.frame_name(f)).collect();
    names.reverse();
    names.join(";")
}

fn handle(recording: &Recording, id: ThreadId) -> String {
    let thread = recording.thread(id);
    format!("{}({})", thread.name, thread.tid)
}

fn title(recording: &Recording, id: ThreadId) -> String {
    let process = recording.process(recording.thread(id).process);
    format!("{}({})/{}", process.name, process.pid, handle(recording, id))
}
