//! What an event loop of `asyncio` that waits is awaited for: the frames of its tasks.
//!
//! ```text
//! tasks of the loop -> the one that none awaits -> its coroutines -> ...
//!                                                   ... -> the one task that it awaits -> ...
//! ```
//!
//! Python 3.14 has lists of tasks (`task_lists`), and writes down which task awaits a task. It does so for
//! some time longer: a task group has that from its tasks' start on, whatever else its maker awaits
//! meanwhile. So a task counts as awaited while the future that its awaiter awaits is the task itself, or
//! one that a callback of the task completes (`gather`, `wait`, `shield`): the callback has it in its
//! closure. For Python 3.12 and 3.13 that is all that says so (`task_set`).
//!
//! Where there are several tasks that none awaits, or one awaits several, the frames that all their
//! chains begin with are taken, and the chain ends where they differ. Nothing is guessed: tasks that
//! are too many to read have no frames.

use super::super::Struct;
use super::coroutines::{CoroutineReader, Coroutines, Kind, MOST_FRAMES};
use super::frames::TAG;
use super::layout::AwaitLayout;
use super::{InterpreterError, PyFrame};

/// Tasks of one loop that are read.
pub(super) const MOST_TASKS: usize = 64;
/// Tasks of other loops of the process that are passed over.
pub(super) const MOST_OTHERS: usize = 256;
/// Callbacks of a future, and variables of a closure. The largest of `asyncio` has seven.
const MOST_CALLBACKS: usize = 16;
/// Futures that are completed one by the other: `gather` in `gather`.
const DEEPEST: u32 = 3;
/// Bytes from the first field of `PyFunctionObject` to `func_closure`.
const CLOSURE: u64 = 56;
/// Bytes from the first field of `PyMethodObject` to `im_self`.
const METHOD_SELF: u64 = 8;

/// Reads the tasks of a loop.
pub(super) struct TaskReader<'c> {
    pub(super) coroutines: CoroutineReader<'c>,
}

/// A thread, and the threads that may have made tasks of its loop.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopThread {
    /// Address of its thread state.
    pub(super) thread: u64,
    pub(super) interpreter: u64,
    /// Thread states of the interpreter.
    pub(super) makers: Vec<u64>,
}

/// A task that is not done.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) address: u64,
    pub(super) coroutine: u64,
    pub(super) awaiters: Awaiters,
    pub(super) callbacks: Callbacks,
    /// Its coroutines, where they were read already.
    pub(super) found: Option<Coroutines>,
}

/// The first fields of a future: its loop, and what is called when it is done: the first, and a list of
/// the others. 0 where there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callbacks {
    pub(super) event_loop: u64,
    first: u64,
    others: u64,
}

impl Callbacks {
    pub(super) fn new(awaits: &AwaitLayout, fields: &Struct<'_>) -> Self {
        let word = |at| fields.word(awaits.object_size + at) & !TAG;
        Self { event_loop: word(0), first: word(8), others: word(24) }
    }

    /// Bytes of a future up to these.
    pub(super) fn span(awaits: &AwaitLayout) -> usize {
        awaits.object_size + 32
    }
}

/// What awaits a task.
#[derive(Debug, Default)]
pub(super) struct Awaiters {
    pub(super) tasks: Vec<u64>,
    /// Futures between the task and these.
    pub(super) futures: Vec<u64>,
}

