//! The tasks of an event loop in Python 3.12 and 3.13: in a set of weak references, as the whole process
//! has them.
//!
//! ```text
//! thread -> frames of its loop -> the task until which it runs: a variable
//! task -> its type -> module `_asyncio` -> its state -> `WeakSet` -> set -> references -> tasks
//! ```
//!
//! The module states no offsets. The objects on the way say by their types whether they are the right
//! ones; the fields of types and modules are the same in both releases. No task says what awaits it: that is
//! found by the callbacks with which tasks complete what others await.
//!
//! Source: `Modules/_asynciomodule.c`, `Lib/_weakrefset.py` and `Lib/asyncio` of 3.12 and 3.13.

use super::super::Struct;
use super::InterpreterError;
use super::coroutines::{CoroutineReader, Kind};
use super::frames::{self, RawFrame, TAG};
use super::layout::Attributes;
use super::tasks::{Awaiters, Callbacks, LoopThread, MOST_OTHERS, MOST_TASKS, Task, TaskReader};

/// Frames of an event loop that waits, from the innermost to the one with the task: `select`,
/// `_run_once`, `run_forever`, `run_until_complete`, and frames that stand for no function.
const MOST_LOOP_FRAMES: usize = 16;
/// Functions with the task until which the loop runs, and which of their variables has it. The second is
/// for loops that are not written in Python, such as `uvloop`.
const HOLDERS: [(&str, &str, usize); 2] = [
    ("BaseEventLoop.run_until_complete", "/asyncio/base_events.py", 1),
    ("Runner.run", "/asyncio/runners.py", 3),
];
/// Files of the functions of a loop that waits for the next event. Any other function is called back.
const LOOP_FILES: [&str; 3] =
    ["/selectors.py", "/asyncio/base_events.py", "/asyncio/unix_events.py"];
/// `PyHeapTypeObject.ht_module`.
const TYPE_MODULE: u64 = 888;
/// `PyModuleObject.md_state`.
const MODULE_STATE: u64 = 32;
/// Words of the module's state up to its set of tasks, and some more.
const STATE_WORDS: usize = 16;
/// Words of a task up to its coroutine, and some more.
const TASK_WORDS: usize = 20;
/// Places of the set of tasks: a set grows to four times as many as it has objects.
const MOST_PLACES: usize = 2048;
/// Attributes of a task group up to its task, `_parent_task`, and some more.
const GROUP_ATTRIBUTES: usize = 8;
/// `PyGC_Head` and two pointers are before an object; the second of these leads to its attributes.
const ATTRIBUTES_BEFORE: u64 = 24;

