//! Folders of tables: views show what they show of the recordings, whoever adds up.

use std::path::Path;

use culprit_testkit::spark::{SparkCluster, SparkServer};
use culprit_testkit::wait_until;
use serde_json::Value;

use crate::fleet::{lab, run};
use crate::support::{Lab, skip, stderr};

/// The lab with its tables; none where the companion has not been built.
fn tables() -> Option<Lab> {
    let companion = Path::new(env!("CARGO_BIN_EXE_culprit")).with_file_name("culprit-data");
    if !companion.is_file() {
        skip("fleet tables", "`culprit-data` has not been built");
        return None;
    }
    let lab = lab();
    run(&lab, "export runs --to tables -o tables --quiet");
    Some(lab)
}

/// Rows without what tables do not know: when something happened, and lines.
fn rows(document: &Value) -> Vec<Value> {
    let keys = ["name", "own", "inc", "exc", "count"];
    let row = |row: &Value| keys.iter().map(|key| row[*key].clone()).collect::<Value>();
    let mut rows: Vec<Value> = document["rows"].as_array().unwrap().iter().map(row).collect();
    rows.sort_by_key(ToString::to_string);
    rows
}

/// A view of the recordings and of their tables.
fn assert_same(lab: &Lab, engine: &[&str]) {
    let of = |words: &[&str]| lab.json(words);
    for by in [&[][..], &["--by", "host"], &["--by", "day"]] {
        let expected = of(&[&["top", "runs", "--limit", "0"], by].concat());
        let found = of(&[&["top", "tables", "--limit", "0"], by, engine].concat());
        assert_eq!(rows(&found), rows(&expected), "{by:?}");
        assert!(rows(&found).len() > 3 && found["total"] == expected["total"]);
        assert_eq!(found["fleet"]["groups"], expected["fleet"]["groups"]);
        let expected = of(&[&["findings", "runs", "--all"], by].concat());
        let found = of(&[&["findings", "tables", "--all"], by, engine].concat());
        assert_eq!(without_file(found), without_file(expected), "{by:?}");
    }
    let expected = of(&["diff", "runs", "runs"]);
    let found = of(&[&["diff", "tables", "tables"], engine].concat());
    for side in ["before", "after"] {
        for key in ["total", "units"] {
            assert_eq!(found[side][key], expected[side][key], "{found} {expected}");
        }
    }
}

/// Tables name a recording without its folder.
fn without_file(mut document: Value) -> Value {
    for finding in document["findings"].as_array_mut().unwrap() {
        let file = finding["worst_file"].as_str().unwrap();
        finding["worst_file"] = file.rsplit('/').next().unwrap().into();
    }
    document
}

#[test]
fn tables_of_a_folder_show_what_its_recordings_show() {
    let Some(lab) = tables() else { return };
    assert_same(&lab, &[]);
    let filtered = lab.json(&["top", "tables", "--inc", "lock", "--metric", "run"]);
    assert_eq!(filtered["total"], 300_000_000);
    for (line, word) in [
        ("top tables --from 1s", "--from"),
        ("top tables --by team", "no labels"),
        ("findings tables --inc x", "export"),
        ("top runs --engine sc://127.0.0.1:1", "--to tables"),
        ("diff runs tables --engine sc://127.0.0.1:1", "--to tables"),
    ] {
        let output = lab.culprit().args(line.split_whitespace()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{line}: {}", stderr(&output));
    }
    let arguments = ["top", "tables", "--engine", "sc://127.0.0.1:1", "--json"];
    let output = lab.culprit().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["exit_code"], 3);
}

#[test]
fn an_engine_adds_up_tables_as_this_machine_does() {
    let Some(lab) = tables() else { return };
    match SparkServer::sail() {
        Ok(server) => assert_same(&lab, &["--engine", &server.address()]),
        Err(why) => {
            skip("fleet tables", &format!("pysail: python3 with venv, and pip install ({why})"));
        }
    }
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_cluster_adds_up_tables_although_a_worker_ends() {
    let Some(lab) = tables() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = match SparkCluster::start(folder.path()) {
        Ok(cluster) => cluster,
        Err(why) => {
            return skip("fleet tables", &format!("pyspark: python3, pip install, a Java ({why})"));
        }
    };
    let address = cluster.address();
    assert_same(&lab, &["--engine", &address]);
    let before = cluster.tasks_of_first_worker();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| assert_same(&lab, &["--engine", &address]));
        let runs = || cluster.tasks_of_first_worker() > before + 5 || asking.is_finished();
        wait_until("the worker that is to end runs tasks", runs);
        assert!(!asking.is_finished());
        cluster.end_worker();
        asking.join().unwrap();
    });
}
