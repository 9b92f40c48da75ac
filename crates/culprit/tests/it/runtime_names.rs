//! How much of a program's time is in stacks with its own functions, for each language runtime.
//!
//! `fixtures/runtimes` has one program for each language. It spends a second in one way, which its
//! argument names, three calls deep. `expected.toml` there says which function, file and line must be on
//! the stack then. `scripts/test-runtimes` fetches runtimes that the machine does not have.
//!
//! Measured is the run time between the first and the last moment in which the function is on the stack:
//! before and after it, the runtime starts and ends. Time in which other programs have the CPU says nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use culprit_engine::calls::Query;
use culprit_engine::run_time::RunTime;
use culprit_model::{Cause, Interval, Nanos, Pid, Recording, ThreadId};
use culprit_place::procfs;
use serde::Deserialize;

use crate::support::{
    Image, Lab, all_rights, engine_answers, fixtures, program, skip, stderr, wait_until,
};

/// Shares that must be in stacks with the function: of time on the CPU, and of blocked time.
const CPU_SHARE: f64 = 0.95;
const BLOCKED_SHARE: f64 = 0.99;

/// A share of less time than this is not judged.
const LEAST: Nanos = Nanos(100_000_000);

const NO_RIGHTS: &str = "recording everything takes root";

/// What must be on the stack while a part of a program runs.
#[derive(Debug, Clone, Deserialize)]
struct Expected {
    function: String,
    file: String,
    lines: (u32, u32),
}

impl Expected {
    fn is_on(&self, recording: &Recording, row: &Interval) -> bool {
        let frames = row.stack.into_iter().flat_map(|stack| recording.stack(stack));
        frames.map(|frame| recording.frame(frame)).any(|frame| {
            let file = frame.file.as_deref().is_some_and(|file| file.ends_with(&self.file));
            let line = frame.line.is_some_and(|line| (self.lines.0..=self.lines.1).contains(&line));
            frame.function.ends_with(&self.function) && file && line
        })
    }
}

