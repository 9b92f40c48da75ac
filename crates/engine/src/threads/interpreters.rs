//! Interpreted functions in native stacks: they take the place of the interpreter's own loop.
//!
//! ```text
//! native     main < run < LOOP < call < LOOP < sleep < [kernel]
//! read       LOOP < app.py!main < app.py!work < LOOP < app.py!pause
//! together   main < run < app.py!main < app.py!work < call < app.py!pause < sleep < [kernel]
//! ```
//!
//! What an event loop awaits comes behind a mark: a frame that has a module, and no file.
//!
//! A thread that is off the CPU does not change its frames: what was read while it was there is exact.
//! A sample on the CPU, and a wait during which nothing was read, take what was read nearest in time,
//! if it fits: a native stack that reaches its thread's start has as many loops as were read. How many
//! were taken so, and how many found none, are losses. What is awaited is taken only where it is exact.

use culprit_model::{
    FrameId, InterpreterStack, Loss, LossKind, Nanos, Recording, Stack, StackId, SwitchKind, Text,
    ThreadId, Time,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::evidence::ByThread;

/// What was read longer ago, or later, than this says nothing about a moment.
const NEAR: Nanos = Nanos(20_000_000);

/// What was read before and after a moment, and was the same, says something about it up to this.
const NEAR_BOTH: Nanos = Nanos(100_000_000);

/// Functions in which threads start. A stack that ends in one of them is whole.
const STARTS: [&str; 7] =
    ["_start", "start_thread", "clone", "clone3", "__clone", "__clone3", "__libc_start_main"];

/// Puts interpreted functions into the stacks of switches and samples, and takes what was read out of
/// the recording. Linear in switches, samples and what was read, times a logarithm for each; each pair
/// of a native and an interpreted stack is put together once.
pub(super) fn merge(recording: &mut Recording) {
    let mut reads = std::mem::take(&mut recording.interpreter_stacks);
    if reads.is_empty() {
        return;
    }
    reads.sort_by_key(|read| read.time);
    let by_thread = ByThread::new(recording.threads.len(), &reads, |read| read.thread);
    let switches =
        ByThread::new(recording.threads.len(), &recording.switches, |switch| switch.thread);
    let samples = ByThread::new(recording.threads.len(), &recording.samples, |row| row.thread);
    let mut joiner = Joiner::of(recording, &reads);
    let mut tally = Tally::default();
    for at in 0..recording.threads.len() {
        let thread = ThreadId::from_index(at);
        let reads: Vec<InterpreterStack> =
            by_thread.of(thread).iter().map(|at| reads[*at as usize].clone()).collect();
        if reads.is_empty() {
            continue;
        }
        let mut life = Life { recording, reads: &reads, joiner: &mut joiner, tally: &mut tally };
        life.waits(switches.of(thread));
        life.samples(samples.of(thread));
    }
    recording.losses.extend(tally.losses());
}

/// How many stacks got their functions without proof, and how many none.
#[derive(Debug, Default)]
struct Tally {
    guessed: u64,
    missing: u64,
}

impl Tally {
    fn losses(&self) -> impl Iterator<Item = Loss> {
        let loss =
            |kind, count| Loss { kind, count, from: None, to: None, detail: Text::default() };
        let rows = [
            loss(LossKind::InterpreterFramesGuessed, self.guessed),
            loss(LossKind::InterpreterFramesMissing, self.missing),
        ];
        rows.into_iter().filter(|row| row.count > 0)
    }
}

/// One thread's stacks, and what was read of it.
struct Life<'a> {
    recording: &'a mut Recording,
    /// In order of time.
    reads: &'a [InterpreterStack],
    joiner: &'a mut Joiner,
    tally: &'a mut Tally,
}

