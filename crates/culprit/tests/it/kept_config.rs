//! The configuration that recordings keep: what it says, and what never leaves.

use std::process::Output;

use serde_json::Value;

use crate::support::{Lab, stderr, stdout};

/// A secret that only its key gives away.
const SECRET: &str = "correct-horse";

fn write(lab: &Lab, name: &str, text: &str) {
    let path = lab.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A .NET project with a secret in a file, and a variable with another one.
fn project(lab: &Lab, folder: &str, level: &str) {
    let text = format!("{{\"Db\": {{\"Password\": \"{SECRET}\"}}, \"Level\": \"{level}\"}}");
    write(lab, &format!("{folder}/appsettings.json"), &text);
}

/// `culprit ARGUMENTS` in a folder of the lab, with few variables.
fn run(lab: &Lab, folder: &str, arguments: &[&str]) -> Output {
    let mut culprit = lab.culprit();
    culprit.env_clear().env("PATH", "/usr/bin:/bin").env("APP_TOKEN", SECRET).env("Level", "high");
    let output = culprit.current_dir(lab.path(folder)).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    output
}

fn report(lab: &Lab, folder: &str, more: &[&str]) -> Value {
    let arguments = [&["report", "x.culprit", "--json"], more].concat();
    serde_json::from_slice(&run(lab, folder, &arguments).stdout).unwrap()
}

fn origin_of(report: &Value, name: &str) -> Option<String> {
    let variables = report["configuration"]["variables"].as_array().unwrap();
    let found = variables.iter().find(|variable| variable["name"] == name)?;
    Some(found["origin"].as_str().unwrap().to_owned())
}

fn states(report: &Value, profile: &str) -> Vec<(String, String)> {
    let sources = report["configuration"]["sources"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let own = sources.filter(|source| source["profile"] == profile);
    own.map(|source| (text(&source["name"]), text(&source["state"]))).collect()
}

#[test]
fn a_recording_keeps_sources_and_variables_and_no_secret() {
    let lab = Lab::new();
    project(&lab, "p", "info");
    run(&lab, "p", &["record", "-o", "x.culprit", "--", "true"]);
    let bytes = std::fs::read(lab.path("p/x.culprit")).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("appsettings.json") && !holds(SECRET) && !holds(&SECRET[..7]));

    let told = report(&lab, "p", &[]);
    assert_eq!(told["configuration"]["subject"], "command in host");
    let of_dotnet = states(&told, "dotnet");
    assert!(of_dotnet.contains(&("appsettings.json".to_owned(), "read".to_owned())), "{told}");
    assert_eq!(origin_of(&told, "Level").as_deref(), Some("environment"));
    assert_eq!(
        origin_of(&told, "DOTNET_PerfMapEnabled").as_deref(),
        Some("added by Culprit for the recording")
    );
    let findings = told["configuration"]["findings"].as_array().unwrap();
    let exposed = findings.iter().any(|finding| finding["id"] == "config-secret-exposed");
    assert!(exposed, "the file is open to all: {told}");

    let text = stdout(&run(&lab, "p", &["report", "x.culprit"]));
    assert!(text.contains("\nConfiguration\n") && text.contains("APP_TOKEN"), "{text}");
    run(&lab, "p", &["report", "x.culprit", "-o", "x.html"]);
    let page = std::fs::read_to_string(lab.path("p/x.html")).unwrap();
    assert!(page.contains("id=\"configuration\"") && page.contains("appsettings.json"));
    assert!(!text.contains(SECRET) && !page.contains(SECRET));

    // A recording is a snapshot, too.
    let chain = run(&lab, "p", &["config", "explain", "Level", "--snapshot", "x.culprit"]);
    assert!(stdout(&chain).contains("appsettings.json:1"), "{}", stdout(&chain));
}

#[test]
fn what_was_not_kept_can_be_given_later() {
    let lab = Lab::new();
    project(&lab, "p", "info");
    run(&lab, "p", &["record", "--no-config", "-o", "x.culprit", "--", "true"]);
    assert_eq!(report(&lab, "p", &[])["configuration"], Value::Null);
    let snapshot = lab.culprit().args(["config", "diff", "p/x.culprit", "p"]).output().unwrap();
    assert_eq!(snapshot.status.code(), Some(2));
    assert!(stderr(&snapshot).contains("the recording has none"), "{}", stderr(&snapshot));
    run(&lab, "p", &["config", "snapshot", "-o", "s.jsonl"]);
    let told = report(&lab, "p", &["--config", "s.jsonl"]);
    assert!(!states(&told, "dotnet").is_empty(), "{told}");
}

#[test]
fn a_folder_with_too_much_is_left_out_and_the_variables_stay() {
    let lab = Lab::new();
    let values: Vec<String> = (0..200_000).map(|n| format!("\"key{n}\": \"{n}\"")).collect();
    write(&lab, "p/appsettings.json", &format!("{{{}}}", values.join(",\n")));
    run(&lab, "p", &["record", "-o", "x.culprit", "--", "true"]);
    let told = report(&lab, "p", &[]);
    assert!(states(&told, "dotnet").is_empty(), "{told}");
    let of_process = states(&told, "process");
    assert!(of_process.iter().any(|(_, state)| state == "too_large"), "{of_process:?}");
    assert_eq!(origin_of(&told, "Level").as_deref(), Some("environment"));
}

#[test]
fn a_process_that_runs_already_has_its_own_variables() {
    let lab = Lab::new();
    project(&lab, "p", "info");
    let mut sleep = crate::support::program("sleep");
    sleep.env_clear().env("OWN", "1").env("APP_TOKEN", SECRET).current_dir(lab.path("p")).arg("60");
    let mut child = sleep.spawn().unwrap();
    let pid = child.id().to_string();
    run(&lab, "p", &["record", "--pid", &pid, "-d", "0.3", "-o", "x.culprit"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let told = report(&lab, "p", &[]);
    assert_eq!(told["configuration"]["subject"], format!("process {pid}"));
    assert!(origin_of(&told, "OWN").is_some() && origin_of(&told, "Level").is_none(), "{told}");
    assert!(!states(&told, "dotnet").is_empty(), "{told}");
}

#[test]
fn why_names_the_files_that_differ_between_places() {
    let lab = Lab::new();
    project(&lab, "a", "info");
    project(&lab, "b", "debug");
    write(&lab, "b/appsettings.Production.json", "{}");
    let places = [lab.path("a"), lab.path("b")].map(|path| format!("host:{}", path.display()));
    let mut why = lab.culprit();
    why.args(["why", "--runs", "3", "-o", "w", "--json"]);
    why.args(places.iter().flat_map(|place| ["--place", place])).args(["--", "true"]);
    let output = why.output().unwrap();
    let told: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let notes = told["notes"].as_array().unwrap();
    let note = notes.iter().filter_map(Value::as_str).find(|note| note.contains("files of"));
    let note = note.unwrap_or_else(|| panic!("{told}"));
    assert!(note.contains("`appsettings.json`: 1 key"), "{note}");
    assert!(note.contains(&format!("only in {}: `appsettings.Production.json`", places[1])));
    assert!(note.contains("present_only"), "{note}");
}

#[test]
fn why_says_which_of_the_files_that_differ_the_command_opens() {
    if !crate::support::all_rights() {
        return crate::support::skip("why --prove", "root");
    }
    let lab = Lab::new();
    project(&lab, "a", "info");
    project(&lab, "b", "debug");
    write(&lab, "a/appsettings.Production.json", "{}");
    let places = [lab.path("a"), lab.path("b")].map(|path| format!("host:{}", path.display()));
    let mut why = lab.culprit();
    why.args(["why", "--prove", "--runs", "3", "-o", "w", "--json"]);
    why.args(places.iter().flat_map(|place| ["--place", place]));
    let output = why.args(["--", "cat", "appsettings.json"]).output().unwrap();
    let told: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let notes: Vec<&str> =
        told["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for place in &places {
        let opens = format!("In {place} the command opens `appsettings.json`.");
        assert!(notes.contains(&opens.as_str()), "{notes:#?}");
        let lost =
            format!("In {place} the command was not seen to open `appsettings.Production.json`.");
        assert!(notes.contains(&lost.as_str()), "{notes:#?}");
    }
    let entries = std::fs::read_dir(lab.path("w")).unwrap().map(|entry| entry.unwrap().file_name());
    let logs: Vec<_> = entries.filter(|name| name.to_string_lossy().contains("observed")).collect();
    assert_eq!(logs.len(), 2, "{logs:?}");
}
