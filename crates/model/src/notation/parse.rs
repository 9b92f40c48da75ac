//! The notation's lines, and the finished recording that they describe.

use std::collections::BTreeMap;

use super::{ABSENT, LETTERS, NotationError, write};
use crate::cause::Cause;
use crate::ids::{ProcessId, StackId, ThreadId};
use crate::loss::LossKind;
use crate::recording::Recording;
use crate::tables::{
    Basis, Counter, Fault, FaultKind, Interval, Loss, WakeSource, Wakeup, WakeupKind,
};
use crate::text::Text;
use crate::time::{Nanos, Time};

/// What one character of a strip stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) cause: Cause,
    pub(super) stack: Option<StackId>,
}

/// A run of one character in a strip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) thread: ThreadId,
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) meaning: Meaning,
}

/// A text, read: the tables that need no interpretation, and the runs of each thread in order.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) recording: Recording,
    pub(super) runs: Vec<Run>,
    pub(super) tick: Nanos,
    letters: BTreeMap<char, Meaning>,
}

/// A finished recording from its text.
///
/// # Errors
/// With the number of the first line that is not in the notation.
pub fn parse(text: &str) -> Result<Recording, NotationError> {
    let Script { mut recording, runs, .. } = read(text)?;
    recording.intervals = runs.iter().map(|run| interval(&recording, run)).collect();
    Ok(recording)
}

/// Reads every line, strips before what names their threads.
pub(super) fn read(text: &str) -> Result<Script, NotationError> {
    let lines: Vec<(usize, Vec<&str>)> = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .map(|line| line.split_whitespace().collect())
        .enumerate()
        .map(|(at, words)| (at + 1, words))
        .collect();
    let mut script = Script { tick: Nanos(1_000_000), ..Script::default() };
    for pass in [Script::define, Script::live, Script::note] {
        for (line, words) in lines.iter().filter(|(_, words)| !words.is_empty()) {
            pass(&mut script, words).map_err(|reason| NotationError { line: *line, reason })?;
        }
    }
    script.finish();
    Ok(script)
}

type Read = Result<(), String>;

