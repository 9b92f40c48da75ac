//! A process that moves to another cgroup, as managers of containers move what they start, and the CPUs that it may
//! use.

use culprit_model::counter_names::{ALLOWED_CPUS, MACHINE_CPU_NS};
use culprit_model::{LossKind, Rung};
use culprit_place::{Cgroup, Position};

use crate::support::{compiled, names, record, stands_on};

#[test]
fn a_process_that_moves_to_another_cgroup_stays_recorded() {
    const TEST: &str = "moved";
    let elsewhere = match Cgroup::create(Position::Top) {
        Ok(cgroup) => cgroup,
        Err(error) => return eprintln!("skipped: {TEST}: {error}"),
    };
    let flags = ["-static", "-fno-omit-frame-pointer"];
    let program = compiled("../../fixtures/named/named.c", "named", &flags);
    let processes = elsewhere.folder().join("cgroup.procs");
    // Who moves begins the program only there, as a container's first process does.
    let moves = "sh -c 'echo $$ > \"$0\"; \"$1\" 2; true' \"$0\" \"$1\"; true";
    let argv = ["sh", "-c", moves, &processes.to_string_lossy(), &program];
    let recording = record(TEST, &argv, |_| {}).recording;
    if !stands_on(TEST, &recording, Rung::Full) {
        return;
    }
    let samples = recording.samples.iter().filter(|row| {
        let process = recording.thread(row.thread).process;
        recording.process(process).exe.ends_with("/named")
    });
    let stacks = samples.filter_map(|row| row.stack).map(|stack| names(&recording, stack));
    let works = stacks.filter(|stack| stack.iter().any(|name| name == "named!churn_numbers"));
    assert!(works.count() >= 20, "two seconds of work at 499 samples a second");
    let gap = recording.losses.iter().find(|loss| loss.kind == LossKind::ThreadsNotAttached);
    let folder = elsewhere.folder().to_string_lossy();
    assert!(gap.is_some_and(|loss| loss.detail.contains(&*folder)), "{:?}", recording.losses);
}

#[test]
fn the_cpus_that_a_process_may_use_are_counted() {
    let argv = ["taskset", "-c", "0", "sleep", "1"];
    let recording = record("allowed cpus", &argv, |_| {}).recording;
    let mut readings = recording.counters.iter();
    let last = readings.rfind(|row| &*row.name == ALLOWED_CPUS).map(|row| row.value);
    assert_eq!(last, Some(1));
    let machine = recording.counters.iter().filter(|row| &*row.name == MACHINE_CPU_NS);
    let times: Vec<u64> = machine.map(|row| row.value).collect();
    assert!(times.len() >= 2 && times.is_sorted(), "{times:?}");
}
