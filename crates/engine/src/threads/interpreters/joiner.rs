//! Puts native and interpreted stacks together, each pair once.

use std::rc::Rc;

use culprit_model::{
    Frame, FrameId, InterpreterStack, Module, ModuleId, Recording, Stack, StackId, Text,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::names::{Families, Family, kernel, library, source_name};

/// What one stack looks like to the interpreter.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    /// Loops in it.
    loops: u32,
    /// Whether it reaches the function in which its thread started.
    whole: bool,
}

/// Functions that tell a call: the C library's, and the one of the interpreter's library that needs it.
const CALL_FRAMES: usize = 2;

/// Where native code enters the kernel: the innermost functions, the leaf first, then those from the innermost
/// loop outwards.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct NativeCall(pub(super) Vec<Text>);

/// Puts stacks together.
pub(super) struct Joiner {
    /// Whether a frame is an interpreter's loop, one entry a frame.
    pub(super) is_loop: Vec<bool>,
    is_start: Vec<bool>,
    /// Whether a frame is of the kernel, one entry a frame.
    is_kernel: Vec<bool>,
    /// Whether a frame is the kernel's end of a thread, one entry a frame.
    is_exit: Vec<bool>,
    /// Whether a frame is an interpreted function, one entry a frame.
    is_interpreted: Vec<bool>,
    /// What each loop of a stack runs, the innermost loop first; none where that is not known.
    runs: FxHashMap<StackId, Rc<[Option<FrameId>]>>,
    shapes: FxHashMap<StackId, Shape>,
    nodes: FxHashMap<(Option<StackId>, FrameId), StackId>,
    joined: FxHashMap<(StackId, StackId), Option<StackId>>,
    /// Native stacks with the outermost functions of what was read.
    outermost: FxHashMap<(StackId, StackId), Option<StackId>>,
    called: FxHashMap<StackId, Option<StackId>>,
}

impl Joiner {
    pub(super) fn of(recording: &Recording, reads: &[InterpreterStack]) -> Self {
        let stacks: FxHashSet<StackId> = reads.iter().filter_map(|read| read.stack).collect();
        let frames = stacks.iter().flat_map(|stack| recording.stack(*stack));
        let frames = frames.map(|frame| recording.frame(frame));
        let loops = frames.filter(|frame| frame.file.is_none() && frame.module.is_none());
        let names: FxHashSet<&str> = loops.map(|frame| frame.function.as_str()).collect();
        // The compiler may have split the loop: `loop.cold`.
        let is_loop = |frame: &Frame| names.contains(source_name(&frame.function));
        let is_loop = recording.frames.iter().map(is_loop);
        let starts = |f: &Frame| library(&f.function, Families::NONE).has(Family::Start);
        let is_start = recording.frames.iter().map(starts);
        let kernels: Vec<bool> = recording.modules.iter().map(Module::is_kernel).collect();
        let of_kernel = |module: ModuleId| kernels.get(module.index()) == Some(&true);
        let is_kernel: Vec<bool> =
            recording.frames.iter().map(|f| f.module.is_some_and(of_kernel)).collect();
        let exits = |(frame, is_kernel): (&Frame, &bool)| {
            *is_kernel && kernel(&frame.function).families.has(Family::Exit)
        };
        let is_exit = recording.frames.iter().zip(&is_kernel).map(exits);
        let frames = stacks.iter().flat_map(|stack| recording.stack(*stack));
        let functions = frames.map(|frame| recording.frame(frame)).filter(|f| f.file.is_some());
        let scripts: FxHashSet<Option<ModuleId>> = functions.map(|frame| frame.module).collect();
        let of_script = |frame: &Frame| frame.file.is_some() && scripts.contains(&frame.module);
        Self {
            is_interpreted: recording.frames.iter().map(of_script).collect(),
            runs: FxHashMap::default(),
            is_exit: is_exit.collect(),
            is_kernel,
            is_loop: is_loop.collect(),
            is_start: is_start.collect(),
            shapes: FxHashMap::default(),
            nodes: FxHashMap::default(),
            joined: FxHashMap::default(),
            outermost: FxHashMap::default(),
            called: FxHashMap::default(),
        }
    }

    /// What was read without what is awaited.
    pub(super) fn called(&mut self, recording: &Recording, read: StackId) -> Option<StackId> {
        *self.called.entry(read).or_insert_with(|| {
            let (mut called, mut at) = (Some(read), Some(read));
            while let Some(node) = at.map(|at| &recording.stacks[at.index()]) {
                // Functions that an interpreter has in itself have no file either.
                if recording.frame(node.frame).is_await_mark() {
                    called = node.parent;
                }
                at = node.parent;
            }
            called
        })
    }

