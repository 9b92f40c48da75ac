//! Folders of recordings, as users type it.

use serde_json::{Value, json};

use crate::json::undocumented;
use crate::support::{Lab, all_rights, skip, stderr, stdout};

/// A run of 100 ms: half of it computes, half of it waits for a lock.
const DRAWING: &str = "
    tick 10ms
    stack u cpu.user app!main;app!compute
    stack l blocked.lock app!main;libc.so.6!pthread_mutex_lock;[kernel]!futex_wait
    app(PID)/app(PID) uuuuulllll|
    root app(PID)";

/// Six recordings of two machines and three days.
pub(crate) fn lab() -> Lab {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("runs")).unwrap();
    for number in 1..=6_u64 {
        let drawing = DRAWING.replace("PID", &(number * 10).to_string());
        let mut recording = culprit_model::notation::parse(&drawing).unwrap();
        let host = if number < 3 { "web-1" } else { "web-2" };
        let facts = [("host.name", host), ("label.version", "2.1")];
        recording.meta.place_facts =
            facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        recording.meta.start.realtime = (20_000 + number % 3) * 86_400_000_000_000;
        let path = lab.path("runs").join(format!("run-{number}.culprit"));
        culprit_recording::write(path, &recording).unwrap();
    }
    lab
}

/// Runs a line that must succeed; what it prints.
pub(crate) fn run(lab: &Lab, line: &str) -> String {
    let output = lab.culprit().args(line.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{line}: {}", stderr(&output));
    stdout(&output)
}

fn row<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut rows = document["rows"].as_array().unwrap().iter();
    rows.find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {document}"))
}

#[test]
fn views_of_a_folder_add_up_all_recordings() {
    let lab = lab();
    let top = lab.json(&["top", "runs"]);
    assert_eq!(top["total"], 600_000_000);
    assert_eq!(row(&top, "app!compute")["own"], 300_000_000);
    assert_eq!(row(&top, "libc.so.6!pthread_mutex_lock")["own"], 300_000_000);
    assert_eq!(top["of"], "run time of 6 recordings, 600 ms");
    let by_host = lab.json(&["tree", "runs", "--by", "host"]);
    let groups = &by_host["fleet"]["groups"];
    assert_eq!(groups[0], json!({"name": "web-2", "recordings": 4, "total": 400_000_000}));
    assert_eq!(groups[1], json!({"name": "web-1", "recordings": 2, "total": 200_000_000}));
    let by_day = run(&lab, "top runs --by day");
    assert!(by_day.contains("2024-10-04") && by_day.contains("33 %"), "{by_day}");
    let flame = run(&lab, "flame runs --by version");
    assert!(flame.contains("Version 2.1"), "{flame}");
    let collapsed = run(&lab, "export runs --to collapsed");
    assert!(collapsed.contains("app!compute") && !collapsed.contains("(10)"), "{collapsed}");
    run(&lab, "flame runs -o fleet.svg");
    run(&lab, "flame runs -o fleet.html");
    assert!(std::fs::metadata(lab.path("fleet.html")).unwrap().len() > 1000);
    let callers = run(&lab, "callers pthread_mutex_lock runs");
    assert!(callers.contains("300 ms"), "{callers}");
    let differ = run(&lab, "diff runs runs");
    assert!(differ.contains("6"), "{differ}");
}

#[test]
fn findings_of_a_folder_name_the_worst_recording() {
    let lab = lab();
    let document = lab.json(&["findings", "runs", "--by", "host", "--all"]);
    assert_eq!(document["recordings"], 6);
    let first = &document["findings"][0];
    assert_eq!(first["recordings"], 6, "{document}");
    let groups = first["groups"].as_array().unwrap();
    let cost: u64 = groups.iter().map(|group| group["cost_ns"].as_u64().unwrap()).sum();
    assert_eq!(first["cost_ns"].as_u64(), Some(cost));
    let text = run(&lab, "findings runs --all");
    assert!(
        text.contains("in 6 of 6 recordings")
            && text.contains("culprit findings runs/run-1.culprit"),
        "{text}"
    );
}

