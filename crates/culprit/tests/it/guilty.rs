//! Small programs that are slow for one known reason each, and healthy ones: the real recorder,
//! the real rules, and what they must say.
//!
//! `fixtures/guilty/expected.toml` lists them. A program is measured again when the recording says
//! itself that records or stacks were lost, or when other programs took the CPUs from it. One in
//! twenty guilty programs may stay wrong through three disturbed measurements; none may be wrong
//! in one that nothing disturbed.

use std::path::{Path, PathBuf};
use std::process::Child;

use serde_json::Value;

use crate::support::{Lab, all_rights, disturbed, fixtures, number, program, skip, stdout};

/// How often a program is measured at most.
const TRIES: usize = 3;

/// Share of the CPUs' time that other programs took, or of the program's time on the run queue,
/// from which a measurement was disturbed.
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

/// The commands that run programs of the fixtures, all built at once where they must be; none
/// where this machine lacks the compiler or interpreter.
fn commands(lab: &Lab, sources: &[PathBuf]) -> Vec<Option<Vec<String>>> {
    let started: Vec<_> = sources.iter().map(|source| start_build(lab, source)).collect();
    let finish = |(source, build): (&PathBuf, Build)| match build {
        Build::None => None,
        Build::Done(command) => Some(command),
        Build::Running(mut compiler, built) => {
            let status = compiler.wait().expect("a compiler");
            assert!(status.success(), "{} does not compile", source.display());
            Some(vec![built])
        }
    };
    sources.iter().zip(started).map(finish).collect()
}

/// How far a program of the fixtures is from being run.
enum Build {
    /// Its compiler or interpreter is missing.
    None,
    /// Nothing is left to do: the command.
    Done(Vec<String>),
    /// Its compiler, and the path of what it writes.
    Running(Child, String),
}

fn start_build(lab: &Lab, source: &Path) -> Build {
    let path = source.display().to_string();
    let name = source.file_name().expect("a name").to_string_lossy().replace('.', "_");
    let built = lab.path(&name).display().to_string();
    let flags = ["-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", &built, &path];
    let rust = ["-O", "-g", "-C", "force-frame-pointers=yes", "-o", &built, &path];
    let (tool, flags) = match source.extension().and_then(|e| e.to_str()) {
        Some("sh") => return Build::Done(vec!["sh".to_owned(), path]),
        Some("py") => {
            return python().map_or(Build::None, |python| Build::Done(vec![python, path]));
        }
        Some("c") => ("cc", &flags),
        Some("cc") => ("c++", &flags),
        Some("rs") => ("rustc", &rust),
        other => panic!("{other:?}: no program of the fixtures"),
    };
    let compiler = program(tool).args(flags).spawn();
    compiler.map_or(Build::None, |compiler| Build::Running(compiler, built))
}

/// The interpreter itself: `python3` may be a script that looks for it.
fn python() -> Option<String> {
    let asked = program("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    Some(stdout(&asked.ok()?).trim().to_owned()).filter(|path| !path.is_empty())
}

/// What was wrong with a program's findings.
struct Wrong {
    told: String,
    /// Whether each of its measurements was disturbed.
    disturbed: bool,
}

/// Measures the programs one after the other; the wrong ones are left.
fn measure(
    lab: &Lab,
    sources: &[PathBuf],
    judge: impl Fn(usize, &Value) -> Option<String>,
) -> Vec<Wrong> {
    let built = commands(lab, sources);
    let each = sources.iter().zip(built).enumerate();
    each.filter_map(|(n, (source, command))| {
        let name = source.file_name().expect("a name").to_string_lossy();
        let Some(command) = command else {
            skip(&name, "its compiler or interpreter");
            return None;
        };
        measure_one(lab, &name, &command, |report| judge(n, report))
    })
    .collect()
}

/// Records a program until `judge` finds nothing wrong, or until a measurement that was not
/// disturbed says what is.
fn measure_one(
    lab: &Lab,
    name: &str,
    command: &[String],
    judge: impl Fn(&Value) -> Option<String>,
) -> Option<Wrong> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    for attempt in 1.. {
        let before = Others::now();
        lab.record("program.culprit", &words);
        let others = before.share_since();
        let report = lab.json(&["report", "program.culprit"]);
        let wrong = judge(&report)?;
        let why = disturbed(&report)
            .or_else(|| (others > CROWDED).then(|| "other programs".to_owned()))
            .or_else(|| crowded(&report));
        let told = format!("{name} (try {attempt}, disturbed by {why:?}): {wrong}");
        println!("{told}");
        if attempt == TRIES || why.is_none() {
            return Some(Wrong { told, disturbed: why.is_some() });
        }
    }
    None
}

/// Fails if a measurement that nothing disturbed was wrong, or more of the disturbed ones than
/// `tolerated` of the programs.
fn assert_right(wrong: &[Wrong], tolerated: usize) {
    let told: Vec<&str> = wrong.iter().map(|w| w.told.as_str()).collect();
    let fine = wrong.len() <= tolerated && wrong.iter().all(|w| w.disturbed);
    assert!(fine, "{}", told.join("\n"));
}

/// The CPU time that the machine and this test's children have used, in clock ticks.
struct Others {
    total: f64,
    busy: f64,
    own: f64,
}

impl Others {
    fn now() -> Self {
        let numbers = |line: &str, skipped| -> Vec<f64> {
            line.split_whitespace().skip(skipped).map_while(|word| word.parse().ok()).collect()
        };
        let machine = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
        // user nice system idle iowait irq softirq steal; a guest's time is in user already
        let ticks = numbers(machine.lines().next().expect("the CPUs"), 1);
        let total: f64 = ticks.iter().take(8).sum();
        let own = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
        // behind the name: the state and twelve numbers before cutime and cstime
        let own = own.rsplit(')').next().map(|rest| numbers(rest, 13)).expect("numbers");
        Self { total, busy: total - ticks[3] - ticks[4], own: own[0] + own[1] }
    }

    /// The share of the machine's CPU time since then that went to none of this test's children.
    fn share_since(&self) -> f64 {
        let now = Self::now();
        let others = (now.busy - self.busy) - (now.own - self.own);
        others / (now.total - self.total).max(1.0)
    }
}

/// Whether the program itself waited for CPUs.
fn crowded(report: &Value) -> Option<String> {
    let queued = findings(report).iter().find(|f| f["id"] == "run-queue")?;
    (number(&queued["share"]) > CROWDED).then(|| "a full run queue".to_owned())
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
    // A statement points nowhere.
    let wanted = case.function.as_deref()?;
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
    let folder = fixtures().join("guilty");
    let files: Vec<_> = expected.guilty.iter().map(|case| folder.join(&case.file)).collect();
    let wrong = measure(&lab, &files, |n, report| acquitted(&expected.guilty[n], report));
    assert_right(&wrong, files.len() / 20);
}

#[test]
fn healthy_programs_are_accused_of_nothing() {
    if !all_rights() {
        return skip("healthy", "kernel stacks and wakers need root");
    }
    let (lab, expected) = (Lab::new(), expected());
    let wrong = measure(&lab, &sources("healthy"), |_, report| accused(&expected.allowed, report));
    assert_right(&wrong, 0);
}
