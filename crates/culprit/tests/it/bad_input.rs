//! What users get for wrong arguments, wrong files and missing rights: a clear message, the
//! documented exit code, nothing left behind.

use crate::help::SUBCOMMANDS;
use crate::support::{Lab, all_rights, alone, program, skip, stderr, stdout};

/// Runs `culprit` and returns its exit code and what it said.
fn fails(lab: &Lab, arguments: &[&str]) -> (i32, String) {
    let output = lab.culprit().args(arguments).output().expect("culprit runs");
    (output.status.code().expect("no signal"), stderr(&output))
}

#[test]
fn an_unknown_command_of_culprit_is_bad_usage() {
    let (code, said) = fails(&Lab::new(), &["recrod"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("record"), "{said}");
}

#[test]
fn with_json_a_wrong_argument_is_a_document() {
    let lab = Lab::new();
    let asks = |name: &&&str| **name == "sql" || name.starts_with("audit");
    for subcommand in SUBCOMMANDS.iter().filter(asks) {
        let words = subcommand.split(' ').chain(["--json", "--nonsense"]);
        let output = lab.culprit().args(words).output().expect("culprit runs");
        assert_eq!(output.status.code(), Some(2), "{subcommand}");
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a document");
        let error = &document["error"];
        assert_eq!(error["exit_code"], 2, "{subcommand}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("--nonsense"), "{subcommand}: {message}");
    }
}

#[test]
fn an_unknown_program_to_record_is_bad_input_and_leaves_no_file() {
    let lab = Lab::new();
    let (code, said) = fails(&lab, &["record", "-o", "x.culprit", "--", "no-such-program"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("no-such-program"), "{said}");
    assert!(!lab.path("x.culprit").exists(), "a recording of nothing was left");
}

#[test]
fn a_dead_pid_is_bad_input() {
    let lab = Lab::new();
    let mut child = program("true").spawn().expect("true");
    let pid = child.id().to_string();
    child.wait().expect("an exit status");
    let (code, said) = fails(&lab, &["record", "-o", "x.culprit", "--pid", &pid]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(&pid), "{said}");
    assert!(!lab.path("x.culprit").exists());
}

#[test]
fn files_that_are_no_recordings_are_named_for_what_they_are() {
    let lab = Lab::new();
    for (content, word) in [
        (&b""[..], "empty"),
        (b"hello\n", "text"),
        (b"PERFILE2........", "perf"),
        (b"\x7fELF..", "ELF"),
    ] {
        std::fs::write(lab.path("x"), content).expect("a file");
        let (code, said) = fails(&lab, &["report", "x"]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(word), "{word}: {said}");
    }
    let (code, said) = fails(&lab, &["report", "nowhere.culprit"]);
    assert_eq!(code, 2, "{said}");
}

#[test]
fn a_truncated_recording_shows_what_is_whole() {
    if !all_rights() {
        return skip("truncated", "a recording of a command needs perf events");
    }
    let lab = Lab::new();
    lab.record("whole.culprit", &["sh", "-c", "sleep 0.2; sleep 0.2"]);
    let whole = std::fs::read(lab.path("whole.culprit")).expect("the recording");
    for part in [3, 5, 9] {
        std::fs::write(lab.path("cut.culprit"), &whole[..whole.len() * part / 10]).expect("a file");
        let output = lab.culprit().args(["report", "cut.culprit"]).output().expect("culprit runs");
        let code = output.status.code().expect("no signal");
        assert!(code == 0 || code == 2, "{code}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_keeps_what_was_written() {
    if !all_rights() {
        return skip("full-disk", "mounting a small file system needs root");
    }
    let lab = Lab::new();
    let mount = lab.path("small");
    std::fs::create_dir(&mount).expect("a folder");
    let mounted = program("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
        .arg(&mount)
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        return skip("full-disk", "a small tmpfs cannot be mounted");
    }
    let busy = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); /bin/true; done";
    let output = lab
        .culprit()
        .args(["record", "-o", "small/x.culprit", "--", "sh", "-c", busy])
        .output()
        .expect("culprit runs");
    let report = lab.culprit().args(["report", "small/x.culprit"]).output();
    let unmounted = program("umount").arg(&mount).status().expect("umount");
    assert!(unmounted.success());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("full") || said.contains("space"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    let report = report.expect("culprit runs");
    assert!(report.status.success(), "what was written does not open: {}", stderr(&report));
    let report = stdout(&report);
    assert!(report.contains("disk-full") && !report.contains("killed"), "{report}");
}

#[test]
fn without_rights_the_message_names_the_way_out() {
    if !all_rights() {
        return skip("rights", "dropping rights needs root");
    }
    // Another test changes it.
    let _alone = alone();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").expect("sysctl");
    if paranoid.trim().parse::<i32>().is_ok_and(|level| level < 2) {
        return skip("rights", "kernel.perf_event_paranoid is below 2");
    }
    let lab = Lab::new();
    let status = program("chmod").args(["0777"]).arg(lab.path("")).status();
    assert!(status.expect("chmod").success());
    // The built program may lie where an ordinary user cannot go.
    let copy = lab.path("culprit");
    std::fs::copy(env!("CARGO_BIN_EXE_culprit"), &copy).expect("a copy");
    let run = |arguments: &[&str]| {
        program("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&copy)
            .args(arguments)
            .current_dir(lab.path(""))
            .output()
            .expect("setpriv")
    };
    let all = run(&["record", "-o", "all.culprit", "-d", "0.2", "--all"]);
    assert_eq!(all.status.code(), Some(3), "{}", stderr(&all));
    assert!(stderr(&all).contains("perf_event_paranoid"), "{}", stderr(&all));
    let own = run(&["record", "-o", "own.culprit", "--", "sleep", "0.3"]);
    assert_eq!(own.status.code(), Some(0), "{}", stderr(&own));
    let report = run(&["report", "own.culprit"]);
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("perf_event_paranoid") || text.contains("CAP_PERFMON"), "{text}");
}
