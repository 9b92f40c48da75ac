//! What every view shows of some kept recordings, one of each language and kind, as users see it.
//!
//! The texts are stored in `corpus/shown`; `make bless` stores what is shown now.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::corpus::pack::{self, corpus};
use crate::support::{Lab, stderr, stdout};

#[path = "../../src/replay/raw.rs"]
mod raw;
#[path = "../../src/replay/snapshot.rs"]
mod snapshot;

use snapshot::Snapshots;

/// Pack, recording, and a function that views look at.
const SHOWN: [(&str, &str, &str); 11] = [
    ("guilty-c", "guilty/poll_usleep.c", "consume"),
    ("guilty-cc", "guilty/convoy.cc", "worker"),
    ("guilty-rs", "guilty/lookups_rust.rs", "join"),
    ("guilty-go", "guilty/gc_orders.go", "buildOrder"),
    ("guilty-java", "guilty/locks.java", "Main"),
    ("guilty-mjs", "guilty/clone.mjs", "clone"),
    ("guilty-py", "guilty/gil.py", "python"),
    ("guilty-sh", "guilty/forks.sh", "sh"),
    ("healthy-py", "healthy/server.py", "python"),
    ("unseen-c", "unseen/append_records.c", "append_record"),
    ("unseen-java", "unseen/PriceBook.java", "price"),
];

/// Files of other profilers, the ending of the stored text, and a function that views look at.
const IMPORTED: [(&str, &str); 3] = [
    ("jfr/spans.jfr.gz", "Spans"),
    ("perf-script/sched.txt", "main"),
    ("perf-data/sched.data", "main"),
];

/// Runs a command of ours in the lab and shows what it prints, and its exit code where that is not 0: some
/// views have nothing to say about some recordings.
fn show(lab: &Lab, arguments: &[&str]) -> String {
    let output = lab.culprit().env("TZ", "UTC").args(arguments).output().expect("culprit runs");
    let line = arguments.join(" ");
    let code = match output.status.code() {
        Some(0) => String::new(),
        code => format!(" # exit code {}", code.unwrap_or(-1)),
    };
    format!("$ culprit {line}{code}\n{}{}\n", stdout(&output), stderr(&output))
}

/// Everything that is shown of `x.culprit`.
fn views(lab: &Lab, function: &str) -> String {
    let mut text = String::new();
    const REC: &str = "x.culprit";
    for arguments in [
        &["report", REC][..],
        &["findings", REC, "--all"],
        &["top", REC, "--limit", "12"],
        &["tree", REC, "--limit", "25"],
        &["callers", function, REC, "--limit", "12"],
        &["callees", function, REC, "--limit", "12"],
        &["butterfly", function, REC],
        &["wakers", REC, "--limit", "12"],
        &["critical-path", REC, "--limit", "12"],
        &["phases", REC],
        &["activities", REC],
    ] {
        text.push_str(&show(lab, arguments));
    }
    text.push_str(&pictures(lab));
    let report = lab.json(&["report", "x.culprit"]);
    let mut keys = BTreeMap::new();
    collect_keys("", &report, &mut keys);
    let keys: Vec<String> = keys.into_iter().map(|(key, kind)| format!("{key} {kind}")).collect();
    let _ = writeln!(text, "$ culprit report x.culprit --json # its keys\n{}", keys.join("\n"));
    text
}

/// Flame graph and page: each is whole. How large the flame graph is is stored; a page is as large as its
/// program.
fn pictures(lab: &Lab) -> String {
    let mut text = String::new();
    for (arguments, file, ends) in [
        (&["flame", "x.culprit", "-o", "flame.svg"][..], "flame.svg", "</svg>"),
        (&["report", "x.culprit", "-o", "page.html"], "page.html", "</html>"),
    ] {
        show(lab, arguments);
        let picture = std::fs::read_to_string(lab.path(file)).expect("a picture");
        assert!(picture.trim_end().ends_with(ends), "{file} is not whole");
        if ends == "</svg>" {
            let _ = writeln!(text, "$ culprit {}\n{} bytes\n", arguments.join(" "), picture.len());
        }
    }
    text
}

/// The paths of a document's members, each with the kind of its value.
fn collect_keys(path: &str, value: &Value, keys: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(items) => {
            return items.iter().for_each(|item| collect_keys(&format!("{path}[]"), item, keys));
        }
        Value::Object(members) => {
            for (key, member) in members {
                collect_keys(&format!("{path}/{key}"), member, keys);
            }
            return;
        }
    };
    keys.insert(path.to_owned(), kind);
}

#[test]
fn every_view_of_kept_recordings_shows_what_it_did() {
    let mut snapshots = Snapshots::default();
    for (pack_name, name, function) in SHOWN {
        let lab = Lab::new();
        let mut files = pack::read(&corpus().join(format!("{pack_name}{}", pack::SUFFIX)));
        let bytes = files.remove(name).unwrap_or_else(|| {
            panic!("no recording of {name}: record with `make corpus ONLY={name}`")
        });
        let recording = raw::build(name, bytes);
        culprit_recording::write(lab.path("x.culprit"), &recording).expect("a recording");
        let stored = corpus().join("shown").join(format!("{}.txt", name.replace('/', "-")));
        snapshots.hold(&stored, &views(&lab, function));
    }
    snapshots.finish();
}

#[test]
fn every_view_of_imported_files_shows_what_it_did() {
    let mut snapshots = Snapshots::default();
    let fixtures =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/fixtures");
    for (file, function) in IMPORTED {
        let lab = Lab::new();
        let copy = file.replace('/', "-");
        std::fs::copy(fixtures.join(file), lab.path(&copy)).expect("a file");
        let imported = show(&lab, &["import", &copy, "-o", "x.culprit"]);
        let stored = corpus().join("shown").join(format!("{copy}.txt"));
        snapshots.hold(&stored, &(imported + &views(&lab, function)));
    }
    snapshots.finish();
}

#[test]
fn the_difference_of_two_kept_recordings_shows_what_it_did() {
    let lab = Lab::new();
    let name = "casebook/date-parse";
    let files = pack::read(&corpus().join(format!("{name}{}", pack::SUFFIX)));
    for (arm, target) in [("1", "guilty.culprit"), ("2", "fixed.culprit")] {
        let first = |name: &&String| {
            name.starts_with(&format!("recordings/{arm}-")) && name.ends_with("-1.culprit")
        };
        let found = files.keys().find(first);
        let found = found.unwrap_or_else(|| panic!("record with `make corpus ONLY={name}`"));
        std::fs::write(lab.path(target), &files[found]).expect("a recording");
    }
    let mut text = show(&lab, &["diff", "guilty.culprit", "fixed.culprit"]);
    text.push_str(&show(&lab, &["diff", "guilty.culprit", "fixed.culprit", "--limit", "30"]));
    let mut snapshots = Snapshots::default();
    snapshots.hold(&corpus().join("shown/diff-date-parse.txt"), &text);
    snapshots.finish();
}
