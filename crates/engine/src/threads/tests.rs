use culprit_model::notation::{parse, parse_raw};
use culprit_model::{
    Basis, Cause, Interval, Loss, LossKind, Nanos, Observation, Recording, Sample, SampleKind,
    Switch, SwitchKind, Text, ThreadId, Time, WakeSource,
};

use super::build;

/// The same timeline with neighbouring rows of one cause and stack as one.
fn joined(rows: &[Interval]) -> Vec<Interval> {
    let mut joined: Vec<Interval> = Vec::new();
    for row in rows {
        match joined.last_mut() {
            Some(last)
                if (last.thread, last.cause, last.stack) == (row.thread, row.cause, row.stack) =>
            {
                last.duration += row.duration;
            }
            _ => joined.push(row.clone()),
        }
    }
    joined
}

/// What a recorder saw of a drawing must build into the drawing.
#[track_caller]
fn check(drawing: &str) {
    let facts = |row: &Interval| {
        (row.thread, row.start, row.duration, row.cause, row.stack, row.waker, row.woken_by)
    };
    let mut built = parse_raw(drawing).expect(drawing);
    build(&mut built);
    let drawn = parse(drawing).expect(drawing);
    let (built, drawn) = (joined(&built.intervals), joined(&drawn.intervals));
    assert_eq!(
        built.iter().map(facts).collect::<Vec<_>>(),
        drawn.iter().map(facts).collect::<Vec<_>>(),
        "{drawing}"
    );
}

#[test]
fn switches_samples_and_wakeups_build_the_drawing() {
    check(
        "stack l blocked.lock main;[kernel]!do_futex;[kernel]!futex_do_wait;[kernel]!schedule
         stack R runnable main;[kernel]!do_futex;[kernel]!futex_do_wait;[kernel]!schedule
         stack p runnable main;[kernel]!asm_sysvec_x;[kernel]!irqentry_exit_to_user_mode
         stack a cpu.user main;work
         app(1)/main(1)    aaaaKKllllllRRaapppa
         app(1)/worker(2)  ..rrUUUKKUUUllllllll
         wake 12 worker > main app;unlock",
    );
}

#[test]
fn a_wait_without_a_wakeup_is_blocked_all_along() {
    check(
        "stack s blocked.sleep main;[kernel]!hrtimer_nanosleep;[kernel]!schedule
         app(1)/main(1) UUsssssUU|",
    );
}

#[test]
fn a_thread_that_ends_while_it_waits_waits_to_its_end() {
    check(
        "stack c blocked.child sh;[kernel]!do_wait
         app(1)/a(1) UUcccc|
         app(1)/b(2) UUUUUUUU",
    );
}

fn switch(time: u64, kind: SwitchKind) -> Switch {
    Switch { time: Time(time), thread: ThreadId(0), kind, cpu: 0, stack: None, state: None }
}

fn one_thread(wall: u64, switches: Vec<Switch>) -> Recording {
    let mut recording = parse("app(1)/main(1) U").expect("one thread");
    recording.intervals.clear();
    recording.meta.wall = Nanos(wall);
    Recording { switches, ..recording }
}

fn spans(recording: &Recording) -> Vec<(u64, u64, Cause, bool)> {
    let row = |row: &Interval| (row.start.0, row.duration.0, row.cause, row.uncertain);
    recording.intervals.iter().map(row).collect()
}

#[test]
fn lost_switches_leave_no_hole_and_are_marked() {
    use SwitchKind::{In, Out};
    let mut recording =
        one_thread(100, vec![switch(10, In), switch(20, In), switch(30, Out), switch(60, Out)]);
    recording.samples = vec![Sample {
        time: Time(50),
        thread: ThreadId(0),
        kind: SampleKind::User,
        cpu: 0,
        stack: None,
    }];
    build(&mut recording);
    assert_eq!(
        spans(&recording),
        [
            (0, 10, Cause::Other, false),
            (10, 10, Cause::CpuUser, true),
            (20, 10, Cause::CpuUser, false),
            (30, 20, Cause::Other, true),
            (50, 10, Cause::CpuUser, true),
            (60, 40, Cause::Other, false),
        ]
    );
}

#[test]
fn rows_in_a_window_of_lost_records_are_uncertain() {
    use SwitchKind::{In, Out};
    let switches = vec![switch(0, In), switch(10, Out), switch(20, In), switch(30, Out)];
    let mut recording = one_thread(40, switches);
    recording.losses.push(Loss {
        kind: LossKind::SwitchesLost,
        count: 3,
        from: Some(Time(12)),
        to: Some(Time(25)),
        detail: Text::default(),
    });
    build(&mut recording);
    let uncertain: Vec<bool> = recording.intervals.iter().map(|row| row.uncertain).collect();
    assert_eq!(uncertain, [false, true, true, false]);
}

#[test]
fn a_wait_that_was_over_before_the_switch_is_ready_time() {
    // Woken at 3 while still on the way out; no wakeup comes later.
    let mut recording = parse_raw("app(1)/main(1) UUUUxxxxUUUU").expect("parses");
    let told = parse_raw("app(1)/main(1) UUUUxxxxUUUU\nwake 3 timer > main").expect("parses");
    recording.wakeups = told.wakeups;
    build(&mut recording);
    let causes: Vec<Cause> = joined(&recording.intervals).iter().map(|r| r.cause).collect();
    assert_eq!(causes, [Cause::CpuUser, Cause::Runnable, Cause::CpuUser]);
}

