use super::*;
use culprit_model::notation::parse_raw;
use culprit_model::{Frame, FrameId, ModuleId, Sample, Stack};

/// A stack of the recording by the names of its frames, root first; `f.py!g:3` is an interpreted
/// function at its line 3.
fn stack(recording: &mut Recording, names: &str) -> StackId {
    let mut parent = None;
    for name in names.split(';') {
        let (name, line) = name.split_once(':').unwrap_or((name, ""));
        let (file, function) = name.split_once('!').unzip();
        let mut frame = Frame::new(None, function.unwrap_or(name), None);
        frame.file = file.map(Text::from);
        frame.line = line.parse().ok();
        let frame = FrameId::from_index(place(&mut recording.frames, frame));
        let node = place(&mut recording.stacks, Stack { parent, frame });
        parent = Some(StackId::from_index(node));
    }
    parent.expect("a frame")
}

/// Where a row is; it is added where there is none like it.
fn place<T: PartialEq>(rows: &mut Vec<T>, row: T) -> usize {
    rows.iter().position(|known| *known == row).unwrap_or_else(|| {
        rows.push(row);
        rows.len() - 1
    })
}

fn read(recording: &mut Recording, (time, took): (u64, u64), names: &str) {
    let stack = (!names.is_empty()).then(|| stack(recording, names));
    let (time, took) = (Time(time * 1_000_000), Nanos(took * 1_000_000));
    let thread = ThreadId(0);
    let ran_on = None;
    recording.interpreter_stacks.push(InterpreterStack { time, took, thread, stack, ran_on });
}

/// As `read`, of a thread that ran on meanwhile.
fn read_outermost(recording: &mut Recording, when: (u64, u64), names: &str) {
    read(recording, when, names);
    if let Some(read) = recording.interpreter_stacks.last_mut() {
        read.ran_on = Some(true);
    }
}

fn names(recording: &Recording, stack: Option<StackId>) -> String {
    let frames: Vec<FrameId> = stack.into_iter().flat_map(|s| recording.stack(s)).collect();
    let names: Vec<&str> =
        frames.iter().rev().map(|frame| recording.frame(*frame).function.as_str()).collect();
    names.join(" ")
}

/// A thread that waits from 4 to 8 ms at `native`, and what was read of it.
fn waiting(native: &str, reads: &[((u64, u64), &str)]) -> (Recording, String) {
    let drawing = format!("stack b blocked.sleep {native}\napp(1)/main(1) UUUUbbbbUUUU");
    let mut recording = parse_raw(&drawing).expect("a drawing");
    for (when, names) in reads {
        read(&mut recording, *when, names);
    }
    merge(&mut recording);
    let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out).expect("a wait");
    let said = names(&recording, wait.stack);
    (recording, said)
}

const NATIVE: &str = "_start;run;loop;call;loop;sleep";
const READ: &str = "loop;a.py!main;a.py!work;loop;a.py!pause";
const JOINED: &str = "_start run main work call pause sleep";

fn lost(recording: &Recording, kind: LossKind) -> u64 {
    recording.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum()
}

#[test]
fn what_is_read_during_a_wait_is_exact() {
    let other = "loop;a.py!main;loop;a.py!other";
    let (recording, said) = waiting(NATIVE, &[((2, 0), other), ((5, 1), READ), ((9, 0), other)]);
    assert_eq!(said, JOINED);
    assert!(recording.interpreter_stacks.is_empty());
    assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 0);
}

#[test]
fn a_wait_that_was_too_short_takes_what_was_read_on_both_sides_and_says_so() {
    let (recording, said) = waiting(NATIVE, &[((3, 0), READ), ((9, 0), READ)]);
    assert_eq!(said, JOINED);
    assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
    // Reading went on when the thread ran again: that is no proof.
    let (recording, said) = waiting(NATIVE, &[((7, 5), READ)]);
    assert_eq!(said, JOINED);
    assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
    // It was in one of the two, or in neither.
    let other = "loop;a.py!main;loop;a.py!other";
    let (recording, said) = waiting(NATIVE, &[((3, 0), READ), ((9, 0), other)]);
    assert_eq!(said, "_start run main loop call loop sleep");
    assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
}

