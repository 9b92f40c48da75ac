//! The three forms of an answer.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Lab, project, stderr, stdout};

const STATES: &str = "SELECT thread_name, cause, total, count FROM thread_states ORDER BY cause";

#[test]
fn a_table_is_aligned_and_has_units_of_time() {
    let text = Lab::new().answer(&["run.culprit", STATES]);
    insta::assert_snapshot!(text, @r"
    thread_name  cause          total (ns)  count
    main         blocked.sleep    40000000      1
    main         cpu.user         60000000      2
    ");
}

#[test]
fn names_from_outside_cannot_reach_the_terminal() {
    let text = Lab::new().answer(&["SELECT chr(27) || '[2J' AS name, NULL AS nothing"]);
    assert_eq!(text, "name       nothing\n\\u{1b}[2J  -\n");
}

#[test]
fn comma_separated_values_have_a_line_of_names() {
    let text = Lab::new().answer(&["--csv", "run.culprit", STATES]);
    assert_eq!(
        text,
        "thread_name,cause,total,count\nmain,blocked.sleep,40000000,1\nmain,cpu.user,60000000,2\n"
    );
}

#[test]
fn what_is_cut_is_told() {
    let lab = Lab::new();
    let numbers = "SELECT value FROM range(0, 150)";
    let output = lab.sql(&[numbers]);
    assert_eq!(stdout(&output).lines().count(), 101);
    assert!(stderr(&output).contains("100 of 150 rows; `--limit 0`"), "{}", stderr(&output));
    assert_eq!(lab.answer(&["--limit", "0", numbers]).lines().count(), 151);
    assert_eq!(lab.answer(&["--csv", numbers]).lines().count(), 151);
    let output = lab.sql(&["--limit", "3", "--quiet", "SELECT value FROM range(0, 9000000)"]);
    assert_eq!((stdout(&output).lines().count(), stderr(&output)), (4, String::new()));
    let document: Value = serde_json::from_str(&lab.answer(&[
        "--json",
        "--limit",
        "3",
        "SELECT value FROM range(0, 9000000)",
    ]))
    .unwrap();
    assert_eq!(document["cut"]["exact"], false);
    assert_eq!(document["rows"].as_array().unwrap().len(), 3);
}

/// Every path of a document that ends in a value.
fn paths(at: &str, value: &Value, found: &mut BTreeSet<String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| paths(&below(key), value, found));
        }
        Value::Array(values) => {
            values.iter().for_each(|value| paths(&format!("{at}[]"), value, found));
        }
        _ => {
            found.insert(at.to_owned());
        }
    }
}

#[test]
fn the_document_has_the_keys_that_are_documented() {
    let lab = Lab::new();
    let bytes = std::fs::read(lab.path("run.culprit")).unwrap();
    std::fs::write(lab.path("cut.culprit"), &bytes[..bytes.len() - 100]).unwrap();
    let mut found = BTreeSet::new();
    for arguments in [
        &["--json", "--limit", "1", "run.culprit", "cut.culprit", STATES][..],
        &["--json", "run.culprit", STATES],
        &["--json", "run.culprit", "SELECT 1 / (90000 - value) FROM range(0, 100000)"],
    ] {
        let output = lab.sql(arguments);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], 1);
        paths("", &document, &mut found);
    }
    let text = std::fs::read_to_string(project("docs/json.md")).unwrap();
    let (_, section) = text.split_once("## sql\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<&str> = rows.collect();
    let covered = |key: &String| {
        let of_null = documented.iter().any(|known| known.starts_with(&format!("{key}.")));
        let of_hole = key.starts_with("recordings[].missing[].");
        documented.contains(key.as_str()) || of_null || of_hole
    };
    let unknown: Vec<_> = found.iter().filter(|key| !covered(key)).collect();
    assert!(unknown.is_empty(), "docs/json.md, section sql, lacks {unknown:?}");
    let printed = |key: &&str| {
        found.contains(*key) || found.iter().any(|found| found.starts_with(&format!("{key}.")))
    };
    let never: Vec<_> = documented.iter().filter(|key| !printed(key)).collect();
    assert!(never.iter().all(|key| key.starts_with("error")), "never printed: {never:?}");
}

#[test]
fn questions_come_from_files_and_from_stdin() {
    let lab = Lab::new();
    std::fs::write(lab.path("q.sql"), "-- how many\nSELECT count(*) AS n FROM intervals;\n")
        .unwrap();
    let expected = lab.answer(&["-f", "q.sql", "run.culprit"]);
    assert_eq!(expected, "n\n3\n");
    for arguments in [&["run.culprit", "-"][..], &["-f", "-", "run.culprit"]] {
        let file = std::fs::File::open(lab.path("q.sql")).unwrap();
        let output = lab.command(arguments).stdin(file).output().unwrap();
        assert_eq!(stdout(&output), expected, "{}", stderr(&output));
    }
}

#[test]
fn a_folder_stands_for_its_recordings() {
    let lab = Lab::new();
    std::fs::copy(lab.path("run.culprit"), lab.path("again.culprit")).unwrap();
    let text =
        lab.answer(&[".", "SELECT recording, count(*) AS n FROM intervals GROUP BY 1 ORDER BY 1"]);
    assert_eq!(text, "recording  n\nagain      3\nrun        3\n");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let lab = Lab::new();
    let mut command = lab.command(&["--csv", "SELECT value FROM range(0, 3000000)"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}
