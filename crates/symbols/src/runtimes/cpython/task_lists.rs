//! The tasks of an event loop in Python 3.14: in lists that its threads have, see
//! [`AsyncioLayout`](super::asyncio::AsyncioLayout).

use super::super::Struct;
use super::InterpreterError;
use super::asyncio::AsyncioLayout;
use super::frames::TAG;
use super::tasks::{Awaiters, Callbacks, LoopThread, MOST_OTHERS, MOST_TASKS, Task, TaskReader};

/// Threads whose lists are read: a task is in the list of the thread that made it.
const MOST_LISTS: usize = 256;
/// Futures between a task and one that awaits it, and tasks that await it. `gather` in `gather` has
/// two.
const MOST_AWAITERS: usize = 64;
/// Places of a set of those.
const MOST_PLACES: usize = 256;
const WHAT: &str = "a task";

impl TaskReader<'_> {
    /// The tasks of the loop that waits on a thread; `None` where they, or the threads that may have made
    /// them, are too many. None where the thread runs no loop, or a task on it.
    ///
    /// # Errors
    /// When tasks cannot be read.
    pub(super) fn listed(
        &mut self,
        asyncio: &AsyncioLayout,
        place: &LoopThread,
    ) -> Result<Option<Vec<Task>>, InterpreterError> {
        let at = |offset: u64| place.thread.wrapping_add(offset);
        let event_loop = self.word("the running loop", at(asyncio.running_loop))?;
        if event_loop == 0 || self.word("the running task", at(asyncio.running_task))? != 0 {
            return Ok(Some(Vec::new()));
        }
        if place.makers.len() > MOST_LISTS {
            return Ok(None);
        }
        let heads = place.makers.iter().map(|thread| thread.wrapping_add(asyncio.thread_tasks));
        let ended = place.interpreter.wrapping_add(asyncio.interpreter_tasks);
        let (mut tasks, mut others) = (Vec::new(), 0);
        for head in heads.chain([ended]) {
            let mut node = self.word("a list of tasks", head)?;
            while node != head && node != 0 {
                let address = node.wrapping_sub(asyncio.node as u64);
                let (next, task) = self.listed_task(asyncio, address, event_loop)?;
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
    fn listed_task(
        &mut self,
        asyncio: &AsyncioLayout,
        address: u64,
        event_loop: u64,
    ) -> Result<(u64, Option<Task>), InterpreterError> {
        let fields = self.struct_of(address, asyncio.task_span())?;
        let fields = Struct::new(&fields);
        let next = fields.word(asyncio.node);
        let callbacks = Callbacks::new(self.coroutines.awaits, &fields);
        if callbacks.event_loop != event_loop {
            return Ok((next, None));
        }
        if fields.byte(asyncio.is_task) != 1 {
            return Err(InterpreterError::malformed(WHAT, address, "it is a future"));
        }
        let awaiters = self.awaiters(asyncio, &fields)?;
        let coroutine = fields.word(asyncio.coroutine);
        Ok((next, Some(Task { address, coroutine, awaiters, callbacks, found: None })))
    }

    /// What awaits a task, or a future that awaits it, and so on.
    fn awaiters(
        &mut self,
        asyncio: &AsyncioLayout,
        task: &Struct<'_>,
    ) -> Result<Awaiters, InterpreterError> {
        let of = |fields: &Struct<'_>| {
            let by = fields.word(asyncio.awaited_by) & !TAG;
            (by, fields.byte(asyncio.awaited_by_is_set) != 0)
        };
        let mut found = Awaiters::default();
        let mut open = vec![of(task)];
        while let Some((by, is_set)) = open.pop() {
            for object in if is_set { self.items(by, MOST_PLACES)? } else { vec![by] } {
                if object == 0 || found.futures.contains(&object) {
                    continue;
                }
                if found.tasks.len() + found.futures.len() >= MOST_AWAITERS {
                    return Err(InterpreterError::malformed(WHAT, object, "too much awaits it"));
                }
                let fields = self.struct_of(object, asyncio.future_span())?;
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
}