/// Parts of each language's program.
fn expected() -> BTreeMap<String, BTreeMap<String, Expected>> {
    let text = std::fs::read_to_string(fixtures().join("runtimes/expected.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

/// A runtime that is here, and how it runs the program of its language.
#[derive(Debug, Clone)]
struct Installed {
    /// As the table names it.
    name: String,
    language: &'static str,
    command: Vec<String>,
}

/// Where scripts keep what they fetch.
pub(crate) fn cache() -> PathBuf {
    let folder = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")));
    folder.unwrap_or_default().join("culprit")
}

fn answers(command: &str, argument: &str) -> bool {
    let output = program(command).arg(argument).output();
    output.is_ok_and(|output| output.status.success())
}

/// The runtimes of this machine and of the cache.
fn installed(lab: &Lab) -> Vec<Installed> {
    let source = |path: &str| fixtures().join("runtimes").join(path).display().to_string();
    let runtimes = cache().join("runtimes");
    let mut all = Vec::new();
    let mut add = |name: &str, language, command: Vec<String>| {
        if answers(&command[0], if language == "dotnet" { "--list-runtimes" } else { "--version" })
        {
            all.push(Installed { name: name.to_owned(), language, command });
        } else {
            skip(
                "runtime_names",
                &format!("{name} is missing: scripts/test-runtimes fetches some"),
            );
        }
    };
    add("CPython", "python", vec!["python3".to_owned(), source("python/work.py")]);
    add("Ruby", "ruby", vec!["ruby".to_owned(), source("ruby/work.rb")]);
    add("PHP", "php", vec!["php".to_owned(), source("php/work.php")]);
    add("Node.js", "node", vec!["node".to_owned(), source("node/work.js")]);
    for version in ["18", "22", "24"] {
        let node = runtimes.join(format!("node-{version}/bin/node")).display().to_string();
        add(&format!("Node.js {version}"), "node", vec![node, source("node/work.js")]);
    }
    for version in ["3.1", "8"] {
        let dotnet = runtimes.join(format!("dotnet-{version}/dotnet")).display().to_string();
        let work =
            runtimes.join(format!("programs/dotnet-{version}/Work.dll")).display().to_string();
        add(&format!(".NET {version}"), "dotnet", vec![dotnet, work]);
    }
    let classes = lab.path("classes").display().to_string();
    let compiled =
        program("javac").args(["-g", "-d", &classes, &source("java/Work.java")]).status();
    if compiled.is_ok_and(|status| status.success()) {
        add("JVM", "java", ["java", "-cp", &classes, "Work"].map(str::to_owned).to_vec());
    }
    all
}

/// How much of a part's time was in stacks with its function.
#[derive(Debug, Clone, Copy)]
struct Share {
    cpu: Option<f64>,
    blocked: Option<f64>,
}

fn share(recording: &Recording, expected: &Expected) -> Option<Share> {
    share_of(&RunTime::build(recording, &Query::default()).recording, expected)
}

/// As [`share`], of the threads that the function is on: without a command, no path leads through the threads.
fn share_of_threads(recording: &Recording, expected: &Expected) -> Option<Share> {
    let on = recording.intervals.iter().filter(|row| expected.is_on(recording, row));
    let threads: BTreeSet<ThreadId> = on.map(|row| row.thread).collect();
    let mut theirs = recording.clone();
    theirs.intervals.retain(|row| threads.contains(&row.thread));
    share_of(&theirs, expected)
}

fn share_of(run: &Recording, expected: &Expected) -> Option<Share> {
    let found: Vec<bool> = run.intervals.iter().map(|row| expected.is_on(run, row)).collect();
    let seen = || run.intervals.iter().zip(&found).filter(|(_, found)| **found);
    let from = seen().map(|(row, _)| row.start).min()?;
    let to = seen().map(|(row, _)| row.start + row.duration).max()?;
    let of = |is: fn(Cause) -> bool| {
        let rows = run.intervals.iter().zip(&found);
        let within = rows.filter(|(row, _)| is(row.cause) && row.start >= from && row.start < to);
        let (mut all, mut named) = (Nanos(0), Nanos(0));
        for (row, found) in within {
            all = Nanos(all.0 + row.duration.0);
            named = Nanos(named.0 + if *found { row.duration.0 } else { 0 });
        }
        (all >= LEAST).then(|| named.share_of(all))
    };
    Some(Share { cpu: of(Cause::is_cpu), blocked: of(Cause::is_blocked) })
}

/// Parts that work; all others wait.
const WORKING: [&str; 3] = ["cpu", "file", "import"];

/// A row of the table, and what is too small in it.
fn judge(name: &str, part: &str, found: Option<Share>, wrong: &mut Vec<String>) -> String {
    let Some(share) = found else {
        wrong.push(format!("{name} {part}: the function is on no stack"));
        return format!("| {name} | {part} | none | none |");
    };
    let works = WORKING.contains(&part);
    let (what, own) = if works { ("CPU", share.cpu) } else { ("blocked", share.blocked) };
    if own.is_none() {
        wrong.push(format!("{name} {part}: less than {LEAST} of {what} time has the function"));
    }
    let bounds = [("CPU", share.cpu, CPU_SHARE), ("blocked", share.blocked, BLOCKED_SHARE)];
    for (what, share, least) in bounds {
        if let Some(share) = share.filter(|share| *share < least) {
            wrong.push(format!("{name} {part}: {:.1} % of {what} time", share * 100.0));
        }
    }
    // What the part is made for is never left out of the table.
    let cell = |share: Option<f64>, is_own: bool| match share {
        Some(share) => format!("{:.1} %", share * 100.0),
        None if is_own => format!("less than {LEAST}"),
        None => String::new(),
    };
    format!("| {name} | {part} | {} | {} |", cell(share.cpu, works), cell(share.blocked, !works))
}

/// What culprit records with these arguments.
fn record(lab: &Lab, arguments: &[&str]) -> Recording {
    let recorded = lab
        .culprit()
        .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
        .args(["record", "--force", "-o", "x.culprit"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{arguments:?}: {}", stderr(&recorded));
    culprit_recording::open(lab.path("x.culprit")).unwrap().recording
}

/// What is measured, as lines of the table, and what is too small.
#[derive(Debug, Default)]
struct Measured {
    rows: Vec<String>,
    wrong: Vec<String>,
}

impl Measured {
    fn add(&mut self, name: &str, part: &str, share: Option<Share>) {
        let row = judge(name, part, share, &mut self.wrong);
        println!("{row}");
        self.rows.push(row);
    }

    fn judge(self, section: &str) {
        bless(section, &self.rows);
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }
}

#[test]
#[ignore = "statistical: make accuracy"]
fn time_of_commands_is_in_their_own_functions() {
    if !all_rights() {
        return skip("time_of_commands_is_in_their_own_functions", NO_RIGHTS);
    }
    let (lab, expected, mut measured) = (Lab::new(), expected(), Measured::default());
    for runtime in installed(&lab) {
        for (part, expected) in &expected[runtime.language] {
            // It writes its map anew when a worker thread starts: earlier names are gone.
            if (&*runtime.name, &**part) == ("Node.js 18", "lock") {
                continue;
            }
            let command = runtime.command.iter().map(String::as_str);
            let arguments: Vec<&str> = ["--"].into_iter().chain(command).chain([&**part]).collect();
            measured.add(&runtime.name, part, share(&record(&lab, &arguments), expected));
        }
    }
    measured.judge("commands");
}

/// A program that ends with the test.
struct Started {
    child: Child,
    /// It has a folder, or a child process, that it takes away itself.
    cleans_up: bool,
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended.
        let _ = if self.cleans_up { Ok(()) } else { self.child.kill() };
        let _ = self.child.wait();
    }
}

impl Started {
    /// Started, and at its part: it has worked for half a second, or waits.
    fn at_work(runtime: &Installed, part: &str) -> Self {
        let cleans_up = ["file", "child"].contains(&part);
        let child = program(&runtime.command[0])
            .args(&runtime.command[1..])
            .arg(part)
            .env("WORK_SECONDS", if cleans_up { "10" } else { "600" })
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let started = Self { child, cleans_up };
        let pid = Pid(started.child.id());
        let used = || procfs::stat(pid).map_or(0, |stat| stat.user_ticks + stat.system_ticks);
        wait_until(&format!("{} is at its part `{part}`", runtime.name), || {
            let before = used();
            std::thread::sleep(Duration::from_millis(500));
            if WORKING.contains(&part) { before > 50 } else { before > 0 && used() == before }
        });
        started
    }
}

/// Languages whose running programs have names without having been started for it.
const ATTACHED: [&str; 3] = ["CPython", "JVM", ".NET 8"];

#[test]
#[ignore = "statistical: make accuracy"]
fn time_of_running_processes_is_in_their_own_functions() {
    if !all_rights() {
        return skip("time_of_running_processes_is_in_their_own_functions", NO_RIGHTS);
    }
    let (lab, expected, mut measured) = (Lab::new(), expected(), Measured::default());
    for runtime in installed(&lab).iter().filter(|found| ATTACHED.contains(&&*found.name)) {
        // What a program loads when it starts is loaded before anybody can attach to it.
        for (part, expected) in
            expected[runtime.language].iter().filter(|(part, _)| *part != "import")
        {
            let started = Started::at_work(runtime, part);
            let pid = started.child.id().to_string();
            let recording = record(&lab, &["-d", "2s", "--pid", &pid]);
            measured.add(&runtime.name, part, share_of_threads(&recording, expected));
        }
    }
    measured.judge("running processes");
}

/// The image of a release of Debian; none where `scripts/test-images` did not make its root folder.
fn debian(release: &str) -> Option<Image> {
    let tar = cache().join(format!("images/debian-{release}.tar"));
    let name = format!("culprit-test-debian-{release}-{}:1", std::process::id());
    tar.exists().then(|| Image::import(&tar, name))
}

/// What to run in the images of [`debian`]; Java needs a compiler, which is the machine's.
fn in_containers(lab: &Lab) -> Vec<(&'static str, &'static str, Vec<String>)> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let classes = lab.path("classes");
    let source = fixtures().join("runtimes/java/Work.java");
    // Java 11, which Debian 11 has.
    let mut compiler = program("javac");
    compiler.args(["-g", "--release", "11", "-d"]).arg(&classes).arg(source);
    let mut found = vec![
        ("CPython", "python", words(&["python3", "/work/python/work.py"])),
        ("Ruby", "ruby", words(&["ruby", "/work/ruby/work.rb"])),
        ("PHP", "php", words(&["php", "/work/php/work.php"])),
        ("Node.js", "node", words(&["node", "/work/node/work.js"])),
    ];
    if compiler.status().is_ok_and(|status| status.success()) {
        found.push(("JVM", "java", words(&["java", "-cp", "/classes", "Work"])));
    }
    found
}

#[test]
#[ignore = "statistical: make accuracy"]
fn time_in_containers_is_in_the_programs_own_functions() {
    const TEST: &str = "time_in_containers_is_in_the_programs_own_functions";
    if !all_rights() || !engine_answers() {
        return skip(TEST, "it takes root and a container engine");
    }
    let (lab, expected, mut measured) = (Lab::new(), expected(), Measured::default());
    for release in ["13", "11"] {
        let Some(image) = debian(release) else {
            skip(TEST, &format!("Debian {release} is missing: scripts/test-images makes it"));
            continue;
        };
        for (name, language, command) in in_containers(&lab) {
            // Debian 11 has a Node.js that is older than the options.
            if (release, language) == ("11", "node") {
                continue;
            }
            let (work, classes) = (fixtures().join("runtimes"), lab.path("classes"));
            let place = format!(
                "docker:{},volume={}:/work:ro,volume={}:/classes:ro",
                image.0,
                work.display(),
                classes.display()
            );
            for (part, expected) in &expected[language] {
                let command = command.iter().map(String::as_str);
                let arguments = ["--place", &place, "--"].into_iter().chain(command);
                let arguments: Vec<&str> = arguments.chain([&**part]).collect();
                let recording = record(&lab, &arguments);
                let name = format!("{name}, Debian {release}");
                measured.add(&name, part, share(&recording, expected));
            }
        }
    }
    measured.judge("containers");
}

/// Writes the rows of a section into the document with `CULPRIT_BLESS=1`.
fn bless(section: &str, rows: &[String]) {
    if std::env::var_os("CULPRIT_BLESS").is_none() || rows.is_empty() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runtimes.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- measured: {section} -->\n"), "<!-- end of measured -->");
    let (before, rest) = document.split_once(&begin).expect("the section's mark");
    let (_, after) = rest.split_once(end).expect("the section's end");
    let head = "| runtime | part | time on the CPU | blocked time |\n|---|---|---|---|\n";
    let table = format!("{head}{}\n", rows.join("\n"));
    std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
}
