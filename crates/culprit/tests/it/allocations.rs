//! `record --alloc`: samples, their errors in views, and what is said where nothing can be sampled.

use serde_json::Value;

use crate::support::{Lab, all_rights, build, skip, stderr, stdout};

const KEEPS: &str = "../crates/record/tests/it/programs/keeps.c";

/// A lab for a test that needs all rights; none with the reason printed.
fn lab(test: &str) -> Option<Lab> {
    if all_rights() {
        return Some(Lab::new());
    }
    skip(test, "probes in programs take root");
    None
}

/// Records with options; stderr.
fn record(lab: &Lab, options: &[&str], command: &str) -> String {
    let mut record = lab.culprit();
    record.args(["record", "--force", "-o", "x.culprit"]).args(options).args(["--", command]);
    let output = record.output().expect("culprit runs");
    assert!(stderr(&output).contains("x.culprit"), "{}", stderr(&output));
    stderr(&output)
}

fn own(top: &Value, name: &str) -> (u64, f64) {
    let rows = top["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    row.map_or((0, 0.0), |row| (row["own"].as_u64().unwrap(), row["own_error"].as_f64().unwrap()))
}

#[test]
fn sampled_allocations_are_their_callers_own_with_an_error() {
    let Some(lab) = lab("sampled-own") else { return };
    let program = build(KEEPS, &[]);
    for place in ["host", "sandbox"] {
        // Of a mean of one byte each allocation is a sample, and its error is zero.
        record(&lab, &["--alloc=1", "--place", place], program.to_str().unwrap());
        let top = |metric: &str| lab.json(&["top", "x.culprit", "--metric", metric]);
        assert_eq!(own(&top("allocs"), "keeps!dropped"), (10, 0.0), "{place}");
        assert_eq!(own(&top("alloc-bytes"), "keeps!grown"), (4 * 4040, 0.0), "{place}");
        assert_eq!(own(&top("live-bytes"), "keeps!kept"), (9 * 500, 0.0), "{place}");
        assert_eq!(own(&top("live"), "keeps!dropped"), (0, 0.0), "{place}");
    }
    let text = lab.culprit().args(["top", "x.culprit", "--metric", "allocs"]).output().unwrap();
    let text = stdout(&text);
    assert!(
        text.starts_with("allocs of 1 thread, about ") && text.contains("standard error"),
        "{text}"
    );
}

#[test]
fn the_users_preloaded_libraries_stay_and_nothing_of_ours_does() {
    let Some(lab) = lab("sampled-environment") else { return };
    let mut record = lab.culprit();
    record.args(["record", "--alloc", "-o", "x.culprit", "--", "sh", "-c", "echo $LD_PRELOAD"]);
    let output = record.env("LD_PRELOAD", "libc.so.6").output().unwrap();
    let printed = stdout(&output);
    let library = printed.trim().strip_prefix("libc.so.6:").expect("the user's own comes first");
    assert!(library.ends_with("/libculprit-alloc.so"), "{printed}");
    assert!(!std::path::Path::new(library).exists(), "the library is removed");
}

#[test]
fn a_program_that_was_not_sampled_is_named_in_the_report() {
    let Some(lab) = lab("sampled-static-report") else { return };
    let program = build(KEEPS, &["-static"]);
    record(&lab, &["--alloc"], program.to_str().unwrap());
    let report = lab.culprit().args(["report", "x.culprit"]).output().unwrap();
    let text: String = stdout(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("it is linked statically"), "{text}");
    assert!(text.contains("--alloc=every"), "{text}");
}

#[test]
fn processes_that_run_already_are_refused_with_the_other_way() {
    let lab = Lab::new();
    let own = std::process::id().to_string();
    let output = lab.culprit().args(["record", "--alloc", "--pid", &own]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--alloc=every"), "{}", stderr(&output));
}

#[test]
fn the_cost_of_every_allocation_is_said_beforehand() {
    let Some(lab) = lab("every-warning") else { return };
    let program = build(KEEPS, &[]);
    let said = record(&lab, &["--alloc=every"], program.to_str().unwrap());
    assert!(said.contains("every allocation takes up to"), "{said}");
    let top = lab.json(&["top", "x.culprit", "--metric", "allocs"]);
    assert!(top["total"].as_u64().unwrap() >= 27 && top["total_error"].is_null(), "{top}");
}
