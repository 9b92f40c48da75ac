//! Every kind of wait has its cause, measured against a program with one thread a kind.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::{Lab, all_rights, disturbed, fixtures, number, program, skip, stdout};

/// How often a kind is measured at most.
const TRIES: usize = 3;

/// Kind of wait, and the cause that it must get.
type Kinds = BTreeMap<String, String>;

fn kinds(waits: &Path) -> Kinds {
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

/// True for kinds that wait for what is done as fast as it can be: the disk, the CPU, the memory
/// map. They switch so often that not every switch of their CPU gets a stack of its own, so they
/// are recorded apart from those that wait for a beat.
fn is_busy(cause: &str) -> bool {
    let busy = ["runnable", "blocked.memory", "blocked.disk", "blocked.fault", "blocked.fsync"];
    busy.contains(&cause)
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

/// What is wrong with a kind's time; none when its cause has 99 % of it.
fn wrong(kind: &str, cause: &str, found: Option<&BTreeMap<String, f64>>) -> Option<String> {
    let Some(found) = found else { return Some(format!("{kind}: no thread of this name")) };
    // Time in which a thread was ready is no wait; a kind that is about it has no other.
    let waits = |of: &str| (of.starts_with("blocked.")) == (cause.starts_with("blocked."));
    let whole: f64 = found.iter().filter(|(of, _)| waits(of)).map(|(_, time)| time).sum();
    let right = found.get(cause).copied().unwrap_or_default();
    let fine = whole > 0.0 && right >= 0.99 * whole;
    (!fine).then(|| format!("{kind}: {cause} has {right} of {whole} ns: {found:?}"))
}

/// Records the kinds and judges each; those that are wrong once more, alone, where the recording
/// says itself that it was disturbed.
fn check(lab: &Lab, mut kinds: Kinds) {
    let waits = lab.path("waits").display().to_string();
    let folder = lab.path("").display().to_string();
    for attempt in 1.. {
        let names: Vec<&str> = kinds.keys().map(String::as_str).collect();
        let only = names.join(",");
        // Long enough that how the threads begin and are ended, when all is over, is below a
        // hundredth.
        let command = [&waits, "--seconds", "5", "--folder", &folder, "--only", &only];
        lab.record("waits.culprit", &command);
        let report = lab.json(&["report", "waits.culprit"]);
        let sums = off_cpu(&report);
        let wrong: BTreeMap<String, String> = kinds
            .iter()
            .filter_map(|(kind, cause)| Some((kind.clone(), wrong(kind, cause, sums.get(kind))?)))
            .collect();
        if wrong.is_empty() {
            return;
        }
        let again = attempt < TRIES && disturbed(&report).is_some();
        assert!(again, "{:?}\n{:#?}", disturbed(&report), wrong.values());
        kinds.retain(|kind, _| wrong.contains_key(kind));
    }
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
    let kinds = kinds(&lab.path("waits"));
    assert!(kinds.len() > 40, "only {} kinds", kinds.len());
    let (busy, calm): (Kinds, Kinds) = kinds.into_iter().partition(|(_, cause)| is_busy(cause));
    check(&lab, calm);
    check(&lab, busy);
}
