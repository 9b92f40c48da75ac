//! Any recording that keeps its promises comes back as it was, finished or in parts.

use culprit_model::{
    Activity, ActivityEdge, ActivityId, ActivityWork, Cost, Counter, Frame, FrameId, Interval,
    Label, Loss, LossKind, Nanos, Process, ProcessId, Recording, Sample, Stack, StackId, Switch,
    Text, Thread, ThreadId, Time, Wakeup,
};
use culprit_recording::{SpoolOptions, SpoolWriter, open, write};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, proptest};
use proptest::sample::select;

use crate::sample;

fn label<L: Label + std::fmt::Debug>() -> impl Strategy<Value = L> {
    select(L::ALL)
}

fn text() -> impl Strategy<Value = Text> {
    // Also long ones, so that dictionaries overflow into plain pages, and ones beyond ASCII.
    proptest::prop_oneof!["[a-f]{0,3}", "\\PC{0,40}", "[x-z]{2000}"].prop_map(Text::from)
}

/// Handles into a table of `rows` rows; none while it is empty.
fn below(rows: usize) -> impl Strategy<Value = Option<u32>> + Clone {
    let rows = u32::try_from(rows).unwrap();
    any::<Option<u32>>().prop_map(move |n| n.filter(|_| rows > 0).map(|n| n % rows))
}

fn process(row: usize) -> impl Strategy<Value = Process> {
    let words = (text(), text(), text());
    let rest = (any::<u32>(), below(row), any::<u64>(), any::<Option<u64>>(), any::<bool>());
    (words, rest, any::<Option<i64>>()).prop_map(|((name, exe, command_line), rest, exit_code)| {
        let (pid, parent, start, end, recorded) = rest;
        Process {
            pid: culprit_model::Pid(pid),
            parent: parent.map(ProcessId),
            name,
            exe,
            command_line,
            start: Time(start),
            end: end.map(Time),
            exit_code,
            recorded,
        }
    })
}

/// A table whose rows may point to earlier rows of itself.
fn table<T, S>(row: fn(usize) -> S, most: usize) -> impl Strategy<Value = Vec<T>>
where
    T: std::fmt::Debug + 'static,
    S: Strategy<Value = T> + 'static,
{
    (0..=most).prop_flat_map(move |n| (0..n).map(row).collect::<Vec<_>>())
}

fn thread(processes: usize) -> impl Strategy<Value = Option<Thread>> {
    let times = (any::<u64>(), any::<[Option<u64>; 5]>());
    (below(processes), any::<u32>(), text(), times).prop_map(|(process, tid, name, times)| {
        let (start, [end, from, to, cpu, wait]) = times;
        Some(Thread {
            process: ProcessId(process?),
            tid: culprit_model::Tid(tid),
            name,
            start: Time(start),
            end: end.map(Time),
            recorded: tid.is_multiple_of(2),
            sched_from: from.map(Time),
            sched_to: to.map(Time),
            sched_cpu: cpu.map(Nanos),
            sched_wait: wait.map(Nanos),
        })
    })
}

fn frame() -> impl Strategy<Value = Frame> {
    let at = (any::<Option<u64>>(), option::of(label()));
    let line = (option::of(text()), any::<Option<u32>>());
    let how = (any::<bool>(), option::of(label()));
    (text(), at, line, how).prop_map(
        |(function, (address, instruction), (file, line), (inlined, guessed))| Frame {
            module: None,
            function,
            address,
            file,
            line,
            inlined,
            instruction,
            guessed,
        },
    )
}

fn stack(row: usize) -> impl Strategy<Value = Stack> {
    below(row).prop_map(|parent| Stack { parent: parent.map(StackId), frame: FrameId(0) })
}

fn interval(threads: usize, stacks: usize) -> impl Strategy<Value = Option<Interval>> {
    let thread = below(threads);
    let stack = below(stacks).prop_map(|s| s.map(StackId));
    let who = (thread.clone(), thread, stack.clone(), stack, any::<Option<u32>>());
    let when = (0..1u64 << 20, 0..1u64 << 40);
    (who, when, label(), label(), option::of(label()), any::<bool>()).prop_map(
        |((thread, waker, stack, waker_stack, cpu), (gap, length), cause, basis, by, uncertain)| {
            Some(Interval {
                thread: ThreadId(thread?),
                start: Time(gap),
                duration: Nanos(length),
                cause,
                stack,
                basis,
                cpu,
                waker: waker.map(ThreadId),
                waker_stack,
                woken_by: by,
                uncertain,
            })
        },
    )
}

/// Puts intervals in order and one after the other; what was the start becomes the gap before.
fn in_order(intervals: Vec<Option<Interval>>) -> Vec<Interval> {
    let mut rows: Vec<Interval> = intervals.into_iter().flatten().collect();
    rows.sort_by_key(|row| row.thread);
    let mut last = (None, Time::START);
    for row in &mut rows {
        let begin = if last.0 == Some(row.thread) { last.1 } else { Time::START };
        row.start = begin + Nanos(row.start.0);
        last = (Some(row.thread), row.start + row.duration);
    }
    rows
}

