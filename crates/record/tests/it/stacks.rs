//! Stacks of programs built as they come: without frame pointers, with libraries.

use culprit_model::{Rung, SampleKind, SwitchKind};
use culprit_record::Stacks;

use crate::support::{compiled, names, record, stands_on, thread};

const CALLERS: [&str; 3] = ["deepers!pause_here", "deepers!middle", "deepers!outer"];

#[test]
fn a_program_without_frame_pointers_has_its_callers_at_every_wait() {
    let program = compiled("tests/it/programs/deepers.c", "deepers", &["-fomit-frame-pointer"]);
    let recording = record("omitted", &[&program], |_| {}).recording;
    if !stands_on("omitted", &recording, Rung::KernelStacks) {
        return;
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
    // Of the hundred, one whose time is up before it has left the CPU is no switch.
    assert!(sleeps.len() >= 90, "{}", sleeps.len());
    let whole = sleeps.iter().filter(|stack| {
        CALLERS.iter().all(|caller| stack.iter().any(|name| name == caller))
            && stack.last().is_some_and(|root| root.ends_with("!_start"))
    });
    let whole = whole.count();
    assert!(whole * 100 >= sleeps.len() * 99, "{whole} of {}: {:#?}", sleeps.len(), sleeps[0]);
}

#[test]
fn samples_say_whether_user_or_kernel_ran_and_where() {
    let program = compiled("tests/it/programs/deepers.c", "deepers2", &["-fomit-frame-pointer"]);
    let recording = record("samples", &[&program], |_| {}).recording;
    if !stands_on("samples", &recording, Rung::UserOnly) {
        return;
    }
    let in_spin = recording
        .samples
        .iter()
        .filter(|row| row.kind == SampleKind::User)
        .filter_map(|row| row.stack)
        .filter(|stack| names(&recording, *stack).first().is_some_and(|n| n == "deepers2!spin"))
        .count();
    // 200 ms of CPU time at 999 samples a second, less what reading the clock takes.
    assert!(in_spin > 100, "{in_spin} samples in spin()");
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
    assert!(outer >= 90, "{outer} waits below outer()");
}
