//! From what a foreign file says to the rows of a recording.
//!
//! Names, frames and stacks are each kept once. Times are nanoseconds on the file's own clock, in
//! any order; at the end they are counted from the recording's start and the tables sorted.

use std::borrow::Cow;

use culprit_model::{
    ActivityEdge, ActivitySource, Cause, ClockPair, Cost, EdgeKind, Frame, FrameId, Guess, Loss,
    LossKind, Metric, Module, ModuleId, Nanos, Pid, Process, ProcessId, Recording, Rung, Stack,
    StackId, Text, Thread, ThreadId, Tid, Time,
};
use rustc_hash::FxHashMap;

/// The longest name that is kept, in bytes: C++ templates reach a few thousand.
const LONGEST_NAME: usize = 64 << 10;

/// The most frames of a stack. Recorders keep far fewer; whoever shows stacks must walk them.
const DEEPEST: u32 = 8192;

/// An amount at a stack.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// When, or from when, ns on the file's clock; 0 in files without times.
    pub time: u64,
    /// How long it went on, ns; 0 for an instant.
    pub duration: u64,
    /// Which thread; none where process and thread are frames of the stack.
    pub thread: Option<ThreadId>,
    /// At which stack; none where that was lost.
    pub stack: Option<StackId>,
    /// What the value counts.
    pub metric: Metric,
    /// Why the time passed; none for what is no time and where the file does not say.
    pub cause: Option<Cause>,
    /// How much, in the metric's unit.
    pub value: u64,
    /// How many samples of the file it stands for.
    pub count: u64,
}

impl Amount {
    /// One sample at a stack, and nothing else known.
    #[must_use]
    pub fn at(stack: Option<StackId>, metric: Metric, value: u64) -> Self {
        Self { time: 0, duration: 0, thread: None, stack, metric, cause: None, value, count: 1 }
    }
}

/// One end of an activity.
#[derive(Debug, Clone)]
pub struct Edge<'a> {
    /// When, ns on the file's clock.
    pub time: u64,
    /// On which thread.
    pub thread: ThreadId,
    /// Which end of what.
    pub kind: EdgeKind,
    /// The activity's kind: what activities are added up by.
    pub name: &'a str,
    /// What tells it from others of its name.
    pub key: Option<Text>,
}

/// Everything that a frame has.
type FrameKey =
    (Option<ModuleId>, Text, Option<u64>, Option<Text>, Option<u32>, (bool, Option<Guess>));

/// Gathers what a foreign file says.
#[derive(Debug, Default)]
pub struct Builder {
    recording: Recording,
    start: Option<u64>,
    zero: Option<u64>,
    end: u64,
    names: FxHashMap<Text, FrameId>,
    modules: FxHashMap<Text, ModuleId>,
    frames: FxHashMap<FrameKey, FrameId>,
    stacks: FxHashMap<(Option<StackId>, FrameId), StackId>,
    /// How many frames each stack has.
    depths: Vec<u32>,
    /// Frames beyond [`DEEPEST`].
    cut: u64,
    /// Names of which the end was left out.
    long: u64,
    /// Bytes of names that are no text.
    undecoded: u64,
    /// Where each loss is: a damaged file may tell of any number of types of events.
    losses: FxHashMap<(LossKind, Text), usize>,
    processes: FxHashMap<u32, ProcessId>,
    threads: FxHashMap<(ProcessId, u32), ThreadId>,
}

impl Builder {
    /// The recording's start on the file's clock, where no row has an earlier time.
    pub fn starts_at(&mut self, time: u64) {
        self.start = Some(time);
    }

    /// The time of day at the zero of the file's clock, ns since 1970, modulo 2^64.
    pub(crate) fn zero_is(&mut self, time: u64) {
        self.zero = Some(time);
    }

    /// The recording's end on the file's clock; else it is the latest time of any row.
    pub fn ends_at(&mut self, time: u64) {
        self.end = self.end.max(time);
    }

