//! Small synthetic recordings for tests: threads that do one thing after the other.
//!
//! Times are whole milliseconds. Stacks are written root first, frames joined by `;`; a frame is
//! `module!function`, `k:function` for the kernel, a bare function for the program itself; after `^`
//! stands what the instructions there tell.

use culprit_model::{
    Basis, Cause, Frame, FrameId, Instruction, Interval, Label, Mark, MarkKind, Meta, Module,
    ModuleId, Nanos, Pid, Process, ProcessId, Recording, Stack, StackId, Thread, ThreadId, Tid,
    Time, WakeSource,
};

/// Who ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody knows.
    Unknown,
    /// Its timer.
    Timer,
    /// An interrupt that was not seen.
    Interrupt,
    /// The disk.
    Disk,
    /// The network.
    Network,
    /// A thread.
    By(ThreadId),
}

/// A recording being written.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) recording: Recording,
    /// Where each thread's time stands, in ns.
    now: Vec<u64>,
}

pub(crate) const MS: u64 = 1_000_000;

impl Scene {
    /// A process; the first one is the command's own.
    pub(crate) fn process(&mut self, name: &str, parent: Option<ProcessId>) -> ProcessId {
        let id = ProcessId::from_index(self.recording.processes.len());
        self.recording.processes.push(Process {
            parent,
            exe: format!("/bin/{name}").into(),
            command_line: name.into(),
            ..Process::new(Pid(100 + id.0), name, Time::START)
        });
        id
    }

    /// A thread, born at a time; the first one of a process has the process's number.
    pub(crate) fn thread(&mut self, process: ProcessId, name: &str, born_ms: u64) -> ThreadId {
        let id = ThreadId::from_index(self.recording.threads.len());
        let first = self.recording.threads.iter().all(|t| t.process != process);
        let pid = self.recording.process(process).pid.0;
        if first {
            self.recording.processes[process.index()].start = Time(born_ms * MS);
        }
        let tid = Tid(if first { pid } else { 1000 + id.0 });
        self.recording.threads.push(Thread::new(process, tid, name, Time(born_ms * MS)));
        self.now.push(born_ms * MS);
        id
    }

    /// A process with one thread.
    pub(crate) fn program(
        &mut self,
        name: &str,
        parent: Option<ThreadId>,
        born_ms: u64,
    ) -> ThreadId {
        let parent = parent.map(|t| self.recording.thread(t).process);
        let process = self.process(name, parent);
        self.thread(process, name, born_ms)
    }

    /// That a process executes its program as soon as it is born.
    pub(crate) fn executes(&mut self, thread: ThreadId) {
        let process = self.recording.thread(thread).process;
        let row = self.recording.process(process);
        let (time, text) = (row.start, row.exe.clone());
        let kind = MarkKind::Exec;
        self.recording.marks.push(Mark { time, kind, process, thread: Some(thread), text });
    }

    /// Time on a CPU or ready, in ms.
    pub(crate) fn run(
        &mut self,
        thread: ThreadId,
        ms: u64,
        cause: Cause,
        stack: &str,
    ) -> &mut Self {
        self.spend(thread, ms * MS, cause, stack, End::Unknown)
    }

    /// A wait, in ms.
    pub(crate) fn wait(
        &mut self,
        thread: ThreadId,
        ms: u64,
        cause: Cause,
        stack: &str,
        end: End,
    ) -> &mut Self {
        self.spend(thread, ms * MS, cause, stack, end)
    }

    /// Any stretch of time, in ns.
    pub(crate) fn spend(
        &mut self,
        thread: ThreadId,
        ns: u64,
        cause: Cause,
        stack: &str,
        end: End,
    ) -> &mut Self {
        let stack = self.stack(stack);
        let (woken_by, waker) = match end {
            End::Unknown => (None, None),
            End::Timer => (Some(WakeSource::Timer), None),
            End::Interrupt => (Some(WakeSource::Interrupt), None),
            End::Disk => (Some(WakeSource::Disk), None),
            End::Network => (Some(WakeSource::Network), None),
            End::By(waker) => (Some(WakeSource::Thread), Some(waker)),
        };
        let now = &mut self.now[thread.index()];
        self.recording.intervals.push(Interval {
            thread,
            start: Time(*now),
            duration: Nanos(ns),
            cause,
            stack: Some(stack),
            basis: if cause.is_cpu() { Basis::Sample } else { Basis::Switch },
            cpu: Some(0),
            waker,
            waker_stack: None,
            woken_by,
            uncertain: false,
        });
        *now += ns;
        self
    }

    /// Where a thread's time stands, in ms.
    pub(crate) fn now_ms(&self, thread: ThreadId) -> u64 {
        self.now[thread.index()] / MS
    }

