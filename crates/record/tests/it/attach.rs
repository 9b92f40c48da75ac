//! Processes that run already.

use std::io::Write as _;

use culprit_model::{Pid, Rung, SwitchKind, Time};
use culprit_place::{Cgroup, Command, Position, Settings, Stdio};
use culprit_record::{Ending, Options, StopHandle, Target, Waiting, plan};
use culprit_testkit::{thread_status, wait_until};

use crate::support::{compiled, names, output, stands_on, thread};

/// Records what runs until `until` returns.
pub(crate) fn attach(
    test: &str,
    target: Target,
    until: impl FnOnce(),
) -> Option<culprit_model::Recording> {
    let plan = match plan(Options::new(target, output(test))) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("skipped: {test}: {error}: {}", error.hints().join("; "));
            return None;
        }
    };
    let armed = plan.arm(Waiting::default()).expect("the process lives");
    let stop = StopHandle::new();
    std::thread::scope(|scope| {
        scope.spawn(|| armed.run(&stop, &mut |_| {}));
        until();
        stop.stop();
    });
    Some(armed.finish(Ending::default()).expect("it can be read back").recording)
}

const FRAME_POINTERS: &str = "-fno-omit-frame-pointer";

/// The program of three threads, two of them asleep for good; started and on its way.
fn running(name: &str, flag: &str) -> culprit_place::Running {
    let program = compiled("tests/it/programs/resident.c", name, &[flag]);
    let place = culprit_place::open(&"host".parse().expect("a place"), &Settings::default());
    let command = Command { stdin: Stdio::Null, ..Command::new([program]) };
    let held = place.expect("the host").hold(&command, None).expect("it exists");
    let running = held.start().expect("it starts");
    let pid = running.pid().expect("a process of the host");
    for name in ["asleep", "reader"] {
        wait_until("it is asleep", || {
            thread_status(pid.0, name).is_some_and(|(_, state)| state == 'S')
        });
    }
    running
}

/// Waits until the thread of this name has given up its CPU so many times more.
fn wait_for_waits(pid: Pid, name: &str, more: u64) {
    let waits = || thread_status(pid.0, name).map_or(0, |(waits, _)| waits);
    let first = waits();
    wait_until(&format!("{more} waits of {name}"), || waits() >= first + more);
}

#[test]
fn a_running_process_is_attached_to_with_its_threads_and_maps() {
    let running = running("resident", FRAME_POINTERS);
    let pid = running.pid().expect("a process of the host");
    let target = Target::Processes(vec![pid]);
    let recording = attach("attached", target, || {
        wait_for_waits(pid, "ticker", 20);
        // Each young one is waited for by the first thread, which has paused before.
        wait_for_waits(pid, "resident", 6);
    });
    running.signal(culprit_place::Signal(9)).expect("it lives");
    running.wait().expect("it ends");
    let Some(recording) = recording else { return };
    if !stands_on("attached", &recording, Rung::KernelStacks) {
        return;
    }
    let ticker = thread(&recording, "ticker");
    assert_eq!(recording.thread(ticker).start, Time::START);
    let ticks = recording
        .switches
        .iter()
        .filter(|row| row.thread == ticker && row.kind == SwitchKind::Out)
        .filter_map(|row| row.stack)
        .filter(|stack| names(&recording, *stack).iter().any(|name| name == "resident!tick"))
        .count();
    assert!(ticks > 10, "twenty ticks were waited for, {ticks} seen");
    // Born while it was recorded.
    assert!(recording.threads.iter().any(|row| row.name.as_str() == "young"));
}

/// The functions where the threads of this name wait that never ran while they were recorded, and what is lost.
fn waits_of_sleepers(name: &str, flag: &str) -> Option<([Vec<String>; 2], Vec<String>)> {
    let running = running(name, flag);
    let pid = running.pid().expect("a process of the host");
    let target = Target::Processes(vec![pid]);
    let recording = attach(name, target, || wait_for_waits(pid, "ticker", 20));
    running.signal(culprit_place::Signal(9)).expect("it lives");
    running.wait().expect("it ends");
    let recording = recording.filter(|recording| stands_on(name, recording, Rung::Full))?;
    let waits = ["asleep", "reader"].map(|name| {
        let thread = thread(&recording, name);
        let rows: Vec<_> = recording.switches.iter().filter(|row| row.thread == thread).collect();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!((rows[0].time, rows[0].kind), (Time::START, SwitchKind::Out));
        names(&recording, rows[0].stack.expect("/proc shows kernel stacks to root"))
    });
    Some((waits, recording.losses.iter().map(|loss| loss.detail.to_string()).collect()))
}

