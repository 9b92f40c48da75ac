//! Programs that switch hundreds of thousands of times a second: their times stay complete, stacks are thinned on
//! purpose and evenly, and what hands over so often is named.
//!
//! The programs of `fixtures/loss` print how often they waited, as the kernel counts it. Nothing here depends on how
//! fast the machine is.

use serde_json::Value;

use crate::support::{Lab, all_rights, build, number, skip, stdout};

/// Share by which counts may differ: threads that were created before they were seen.
const APART: f64 = 0.005;

fn loss<'a>(report: &'a Value, id: &str) -> Option<&'a Value> {
    report["losses"].as_array().expect("losses").iter().find(|loss| loss["id"] == id)
}

/// The findings that name the program's own doing: a busy machine adds waits for a CPU to any program.
fn of_the_program(report: &Value) -> Vec<&Value> {
    const OF_THE_MACHINE: [&str; 2] = ["run-queue", "neighbour-cpu"];
    let all = report["findings"].as_array().expect("findings").iter();
    let own = |found: &&Value| {
        let id = found["id"].as_str().expect("an id");
        number(&found["cost_ns"]) > 0.0 && !OF_THE_MACHINE.contains(&id)
    };
    all.filter(own).collect()
}

/// Records a program and holds its recording against what it says; its first finding must point at `function`.
fn holds(source: &str, function: &str) {
    if !all_rights() {
        return skip(source, "kernel stacks need root");
    }
    let (lab, program) = (Lab::new(), build(&format!("loss/{source}"), &[]));
    let output = lab.record("x.culprit", &[program.to_str().expect("UTF-8")]);
    let said = stdout(&output);
    let said: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("counts");
    let report = lab.json(&["report", "x.culprit"]);
    for id in ["switches-lost", "samples-lost", "recorder-killed"] {
        assert!(loss(&report, id).is_none(), "{source}: {}", report["losses"]);
    }
    let waits = number(&lab.json(&["top", "x.culprit", "--metric", "waits"])["total"]);
    let counted = number(&said["waits"]);
    assert!((waits - counted).abs() <= APART * counted, "{source}: {waits} of {counted} waits");
    let own = of_the_program(&report);
    let first = own.first().unwrap_or_else(|| panic!("{source}: {}", report["findings"]));
    let at = first["where"].as_array().expect("places").iter();
    let names = at.flat_map(|place| place["stack"].as_array().expect("a stack"));
    let mut names = names.filter_map(Value::as_str);
    assert!(names.any(|name| name.contains(function)), "{source}: {first}");
    // A machine so busy that the program switches seldom thins nothing.
    let Some(thinned) = loss(&report, "stacks-thinned") else { return };
    let detail = thinned["detail"].as_str().expect("a detail");
    assert!(detail.contains("1 switch in "), "{source}: {detail}");
    assert!(number(&thinned["count"]) < waits * 1.5, "{source}: {thinned} of {waits} waits");
}

#[test]
fn pairs_of_processes_that_hand_over_bytes_lose_nothing() {
    holds("pairs.c", "hand_over");
}

#[test]
fn threads_that_take_turns_lose_nothing() {
    holds("baton.c", "take_turn");
}

#[test]
fn a_ring_of_threads_loses_nothing() {
    holds("ring.c", "pass_on");
}
