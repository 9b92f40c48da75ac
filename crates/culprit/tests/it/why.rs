//! `culprit why` on real commands in real places.

use crate::support::{Lab, all_rights, number, program, skip, stderr, wait_until};

/// Two places that need no rights of their own.
const PLACES: [&str; 4] = ["--place", "host", "--place", "host:/tmp"];

/// Why the same command in two places of one machine takes as long.
fn same_in_both(lab: &Lab) -> serde_json::Value {
    let mut arguments = vec!["why", "--runs", "3", "-o", "w"];
    arguments.extend(PLACES);
    // Options of culprit stand before the command's own.
    let output =
        lab.culprit().args(arguments).args(["--json", "--", "sleep", "0.2"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "statistical: make accuracy"]
fn the_same_command_in_the_same_place_is_not_called_slower() {
    let answer = same_in_both(&Lab::new());
    assert_ne!(answer["verdict"], "slower", "{answer}");
}

#[test]
fn every_run_of_every_place_is_kept_and_told() {
    let lab = Lab::new();
    let answer = same_in_both(&lab);
    assert_eq!(answer["places"], serde_json::json!(["host", "host:/tmp"]));
    for runs in answer["place_runs"].as_array().unwrap() {
        assert_eq!(runs["walls_ns"].as_array().unwrap().len(), 3);
        assert!(number(&runs["median_ns"]) >= 2e8, "{runs}");
    }
    let page = std::fs::read_to_string(lab.path("w/report.html")).unwrap();
    assert!(page.contains("Place against place"));
    assert_eq!(std::fs::read_dir(lab.path("w")).unwrap().count(), 6 + 6 + 1);
}

// The usual tests answer from kept runs (src/replay/why.rs).
#[test]
#[ignore = "statistical: make accuracy"]
fn a_follower_that_polls_on_an_overlay_is_told() {
    if !all_rights() {
        return skip("tail-poll", "recording kernel stacks needs root");
    }
    let lab = Lab::new();
    let case = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../casebook/tail-poll");
    let script = |name: &str| case.canonicalize().unwrap().join(name).display().to_string();
    let instead = format!("sh '{}' 6", script("fixed.sh"));
    let output = lab
        .culprit()
        .args([
            "why",
            "--runs",
            "3",
            "--work",
            "6:rows",
            "--instead",
            &instead,
            "-o",
            "w",
            "--json",
        ])
        .args(["--", "sh", &script("guilty.sh"), "6"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let host = &answer["place_runs"][0];
    // One that polls gives one row a second; one that is notified some twenty on an idle machine.
    if number(&host["units_per_s"]) < 1.2 {
        return skip("tail-poll", "the host's own file system is one on which tail polls");
    }
    assert_eq!(answer["verdict"], "slower", "{answer}");
    assert!(number(&answer["ratio"]["value"]) > 3.0, "{}", answer["ratio"]);
    assert!(number(&answer["explained_share"]) > 0.8, "{answer}");
    let difference = &answer["difference"][0];
    assert_eq!(
        (&difference["cause"], &difference["process"]),
        (&"blocked.sleep".into(), &"tail".into())
    );
    let findings = answer["findings"].as_array().unwrap();
    let culprit = findings.iter().find(|finding| number(&finding["cost_ns"]) > 0.0).unwrap();
    assert_eq!(culprit["id"], "poll-sleep-loop", "{culprit}");
    let gain = &answer["instead"]["gains"][1];
    assert!(number(&gain["times_as_fast"]) > 3.0, "{gain}");
}

#[test]
fn a_place_that_fails_keeps_the_results_of_the_others() {
    let lab = Lab::new();
    let output = lab
        .culprit()
        .args(["why", "--runs", "1", "-o", "w", "--json"])
        .args(PLACES)
        .args(["--place", "docker:no-such-image", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["place_runs"][1]["walls_ns"].as_array().unwrap().len(), 1);
    assert!(answer["place_runs"][2]["problem"].is_string(), "{answer}");
    assert!(lab.path("w/report.html").exists());
}

#[test]
fn a_first_place_that_fails_leaves_the_others_to_compare() {
    let lab = Lab::new();
    let output = lab
        .culprit()
        .args(["why", "--runs", "1", "-o", "w", "--json", "--place", "docker:no-such-image"])
        .args(PLACES)
        .args(["--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("docker:no-such-image"), "{}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["place_runs"][0]["problem"].is_string(), "{answer}");
    for place in [1, 2] {
        assert_eq!(answer["place_runs"][place]["walls_ns"].as_array().unwrap().len(), 1);
    }
    assert_eq!(answer["comparisons"][0]["place"], "host:/tmp", "{answer}");
    assert!(answer["ratio"]["value"].is_number(), "{answer}");
}

/// The row of the difference for what the sleeping program does.
fn sleep_of(answer: &serde_json::Value) -> &serde_json::Value {
    let mut rows = answer["difference"].as_array().unwrap().iter();
    let row = rows.find(|row| row["cause"] == "blocked.sleep" && row["process"] == "sleep");
    row.expect("the pause is longer")
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_longer_pause_than_in_an_earlier_recording_is_called_slower() {
    if !all_rights() {
        return skip("why --against, by time", "recording without polling needs root");
    }
    let lab = Lab::new();
    let command = ["sh", "-c", "sleep $(cat pause)"];
    std::fs::write(lab.path("pause"), "0.1").unwrap();
    lab.record("before.culprit", &command);
    std::fs::write(lab.path("pause"), "0.6").unwrap();
    let against = ["why", "--against", "before.culprit", "--runs", "3", "-o", "w", "--json", "--"];
    let output = lab.culprit().args(against).args(command).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["verdict"], "slower", "{answer}");
    let row = &answer["difference"][0];
    assert_eq!(row, sleep_of(&answer));
    assert!(number(&row["low_ns"]) > 3e8 && number(&row["high_ns"]) < 2e9, "{row}");
    assert!(row["finding"].is_string(), "{row}");
}

#[test]
fn new_runs_are_compared_with_an_earlier_recording() {
    if !all_rights() {
        return skip("why --against", "recording without polling needs root");
    }
    let lab = Lab::new();
    let command = ["sh", "-c", "sleep $(cat pause)"];
    std::fs::write(lab.path("pause"), "0.1").unwrap();
    lab.record("before.culprit", &command);
    std::fs::write(lab.path("pause"), "0.6").unwrap();
    let against = |command: &[&str], more: &[&str]| {
        let arguments = ["why", "--against", "before.culprit", "--runs", "3", "--json"];
        let mut why = lab.culprit();
        why.args(arguments).args(more).arg("--").args(command).output().unwrap()
    };
    let output = against(&command, &["-o", "w"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["place_runs"][0]["label"], "before.culprit");
    assert_eq!(answer["place_runs"][1]["walls_ns"].as_array().unwrap().len(), 3);
    let row = sleep_of(&answer);
    assert!(number(&row["low_ns"]) <= number(&row["high_ns"]), "{row}");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("One earlier recording"), "{notes}");
    assert!(std::fs::read_to_string(lab.path("w/report.html")).unwrap().contains("before.culprit"));

    let output = against(&["sh", "-c", "touch ran"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("another command"), "{}", stderr(&output));
    let whole = std::fs::read(lab.path("before.culprit")).unwrap();
    std::fs::write(lab.path("before.culprit"), &whole[..whole.len() / 3]).unwrap();
    let output = against(&command, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(!lab.path("ran").exists() && !lab.path("culprit-why-1").exists());
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_runs() {
    let lab = Lab::new();
    for arguments in [
        &["why", "--place", "host", "--", "touch", "ran"][..],
        &["why", "--place", "host", "--place", "host", "--", "touch", "ran"],
        &["why", "--place", "hostel", "--place", "host", "--", "touch", "ran"],
        &["why", "--fail-on", "nothing", "--", "touch", "ran"],
    ] {
        let output = lab.culprit().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("hint:"), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(lab.path(".")).unwrap().count(), 0);
}

#[test]
fn a_command_that_is_not_there_is_bad_input() {
    let lab = Lab::new();
    let output = lab
        .culprit()
        .args(["why", "--runs", "1", "-o", "w"])
        .args(PLACES)
        .args(["--", "no-such-program"])
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("no-such-program"), "{}", stderr(&output));
}

#[test]
fn ctrl_c_keeps_the_rounds_that_were_finished() {
    let lab = Lab::new();
    let mut child = lab
        .culprit()
        .args(["why", "--runs", "50", "-o", "w", "--json"])
        .args(PLACES)
        .args(["--", "sleep", "0.3"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // A round is two runs; the third run's files tell that one is finished.
    wait_until("a finished round", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::fs::read_dir(lab.path("w")).map_or(0, Iterator::count) >= 7
    });
    let pid = child.id().to_string();
    assert!(program("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["interrupted"], true);
    assert_eq!(answer["rounds_planned"], 50);
    let finished = number(&answer["rounds_finished"]);
    assert!((1.0..50.0).contains(&finished), "{finished}");
    let page = std::fs::read_to_string(lab.path("w/report.html")).unwrap();
    assert!(page.contains(&format!("Interrupted after {finished} of 50 rounds.")));
    assert!(!answer["place_runs"][0]["walls_ns"].as_array().unwrap().is_empty());
}
