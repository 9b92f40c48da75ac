//! The two programs beside each other, on a recording of real programs: one says in SQL what the
//! other reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use culprit_query::questions;
use serde_json::Value;

use crate::support::{Lab, program, stderr};

/// Processes, threads that wait for each other, time on CPUs and off them.
const COMMAND: &str = "sleep 0.05; head -c 20000000 /dev/zero | gzip | wc -c";

/// `culprit ARGUMENTS` in the lab's folder.
fn culprit(path: &Path, lab: &Lab, arguments: &[&str]) -> Command {
    let mut command = program(path);
    command.current_dir(lab.path(".")).args(arguments).stdin(Stdio::null());
    command
}

/// The main program and a lab in which it has recorded `real.culprit`; none where it has not been
/// built or may not record.
fn recorded() -> Option<(PathBuf, Lab)> {
    let path = Path::new(env!("CARGO_BIN_EXE_culprit-data")).with_file_name("culprit");
    if !path.is_file() {
        println!("skipped: beside: `culprit` has not been built");
        return None;
    }
    let lab = Lab::new();
    let arguments = ["record", "-o", "real.culprit", "--", "sh", "-c", COMMAND];
    let output = culprit(&path, &lab, &arguments).output().unwrap();
    if !output.status.success() {
        println!("skipped: beside: recording is not allowed here");
        return None;
    }
    Some((path, lab))
}

/// The one document that a command prints with `--json`.
fn document(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_real_recording_is_answered_as_it_is_reported() {
    let Some((path, lab)) = recorded() else { return };
    for recording in ["run.culprit", "real.culprit"] {
        let report = document(&mut culprit(&path, &lab, &["report", recording, "--json"]));
        let mut expected = BTreeMap::new();
        for thread in report["threads"].as_array().unwrap() {
            for (cause, time) in thread["causes"].as_object().unwrap() {
                let key = format!("{} {} {cause}", thread["pid"], thread["tid"]);
                *expected.entry(key).or_insert(0) += time.as_u64().unwrap();
            }
        }
        let sql = "SELECT pid, tid, cause, total FROM thread_states WHERE total > 0";
        let answer = document(&mut lab.command(&["--json", recording, sql]));
        let mut found = BTreeMap::new();
        for row in answer["rows"].as_array().unwrap() {
            let key = format!("{} {} {}", row[0], row[1], row[2].as_str().unwrap());
            *found.entry(key).or_insert(0) += row[3].as_u64().unwrap();
        }
        assert!(!found.is_empty());
        assert_eq!(found, expected, "{recording}");
    }
    let mut answered = 0;
    for question in questions() {
        let answer = document(&mut lab.command(&["--json", ".", question.sql]));
        answered += usize::from(!answer["rows"].as_array().unwrap().is_empty());
    }
    assert!(answered >= 7, "{answered} questions had rows");
}