#[test]
fn a_wait_that_was_too_short_takes_what_another_one_at_its_place_ran() {
    let drawing = "stack s blocked.sleep _start;loop;sleep;[kernel]!nanosleep
stack f blocked.disk _start;loop;fsync;[kernel]!submit
stack g blocked.disk _start;loop;fsync;[kernel]!commit
app(1)/main(1) UssssUffffUssssUggUssssU";
    let mut recording = parse_raw(drawing).expect("a drawing");
    for (at, function) in [(2, "nap"), (7, "save"), (12, "nap"), (20, "nap")] {
        read(&mut recording, (at, 0), &format!("loop;a.py!main;a.py!{function}"));
    }
    merge(&mut recording);
    let waits = recording.switches.iter().filter(|s| s.kind == SwitchKind::Out);
    let said: Vec<String> = waits.map(|s| names(&recording, s.stack)).collect();
    assert_eq!(said[1], "_start main save fsync submit");
    assert_eq!(said[3], "_start main save fsync commit", "{said:?}");
    assert_eq!(said[4], "_start main nap sleep nanosleep");
}

#[test]
fn a_sample_takes_what_was_read_between_the_same_waits_and_not_in_them() {
    let drawing = "stack u cpu.user _start;loop
stack s blocked.sleep _start;loop;sleep
app(1)/main(1) UssssuuuuuussssU";
    let mut recording = parse_raw(drawing).expect("a drawing");
    for (at, function) in [(4, "nap"), (8, "count"), (12, "nap")] {
        read(&mut recording, (at, 0), &format!("loop;a.py!main;a.py!{function}"));
    }
    merge(&mut recording);
    let within = |sample: &&Sample| (5_000_000..11_000_000).contains(&sample.time.0);
    let counts: Vec<&Sample> = recording.samples.iter().filter(within).collect();
    assert!(!counts.is_empty());
    for sample in counts {
        assert_eq!(names(&recording, sample.stack), "_start main count");
    }
}

/// As `waiting`, with a mark for frames called `awaits`.
fn awaiting(reads: &[((u64, u64), &str)]) -> String {
    let drawing = format!("stack b blocked.poll {NATIVE}\napp(1)/main(1) UUUUbbbbUUUU");
    let mut recording = parse_raw(&drawing).expect("a drawing");
    for (when, names) in reads {
        read(&mut recording, *when, names);
    }
    for frame in recording.frames.iter_mut().filter(|f| f.function.as_str() == "awaits") {
        frame.module = Some(ModuleId(0));
    }
    merge(&mut recording);
    let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out).expect("a wait");
    names(&recording, wait.stack)
}

#[test]
fn what_is_awaited_is_taken_where_it_is_exact() {
    const AWAITED: &str = "loop;a.py!main;a.py!work;loop;a.py!pause;awaits;a.py!answer";
    let exact = awaiting(&[((4, 0), READ), ((5, 1), AWAITED), ((7, 0), READ), ((7, 3), READ)]);
    assert_eq!(exact, "_start run main work call pause awaits answer sleep");
    assert_eq!(awaiting(&[((3, 0), AWAITED), ((9, 0), READ)]), JOINED);
}

#[test]
fn what_does_not_fit_or_is_far_is_left_out_and_counted() {
    let deeper = "loop;a.py!main;loop;a.py!work;loop;a.py!pause";
    for (at, names) in [(3, deeper), (3, "loop;a.py!main"), (60, READ)] {
        let (recording, said) = waiting(NATIVE, &[((at, 0), names)]);
        assert_eq!(said, "_start run loop call loop sleep", "{names}");
        assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 1);
    }
    // A thread that runs nothing interpreted lacks nothing.
    let (recording, said) = waiting("_start;native;sleep", &[((3, 0), READ), ((9, 0), "")]);
    assert_eq!(said, "_start native sleep");
    assert!(recording.losses.is_empty());
}

#[test]
fn a_thread_that_ends_runs_nothing_any_more() {
    let ends = "[kernel]!do_exit;[kernel]!exit_mm";
    for at in [3, 5] {
        assert_eq!(waiting(ends, &[((at, 1), READ)]).1, "do_exit exit_mm");
    }
    // It is asked to end by a function that runs.
    let asked = format!("_start;run;loop;call;loop;_exit;{ends}");
    let said = waiting(&asked, &[((5, 1), READ)]).1;
    assert_eq!(said, "_start run main work call pause _exit do_exit exit_mm");
}

