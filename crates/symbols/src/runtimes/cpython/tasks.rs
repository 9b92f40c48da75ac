//! What an event loop of `asyncio` that waits is awaited for: the frames of its tasks.
//!
//! ```text
//! lists of tasks -> tasks of the loop -> the one that none awaits -> its coroutines -> ...
//!                                                   ... -> the one task that it awaits -> ...
//! ```
//!
//! Python writes down which task awaits a task, and does so for some time longer: a task group has
//! that from its tasks' start on, whatever else its maker awaits meanwhile. So a task counts as awaited
//! while the future that its awaiter awaits is the task itself, or one that a callback of the task
//! completes (`gather`, `wait`, `shield`): the callback has it in its closure.
//!
//! Where there are several tasks that none awaits, or one awaits several, the frames that all their
//! chains begin with are taken, and the chain ends where they differ. Nothing is guessed: tasks that
//! are too many to read have no frames.

use super::super::Struct;
use super::asyncio::AsyncioLayout;
use super::coroutines::{CoroutineReader, Kind, MOST_FRAMES};
use super::frames::TAG;
use super::{InterpreterError, PyFrame};

/// Tasks of one loop that are read.
const MOST_TASKS: usize = 64;
/// Tasks of other loops of the process that are passed over.
const MOST_OTHERS: usize = 256;
/// Threads whose lists are read: a task is in the list of the thread that made it.
const MOST_LISTS: usize = 256;
/// Futures between a task and one that awaits it, and tasks that await it. `gather` in `gather` has
/// two.
const MOST_AWAITERS: usize = 64;
/// Places of a set of those.
const MOST_PLACES: u64 = 256;
/// Callbacks of a future, and variables of a closure. The largest of `asyncio` has seven.
const MOST_CALLBACKS: usize = 16;
/// Futures that are completed one by the other: `gather` in `gather`.
const DEEPEST: u32 = 3;
/// Bytes from the first field of `PyFunctionObject` to `func_closure`.
const CLOSURE: u64 = 56;
const WHAT: &str = "a task";

/// Reads the tasks of a loop.
pub(super) struct TaskReader<'c> {
    pub(super) asyncio: &'c AsyncioLayout,
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

#[derive(Debug)]
struct Task {
    address: u64,
    coroutine: u64,
    awaiters: Awaiters,
    callbacks: Callbacks,
}

/// What is called when a future is done: the first, and a list of the others. 0 where there is none.
#[derive(Clone, Copy, Debug)]
struct Callbacks {
    first: u64,
    others: u64,
}

impl Callbacks {
    fn new(asyncio: &AsyncioLayout, fields: &Struct<'_>) -> Self {
        let word = |at| fields.word(at) & !TAG;
        Self { first: word(asyncio.callback), others: word(asyncio.callbacks) }
    }
}

/// What awaits a task.
#[derive(Debug, Default)]
struct Awaiters {
    tasks: Vec<u64>,
    /// Futures between the task and these.
    futures: Vec<u64>,
}

