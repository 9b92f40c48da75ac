//! A command from its first instruction: the sums agree with the kernel's own.

use culprit_model::{FaultKind, LossKind, Rung, SwitchKind, ThreadId, Time, WakeSource};

use crate::support::{Sums, TICK, lost, names, on_cpu, phases, record, scratch, stands_on, thread};

#[test]
fn a_thread_is_on_a_cpu_for_no_longer_than_it_lives() {
    let folder = scratch("lives");
    let recording = record("lives", &[&phases(), &folder], |_| {}).recording;
    assert_eq!(recording.meta.exit_code, Some(0));
    assert!(recording.meta.complete);
    if !stands_on("lives", &recording, Rung::UserOnly)
        || lost("lives", &recording, &[LossKind::SwitchesLost])
    {
        return;
    }
    for (at, row) in recording.threads.iter().enumerate().filter(|(_, row)| row.recorded) {
        let id = ThreadId::from_index(at);
        let (from, to) = (row.start, recording.thread_end(id));
        assert!(on_cpu(&recording, id, from, to) <= to.since(from), "{row:?}");
    }
    for name in ["phases", "helper"] {
        let row = thread(&recording, name);
        assert!(on_cpu(&recording, row, Time::START, recording.thread_end(row)).0 > 0, "{name}");
    }
    let sums = Sums::of(&recording);
    assert!(sums.cpu.kernels > 0 && sums.cpu.ours > 0, "{sums:?}");
}

#[test]
#[ignore = "statistical: make accuracy"]
fn the_phases_add_up_to_the_kernels_own_accounts() {
    let folder = scratch("phases");
    let recording = record("phases", &[&phases(), &folder], |_| {}).recording;
    if !stands_on("phases", &recording, Rung::UserOnly)
        || lost("phases", &recording, &[LossKind::SwitchesLost])
    {
        return;
    }
    let sums = Sums::of(&recording);
    eprintln!("{sums:?}");
    assert!(sums.cpu.kernels > 50_000_000, "the cpu phase alone is 300 ms of wall time");
    let exact = recording.meta.rung == Rung::Full;
    // Without tracepoints the recorder's own work at a switch, some microseconds, is not seen.
    let slack = sums.rough * TICK + sums.stolen + if exact { 2_000_000 } else { 30_000_000 };
    assert!(sums.cpu.apart() <= sums.cpu.kernels / 100 + slack, "on a CPU: {sums:?}");
    if exact {
        let run_queue = sums.run_queue;
        assert!(run_queue.apart() <= run_queue.kernels / 50 + slack, "on run queues: {sums:?}");
    }
}

#[test]
fn in_and_out_alternate_for_every_thread() {
    let folder = scratch("alternate");
    let recording = record("alternate", &[&phases(), &folder], |_| {}).recording;
    if !stands_on("alternate", &recording, Rung::UserOnly) {
        return;
    }
    let mut inside = vec![None; recording.threads.len()];
    for pair in recording.switches.windows(2) {
        assert!(pair[0].time <= pair[1].time, "switches are in order of time");
    }
    for switch in &recording.switches {
        let enters = switch.kind == SwitchKind::In;
        let state = &mut inside[switch.thread.index()];
        assert_ne!(*state, Some(enters), "thread {} at {}", switch.thread, switch.time);
        *state = Some(enters);
    }
}

#[test]
fn waits_have_kernel_and_user_frames_and_a_waker() {
    let folder = scratch("waits");
    let recording = record("waits", &[&phases(), &folder], |_| {}).recording;
    if !stands_on("waits", &recording, Rung::Full) {
        return;
    }
    let helper = thread(&recording, "helper");
    let waits: Vec<_> = recording
        .switches
        .iter()
        .filter(|row| row.thread == helper && row.kind == SwitchKind::Out)
        .collect();
    let shown: Vec<Vec<String>> =
        waits.iter().filter_map(|row| row.stack).map(|stack| names(&recording, stack)).collect();
    let has = |kernel: &str, user: &str| {
        shown.iter().any(|stack| {
            stack.iter().any(|name| name.contains(kernel))
                && stack.iter().any(|name| name == &format!("phases!{user}"))
        })
    };
    assert!(has("[kernel]!futex", "wait_for_lock"), "{shown:#?}");
    assert!(has("[kernel]!anon_pipe_read", "read_pipe") || has("pipe_read", "read_pipe"));
    let main = thread(&recording, "phases");
    let by_main = recording
        .wakeups
        .iter()
        .filter(|row| row.thread == helper && row.waker == Some(main))
        .count();
    // The writer sees the reader wait before each byte; who is woken on its way to wait has not left.
    assert!(by_main >= 10, "twenty bytes came through the pipe, {by_main} wakeups by main");
}

