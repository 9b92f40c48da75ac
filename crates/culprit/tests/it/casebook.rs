//! The casebook: every case that this machine can run shows what it is there to show, and one that
//! does not is told.

use serde_json::Value;

use crate::support::{Lab, all_rights, number, program, skip, stderr, stdout, wait_until};

/// How often a case that came out otherwise is measured again: other programs may have disturbed it.
const TRIES: usize = 3;

/// A case of the test's own: a sleep that stands for a fix by its length.
fn write_case(lab: &Lab, name: &str, change: impl Fn(&str) -> String) {
    let folder = lab.path("cases").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text = "title = 'a pause'\nstory = 'it waits'\nfix = 'shorter'\nrounds = 3\n\
        build = [['sh', '-c', 'echo 0.4 > pause']]\n\
        [guilty]\ncommand = ['sh', '-c', 'sleep $(cat pause)']\nfinding = 'idle-await'\n\
        [fixed]\ncommand = ['sleep', '0.02']\n";
    std::fs::write(folder.join("case.toml"), change(text)).unwrap();
}

fn run(lab: &Lab, arguments: &[&str]) -> std::process::Output {
    lab.culprit().args(["casebook", "run"]).args(arguments).output().unwrap()
}

/// What is in the folder where cases are run; other runs' folders are none of ours.
fn left_by(pid: u32) -> usize {
    let names = std::fs::read_dir("/var/tmp").unwrap().flatten();
    let of_it = format!("_{pid}_");
    let own = |name: &str| name.ends_with("-casebook") && name.contains(&of_it);
    names.filter(|entry| own(&entry.file_name().to_string_lossy())).count()
}

// The usual tests judge kept runs of all cases (src/replay/casebook.rs).
#[test]
#[ignore = "statistical: make accuracy"]
fn every_case_shows_what_it_is_there_to_show() {
    if !all_rights() {
        return skip("casebook", "kernel stacks and wakers need root");
    }
    let lab = Lab::new();
    let mut names = vec!["--all".to_owned()];
    for attempt in 1..=TRIES {
        let mut arguments: Vec<&str> = names.iter().map(String::as_str).collect();
        arguments.extend(["--short", "--json"]);
        let output = run(&lab, &arguments);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cases = document["cases"].as_array().unwrap();
        for case in cases.iter().filter(|case| case["state"] == "skipped") {
            skip(case["name"].as_str().unwrap(), &case["missing"].to_string());
        }
        let wrong: Vec<&Value> = cases.iter().filter(|c| c["state"] == "otherwise").collect();
        assert_eq!(output.status.code(), Some(i32::from(!wrong.is_empty())));
        if wrong.is_empty() {
            return;
        }
        for case in &wrong {
            println!("try {attempt}: {}: {}", case["name"], case["checks"]);
        }
        assert!(attempt < TRIES, "{} cases came out otherwise", wrong.len());
        names = wrong.iter().map(|case| case["name"].as_str().unwrap().to_owned()).collect();
    }
}

