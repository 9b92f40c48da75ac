//! A recorder that is killed leaves a file that opens; one that is interrupted loses nothing.

use std::process::Stdio;

use crate::support::{Lab, program, stderr, wait_until};

/// Does little, again and again, and says which process it is.
const PROGRAM: &str = "echo $$ > pid; while :; do sleep 0.05; done";

/// Starts a recording of a long sleep, waits until it is under way, and sends the signal.
fn end_by(lab: &Lab, signal: rustix::process::Signal) -> std::process::ExitStatus {
    let mut recorder = lab
        .culprit()
        .args(["record", "-o", "x.culprit", "--", "sh", "-c", PROGRAM])
        .spawn()
        .expect("culprit runs");
    // What a killed recorder leaves is what it had flushed, once a second.
    wait_until("a flush of what the program does", || {
        assert!(recorder.try_wait().expect("a child").is_none(), "it ended by itself");
        let flushed = culprit_recording::open(lab.path("x.culprit"));
        flushed.is_ok_and(|opened| {
            !opened.recording.switches.is_empty() || !opened.recording.observations.is_empty()
        })
    });
    let pid = rustix::process::Pid::from_child(&recorder);
    rustix::process::kill_process(pid, signal).expect("a living recorder");
    let status = recorder.wait().expect("an exit status");
    // A killed recorder cannot end what it recorded, and must not: it may be somebody's service.
    let pid = std::fs::read_to_string(lab.path("pid")).expect("the program ran");
    let _ = program("kill").arg(pid.trim()).stderr(Stdio::null()).status();
    status
}

#[test]
fn a_killed_recorder_leaves_a_file_that_opens() {
    let lab = Lab::new();
    end_by(&lab, rustix::process::Signal::KILL);
    let report = lab.json(&["report", "x.culprit"]);
    assert!(report["threads"].as_array().is_some_and(|threads| !threads.is_empty()), "{report}");
    let text = lab.culprit().args(["report", "x.culprit"]).output().expect("culprit runs");
    let text = format!("{}{}", String::from_utf8_lossy(&text.stdout), stderr(&text));
    assert!(text.contains("recorder-killed"), "{text}");
}

#[test]
fn an_interrupted_recording_is_kept_whole() {
    let lab = Lab::new();
    end_by(&lab, rustix::process::Signal::INT);
    let report = lab.json(&["report", "x.culprit"]);
    assert!(report["threads"].as_array().is_some_and(|threads| !threads.is_empty()), "{report}");
    let text = lab.culprit().args(["report", "x.culprit"]).output().expect("culprit runs");
    assert!(!String::from_utf8_lossy(&text.stdout).contains("recorder-killed"));
}