impl Life<'_> {
    /// Stacks of switches out: the thread stays as it is until it is switched in.
    fn waits(&mut self, switches: &[u32]) {
        let end = Time(self.recording.meta.wall.0.max(1));
        for (place, at) in switches.iter().enumerate() {
            let switch = &self.recording.switches[*at as usize];
            if switch.kind == SwitchKind::In {
                continue;
            }
            let Some(native) = switch.stack else { continue };
            let from = switch.time;
            let next = switches.get(place + 1).map(|at| self.recording.switches[*at as usize].time);
            let to = next.unwrap_or(end).max(from);
            let stack = match self.during(from, to) {
                Some(read) => self.joiner.join(self.recording, native, read),
                None => self.nearest(native, from),
            };
            self.recording.switches[*at as usize].stack = Some(stack.unwrap_or(native));
        }
    }

    /// Stacks of samples: the thread runs.
    fn samples(&mut self, samples: &[u32]) {
        for at in samples {
            let sample = &self.recording.samples[*at as usize];
            let Some(native) = sample.stack else { continue };
            let stack = self.nearest(native, sample.time);
            self.recording.samples[*at as usize].stack = Some(stack.unwrap_or(native));
        }
    }

    /// What was read from beginning to end while the thread was off the CPU. What it awaits is in some
    /// readings only: not in the first, and in none behind its wake-up.
    fn during(&mut self, from: Time, to: Time) -> Option<StackId> {
        let end = self.reads.partition_point(|read| read.time <= to);
        let reads = self.reads.get(..end).unwrap_or_default().iter().rev();
        let reads = reads.take_while(|read| read.time >= from);
        let mut whole = reads.filter(|read| read.time + read.took <= to).map(|read| read.stack);
        let last = whole.next()?;
        let Self { recording, joiner, .. } = self;
        let mut awaits = |stack: StackId| joiner.called(recording, stack) != Some(stack);
        let awaited = [last].into_iter().chain(whole).flatten().find(|stack| awaits(*stack));
        awaited.or(last)
    }

    /// The native stack with what was read nearest in time and fits.
    fn nearest(&mut self, native: StackId, time: Time) -> Option<StackId> {
        if !self.joiner.interprets(self.recording, native) {
            return None;
        }
        let after = self.reads.partition_point(|read| read.time < time);
        let before = after.checked_sub(1).and_then(|at| self.reads.get(at));
        let mut near = [before, self.reads.get(after)].map(|read| {
            let read = read?;
            let distance = time.since(read.time) + read.time.since(time);
            Some((distance, read.stack.and_then(|stack| self.joiner.called(self.recording, stack))))
        });
        near.sort_by_key(|read| read.map_or(Nanos(u64::MAX), |(distance, _)| distance));
        let same = near[0].zip(near[1]).is_some_and(|((_, a), (_, b))| a == b);
        let limit = if same { NEAR_BOTH } else { NEAR };
        for (_, stack) in near.into_iter().flatten().filter(|(distance, _)| *distance <= limit) {
            let Some(stack) = stack else { continue };
            if let Some(joined) = self.joiner.join(self.recording, native, stack) {
                self.tally.guessed += 1;
                return Some(joined);
            }
        }
        self.tally.missing += 1;
        None
    }
}

/// What one stack looks like to the interpreter.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    /// Loops in it.
    loops: u32,
    /// Whether it reaches the function in which its thread started.
    whole: bool,
}

/// Puts stacks together, each pair once.
struct Joiner {
    /// Whether a frame is an interpreter's loop, one entry a frame.
    is_loop: Vec<bool>,
    is_start: Vec<bool>,
    shapes: FxHashMap<StackId, Shape>,
    nodes: FxHashMap<(Option<StackId>, FrameId), StackId>,
    joined: FxHashMap<(StackId, StackId), Option<StackId>>,
    called: FxHashMap<StackId, Option<StackId>>,
}

impl Joiner {
    fn of(recording: &Recording, reads: &[InterpreterStack]) -> Self {
        let stacks: FxHashSet<StackId> = reads.iter().filter_map(|read| read.stack).collect();
        let frames = stacks.iter().flat_map(|stack| recording.stack(*stack));
        let frames = frames.map(|frame| recording.frame(frame));
        let loops = frames.filter(|frame| frame.file.is_none() && frame.module.is_none());
        let names: FxHashSet<&Text> = loops.map(|frame| &frame.function).collect();
        let is_loop = recording.frames.iter().map(|frame| names.contains(&frame.function));
        let is_start = recording.frames.iter().map(|f| STARTS.contains(&f.function.as_str()));
        Self {
            is_loop: is_loop.collect(),
            is_start: is_start.collect(),
            shapes: FxHashMap::default(),
            nodes: FxHashMap::default(),
            joined: FxHashMap::default(),
            called: FxHashMap::default(),
        }
    }

    /// What was read without what is awaited.
    fn called(&mut self, recording: &Recording, read: StackId) -> Option<StackId> {
        *self.called.entry(read).or_insert_with(|| {
            let (mut called, mut at) = (Some(read), Some(read));
            while let Some(node) = at.map(|at| &recording.stacks[at.index()]) {
                let frame = recording.frame(node.frame);
                if frame.file.is_none() && frame.module.is_some() {
                    called = node.parent;
                }
                at = node.parent;
            }
            called
        })
    }

    /// Whether a native stack runs interpreted functions, as far as it can be seen: one that does not
    /// reach its thread's start may lack the loop.
    fn interprets(&mut self, recording: &Recording, native: StackId) -> bool {
        let shape = self.shape(recording, native);
        shape.loops > 0 || !shape.whole
    }

