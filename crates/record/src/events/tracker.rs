//! Processes and threads, from first sight to exit.
//!
//! Rows are made at the first record that names a thread. Numbers are reused by the kernel, so a
//! number leads to a row only while its owner lives. What happened before a process was first seen
//! (its name, its mappings) is read from /proc, if it still lives.

mod met;

use culprit_kernel::Task;
use culprit_model::{
    Mapping, Mark, MarkKind, Nanos, Process, ProcessId, Text, Thread, ThreadId, Tid, Time,
};
use rustc_hash::FxHashMap;

use crate::events::calls::Calls;
use crate::events::outermost::Outermost;
use crate::events::probed::LastAllocation;
use crate::events::space::{MappedCode, SpaceId, Spaces};
use crate::events::stacks::RawStack;
use crate::events::waiting::{DeepWait, Dumped};
use crate::symbolize::modules::{Modules, base_name, kernel_pid};
use met::command_line;

/// How long after its exit record a thread may still be named by others. The work between takes
/// microseconds, but a machine with more work than CPUs can hold it back; numbers come round again
/// only after all others were used (kernel/pid.c allocates them cyclically).
const AFTERLIFE: Nanos = Nanos(1_000_000_000);

/// Two records of the same fork are less than this apart: they are written one after the other, and
/// a number is not used again before all others were.
const TOLD_TWICE: Nanos = Nanos(1_000_000);

/// What is known of a thread between two of its records.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadState {
    /// The stack that was sampled for the switch out that must follow.
    pub(crate) leaving: Option<RawStack>,
    /// Asleep when the recording began, as far as no record says otherwise.
    pub(crate) asleep: bool,
    /// The last stack with which it left a CPU in each state, by the state's letter.
    pub(crate) usual: Vec<(char, RawStack)>,
    /// How many of its switches so far have no stack although it may still be lent one.
    pub(crate) bare: usize,
    /// What a dump tells that was taken for the same switch.
    pub(crate) dumped: Option<Dumped>,
    /// It waits, and its stack is deeper than the copy of it.
    pub(crate) deep_wait: Option<DeepWait>,
    /// How its stack begins.
    pub(crate) outermost: Outermost,
    /// Its last switch.
    pub(crate) switched: Time,
    /// The CPU that it came to by that switch; none when it left one.
    pub(crate) runs: Option<u32>,
    /// When the clock last found it on a CPU.
    pub(crate) sampled: Time,
    /// It left a CPU to wait, at its last switch.
    pub(crate) waits: bool,
    /// When something was last seen to wake it, since it left.
    pub(crate) woken: Option<Time>,
    /// When it was last seen to be put on a run queue, since it left.
    pub(crate) queued: Option<Time>,
    /// What it last asked an allocator for.
    pub(crate) allocated: LastAllocation,
    /// The functions of activities that it is inside of.
    pub(crate) calls: Calls,
}

impl ThreadState {
    /// The stack of a switch in this state: its own, else that of the last one; and whether it is
    /// the first of that state.
    pub(crate) fn usual(
        &mut self,
        letter: char,
        own: Option<RawStack>,
    ) -> (Option<RawStack>, bool) {
        let known = self.usual.iter_mut().find(|(of, _)| *of == letter);
        match (known, own) {
            (Some(known), own) => {
                known.1 = own.unwrap_or(known.1);
                (Some(known.1), false)
            }
            (None, Some(own)) => {
                self.usual.push((letter, own));
                (Some(own), true)
            }
            (None, None) => (None, false),
        }
    }
}

/// Every process and thread of the recording.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    processes: Vec<Process>,
    spaces: Vec<SpaceId>,
    /// Living threads of each process.
    living: Vec<u32>,
    threads: Vec<Thread>,
    states: Vec<ThreadState>,
    by_pid: FxHashMap<i32, ProcessId>,
    by_tid: FxHashMap<i32, ThreadId>,
    /// The last owner of each number that is free again.
    ended: FxHashMap<i32, ThreadId>,
    /// Rows of the mappings table since they were last taken.
    mappings: Vec<Mapping>,
    /// Rows of the marks table since they were last taken.
    marks: Vec<Mark>,
    /// Spaces in which nobody lives any more, since they were last taken.
    left: Vec<SpaceId>,
    /// Processes that were first seen while they lived, since they were last taken.
    met: Vec<i32>,
    /// Counts births, deaths and renames, so that others know when to look again.
    changes: u64,
}