impl TaskReader<'_> {
    /// The frames that the chains of all tasks begin with, the outermost first. None where the thread
    /// runs no loop, or a task on it.
    ///
    /// # Errors
    /// When tasks cannot be read, or change meanwhile.
    pub(super) fn read(&mut self, place: &LoopThread) -> Result<Vec<PyFrame>, InterpreterError> {
        let at = |offset: u64| place.thread.wrapping_add(offset);
        let event_loop = self.word("the running loop", at(self.asyncio.running_loop))?;
        if event_loop == 0 || self.word("the running task", at(self.asyncio.running_task))? != 0 {
            return Ok(Vec::new());
        }
        let Some(tasks) = self.tasks(place, event_loop)? else { return Ok(Vec::new()) };
        let is_root = |task: &Task| task.awaiters.tasks.is_empty();
        let roots: Vec<usize> = indices(&tasks, is_root);
        let mut known = vec![None; tasks.len()];
        self.common(&tasks, &roots, &mut known)
    }

    fn word(&mut self, what: &'static str, address: u64) -> Result<u64, InterpreterError> {
        self.coroutines.reads.word(self.coroutines.memory, what, address)
    }

    /// The tasks of a loop; `None` where they, or the threads that may have made them, are too many.
    fn tasks(
        &mut self,
        place: &LoopThread,
        event_loop: u64,
    ) -> Result<Option<Vec<Task>>, InterpreterError> {
        if place.makers.len() > MOST_LISTS {
            return Ok(None);
        }
        let AsyncioLayout { thread_tasks, interpreter_tasks, .. } = *self.asyncio;
        let heads = place.makers.iter().map(|thread| thread.wrapping_add(thread_tasks));
        let ended = place.interpreter.wrapping_add(interpreter_tasks);
        let (mut tasks, mut others) = (Vec::new(), 0);
        for head in heads.chain([ended]) {
            let mut node = self.word("a list of tasks", head)?;
            while node != head && node != 0 {
                let address = node.wrapping_sub(self.asyncio.node as u64);
                let (next, task) = self.task(address, event_loop)?;
                others += usize::from(task.is_none());
                tasks.extend(task);
                if tasks.len() > MOST_TASKS || others > MOST_OTHERS {
                    return Ok(None);
                }
                node = next;
            }
        }
        Ok(Some(tasks))
    }

    /// A task where it belongs to the loop, and the next in its list.
    fn task(
        &mut self,
        address: u64,
        event_loop: u64,
    ) -> Result<(u64, Option<Task>), InterpreterError> {
        let asyncio = self.asyncio;
        let fields = self.object(address, asyncio.task_span())?;
        let fields = Struct::new(&fields);
        let next = fields.word(asyncio.node);
        if fields.word(asyncio.event_loop) & !TAG != event_loop {
            return Ok((next, None));
        }
        if fields.byte(asyncio.is_task) != 1 {
            return Err(InterpreterError::malformed(WHAT, address, "it is a future"));
        }
        let awaiters = self.awaiters(&fields)?;
        let coroutine = fields.word(asyncio.coroutine);
        let callbacks = Callbacks::new(asyncio, &fields);
        Ok((next, Some(Task { address, coroutine, awaiters, callbacks })))
    }

    fn object(&mut self, address: u64, span: usize) -> Result<Vec<u8>, InterpreterError> {
        let CoroutineReader { memory, reads, .. } = &mut self.coroutines;
        reads.read(*memory, WHAT, address, span).map(<[u8]>::to_vec)
    }

    /// What awaits a task, or a future that awaits it, and so on.
    fn awaiters(&mut self, task: &Struct<'_>) -> Result<Awaiters, InterpreterError> {
        let asyncio = self.asyncio;
        let of = |fields: &Struct<'_>| {
            let by = fields.word(asyncio.awaited_by) & !TAG;
            (by, fields.byte(asyncio.awaited_by_is_set) != 0)
        };
        let mut found = Awaiters::default();
        let mut open = vec![of(task)];
        while let Some((by, is_set)) = open.pop() {
            for object in if is_set { self.items(by)? } else { vec![by] } {
                if object == 0 || found.futures.contains(&object) {
                    continue;
                }
                if found.tasks.len() + found.futures.len() >= MOST_AWAITERS {
                    return Err(InterpreterError::malformed(WHAT, object, "too much awaits it"));
                }
                let fields = self.object(object, asyncio.future_span())?;
                let fields = Struct::new(&fields);
                if fields.byte(asyncio.is_task) == 0 {
                    found.futures.push(object);
                    open.push(of(&fields));
                } else {
                    found.tasks.push(object);
                }
            }
        }
        Ok(found)
    }

    /// The objects in a set.
    fn items(&mut self, set: u64) -> Result<Vec<u64>, InterpreterError> {
        const WHAT: &str = "a set of tasks";
        let CoroutineReader { memory, layout, awaits, reads, .. } = &mut self.coroutines;
        let field = |at: usize| set.wrapping_add(at as u64);
        let table = reads.word(*memory, WHAT, field(awaits.set_table))?;
        let places = reads.word(*memory, WHAT, field(awaits.set_mask))?.saturating_add(1);
        if places > MOST_PLACES {
            return Err(InterpreterError::malformed(WHAT, set, "it is too large"));
        }
        // Each place has an object and its hash.
        let length = usize::try_from(places).unwrap_or_default() * 16;
        let bytes = reads.read(*memory, WHAT, table, length)?;
        let mut objects: Vec<u64> =
            bytes.chunks_exact(16).map(|place| Struct::new(place).word(0) & !TAG).collect();
        objects.retain(|object| *object != 0);
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
        let found = self.coroutines.read(task.coroutine)?;
        let group = found.frames.last().is_some_and(|frame| self.is_of_group(frame));
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
            if known || self.completes(task.callbacks, future, DEEPEST)? {
                completing.push(index);
            }
        }
        Ok(completing)
    }

    /// Whether callbacks complete a future, or one that has such callbacks.
    fn completes(
        &mut self,
        callbacks: Callbacks,
        future: u64,
        depth: u32,
    ) -> Result<bool, InterpreterError> {
        for callback in self.callbacks(callbacks)? {
            for object in self.closure(callback)? {
                if object == future {
                    return Ok(true);
                }
                if object == 0 || depth == 0 || self.coroutines.object(object)?.0 != Kind::Future {
                    continue;
                }
                let fields = self.object(object, self.asyncio.future_span())?;
                let next = Callbacks::new(self.asyncio, &Struct::new(&fields));
                if self.completes(next, future, depth - 1)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
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

    /// What the variables of a function's closure are; none for other objects.
    fn closure(&mut self, function: u64) -> Result<Vec<u64>, InterpreterError> {
        const WHAT: &str = "a closure";
        if self.coroutines.object(function)?.0 != Kind::Function {
            return Ok(Vec::new());
        }
        let awaits = self.coroutines.awaits;
        let at = function.wrapping_add(awaits.object_size as u64).wrapping_add(CLOSURE);
        let closure = self.word(WHAT, at)? & !TAG;
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

    /// Whether a coroutine waits for all tasks that its task is written down to await. Its future is
    /// one of the group, which no callback has in its closure.
    fn is_of_group(&self, frame: &PyFrame) -> bool {
        let PyFrame::Code { code, .. } = frame else { return false };
        let code = self.coroutines.codes.get(*code);
        code.is_some_and(|code| {
            code.qualname == "TaskGroup._aexit" && code.file.ends_with("/asyncio/taskgroups.py")
        })
    }
}

fn indices(tasks: &[Task], is_chosen: impl Fn(&Task) -> bool) -> Vec<usize> {
    let chosen = tasks.iter().enumerate().filter(|(_, task)| is_chosen(task));
    chosen.map(|(index, _)| index).collect()
}
