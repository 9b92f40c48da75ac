//! From lines to samples, one a system call.

use culprit_model::{FrameId, LossKind, Metric, Pid, ProcessId, StackId, ThreadId, Tid};
use rustc_hash::FxHashMap;

use super::files::Files;
use super::followed::{FIRST, Followed};
use super::joined::{Joined, Kind};
use super::line::{End, Line, Stamp, What};
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;

/// Longer lines are cut: strace itself shortens texts to 32 bytes unless told otherwise.
const LONGEST_LINE: u64 = 16 << 20;

/// A day, ns: times of day start again behind it.
const DAY: u64 = 86_400_000_000_000;

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let mut reading = Reading::new(builder);
    let mut held = String::new();
    let mut joined = Joined::default();
    input.lines(LONGEST_LINE, |line, whole| {
        if !whole {
            reading.cut += 1;
            return;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        // Without -o, strace speaks in the middle of a line when it follows a new process.
        match attached(line) {
            Some((before, tid)) => {
                reading.followed.attach(tid);
                held.push_str(before);
            }
            None => {
                held.push_str(line);
                joined.add(&std::mem::take(&mut held), |line, kind| reading.line(line, kind));
            }
        }
    })?;
    joined.end(|line, kind| reading.line(line, kind));
    reading.finish()
}

/// What stands before `strace: Process N attached`, and the number.
fn attached(line: &str) -> Option<(&str, u32)> {
    let (before, rest) = line.split_once("strace: Process ")?;
    let (number, rest) = rest.split_once(' ')?;
    let tid = number.parse().ok().filter(|_| rest.starts_with("attached"))?;
    Some((before, tid))
}

/// A call under way.
struct Call {
    begun: Option<u64>,
    arguments: String,
}

/// A call that ended, until the lines of its stack (`-k`) are over.
struct Ended {
    tid: u32,
    time: u64,
    latency: u64,
    name: String,
    arguments: String,
    result: String,
    path: Option<String>,
    /// Leaf first.
    callers: Vec<FrameId>,
}

struct Reading<'a> {
    builder: &'a mut Builder,
    /// The time of the last line.
    now: u64,
    /// Added to times of day behind midnight.
    days: u64,
    followed: Followed,
    processes: FxHashMap<u32, ProcessId>,
    files: FxHashMap<ProcessId, Files>,
    open: FxHashMap<(u32, String), Call>,
    ended: Option<Ended>,
    calls: u64,
    untimed: u64,
    unfinished: u64,
    foreign: u64,
    cut: u64,
}

impl<'a> Reading<'a> {
    fn new(builder: &'a mut Builder) -> Self {
        Self {
            builder,
            now: 0,
            days: 0,
            followed: Followed::default(),
            processes: FxHashMap::default(),
            files: FxHashMap::default(),
            open: FxHashMap::default(),
            ended: None,
            calls: 0,
            untimed: 0,
            unfinished: 0,
            foreign: 0,
            cut: 0,
        }
    }

    fn line(&mut self, text: &str, kind: Kind) {
        if let Some(caller) = text.strip_prefix(" > ") {
            let frame = caller_of(caller, self.builder);
            match &mut self.ended {
                Some(ended) => ended.callers.push(frame),
                None => self.foreign += 1,
            }
            return;
        }
        self.flush();
        let Some(line) = Line::parse(text) else {
            *(if kind == Kind::Cut { &mut self.cut } else { &mut self.foreign }) += 1;
            return;
        };
        let tid = self.followed.thread(line.tid);
        let time = self.time(line.stamp);
        match line.what {
            What::Signal => {}
            What::Gone => self.followed.alive.retain(|alive| *alive != tid),
            What::Begun { name, arguments } => {
                let call = Call { begun: Some(time), arguments: arguments.to_owned() };
                if self.open.insert((tid, name.to_owned()), call).is_some() {
                    self.unfinished += 1;
                }
            }
            What::Whole { name, arguments, end } => self.end(tid, time, name, arguments, end),
            What::Resumed { name, arguments, end } => {
                let begun = self.open.remove(&(tid, name.to_owned()));
                // A call that began before strace looked has its latency all the same.
                let begun = begun.unwrap_or(Call { begun: None, arguments: String::new() });
                let before = time.saturating_sub(end.latency.unwrap_or(0));
                let gap = if begun.arguments.ends_with(',') { " " } else { "" };
                let arguments = format!("{}{gap}{arguments}", begun.arguments);
                self.end(tid, begun.begun.unwrap_or(before), name, arguments.trim(), end);
            }
        }
    }

    /// The time of a line on the file's clock.
    fn time(&mut self, stamp: Option<Stamp>) -> u64 {
        self.now = match stamp {
            None => self.now,
            Some(Stamp::After(length)) => self.now.saturating_add(length),
            Some(Stamp::Epoch(time)) => time,
            Some(Stamp::Day(time)) => {
                // Lines of several threads may stand a little out of order; half a day is midnight.
                if time.saturating_add(self.days).saturating_add(DAY / 2) < self.now {
                    self.days = self.days.saturating_add(DAY);
                }
                time.saturating_add(self.days)
            }
        };
        self.now
    }