/// These functions must be on a stack, in this order from the root.
fn assert_calls(stack: &[String], functions: &[&str]) {
    let mut left = stack.iter().rev();
    for function in functions {
        assert!(left.any(|name| name.contains(function)), "no {function} there: {stack:?}");
    }
}

#[test]
fn a_thread_that_never_ran_while_recorded_still_says_where_it_waits() {
    let found = waits_of_sleepers("sleeper", "-fomit-frame-pointer");
    let Some(([asleep, reader], _)) = found else { return };
    assert_calls(&asleep, &["sleeper!asleep", "sleeper!wait_for_good", "futex"]);
    assert_calls(&reader, &["sleeper!reader", "sleeper!serve", "!read_nothing", "pipe_read"]);
}

#[test]
fn a_thread_that_never_ran_while_recorded_has_callers_by_frame_pointers() {
    let found = waits_of_sleepers("framed", FRAME_POINTERS);
    let Some(([asleep, reader], losses)) = found else { return };
    // The frame pointer is in a register: where the kernel does not show those, a row says so.
    if losses.iter().any(|detail| detail.contains("is unknown: ")) {
        return eprintln!("skipped: framed: {losses:?}");
    }
    assert_calls(&asleep, &["framed!asleep", "framed!wait_for_good", "futex"]);
    assert_calls(&reader, &["framed!reader", "framed!serve", "!read_nothing", "pipe_read"]);
}

#[test]
fn a_running_cgroup_is_recorded_with_what_is_born_in_it() {
    let Ok(cgroup) = Cgroup::create(Position::Top) else {
        eprintln!("skipped: cgroup: making one takes root");
        return;
    };
    let program = compiled("tests/it/programs/resident.c", "member", &[FRAME_POINTERS]);
    let place = culprit_place::open(&"host".parse().expect("a place"), &Settings::default());
    let script = format!("{program} & read line; {program} & wait");
    let command = Command { stdin: Stdio::Pipe, ..Command::new(["sh", "-c", &script]) };
    let held = place.expect("the host").hold(&command, Some(&cgroup)).expect("it exists");
    let mut running = held.start().expect("it starts");
    let members = || {
        let ticks = |pid: &&Pid| thread_status(pid.0, "ticker").is_some();
        let all = cgroup.members().expect("it exists");
        all.iter().filter(ticks).copied().collect::<Vec<_>>()
    };
    wait_until("one program ticks", || members().len() == 1);
    let target = Target::Cgroup(cgroup.folder().to_owned());
    let stdin = running.take_stdin();
    let recording = attach("cgroup", target, || {
        stdin.expect("a pipe").write_all(b"go\n").expect("somebody reads");
        wait_until("two programs tick", || members().len() == 2);
        members().into_iter().for_each(|pid| wait_for_waits(pid, "ticker", 20));
    });
    for pid in cgroup.members().expect("it exists") {
        crate::support::tool("kill", &["-9", &pid.to_string()]);
    }
    running.wait().expect("it ends");
    let Some(recording) = recording else { return };
    let starts: Vec<_> = recording
        .processes
        .iter()
        .filter(|row| row.recorded && row.name.as_str() == "member")
        .map(|row| row.start)
        .collect();
    assert_eq!(starts.len(), 2, "{:?}", recording.processes);
    assert!(starts[0] == Time::START && starts[1] > Time::START, "{starts:?}");
    let ticks = recording
        .switches
        .iter()
        .filter_map(|row| row.stack)
        .filter(|stack| names(&recording, *stack).iter().any(|name| name == "member!tick"))
        .count();
    assert!(ticks > 20, "twenty ticks of each of two were waited for, {ticks} seen");
    assert!(!recording.counters.is_empty());
}

#[test]
fn the_whole_machine_can_be_recorded() {
    let _alone = culprit_testkit::alone();
    let own = std::process::id();
    let name = std::fs::read_to_string("/proc/thread-self/comm").expect("/proc");
    let target = Target::Machine;
    // Who waits here is recorded, too.
    let until = || wait_for_waits(Pid(own), name.trim_end(), 5);
    let Some(recording) = attach("machine", target, until) else { return };
    assert!(recording.processes.iter().any(|row| row.pid == Pid(own) && row.recorded));
    assert!(recording.threads.iter().all(|row| row.tid.0 != 0), "the idle loop is no thread");
}
