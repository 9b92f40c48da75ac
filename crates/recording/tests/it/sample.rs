//! Recordings to test with: small ones by hand, large ones by rule.

use culprit_model::{
    Basis, Cause, ClockPair, Counter, Fault, FaultKind, Frame, FrameId, Interval,
    KeptConfiguration, Loss, LossKind, Mapping, Mark, MarkKind, Meta, Module, ModuleId, Nanos,
    Observation, Pid, Process, ProcessId, Recording, Rung, Sample, SampleKind, Stack, StackId,
    Switch, SwitchKind, Text, Thread, ThreadId, Tid, Time, WakeSource, Wakeup, WakeupKind,
};

/// A meta in which every field differs from its default.
pub(crate) fn meta() -> Meta {
    Meta {
        tool: "0.1.0".into(),
        command: vec!["tail".into(), "-f".into(), "a \"b\"\n\u{e9}".into()],
        place: "docker:@host,volume=/a:/b".into(),
        place_facts: vec![("overlay".into(), "yes".into()), ("cpus".into(), "2".into())],
        start: ClockPair { monotonic: 123_456_789, realtime: 1_700_000_000_000_000_001 },
        end: ClockPair { monotonic: 223_456_789, realtime: 1_700_000_000_100_000_001 },
        wall: Nanos(100_000_000),
        command_span: Some((Time(5), Time(99_999_999))),
        root_process: Some(ProcessId(0)),
        exit_code: Some(137),
        rung: Rung::KernelStacks,
        degraded: vec!["no wakers: tracefs is not readable".into()],
        kernel: "6.18.0".into(),
        cpus: 2,
        frequency: 999,
        later_frequency: 199,
        recorder_memory_bytes: 16 << 20,
        recorder_cpu: Nanos(1_234_567),
        complete: true,
        configuration: Some(KeptConfiguration::Snapshot("{\"a\":1}\n{}\n".into())),
    }
}

/// A recording with rows in every table; `n` intervals on each of two threads.
pub(crate) fn recording(n: u32) -> Recording {
    let mut recording = Recording { meta: meta(), ..Recording::default() };
    people(&mut recording);
    code(&mut recording);
    for thread in [ThreadId(0), ThreadId(1)] {
        let mut at = Time(u64::from(thread.0) * 7);
        for i in 0..n {
            let interval = interval(thread, at, i);
            at = at + interval.duration;
            recording.intervals.push(interval);
        }
    }
    events(&mut recording, n);
    recording
}

/// The `i`-th interval of a thread: CPU, a lock that another thread ends, sleep, in turn.
pub(crate) fn interval(thread: ThreadId, start: Time, i: u32) -> Interval {
    let causes = [Cause::CpuUser, Cause::Lock, Cause::Runnable, Cause::CpuKernel, Cause::Sleep];
    let cause = causes[i as usize % causes.len()];
    let woken = cause == Cause::Lock;
    Interval {
        thread,
        start,
        // A multiplicative hash: lengths that do not compress better than real ones.
        duration: Nanos(1 + u64::from(i.wrapping_mul(2_654_435_761) >> 13)),
        cause,
        stack: (!i.is_multiple_of(11)).then_some(StackId(i % 3)),
        basis: if cause.is_cpu() { Basis::Sample } else { Basis::Switch },
        cpu: Some(i % 2),
        waker: woken.then_some(ThreadId(1 - thread.0 % 2)),
        waker_stack: woken.then_some(StackId(i % 2)),
        woken_by: woken.then_some(WakeSource::Thread),
        uncertain: i % 1000 == 999,
    }
}