#[test]
fn cases_are_listed_and_shown() {
    let lab = Lab::new();
    let listed = lab.json(&["casebook", "list"]);
    assert_eq!(listed, lab.json(&["casebook"]));
    let cases = listed["cases"].as_array().unwrap();
    assert!(cases.len() >= 6, "{listed}");
    let table = stdout(&lab.culprit().args(["casebook", "list"]).output().unwrap());
    for case in cases {
        let name = case["name"].as_str().unwrap();
        assert!(table.contains(name), "{table}");
        let shown = lab.json(&["casebook", "show", name]);
        assert_eq!(shown["finding"], case["finding"]);
        let text = stdout(&lab.culprit().args(["casebook", "show", name]).output().unwrap());
        let question = &shown["questions"][0]["command"];
        let command = shown["guilty"].as_str().or(question.as_str()).unwrap();
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_case_is_told_before_anything_runs() {
    let lab = Lab::new();
    write_case(&lab, "broken", |text| text.replace("story", "tale"));
    write_case(&lab, "fine", str::to_owned);
    for (arguments, said) in [
        (&["no-such-case"][..], "tail-poll"),
        (&["broken", "--dir", "cases"], "tale"),
        (&["--all", "--dir", "cases"], "broken"),
        (&["--all", "--dir", "nowhere"], "nowhere"),
        (&[], "NAME"),
        (&["tail-poll", "--all"], "--all"),
    ] {
        let output = run(&lab, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
        assert!(stdout(&output).is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_case_that_lacks_a_program_is_skipped_by_name() {
    let lab = Lab::new();
    write_case(&lab, "lacking", |text| text.replace("rounds", "needs = ['no-such-tool']\nrounds"));
    let listed = lab.json(&["casebook", "list", "--dir", "cases"]);
    assert_eq!(listed["cases"][0]["missing"][0], "no-such-tool");
    for arguments in [["lacking", "--dir", "cases"], ["--all", "--dir", "cases"]] {
        let output = run(&lab, &arguments);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("no-such-tool"), "{}", stderr(&output));
        assert!(stdout(&output).contains("lacking  skipped"), "{}", stdout(&output));
    }
    if !all_rights() {
        return skip("casebook beside a skipped case", "recording in full needs root");
    }
    write_case(&lab, "pause", str::to_owned);
    let output = run(&lab, &["--all", "--dir", "cases", "--short"]);
    // Whether the other case holds is a matter of times.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("lacking  skipped"), "{}", stdout(&output));
    assert!(stdout(&output).contains("pause"), "{}", stdout(&output));
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_case_beside_a_skipped_one_holds() {
    if !all_rights() {
        return skip("casebook beside a skipped case", "recording in full needs root");
    }
    let lab = Lab::new();
    write_case(&lab, "lacking", |text| text.replace("rounds", "needs = ['no-such-tool']\nrounds"));
    write_case(&lab, "pause", str::to_owned);
    let output = run(&lab, &["--all", "--dir", "cases", "--short"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
}

/// A case of questions, which needs no rights: what a question answers is known.
fn write_questions(lab: &Lab, name: &str, bound: &str) {
    let folder = lab.path("cases").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "title = 'a page'\nstory = 'it is asked'\nfix = 'none'\nbuild = [['touch', 'built']]\n\
         clean = [['sh', '-c', 'test -e asked && touch {}']]\n[[question]]\n\
         before = [['cp', 'built', 'asked']]\ncommand = ['explain', 'fsync-storm']\n\
         [[question.expect]]\nsays = 'it is about flushes'\nat = '/finding'\n\
         with = {{ id = '*fsync*' }}\n\
         [[question.expect]]\nsays = 'it has a version'\nat = '/schema'\nkey = ''\n{bound}\n",
        lab.path("cleaned").display()
    );
    std::fs::write(folder.join("case.toml"), text).unwrap();
}

#[test]
fn a_case_of_questions_is_judged_by_what_is_answered() {
    let lab = Lab::new();
    write_questions(&lab, "asked", "at_least = 1");
    let output = run(&lab, &["asked", "--dir", "cases", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let case = &document["cases"][0];
    assert_eq!(case["state"], "as-expected", "{case}");
    assert_eq!(case["answers"][0]["command"], "culprit explain fsync-storm");
    assert_eq!(case["answers"][0]["document"]["finding"]["id"], "fsync-storm");
    assert!(lab.path("cleaned").exists(), "it was not cleaned up after");
    write_questions(&lab, "otherwise", "at_least = 1e9");
    let output = run(&lab, &["otherwise", "--dir", "cases"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("NO   expected"), "{}", stdout(&output));
}

#[test]
fn a_question_that_fails_is_no_answer() {
    let lab = Lab::new();
    write_questions(&lab, "failing", "at_least = 1");
    let file = lab.path("cases/failing/case.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("fsync-storm", "no-such-storm");
    std::fs::write(&file, text).unwrap();
    let output = run(&lab, &["failing", "--dir", "cases"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("no-such-storm"), "{}", stderr(&output));
    assert!(lab.path("cleaned").exists(), "it was not cleaned up after");
}

#[test]
fn another_finding_than_the_expected_fails_and_says_which() {
    if !all_rights() {
        return skip("casebook with a wrong expectation", "recording in full needs root");
    }
    let lab = Lab::new();
    write_case(&lab, "wrong", |text| text.replace("idle-await", "fsync-storm"));
    let output = run(&lab, &["wrong", "--dir", "cases", "--short", "--json", "--keep", "kept"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let case = &document["cases"][0];
    assert_eq!(case["state"], "otherwise");
    let first = &case["checks"][0];
    assert_eq!((&first["id"], &first["held"]), (&"first-finding".into(), &false.into()));
    let told = first["told"].as_str().unwrap();
    assert!(told.contains("fsync-storm"), "{told}");
    assert!(case["times_as_fast"]["low"].is_number(), "{case}");
    assert!(lab.path("kept/wrong/recordings").is_dir());
    let again = run(&lab, &["wrong", "--dir", "cases", "--short", "--keep", "kept"]);
    assert_eq!(again.status.code(), Some(3), "{}", stderr(&again));
}

#[test]
#[ignore = "statistical: make accuracy"]
fn another_finding_is_named_and_the_fix_is_as_real_as_it_was() {
    if !all_rights() {
        return skip("casebook with a wrong expectation", "recording in full needs root");
    }
    let lab = Lab::new();
    write_case(&lab, "wrong", |text| text.replace("idle-await", "fsync-storm"));
    let output = run(&lab, &["wrong", "--dir", "cases", "--short", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let case = &document["cases"][0];
    assert!(case["checks"][0]["told"].as_str().unwrap().contains("idle-await"), "{case}");
    assert_eq!(case["verdict"], "faster", "{case}");
    assert!(number(&case["times_as_fast"]["low"]) > 3.0, "{case}");
}

#[test]
fn a_build_or_command_that_fails_is_no_answer() {
    if !all_rights() {
        return skip("casebook with failing commands", "recording in full needs root");
    }
    let lab = Lab::new();
    for (name, from, to) in [
        ("build", "echo 0.4 > pause", "echo an error: no pause here >&2; false"),
        ("command", "sleep $(cat pause)", "exit 7"),
    ] {
        write_case(&lab, name, |text| text.replace(from, to));
        let output = run(&lab, &[name, "--dir", "cases", "--short"]);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
    let document = run(&lab, &["build", "--dir", "cases", "--json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert!(document["cases"][0]["problem"].as_str().unwrap().contains("no pause here"));
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    if !all_rights() {
        return skip("casebook and Ctrl-C", "recording in full needs root");
    }
    let lab = Lab::new();
    let begun = lab.path("begun");
    let long = format!("touch {}; sleep 30", begun.display());
    write_case(&lab, "long", |text| text.replace("sleep $(cat pause)", &long));
    let mut child = lab
        .culprit()
        .args(["casebook", "run", "long", "--dir", "cases", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    wait_until("the first run", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        begun.exists()
    });
    assert_eq!(left_by(pid), 1);
    assert!(program("kill").args(["-INT", &pid.to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["interrupted"], true);
    assert_eq!(left_by(pid), 0);
}