impl Tracker {
    /// The row of a thread whose time is recorded; made at its first sight.
    pub(crate) fn thread(&mut self, task: Task, time: Time, spaces: &mut Spaces) -> ThreadId {
        if let Some(known) = self.by_tid.get(&task.tid) {
            let known = *known;
            if !self.threads[known.index()].recorded {
                self.start_recording(known, time, spaces);
            }
            return known;
        }
        if let Some(dying) = self.dying(task.tid, time) {
            return dying;
        }
        let process = self.process(task.pid, time, true, spaces);
        self.meet_thread(process, task, time, true)
    }

    /// These threads live, and no others: for recordings without events.
    pub(crate) fn only(&mut self, tasks: &[Task], time: Time, spaces: &mut Spaces) {
        let gone = self.living().into_iter().filter(|task| !tasks.contains(task));
        for task in gone.collect::<Vec<_>>() {
            self.retire(task.tid, time, spaces);
        }
        for task in tasks {
            let thread = self.thread(*task, time, spaces);
            self.read_name(thread, *task);
        }
    }

    /// The row of a recorded thread, if it is one.
    pub(crate) fn recorded(&self, tid: i32) -> Option<ThreadId> {
        let id = *self.by_tid.get(&tid)?;
        self.threads[id.index()].recorded.then_some(id)
    }

    /// The row of the recorded thread that has, or else had last, this number.
    pub(crate) fn recorded_last(&self, tid: i32) -> Option<ThreadId> {
        let id = *self.by_tid.get(&tid).or_else(|| self.ended.get(&tid))?;
        self.threads[id.index()].recorded.then_some(id)
    }

    /// The row of a thread that made a recorded one ready; it need not be recorded itself.
    pub(crate) fn waker(&mut self, task: Task, time: Time, spaces: &mut Spaces) -> ThreadId {
        if let Some(known) = self.by_tid.get(&task.tid) {
            return *known;
        }
        if let Some(dying) = self.dying(task.tid, time) {
            return dying;
        }
        let process = self.process(task.pid, time, false, spaces);
        self.meet_thread(process, task, time, false)
    }

    /// The thread that had this number until a moment ago: the kernel reports an exit before the
    /// thread's last work (it wakes its parent, and may be preempted meanwhile), so its life ends
    /// with the last record that names it.
    fn dying(&mut self, tid: i32, time: Time) -> Option<ThreadId> {
        let id = *self.ended.get(&tid)?;
        let thread = &mut self.threads[id.index()];
        let end = thread.end?;
        if time.since(end) > AFTERLIFE {
            return None;
        }
        thread.end = Some(end.max(time));
        let process = &mut self.processes[thread.process.index()];
        process.end = process.end.map(|end| end.max(time));
        Some(id)
    }

    /// What is known of a thread.
    pub(crate) fn state(&mut self, id: ThreadId) -> &mut ThreadState {
        &mut self.states[id.index()]
    }

    /// The same, to look at.
    pub(crate) fn thread_state(&self, id: ThreadId) -> &ThreadState {
        &self.states[id.index()]
    }

    /// The address space of a thread.
    pub(crate) fn space(&self, id: ThreadId) -> SpaceId {
        self.spaces[self.threads[id.index()].process.index()]
    }

    /// A process that exists when the recording starts, with its threads.
    pub(crate) fn adopt(&mut self, pid: i32, tids: &[i32], spaces: &mut Spaces) -> ProcessId {
        let process = self.process(pid, Time::START, true, spaces);
        for tid in tids {
            if !self.by_tid.contains_key(tid) {
                self.meet_thread(process, Task { pid, tid: *tid }, Time::START, true);
            }
        }
        process
    }