#[test]
fn what_a_folder_s_sum_lacks_is_named() {
    let lab = lab();
    std::fs::write(lab.path("runs/bad.culprit"), "no recording").unwrap();
    let output = lab.culprit().args(["top", "runs"]).output().unwrap();
    let talk = stderr(&output);
    assert!(talk.contains("1 of 7 recordings are not included"), "{talk}");
    assert!(talk.contains("bad.culprit"), "{talk}");
    let top = lab.json(&["top", "runs"]);
    assert_eq!(top["total"], 600_000_000);
    assert_eq!(top["fleet"]["left_out"].as_array().unwrap().len(), 1);
    let output = lab.culprit().args(["diff", "runs", "runs"]).output().unwrap();
    assert!(
        output.status.success() && stderr(&output).contains("bad.culprit"),
        "{}",
        stderr(&output)
    );
    for line in ["critical-path runs", "report runs", "top runs/run-1.culprit --by host"] {
        let output = lab.culprit().args(line.split_whitespace()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
    std::fs::create_dir(lab.path("empty")).unwrap();
    let output = lab.culprit().args(["findings", "empty"]).output().unwrap();
    assert!(stderr(&output).contains("contains no recording"), "{}", stderr(&output));
}

#[test]
fn the_difference_of_two_folders_adds_up_each_side_and_names_its_recordings() {
    let lab = lab();
    std::fs::create_dir(lab.path("later")).unwrap();
    for number in 1..=3_u64 {
        // Half of the waiting is left.
        let drawing = DRAWING.replace("uuuuulllll", "uuuuull").replace("PID", &number.to_string());
        let recording = culprit_model::notation::parse(&drawing).unwrap();
        let path = lab.path("later").join(format!("run-{number}.culprit"));
        culprit_recording::write(path, &recording).unwrap();
    }
    let text = run(&lab, "diff runs later");
    assert!(text.contains("6 runs, runs/run-1.culprit ..."), "{text}");
    assert!(text.contains("3 runs, later/run-1.culprit ..."), "{text}");
    let document = lab.json(&["diff", "runs", "later"]);
    // Values are those of one run, so sides with other numbers of runs can be compared.
    for (side, runs, total) in [("before", 6, 100_000_000), ("after", 3, 70_000_000)] {
        let side = &document[side];
        assert_eq!(side["recordings"].as_array().map(Vec::len), Some(runs), "{side}");
        assert_eq!(side["total"].as_f64(), Some(f64::from(total)), "{side}");
    }
    let causes = document["sections"].as_array().unwrap();
    let causes = causes.iter().find(|section| section["by"] == "cause").unwrap();
    let waiting = row(causes, "blocked.lock");
    assert_eq!(waiting["before"].as_f64(), Some(50e6), "{waiting}");
    assert_eq!(waiting["after"].as_f64(), Some(20e6), "{waiting}");
    let empty = lab.path("none");
    std::fs::create_dir(&empty).unwrap();
    let output = lab.culprit().args(["diff", "runs", "none"]).output().unwrap();
    let talk = stderr(&output);
    assert!(output.status.code() == Some(2) && talk.contains("contains no recording"), "{talk}");
    std::fs::write(empty.join("bad.culprit"), "no recording").unwrap();
    let output = lab.culprit().args(["diff", "runs", "none"]).output().unwrap();
    let talk = stderr(&output);
    assert!(output.status.code() == Some(2) && talk.contains("none of its 1 files"), "{talk}");
}

#[test]
fn copies_in_a_folder_count_and_are_named_with_what_they_are_copies_of() {
    let lab = lab();
    let warning = "warning: files with the same content count as two recordings";
    let told = |line: &str| {
        let output = lab.culprit().args(line.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        stderr(&output)
    };
    // Recordings of one size are no copies.
    assert!(!told("top runs").contains(warning));
    let (first, copy) = (lab.path("runs/run-1.culprit"), lab.path("runs/zz.culprit"));
    std::fs::copy(&first, copy).unwrap();
    let lines =
        ["top runs", "findings runs", "diff runs runs", "export runs --to tables -o tables"];
    for line in lines {
        let talk = told(line);
        let named = "runs/zz.culprit is a copy of runs/run-1.culprit";
        assert!(talk.contains(warning) && talk.contains(named), "{line}: {talk}");
    }
    assert_eq!(lab.json(&["top", "runs"])["total"], 700_000_000);
    for number in 0..20 {
        let path = lab.path("runs").join(format!("zz-{number:02}.culprit"));
        std::fs::copy(&first, path).unwrap();
    }
    let talk = told("top runs");
    assert_eq!(talk.matches("is a copy of").count(), 10, "{talk}");
    assert!(talk.contains("  11 more\n"), "{talk}");
}

#[test]
fn a_label_that_no_recording_has_is_named() {
    let lab = lab();
    let told = |line: &str| stderr(&lab.culprit().args(line.split_whitespace()).output().unwrap());
    for line in ["top runs --by nosuch", "findings runs --by nosuch"] {
        assert!(told(line).contains("no recording has the label `nosuch`"), "{line}");
    }
    assert!(!told("top runs --by version").contains("no recording has"));
}

#[test]
fn documents_of_folders_have_the_keys_that_are_documented() {
    let lab = lab();
    std::fs::write(lab.path("runs/bad.culprit"), "no recording").unwrap();
    let mut folder = lab.json(&["top", "runs", "--by", "host"])["fleet"].clone();
    folder["schema"] = json!(1);
    assert!(undocumented("a-folder", &[folder]).is_empty());
    let findings = lab.json(&["findings", "runs", "--by", "host", "--all"]);
    undocumented("findings-of-a-folder", &[findings]);
    let tables = lab.json(&["export", "runs", "--to", "tables", "-o", "store"]);
    undocumented("export-to-tables", &[tables]);
}

#[test]
fn a_label_and_the_machine_are_kept_with_a_recording() {
    if !all_rights() {
        return skip("fleet", "recording needs rights here");
    }
    let lab = Lab::new();
    std::fs::create_dir(lab.path("runs")).unwrap();
    run(&lab, "record --label version=2.1 --label team=shop -o runs/a.culprit -- true");
    let recording = culprit_recording::open(lab.path("runs/a.culprit")).unwrap().recording;
    let facts = recording.meta.place_facts;
    let fact = |name: &str| facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1.clone());
    assert_eq!(fact("label.version").as_deref(), Some("2.1"));
    assert_eq!(fact("label.team").as_deref(), Some("shop"));
    assert!(fact("host.name").is_some_and(|name| !name.is_empty()));
    let output = lab.culprit().args(["record", "--label", "x", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
