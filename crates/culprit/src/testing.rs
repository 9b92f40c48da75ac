//! Small recordings made by hand, for the tests of everything that shows them.

use culprit_model::{
    Basis, Cause, Filter, Frame, FrameId, Interval, Meta, Module, ModuleId, Nanos, Pid, Process,
    ProcessId, Recording, Stack, StackId, Thread, ThreadId, Tid, Time,
};

use crate::digest::Digest;

/// What is put where markup, escapes or control characters could do harm.
pub(crate) const HOSTILE: &str = "</script><img onerror=alert(1)>\u{1b}[2J";

/// Two threads of one process, 100 ms: `main` computes and waits for a lock, `worker` sleeps.
pub(crate) fn recording() -> Recording {
    named("app", "compute")
}

/// The same with hostile names everywhere.
pub(crate) fn hostile() -> Recording {
    named(HOSTILE, HOSTILE)
}

/// The report of [`recording`].
pub(crate) fn digest() -> Digest {
    crate::load::digest(recording(), &Filter::default(), false).unwrap()
}

fn named(program: &str, function: &str) -> Recording {
    const MS: u64 = 1_000_000;
    let end = 100 * MS;
    let interval = |thread, start, duration, cause, stack| Interval {
        thread: ThreadId(thread),
        start: Time(start * MS),
        duration: Nanos(duration * MS),
        cause,
        stack: Some(StackId(stack)),
        basis: Basis::Switch,
        cpu: Some(0),
        waker: None,
        waker_stack: None,
        woken_by: None,
        uncertain: false,
    };
    Recording {
        meta: Meta {
            command: vec![program.to_owned(), "--fast".to_owned()],
            place: "host".to_owned(),
            wall: Nanos(end),
            command_span: Some((Time(0), Time(end))),
            root_process: Some(ProcessId(0)),
            exit_code: Some(0),
            kernel: "6.18.0".to_owned(),
            cpus: 2,
            frequency: 999,
            ..Meta::default()
        },
        processes: vec![Process {
            pid: Pid(10),
            parent: None,
            name: program.into(),
            exe: program.into(),
            command_line: program.into(),
            start: Time(0),
            end: Some(Time(end)),
            exit_code: Some(0),
            recorded: true,
        }],
        threads: vec![thread(10, program, end), thread(11, "worker", end)],
        modules: vec![module(program), module("libc.so.6")],
        frames: vec![
            frame(0, "main"),
            frame(0, function),
            frame(1, "pthread_mutex_lock"),
            frame(1, "clock_nanosleep"),
        ],
        stacks: vec![stack(None, 0), stack(Some(0), 1), stack(Some(1), 2), stack(Some(0), 3)],
        intervals: vec![
            interval(0, 0, 60, Cause::CpuUser, 1),
            interval(0, 60, 40, Cause::Lock, 2),
            interval(1, 0, 1, Cause::CpuUser, 0),
            interval(1, 1, 99, Cause::Sleep, 3),
        ],
        ..Recording::default()
    }
}

fn thread(tid: u32, name: &str, end: u64) -> Thread {
    Thread {
        process: ProcessId(0),
        tid: Tid(tid),
        name: name.into(),
        start: Time(0),
        end: Some(Time(end)),
        recorded: true,
        sched_from: None,
        sched_to: None,
        sched_cpu: None,
        sched_wait: None,
    }
}

fn module(name: &str) -> Module {
    Module { name: name.into(), path: name.into(), build_id: None, symbols: true, lines: false }
}

fn frame(module: u32, function: &str) -> Frame {
    Frame {
        module: Some(ModuleId(module)),
        function: function.into(),
        address: None,
        file: None,
        line: None,
        inlined: false,
    }
}

fn stack(parent: Option<u32>, frame: u32) -> Stack {
    Stack { parent: parent.map(StackId), frame: FrameId(frame) }
}
