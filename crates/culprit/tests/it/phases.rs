//! Thread time against a program that knows its own phases, and against the kernel's accounting.

use serde_json::Value;

use crate::support::{Lab, all_rights, build, number, skip, stdout};

/// What the program said of its phases, a line each.
fn said(output: &str) -> Vec<Value> {
    output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn cause(report: &Value, thread: &str, cause: &str) -> f64 {
    report["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .filter(|row| row["name"] == thread)
        .filter_map(|row| row["causes"][cause].as_f64())
        .sum()
}

/// Records the program; what it says of its phases, and the report. None where that is not allowed.
fn recorded(test: &str) -> Option<(Vec<Value>, Value)> {
    if !all_rights() {
        skip(test, "kernel stacks need root");
        return None;
    }
    let lab = Lab::new();
    let phases = build("phases/phases.c", &[]);
    let folder = lab.path("").display().to_string();
    let output = lab.record("phases.culprit", &[phases.to_str().expect("UTF-8"), &folder]);
    Some((said(&stdout(&output)), lab.json(&["report", "phases.culprit", "--limit", "0"])))
}

fn line<'a>(said: &'a [Value], phase: &str) -> &'a Value {
    said.iter().find(|line| line["phase"] == phase).expect("phase")
}

#[test]
fn each_phase_of_a_program_has_its_cause() {
    let Some((said, report)) = recorded("phases") else { return };
    for (thread, word) in [
        ("helper", "blocked.lock"),
        ("helper", "blocked.pipe"),
        ("phases", "blocked.sleep"),
        ("phases", "blocked.child"),
        ("phases", "blocked.fsync"),
        ("phases", "cpu.user"),
    ] {
        assert!(cause(&report, thread, word) > 0.0, "{thread} has no {word}: {report}");
    }
    // Nobody else reads from a pipe: the helper was in that phase longer than it waited there.
    let pipe = cause(&report, "helper", "blocked.pipe");
    assert!(pipe <= number(&line(&said, "read-pipe")["wall_ns"]), "{pipe} {said:?}");
    // A disk may answer before the processor comes back to the program: then nobody waits for the
    // pages, only a few times for the kernel's workers that empty the lists of pages before.
    let waited = number(&line(&said, "fault")["waits"]) > 16.0;
    assert!(!waited || cause(&report, "phases", "blocked.fault") > 0.0, "{said:?}");
    tiles(&report);
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_program_that_knows_its_phases_is_told_so() {
    let Some((said, report)) = recorded("phases, all of their time") else { return };
    let phase = |name: &str| number(&line(&said, name)["wall_ns"]);
    // The lock's holder and the pipe's writer sleep meanwhile.
    let slept = phase("sleep") + phase("hold-lock") + phase("write-pipe");
    let pairs = [
        ("helper", "blocked.lock", phase("wait-for-lock")),
        ("helper", "blocked.pipe", phase("read-pipe")),
        ("phases", "blocked.sleep", slept),
        ("phases", "blocked.child", phase("child")),
    ];
    // The children have the parent's name and sleep for 40 ms each.
    let children = |word| if word == "blocked.sleep" { 120e6 } else { 0.0 };
    for (thread, word, expected) in pairs {
        let found = cause(&report, thread, word);
        // What is missing was time ready or running on a busy machine; the sum must never be more
        // than the phase by more than what surrounds it.
        let others = ["runnable", "cpu.user", "cpu.kernel"];
        let busy: f64 = others.iter().map(|other| cause(&report, thread, other)).sum();
        assert!(
            found > 0.2 * expected
                && found + busy > 0.98 * expected
                && found < 1.15 * expected + 2e6 + children(word),
            "{thread}: {word} has {found} ns and is busy for {busy}, the program says {expected}"
        );
    }
}

/// Every thread's causes sum to its life.
fn tiles(report: &Value) {
    for thread in report["threads"].as_array().expect("threads") {
        let life = number(&thread["wall_ns"]);
        let sum: f64 = thread["causes"].as_object().expect("causes").values().map(number).sum();
        assert!((life - sum).abs() <= 0.001 * life, "{thread}: causes sum to {sum}");
    }
}