    /// Whether a native stack runs interpreted functions, as far as it can be seen: one that does not
    /// reach its thread's start may lack the loop. That of a thread that ends lacks it because nothing
    /// of the program runs any more.
    pub(super) fn interprets(&mut self, recording: &Recording, native: StackId) -> bool {
        let shape = self.shape(recording, native);
        shape.loops > 0 || !shape.whole && !self.ends(recording, native)
    }

    /// Whether a native stack is that of a thread which the kernel ends.
    fn ends(&self, recording: &Recording, native: StackId) -> bool {
        let frames = recording.stack(native);
        frames
            .take_while(|frame| self.is_kernel[frame.index()])
            .any(|frame| self.is_exit[frame.index()])
    }

    /// A native stack without the kernel's frames; itself where it has no others.
    pub(super) fn user_part(&self, recording: &Recording, native: StackId) -> StackId {
        let mut user = native;
        while self.is_kernel[recording.stacks[user.index()].frame.index()] {
            let Some(parent) = recording.stacks[user.index()].parent else { return native };
            user = parent;
        }
        user
    }

    /// What a native stack without the kernel's frames calls in the end, whatever leads there from the
    /// innermost loop.
    pub(super) fn native_call(&self, recording: &Recording, place: StackId) -> NativeCall {
        let frames: Vec<FrameId> = recording.stack(place).collect();
        let innermost = frames.iter().position(|frame| self.is_loop[frame.index()]);
        let inside = innermost.unwrap_or(frames.len()).min(CALL_FRAMES);
        let outside = &frames[innermost.unwrap_or(frames.len())..];
        let functions = frames[..inside].iter().chain(outside);
        let name = |frame: &FrameId| recording.frame(*frame).function.clone();
        NativeCall(functions.map(name).collect())
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

    /// What each loop of a stack runs, the innermost loop first: of a native stack what the loop's registers
    /// say, of what was read the last function before the next loop.
    fn runs(&mut self, recording: &Recording, stack: StackId) -> Rc<[Option<FrameId>]> {
        if let Some(known) = self.runs.get(&stack) {
            return Rc::clone(known);
        }
        let mut runs = Vec::new();
        let mut function = None;
        for frame in recording.stack(stack) {
            if self.is_loop[frame.index()] {
                runs.push(function.take());
            } else if self.is_interpreted[frame.index()] {
                function = function.or(Some(frame));
            } else {
                // A native function was called by the loop: what is further in is not the loop's.
                function = None;
            }
        }
        let runs: Rc<[Option<FrameId>]> = runs.into();
        self.runs.insert(stack, Rc::clone(&runs));
        runs
    }

    /// Whether it is known what some loop of a native stack runs.
    pub(super) fn is_marked(&mut self, recording: &Recording, native: StackId) -> bool {
        self.runs(recording, native).iter().any(Option::is_some)
    }

    /// Whether the loops of a native stack run what was read, as far as it is known what they run.
    fn agrees(&mut self, recording: &Recording, native: StackId, read: StackId) -> bool {
        let (native, read) = (self.runs(recording, native), self.runs(recording, read));
        native.iter().zip(read.iter()).all(|(native, read)| match (native, read) {
            (Some(native), Some(read)) => same_function(recording, *native, *read),
            _ => true,
        })
    }

    /// The native stack with interpreted functions in place of its loops; none where the two do not
    /// fit.
    pub(super) fn join(
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
        let fits = fits && self.agrees(recording, native, read);
        let path = fits.then(|| self.path(recording, native, read));
        let joined = path.and_then(|path| self.stack_of(recording, &path));
        self.joined.insert((native, read), joined);
        joined
    }

    /// The native stack with the outermost functions that two readings have; none where they have none.
    pub(super) fn join_common(
        &mut self,
        recording: &mut Recording,
        native: StackId,
        (near, far): (StackId, StackId),
    ) -> Option<StackId> {
        let common = self.common(recording, near, far)?;
        if let Some(known) = self.outermost.get(&(native, common)) {
            return *known;
        }
        let shape = self.shape(recording, native);
        let path = self.outermost_path(recording, (native, shape.whole), common);
        let joined = self.stack_of(recording, &path);
        self.outermost.insert((native, common), joined);
        joined
    }

    /// Whether what was read begins with these outermost functions. The last of them may be at another line.
    pub(super) fn begins(&self, recording: &Recording, read: StackId, part: StackId) -> bool {
        self.common(recording, part, read) == Some(part)
    }

    /// The part of `near` that `far` begins with, too: the outermost functions, and the loops that run
    /// them. The last one may be at another line there: it is the same call, and has run on.
    fn common(&self, recording: &Recording, near: StackId, far: StackId) -> Option<StackId> {
        let (near, far) = (nodes(recording, near), nodes(recording, far));
        let frame = |node: &StackId| recording.stacks[node.index()].frame;
        let same = |(a, b): &(&StackId, &StackId)| frame(a) == frame(b);
        let equal = near.iter().zip(&far).take_while(same).count();
        let runs_on = near.get(equal).zip(far.get(equal));
        let runs_on = runs_on.filter(|(a, b)| same_function(recording, frame(a), frame(b)));
        let shared = equal + usize::from(runs_on.is_some());
        let shared = near.get(..shared).unwrap_or_default();
        let has_function = shared.iter().any(|node| !self.is_loop[frame(node).index()]);
        shared.last().copied().filter(|_| has_function)
    }

    /// The frames of both, root first. Loops are counted from the root. Where the native stack lacks its
    /// outer part, which of its loops are whose is not known.
    fn outermost_path(
        &self,
        recording: &Recording,
        (native, is_whole): (StackId, bool),
        common: StackId,
    ) -> Vec<FrameId> {
        let (native, common) = (root_first(recording, native), root_first(recording, common));
        let is_loop = |frame: &FrameId| self.is_loop[frame.index()];
        if !is_whole {
            let functions = common.into_iter().filter(|frame| !is_loop(frame));
            return functions.chain(native).collect();
        }
        // What stands before the first loop is nothing.
        let mut pieces = common.split(is_loop).skip(1).peekable();
        let mut path: Vec<FrameId> = Vec::new();
        let mut native = native.into_iter().peekable();
        while let Some(frame) = native.next() {
            let piece = if is_loop(&frame) { pieces.next() } else { None };
            path.extend(piece.unwrap_or_default());
            let runs = native.peek().filter(|next| self.is_interpreted[next.index()]);
            let last = piece.and_then(|piece| piece.last()).zip(runs);
            if last.is_some_and(|(last, runs)| same_function(recording, *last, *runs)) {
                native.next();
            } else if piece.is_none() || runs.is_some() || pieces.peek().is_none() {
                // It runs something else by now, and so do all loops further in.
                path.push(frame);
                if piece.is_some() {
                    pieces.by_ref().for_each(drop);
                }
            }
        }
        path
    }

    /// The frames of both, root first. Loops are counted from the leaf: where the native stack lacks
    /// its outer part, so does nothing of what was read.
    fn path(&self, recording: &Recording, native: StackId, read: StackId) -> Vec<FrameId> {
        let (native, read) = (root_first(recording, native), root_first(recording, read));
        let is_loop = |frame: &FrameId| self.is_loop[frame.index()];
        let mut pieces: Vec<&[FrameId]> = read.split(is_loop).collect();
        // What stands before the first loop is nothing.
        let mut pieces = pieces.drain(1..);
        let surplus = pieces.len().saturating_sub(native.iter().filter(|f| is_loop(f)).count());
        let mut path: Vec<FrameId> = pieces.by_ref().take(surplus).flatten().copied().collect();
        for frame in native {
            match is_loop(&frame) {
                true => path.extend(pieces.next().unwrap_or_default()),
                // Its place is in what was read.
                false if self.is_interpreted[frame.index()] => {}
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

/// Whether two frames are of one function, at any line.
fn same_function(recording: &Recording, one: FrameId, other: FrameId) -> bool {
    let (one, other) = (recording.frame(one), recording.frame(other));
    (&one.function, &one.file) == (&other.function, &other.file)
}

/// A stack's frames, root first.
fn root_first(recording: &Recording, stack: StackId) -> Vec<FrameId> {
    let nodes = nodes(recording, stack);
    nodes.iter().map(|node| recording.stacks[node.index()].frame).collect()
}

/// A stack and all that it is based on, root first.
fn nodes(recording: &Recording, stack: StackId) -> Vec<StackId> {
    let parent = |node: &StackId| recording.stacks[node.index()].parent;
    let mut nodes: Vec<StackId> = std::iter::successors(Some(stack), parent).collect();
    nodes.reverse();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_awaited_is_not_called() {
        let mut recording = Recording::default();
        let mut stack = None;
        let mut stacks = Vec::new();
        for (function, file) in [
            ("main", Some("a.rb")),
            ("times", None),
            ("block", Some("a.rb")),
            (Frame::AWAITS, None),
        ] {
            let frame = Frame::new(Some(ModuleId(0)), function, None);
            recording.frames.push(Frame { file: file.map(Text::from), ..frame });
            let frame = FrameId::from_index(recording.frames.len() - 1);
            recording.stacks.push(Stack { parent: stack, frame });
            stack = Some(StackId::from_index(recording.stacks.len() - 1));
            stacks.extend(stack);
        }
        let mut joiner = Joiner::of(&recording, &[]);
        let called: Vec<_> = stacks.iter().map(|read| joiner.called(&recording, *read)).collect();
        // `times` is a function of Ruby itself.
        assert_eq!(called, [0, 1, 2, 2].map(|at| Some(stacks[at])));
    }
}