    /// A thread or process was created.
    pub(crate) fn fork(&mut self, child: Task, parent: Task, time: Time, spaces: &mut Spaces) {
        if self.born_just_now(child.tid, time) {
            return;
        }
        let maker = self.thread(parent, time, spaces);
        self.retire(child.tid, time, spaces);
        self.ended.remove(&child.tid);
        let from = self.threads[maker.index()].process;
        let name = self.threads[maker.index()].name.clone();
        if child.pid == parent.pid {
            self.push_thread(from, child, name, time, true);
            return;
        }
        let row = Process {
            pid: kernel_pid(child.pid),
            parent: Some(from),
            start: time,
            end: None,
            exit_code: None,
            recorded: true,
            ..self.processes[from.index()].clone()
        };
        let space = spaces.share(self.spaces[from.index()]);
        let process = self.push_process(child.pid, row, space);
        self.push_thread(process, child, name, time, true);
        let text = Text::from(child.pid.to_string());
        self.marks.push(Mark {
            time,
            kind: MarkKind::Fork,
            process: from,
            thread: Some(maker),
            text,
        });
    }

    /// A thread that was just created is on a run queue for the first time.
    pub(crate) fn begin(&mut self, id: ThreadId, time: Time) {
        let thread = &mut self.threads[id.index()];
        if self.states[id.index()].switched == Time::START && thread.start > Time::START {
            thread.start = time.max(thread.start);
        }
    }

    /// Whether this birth has been told already: every event that asks for mappings is told of forks
    /// and exits too (kernel/events/core.c, perf_event_task_match), each in its own record with its
    /// own time.
    fn born_just_now(&self, tid: i32, time: Time) -> bool {
        let known = self.by_tid.get(&tid).map(|id| &self.threads[id.index()]);
        known.is_some_and(|thread| {
            thread.start > Time::START && time.since(thread.start) < TOLD_TWICE
        })
    }

    /// A thread ended; with its last thread the process ends.
    pub(crate) fn exit(&mut self, task: Task, time: Time, spaces: &mut Spaces) {
        self.retire(task.tid, time, spaces);
    }

    /// A thread has a new name; on `exec` its process has a new program and no mappings.
    pub(crate) fn comm(
        &mut self,
        task: Task,
        exec: bool,
        name: &[u8],
        time: Time,
        spaces: &mut Spaces,
    ) {
        let thread = self.thread(task, time, spaces);
        let name = Text::from(String::from_utf8_lossy(name).into_owned());
        self.threads[thread.index()].name = name.clone();
        if !exec {
            return;
        }
        let id = self.threads[thread.index()].process;
        self.move_to(id, spaces.empty(), spaces);
        let process = &mut self.processes[id.index()];
        process.name = name;
        process.exe = Text::default();
        process.command_line = command_line(task.pid);
        self.marks.push(Mark {
            time,
            kind: MarkKind::Exec,
            process: id,
            thread: Some(thread),
            text: Text::default(),
        });
    }

    /// The arguments of the program that a thread's process has executed last.
    pub(crate) fn told(&mut self, id: ThreadId, arguments: Text) {
        let process = self.threads[id.index()].process;
        self.processes[process.index()].command_line = arguments;
    }

    /// A process mapped code. The first file that it maps after `execve` is its program.
    pub(crate) fn map(
        &mut self,
        task: Task,
        (map, path): (MappedCode, &str),
        time: Time,
        spaces: &mut Spaces,
        modules: &Modules,
    ) {
        let thread = self.thread(task, time, spaces);
        let id = self.threads[thread.index()].process;
        let space = spaces.map(self.spaces[id.index()], map, modules);
        self.spaces[id.index()] = space;
        self.mappings.push(map.row(time, id));
        let process = &mut self.processes[id.index()];
        if process.exe.is_empty() && path.starts_with('/') {
            process.exe = path.into();
            process.name = base_name(path).into();
            if let Some(mark) = self.marks.iter_mut().rev().find(|mark| mark.process == id)
                && mark.kind == MarkKind::Exec
            {
                mark.text = path.into();
            }
        }
    }

    /// Threads that wait with a stack deeper than its copy.
    pub(crate) fn take_deep_waits(&mut self) -> Vec<(ThreadId, DeepWait)> {
        let states = self.states.iter_mut().enumerate();
        let waits = states
            .filter_map(|(at, state)| Some((ThreadId::from_index(at), state.deep_wait.take()?)));
        waits.collect()
    }

    /// Every process so far.
    pub(crate) fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Every thread so far.
    pub(crate) fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Every thread so far, to note what /proc told.
    pub(crate) fn threads_mut(&mut self) -> &mut [Thread] {
        &mut self.threads
    }