#[test]
fn a_cut_native_stack_gets_its_outer_functions_back() {
    let (_, said) = waiting("call;loop;sleep", &[((5, 1), READ)]);
    assert_eq!(said, "main work call pause sleep");
    let (_, said) = waiting("sleep", &[((5, 1), READ)]);
    assert_eq!(said, "main work pause sleep");
}

/// Read 1 ms before and 1 ms after `native` blocks.
fn between(native: &str, before: &str, after: &str) -> (String, u64) {
    let (recording, said) = waiting(native, &[((3, 0), before), ((9, 0), after)]);
    (said, lost(&recording, LossKind::InterpreterFramesGuessed))
}

#[test]
fn where_neither_reading_fits_the_outermost_functions_that_both_have_are_shown() {
    let before = "loop;a.py!main;a.py!work";
    let after = "loop;a.py!main;a.py!work;a.py!parse;loop;a.py!next;loop;a.py!value";
    let (said, guessed) = between(NATIVE, before, after);
    assert_eq!((said.as_str(), guessed), ("_start run main work loop call loop sleep", 1));
    // Both were in a function that the native stack does not run.
    let inner = "loop;a.py!main;a.py!work;loop;a.py!next";
    assert_eq!(between("_start;loop;sum", inner, inner).0, "_start main work sum");
    // A loop of which nothing is known stays, and all behind it.
    let (before, after) = ("loop;a.py!main;loop;a.py!f", "loop;a.py!main;loop;a.py!g");
    let said = between("_start;loop;a;loop;b;loop;c", before, after).0;
    assert_eq!(said, "_start main a loop b loop c");
    // The functions come first where the native stack lacks its outer part.
    assert_eq!(
        between("loop;b;loop;c", "loop;a.py!main", "loop;a.py!main").0,
        "main loop b loop c"
    );
}

#[test]
fn a_function_that_ran_on_to_another_line_is_the_same_and_the_last() {
    let before = "loop;a.py!main:1;a.py!work:7;a.py!first:2";
    let after = "loop;a.py!main:1;a.py!work:8;a.py!first:2";
    let (said, guessed) = between(NATIVE, before, after);
    assert_eq!((said.as_str(), guessed), ("_start run main work loop call loop sleep", 1));
}

#[test]
fn of_a_thread_that_ran_on_the_outermost_functions_are_shown() {
    let outermost = |native: &str, at: u64, others: &[(u64, &str)]| {
        let drawing = format!("stack b blocked.sleep {native}\napp(1)/main(1) UUUUbbbbUUUU");
        let mut recording = parse_raw(&drawing).expect("a drawing");
        read_outermost(&mut recording, (at, 0), "loop;a.py!main;a.py!work");
        others.iter().for_each(|(at, names)| read(&mut recording, (*at, 0), names));
        merge(&mut recording);
        let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out);
        names(&recording, wait.expect("a wait").stack)
    };
    assert_eq!(outermost(NATIVE, 3, &[]), "_start run main work loop call loop sleep");
    // They are not all, also where the number of loops would fit.
    assert_eq!(outermost("_start;loop;sleep", 3, &[]), "_start main work loop sleep");
    // Nor are they exact.
    assert_eq!(outermost("_start;loop;sleep", 5, &[]), "_start main work loop sleep");
    // What was read whole and fits says more.
    assert_eq!(outermost(NATIVE, 3, &[(9, READ)]), JOINED);
    assert_eq!(outermost(NATIVE, 60, &[]), "_start run loop call loop sleep", "it is far away");
}

#[test]
fn readings_that_have_no_function_in_common_say_nothing() {
    let before = "loop;a.py!first";
    for after in ["loop;a.py!second", ""] {
        let (recording, said) = waiting(NATIVE, &[((3, 0), before), ((9, 0), after)]);
        assert_eq!(said, "_start run loop call loop sleep", "{after}");
        assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 1);
    }
}

#[test]
fn a_part_of_the_loop_that_the_compiler_split_off_is_the_loop() {
    let (_, said) = waiting("_start;run;loop.cold;call;loop;sleep", &[((5, 1), READ)]);
    assert_eq!(said, JOINED);
}

