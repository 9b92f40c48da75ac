//! Stacks of programs built as they come: without frame pointers, with libraries.

use culprit_model::{Recording, Rung, SampleKind, StackId, Switch, SwitchKind};
use culprit_record::Stacks;

use crate::support::{compiled, names, record, stands_on, thread};

/// Fewer of the hundred sleeps are seen where time is up before the thread has left its CPU.
const SLEEPS: usize = 50;
const CALLERS: [&str; 3] = ["deepers!pause_here", "deepers!middle", "deepers!outer"];

/// How many sleeps of the program are seen, and how many of them with all their callers; none where
/// that cannot be recorded.
fn sleeps_and_whole_ones(test: &str) -> Option<(usize, usize)> {
    let program = compiled("tests/it/programs/deepers.c", "deepers", &["-fomit-frame-pointer"]);
    let recording = record(test, &[&program], |_| {}).recording;
    if !stands_on(test, &recording, Rung::KernelStacks) {
        return None;
    }
    let main = thread(&recording, "deepers");
    let sleeps: Vec<_> = recording
        .switches
        .iter()
        .filter(|row| row.thread == main && row.kind == SwitchKind::Out)
        .filter_map(|row| row.stack)
        .map(|stack| names(&recording, stack))
        .filter(|stack| stack.iter().any(|name| name.contains("nanosleep")))
        .collect();
    let whole = sleeps.iter().filter(|stack| {
        CALLERS.iter().all(|caller| stack.iter().any(|name| name == caller))
            && stack.last().is_some_and(|root| root.ends_with("!_start"))
    });
    eprintln!("one of {} sleeps: {:?}", sleeps.len(), sleeps.first());
    Some((sleeps.len(), whole.count()))
}