    fn shape(&mut self, recording: &Recording, stack: StackId) -> Shape {
        if let Some(known) = self.shapes.get(&stack) {
            return *known;
        }
        let mut shape = Shape::default();
        for frame in recording.stack(stack) {
            shape.loops += u32::from(self.is_loop[frame.index()]);
            // The last one is the outermost.
            shape.whole = self.is_start[frame.index()];
        }
        self.shapes.insert(stack, shape);
        shape
    }

    /// The native stack with interpreted functions in place of its loops; none where the two do not
    /// fit.
    fn join(
        &mut self,
        recording: &mut Recording,
        native: StackId,
        read: StackId,
    ) -> Option<StackId> {
        if let Some(known) = self.joined.get(&(native, read)) {
            return *known;
        }
        let (shape, wanted) = (self.shape(recording, native), self.shape(recording, read).loops);
        let fits = shape.loops == wanted || (shape.loops < wanted && !shape.whole);
        let path = fits.then(|| self.path(recording, native, read));
        let joined = path.and_then(|path| self.stack_of(recording, &path));
        self.joined.insert((native, read), joined);
        joined
    }

    /// The frames of both, root first. Loops are counted from the leaf: where the native stack lacks
    /// its outer part, so does nothing of what was read.
    fn path(&self, recording: &Recording, native: StackId, read: StackId) -> Vec<FrameId> {
        let mut native: Vec<FrameId> = recording.stack(native).collect();
        let mut read: Vec<FrameId> = recording.stack(read).collect();
        native.reverse();
        read.reverse();
        let is_loop = |frame: &FrameId| self.is_loop[frame.index()];
        let mut pieces: Vec<&[FrameId]> = read.split(is_loop).collect();
        // What stands before the first loop is nothing.
        let mut pieces = pieces.drain(1..);
        let surplus = pieces.len().saturating_sub(native.iter().filter(|f| is_loop(f)).count());
        let mut path: Vec<FrameId> = pieces.by_ref().take(surplus).flatten().copied().collect();
        for frame in native {
            match is_loop(&frame) {
                true => path.extend(pieces.next().unwrap_or_default()),
                false => path.push(frame),
            }
        }
        path
    }

    fn stack_of(&mut self, recording: &mut Recording, path: &[FrameId]) -> Option<StackId> {
        let mut parent = None;
        for frame in path {
            let node = self.nodes.entry((parent, *frame)).or_insert_with(|| {
                recording.stacks.push(Stack { parent, frame: *frame });
                StackId::from_index(recording.stacks.len() - 1)
            });
            parent = Some(*node);
        }
        parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::notation::parse_raw;
    use culprit_model::{Frame, ModuleId};

    /// A stack of the recording by the names of its frames, root first; `f.py!g` is an interpreted
    /// function.
    fn stack(recording: &mut Recording, names: &str) -> StackId {
        let mut parent = None;
        for name in names.split(';') {
            let (file, function) = name.split_once('!').unzip();
            let mut frame = Frame::new(None, function.unwrap_or(name), None);
            frame.file = file.map(Text::from);
            recording.frames.push(frame);
            let frame = FrameId::from_index(recording.frames.len() - 1);
            recording.stacks.push(Stack { parent, frame });
            parent = Some(StackId::from_index(recording.stacks.len() - 1));
        }
        parent.expect("a frame")
    }

    fn read(recording: &mut Recording, (time, took): (u64, u64), names: &str) {
        let stack = (!names.is_empty()).then(|| stack(recording, names));
        let (time, took) = (Time(time * 1_000_000), Nanos(took * 1_000_000));
        let thread = ThreadId(0);
        recording.interpreter_stacks.push(InterpreterStack { time, took, thread, stack });
    }

    fn names(recording: &Recording, stack: Option<StackId>) -> String {
        let frames: Vec<FrameId> = stack.into_iter().flat_map(|s| recording.stack(s)).collect();
        let names: Vec<&str> =
            frames.iter().rev().map(|frame| recording.frame(*frame).function.as_str()).collect();
        names.join(" ")
    }

    /// A thread that waits from 4 to 8 ms at `native`, and what was read of it.
    fn waiting(native: &str, reads: &[((u64, u64), &str)]) -> (Recording, String) {
        let drawing = format!("stack b blocked.sleep {native}\napp(1)/main(1) UUUUbbbbUUUU");
        let mut recording = parse_raw(&drawing).expect("a drawing");
        for (when, names) in reads {
            read(&mut recording, *when, names);
        }
        merge(&mut recording);
        let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out).expect("a wait");
        let said = names(&recording, wait.stack);
        (recording, said)
    }

    const NATIVE: &str = "_start;run;loop;call;loop;sleep";
    const READ: &str = "loop;a.py!main;a.py!work;loop;a.py!pause";
    const JOINED: &str = "_start run main work call pause sleep";

