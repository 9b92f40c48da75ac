use super::*;
use crate::{Cause, Nanos, Recording, Tid, Time, WakeSource};

const DRAWING: &str = "
    stack b blocked.lock main;get;[kernel]!futex_wait
    app(10)/main(10)      UUUUbbbbbbUU|
    app(10)/worker(11)    ....KKKKKKss
    wake 10 worker > main main;put
    root app(10)
";

#[test]
fn a_drawing_is_a_recording() {
    let recording = parse(DRAWING).expect("parses");
    assert_eq!(recording.meta.wall, Nanos(12_000_000));
    assert_eq!(recording.threads[1].tid, Tid(11));
    assert_eq!(recording.threads[1].start, Time(4_000_000));
    assert_eq!(recording.threads[0].end, Some(Time(12_000_000)));
    let wait = &recording.intervals[1];
    assert_eq!((wait.cause, wait.duration), (Cause::Lock, Nanos(6_000_000)));
    assert_eq!((wait.waker, wait.woken_by), (Some(crate::ThreadId(1)), Some(WakeSource::Thread)));
    let stack = wait.waker_stack.map(|s| columns(&recording, &[s]));
    assert_eq!(stack.as_deref(), Some("app!main\napp!put\n"));
}

#[test]
fn what_is_printed_is_read_back() {
    let recording = parse(DRAWING).expect("parses");
    let text = print(&recording, Nanos(1_000_000));
    let again = parse(&text).expect(&text);
    assert_eq!(print(&again, Nanos(1_000_000)), text);
    assert_eq!(again.intervals, recording.intervals);
}

#[test]
fn the_raw_form_has_what_a_recorder_sees() {
    let raw = parse_raw("app(1)/main(1) UUsssrU").expect("parses");
    assert_eq!((raw.switches.len(), raw.samples.len(), raw.wakeups.len()), (3, 3, 1));
    assert!(raw.intervals.is_empty());
    assert!(parse_raw("app(1)/main(1) Ussll").is_err());
}

#[test]
fn columns_come_back() {
    let mut recording = Recording::default();
    let stacks = from_columns(&mut recording, "a!main  a!main\na!read  a!serve\n        a!lock\n");
    assert_eq!(columns(&recording, &stacks), "a!main  a!main\na!read  a!serve\n        a!lock\n");
    assert_eq!(recording.stacks.len(), 4);
}

#[test]
fn errors_name_the_line() {
    let error = parse("tick 1ms\n\nnonsense\n").expect_err("no line");
    assert_eq!(error.to_string(), "line 3: cannot read the line `nonsense`");
    let error = parse("app(1)/main(1) UU$").expect_err("no letter");
    assert_eq!(error.to_string(), "line 1: `$` has no `stack` line");
}
