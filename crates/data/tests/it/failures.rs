//! Errors: in words, with a way out, and with the exit code of the contract.

use std::process::Output;

use serde_json::Value;

use crate::site::Site;
use crate::support::{Lab, program, project, stderr, stdout};

fn failed(lab: &Lab, arguments: &[&str], code: i32) -> String {
    let output: Output = lab.sql(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    assert!(output.stdout.is_empty(), "{}", stdout(&output));
    stderr(&output)
}

#[test]
fn wrong_questions_and_files_end_with_2() {
    let lab = Lab::new();
    std::fs::write(lab.path("notes.txt"), "notes").unwrap();
    for (arguments, words) in [
        (&["run.culprit", "SELECT * FROM interval"][..], "did you mean `intervals`"),
        (&["run.culprit", "SELECT durations FROM intervals"], "did you mean `duration`"),
        (&["run.culprit", "SELECT 1 FORM x y"], "line 1, column"),
        (&["run.culprit", "DROP TABLE threads"], "questions can only read"),
        (&["run.culprit"], "the question is missing"),
        (&["missing.culprit", "SELECT 1"], "missing.culprit"),
        (&["notes.txt", "SELECT 1"], "not a recording"),
        (&["SELECT * FROM threads"], "no recording is given"),
        (&["run.culprit", ""], "empty"),
        (&["-f", "none.sql", "run.culprit"], "none.sql"),
    ] {
        let said = failed(&lab, arguments, 2);
        assert!(said.contains(words) && said.starts_with("error: "), "{arguments:?}: {said}");
    }
    std::fs::create_dir(lab.path("empty")).unwrap();
    assert!(failed(&lab, &["empty", "SELECT 1"], 2).contains("contains no recording"));
}

#[test]
fn too_little_memory_ends_with_3_and_says_how_to_have_more() {
    let lab = Lab::new();
    let sql =
        "SELECT count(*) FROM (SELECT DISTINCT value * 7919 % 3000017 FROM range(0, 3000000))";
    let said = failed(&lab, &["--memory", "4", sql], 3);
    assert!(said.contains("more memory than 4 MiB") && said.contains("--memory"), "{said}");
}

#[test]
fn with_json_a_failure_is_a_document() {
    let lab = Lab::new();
    let output = lab.sql(&["--json", "run.culprit", "SELECT * FROM interval"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["exit_code"], 2);
    assert!(document["error"]["hint"].as_str().unwrap().contains("`intervals`"));
}

/// Every subcommand, down to those of `audit clean`.
#[test]
fn with_json_a_wrong_argument_is_a_document() {
    let lab = Lab::new();
    let run = |arguments: &[&str]| {
        let mut command = program(env!("CARGO_BIN_EXE_culprit-data"));
        command.args(arguments).args(["--json", "--nonsense"]).output().unwrap()
    };
    let audit =
        "import refresh sample visits robots blacklist orphans bloat cap impact diff report";
    let clean = "plan show verify apply undo status";
    let mut all = vec![vec!["sql"], vec!["audit"], vec!["audit", "nonsense"]];
    all.extend(audit.split(' ').map(|name| vec!["audit", name]));
    all.extend(clean.split(' ').map(|name| vec!["audit", "clean", name]));
    for arguments in all {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["exit_code"], 2, "{arguments:?}");
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains("nonsense"), "{arguments:?}: {message}");
    }
    let both = lab.sql(&["--json", "--csv", "SELECT 1"]);
    assert!(stdout(&both).contains("cannot be used with"), "{}", stdout(&both));
    // What follows `--` is a file, whatever it is called.
    let output = lab.sql(&["--limit", "x", "--", "--json"]);
    assert!(output.stdout.is_empty(), "{}", stdout(&output));
}

#[test]
fn a_damaged_recording_is_told_and_what_is_whole_is_used() {
    let lab = Lab::new();
    let whole = std::fs::read(project("crates/recording/tests/fixtures/format-1.culprit")).unwrap();
    std::fs::write(lab.path("cut.culprit"), &whole[..whole.len() - 50]).unwrap();
    let output = lab.sql(&["cut.culprit", "SELECT count(*) AS n FROM intervals"]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("`cut.culprit` is incomplete"), "{}", stderr(&output));
    assert_ne!(stdout(&output), "n\n0\n");
}

/// The question comes through a named pipe: once it can be written there, the program watches for
/// signals.
#[test]
fn ctrl_c_stops_a_question() {
    let lab = Lab::new();
    let pipe = lab.path("question");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let mut command = lab.command(&["-f", "question"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Longer than any test: it ends when it is stopped.
    let forever = "SELECT sum(a.value * b.value) FROM range(0, 1000000) a, range(0, 1000000) b";
    std::fs::write(&pipe, forever).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("stopped"), "{}", stderr(&output));
}

/// The files of a table of a store, ordered.
fn table_files(site: &Site, table: &str) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![site.path("store").join(table)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Its list says what belongs to a store: a part of it gives no numbers, and what else is there none.
#[test]
fn a_store_that_lacks_a_file_is_refused_and_a_file_too_many_does_not_count() {
    let site = Site::sampled(300, "xdb-json");
    let sql = || {
        let mut command = program(env!("CARGO_BIN_EXE_culprit-data"));
        let question = "SELECT count(*) AS n FROM interactions";
        command.current_dir(site.path(".")).args(["sql", "store", question]).output().unwrap()
    };
    let before = site.ok(&["impact", "store"]);
    let first = table_files(&site, "interactions").remove(0);
    let extra = first.with_file_name("g9.parquet");
    std::fs::copy(&first, &extra).unwrap();
    assert_eq!(site.ok(&["impact", "store"]), before);
    assert!(stdout(&sql()).contains("300"), "{}", stdout(&sql()));
    std::fs::remove_file(extra).unwrap();
    let kept = std::fs::read(&first).unwrap();
    let mut flipped = kept.clone();
    flipped[kept.len() / 2] ^= 1;
    std::fs::write(&first, &flipped).unwrap();
    for output in [site.run(&["visits", "store", "--place", "country=UA"]), sql()] {
        let talk = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{talk}");
        assert!(talk.contains("damaged") && talk.contains("interactions/day="), "{talk}");
        assert!(talk.contains("from a backup"), "{talk}");
    }
    let refused = |what: &str| {
        for output in [site.run(&["impact", "store"]), site.run(&["robots", "store"]), sql()] {
            let talk = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{talk}");
            assert!(talk.contains("the store `store` is damaged") && talk.contains(what), "{talk}");
            assert!(talk.contains("import its sources into a new folder"), "{talk}");
        }
    };
    std::fs::write(&first, &kept[..kept.len() - 1]).unwrap();
    refused(&format!("has {} of {} bytes", kept.len() - 1, kept.len()));
    std::fs::remove_file(&first).unwrap();
    refused("cannot read `interactions/day=");
    let output = site.run(&["import", "--from", "xdb-json", "sample/xdb-json", "-o", "store"]);
    let talk = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(
        talk.contains("the store `store` is damaged: cannot read `interactions/day="),
        "{talk}"
    );
    assert!(talk.contains("import its sources into a new folder"), "{talk}");
    std::fs::write(&first, &kept).unwrap();
    assert_eq!(site.ok(&["impact", "store"]), before);
    std::fs::write(site.path("store/store.json"), "{").unwrap();
    refused("store.json");
    std::fs::remove_file(site.path("store/store.json")).unwrap();
    let output = site.run(&["impact", "store"]);
    let talk = stderr(&output);
    assert!(output.status.code() == Some(2) && talk.contains("list of its files"), "{talk}");
}
