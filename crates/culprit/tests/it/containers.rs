//! A process that lives only inside a container is named after the container is gone.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use culprit_model::{MarkKind, Time};
use serde_json::Value;

use crate::support::{Lab, all_rights, engine_answers, number, program, skip, stderr};

const IMAGE: &str = "culprit-test-named:1";

/// Makes an image that holds nothing but the program, and removes it when dropped.
struct Image;

impl Image {
    fn make(lab: &Lab) -> Self {
        lab.build("named/named.c", &["-static"]);
        let tar = lab.path("image.tar");
        let packed =
            program("tar").arg("-cf").arg(&tar).arg("-C").arg(lab.path("")).arg("named").status();
        assert!(packed.expect("tar").success());
        let imported =
            program("docker").arg("import").arg(&tar).arg(IMAGE).stdout(Stdio::null()).status();
        assert!(imported.expect("docker import").success());
        Self
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let removed = program("docker").args(["rmi", "-f", IMAGE]).stdout(Stdio::null()).status();
        assert!(removed.is_ok_and(|status| status.success()), "the image is left");
    }
}

/// When the recording saw the program being executed: before, its process is the engine's own helper,
/// which sets the container up. The start, when it ran already.
fn executed(recording: &Path) -> String {
    let opened = culprit_recording::open(recording).expect("the recording");
    let marks = opened.recording.marks.iter();
    let mut execs = marks.filter(|m| m.kind == MarkKind::Exec && m.text.as_str() == "/named");
    format!("{:.9}s", execs.next().map_or(0.0, |mark| mark.time.since(Time::START).seconds()))
}

/// The share of the program's time in frames whose function has a name.
fn named_share(lab: &Lab, recording: &str) -> f64 {
    let from = executed(&lab.path(recording));
    let top = lab.json(&["top", recording, "--thread", "named", "--from", &from, "--limit", "0"]);
    let rows = top["rows"].as_array().expect("rows");
    let code: Vec<&Value> = rows
        .iter()
        .filter(|row| row["name"].as_str().is_some_and(|name| name.contains('!')))
        .collect();
    assert!(code.iter().any(|row| row["name"] == "named!churn_numbers"), "{top}");
    let all: f64 = code.iter().map(|row| number(&row["inc"])).sum();
    let unnamed: f64 = code
        .iter()
        .filter(|row| row["name"].as_str().is_some_and(|name| name.ends_with("!?")))
        .map(|row| number(&row["inc"]))
        .sum();
    1.0 - unnamed / all
}

#[test]
fn functions_of_a_container_that_is_gone_are_named() {
    if !all_rights() || !engine_answers() {
        return skip("containers", "a container engine, and root for its processes");
    }
    let lab = Lab::new();
    let _image = Image::make(&lab);
    let recorder = lab
        .culprit()
        .args(["record", "-o", "all.culprit", "--all"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("culprit runs");
    while !lab.path("all.culprit").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    let ran = program("docker").args(["run", "--rm", "--net=none", IMAGE, "/named", "1"]).status();
    assert!(ran.expect("docker run").success());
    let pid = rustix::process::Pid::from_child(&recorder);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it records");
    let output = recorder.wait_with_output().expect("an exit status");
    assert!(output.status.success(), "{}", stderr(&output));
    let share = named_share(&lab, "all.culprit");
    assert!(share >= 0.99, "{share} of the frames' functions are named");
}

#[test]
fn a_place_of_an_image_is_recorded_from_its_first_instruction() {
    if !all_rights() || !engine_answers() {
        return skip("containers", "a container engine, and root for its processes");
    }
    let lab = Lab::new();
    let _image = Image::make(&lab);
    let place = format!("docker:{IMAGE}");
    let output = lab
        .culprit()
        .args(["record", "-o", "place.culprit", "--place", &place, "--", "/named", "0.5"])
        .output()
        .expect("culprit runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let share = named_share(&lab, "place.culprit");
    assert!(share >= 0.99, "{share} of the frames' functions are named");
}

#[test]
fn a_recording_of_a_container_ends_with_it() {
    if !all_rights() || !engine_answers() {
        return skip("containers", "a container engine, and root for its processes");
    }
    let lab = Lab::new();
    let _image = Image::make(&lab);
    let name = format!("culprit-test-{}", std::process::id());
    let started = program("docker")
        .args(["run", "--rm", "-d", "--net=none", "--name", &name, IMAGE, "/named", "3"])
        .stdout(Stdio::null())
        .status();
    assert!(started.expect("docker run").success());
    // Bounded from outside, so that a recording that does not end fails instead of hanging.
    let output = program("timeout")
        .args(["-s", "KILL", "60", env!("CARGO_BIN_EXE_culprit")])
        .args(["record", "--container", &name, "-o", "ends.culprit"])
        .current_dir(lab.path(""))
        .output()
        .expect("culprit runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let share = named_share(&lab, "ends.culprit");
    assert!(share >= 0.99, "{share} of the frames' functions are named");
}
