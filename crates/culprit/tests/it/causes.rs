//! Every kind of wait has its cause, measured against a program with one thread a kind.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Lab, all_rights, fixtures, number, program, skip, stdout};

/// Kind of wait, and the cause that it must get.
fn kinds(waits: &std::path::Path) -> BTreeMap<String, String> {
    let listed = program(waits).arg("--list").output().expect("waits --list");
    let lines = stdout(&listed);
    lines
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        })
        .collect()
}

/// Time off the CPU by cause, of all threads of one name.
fn off_cpu(report: &Value) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut sums: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for thread in report["threads"].as_array().expect("threads") {
        let name = thread["name"].as_str().expect("a name").to_owned();
        let sum = sums.entry(name).or_default();
        for (cause, time) in thread["causes"].as_object().expect("causes") {
            if !cause.starts_with("cpu.") {
                *sum.entry(cause.clone()).or_default() += number(time);
            }
        }
    }
    sums
}

#[test]
fn each_kind_of_wait_gets_its_cause_on_99_percent_of_its_time() {
    if !all_rights() {
        return skip("causes", "kernel stacks of all kinds of waits need root");
    }
    let lab = Lab::new();
    let status = program("make")
        .args(["-s", "-C"])
        .arg(fixtures().join("waits"))
        .arg(format!("OUT={}", lab.path("").display()))
        .status();
    assert!(status.expect("make").success());
    let waits = lab.path("waits");
    let kinds = kinds(&waits);
    assert!(kinds.len() > 40, "only {} kinds", kinds.len());
    let waits = waits.to_str().expect("UTF-8").to_owned();
    let folder = lab.path("").display().to_string();
    // Long enough that how the threads begin and are ended, when all is over, is below a hundredth.
    lab.record("waits.culprit", &[&waits, "--seconds", "8", "--folder", &folder]);
    let sums = off_cpu(&lab.json(&["report", "waits.culprit"]));
    let mut wrong = Vec::new();
    for (kind, cause) in &kinds {
        let Some(found) = sums.get(kind) else {
            wrong.push(format!("{kind}: no thread of this name"));
            continue;
        };
        // Time in which a thread was ready is no wait; a kind that is about it has no other.
        let waits = |of: &str| (of.starts_with("blocked.")) == (cause.starts_with("blocked."));
        let whole: f64 = found.iter().filter(|(of, _)| waits(of)).map(|(_, time)| time).sum();
        let right = found.get(cause).copied().unwrap_or_default();
        if right < 0.99 * whole || whole == 0.0 {
            wrong.push(format!("{kind}: {cause} has {right} of {whole} ns: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