impl Script {
    /// First pass: what a character is.
    fn define(&mut self, words: &[&str]) -> Read {
        match words {
            ["tick", length] => self.tick = duration(length)?,
            ["stack", letter, cause, frames @ ..] => {
                let letter = single(letter)?;
                let cause: Cause = cause.parse().map_err(|e| format!("{e}"))?;
                let frames = frames.join(" ");
                let stack = write::stack(&mut self.recording, frames.split(';'));
                if self.letters.insert(letter, Meaning { cause, stack }).is_some() {
                    return Err(format!("`{letter}` is defined twice"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Second pass: the strips.
    fn live(&mut self, words: &[&str]) -> Read {
        let [who, strip] = words else { return Ok(()) };
        let Some((process, thread)) = who.split_once('/') else { return Ok(()) };
        let (process, pid) = named(process)?;
        let (thread, tid) = named(thread)?;
        let body = strip.strip_suffix('|').unwrap_or(strip);
        let alive = body.trim_start_matches(ABSENT);
        let born = body.chars().count() - alive.chars().count();
        let start = self.at(born);
        let end = (body.len() < strip.len()).then(|| self.at(body.chars().count()));
        let process = write::process(&mut self.recording, process, pid);
        let id = write::thread(&mut self.recording, process, (thread, tid), start, end);
        let mut last: Option<Run> = None;
        for (at, letter) in (born..).zip(alive.chars()) {
            let meaning = self.meaning(letter)?;
            let (from, to) = (self.at(at), self.at(at + 1));
            match &mut last {
                Some(run) if run.meaning == meaning => run.to = to,
                _ => {
                    self.runs.extend(last.take());
                    last = Some(Run { thread: id, from, to, meaning });
                }
            }
        }
        let until = last.as_ref().map_or(start, |run| run.to);
        self.runs.extend(last);
        let wall = &mut self.recording.meta.wall;
        *wall = (*wall).max(Nanos(until.0));
        Ok(())
    }

    /// Third pass: what happened to whom.
    fn note(&mut self, words: &[&str]) -> Read {
        match words {
            ["tick", _] | ["stack", ..] => Ok(()),
            ["root", process] => {
                let root = self.process(process)?;
                self.recording.meta.root_process = Some(root);
                Ok(())
            }
            ["child", child, "of", parent] => {
                let (child, parent) = (self.process(child)?, self.process(parent)?);
                self.recording.processes[child.index()].parent = Some(parent);
                Ok(())
            }
            ["wake", time, waker, ">", thread, stack @ ..] => {
                self.wake(time, waker, thread, &stack.join(" "))
            }
            ["counter", time, name, value] => {
                let time = self.time(time)?;
                let value = number(value)?;
                let name = Text::from(*name);
                self.recording.counters.push(Counter { time, process: None, name, value });
                Ok(())
            }
            ["fact", name, value @ ..] => {
                let fact = ((*name).to_owned(), value.join(" "));
                self.recording.meta.place_facts.push(fact);
                Ok(())
            }
            ["fault", time, thread, kind] => self.fault(time, thread, kind),
            ["lost", from, to] => {
                let (from, to) = (Some(self.time(from)?), Some(self.time(to)?));
                let kind = LossKind::SwitchesLost;
                self.recording.losses.push(Loss {
                    kind,
                    count: 1,
                    from,
                    to,
                    detail: Text::default(),
                });
                Ok(())
            }
            [who, _] if who.contains('/') => Ok(()),
            _ => Err(format!("cannot read the line `{}`", words.join(" "))),
        }
    }

    fn wake(&mut self, time: &str, waker: &str, thread: &str, stack: &str) -> Read {
        let source = match waker {
            "timer" => WakeSource::Timer,
            "disk" => WakeSource::Disk,
            "network" => WakeSource::Network,
            "interrupt" => WakeSource::Interrupt,
            _ => WakeSource::Thread,
        };
        let waker = if source == WakeSource::Thread { Some(self.thread(waker)?) } else { None };
        let thread = self.thread(thread)?;
        let time = self.time(time)?;
        let waker_stack = write::stack(&mut self.recording, stack.split(';'));
        for kind in [WakeupKind::Waking, WakeupKind::Wakeup] {
            self.recording.wakeups.push(Wakeup { time, thread, kind, source, waker, waker_stack });
        }
        Ok(())
    }

    fn fault(&mut self, time: &str, thread: &str, kind: &str) -> Read {
        let kind: FaultKind = kind.parse().map_err(|e| format!("{e}"))?;
        let (time, thread) = (self.time(time)?, self.thread(thread)?);
        let row = Fault { time, thread, kind, address: 0, count: 1, file: None, stack: None };
        self.recording.faults.push(row);
        Ok(())
    }

    /// Orders what came in any order, and lets processes live as long as their threads.
    fn finish(&mut self) {
        let recording = &mut self.recording;
        recording.wakeups.sort_by_key(|row| row.time);
        recording.counters.sort_by_key(|row| row.time);
        recording.faults.sort_by_key(|row| row.time);
        let wall = Time(recording.meta.wall.0);
        for (at, process) in recording.processes.iter_mut().enumerate() {
            let own = || recording.threads.iter().filter(|t| t.process.index() == at);
            process.start = own().map(|t| t.start).min().unwrap_or_default();
            let ends: Option<Vec<Time>> = own().map(|t| t.end).collect();
            process.end = ends.and_then(|ends| ends.into_iter().max());
            if recording.meta.root_process == Some(ProcessId::from_index(at)) {
                process.end = process.end.or(Some(wall));
                recording.meta.command_span = process.end.map(|end| (process.start, end));
            }
        }
    }

    fn meaning(&self, letter: char) -> Result<Meaning, String> {
        let plain = || {
            let (_, cause) = LETTERS.iter().find(|(known, _)| *known == letter)?;
            Some(Meaning { cause: *cause, stack: None })
        };
        let defined = self.letters.get(&letter).copied();
        defined.or_else(plain).ok_or_else(|| format!("`{letter}` has no `stack` line"))
    }

    fn process(&self, name: &str) -> Result<ProcessId, String> {
        let matches = |row: &crate::Process| {
            row.name.as_str() == name || format!("{}({})", row.name, row.pid) == name
        };
        let known = self.recording.processes.iter().position(matches);
        known.map(ProcessId::from_index).ok_or_else(|| format!("unknown process `{name}`"))
    }

    fn thread(&self, name: &str) -> Result<ThreadId, String> {
        let matches = |row: &crate::Thread| {
            row.name.as_str() == name || format!("{}({})", row.name, row.tid) == name
        };
        let known = self.recording.threads.iter().position(matches);
        known.map(ThreadId::from_index).ok_or_else(|| format!("unknown thread `{name}`"))
    }

    fn time(&self, ticks: &str) -> Result<Time, String> {
        Ok(Time(number(ticks)? * self.tick.0))
    }

    fn at(&self, ticks: usize) -> Time {
        Time(ticks as u64 * self.tick.0)
    }
}

fn interval(recording: &Recording, run: &Run) -> Interval {
    let ends_it = |row: &&Wakeup| row.thread == run.thread && row.time == run.to;
    let blocked = run.meaning.cause.is_blocked();
    let wake = recording.wakeups.iter().find(ends_it).filter(|_| blocked);
    let basis = if run.meaning.cause.is_cpu() { Basis::Sample } else { Basis::Switch };
    Interval {
        thread: run.thread,
        start: run.from,
        duration: run.to.since(run.from),
        cause: run.meaning.cause,
        stack: run.meaning.stack,
        basis: if run.meaning.stack.is_some() { basis } else { Basis::None },
        cpu: None,
        waker: wake.and_then(|row| row.waker),
        waker_stack: wake.and_then(|row| row.waker_stack),
        woken_by: wake.map(|row| row.source),
        uncertain: false,
    }
}

/// `name(number)`.
fn named(text: &str) -> Result<(&str, u32), String> {
    let parts = text.strip_suffix(')').and_then(|t| t.rsplit_once('('));
    let (name, digits) = parts.ok_or_else(|| format!("`{text}` is not `name(number)`"))?;
    Ok((name, digits.parse().map_err(|e| format!("`{digits}`: {e}"))?))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|e| format!("`{text}`: {e}"))
}

fn single(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(letter), None) if letter != ABSENT && letter != '|' => Ok(letter),
        _ => Err(format!("`{text}` is not one character")),
    }
}

fn duration(text: &str) -> Result<Nanos, String> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        other => return Err(format!("unknown unit of time `{other}`; use ns, us, ms or s")),
    };
    Ok(Nanos(number(digits)? * unit))
}
