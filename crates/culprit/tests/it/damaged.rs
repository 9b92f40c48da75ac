//! Recordings that are not whole: what is missing is said first, in every output, and nothing is
//! made up in its place.

use culprit_model::notation::parse;
use serde_json::Value;

use crate::support::{Lab, stderr, stdout};

/// A recording cut at every tenth of its length, as a lab with `0.culprit` to `9.culprit`; the
/// lengths at which enough is left to open.
fn lab() -> (Lab, Vec<String>) {
    let lab = Lab::new();
    let drawing = "
        tick 10ms
        stack u cpu.user app!main;app!compute
        stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
        app(10)/main(10)    uuuuuussss|
        app(10)/worker(11)  uuussssuuu|
        root app(10)";
    let mut recording = parse(drawing).unwrap();
    recording.meta.command = vec!["app".to_owned()];
    culprit_recording::write(lab.path("whole.culprit"), &recording).unwrap();
    let whole = std::fs::read(lab.path("whole.culprit")).unwrap();
    let mut opens = Vec::new();
    for tenth in 0..10 {
        let name = format!("{tenth}.culprit");
        std::fs::write(lab.path(&name), &whole[..whole.len() * tenth / 10]).unwrap();
        if culprit_recording::open(lab.path(&name)).is_ok() {
            opens.push(name);
        }
    }
    assert!(opens.len() > 2, "{opens:?}");
    (lab, opens)
}

#[test]
fn what_is_missing_is_said_first_also_when_quiet() {
    let (lab, opens) = lab();
    for view in [&["report"][..], &["findings"], &["top"], &["tree"], &["flame"]] {
        for name in &opens {
            let output = lab.culprit().args(view).args([name, "--quiet"]).output().unwrap();
            let said = stderr(&output);
            assert!(output.status.success(), "{view:?} {name}: {said}");
            assert!(said.starts_with(&format!("warning: `{name}` is incomplete")), "{said}");
            assert!(said.contains("file-damaged: the end of the file is missing"), "{said}");
            assert!(said.contains("hint: "), "{said}");
        }
    }
    let whole = lab.culprit().args(["report", "whole.culprit"]).output().unwrap();
    assert!(whole.stderr.is_empty(), "{}", stderr(&whole));
}

#[test]
fn documents_and_verdicts_carry_it_too() {
    let (lab, opens) = lab();
    for name in &opens {
        for view in ["report", "findings", "top", "tree", "flame"] {
            let document = lab.json(&[view, name]);
            assert_eq!(document["missing"][0]["id"], "file-damaged", "{view}: {document}");
        }
        let verdict = lab.json(&["report", name])["verdict"].to_string();
        assert!(verdict.contains("incomplete recording (file-damaged)"), "{verdict}");
        lab.culprit().args(["report", name, "-o", "page.html"]).output().unwrap();
        let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
        assert!(page.contains("incomplete recording (file-damaged)"), "{page}");
    }
    assert_eq!(lab.json(&["top", "whole.culprit"])["missing"], Value::Array(Vec::new()));
}

#[test]
fn time_that_was_lost_is_not_made_up() {
    let (lab, opens) = lab();
    let whole = lab.json(&["top", "whole.culprit", "--metric", "wall"]);
    for name in &opens {
        let recording = culprit_recording::open(lab.path(name)).unwrap().recording;
        let left: u64 = recording.intervals.iter().map(|row| row.duration.0).sum();
        let top = lab.json(&["top", name, "--metric", "wall"]);
        assert_eq!(top["total"], left, "{top}");
        assert!(left == 0 || top["total"] == whole["total"], "{top}");
        if left == 0 {
            let report = lab.culprit().args(["report", name]).output().unwrap();
            let text = stdout(&report).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains("there is nothing to report"), "{text}");
        }
    }
}
