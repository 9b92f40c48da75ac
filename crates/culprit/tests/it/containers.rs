//! A process that lives only inside a container is named after the container is gone.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use culprit_model::{MarkKind, Time};
use serde_json::Value;

use crate::support::{
    Image, Lab, all_rights, disturbed, engine_answers, number, program, skip, stderr,
};

/// When the recording saw the program being executed: before, its process is the engine's own helper,
/// which sets the container up. The start, when it ran already.
fn executed(recording: &Path) -> String {
    let opened = culprit_recording::open(recording).expect("the recording");
    let marks = opened.recording.marks.iter();
    let mut execs = marks.filter(|m| m.kind == MarkKind::Exec && m.text.as_str() == "/named");
    format!("{:.9}s", execs.next().map_or(0.0, |mark| mark.time.since(Time::START).seconds()))
}

/// The share of the program's time in frames whose function has a name; 0 where the program's own
/// work is not among them.
fn named_share(lab: &Lab, recording: &str) -> f64 {
    let from = executed(&lab.path(recording));
    let top = lab.json(&["top", recording, "--thread", "named", "--from", &from, "--limit", "0"]);
    let rows = top["rows"].as_array().expect("rows");
    let code: Vec<&Value> = rows
        .iter()
        .filter(|row| row["name"].as_str().is_some_and(|name| name.contains('!')))
        .collect();
    if !code.iter().any(|row| row["name"] == "named!churn_numbers") {
        println!("{top}");
        return 0.0;
    }
    let all: f64 = code.iter().map(|row| number(&row["inc"])).sum();
    let unnamed: f64 = code
        .iter()
        .filter(|row| row["name"].as_str().is_some_and(|name| name.ends_with("!?")))
        .map(|row| number(&row["inc"]))
        .sum();
    1.0 - unnamed / all
}

/// Records until nearly every function is named: again only where a recording itself says that it
/// lost something, and at most three times.
fn all_are_named(lab: &Lab, mut record: impl FnMut(&str)) {
    for attempt in 1..=3 {
        let recording = format!("{attempt}.culprit");
        record(&recording);
        let share = named_share(lab, &recording);
        if share >= 0.99 {
            return;
        }
        let lost = disturbed(&lab.json(&["report", &recording]));
        println!("{share} of the frames' functions are named, and the recording says {lost:?}");
        assert!(lost.is_some(), "{share} of the frames' functions are named");
    }
    panic!("three recordings in which functions have no names");
}

#[test]
fn functions_of_a_container_that_is_gone_are_named() {
    if !all_rights() || !engine_answers() {
        return skip("containers", "a container engine, and root for its processes");
    }
    let lab = Lab::new();
    let image = Image::make(&lab, "all");
    all_are_named(&lab, |recording| {
        let mut recorder = lab
            .culprit()
            .args(["record", "-o", recording, "--all"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("culprit runs");
        while !lab.path(recording).exists() {
            assert!(recorder.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_secs(1));
        let ran =
            program("docker").args(["run", "--rm", "--net=none", &image.0, "/named", "1"]).status();
        assert!(ran.expect("docker run").success());
        let pid = rustix::process::Pid::from_child(&recorder);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it records");
        let output = recorder.wait_with_output().expect("an exit status");
        assert!(output.status.success(), "{}", stderr(&output));
    });
}

#[test]
fn a_place_of_an_image_is_recorded_from_its_first_instruction() {
    if !all_rights() || !engine_answers() {
        return skip("containers", "a container engine, and root for its processes");
    }
    let lab = Lab::new();
    let image = Image::make(&lab, "place");
    let place = format!("docker:{}", image.0);
    all_are_named(&lab, |recording| {
        let output = lab
            .culprit()
            .args(["record", "-o", recording, "--place", &place, "--", "/named", "0.5"])
            .output()
            .expect("culprit runs");
        assert!(output.status.success(), "{}", stderr(&output));
    });
}

#[test]
fn a_recording_of_a_container_ends_with_it() {
    if !all_rights() || !engine_answers() {
        return skip("containers", "a container engine, and root for its processes");
    }
    let lab = Lab::new();
    let image = Image::make(&lab, "ends");
    let name = format!("culprit-test-{}", std::process::id());
    all_are_named(&lab, |recording| {
        let started = program("docker")
            .args(["run", "--rm", "-d", "--net=none", "--name", &name, &image.0, "/named", "3"])
            .stdout(Stdio::null())
            .status();
        assert!(started.expect("docker run").success());
        // Bounded from outside, so that a recording that does not end fails instead of hanging.
        let output = program("timeout")
            .args(["-s", "KILL", "60", env!("CARGO_BIN_EXE_culprit")])
            .args(["record", "--container", &name, "-o", recording])
            .current_dir(lab.path(""))
            .output()
            .expect("culprit runs");
        assert!(output.status.success(), "{}", stderr(&output));
    });
}

#[test]
fn an_image_for_other_processors_is_told() {
    if !engine_answers() {
        return skip("an image for other processors", "no container engine answers");
    }
    let lab = Lab::new();
    let image = Image::make(&lab, "arm");
    // The same image with another word in its configuration, as no other can be had here.
    let script = format!(
        "set -e; mkdir a; docker save {0} | tar -x -C a; \
         sed -i 's/\"architecture\":\"[a-z0-9]*\"/\"architecture\":\"s390x\"/' a/*.json; \
         docker rmi -f {0}; tar -c -C a . | docker load",
        image.0
    );
    let loaded = program("sh").args(["-c", &script]).current_dir(lab.path("")).output().unwrap();
    if !loaded.status.success() {
        // Engines that store images by the hashes of all parts refuse a changed one.
        return skip("an image for other processors", "the engine takes no changed image");
    }
    let place = format!("docker:{}", image.0);
    let told = lab.json(&["doctor", "--no-probes", "--place", &place]);
    assert_eq!(told["image"]["architecture"], "s390x", "{told}");
    assert_eq!(told["image"]["findings"][0]["id"], "emulated-arch", "{told}");
}
