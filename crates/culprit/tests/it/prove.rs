//! `culprit config prove` on programs that read a known part of their variables.
//!
//! No assertion depends on time: a variable that was read must not be reported as unread, and one that was not read
//! must not be reported as read. How much of the truth is found is `prove_accuracy`'s question.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::json::undocumented;
use crate::prove_accuracy::dotnet;
use crate::support::{Lab, all_rights, fixtures, program, skip, stderr, wait_until};

/// Variables of every run: those in the first list are read.
const READ: [&str; 2] = ["QAX_READ_ONE", "QAX_READ_TWO"];
const UNREAD: &str = "QAX_READ_NOT";
/// Grades that claim a read, and the one that claims none.
const CLAIMS: [&str; 3] = ["effective_dump", "runtime_read", "value_read"];
const NEVER: &str = "armed_whole_life_no_access";

/// Runs `config prove --json` on a program with three variables, of which it reads two.
fn prove(lab: &Lab, command: &[&str], more: &[&str]) -> Output {
    let mut culprit = lab.culprit();
    for name in READ.iter().chain([&UNREAD]) {
        culprit.env(name, format!("value-of-{name}"));
    }
    let watched = format!("{},{},{UNREAD}", READ[0], READ[1]);
    culprit.args(["config", "prove", "--json", "--vars", &watched]).args(more).arg("--");
    culprit.args(command).output().unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

fn grades(document: &Value) -> BTreeMap<String, String> {
    let variables = document["variables"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    variables.map(|one| (text(&one["name"]), text(&one["grade"]))).collect()
}

/// Whether a record was lost, as a busy machine may do: then weaker grades are right, too.
fn is_lossy(document: &Value) -> bool {
    document["gaps"].as_array().unwrap().iter().any(|gap| gap["kind"] == "lost")
}

/// Reads two variables in two ways each, and checks that nothing false is claimed. Answers the grades; none where a
/// record was lost.
fn checked(lab: &Lab, command: &[&str], ways: [&str; 2]) -> Option<BTreeMap<String, String>> {
    let arguments: Vec<String> =
        READ.iter().zip(ways).map(|(name, how)| format!("{how}:{name}")).collect();
    let arguments = arguments.iter().map(String::as_str);
    let command: Vec<&str> = command.iter().copied().chain(arguments).collect();
    let output = prove(lab, &command, &[]);
    let found = document(&output);
    let grades = grades(&found);
    for name in READ {
        assert_ne!(grades[name], NEVER, "{command:?}: {found:#}");
    }
    assert!(!CLAIMS.contains(&grades[UNREAD].as_str()), "{command:?}: {found:#}");
    (!is_lossy(&found)).then_some(grades)
}

fn source(name: &str) -> PathBuf {
    fixtures().join("prove").join(name)
}

fn compiled(name: &str, compiler: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let source = source(name);
    culprit_testkit::compiled_from(compiler, &[&source], "reads", flags)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn reads_of_c_programs_are_proved_and_so_is_that_nobody_reads() {
    if !all_rights() {
        return skip("prove on C", "root");
    }
    let lab = Lab::new();
    let plain = compiled("reads.c", "cc", &["-O2", "-g", "-pthread"]).unwrap();
    let whole = compiled("reads.c", "cc", &["-O2", "-g", "-pthread", "-static"]).unwrap();
    let bare = compiled("reads.c", "cc", &["-O2", "-s", "-pthread", "-static"]).unwrap();
    for program in [&plain, &whole, &bare] {
        for ways in [["get", "open"], ["scan", "first"], ["thread", "fork"]] {
            let Some(grades) = checked(&lab, &[text(program)], ways) else { continue };
            assert_eq!(grades[UNREAD], NEVER, "{ways:?} {grades:?}");
            for name in READ {
                assert_eq!(grades[name], "value_read", "{program:?} {ways:?} {grades:?}");
            }
        }
        let Some(grades) = checked(&lab, &[text(program), "copy:"], ["get", "scan"]) else {
            continue;
        };
        assert_eq!(grades[UNREAD], "copied_with_all", "{program:?}");
    }
}

#[test]
fn what_is_lost_at_the_very_end_is_said() {
    if !all_rights() {
        return skip("prove and lost records", "root");
    }
    let lab = Lab::new();
    let plain = compiled("reads.c", "cc", &["-O2", "-g", "-pthread"]).unwrap();
    let (first, last) = (format!("burst:{}", READ[0]), format!("first:{}", READ[1]));
    for _ in 0..8 {
        // The burst fills the ring; no later record says that the last access found no room.
        let output = prove(&lab, &[text(&plain), &first, &last], &[]);
        let found = document(&output);
        let grades = grades(&found);
        assert_ne!(grades[READ[1]], NEVER, "{found:#}");
        if grades[READ[1]] != "value_read" {
            assert!(is_lossy(&found), "{found:#}");
            assert_ne!(grades[UNREAD], NEVER, "{found:#}");
        }
    }
}

#[test]
fn programs_with_another_c_library_and_in_rust_and_go_are_observed() {
    if !all_rights() {
        return skip("prove on musl, Rust and Go", "root");
    }
    let lab = Lab::new();
    for (name, compiler, flags) in [
        ("reads.c", "musl-gcc", &["-O2", "-g", "-pthread"][..]),
        ("reads.rs", "rustc", &["-O", "-g"]),
    ] {
        match compiled(name, compiler, flags) {
            Ok(program) => {
                let grades = checked(&lab, &[text(&program)], ["get", "get"]);
                let Some(grades) = grades else { continue };
                assert_eq!(grades[UNREAD], NEVER, "{name}");
                assert_eq!(grades[READ[0]], "value_read", "{name}");
            }
            Err(missing) => skip(name, &missing),
        }
    }
    let target = lab.path("reads-go");
    let mut go = program("go");
    go.args(["build", "-o"]).arg(&target).arg(source("reads.go"));
    match go.output() {
        Ok(built) if built.status.success() => {
            let Some(grades) = checked(&lab, &[text(&target)], ["get", "get"]) else { return };
            assert_eq!(grades[READ[0]], "runtime_read");
            // It measures all variables when it starts, and copies none.
            assert!(["copied_with_all", NEVER].contains(&grades[UNREAD].as_str()), "{grades:?}");
        }
        _ => skip("prove on Go", "the compiler of Go"),
    }
}

/// The program behind a name, which may be a script that starts it.
fn interpreter(name: &str, question: &[&str]) -> Option<String> {
    let output = program(name).args(question).stderr(Stdio::null()).output().ok()?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !path.is_empty()).then_some(path)
}

#[test]
fn python_is_asked_by_its_own_means() {
    let python = interpreter("python3", &["-c", "import sys; print(sys.executable)"]);
    let Some(python) = python.filter(|_| all_rights()) else {
        return skip("prove on Python", "root and python3");
    };
    let lab = Lab::new();
    let script = source("reads.py");
    if let Some(grades) = checked(&lab, &[&python, text(&script)], ["get", "in"]) {
        assert_eq!(grades[READ[0]], "runtime_read");
        assert_eq!(grades[READ[1]], "name_probed", "`in` looks at the name alone");
        assert_eq!(grades[UNREAD], "copied_with_all");
    }
    if let Some(grades) = checked(&lab, &[&python, text(&script), "copy:"], ["get", "get"]) {
        assert_eq!(grades[UNREAD], "copied_with_all", "dict(os.environ) is no read");
    }
    // What the interpreter and its libraries ask for is nothing that the user forgot.
    let lines = "import os, locale\nlocale.getlocale()\nos.environ.get('QAX_UNSET')\n";
    std::fs::write(lab.path("asks.py"), lines).unwrap();
    let found = document(&prove(&lab, &[&python, text(&lab.path("asks.py"))], &[]));
    let findings = found["findings"].as_array().unwrap().iter();
    let knobs = findings.filter(|one| one["id"] == "config-hidden-knob");
    let keys: Vec<&str> = knobs.map(|one| one["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["QAX_UNSET"], "{found:#}");
}

#[test]
fn node_is_asked_by_its_own_means() {
    let node = interpreter("node", &["-p", "process.execPath"]);
    let Some(node) = node.filter(|_| all_rights()) else {
        return skip("prove on Node.js", "root and node");
    };
    let lab = Lab::new();
    let script = source("reads.js");
    if let Some(grades) = checked(&lab, &[&node, text(&script)], ["get", "get"]) {
        assert_eq!(grades[READ[0]], "runtime_read", "{grades:?}");
        assert_eq!(grades[UNREAD], NEVER, "{grades:?}");
    }
    if let Some(grades) = checked(&lab, &[&node, text(&script), "copy:"], ["get", "get"]) {
        assert_eq!(grades[READ[0]], "runtime_read", "{grades:?}");
        assert_eq!(grades[UNREAD], "copied_with_all", "a copy of process.env is no read");
    }
}

/// Every JVM of the system, where Debian and its relatives put them.
fn javas() -> Vec<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let mut javas: Vec<PathBuf> = installed
        .filter_map(|folder| std::fs::canonicalize(folder.path().join("bin/java")).ok())
        .collect();
    javas.sort();
    javas.dedup();
    javas
}

#[test]
fn java_is_asked_by_its_own_means() {
    let lab = Lab::new();
    let classes = lab.path("classes");
    let mut compiler = program("javac");
    compiler.args(["--release", "11", "-d"]).arg(&classes).arg(source("Reads.java"));
    let built = compiler.output().is_ok_and(|built| built.status.success());
    if !built || !all_rights() {
        return skip("prove on Java", "root and javac");
    }
    for java in javas() {
        let program = [text(&java), "-cp", text(&classes), "Reads"];
        if let Some(grades) = checked(&lab, &program, ["get", "get"]) {
            assert_eq!(grades[READ[0]], "runtime_read", "{java:?}");
            assert_eq!(grades[UNREAD], "copied_with_all", "{java:?}");
        }
        let copies = [&program[..], &["copy:"]].concat();
        if let Some(grades) = checked(&lab, &copies, ["get", "get"]) {
            assert_eq!(grades[UNREAD], "copied_with_all", "{java:?}");
        }
        // A JVM that cannot reach the hook runs all the same.
        let other = [&["setpriv", "--reuid=65534", "--clear-groups"][..], &program].concat();
        let output = prove(&lab, &other, &[]);
        assert!(stderr(&output).contains("\n0\n"), "{java:?}: {}", stderr(&output));
    }
}

#[test]
fn dotnet_copies_all_variables_and_none_is_said_to_be_unread() {
    if !all_rights() {
        return skip("prove on .NET", "root");
    }
    let lab = Lab::new();
    for version in ["3.1", "8"] {
        let command = match dotnet(&lab, version) {
            Ok(command) => command,
            Err(missing) => {
                skip("prove on .NET", &missing);
                continue;
            }
        };
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let Some(grades) = checked(&lab, &command, ["get", "get"]) else { continue };
        assert_eq!(grades[UNREAD], "copied_with_all", "{version} {grades:?}");
    }
}

#[test]
fn a_process_that_outlives_the_command_is_never_said_not_to_read() {
    if !all_rights() {
        return skip("prove on a background process", "root");
    }
    let lab = Lab::new();
    let reads = compiled("reads.c", "cc", &["-O2", "-g", "-pthread"]).unwrap();
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "--vars", "QAX_LATE"]).env("QAX_LATE", "x");
    let output = culprit.args(["--", text(&reads), "later:QAX_LATE"]).output().unwrap();
    let found = document(&output);
    assert_ne!(grades(&found)["QAX_LATE"], "armed_whole_life_no_access", "{found:#}");
    let gaps = found["gaps"].as_array().unwrap();
    let outlives = |gap: &&Value| gap["why"].as_str().unwrap().contains("still ran");
    assert!(gaps.iter().any(|gap| outlives(&gap)), "{gaps:?}");
}

#[test]
fn each_round_runs_the_command_once_more() {
    if !all_rights() {
        return skip("prove with rounds", "root");
    }
    let lab = Lab::new();
    let reads = compiled("reads.c", "cc", &["-O2", "-g", "-pthread"]).unwrap();
    let names = ["QAX_1", "QAX_2", "QAX_3", "QAX_4", "QAX_5"];
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "--rounds", "2", "--vars", &names.join(",")]);
    let script = format!("echo x >>ran; {} get:QAX_1 get:QAX_5; exit 7", text(&reads));
    names.iter().for_each(|name| _ = culprit.env(name, format!("value-of-{name}")));
    let output = culprit.args(["--", "sh", "-c", &script]).output().unwrap();
    let found = document(&output);
    assert_eq!(std::fs::read_to_string(lab.path("ran")).unwrap(), "x\nx\n");
    assert_eq!((&found["rounds"], found["armed"].as_array().unwrap().len()), (&2.into(), 5));
    let said = found["gaps"].as_array().unwrap().iter().filter(|gap| gap["kind"] == "exit");
    assert_eq!(said.count(), 1, "{found:#}");
    let grades = grades(&found);
    for name in ["QAX_1", "QAX_5"] {
        assert!(["value_read", "name_probed"].contains(&&*grades[name]), "{found:#}");
    }
    for name in ["QAX_2", "QAX_3", "QAX_4"] {
        assert!(!CLAIMS.contains(&&*grades[name]), "{found:#}");
    }
}

