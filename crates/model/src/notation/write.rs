//! Rows from the names that a text uses: each module, frame, stack, process and thread once.

use crate::ids::{FrameId, ModuleId, Pid, ProcessId, StackId, ThreadId, Tid};
use crate::recording::Recording;
use crate::tables::{Frame, Module, Process, Stack, Thread};
use crate::text::Text;
use crate::time::Time;

/// The module of a frame that names none.
const OWN_MODULE: &str = "app";

/// The module of a name of the form `module!function`, and the function.
fn split_frame(name: &str) -> (&str, &str) {
    name.split_once('!').unwrap_or((OWN_MODULE, name))
}

fn module(recording: &mut Recording, name: &str) -> ModuleId {
    let known = recording.modules.iter().position(|row| row.name.as_str() == name);
    ModuleId::from_index(known.unwrap_or_else(|| {
        recording.modules.push(Module {
            name: Text::from(name),
            path: Text::from(name),
            build_id: None,
            symbols: true,
            lines: false,
        });
        recording.modules.len() - 1
    }))
}

fn frame(recording: &mut Recording, name: &str) -> FrameId {
    let (of, function) = split_frame(name);
    let of = module(recording, of);
    let same = |row: &Frame| row.module == Some(of) && row.function.as_str() == function;
    let known = recording.frames.iter().position(same);
    FrameId::from_index(known.unwrap_or_else(|| {
        recording.frames.push(Frame::new(Some(of), function, None));
        recording.frames.len() - 1
    }))
}

/// The stack of these names, root first; none of no names.
pub(super) fn stack<'a>(
    recording: &mut Recording,
    names: impl Iterator<Item = &'a str>,
) -> Option<StackId> {
    let mut parent = None;
    for name in names.map(str::trim).filter(|name| !name.is_empty()) {
        let frame = frame(recording, name);
        let node = Stack { parent, frame };
        let known = recording.stacks.iter().position(|row| *row == node);
        parent = Some(StackId::from_index(known.unwrap_or_else(|| {
            recording.stacks.push(node);
            recording.stacks.len() - 1
        })));
    }
    parent
}

/// The process of a name and a number.
pub(super) fn process(recording: &mut Recording, name: &str, pid: u32) -> ProcessId {
    let same = |row: &Process| row.pid == Pid(pid) && row.name.as_str() == name;
    let known = recording.processes.iter().position(same);
    ProcessId::from_index(known.unwrap_or_else(|| {
        recording.processes.push(Process::new(Pid(pid), name, Time::START));
        recording.processes.len() - 1
    }))
}

/// A new thread of a process.
pub(super) fn thread(
    recording: &mut Recording,
    process: ProcessId,
    (name, tid): (&str, u32),
    start: Time,
    end: Option<Time>,
) -> ThreadId {
    recording.threads.push(Thread { end, ..Thread::new(process, Tid(tid), name, start) });
    ThreadId::from_index(recording.threads.len() - 1)
}
