//! `bench cmd` and `verify` of commands that fail: their times are shown and nothing is called faster.

use std::process::Output;

use serde_json::Value;

use crate::support::{Lab, number, stderr, stdout};

const QUICK: [&str; 4] = ["-i", "-r5", "-w0", "--no-control"];

fn bench(lab: &Lab, arguments: &[&str]) -> Output {
    lab.culprit().args(["bench", "cmd"]).args(QUICK).args(arguments).output().unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn a_command_that_fails_is_not_called_faster() {
    let lab = Lab::new();
    let commands = ["sleep 0.05", "exit 3"];
    let output = bench(&lab, &commands);
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let first = told.lines().next().unwrap();
    assert_eq!(first, "exit 3 fails in 5 of 5 runs (exit status 3): no verdict.");
    assert!(!told.contains("as fast") && !told.contains("times that of"), "{told}");
    assert!(told.lines().any(|line| line.starts_with("exit 3  ")), "its times: {told}");
    for (fail_on, code) in [("faster", 0), ("slower", 0), ("same", 0), ("unclear", 1)] {
        let output = bench(&lab, &[&["--fail-on", fail_on], &commands[..]].concat());
        assert_eq!(output.status.code(), Some(code), "{fail_on}: {}", stdout(&output));
    }
    let answer = document(&bench(&lab, &[&["--json"], &commands[..]].concat()));
    let rows = answer["compare"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["verdict"] == "failed"), "{answer}");
    assert!(number(&answer["places"][1]["median_ns"]) > 0.0, "{answer}");
    let output = bench(&lab, &[&["--export-csv", "-"], &commands[..]].concat());
    assert!(stdout(&output).lines().last().unwrap().ends_with(",failed"), "{}", stdout(&output));
}

#[test]
fn a_baseline_that_fails_is_named() {
    let lab = Lab::new();
    let output = bench(&lab, &["--fail-on", "slower", "exit 3", "sleep 0.05"]);
    let told = stdout(&output);
    let first = told.lines().next().unwrap();
    assert_eq!(first, "exit 3 fails in 5 of 5 runs (exit status 3): no verdict on sleep 0.05.");
    assert_eq!(output.status.code(), Some(0), "{told}");
    let told = stdout(&bench(&lab, &["exit 3", "exit 4"]));
    let both = "exit 4 fails in 5 of 5 runs (exit status 4) and exit 3 fails in 5 of 5 runs (exit status 3): no verdict.";
    assert!(told.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(both), "{told}");
}

#[test]
fn a_command_that_fails_now_and_then_has_no_verdict() {
    let lab = Lab::new();
    let second = "echo >> runs; [ $(wc -l < runs) -ne 2 ]";
    let output = bench(&lab, &["-n", "steady", "-n", "flaky", "sleep 0.05", second]);
    let told = stdout(&output);
    assert!(told.starts_with("flaky fails in 1 of 5 runs (exit status 1): no verdict."), "{told}");
}

#[test]
fn commands_that_end_alike_are_compared_whatever_their_status() {
    let lab = Lab::new();
    let output = bench(&lab, &["--json", "sleep 0.05; exit 3", "exit 3"]);
    let answer = document(&output);
    assert_eq!(answer["compare"][0]["verdict"], "faster", "{answer}");
}

#[test]
fn verify_calls_no_fix_faster_that_fails() {
    let lab = Lab::new();
    let verify = |more: &[&str]| {
        let arguments = ["verify", "--before", "sleep 0.05", "--after", "exit 3"];
        lab.culprit().args(arguments).args(QUICK).args(more).output().unwrap()
    };
    let output = verify(&["--no-record"]);
    let told = stdout(&output);
    assert!(told.starts_with("after fails in 5 of 5 runs (exit status 3): no verdict."), "{told}");
    let answer = document(&verify(&["--no-record", "--json"]));
    assert_eq!(answer["verdict"], "failed", "{answer}");
    // No finding is gone because the command did not do its work.
    let output = verify(&["--json", "--record", "r", "--record-rounds", "1"]);
    if output.status.success() {
        let answer = document(&output);
        assert!(answer["findings"].as_array().unwrap().is_empty(), "{answer}");
        assert_eq!(answer["recordings"], "r");
    }
}

#[test]
fn a_comma_with_a_backslash_is_part_of_a_value() {
    let lab = Lab::new();
    let once = ["-w0", "-r1", "--no-control", "-S", "default"];
    let list = ["-L", "x", r"a\,b,c", "echo '{x}' >> log"];
    let output = lab.culprit().args(["bench", "cmd"]).args(once).args(list).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let log = std::fs::read_to_string(lab.path("log")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a,b", "c"]);
}
