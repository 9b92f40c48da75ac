//! Small programs that are slow for one known reason each, and healthy ones: the real recorder,
//! the real rules, and what they must say.
//!
//! `fixtures/guilty/expected.toml` lists them. A program is measured again when the recording says
//! itself that records or stacks were lost, or when other programs took the CPUs from it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Lab, all_rights, disturbed, fixtures, number, program, skip, stdout};

/// How often a program is measured at most.
const TRIES: usize = 3;

/// Share of the time on the run queue from which other programs disturbed a measurement.
const CROWDED: f64 = 0.1;

/// What must be said of a program.
struct Case {
    file: String,
    finding: String,
    /// Part of the name of one of the first three functions that the finding points at.
    function: Option<String>,
    /// Whether it must cost the most; otherwise being listed is enough.
    first: bool,
}

/// The list of what is expected.
struct Expected {
    guilty: Vec<Case>,
    /// The only findings that a healthy program may have above low severity.
    allowed: Vec<String>,
}

fn expected() -> Expected {
    let text = std::fs::read_to_string(fixtures().join("guilty/expected.toml")).expect("the list");
    let table: toml::Table = text.parse().expect("TOML");
    let word = |value: &toml::Value| value.as_str().expect("a text").to_owned();
    let case = |(file, row): (&String, &toml::Value)| Case {
        file: file.clone(),
        first: row.get("finding").is_some(),
        finding: row.get("finding").or(row.get("present")).map(word).expect("what is expected"),
        function: row.get("function").map(word),
    };
    let guilty = table["guilty"].as_table().expect("a table");
    Expected {
        guilty: guilty.iter().map(case).collect(),
        allowed: table["allowed"].as_array().expect("a list").iter().map(word).collect(),
    }
}

/// The command that runs a program of the fixtures, built first where it must be; none where this
/// machine lacks the compiler or interpreter.
fn command(lab: &Lab, source: &Path) -> Option<Vec<String>> {
    let path = source.display().to_string();
    let built = lab.path("program").display().to_string();
    let flags = ["-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", &built, &path];
    let rust = ["-O", "-g", "-C", "force-frame-pointers=yes", "-o", &built, &path];
    let (tool, flags) = match source.extension().and_then(|e| e.to_str()) {
        Some("sh") => return Some(vec!["sh".to_owned(), path]),
        Some("py") => return Some(vec![python()?, path]),
        Some("c") => ("cc", &flags),
        Some("cc") => ("c++", &flags),
        Some("rs") => ("rustc", &rust),
        other => panic!("{other:?}: no program of the fixtures"),
    };
    let status = program(tool).args(flags).status().ok()?;
    assert!(status.success(), "{path} does not compile");
    Some(vec![built])
}

/// The interpreter itself: `python3` may be a script that looks for it.
fn python() -> Option<String> {
    let asked = program("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    Some(stdout(&asked.ok()?).trim().to_owned()).filter(|path| !path.is_empty())
}

/// Records a program until `judge` finds nothing wrong, or until a measurement that was not
/// disturbed says what is.
fn measure(lab: &Lab, file: &Path, judge: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    let Some(command) = command(lab, file) else {
        skip(&name, "its compiler or interpreter");
        return None;
    };
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    for attempt in 1.. {
        lab.record("program.culprit", &words);
        let report = lab.json(&["report", "program.culprit"]);
        let wrong = judge(&report)?;
        let why = disturbed(&report).or_else(|| crowded(&report));
        if attempt == TRIES || why.is_none() {
            return Some(format!("{name} (try {attempt}, disturbed by {why:?}): {wrong}"));
        }
    }
    None
}

fn crowded(report: &Value) -> Option<String> {
    let queued = findings(report).iter().find(|f| f["id"] == "run-queue")?;
    (number(&queued["share"]) > CROWDED).then(|| "other programs".to_owned())
}

fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().expect("findings")
}

/// What is wrong with a guilty program's findings.
fn acquitted(case: &Case, report: &Value) -> Option<String> {
    // A busy machine adds time on the run queue to every program.
    let noise = |f: &&Value| f["id"] == "run-queue" && case.finding != "run-queue";
    let mut told = findings(report).iter().filter(|f| !noise(f));
    let found = match case.first {
        true => told.next().filter(|f| f["id"] == case.finding.as_str()),
        false => told.find(|f| f["id"] == case.finding.as_str()),
    };
    let Some(found) = found else {
        return Some(format!("{} expected, {} said", case.finding, listed(report)));
    };
    let places = found["where"].as_array().expect("places").iter().take(3);
    let functions: Vec<&str> = places.filter_map(|at| at["function"].as_str()).collect();
    let wanted = case.function.as_deref().unwrap_or_default();
    let points = functions.iter().any(|function| function.contains(wanted));
    (!points).then(|| format!("{} in {wanted} expected, it points at {functions:?}", case.finding))
}

/// What is wrong with a healthy program's findings.
fn accused(allowed: &[String], report: &Value) -> Option<String> {
    let harmless = |f: &Value| {
        let id = f["id"].as_str().expect("an id");
        matches!(f["severity"].as_str(), Some("info" | "low")) || allowed.iter().any(|a| a == id)
    };
    let fine = findings(report).iter().all(harmless);
    (!fine).then(|| format!("healthy, but {} said", listed(report)))
}

fn listed(report: &Value) -> String {
    let line = |f: &Value| {
        let share = 100.0 * number(&f["share"]);
        format!("\n  {} {share:.0} %: {}", f["id"], f["title"])
    };
    findings(report).iter().map(line).collect()
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures().join(folder)).expect("a folder of fixtures");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "toml"));
    paths.sort();
    paths
}

#[test]
fn guilty_programs_are_told_for_what_they_do() {
    if !all_rights() {
        return skip("guilty", "kernel stacks and wakers need root");
    }
    let (lab, expected) = (Lab::new(), expected());
    assert!(expected.guilty.len() >= 30, "{}", expected.guilty.len());
    assert_eq!(expected.guilty.len(), sources("guilty").len(), "each program is expected to be");
    let wrong: Vec<String> = expected
        .guilty
        .iter()
        .filter_map(|case| {
            let file = fixtures().join("guilty").join(&case.file);
            measure(&lab, &file, |report| acquitted(case, report))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn healthy_programs_are_accused_of_nothing() {
    if !all_rights() {
        return skip("healthy", "kernel stacks and wakers need root");
    }
    let (lab, expected) = (Lab::new(), expected());
    let wrong: Vec<String> = sources("healthy")
        .iter()
        .filter_map(|file| measure(&lab, file, |report| accused(&expected.allowed, report)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