#[test]
fn the_state_letter_decides_where_no_stack_does() {
    use SwitchKind::{In, Out};
    let out = |time, letter: char| Switch { state: Some(u32::from(letter)), ..switch(time, Out) };
    let switches = vec![switch(0, In), out(10, 'R'), switch(20, In), out(30, 'T')];
    let mut recording = one_thread(40, switches);
    build(&mut recording);
    let causes: Vec<Cause> = recording.intervals.iter().map(|row| row.cause).collect();
    assert_eq!(causes, [Cause::CpuUser, Cause::Runnable, Cause::CpuUser, Cause::Stopped]);
}

#[test]
fn time_on_the_cpu_without_a_sample_takes_the_nearest() {
    let mut recording = parse_raw(
        "stack a cpu.user main;first
         stack b cpu.user main;second
         stack s blocked.sleep main;[kernel]!do_nanosleep
         app(1)/main(1) aassssUUssbb",
    )
    .expect("parses");
    recording.samples.retain(|sample| sample.stack.is_some());
    build(&mut recording);
    let name = |row: &Interval| {
        let frame = row.stack.and_then(|stack| recording.stack(stack).next());
        frame.map(|frame| recording.frame_name(frame))
    };
    let nearest = recording.intervals.iter().filter(|row| row.basis == Basis::Nearest);
    let said: Vec<_> = nearest.map(|row| (name(row), row.duration)).collect();
    // Half of the CPU time between the two samples is nearer to the first, although its wait is longer.
    let half = |name: &str| (Some(name.to_owned()), Nanos(1_000_000));
    assert_eq!(said, [half("app!first"), half("app!second")]);
}

fn look(time: u64, state: char, wchan: &str) -> Observation {
    Observation {
        time: Time(time),
        thread: ThreadId(0),
        state: u32::from(state),
        syscall: None,
        wchan: (!wchan.is_empty()).then(|| Text::from(wchan)),
        file: None,
    }
}

#[test]
fn looks_at_proc_tell_the_cause_where_no_stack_does() {
    use SwitchKind::{In, Out};
    let mut recording =
        one_thread(90, vec![switch(0, In), switch(10, Out), switch(50, In), switch(60, Out)]);
    recording.observations = vec![look(20, 'S', "futex_wait_queue"), look(70, 'D', "")];
    build(&mut recording);
    let facts: Vec<_> = recording.intervals.iter().map(|row| (row.cause, row.basis)).collect();
    assert_eq!(
        facts,
        [
            (Cause::CpuUser, Basis::None),
            (Cause::Lock, Basis::Polled),
            (Cause::CpuUser, Basis::None),
            (Cause::Other, Basis::Polled),
        ]
    );
}

#[test]
fn a_recording_of_looks_alone_is_split_between_them() {
    let mut recording = one_thread(100, Vec::new());
    recording.observations = vec![
        look(20, 'R', ""),
        look(40, 'S', "do_wait"),
        look(60, 'S', "do_wait"),
        look(80, 'R', ""),
    ];
    build(&mut recording);
    assert_eq!(
        spans(&recording),
        [
            (0, 30, Cause::CpuUser, false),
            (30, 40, Cause::Child, false),
            (70, 30, Cause::CpuUser, false)
        ]
    );
}

#[test]
fn a_thread_born_in_the_recording_is_ready_until_it_runs() {
    check("app(1)/main(1) UUUUUUUU\napp(1)/new(2)  ..rrUUrr");
}

#[test]
fn interrupts_are_no_wakers() {
    let drawing = "stack s blocked.sleep main;[kernel]!do_nanosleep
         app(1)/main(1) UssrU
         wake 3 timer > main";
    let mut recording = parse_raw(drawing).expect("parses");
    build(&mut recording);
    let wait = &recording.intervals[1];
    assert_eq!((wait.waker, wait.woken_by), (None, Some(WakeSource::Timer)));
}

#[test]
fn building_twice_changes_nothing() {
    let mut recording = parse_raw("app(1)/main(1) UUxxrrU").expect("parses");
    let sums = build(&mut recording);
    let first = recording.clone();
    assert_eq!(build(&mut recording), sums);
    assert_eq!(recording, first);
}

#[test]
fn a_thread_that_is_switched_out_dead_has_ended() {
    let mut recording = parse_raw(
        "stack e blocked.other [kernel]!do_exit;[kernel]!do_task_dead;[kernel]!__schedule
         app(1)/gone(1) UUUeeee
         app(2)/here(2) UUUUUUU",
    )
    .expect("parses");
    build(&mut recording);
    assert_eq!(recording.threads[0].end, Some(Time(3_000_000)));
    assert_eq!(recording.processes[0].end, Some(Time(3_000_000)));
    assert_eq!((recording.threads[1].end, recording.processes[1].end), (None, None));
    assert!(recording.intervals.iter().all(|row| row.cause == Cause::CpuUser));
}