    /// A number of a process, read at the end.
    pub(crate) fn counter(
        &mut self,
        thread: Option<ThreadId>,
        name: &str,
        value: u64,
    ) -> &mut Self {
        let process = thread.map(|t| self.recording.thread(t).process);
        for (time, value) in [(0, 0), (self.now.iter().copied().max().unwrap_or(0), value)] {
            self.recording.counters.push(culprit_model::Counter {
                time: Time(time),
                process,
                name: name.into(),
                value,
            });
        }
        self
    }

    /// The recording of a command that ended by itself.
    pub(crate) fn done(mut self) -> Recording {
        let wall = self.now.iter().copied().max().unwrap_or(0);
        let mut recording = std::mem::take(&mut self.recording);
        recording.intervals.sort_by_key(|i| (i.thread, i.start));
        for (thread, end) in recording.threads.iter_mut().zip(&self.now) {
            thread.end = Some(Time(*end));
            let process = &mut recording.processes[thread.process.index()];
            process.end = process.end.max(thread.end);
        }
        recording.meta = Meta {
            command: vec!["./program".into()],
            wall: Nanos(wall),
            root_process: Some(ProcessId(0)),
            exit_code: Some(0),
            cpus: 2,
            ..recording.meta
        };
        recording
    }

    /// The recording of a service: nothing has ended.
    pub(crate) fn running(self) -> Recording {
        let mut recording = self.done();
        recording.meta.root_process = None;
        recording.meta.exit_code = None;
        recording.threads.iter_mut().for_each(|t| t.end = None);
        recording.processes.iter_mut().for_each(|p| p.end = None);
        recording
    }

    fn stack(&mut self, text: &str) -> StackId {
        let mut parent = None;
        for name in text.split(';') {
            let frame = self.frame(name);
            let known =
                self.recording.stacks.iter().position(|s| (s.parent, s.frame) == (parent, frame));
            parent = Some(StackId::from_index(known.unwrap_or_else(|| {
                self.recording.stacks.push(Stack { parent, frame });
                self.recording.stacks.len() - 1
            })));
        }
        parent.expect("a stack has a frame")
    }

    fn frame(&mut self, text: &str) -> FrameId {
        let (text, word) = text.split_once('^').unwrap_or((text, ""));
        let instruction = Instruction::from_word(word);
        let (module, function) = match text.strip_prefix("k:") {
            Some(function) => ("[kernel]", function),
            None => text.split_once('!').unwrap_or(("program", text)),
        };
        let module = self.module(module);
        let frames = &mut self.recording.frames;
        let known = |f: &Frame| {
            let same = f.module == Some(module) && f.function.as_str() == function;
            same && f.instruction == instruction
        };
        FrameId::from_index(frames.iter().position(known).unwrap_or_else(|| {
            frames.push(Frame {
                module: Some(module),
                function: function.into(),
                address: None,
                file: None,
                line: None,
                inlined: false,
                instruction,
                guessed: None,
            });
            frames.len() - 1
        }))
    }

    fn module(&mut self, name: &str) -> ModuleId {
        let modules = &mut self.recording.modules;
        ModuleId::from_index(modules.iter().position(|m| m.name.as_str() == name).unwrap_or_else(
            || {
                modules.push(Module {
                    name: name.into(),
                    path: name.into(),
                    build_id: None,
                    symbols: true,
                    lines: false,
                });
                modules.len() - 1
            },
        ))
    }
}

/// The findings of a recording as `id cost-in-ms`, in order, without what nothing explains.
pub(crate) fn told(recording: &Recording) -> Vec<String> {
    let report = crate::find(recording, &as_claimed());
    let findings = report.findings.iter().filter(|f| f.id != "unexplained");
    findings.map(|f| format!("{} {}", f.id, f.cost.0 / MS)).collect()
}

/// A rule's own confidence: tests of rules do not change with the programs that are known.
fn as_claimed() -> crate::Options {
    crate::Options { as_claimed: true, ..crate::Options::default() }
}

/// A program that passes `in_it` ms in a stack and `beside` ms in a function of its own, twenty times.
pub(crate) fn beside(stack: &str, in_it: u64, beside: u64) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..20 {
        scene.run(main, in_it, Cause::CpuUser, stack);
        scene.run(main, beside, Cause::CpuUser, "main;compute");
    }
    scene.done()
}

/// The first finding of a rule.
pub(crate) fn first(recording: &Recording, id: &str) -> Option<culprit_model::Finding> {
    let report = crate::find(recording, &as_claimed());
    report.findings.into_iter().find(|f| f.id == id)
}