#[test]
fn what_one_run_proves_and_no_other_contradicts_is_not_read() {
    if !all_rights() {
        return skip("prove with rounds", "root");
    }
    let lab = Lab::new();
    let reads = compiled("reads.c", "cc", &["-O2", "-g", "-pthread"]).unwrap();
    let names = ["QAX_1", "QAX_2", "QAX_3", "QAX_4", "QAX_5"];
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "--rounds", "2", "--vars", &names.join(",")]);
    names.iter().for_each(|name| _ = culprit.env(name, format!("value-of-{name}")));
    let output = culprit.args(["--", text(&reads), "get:QAX_1", "get:QAX_5"]).output().unwrap();
    let found = document(&output);
    if is_lossy(&found) {
        return;
    }
    let grades = grades(&found);
    let expected = names.map(|name| match name {
        "QAX_1" | "QAX_5" => (name, "value_read"),
        _ => (name, NEVER),
    });
    assert_eq!(names.map(|name| (name, grades[name].as_str())), expected, "{found:#}");
}

#[test]
fn a_shell_that_copies_all_variables_reads_none() {
    if !all_rights() {
        return skip("prove on shells", "root");
    }
    let lab = Lab::new();
    for shell in ["sh", "bash", "dash", "zsh", "ksh", "busybox"] {
        if interpreter("sh", &["-c", &format!("command -v {shell}")]).is_none() {
            skip(&format!("prove on {shell}"), "the shell");
            continue;
        }
        let applet: &[&str] = if shell == "busybox" { &["sh"] } else { &[] };
        let words = [&[shell], applet, &["-c", "exit 0"]].concat();
        let found = document(&prove(&lab, &words, &[]));
        let grades = grades(&found);
        for name in READ.iter().chain([&UNREAD]) {
            assert!(!CLAIMS.contains(&grades[*name].as_str()), "{shell}: {found:#}");
        }
    }
}

