//! Which waits in a futex are sleeps, as far as the functions say that entered it.
//!
//! Some runtimes sleep in a condition variable that nobody signals. To the kernel that is a futex, like a lock;
//! the libraries' functions above it tell them apart:
//!
//! ```text
//! take; pthread_mutex_lock; futex_wait                   blocked.lock
//! nap; Thread.sleep; pthread_cond_timedwait; futex_wait  blocked.sleep
//! ```
//!
//! A mutex on the way makes it a lock: an interpreter waits for its lock in a condition variable, and a condition
//! variable takes its mutex again. Once the program's own code runs, nothing further out counts. Views show these
//! causes; the recording's intervals keep the kernel's.

use culprit_model::{Cause, FrameId, IntervalColumns, Module, Recording, StackId};
use rustc_hash::FxHashMap;

use crate::names::{self, Families, Family, known_as};
use crate::own::{CodeOrigin, script_origin};

/// What one frame says.
#[derive(Debug, Clone, Copy)]
enum Says {
    /// It belongs to these families, and may be called by others that say more.
    Families(Families),
    /// It is a lock of the kernel or of a file: no futex, or one whose kind does not matter.
    Lock,
    /// The program's own code: nothing further out counts.
    Own,
}

/// The causes of waits for locks as views show them, found out when they are asked for.
#[derive(Debug)]
pub struct FutexWaits<'r> {
    recording: &'r Recording,
    frames: FxHashMap<FrameId, Says>,
    stacks: FxHashMap<StackId, Cause>,
}

impl<'r> FutexWaits<'r> {
    /// For the stacks of a recording.
    #[must_use]
    pub fn new(recording: &'r Recording) -> Self {
        Self { recording, frames: FxHashMap::default(), stacks: FxHashMap::default() }
    }

    /// The cause that a view shows for an interval's; the same for all but waits for locks.
    pub fn cause(&mut self, cause: Cause, stack: Option<StackId>) -> Cause {
        let Some(stack) = stack.filter(|_| cause == Cause::Lock) else { return cause };
        if let Some(known) = self.stacks.get(&stack) {
            return *known;
        }
        let found = self.of_stack(stack);
        self.stacks.insert(stack, found);
        found
    }

    /// Puts the causes that views show into a table.
    pub fn show(&mut self, intervals: &mut IntervalColumns) {
        for at in 0..intervals.cause.len() {
            if intervals.cause[at] == Cause::Lock {
                intervals.cause[at] = self.cause(Cause::Lock, intervals.stack.get(at));
            }
        }
    }

    fn of_stack(&mut self, stack: StackId) -> Cause {
        let recording = self.recording;
        let mut found = Families::NONE;
        for frame in recording.stack(stack) {
            match *self.frames.entry(frame).or_insert_with(|| says(recording, frame)) {
                Says::Lock => return Cause::Lock,
                Says::Own => break,
                Says::Families(families) => found = found.with(families),
            }
        }
        if found.has(Family::Pause) { Cause::Sleep } else { Cause::Lock }
    }
}

fn says(recording: &Recording, frame: FrameId) -> Says {
    let frame = recording.frame(frame);
    let module = frame.module.map(|module| recording.module(module));
    if module.is_some_and(Module::is_kernel) {
        let families = names::kernel(&frame.function).families;
        let is_other = families.has(Family::KernelLock) || families.has(Family::FileLock);
        return if is_other { Says::Lock } else { Says::Families(Families::NONE) };
    }
    if module.and_then(script_origin) == Some(CodeOrigin::Own) {
        return Says::Own;
    }
    let (function, of) = known_as(frame, module);
    let of_module = if of.is_empty() { Families::NONE } else { names::module(of) };
    let families = names::library(&function, of_module);
    // Distributions strip the names between an interpreter's loop and the wait for its lock.
    let is_unnamed = function == "?" && of_module.has(Family::Runtime);
    if is_unnamed || families.has(Family::Mutex) {
        Says::Lock
    } else if families.is_empty() {
        Says::Own
    } else {
        Says::Families(families)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::notation::parse;

    fn shown(stack: &str) -> Cause {
        let drawing = format!("stack l blocked.lock {stack}\napp(1)/app(1) lll|");
        let recording = parse(&drawing).unwrap();
        let row = &recording.intervals[0];
        FutexWaits::new(&recording).cause(row.cause, row.stack)
    }

    #[test]
    fn the_functions_above_a_futex_say_which_wait_is_a_sleep() {
        for (stack, cause) in [
            ("app!take;libc.so.6!pthread_mutex_lock;[kernel]!futex_do_wait", Cause::Lock),
            ("app!take;[kernel]!futex_do_wait", Cause::Lock),
            ("app!take;libc.so.6!pthread_cond_wait;[kernel]!futex_do_wait", Cause::Lock),
            ("app!end;libc.so.6!__pthread_clockjoin_ex;[kernel]!futex_do_wait", Cause::Lock),
            (
                "app!take;libc.so.6!pthread_cond_wait;libc.so.6!__lll_lock_wait;[kernel]!futex_do_wait",
                Cause::Lock,
            ),
            (
                "libpython3.11.so.1.0!take_gil;libc.so.6!pthread_cond_timedwait;[kernel]!futex_do_wait",
                Cause::Lock,
            ),
            (
                "libjvm.so!JavaThread::sleep(long);libc.so.6!pthread_cond_timedwait;[kernel]!futex_do_wait",
                Cause::Sleep,
            ),
            ("app!runtime.schedule;app!runtime.stopm;app!runtime.futex", Cause::Lock),
            ("app!write;[kernel]!ksys_write;[kernel]!rwsem_down_write_slowpath", Cause::Lock),
        ] {
            assert_eq!(shown(stack), cause, "{stack}");
        }
    }

    #[test]
    fn what_the_program_s_own_caller_waited_in_does_not_count() {
        let stack = "libc.so.6!pthread_cond_wait;app!wake;app!work;[kernel]!futex_do_wait";
        assert_eq!(shown(stack), Cause::Lock);
    }
}