    fn end(&mut self, tid: u32, time: u64, name: &str, arguments: &str, end: End<'_>) {
        let process = self.process(tid);
        let files = self.files.entry(process).or_default();
        let path = files.path(name, arguments);
        if !end.result.starts_with("-1 ") {
            files.note(name, arguments, end.result, path.as_deref());
            self.succeeded(process, name, arguments, end.result);
        }
        let Some(latency) = end.latency else {
            self.untimed += u64::from(end.result != "?");
            return;
        };
        self.calls += 1;
        self.ended = Some(Ended {
            tid,
            time,
            latency,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            result: end.result.to_owned(),
            path,
            callers: Vec::new(),
        });
    }

    /// What a call did to processes: a program executed gives its name, a clone a new thread or a
    /// new process with the same files.
    fn succeeded(&mut self, process: ProcessId, name: &str, arguments: &str, result: &str) {
        match name {
            "execve" | "execveat" => {
                let path = self.files.entry(process).or_default().path("execve", arguments);
                let path = path.unwrap_or_default();
                let pid = self.builder.recording().process(process).pid.0;
                self.builder.process(pid, path.rsplit('/').next().unwrap_or(&path));
            }
            "clone" | "clone3" | "fork" | "vfork" => {
                let digits = result.bytes().take_while(u8::is_ascii_digit).count();
                let Ok(child) = result[..digits].parse::<u32>() else { return };
                if arguments.contains("CLONE_THREAD") {
                    self.processes.insert(child, process);
                    return;
                }
                let files = self.files.get(&process).cloned().unwrap_or_default();
                let name = self.builder.recording().process(process).name.clone();
                let new = self.process(child);
                // Its first calls may stand before the end of the call that made it.
                if self.builder.recording().process(new).name.is_empty() {
                    self.builder.process(child, &name);
                }
                self.files.entry(new).or_insert(files);
            }
            _ => {}
        }
    }

    fn process(&mut self, tid: u32) -> ProcessId {
        *self.processes.entry(tid).or_insert_with(|| self.builder.process(tid, ""))
    }

    fn thread(&mut self, tid: u32) -> ThreadId {
        let process = self.process(tid);
        self.builder.thread(process, tid, "")
    }

    /// Adds the call that ended last: nothing more is said of it.
    fn flush(&mut self) {
        let Some(ended) = self.ended.take() else { return };
        let thread = self.thread(ended.tid);
        let callers = ended.callers.into_iter().rev();
        let mut stack = callers.fold(None, |at, frame| Some(self.builder.push(at, frame)));
        let root = ended.path.map_or("Raw Syscalls".to_owned(), |path| format!("Path: {path}"));
        for name in [
            root,
            format!("Syscall: {}", ended.name),
            format!("Arguments: {}", ended.arguments),
            format!("Return Code: {}", ended.result),
        ] {
            stack = Some(self.push(stack, &name));
        }
        self.builder.add(Amount {
            time: ended.time,
            duration: ended.latency,
            thread: Some(thread),
            ..Amount::at(stack, Metric::Wall, ended.latency)
        });
    }

    /// Gives the thread of lines without a number the one that it turned out to have.
    fn name_first(&mut self) {
        let (Some(number), Some(process)) = (self.followed.first, self.processes.get(&FIRST))
        else {
            return;
        };
        let recording = self.builder.recording();
        recording.processes[process.index()].pid = Pid(number);
        for thread in &mut recording.threads {
            if thread.process == *process && thread.tid == Tid(FIRST) {
                thread.tid = Tid(number);
            }
        }
    }

    fn push(&mut self, caller: Option<StackId>, name: &str) -> StackId {
        let frame = self.builder.function(None, name, "", None);
        self.builder.push(caller, frame)
    }

    fn finish(mut self) -> Result<(), Refusal> {
        self.flush();
        self.name_first();
        if self.calls == 0 {
            return Err(
                "no line has a system call and its latency: record with `strace -T`".to_owned()
            );
        }
        self.unfinished += self.open.len() as u64;
        for (count, kind, detail) in [
            (self.untimed, LossKind::DetailLeftOut, "calls without a latency"),
            (self.unfinished, LossKind::DetailLeftOut, "calls that did not end"),
            (self.cut, LossKind::RecordsMalformed, "calls whose lines are cut short"),
            (self.foreign, LossKind::DetailLeftOut, "lines that strace did not write"),
        ] {
            if count > 0 {
                self.builder.lose(kind, count, detail);
            }
        }
        Ok(())
    }
}

/// A frame of `-k`: `/lib/libc.so.6(read+0x12) [0x1234]`, or without a symbol `... [0x1234]`.
fn caller_of(text: &str, builder: &mut Builder) -> FrameId {
    let place = text.rsplit_once(" [").map_or(text, |(place, _)| place);
    let (path, symbol) = match place.strip_suffix(')').and_then(|place| place.rsplit_once('(')) {
        Some((path, symbol)) => (path, symbol),
        None => (place, ""),
    };
    let function = symbol.rsplit_once("+0x").map_or(symbol, |(function, _)| function);
    let function = if function.is_empty() { "?" } else { function };
    let module = builder.module(path);
    builder.function(Some(module), function, "", None)
}