    /// What is built, for the tables and facts that have no method here. Times in it count from
    /// the file's own zero until the end.
    pub fn recording(&mut self) -> &mut Recording {
        &mut self.recording
    }

    /// A module by its path; its name is the path's last part.
    pub fn module(&mut self, path: &str) -> ModuleId {
        self.module_named(base_name(path), path)
    }

    /// A module by its path with a name of its own; equal paths are one module.
    pub fn module_named(&mut self, name: &str, path: &str) -> ModuleId {
        let path = Text::from(&*shortened(path, &mut self.long));
        let name = shortened(name, &mut self.long);
        let modules = &mut self.recording.modules;
        *self.modules.entry(path.clone()).or_insert_with(|| {
            modules.push(Module {
                name: Text::from(&*name),
                path,
                build_id: None,
                symbols: true,
                lines: false,
            });
            ModuleId::from_index(modules.len() - 1)
        })
    }

    /// A frame by all that is known of it; equal ones are one frame.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        let frames = &mut self.recording.frames;
        let Frame { module, function, address, file, line, inlined, instruction: _, guessed } =
            frame.clone();
        let how = (inlined, guessed);
        *self.frames.entry((module, function, address, file, line, how)).or_insert_with(|| {
            frames.push(frame);
            FrameId::from_index(frames.len() - 1)
        })
    }

    /// Bytes that should be text. What is no UTF-8 in them is replaced, and told.
    pub(crate) fn text<'t>(&mut self, bytes: &'t [u8]) -> Cow<'t, str> {
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            let odd = bytes.utf8_chunks().filter(|piece| !piece.invalid().is_empty()).count();
            self.undecoded += odd as u64;
        }
        text
    }

    /// A frame by its name alone, shown as it is: `module!function`, or a name without module. The
    /// module is what stands before the first `!`.
    pub fn named(&mut self, name: &str) -> FrameId {
        let name = shortened(name, &mut self.long);
        if let Some(known) = self.names.get(name.as_ref()) {
            return *known;
        }
        let id = self.located(&name, "", None);
        self.names.insert(Text::from(&*name), id);
        id
    }

    /// As [`Builder::named`], with the source file, empty where that is unknown, and the line.
    pub fn located(&mut self, name: &str, file: &str, line: Option<u32>) -> FrameId {
        match name.split_once('!') {
            Some((module, function)) if !module.is_empty() && !function.is_empty() => {
                let module = self.module_named(module, module);
                self.function(Some(module), function, file, line)
            }
            _ => self.function(None, name, file, line),
        }
    }

    /// A function of a module with its source file, empty where that is unknown, and the line.
    pub fn function(
        &mut self,
        module: Option<ModuleId>,
        function: &str,
        file: &str,
        line: Option<u32>,
    ) -> FrameId {
        let function = if function.is_empty() { "?" } else { function };
        let function = Text::from(&*shortened(function, &mut self.long));
        let file = (!file.is_empty()).then(|| Text::from(&*shortened(file, &mut self.long)));
        self.frame(Frame { file, line, ..Frame::new(module, function, None) })
    }

    /// The stack of a frame called by another stack; the other stack where that is as deep as
    /// stacks may be.
    pub fn push(&mut self, caller: Option<StackId>, frame: FrameId) -> StackId {
        let known = caller.and_then(|caller| self.depths.get(caller.index()));
        let depth = known.map_or(1, |depth| depth + 1);
        if let Some(deepest) = caller.filter(|_| depth > DEEPEST) {
            self.cut += 1;
            return deepest;
        }
        let (stacks, depths) = (&mut self.recording.stacks, &mut self.depths);
        *self.stacks.entry((caller, frame)).or_insert_with(|| {
            stacks.push(Stack { parent: caller, frame });
            depths.push(depth);
            StackId::from_index(stacks.len() - 1)
        })
    }

    /// The stack of these frames, root first; none when there is none.
    pub fn stack(&mut self, root_first: impl IntoIterator<Item = FrameId>) -> Option<StackId> {
        root_first.into_iter().fold(None, |caller, frame| Some(self.push(caller, frame)))
    }

    /// A process by its number. An empty name leaves the one known.
    pub fn process(&mut self, pid: u32, name: &str) -> ProcessId {
        let processes = &mut self.recording.processes;
        let id = *self.processes.entry(pid).or_insert_with(|| {
            processes.push(Process::new(Pid(pid), "", Time::START));
            ProcessId::from_index(processes.len() - 1)
        });
        let known = &mut processes[id.index()].name;
        if !name.is_empty() && known.as_str() != name {
            *known = Text::from(&*shortened(name, &mut self.long));
        }
        id
    }

    /// A thread of a process by its number. An empty name leaves the one known.
    pub fn thread(&mut self, process: ProcessId, tid: u32, name: &str) -> ThreadId {
        let threads = &mut self.recording.threads;
        let id = *self.threads.entry((process, tid)).or_insert_with(|| {
            threads.push(Thread::new(process, Tid(tid), "", Time::START));
            ThreadId::from_index(threads.len() - 1)
        });
        let known = &mut threads[id.index()].name;
        if !name.is_empty() && known.as_str() != name {
            *known = Text::from(&*shortened(name, &mut self.long));
        }
        id
    }

    /// Adds an amount.
    pub fn add(&mut self, amount: Amount) {
        self.end = self.end.max(amount.time.saturating_add(amount.duration));
        self.recording.costs.push(Cost {
            time: Time(amount.time),
            duration: Nanos(amount.duration),
            thread: amount.thread,
            stack: amount.stack,
            metric: amount.metric,
            cause: amount.cause,
            value: amount.value,
            count: amount.count,
            variance: None,
        });
    }

    /// Adds an end of an activity; ends are paired once all are there, in the order of time, those of
    /// one time in the order of this.
    pub fn edge(&mut self, edge: Edge<'_>) {
        self.end = self.end.max(edge.time);
        self.recording.activity_edges.push(ActivityEdge {
            time: Time(edge.time),
            thread: edge.thread,
            kind: edge.kind,
            name: Text::from(&*shortened(edge.name, &mut self.long)),
            key: edge.key.map(|key| Text::from(&*shortened(&key, &mut self.long))),
            source: ActivitySource::Import,
        });
    }

    /// Notes that something could not be read; equal details are one row.
    pub fn lose(&mut self, kind: LossKind, count: u64, detail: &str) {
        let losses = &mut self.recording.losses;
        let detail = Text::from(detail);
        let at = *self.losses.entry((kind, detail.clone())).or_insert_with(|| {
            losses.push(Loss { kind, count: 0, from: None, to: None, detail });
            losses.len() - 1
        });
        losses[at].count = losses[at].count.saturating_add(count);
    }

    /// The recording: times from its start, tables in their order.
    pub(crate) fn finish(mut self) -> Recording {
        if self.cut > 0 {
            let what = format!("frames beyond the {DEEPEST} nearest to the root");
            self.lose(LossKind::StacksTruncated, self.cut, &what);
        }
        if self.long > 0 {
            let what = "names longer than 64 KiB: their ends were removed";
            self.lose(LossKind::DetailLeftOut, self.long, what);
        }
        if self.undecoded > 0 {
            let what = "places where names are not UTF-8: a replacement character stands for \
                        them, so names that differ only there become one name";
            self.lose(LossKind::DetailLeftOut, self.undecoded, what);
        }
        let mut recording = self.recording;
        let start = self.start.into_iter().chain(earliest(&recording)).min().unwrap_or(0);
        let end = self.end.max(latest(&recording));
        count_from(&mut recording, start);
        if let Some(zero) = self.zero {
            let realtime = zero.wrapping_add(start);
            recording.meta.start = ClockPair { monotonic: start, realtime };
        }
        recording.costs.sort_by_key(|cost| (cost.thread, cost.time));
        recording.activity_edges.sort_by_key(|edge| edge.time);
        recording.meta.wall = Nanos(end.saturating_sub(start));
        recording.meta.rung = Rung::Imported;
        recording
    }
}