#[test]
fn what_ends_a_sleep_is_told() {
    let folder = scratch("sleeps");
    let recording = record("sleeps", &[&phases(), &folder], |_| {}).recording;
    let kinds = [LossKind::SwitchesLost, LossKind::SamplesLost, LossKind::StacksMissing];
    if !stands_on("sleeps", &recording, Rung::Full) || lost("sleeps", &recording, &kinds) {
        return;
    }
    let main = thread(&recording, "phases");
    let switches: Vec<_> = recording.switches.iter().filter(|row| row.thread == main).collect();
    let sleeps = switches.windows(2).filter(|pair| {
        let stack = pair[0].stack.map(|stack| names(&recording, stack)).unwrap_or_default();
        pair[0].kind == SwitchKind::Out && stack.iter().any(|name| name.contains("nanosleep"))
    });
    let ends: Vec<_> = sleeps
        .map(|pair| {
            let within = pair[0].time..=pair[1].time;
            let mut rows = recording.wakeups.iter();
            rows.find(|row| row.thread == main && within.contains(&row.time)).map(|row| row.source)
        })
        .collect();
    // One that is preempted on its way to sleep may find its time over when it goes on.
    assert!(ends.len() >= 10, "ten sleeps and twenty pauses, {} seen", ends.len());
    // An idle CPU may trace nothing: then all that is known is that no thread ended the sleep.
    let known = [WakeSource::Timer, WakeSource::Interrupt, WakeSource::Unseen].map(Some);
    // A timer whose time is over before its thread is off the CPU may be handled by a thread of the kernel.
    let others = ends.iter().filter(|end| !known.contains(end)).count();
    assert!(others <= ends.len() / 10, "{ends:?}");
}

#[test]
fn a_thread_off_its_cpu_has_a_state() {
    let folder = scratch("states");
    let recording = record("states", &[&phases(), &folder], |_| {}).recording;
    if !stands_on("states", &recording, Rung::Full) {
        return;
    }
    let helper = thread(&recording, "helper");
    let letters: Vec<_> = recording
        .switches
        .iter()
        .filter(|row| row.thread == helper && row.kind != SwitchKind::In)
        .map(|row| (row.kind, row.state.and_then(char::from_u32)))
        .collect();
    let waits = letters.iter().filter(|row| **row == (SwitchKind::Out, Some('S'))).count();
    assert!(waits >= 1, "a lock is held for 200 ms: {letters:?}");
    let fits = |(kind, letter): &(SwitchKind, Option<char>)| {
        letter.is_none_or(|letter| (letter == 'R') == (*kind == SwitchKind::Preempted))
    };
    assert!(letters.iter().all(fits), "{letters:?}");
}

#[test]
fn faults_from_the_disk_name_their_file() {
    let folder = scratch("faults");
    let recording = record("faults", &[&phases(), &folder], |_| {}).recording;
    if !stands_on("faults", &recording, Rung::UserOnly) {
        return;
    }
    let of_file = recording.faults.iter().filter(|row| {
        row.kind == FaultKind::Major
            && row.file.as_deref().is_some_and(|file| file.ends_with("phases.data"))
    });
    let count = of_file.count();
    assert!(count > 60, "128 pages are touched cold, {count} faults name the file");
    let minor: u64 = recording
        .faults
        .iter()
        .filter(|row| row.kind == FaultKind::Minor)
        .map(|row| row.count)
        .sum();
    assert!(minor > 50, "{minor} minor faults");
}

#[test]
fn children_are_rows_with_a_parent_and_an_end() {
    let folder = scratch("children");
    let recording = record("children", &[&phases(), &folder], |_| {}).recording;
    if !stands_on("children", &recording, Rung::UserOnly) {
        return;
    }
    let root = recording.meta.root_process.expect("the command's own process");
    let children: Vec<_> =
        recording.processes.iter().filter(|row| row.parent == Some(root)).collect();
    assert_eq!(children.len(), 3);
    for child in children {
        assert!(child.end > Some(child.start));
        assert_eq!(child.name.as_str(), "phases");
    }
    let row = recording.process(root);
    assert!(row.exe.ends_with("/phases"), "{}", row.exe);
    assert!(row.command_line.contains("phases"), "{}", row.command_line);
    assert_eq!(row.exit_code, Some(0));
    let (from, to) = recording.meta.command_span.expect("it ran");
    assert!(from > Time::START && to > from);
}

#[test]
fn a_command_that_ends_at_once_is_a_whole_recording() {
    let recording = record("at-once", &["true"], |_| {}).recording;
    assert_eq!(recording.meta.exit_code, Some(0));
    assert!(!recording.processes.is_empty());
    if stands_on("at-once", &recording, Rung::UserOnly) {
        assert!(recording.switches.iter().any(|row| row.kind == SwitchKind::In));
    }
}

#[test]
fn a_bound_on_the_size_keeps_the_newest_and_says_so() {
    let folder = scratch("bounded");
    let script = format!("for i in 1 2 3; do {} {folder}; done", phases());
    let change = |options: &mut culprit_record::Options| options.max_event_bytes = Some(30_000);
    let recording = record("bounded", &["sh", "-c", &script], change).recording;
    if !stands_on("bounded", &recording, Rung::UserOnly) {
        return;
    }
    let dropped = recording.losses.iter().find(|loss| loss.kind == LossKind::OldestDropped);
    assert!(dropped.is_some_and(|loss| loss.count > 0), "{:?}", recording.losses);
    let (from, _) = recording.meta.command_span.expect("it ran");
    let first = recording.switches.first().expect("the newest are kept").time;
    // The shell and the first program have switched before.
    let children = recording.processes.iter().filter(|row| row.name.as_str() == "phases");
    let born = children.map(|row| row.start).min().expect("the shell started it");
    assert!(first > from && first > born, "the oldest are gone, {first} is not");
}