fn people(recording: &mut Recording) {
    for (pid, parent) in [(100, None), (101, Some(ProcessId(0)))] {
        recording.processes.push(Process {
            pid: Pid(pid),
            parent,
            name: Text::from("tail"),
            exe: Text::from("/usr/bin/tail"),
            command_line: Text::from("tail -f x"),
            start: Time(0),
            end: parent.map(|_| Time(77)),
            exit_code: parent.map(|_| -1),
            recorded: parent.is_none(),
        });
    }
    for tid in 0..2 {
        recording.threads.push(Thread {
            process: ProcessId(tid),
            tid: Tid(100 + tid),
            name: Text::from(format!("worker-{tid}")),
            start: Time(u64::from(tid) * 7),
            end: None,
            recorded: true,
            sched_from: Some(Time(0)),
            sched_to: None,
            sched_cpu: Some(Nanos(u64::MAX)),
            sched_wait: Some(Nanos(0)),
        });
    }
}

fn code(recording: &mut Recording) {
    recording.modules.push(Module {
        name: Text::from("tail"),
        path: Text::from("/usr/bin/tail"),
        build_id: Some(Text::from("00ff")),
        symbols: true,
        lines: false,
    });
    for (function, module) in [("main", Some(ModuleId(0))), ("nap", Some(ModuleId(0))), ("?", None)]
    {
        recording.frames.push(Frame {
            module,
            function: Text::from(function),
            address: module.map(|_| 0xffff_ffff_8000_0000),
            file: module.map(|_| Text::from("tail.c")),
            line: module.map(|_| 7),
            inlined: module.is_none(),
            instruction: None,
            guessed: None,
        });
    }
    for (parent, frame) in [(None, 0), (Some(StackId(0)), 1), (Some(StackId(1)), 2)] {
        recording.stacks.push(Stack { parent, frame: FrameId(frame) });
    }
    recording.mappings.push(Mapping {
        time: Time(0),
        process: ProcessId(0),
        address: 0x5555_5555_0000,
        length: 4096,
        offset: 8192,
        module: ModuleId(0),
    });
}

fn events(recording: &mut Recording, n: u32) {
    for i in 0..n {
        let (time, thread, stack) =
            (Time(u64::from(i) * 10), ThreadId(i % 2), Some(StackId(i % 3)));
        recording.samples.push(sample(i));
        recording.switches.push(switch(i));
        recording.wakeups.push(Wakeup {
            time,
            thread,
            kind: WakeupKind::Waking,
            source: WakeSource::Timer,
            waker: None,
            waker_stack: stack,
        });
    }
    recording.faults.push(Fault {
        time: Time(3),
        thread: ThreadId(0),
        kind: FaultKind::Minor,
        address: 1,
        count: 64,
        file: None,
        stack: None,
    });
    recording.marks.push(Mark {
        time: Time(4),
        kind: MarkKind::Exec,
        process: ProcessId(0),
        thread: None,
        text: Text::from("/bin/true"),
    });
    recording.counters.push(Counter {
        time: Time(5),
        process: Some(ProcessId(1)),
        name: Text::from(culprit_model::counter_names::IO_READS),
        value: u64::MAX,
    });
    recording.observations.push(Observation {
        time: Time(6),
        thread: ThreadId(1),
        state: u32::from('S'),
        syscall: Some(230),
        wchan: Some(Text::from("hrtimer_nanosleep")),
        file: None,
    });
    recording.losses.push(Loss {
        kind: LossKind::SymbolsMissing,
        count: 2,
        from: None,
        to: Some(Time(9)),
        detail: Text::from("/usr/bin/tail"),
    });
}

/// The `i`-th sample.
pub(crate) fn sample(i: u32) -> Sample {
    Sample {
        time: Time(u64::from(i) * 10),
        thread: ThreadId(i % 2),
        kind: SampleKind::Kernel,
        cpu: i % 4,
        stack: Some(StackId(i % 3)),
    }
}

/// The `i`-th switch.
pub(crate) fn switch(i: u32) -> Switch {
    Switch {
        time: Time(u64::from(i) * 10),
        thread: ThreadId(i % 2),
        kind: [SwitchKind::In, SwitchKind::Out, SwitchKind::Preempted][i as usize % 3],
        cpu: i % 4,
        stack: (i % 3 == 1).then_some(StackId(0)),
        state: i.is_multiple_of(2).then_some(u32::from('D')),
    }
}
