//! Processes and threads as they come and go.
//!
//! Numbers are used again: a fork begins a new row, whatever had the number before.

use culprit_kernel::Task;
use culprit_model::{Pid, Process, ProcessId, Recording, Text, Thread, ThreadId, Tid, Time};
use rustc_hash::FxHashMap;

/// The processes and threads of a file.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    processes: FxHashMap<i32, ProcessId>,
    threads: FxHashMap<Task, ThreadId>,
    /// By the thread's number alone.
    tids: FxHashMap<i32, ThreadId>,
}

impl Tasks {
    /// A thread by its numbers.
    pub(super) fn thread(&mut self, task: Task, recording: &mut Recording) -> ThreadId {
        if let Some(known) = self.threads.get(&task) {
            return *known;
        }
        let process = self.process(task.pid, recording);
        self.add(process, task, Time::START, recording)
    }

    /// A thread by its own number alone, where it was seen before.
    pub(super) fn by_tid(&self, tid: i32) -> Option<ThreadId> {
        self.tids.get(&tid).copied()
    }

    /// A process by its number.
    pub(super) fn process(&mut self, pid: i32, recording: &mut Recording) -> ProcessId {
        if let Some(known) = self.processes.get(&pid) {
            return *known;
        }
        self.add_process(pid, None, Time::START, recording)
    }

    /// A thread names itself; its process after it when it is the first.
    pub(super) fn name(&mut self, task: Task, name: &str, recording: &mut Recording) {
        let thread = self.thread(task, recording);
        let row = &mut recording.threads[thread.index()];
        row.name = Text::from(name);
        if task.pid == task.tid {
            recording.processes[row.process.index()].name = Text::from(name);
        }
    }

    /// A thread begins. It is called as the one that made it until it says otherwise.
    pub(super) fn fork(
        &mut self,
        child: Task,
        parent: Task,
        time: Time,
        recording: &mut Recording,
    ) {
        let maker = self.threads.get(&parent).copied();
        let name = maker.map(|maker| recording.thread(maker).name.clone()).unwrap_or_default();
        let process = if child.pid == parent.pid {
            self.process(child.pid, recording)
        } else {
            let parent = self.processes.get(&parent.pid).copied();
            let process = self.add_process(child.pid, parent, time, recording);
            recording.processes[process.index()].name = name.clone();
            process
        };
        let thread = self.add(process, child, time, recording);
        recording.threads[thread.index()].name = name;
    }

    /// A thread ends; its process with its first.
    pub(super) fn exit(&mut self, task: Task, time: Time, recording: &mut Recording) {
        let Some(thread) = self.threads.get(&task).copied() else { return };
        let row = &mut recording.threads[thread.index()];
        row.end = Some(time.max(row.start));
        if task.pid == task.tid {
            let process = &mut recording.processes[row.process.index()];
            process.end = Some(time.max(process.start));
        }
    }

    fn add_process(
        &mut self,
        pid: i32,
        parent: Option<ProcessId>,
        start: Time,
        recording: &mut Recording,
    ) -> ProcessId {
        recording.processes.push(Process {
            parent,
            ..Process::new(Pid(u32::try_from(pid).unwrap_or(0)), idle(pid), start)
        });
        let id = ProcessId::from_index(recording.processes.len() - 1);
        self.processes.insert(pid, id);
        id
    }

    fn add(
        &mut self,
        process: ProcessId,
        task: Task,
        start: Time,
        recording: &mut Recording,
    ) -> ThreadId {
        recording.threads.push(Thread::new(
            process,
            Tid(u32::try_from(task.tid).unwrap_or(0)),
            idle(task.tid),
            start,
        ));
        let id = ThreadId::from_index(recording.threads.len() - 1);
        self.threads.insert(task, id);
        self.tids.insert(task.tid, id);
        id
    }
}

/// What the kernel calls its idle threads, which never say it themselves.
fn idle(number: i32) -> &'static str {
    if number == 0 { "swapper" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: i32, tid: i32) -> Task {
        Task { pid, tid }
    }

    #[test]
    fn numbers_that_are_used_again_make_new_rows() {
        let (mut tasks, mut recording) = (Tasks::default(), Recording::default());
        tasks.name(task(1, 1), "sh", &mut recording);
        tasks.fork(task(2, 2), task(1, 1), Time(10), &mut recording);
        let first = tasks.thread(task(2, 2), &mut recording);
        assert_eq!(recording.thread(first).name.as_str(), "sh");
        tasks.name(task(2, 2), "cat", &mut recording);
        tasks.exit(task(2, 2), Time(20), &mut recording);
        tasks.fork(task(2, 2), task(1, 1), Time(30), &mut recording);
        let second = tasks.thread(task(2, 2), &mut recording);
        assert_ne!(first, second);
        let spans: Vec<_> = recording
            .processes
            .iter()
            .map(|row| (row.name.as_str(), row.start.0, row.end))
            .collect();
        assert_eq!(spans, [("sh", 0, None), ("cat", 10, Some(Time(20))), ("sh", 30, None)]);
        assert_eq!(recording.processes[1].parent, Some(ProcessId(0)));
        tasks.fork(task(2, 3), task(2, 2), Time(40), &mut recording);
        assert_eq!(tasks.by_tid(3).map(|id| recording.thread(id).process), Some(ProcessId(2)));
    }
}