#[test]
fn samples_take_the_nearest() {
    let drawing = "stack u cpu.user _start;loop\napp(1)/main(1) uuuuuuuuuuuu";
    let mut recording = parse_raw(drawing).expect("a drawing");
    read(&mut recording, (1, 0), "loop;a.py!first");
    read(&mut recording, (11, 0), "loop;a.py!second");
    merge(&mut recording);
    let said: Vec<String> =
        recording.samples.iter().map(|sample| names(&recording, sample.stack)).collect();
    assert_eq!(said.first().map(String::as_str), Some("_start first"));
    assert_eq!(said.last().map(String::as_str), Some("_start second"));
    let guessed = lost(&recording, LossKind::InterpreterFramesGuessed);
    assert_eq!(guessed, recording.samples.len() as u64);
}

/// The stack of a sample at 10 ms, with what was read of its thread.
fn sampled(native: &str, reads: &[((u64, u64), &str)]) -> String {
    let drawing = "stack u cpu.user _start\napp(1)/main(1) uuuuuuuuuuuuuuuuuuuuuuuu";
    let mut recording = parse_raw(drawing).expect("a drawing");
    for (when, names) in reads {
        read(&mut recording, *when, names);
    }
    let stack = stack(&mut recording, native);
    recording.samples.truncate(1);
    recording.samples[0].time = Time(10_000_000);
    recording.samples[0].stack = Some(stack);
    merge(&mut recording);
    names(&recording, recording.samples[0].stack)
}

#[test]
fn what_a_loop_ran_chooses_among_what_was_read() {
    let first = ((9, 0), "loop;a.py!main;a.py!first:7");
    let second = ((15, 0), "loop;a.py!main;a.py!second:9");
    let reads = [first, second];
    assert_eq!(sampled("_start;loop;sum", &reads), "_start main first sum", "it is nearer");
    assert_eq!(sampled("_start;loop;a.py!first;sum", &reads), "_start main first sum");
    assert_eq!(sampled("_start;loop;a.py!second;sum", &reads), "_start main second sum");
    // The same function of another file is another one.
    let other = sampled("_start;loop;b.py!second;sum", &reads);
    assert_eq!(other, "_start main loop second sum");
}

#[test]
fn what_a_loop_ran_is_shown_where_nothing_read_fits() {
    let reads =
        [((9, 0), "loop;a.py!main;a.py!work;a.py!a"), ((11, 0), "loop;a.py!main;a.py!work;a.py!b")];
    // Between the two there may be others, so the loop stays.
    assert_eq!(sampled("_start;loop;a.py!c;sum", &reads), "_start main work loop c sum");
    assert_eq!(sampled("_start;loop;a.py!work;sum", &reads), "_start main work sum");
    let far = [((200, 0), "loop;a.py!main;a.py!work")];
    assert_eq!(sampled("_start;loop;a.py!c;sum", &far), "_start loop c sum");
    // Who calls it does not change as often as it is called.
    assert_eq!(sampled("_start;loop;a.py!work;sum", &far), "_start main work sum");
}

#[test]
fn each_loop_has_what_it_ran() {
    let reads = [
        ((9, 0), "loop;a.py!main;a.py!rows;loop;a.py!next"),
        ((12, 0), "loop;a.py!main;a.py!sort;loop;a.py!key"),
    ];
    let native = "_start;loop;a.py!sort;call;loop;a.py!key;add";
    assert_eq!(sampled(native, &reads), "_start main sort call key add");
    // The outer loop is not known to run anything, and the inner one tells which reading fits.
    let native = "_start;loop;call;loop;a.py!key;add";
    assert_eq!(sampled(native, &reads), "_start main sort call key add");
    // What was read of the outer one is not true any more: of the inner one nothing is known but this.
    let native = "_start;loop;a.py!other;call;loop;a.py!key;add";
    let said = sampled(native, &[((9, 0), "loop;a.py!main;a.py!rows;loop;a.py!next")]);
    assert_eq!(said, "_start loop other call loop key add");
}

#[test]
fn a_module_of_its_own_does_not_hide_a_loop() {
    let mut recording = parse_raw("app(1)/main(1) UU").expect("a drawing");
    recording.frames.push(Frame::new(Some(ModuleId(0)), "loop", Some(7)));
    read(&mut recording, (0, 0), "loop;a.py!main");
    let joiner = Joiner::of(&recording, &recording.interpreter_stacks);
    assert!(joiner.is_loop.iter().filter(|is_loop| **is_loop).count() >= 2);
}