#[test]
fn programs_that_a_program_starts_are_watched_too() {
    if !all_rights() {
        return skip("prove on programs that are started", "root");
    }
    let lab = Lab::new();
    let reads = compiled("reads.c", "cc", &["-O2", "-g", "-pthread"]).unwrap();
    let Some(grades) = checked(&lab, &["timeout", "60", text(&reads)], ["get", "scan"]) else {
        return;
    };
    assert_eq!(grades[UNREAD], NEVER, "what is handed on is not read: {grades:?}");
    for name in READ {
        assert_eq!(grades[name], "value_read", "{grades:?}");
    }
    let output = prove(&lab, &["timeout", "60", text(&reads)], &[]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("\"watchpoints\""), "{output:?}");
}

#[test]
fn a_name_that_is_not_set_is_said() {
    let lab = Lab::new();
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "--vars", "QAX_PROT,QAX_OTHER", "--", "true"]);
    let found = document(&culprit.env("QAX_PORT", "1").output().unwrap());
    let gaps = found["gaps"].as_array().unwrap().iter();
    let unset: Vec<_> = gaps.filter(|gap| gap["kind"] == "not_set").collect();
    let said = |gap: &Value| gap["why"].as_str().unwrap().split('`').nth(1).unwrap().to_owned();
    assert_eq!(unset.iter().map(|gap| said(gap)).collect::<Vec<_>>(), ["QAX_OTHER", "QAX_PROT"]);
    assert_eq!(unset[1]["next"], "correct the name, if `QAX_PORT` is meant");
    assert_eq!(found["armed"].as_array().unwrap().len(), 0);
}

