//! Thread time against a program that knows its own phases, and against the kernel's accounting.

use serde_json::Value;

use crate::support::{Lab, all_rights, number, skip, stdout};

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

#[test]
fn a_program_that_knows_its_phases_is_told_so() {
    if !all_rights() {
        return skip("phases", "kernel stacks need root");
    }
    let lab = Lab::new();
    let phases = lab.build("phases/phases.c", &[]);
    let folder = lab.path("").display().to_string();
    let output = lab.record("phases.culprit", &[phases.to_str().expect("UTF-8"), &folder]);
    let said = said(&stdout(&output));
    let line = |name: &str| said.iter().find(|line| line["phase"] == name).expect("phase");
    let phase = |name: &str| number(&line(name)["wall_ns"]);
    let report = lab.json(&["report", "phases.culprit", "--limit", "0"]);
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
    assert!(cause(&report, "phases", "blocked.fsync") > 0.0);
    // A disk may answer before the processor comes back to the program: then nobody waits for the
    // pages, only a few times for the kernel's workers that empty the lists of pages before.
    let waited = number(&line("fault")["waits"]) > 16.0;
    assert!(!waited || cause(&report, "phases", "blocked.fault") > 0.0, "{said:?}");
    assert!(cause(&report, "phases", "cpu.user") > 0.0);
    tiles(&report);
}

/// Every thread's causes sum to its life.
fn tiles(report: &Value) {
    for thread in report["threads"].as_array().expect("threads") {
        let life = number(&thread["wall_ns"]);
        let sum: f64 = thread["causes"].as_object().expect("causes").values().map(number).sum();
        assert!((life - sum).abs() <= 0.001 * life, "{thread}: causes sum to {sum}");
    }
}