impl TaskReader<'_> {
    /// The frames that the chains of all tasks begin with, the outermost first.
    ///
    /// # Errors
    /// When tasks cannot be read, or change meanwhile.
    pub(super) fn chains(&mut self, tasks: &[Task]) -> Result<Vec<PyFrame>, InterpreterError> {
        let is_root = |task: &Task| task.awaiters.tasks.is_empty();
        let roots: Vec<usize> = indices(tasks, is_root);
        let mut known = vec![None; tasks.len()];
        self.common(tasks, &roots, &mut known)
    }

    pub(super) fn word(
        &mut self,
        what: &'static str,
        address: u64,
    ) -> Result<u64, InterpreterError> {
        self.coroutines.reads.word(self.coroutines.memory, what, address)
    }

    /// The first bytes of a task or future.
    pub(super) fn struct_of(
        &mut self,
        address: u64,
        span: usize,
    ) -> Result<Vec<u8>, InterpreterError> {
        let CoroutineReader { memory, reads, .. } = &mut self.coroutines;
        reads.read(*memory, "a task", address, span).map(<[u8]>::to_vec)
    }

    /// The objects in a set.
    ///
    /// # Errors
    /// When it cannot be read, or has more places than `most`.
    pub(super) fn items(&mut self, set: u64, most: usize) -> Result<Vec<u64>, InterpreterError> {
        const WHAT: &str = "a set of tasks";
        /// Each place has an object and its hash.
        const PLACE: usize = 16;
        /// Places that are read as one piece.
        const PIECE: usize = 256;
        let CoroutineReader { memory, layout, awaits, reads, .. } = &mut self.coroutines;
        let field = |at: usize| set.wrapping_add(at as u64);
        let table = reads.word(*memory, WHAT, field(awaits.set_table))?;
        let mask = usize::try_from(reads.word(*memory, WHAT, field(awaits.set_mask))?).ok();
        let Some(mask) = mask.filter(|mask| *mask < most) else {
            return Err(InterpreterError::malformed(WHAT, set, "it is too large"));
        };
        let mut objects = Vec::new();
        for first in (0..=mask).step_by(PIECE) {
            let places = (mask + 1 - first).min(PIECE);
            let at = table.wrapping_add((first * PLACE) as u64);
            let bytes = reads.read(*memory, WHAT, at, places * PLACE)?;
            let words = bytes.chunks_exact(PLACE).map(|place| Struct::new(place).word(0) & !TAG);
            objects.extend(words.filter(|object| *object != 0));
        }
        // Where one was taken out there is an object without a type.
        let mut items = Vec::new();
        for object in objects {
            let kind = object.wrapping_add(layout.object.kind as u64);
            if reads.word(*memory, WHAT, kind)? != 0 {
                items.push(object);
            }
        }
        Ok(items)
    }

    /// The frames that the chains of several tasks begin with.
    fn common(
        &mut self,
        tasks: &[Task],
        chosen: &[usize],
        known: &mut [Option<Vec<PyFrame>>],
    ) -> Result<Vec<PyFrame>, InterpreterError> {
        let mut common: Option<Vec<PyFrame>> = None;
        for index in chosen {
            let chain = self.chain(tasks, *index, known)?;
            let same = common.take().map(|mut frames| {
                let pairs = frames.iter().zip(&chain);
                let same = pairs.take_while(|(one, other)| one == other).count();
                frames.truncate(same);
                frames
            });
            common = Some(same.unwrap_or(chain));
        }
        Ok(common.unwrap_or_default())
    }

    /// The frames of a task, and of the task that it awaits. `known` has those of the tasks that were
    /// read.
    fn chain(
        &mut self,
        tasks: &[Task],
        index: usize,
        known: &mut [Option<Vec<PyFrame>>],
    ) -> Result<Vec<PyFrame>, InterpreterError> {
        let (Some(task), Some(place)) = (tasks.get(index), known.get_mut(index)) else {
            return Ok(Vec::new());
        };
        if let Some(frames) = place {
            return Ok(frames.clone());
        }
        // Tasks that await each other end here.
        *place = Some(Vec::new());
        let found = match &task.found {
            Some(found) => found.clone(),
            None => self.coroutines.read(task.coroutine)?,
        };
        let group = self.is_of_group(&found);
        let mut awaited = indices(tasks, |other| other.awaiters.tasks.contains(&task.address));
        if !group {
            awaited = self.completing(tasks, &awaited, found.future)?;
        }
        let mut frames = found.frames;
        frames.extend(self.common(tasks, &awaited, known)?);
        frames.truncate(MOST_FRAMES);
        if let Some(place) = known.get_mut(index) {
            *place = Some(frames.clone());
        }
        Ok(frames)
    }

    /// Those of the tasks that complete a future.
    fn completing(
        &mut self,
        tasks: &[Task],
        chosen: &[usize],
        future: u64,
    ) -> Result<Vec<usize>, InterpreterError> {
        let mut completing = Vec::new();
        for index in chosen.iter().copied().filter(|_| future != 0) {
            let Some(task) = tasks.get(index) else { continue };
            let known = task.address == future || task.awaiters.futures.contains(&future);
            if known || self.completed(task.callbacks)?.contains(&future) {
                completing.push(index);
            }
        }
        Ok(completing)
    }

    /// What callbacks may complete: the objects that they have in their closures, and what the futures
    /// among these complete. Of a method, its object.
    ///
    /// # Errors
    /// When callbacks cannot be read, or are too many.
    pub(super) fn completed(&mut self, callbacks: Callbacks) -> Result<Vec<u64>, InterpreterError> {
        let mut completed = Vec::new();
        self.add_completed(callbacks, DEEPEST, &mut completed)?;
        Ok(completed)
    }

    fn add_completed(
        &mut self,
        callbacks: Callbacks,
        depth: u32,
        completed: &mut Vec<u64>,
    ) -> Result<(), InterpreterError> {
        for callback in self.callbacks(callbacks)? {
            for object in self.closure(callback)? {
                if object == 0 || completed.contains(&object) {
                    continue;
                }
                completed.push(object);
                if depth == 0 || self.coroutines.object(object)?.0 != Kind::Future {
                    continue;
                }
                let awaits = self.coroutines.awaits;
                let fields = self.struct_of(object, Callbacks::span(awaits))?;
                let next = Callbacks::new(awaits, &Struct::new(&fields));
                self.add_completed(next, depth - 1, completed)?;
            }
        }
        Ok(())
    }

    fn callbacks(&mut self, callbacks: Callbacks) -> Result<Vec<u64>, InterpreterError> {
        const WHAT: &str = "callbacks of a task";
        let mut all = vec![callbacks.first];
        if callbacks.others != 0 {
            let CoroutineReader { memory, awaits, reads, .. } = &mut self.coroutines;
            let field = |at: usize| callbacks.others.wrapping_add(at as u64);
            let size = reads.word(*memory, WHAT, field(awaits.list_size))?;
            let items = reads.word(*memory, WHAT, field(awaits.list_items))?;
            let pairs = self.words(WHAT, items, size)?;
            for pair in pairs {
                let at = pair.wrapping_add(self.coroutines.awaits.tuple_items as u64);
                all.push(self.word(WHAT, at)? & !TAG);
            }
        }
        all.retain(|callback| *callback != 0);
        Ok(all)
    }

    /// What the variables of a function's closure are, or the object of a method; none for other objects.
    fn closure(&mut self, function: u64) -> Result<Vec<u64>, InterpreterError> {
        const WHAT: &str = "a closure";
        let awaits = self.coroutines.awaits;
        let fields = function.wrapping_add(awaits.object_size as u64);
        match self.coroutines.object(function)?.0 {
            Kind::Function => {}
            Kind::Method => {
                let object = self.word("a method", fields.wrapping_add(METHOD_SELF))?;
                return Ok(vec![object & !TAG]);
            }
            _ => return Ok(Vec::new()),
        }
        let closure = self.word(WHAT, fields.wrapping_add(CLOSURE))? & !TAG;
        if closure == 0 {
            return Ok(Vec::new());
        }
        let size = self.word(WHAT, closure.wrapping_add(awaits.tuple_size as u64))?;
        let items = closure.wrapping_add(awaits.tuple_items as u64);
        let mut variables = Vec::new();
        for cell in self.words(WHAT, items, size)? {
            variables.push(self.coroutines.object(cell)?.1);
        }
        Ok(variables)
    }

    /// Pointers one behind the other.
    fn words(
        &mut self,
        what: &'static str,
        address: u64,
        count: u64,
    ) -> Result<Vec<u64>, InterpreterError> {
        let count = usize::try_from(count).ok().filter(|count| *count <= MOST_CALLBACKS);
        let count = count
            .ok_or_else(|| InterpreterError::malformed(what, address, "there are too many"))?;
        let CoroutineReader { memory, reads, .. } = &mut self.coroutines;
        let bytes = reads.read(*memory, what, address, count * 8)?;
        Ok(bytes.chunks_exact(8).map(|word| Struct::new(word).word(0) & !TAG).collect())
    }

    /// Whether the innermost of coroutines waits for all tasks of a task group. Its future is one of the
    /// group, which no callback has in its closure.
    pub(super) fn is_of_group(&self, found: &Coroutines) -> bool {
        let Some(PyFrame::Code { code, .. }) = found.frames.last() else { return false };
        let code = self.coroutines.codes.get(*code);
        code.is_some_and(|code| {
            // Up to 3.12, and later.
            let names = ["TaskGroup.__aexit__", "TaskGroup._aexit"];
            names.contains(&code.qualname.as_str()) && code.file.ends_with("/asyncio/taskgroups.py")
        })
    }
}

fn indices(tasks: &[Task], is_chosen: impl Fn(&Task) -> bool) -> Vec<usize> {
    let chosen = tasks.iter().enumerate().filter(|(_, task)| is_chosen(task));
    chosen.map(|(index, _)| index).collect()
}