    /// The process of a number, while it lives.
    pub(crate) fn process_of(&self, pid: i32) -> Option<ProcessId> {
        self.by_pid.get(&pid).copied()
    }

    /// Process and thread numbers of the recorded threads that live.
    pub(crate) fn living(&self) -> Vec<Task> {
        let mut living: Vec<Task> = self
            .by_tid
            .iter()
            .filter(|(_, id)| self.threads[id.index()].recorded)
            .map(|(tid, id)| {
                let process = self.threads[id.index()].process;
                let pid = self.processes[process.index()].pid.0;
                Task { pid: i32::try_from(pid).unwrap_or(0), tid: *tid }
            })
            .collect();
        living.sort_unstable_by_key(|task| (task.pid, task.tid));
        living
    }

    /// The rows of the mappings table since the last call.
    pub(crate) fn take_mappings(&mut self) -> Vec<Mapping> {
        std::mem::take(&mut self.mappings)
    }

    /// Something happened at one instant.
    pub(crate) fn mark(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// The rows of the marks table since the last call.
    pub(crate) fn take_marks(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.marks)
    }

    /// The spaces that were left by their last process since the last call.
    pub(crate) fn take_left(&mut self) -> Vec<SpaceId> {
        std::mem::take(&mut self.left)
    }

    /// The processes that were first seen while they lived, since the last call: what they had
    /// mapped by then has to be read from /proc.
    pub(crate) fn take_met(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.met)
    }

    /// A number that differs whenever a thread was born or died.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    fn push_process(&mut self, pid: i32, row: Process, space: SpaceId) -> ProcessId {
        let id = ProcessId::from_index(self.processes.len());
        self.processes.push(row);
        self.spaces.push(space);
        self.living.push(0);
        self.by_pid.insert(pid, id);
        id
    }

    fn push_thread(
        &mut self,
        process: ProcessId,
        task: Task,
        name: Text,
        time: Time,
        recorded: bool,
    ) -> ThreadId {
        let id = ThreadId::from_index(self.threads.len());
        let tid = Tid(kernel_pid(task.tid).0);
        self.threads.push(Thread { recorded, ..Thread::new(process, tid, name, time) });
        self.states.push(ThreadState::default());
        self.living[process.index()] += 1;
        self.by_tid.insert(task.tid, id);
        self.changes += 1;
        id
    }

    /// A thread that was only known as a waker is recorded from now on.
    fn start_recording(&mut self, id: ThreadId, time: Time, spaces: &mut Spaces) {
        let thread = &mut self.threads[id.index()];
        thread.recorded = true;
        thread.start = time;
        self.changes += 1;
        let process = thread.process;
        self.record_process(process, spaces);
    }

    fn record_process(&mut self, id: ProcessId, spaces: &mut Spaces) {
        let process = &mut self.processes[id.index()];
        if !std::mem::replace(&mut process.recorded, true) {
            self.met.push(i32::try_from(process.pid.0).unwrap_or(0));
            self.move_to(id, spaces.empty(), spaces);
        }
    }

    /// Ends the thread that has this number, if there is one.
    fn retire(&mut self, tid: i32, time: Time, spaces: &mut Spaces) {
        let Some(id) = self.by_tid.remove(&tid) else { return };
        self.ended.insert(tid, id);
        self.threads[id.index()].end = Some(time);
        let process = self.threads[id.index()].process;
        self.changes += 1;
        let living = &mut self.living[process.index()];
        *living = living.saturating_sub(1);
        if *living > 0 {
            return;
        }
        self.processes[process.index()].end = Some(time);
        let pid = self.processes[process.index()].pid;
        self.by_pid.remove(&i32::try_from(pid.0).unwrap_or(0));
        if spaces.leave(self.spaces[process.index()]) {
            self.left.push(self.spaces[process.index()]);
        }
        self.marks.push(Mark {
            time,
            kind: MarkKind::Exit,
            process,
            thread: Some(id),
            text: Text::default(),
        });
    }

    fn move_to(&mut self, process: ProcessId, space: SpaceId, spaces: &mut Spaces) {
        let old = std::mem::replace(&mut self.spaces[process.index()], space);
        if spaces.leave(old) {
            self.left.push(old);
        }
    }
}

#[cfg(test)]
mod tests;
