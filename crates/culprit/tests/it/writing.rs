//! What `-o` may replace, and what it must leave alone.

use culprit_model::notation::parse;

use crate::support::{Lab, all_rights, alone, skip, stderr};

fn write_recording(lab: &Lab, name: &str) -> Vec<u8> {
    let recording = parse("tick 10ms\nstack u cpu.user app!main\napp(10)/app(10) uuu|").unwrap();
    culprit_recording::write(lab.path(name), &recording).unwrap();
    std::fs::read(lab.path(name)).unwrap()
}

#[test]
fn a_file_is_replaced_only_by_force() {
    let lab = Lab::new();
    std::fs::write(lab.path("thesis.txt"), "years of work").unwrap();
    let record = |more: &[&str]| {
        let mut culprit = lab.culprit();
        culprit.args(["record", "-o", "thesis.txt"]).args(more).args(["--", "true"]);
        culprit.output().unwrap()
    };
    let output = record(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`--force` replaces it"), "{}", stderr(&output));
    assert_eq!(std::fs::read(lab.path("thesis.txt")).unwrap(), b"years of work");
    let output = record(&["--force"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(culprit_recording::open(lab.path("thesis.txt")).is_ok());
    assert_eq!(std::fs::read_dir(lab.path(".")).unwrap().count(), 1);
}

#[test]
fn a_command_that_cannot_start_costs_no_earlier_recording() {
    let lab = Lab::new();
    let earlier = write_recording(&lab, "x.culprit");
    let output = lab
        .culprit()
        .args(["record", "--force", "-o", "x.culprit", "--", "no-such"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(std::fs::read(lab.path("x.culprit")).unwrap(), earlier);
    assert_eq!(std::fs::read_dir(lab.path(".")).unwrap().count(), 1);
    let output = lab.culprit().args(["report", "x.culprit", "-o", "x.culprit"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(std::fs::read(lab.path("x.culprit")).unwrap(), earlier);
}

#[test]
fn a_folder_and_a_folder_that_cannot_be_written_are_refusals() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("folder")).unwrap();
    for path in ["folder", "folder/none/x.culprit", "/proc/x.culprit", "/dev/null"] {
        let output = lab.culprit().args(["record", "-o", path, "--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{path}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("hint: give another file with `-o`"),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(std::fs::read_dir(lab.path("folder")).unwrap().count(), 0);
}

#[test]
fn why_writes_into_no_folder_that_holds_something_else() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("w")).unwrap();
    std::fs::write(lab.path("w/letter.txt"), "dear").unwrap();
    let output = lab.culprit().args(["why", "-o", "w", "--", "touch", "ran"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("letter.txt"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(lab.path("w")).unwrap().count(), 1);
    assert!(!lab.path("ran").exists());
}

#[test]
fn the_recorder_does_not_list_itself() {
    if !all_rights() {
        return skip("the recorder itself", "recording the machine needs root");
    }
    let _alone = alone();
    let lab = Lab::new();
    let record = ["record", "--all", "-o", "x.culprit", "--quiet", "--", "sleep", "0.2"];
    let mut recorder = lab.culprit().args(record).spawn().unwrap();
    let pid = recorder.id();
    assert!(recorder.wait().unwrap().success());
    let recording = culprit_recording::open(lab.path("x.culprit")).unwrap().recording;
    let listed = recording.threads.iter().filter(|thread| thread.recorded);
    let (own, others): (Vec<_>, Vec<_>) =
        listed.partition(|thread| recording.process(thread.process).pid.0 == pid);
    assert!(own.is_empty(), "{own:?}");
    assert!(!others.is_empty());
}