#[test]
fn names_that_nothing_sets_and_files_that_are_missing_are_listed() {
    if !all_rights() {
        return skip("prove", "root");
    }
    let lab = Lab::new();
    let reads = compiled("reads.c", "cc", &["-O2", "-g", "-pthread"]).unwrap();
    let output = prove(&lab, &[text(&reads), "get:QAX_UNSET", "open:QAX_READ_ONE"], &[]);
    let found = document(&output);
    let hidden: Vec<_> = found["hidden"].as_array().unwrap().iter().collect();
    assert!(hidden.iter().any(|one| one["name"] == "QAX_UNSET"), "{found:#}");
    let ids: Vec<_> = found["findings"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert!(ids.iter().any(|id| *id == "config-hidden-knob"), "{ids:?}");
    assert!(ids.iter().any(|id| *id == "config-never-read"), "{ids:?}");
    let files = found["files"].as_array().unwrap();
    let missing = |one: &&Value| one["path"] == "value-of-QAX_READ_ONE" && one["missing"] == 1;
    assert!(files.iter().any(|one| missing(&one)), "{files:#?}");
    // Fails on a key that the page lacks.
    undocumented("config-prove", &[found]);
}

#[test]
fn another_value_shows_an_effect() {
    let lab = Lab::new();
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "--flip", "QAX_A=2", "--flip", "QAX_B=2", "--"]);
    culprit.env("QAX_A", "1").env("QAX_B", "1");
    let output = culprit.args(["sh", "-c", "echo $QAX_A"]).output().unwrap();
    let found = document(&output);
    let grades = grades(&found);
    assert_eq!(grades["QAX_A"], "effective_dump", "{found:#}");
    assert_ne!(grades["QAX_B"], "effective_dump", "{found:#}");
}

#[test]
fn a_killed_observer_leaves_the_program_running_and_no_probe() {
    if !all_rights() {
        return skip("prove", "root");
    }
    let lab = Lab::new();
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--", "sh", "-c", "echo $$ > pid; exec sleep 60"]);
    culprit.stdout(Stdio::null()).stderr(Stdio::null());
    let mut culprit = culprit.spawn().unwrap();
    let pid = || std::fs::read_to_string(lab.path("pid")).ok().filter(|pid| pid.ends_with('\n'));
    wait_until("the command runs", || pid().is_some());
    culprit.kill().unwrap();
    culprit.wait().unwrap();
    let pid = pid().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap();
    assert!(status.contains("TracerPid:\t0"), "{status}");
    let definitions = std::fs::read_to_string("/sys/kernel/tracing/uprobe_events");
    assert!(!definitions.unwrap_or_default().contains("getenv"));
    program("kill").arg(pid.trim()).status().unwrap();
}