    fn lost(recording: &Recording, kind: LossKind) -> u64 {
        recording.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum()
    }

    #[test]
    fn what_is_read_during_a_wait_is_exact() {
        let other = "loop;a.py!main;loop;a.py!other";
        let (recording, said) =
            waiting(NATIVE, &[((2, 0), other), ((5, 1), READ), ((9, 0), other)]);
        assert_eq!(said, JOINED);
        assert!(recording.interpreter_stacks.is_empty());
        assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 0);
    }

    #[test]
    fn a_wait_that_was_too_short_takes_the_nearest_and_says_so() {
        let other = "loop;a.py!main;loop;a.py!other";
        let (recording, said) = waiting(NATIVE, &[((3, 0), READ), ((9, 0), other)]);
        assert_eq!(said, JOINED);
        assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
        // Reading went on when the thread ran again: that is no proof.
        let (recording, said) = waiting(NATIVE, &[((7, 5), READ)]);
        assert_eq!(said, JOINED);
        assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
    }

    /// As `waiting`, with a mark for frames called `awaits`.
    fn awaiting(reads: &[((u64, u64), &str)]) -> String {
        let drawing = format!("stack b blocked.poll {NATIVE}\napp(1)/main(1) UUUUbbbbUUUU");
        let mut recording = parse_raw(&drawing).expect("a drawing");
        for (when, names) in reads {
            read(&mut recording, *when, names);
        }
        for frame in recording.frames.iter_mut().filter(|f| f.function.as_str() == "awaits") {
            frame.module = Some(ModuleId(0));
        }
        merge(&mut recording);
        let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out).expect("a wait");
        names(&recording, wait.stack)
    }

    #[test]
    fn what_is_awaited_is_taken_where_it_is_exact() {
        const AWAITED: &str = "loop;a.py!main;a.py!work;loop;a.py!pause;awaits;a.py!answer";
        let exact = awaiting(&[((4, 0), READ), ((5, 1), AWAITED), ((7, 0), READ), ((7, 3), READ)]);
        assert_eq!(exact, "_start run main work call pause awaits answer sleep");
        assert_eq!(awaiting(&[((3, 0), AWAITED), ((9, 0), READ)]), JOINED);
    }

    #[test]
    fn what_does_not_fit_or_is_far_is_left_out_and_counted() {
        let deeper = "loop;a.py!main;loop;a.py!work;loop;a.py!pause";
        for (at, names) in [(3, deeper), (3, "loop;a.py!main"), (60, READ)] {
            let (recording, said) = waiting(NATIVE, &[((at, 0), names)]);
            assert_eq!(said, "_start run loop call loop sleep", "{names}");
            assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 1);
        }
        // A thread that runs nothing interpreted lacks nothing.
        let (recording, said) = waiting("_start;native;sleep", &[((3, 0), READ), ((9, 0), "")]);
        assert_eq!(said, "_start native sleep");
        assert!(recording.losses.is_empty());
    }

    #[test]
    fn a_cut_native_stack_gets_its_outer_functions_back() {
        let (_, said) = waiting("call;loop;sleep", &[((5, 1), READ)]);
        assert_eq!(said, "main work call pause sleep");
        let (_, said) = waiting("sleep", &[((5, 1), READ)]);
        assert_eq!(said, "main work pause sleep");
    }

    #[test]
    fn samples_take_the_nearest() {
        let drawing = "stack u cpu.user _start;loop\napp(1)/main(1) uuuuuuuuuuuu";
        let mut recording = parse_raw(drawing).expect("a drawing");
        read(&mut recording, (1, 0), "loop;a.py!first");
        read(&mut recording, (11, 0), "loop;a.py!second");
        merge(&mut recording);
        let said: Vec<String> =
            recording.samples.iter().map(|sample| names(&recording, sample.stack)).collect();
        assert_eq!(said.first().map(String::as_str), Some("_start first"));
        assert_eq!(said.last().map(String::as_str), Some("_start second"));
        let guessed = lost(&recording, LossKind::InterpreterFramesGuessed);
        assert_eq!(guessed, recording.samples.len() as u64);
    }

    #[test]
    fn a_module_of_its_own_does_not_hide_a_loop() {
        let mut recording = parse_raw("app(1)/main(1) UU").expect("a drawing");
        recording.frames.push(Frame::new(Some(ModuleId(0)), "loop", Some(7)));
        read(&mut recording, (0, 0), "loop;a.py!main");
        let joiner = Joiner::of(&recording, &recording.interpreter_stacks);
        assert!(joiner.is_loop.iter().filter(|is_loop| **is_loop).count() >= 2);
    }
}