#[test]
fn a_program_without_frame_pointers_has_its_callers_at_waits() {
    let Some((sleeps, whole)) = sleeps_and_whole_ones("omitted") else { return };
    assert!(sleeps >= SLEEPS && whole >= SLEEPS, "{whole} of {sleeps}");
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_program_without_frame_pointers_has_its_callers_at_99_percent_of_waits() {
    let Some((sleeps, whole)) = sleeps_and_whole_ones("omitted-all") else { return };
    assert!(sleeps >= 90 && whole * 100 >= sleeps * 99, "{whole} of {sleeps}");
}

/// The stacks of a program's sleeps below a function with very many variables, innermost first; none where
/// that cannot be recorded.
fn roomy_sleeps(test: &str, arguments: &[&str]) -> Option<Vec<Vec<String>>> {
    let program = compiled("tests/it/programs/roomy.c", test, &["-fomit-frame-pointer"]);
    let command: Vec<&str> = [&*program].into_iter().chain(arguments.iter().copied()).collect();
    let recording = record(test, &command, |_| {}).recording;
    if !stands_on(test, &recording, Rung::KernelStacks) {
        return None;
    }
    let main = thread(&recording, test);
    let out = |row: &&Switch| row.thread == main && row.kind == SwitchKind::Out;
    let stacks = recording.switches.iter().filter(out).filter_map(|row| row.stack);
    let stacks = stacks.map(|stack| names(&recording, stack));
    Some(stacks.filter(|stack| stack.iter().any(|name| name.contains("nanosleep"))).collect())
}

#[test]
fn a_stack_that_is_deeper_than_its_copy_has_its_innermost_functions() {
    let Some(sleeps) = roomy_sleeps("roomy1", &[]) else { return };
    let known = |stack: &Vec<String>| stack.iter().any(|name| name == "roomy1!roomy");
    assert!(sleeps.iter().any(known), "{sleeps:?}");
}

#[test]
fn a_wait_with_a_deeper_stack_is_read_to_its_root() {
    let Some(sleeps) = roomy_sleeps("roomy2", &["long"]) else { return };
    let known = |stack: &Vec<String>| {
        let own = stack.iter().filter_map(|name| name.strip_prefix("roomy2!"));
        own.eq(["pause_here", "roomy", "outer", "main", "_start"])
    };
    assert!(sleeps.last().is_some_and(known), "{sleeps:?}");
}

/// Samples of user code in the function that computes; none where that cannot be recorded.
fn samples_in_spin(test: &str) -> Option<usize> {
    let program = compiled("tests/it/programs/deepers.c", "deepers2", &["-fomit-frame-pointer"]);
    let recording = record(test, &[&program], |_| {}).recording;
    if !stands_on(test, &recording, Rung::UserOnly) {
        return None;
    }
    let user = recording.samples.iter().filter(|row| row.kind == SampleKind::User);
    let leaves = user.filter_map(|row| names(&recording, row.stack?).first().cloned());
    Some(leaves.filter(|leaf| leaf == "deepers2!spin").count())
}

#[test]
fn samples_say_whether_user_or_kernel_ran_and_where() {
    let Some(in_spin) = samples_in_spin("samples") else { return };
    assert!(in_spin > 0, "it computes for 200 ms of CPU time");
}

#[test]
#[ignore = "statistical: make accuracy"]
fn samples_come_at_their_rate() {
    let Some(in_spin) = samples_in_spin("sample-rate") else { return };
    // 200 ms of CPU time at 499 samples a second, less what reading the clock takes.
    assert!(in_spin > 50, "{in_spin} samples in spin()");
}

#[test]
fn frame_pointers_alone_give_stacks_too() {
    let flags = ["-fno-omit-frame-pointer"];
    let program = compiled("tests/it/programs/deepers.c", "deepers3", &flags);
    let recording =
        record("pointers", &[&program], |options| options.stacks = Stacks::FramePointers).recording;
    if !stands_on("pointers", &recording, Rung::KernelStacks) {
        return;
    }
    let main = thread(&recording, "deepers3");
    let outer = recording
        .switches
        .iter()
        .filter(|row| row.thread == main && row.kind == SwitchKind::Out)
        .filter_map(|row| row.stack)
        .filter(|stack| names(&recording, *stack).iter().any(|name| name == "deepers3!outer"))
        .count();
    assert!(outer >= SLEEPS, "{outer} waits below outer()");
}

/// The functions of the program at a stack, the innermost first, and whether each was guessed.
fn own_functions(recording: &Recording, stack: StackId) -> Vec<(String, bool)> {
    let frames = recording.stack(stack).map(|id| (recording.frame_name(id), recording.frame(id)));
    let own = frames.filter_map(|(name, frame)| {
        let function = name.strip_prefix("tails!")?.to_owned();
        Some((function, frame.guessed.is_some()))
    });
    own.collect()
}

#[test]
fn functions_that_left_by_a_jump_are_guessed_where_one_way_leads() {
    let program = compiled("tests/it/programs/tails.c", "tails", &["-fomit-frame-pointer"]);
    let recording = record("tails", &[&program], |_| {}).recording;
    if !stands_on("tails", &recording, Rung::KernelStacks) {
        return;
    }
    let main = thread(&recording, "tails");
    let samples = recording.samples.iter().filter(|row| row.thread == main);
    let stacks = samples.filter_map(|row| row.stack).map(|stack| own_functions(&recording, stack));
    // Stacks that were cut end elsewhere.
    let whole: Vec<_> =
        stacks.filter(|stack| stack.iter().any(|(name, _)| name == "main")).collect();
    let until_main = |leaf: &str| {
        let found = whole.iter().find(|stack| stack.first().is_some_and(|(name, _)| name == leaf));
        let stack = found.unwrap_or_else(|| panic!("no {leaf} in {whole:?}"));
        let to = stack.iter().position(|(name, _)| name == "main").expect("it is whole");
        stack[..=to].iter().map(|(name, guessed)| (name.as_str(), *guessed)).collect::<Vec<_>>()
    };
    let only_way = [("works", false), ("middle", true), ("outer", true), ("main", false)];
    assert_eq!(until_main("works"), only_way);
    assert_eq!(until_main("toils"), [("toils", false), ("main", false)]);
    let guessed = recording.frames.iter().filter(|frame| frame.guessed.is_some());
    for frame in guessed.filter(|frame| matches!(frame.function.as_str(), "middle" | "outer")) {
        let line = if frame.function.as_str() == "middle" { 9 } else { 10 };
        assert_eq!((frame.line, frame.address.is_some()), (Some(line), true), "{frame:?}");
    }
}

/// The own functions of stacks far below `main`, the root first, each with how many samples have it; none where that
/// cannot be recorded.
fn roots_of_deep_stacks(test: &str, flags: &[&str]) -> Option<Vec<(Vec<String>, usize)>> {
    let flags = [&["-fno-omit-frame-pointer"], flags].concat();
    let program = compiled("tests/it/programs/astray.c", test, &flags);
    let recording = record(test, &[&program], |_| {}).recording;
    if !stands_on(test, &recording, Rung::KernelStacks) {
        return None;
    }
    let main = thread(&recording, test);
    let samples = recording.samples.iter().filter(|row| row.thread == main);
    let mut roots: Vec<(Vec<String>, usize)> = Vec::new();
    for stack in samples.filter_map(|row| row.stack) {
        let stack = names(&recording, stack);
        if !stack.iter().any(|name| name.ends_with("!deep")) {
            continue;
        }
        let stack: Vec<String> = stack.into_iter().rev().collect();
        let to = stack.iter().position(|name| name.ends_with("!deep")).unwrap_or_default();
        match roots.iter_mut().find(|(root, _)| *root == stack[..to]) {
            Some((_, count)) => *count += 1,
            None => roots.push((stack[..to].to_vec(), 1)),
        }
    }
    eprintln!("{roots:?}");
    Some(roots)
}

/// Checks that frame pointers which lead astray name no function, and that what is known of the thread's start
/// completes most stacks.
fn deep_stacks_begin_at_the_start(test: &str, flags: &[&str]) {
    let Some(roots) = roots_of_deep_stacks(test, flags) else { return };
    let all: usize = roots.iter().map(|(_, count)| count).sum();
    let astray = roots.iter().filter(|(root, _)| root.iter().any(|name| name.contains("!never_")));
    assert_eq!(astray.count(), 0, "nothing returns to a function's start");
    let whole = |root: &[String]| {
        let has = |name: &str| root.iter().any(|one| one.ends_with(name));
        let named = root.iter().all(|name| !name.starts_with('?'));
        root.first().is_some_and(|root| root.ends_with("!_start"))
            && named
            && has("!main")
            && has("!work")
    };
    let whole: usize = roots.iter().filter(|(root, _)| whole(root)).map(|(_, count)| count).sum();
    assert!(all >= 20 && whole * 10 >= all * 9, "{whole} of {all}");
}

#[test]
fn frame_pointers_that_lead_astray_name_no_function_in_a_dynamic_program() {
    deep_stacks_begin_at_the_start("astray1", &[]);
}

#[test]
fn frame_pointers_that_lead_astray_name_no_function_in_a_static_program() {
    deep_stacks_begin_at_the_start("astray2", &["-static-pie", "-fPIE"]);
}

#[test]
fn frame_pointers_alone_end_where_they_lead_astray() {
    let flags = ["-fno-omit-frame-pointer"];
    let program = compiled("tests/it/programs/astray.c", "astray3", &flags);
    let change = |options: &mut culprit_record::Options| options.stacks = Stacks::FramePointers;
    let recording = record("astray3", &[&program], change).recording;
    if !stands_on("astray3", &recording, Rung::KernelStacks) {
        return;
    }
    let stacks =
        || recording.samples.iter().filter_map(|row| row.stack).map(|id| names(&recording, id));
    let deep = stacks().filter(|stack| stack.iter().any(|name| name == "astray3!deep"));
    let last: Vec<_> = deep.map(|stack| stack.last().cloned().unwrap_or_default()).collect();
    assert!(last.len() >= 20, "{} samples in deep()", last.len());
    assert!(last.iter().all(|root| !root.contains("!never_")), "{last:?}");
    assert!(!stacks().flatten().any(|name| name.contains("!never_")));
}
