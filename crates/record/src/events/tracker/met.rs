//! Processes and threads that existed before they were first seen: what they are is read from /proc.

use culprit_kernel::Task;
use culprit_model::{Pid, Process, ProcessId, Text, ThreadId, Tid, Time};
use culprit_place::procfs;

use super::Tracker;
use crate::events::space::{KERNEL, Spaces};
use crate::symbolize::modules::{base_name, kernel_pid};

impl Tracker {
    /// A process of whose life a part is not recorded: what it is and has mapped by now is read from /proc.
    pub(crate) fn meet_again(&mut self, pid: i32, time: Time, spaces: &mut Spaces) {
        let thread = self.thread(Task { pid, tid: pid }, time, spaces);
        self.read_name(thread, Task { pid, tid: pid });
        let process = self.threads[thread.index()].process;
        // Who started it may have ended before it was first seen, or have been seen only after it.
        let parent = self.parent_of(pid).filter(|parent| *parent < process);
        let known = &mut self.processes[process.index()].parent;
        *known = known.or(parent);
        self.move_to(process, spaces.empty(), spaces);
        if !self.met.contains(&pid) {
            self.met.push(pid);
        }
    }

    /// Reads the names of a thread and of its program again.
    pub(super) fn read_name(&mut self, id: ThreadId, task: Task) {
        let (pid, tid) = (kernel_pid(task.pid), Tid(kernel_pid(task.tid).0));
        if let Ok(name) = procfs::comm(pid, tid) {
            self.threads[id.index()].name = name.into();
        }
        let process = &mut self.processes[self.threads[id.index()].process.index()];
        let exe = program_of(task.pid);
        if !exe.is_empty() && *process.exe != *exe {
            process.name = base_name(&exe).into();
            process.exe = exe.into();
            process.command_line = command_line(task.pid);
        }
    }

    pub(super) fn process(
        &mut self,
        pid: i32,
        time: Time,
        recorded: bool,
        spaces: &mut Spaces,
    ) -> ProcessId {
        if let Some(known) = self.by_pid.get(&pid) {
            let known = *known;
            if recorded {
                self.record_process(known, spaces);
            }
            return known;
        }
        let exe = program_of(pid);
        let name = if exe.is_empty() {
            procfs::comm(kernel_pid(pid), Tid(kernel_pid(pid).0)).unwrap_or_default()
        } else {
            base_name(&exe).to_owned()
        };
        self.meet_parents(pid, time, spaces);
        let row = Process {
            parent: self.parent_of(pid),
            exe: exe.into(),
            command_line: command_line(pid),
            recorded,
            ..Process::new(kernel_pid(pid), name, time)
        };
        let space = if recorded { spaces.empty() } else { spaces.share(KERNEL) };
        if recorded {
            self.met.push(pid);
        }
        self.push_process(pid, row, space)
    }

    /// Makes rows for the processes between a known one and a descendant of it that is new: a parent's row comes
    /// before its children's.
    fn meet_parents(&mut self, pid: i32, time: Time, spaces: &mut Spaces) {
        let mut between = Vec::new();
        let mut next = parent_pid(pid);
        while let Some(parent) = next.filter(|parent| !self.by_pid.contains_key(parent)) {
            between.push(parent);
            next = parent_pid(parent);
        }
        if next.is_some() {
            for parent in between.into_iter().rev() {
                self.process(parent, time, false, spaces);
            }
        }
    }

    /// The parent that a process has now, where that one is known.
    pub(super) fn parent_of(&self, pid: i32) -> Option<ProcessId> {
        self.by_pid.get(&parent_pid(pid)?).copied()
    }

    /// A thread that existed before it was first seen.
    pub(super) fn meet_thread(
        &mut self,
        process: ProcessId,
        task: Task,
        time: Time,
        recorded: bool,
    ) -> ThreadId {
        let name = procfs::comm(kernel_pid(task.pid), Tid(kernel_pid(task.tid).0));
        let name = name.map_or_else(|_| self.processes[process.index()].name.clone(), Text::from);
        self.push_thread(process, task, name, time, recorded)
    }
}

/// The path of a process's program as the process sees it; empty when we may not look.
fn program_of(pid: i32) -> String {
    let link = std::fs::read_link(format!("/proc/{pid}/exe"));
    link.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The process that a process has as its parent now; none for the first one, and for one that is gone.
fn parent_pid(pid: i32) -> Option<i32> {
    let parent = procfs::stat(kernel_pid(pid)).ok()?.parent;
    i32::try_from(parent.0).ok().filter(|parent| *parent > 0)
}

pub(super) fn command_line(pid: i32) -> Text {
    let arguments: Vec<String> = procfs::command_line(Pid(kernel_pid(pid).0)).unwrap_or_default();
    Text::from(arguments.join(" "))
}
