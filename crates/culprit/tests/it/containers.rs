//! A process that lives only inside a container is named after the container is gone.

use std::path::Path;
use std::process::Stdio;

use culprit_model::{MarkKind, Time};

use crate::support::{
    Image, Lab, all_rights, alone, disturbed, engine_answers, number, program, skip, stderr,
    wait_until,
};

/// When the recording saw the program being executed: before, its process is the engine's own helper,
/// which sets the container up. The start, when it ran already.
fn executed(recording: &Path) -> String {
    let opened = culprit_recording::open(recording).expect("the recording");
    let marks = opened.recording.marks.iter();
    let mut execs = marks.filter(|m| m.kind == MarkKind::Exec && m.text.as_str() == "/named");
    format!("{:.9}s", execs.next().map_or(0.0, |mark| mark.time.since(Time::START).seconds()))
}

/// The rows of the program's code: functions and how long it was in them.
fn rows_of_code(lab: &Lab, recording: &str) -> Vec<(String, f64)> {
    let from = executed(&lab.path(recording));
    let own = ["--thread", "named", "--from", &from, "--metric", "wall", "--limit", "0"];
    let top = lab.json(&[&["top", recording], &own[..]].concat());
    let rows = top["rows"].as_array().expect("rows").iter();
    let rows = rows.map(|row| (row["name"].as_str().unwrap().to_owned(), number(&row["inc"])));
    rows.filter(|(name, _)| name.contains('!')).collect()
}

/// The functions that do the program's work have names.
fn work_is_named(lab: &Lab, recording: &str) {
    let rows = rows_of_code(lab, recording);
    for function in ["named!churn_numbers", "named!handle_request", "named!main"] {
        assert!(rows.iter().any(|(name, time)| name == function && *time > 0.0), "{rows:?}");
    }
}

/// Nearly all functions have names.
fn nearly_all_is_named(lab: &Lab, recording: &str) {
    let rows = rows_of_code(lab, recording);
    let all: f64 = rows.iter().map(|(_, time)| time).sum();
    let named: f64 =
        rows.iter().filter(|(name, _)| !name.ends_with("!?")).map(|(_, time)| time).sum();
    let lost = disturbed(&lab.json(&["report", recording]));
    assert!(named >= 0.99 * all, "{named} of {all} ns have names, lost: {lost:?}: {rows:?}");
}

/// A lab with an image; none without an engine and root.
fn lab_with_image(test: &str) -> Option<(Lab, Image)> {
    if !all_rights() || !engine_answers() {
        skip("containers", "a container engine, and root for its processes");
        return None;
    }
    let lab = Lab::new();
    let image = Image::make(&lab, test);
    Some((lab, image))
}

/// Starts a recording and waits until it has begun.
fn begin(lab: &Lab, arguments: &[&str]) -> std::process::Child {
    let mut culprit = lab.culprit();
    culprit.args(["record", "-o", "x.culprit"]).args(arguments);
    let mut recorder = culprit.stderr(Stdio::piped()).spawn().expect("culprit runs");
    wait_until("a recording that has begun", || {
        assert!(recorder.try_wait().expect("a child").is_none(), "it ended by itself");
        lab.path("x.culprit").exists()
    });
    recorder
}

/// Records the machine while a container runs and goes.
fn record_all(lab: &Lab, image: &Image) {
    let recorder = begin(lab, &["--all"]);
    let ran =
        program("docker").args(["run", "--rm", "--net=none", &image.0, "/named", "1"]).status();
    assert!(ran.expect("docker run").success());
    let pid = rustix::process::Pid::from_child(&recorder);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it records");
    let output = recorder.wait_with_output().expect("an exit status");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn functions_of_a_container_that_is_gone_are_named() {
    let _alone = alone();
    let Some((lab, image)) = lab_with_image("all") else { return };
    record_all(&lab, &image);
    work_is_named(&lab, "x.culprit");
}

#[test]
#[ignore = "statistical: make accuracy"]
fn nearly_all_functions_of_a_container_that_is_gone_are_named() {
    let Some((lab, image)) = lab_with_image("nearly-all") else { return };
    record_all(&lab, &image);
    nearly_all_is_named(&lab, "x.culprit");
    record_place(&lab, &image, "1");
    nearly_all_is_named(&lab, "place.culprit");
}

/// Records a container of the image from its first instruction.
fn record_place(lab: &Lab, image: &Image, seconds: &str) {
    let place = format!("docker:{}", image.0);
    let output = lab
        .culprit()
        .args(["record", "-o", "place.culprit", "--place", &place, "--", "/named", seconds])
        .output()
        .expect("culprit runs");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_place_of_an_image_is_recorded_from_its_first_instruction() {
    let Some((lab, image)) = lab_with_image("place") else { return };
    record_place(&lab, &image, "0.5");
    work_is_named(&lab, "place.culprit");
}

/// V8 would write its log to stdout.
#[test]
fn node_js_gets_no_options_where_it_cannot_write_its_log() {
    let Some((lab, image)) = lab_with_image("log") else { return };
    for (access, writable) in [("", true), (":ro", false)] {
        let folder = lab.path(".");
        let place = format!(
            "docker:{},volume=/tmp:/tmp,volume={}:/work{access},workdir=/work",
            image.0,
            folder.display()
        );
        let record = ["record", "--force", "-o", "x.culprit", "--place", &place];
        let output = lab.culprit().args(record).args(["--", "/named", "0.1"]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let recording = culprit_recording::open(lab.path("x.culprit")).unwrap().recording;
        let set = culprit_model::RUNTIMES[0].set_in(&recording.meta).unwrap();
        assert_eq!(set.is_ok(), writable, "{set:?}");
    }
}

#[test]
fn a_recording_of_a_container_ends_with_it() {
    let Some((lab, image)) = lab_with_image("ends") else { return };
    let name = format!("culprit-test-{}", std::process::id());
    let docker = |arguments: &[&str]| {
        let status = program("docker").args(arguments).stdout(Stdio::null()).status();
        assert!(status.expect("docker").success(), "{arguments:?}");
    };
    docker(&["run", "--rm", "-d", "--net=none", "--name", &name, &image.0, "/named", "600"]);
    let mut recorder = begin(&lab, &["--container", &name]);
    // Something to name has been flushed.
    wait_until("the program's work in the recording", || {
        let opened = culprit_recording::open(lab.path("x.culprit"));
        opened.is_ok_and(|opened| opened.recording.samples.len() > 10)
    });
    docker(&["kill", &name]);
    wait_until("the end of the recording", || recorder.try_wait().expect("a child").is_some());
    let output = recorder.wait_with_output().expect("an exit status");
    assert!(output.status.success(), "{}", stderr(&output));
    work_is_named(&lab, "x.culprit");
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