impl TaskReader<'_> {
    /// The tasks of the loop that waits on a thread; `None` where they are too many, or may be more than
    /// are found. None where the thread runs no loop, or something else.
    ///
    /// # Errors
    /// When tasks cannot be read.
    pub(super) fn in_set(
        &mut self,
        attributes: Attributes,
        place: &LoopThread,
    ) -> Result<Option<Vec<Task>>, InterpreterError> {
        let first = self.task_of_loop(place)?;
        if first == 0 {
            return Ok(None);
        }
        let Some(coroutine_at) = self.coroutine_field(first)? else { return Ok(None) };
        let set = self.set_of_tasks(first, attributes)?;
        if set == 0 {
            return Ok(None);
        }
        let event_loop = self.task_at(first, coroutine_at)?.callbacks.event_loop;
        let (mut tasks, mut others) = (Vec::new(), 0);
        for reference in self.items(set, MOST_PLACES)? {
            let (kind, address) = self.coroutines.object(reference)?;
            if kind != Kind::WeakReference {
                continue;
            }
            match self.coroutines.object(address)?.0 {
                Kind::Task => {}
                Kind::Nothing => continue,
                _ => return Ok(None),
            }
            let task = self.task_at(address, coroutine_at)?;
            if task.callbacks.event_loop != event_loop {
                others += 1;
            } else if !self.is_done(&task)? {
                tasks.push(task);
            }
            if tasks.len() > MOST_TASKS || others > MOST_OTHERS {
                return Ok(None);
            }
        }
        self.find_awaiters(&mut tasks, attributes)?;
        Ok(Some(tasks))
    }

    /// The task until which the loop on a thread runs; 0 where the thread does not wait in a loop.
    fn task_of_loop(&mut self, place: &LoopThread) -> Result<u64, InterpreterError> {
        let mut frame = self.innermost_frame(place)?;
        for _ in 0..MOST_LOOP_FRAMES {
            if frame == 0 {
                break;
            }
            let variables = frame.wrapping_add(self.coroutines.awaits.stack.end() as u64);
            let CoroutineReader { memory, layout, codes, reads, .. } = &mut self.coroutines;
            let bytes = reads.read(*memory, "a frame", frame, layout.frame.span())?;
            let fields = Struct::new(bytes);
            let (mut raw, previous) = (Vec::new(), fields.word(layout.frame.previous));
            frames::push(layout, &fields, &mut raw);
            if let [RawFrame::Code { code, .. }] = *raw {
                let object = reads.read(*memory, "a code object", code, layout.code.span())?;
                let id = codes.resolve(*memory, layout, code, object)?.id;
                let Some(function) = codes.get(id) else { break };
                let holder = HOLDERS.iter().find(|(name, file, _)| {
                    function.qualname == *name && function.file.ends_with(file)
                });
                if let Some((_, _, index)) = holder {
                    let at = variables.wrapping_add(*index as u64 * 8);
                    let task = self.word("a variable", at)? & !TAG;
                    let is_task = task != 0 && self.coroutines.object(task)?.0 == Kind::Task;
                    return Ok(if is_task { task } else { 0 });
                }
                if !LOOP_FILES.iter().any(|file| function.file.ends_with(file)) {
                    break;
                }
            }
            frame = previous;
        }
        Ok(0)
    }

    fn innermost_frame(&mut self, place: &LoopThread) -> Result<u64, InterpreterError> {
        const WHAT: &str = "a thread";
        let thread = self.coroutines.layout.thread;
        let frame = self.word(WHAT, place.thread.wrapping_add(thread.frame as u64))?;
        match thread.c_frame {
            Some(at) => self.word(WHAT, frame.wrapping_add(at as u64)),
            None => Ok(frame),
        }
    }

    /// Where tasks have their coroutine, by one of them.
    fn coroutine_field(&mut self, task: u64) -> Result<Option<usize>, InterpreterError> {
        let fields = self.struct_of(task, TASK_WORDS * 8)?;
        let start = Callbacks::span(self.coroutines.awaits);
        let places = (start..TASK_WORDS * 8).step_by(8);
        let found = places.into_iter().find(|at| {
            let object = Struct::new(&fields).word(*at) & !TAG;
            self.kind_if_any(object) == Some(Kind::Coroutine)
        });
        Ok(found)
    }

    /// What an object is; none where there may be something else than an object.
    fn kind_if_any(&mut self, object: u64) -> Option<Kind> {
        if object == 0 {
            return None;
        }
        self.coroutines.object(object).ok().map(|(kind, _)| kind)
    }

    /// The set with the references to all tasks, by one of these; 0 where it is not found.
    fn set_of_tasks(&mut self, task: u64, attributes: Attributes) -> Result<u64, InterpreterError> {
        let kind_at = self.coroutines.layout.object.kind as u64;
        let kind = self.word("a task", task.wrapping_add(kind_at))?;
        let module = self.word("the type of tasks", kind.wrapping_add(TYPE_MODULE))?;
        let state = self.word("the module `_asyncio`", module.wrapping_add(MODULE_STATE))?;
        let words = self.struct_of(state, STATE_WORDS * 8)?;
        let mut words = (0..STATE_WORDS).map(|at| Struct::new(&words).word(at * 8) & !TAG);
        let found = words.find(|object| self.kind_if_any(*object) == Some(Kind::WeakSet));
        let Some(set) = found else { return Ok(0) };
        let Some(data) = self.attributes_of(set, attributes)? else { return Ok(0) };
        let data = self.word("a set of tasks", data)?;
        Ok(if self.kind_if_any(data) == Some(Kind::Set) { data } else { 0 })
    }

    /// Where an object has the values of its attributes; none where a dictionary has them.
    fn attributes_of(
        &mut self,
        object: u64,
        attributes: Attributes,
    ) -> Result<Option<u64>, InterpreterError> {
        const WHAT: &str = "attributes";
        match attributes {
            // A tagged pointer leads to values.
            Attributes::Apart => {
                let tagged = self.word(WHAT, object.wrapping_sub(ATTRIBUTES_BEFORE))?;
                Ok((tagged & 1 == 1).then(|| tagged.wrapping_add(1)))
            }
            // The fourth byte says whether they are valid.
            Attributes::Inline => {
                let at = object.wrapping_add(self.coroutines.awaits.object_size as u64);
                let head = self.struct_of(at, 4)?;
                Ok((Struct::new(&head).byte(3) == 1).then(|| at.wrapping_add(8)))
            }
        }
    }

    /// The task that a task group is of; 0 where it is not found.
    fn task_of_group(
        &mut self,
        group: u64,
        attributes: Attributes,
    ) -> Result<u64, InterpreterError> {
        let Some(values) = self.attributes_of(group, attributes)? else { return Ok(0) };
        let words = self.struct_of(values, GROUP_ATTRIBUTES * 8)?;
        let mut words = (0..GROUP_ATTRIBUTES).map(|at| Struct::new(&words).word(at * 8) & !TAG);
        let found = words.find(|object| self.kind_if_any(*object) == Some(Kind::Task));
        Ok(found.unwrap_or_default())
    }

    fn task_at(&mut self, address: u64, coroutine_at: usize) -> Result<Task, InterpreterError> {
        let fields = self.struct_of(address, coroutine_at + 8)?;
        let fields = Struct::new(&fields);
        let callbacks = Callbacks::new(self.coroutines.awaits, &fields);
        let coroutine = fields.word(coroutine_at) & !TAG;
        let awaiters = Awaiters::default();
        Ok(Task { address, coroutine, awaiters, callbacks, found: None })
    }

    fn is_done(&mut self, task: &Task) -> Result<bool, InterpreterError> {
        if task.coroutine == 0 {
            return Ok(true);
        }
        let (kind, _) = self.coroutines.object(task.coroutine)?;
        Ok(kind == Kind::Coroutine && self.coroutines.has_ended(task.coroutine)?)
    }

    /// Finds what awaits each task: a task whose future it completes, and the one of its task group.
    fn find_awaiters(
        &mut self,
        tasks: &mut [Task],
        attributes: Attributes,
    ) -> Result<(), InterpreterError> {
        let mut awaited: Vec<(u64, u64)> = Vec::new();
        for task in tasks.iter_mut() {
            let found = self.coroutines.read(task.coroutine)?;
            awaited.extend((found.future != 0).then_some((task.address, found.future)));
            task.found = Some(found);
        }
        for task in tasks {
            let completed = self.completed(task.callbacks)?;
            let completes = |future| future == task.address || completed.contains(&future);
            let awaiters = awaited.iter().filter(|(_, future)| completes(*future));
            let mut awaiters: Vec<u64> = awaiters.map(|(address, _)| *address).collect();
            for object in completed {
                if self.kind_if_any(object) == Some(Kind::TaskGroup) {
                    awaiters.push(self.task_of_group(object, attributes)?);
                }
            }
            awaiters.retain(|awaiter| *awaiter != 0 && *awaiter != task.address);
            task.awaiters.tasks = awaiters;
        }
        Ok(())
    }
}
