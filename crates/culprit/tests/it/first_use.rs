//! What somebody meets who uses the program for the first time, often with another tool's file.

use culprit_model::notation::parse;

use crate::support::{Lab, all_rights, alone, program, skip, stderr, stdout};

const FOLDED: &str = "main;serve;parse 34\nmain;serve;encode 20\nmain;idle 6\n";

#[test]
fn an_import_is_named_after_its_file_and_counts_samples_by_weight() {
    let lab = Lab::new();
    std::fs::write(lab.path("a.folded"), FOLDED).unwrap();
    let imported = lab.json(&["import", "a.folded"]);
    assert_eq!(imported["recording"], "a.culprit");
    assert_eq!(imported["samples"], 60);
    assert_eq!(lab.json(&["import", "a.folded"])["recording"], "a-1.culprit");
}

#[test]
fn the_report_of_an_import_names_the_heaviest_functions_and_paths() {
    let lab = Lab::new();
    std::fs::write(lab.path("a.folded"), FOLDED).unwrap();
    lab.json(&["import", "a.folded"]);
    let report = lab.culprit().args(["report", "a.culprit", "-o", "page.html"]).output().unwrap();
    assert!(report.status.success(), "{}", stderr(&report));
    let report = stdout(&lab.culprit().args(["report", "a.culprit"]).output().unwrap());
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    let verdict = lab.json(&["report", "a.culprit"])["verdict"].to_string();
    assert!(verdict.contains("60 samples: `parse` has 57 % by itself"), "{verdict}");
    assert!(report.contains("parse < serve < main"), "{report}");
    for text in [&report, &page] {
        assert!(text.contains("parse") && text.contains("57 %"), "{text}");
        assert!(text.contains("no thread time, so it does not say what threads"), "{text}");
        assert!(!text.contains("nothing can be said") && !text.contains("100.000"), "{text}");
        assert!(!text.contains("Nothing stands out"), "{text}");
    }
    let findings = stdout(&lab.culprit().args(["findings", "a.culprit"]).output().unwrap());
    assert!(findings.contains("culprit record -- CMD"), "{findings}");
}

#[test]
fn a_recording_is_replaced_only_by_force() {
    let lab = Lab::new();
    std::fs::write(lab.path("a.folded"), FOLDED).unwrap();
    lab.json(&["import", "a.folded"]);
    let earlier = std::fs::read(lab.path("a.culprit")).unwrap();
    for command in [
        &["import", "a.folded", "-o", "a.culprit"][..],
        &["record", "-o", "a.culprit", "--", "true"],
    ] {
        let output = lab.culprit().args(command).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let said = stderr(&output);
        assert!(said.contains("`--force` replaces it"), "{said}");
        assert_eq!(std::fs::read(lab.path("a.culprit")).unwrap(), earlier, "{command:?}");
    }
    lab.json(&["import", "a.folded", "-o", "a.culprit", "--force"]);
}

#[test]
fn a_filter_that_leaves_nothing_is_an_error_that_names_it() {
    let lab = Lab::new();
    let drawing =
        "tick 10ms\nstack u cpu.user app!main;app!compute\napp(10)/app(10) uuuu|\nroot app(10)";
    culprit_recording::write(lab.path("x.culprit"), &parse(drawing).unwrap()).unwrap();
    for view in ["top", "tree", "flame", "report", "findings"] {
        for filter in [["--thread", "nobody"], ["--process", "nobody"]] {
            let output = lab.culprit().args([view, "x.culprit"]).args(filter).output().unwrap();
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{view} {filter:?}: {said}");
            assert!(said.contains(&format!("`{}`", filter.join(" "))), "{view}: {said}");
        }
    }
    let whole = lab.culprit().args(["top", "x.culprit"]).output().unwrap();
    assert!(whole.status.success(), "{}", stderr(&whole));
}

#[test]
fn a_running_process_is_recorded_while_a_load_command_runs() {
    if !all_rights() {
        return skip("record --pid with a load", "another process needs root");
    }
    let _alone = alone();
    let lab = Lab::new();
    let serve = "while :; do i=$((i + 1)); done";
    let mut server = program("sh").args(["-c", serve]).spawn().unwrap();
    let pid = server.id().to_string();
    let load = ["record", "-o", "x.culprit", "--pid", &pid, "--", "sh", "-c", "sleep 0.3; exit 7"];
    let output = lab.culprit().args(load).output().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    // The exit code is the load command's.
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let recording = culprit_recording::open(lab.path("x.culprit")).unwrap().recording;
    let recorded = recording.threads.iter().filter(|thread| thread.recorded);
    let pids: Vec<u32> = recorded.map(|t| recording.process(t.process).pid.0).collect();
    assert_eq!(pids, [server.id()]);
    assert!(recording.meta.command.is_empty() && recording.meta.exit_code.is_none());
    let load = recording.meta.place_facts.iter().find(|(fact, _)| fact == "load");
    assert!(load.is_some_and(|(_, words)| words.contains("exit 7")), "{load:?}");
}

#[test]
fn a_process_that_has_ended_cannot_be_recorded() {
    if !all_rights() {
        return skip("record --pid of a zombie", "another process needs root");
    }
    let lab = Lab::new();
    let mut child = program("true").spawn().unwrap();
    let pid = child.id().to_string();
    let stat = format!("/proc/{pid}/stat");
    let is_zombie = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    culprit_testkit::wait_until("the child has ended", is_zombie);
    let record = ["record", "-o", "x.culprit", "-d", "300ms", "--pid", &pid];
    let output = lab.culprit().args(record).output().unwrap();
    child.wait().unwrap();
    assert!(matches!(output.status.code(), Some(2 | 3)), "{}", stderr(&output));
    assert!(stderr(&output).contains(&pid), "{}", stderr(&output));
    assert!(!lab.path("x.culprit").exists());
}

/// Linux hands a record of a mapping to all who listen, with marks that one of them asked for. perf ends
/// with a crash then.
#[test]
fn perf_works_in_a_program_that_is_recorded() {
    if !all_rights() {
        return skip("perf in a recorded program", "recording needs root");
    }
    let lab = Lab::new();
    let perf = ["perf", "record", "-q", "-o", "perf.data", "-e", "cpu-clock", "--", "true"];
    #[expect(clippy::disallowed_methods, reason = "no place is needed to see whether perf works")]
    let mut alone = std::process::Command::new(perf[0]);
    if !alone
        .args(&perf[1..])
        .current_dir(lab.path(""))
        .output()
        .is_ok_and(|ran| ran.status.success())
    {
        return skip("perf in a recorded program", "a perf that can record");
    }
    let record = ["record", "-o", "x.culprit", "--quiet", "--"];
    let ran = lab.culprit().args([&record[..], &perf].concat()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