/// The earliest time of anything that happened; a thread may be as old as it likes.
fn earliest(recording: &Recording) -> Option<u64> {
    let costs = recording.costs.iter().map(|row| row.time.0).min();
    let samples = recording.samples.iter().map(|row| row.time.0).min();
    let switches = recording.switches.iter().map(|row| row.time.0).min();
    let edges = recording.activity_edges.iter().map(|row| row.time.0).min();
    [costs, samples, switches, edges].into_iter().flatten().min()
}

/// The latest time of what is no amount.
fn latest(recording: &Recording) -> u64 {
    let samples = recording.samples.iter().map(|row| row.time.0).max();
    let switches = recording.switches.iter().map(|row| row.time.0).max();
    samples.max(switches).unwrap_or(0)
}

/// Counts all times from the recording's start.
fn count_from(recording: &mut Recording, start: u64) {
    let shift = |time: &mut Time| *time = Time(time.0.saturating_sub(start));
    let Recording {
        processes,
        threads,
        switches,
        samples,
        wakeups,
        costs,
        activity_edges,
        losses,
        ..
    } = recording;
    activity_edges.iter_mut().for_each(|row| shift(&mut row.time));
    processes.iter_mut().for_each(|row| shift(&mut row.start));
    processes.iter_mut().filter_map(|row| row.end.as_mut()).for_each(shift);
    threads.iter_mut().for_each(|row| shift(&mut row.start));
    threads.iter_mut().filter_map(|row| row.end.as_mut()).for_each(shift);
    switches.iter_mut().for_each(|row| shift(&mut row.time));
    samples.iter_mut().for_each(|row| shift(&mut row.time));
    wakeups.iter_mut().for_each(|row| shift(&mut row.time));
    costs.iter_mut().for_each(|row| shift(&mut row.time));
    let spans = losses.iter_mut().flat_map(|row| [row.from.as_mut(), row.to.as_mut()]);
    spans.flatten().for_each(shift);
}