fn events(threads: usize, stacks: usize) -> impl Strategy<Value = Recording> {
    let event = (any::<u64>(), below(threads), below(stacks), any::<u32>(), label(), label());
    let counter = (any::<u64>(), text(), any::<u64>());
    let loss = (select(LossKind::all()), any::<u64>(), any::<Option<u64>>(), text());
    (vec(event, 0..200), vec(counter, 0..50), vec(loss, 0..5)).prop_map(
        |(mut events, mut counters, losses)| {
            let mut recording = Recording::default();
            events.sort_by_key(|event| event.0);
            counters.sort_by_key(|counter| counter.0);
            for (time, thread, stack, number, kind, source) in events {
                let (time, stack) = (Time(time), stack.map(StackId));
                let Some(thread) = thread.map(ThreadId) else { continue };
                recording.samples.push(Sample { time, thread, stack, ..sample::sample(number) });
                recording.switches.push(Switch { time, thread, stack, ..sample::switch(number) });
                let waker = stack.map(|_| thread);
                let waker_stack = stack;
                let wakeup = Wakeup { time, thread, kind, source, waker, waker_stack };
                recording.wakeups.push(wakeup);
                recording.costs.push(Cost {
                    thread: (!number.is_multiple_of(7)).then_some(thread),
                    time,
                    duration: Nanos(u64::from(number % 3)),
                    stack,
                    metric: label_of(number),
                    cause: number.is_multiple_of(2).then(|| label_of(number)),
                    value: u64::from(number),
                    count: 1,
                    variance: number.checked_sub(7).map(u64::from),
                });
                activity(&mut recording, time, thread, number);
            }
            recording.costs.sort_by_key(|row| (row.thread, row.time));
            recording.activity_work.sort_by_key(|row| (row.thread, row.start));
            recording.counters.extend(counters.into_iter().map(|(time, name, value)| Counter {
                time: Time(time),
                process: None,
                name,
                value,
            }));
            recording.losses.extend(losses.into_iter().map(|(kind, count, from, detail)| Loss {
                kind,
                count,
                from: from.map(Time),
                to: None,
                detail,
            }));
            recording
        },
    )
}

/// An activity, the work of a thread on it and its edges.
fn activity(recording: &mut Recording, start: Time, thread: ThreadId, number: u32) {
    let (name, source, key) = (Text::from("request"), label_of(number), Some(Text::from("7")));
    let id = ActivityId::from_index(recording.activities.len());
    let (key, end) = (key.filter(|_| number.is_multiple_of(2)), Some(start + Nanos(5)));
    recording.activities.push(Activity {
        start,
        end: end.filter(|_| number.is_multiple_of(3)),
        name: name.clone(),
        key: key.clone(),
        source,
        thread,
        end_thread: key.as_ref().map(|_| thread),
        parent: (number.is_multiple_of(5) && id.0 > 0).then_some(ActivityId(id.0 / 2)),
    });
    let duration = Nanos(u64::from(number));
    recording.activity_work.push(ActivityWork { thread, start, duration, activity: id });
    let kind = label_of(number);
    recording.activity_edges.push(ActivityEdge { time: start, thread, kind, name, key, source });
}

fn label_of<L: Label>(number: u32) -> L {
    L::ALL[number as usize % L::ALL.len()]
}

fn recording() -> impl Strategy<Value = Recording> {
    let tables = (table(process, 6), vec(frame(), 1..20), table(stack, 30));
    tables.prop_flat_map(|(processes, frames, stacks)| {
        let threads = vec(thread(processes.len()), 0..6);
        (Just((processes, frames)), Just(stacks), threads).prop_flat_map(
            |((processes, frames), stacks, threads)| {
                let threads: Vec<Thread> = threads.into_iter().flatten().collect();
                let intervals = vec(interval(threads.len(), stacks.len()), 0..300);
                (events(threads.len(), stacks.len()), intervals).prop_map(
                    move |(events, intervals)| Recording {
                        processes: processes.clone(),
                        threads: threads.clone(),
                        frames: frames.clone(),
                        stacks: stacks.clone(),
                        intervals: in_order(intervals),
                        ..events
                    },
                )
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn write_then_open_is_identity(recording in recording()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.culprit");
        write(&path, &recording).unwrap();
        prop_assert_eq!(open(&path).unwrap().recording, recording);
    }

    #[test]
    fn parts_then_open_is_identity(recording in recording(), size in 1..100usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.culprit");
        let mut spool =
            SpoolWriter::create(&path, &recording.meta, SpoolOptions::default()).unwrap();
        recording.frames.chunks(size).for_each(|rows| spool.append(rows).unwrap());
        recording.stacks.chunks(size).for_each(|rows| spool.append(rows).unwrap());
        for end in 0..=recording.processes.len() {
            spool.replace(&recording.processes[..end]).unwrap();
        }
        spool.replace(&recording.threads).unwrap();
        recording.switches.chunks(size).for_each(|rows| spool.append_events(rows).unwrap());
        recording.counters.chunks(size).for_each(|rows| spool.append_events(rows).unwrap());
        let edges = recording.activity_edges.chunks(size);
        edges.for_each(|rows| spool.append_events(rows).unwrap());
        let found = open(&path).unwrap().recording;
        prop_assert_eq!(found.processes, recording.processes);
        prop_assert_eq!(found.threads, recording.threads);
        prop_assert_eq!(found.frames, recording.frames);
        prop_assert_eq!(found.stacks, recording.stacks);
        prop_assert_eq!(found.switches, recording.switches);
        prop_assert_eq!(found.counters, recording.counters);
        prop_assert_eq!(found.activity_edges, recording.activity_edges);
    }
}