/// The name of a file: the last part of its path, without the mark of one that is gone.
pub(crate) fn base_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    match path.trim_end_matches('/').rsplit('/').next() {
        Some(name) if !name.is_empty() => name,
        _ if path.is_empty() => "?",
        _ => path,
    }
}

/// A name within bounds.
fn shortened<'a>(name: &'a str, long: &mut u64) -> Cow<'a, str> {
    if name.len() <= LONGEST_NAME {
        return Cow::Borrowed(name);
    }
    *long += 1;
    let end = (0..=LONGEST_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}...", &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_end_where_they_are_too_deep() {
        let mut builder = Builder::default();
        let frame = builder.named("again");
        let deep = std::iter::repeat_n(frame, DEEPEST as usize + 5);
        let stack = builder.stack(deep);
        builder.add(Amount::at(stack, Metric::Samples, 1));
        let recording = builder.finish();
        assert_eq!(recording.stacks.len(), DEEPEST as usize);
        assert_eq!(
            (recording.losses[0].kind, recording.losses[0].count),
            (LossKind::StacksTruncated, 5)
        );
    }

    #[test]
    fn what_came_before_the_start_moves_it() {
        let mut builder = Builder::default();
        builder.starts_at(100);
        builder.add(Amount { time: 90, duration: 20, ..Amount::at(None, Metric::Wall, 20) });
        let recording = builder.finish();
        assert_eq!((recording.costs[0].time, recording.meta.wall), (Time(0), Nanos(20)));
    }
}
