//! Small programs that are slow for one known reason each, and healthy ones: the real recorder,
//! the real rules, and what they must say.
//!
//! `fixtures/guilty/expected.toml` lists them. A program is measured again when the recording says
//! itself that records or stacks were lost, or when other programs took the CPUs from it. One in
//! twenty guilty programs may be told wrong, and no healthy one: a sampling recorder on a shared
//! machine errs now and then, and a rule that is wrong fails with all of its programs. With
//! `CULPRIT_BLESS=1`, what was measured is written down in `docs/accuracy.md`.

use std::path::PathBuf;
use std::process::Child;

use serde_json::Value;

use crate::accuracy;
use crate::support::{Lab, all_rights, disturbed, fixtures, number, program, skip, stdout};

/// How often a program is measured at most.
const TRIES: usize = 3;

/// Share of the CPUs' time that other programs took, or of the program's time on the run queue,
/// from which a measurement was disturbed.
const CROWDED: f64 = 0.1;

/// What must be said of a program.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) file: String,
    pub(crate) finding: String,
    /// Part of the name of one of the first three functions that the finding points at.
    pub(crate) function: Option<String>,
    /// Whether it must cost the most; otherwise being listed is enough.
    pub(crate) first: bool,
}

/// A program of `fixtures/unseen`.
struct Unseen {
    case: Case,
    /// Findings that are as right as the case's own.
    or: Vec<String>,
    /// Parts of functions' names of which one must be in a stack that the finding shows.
    functions: Vec<String>,
    /// What the compiler is told.
    flags: Option<String>,
    healthy: bool,
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

/// The programs of `fixtures/unseen`, by name.
fn unseen() -> Vec<Unseen> {
    let text = std::fs::read_to_string(fixtures().join("unseen/expected.toml")).expect("the list");
    let table: toml::Table = text.parse().expect("TOML");
    let word = |value: &toml::Value| value.as_str().expect("a text").to_owned();
    let of = |(file, row): (&String, &toml::Value)| {
        let words = |key: &str| -> Vec<String> {
            let all = row.get(key).and_then(toml::Value::as_array);
            all.into_iter().flatten().map(word).collect()
        };
        let finding = row.get("finding").map(word).unwrap_or_default();
        Unseen {
            healthy: finding.is_empty(),
            case: Case { file: file.clone(), finding, function: None, first: true },
            or: words("or"),
            functions: words("functions"),
            flags: row.get("flags").map(word),
        }
    };
    table["programs"].as_table().expect("a table").iter().map(of).collect()
}

/// How many compilers run side by side.
const COMPILERS: usize = 8;

/// The commands that run programs of the fixtures, built side by side where they must be; none
/// where this machine lacks the compiler or interpreter.
fn commands(lab: &Lab, sources: &[Source]) -> Vec<Option<Vec<String>>> {
    let finish = |(source, build): (&Source, Build)| match build {
        Build::None => None,
        Build::Done(command) => Some(command),
        Build::Running(mut compiler, command) => {
            let status = compiler.wait().expect("a compiler");
            assert!(status.success(), "{} does not compile", source.path.display());
            Some(command)
        }
    };
    let some = |sources: &[Source]| -> Vec<_> {
        let started: Vec<_> = sources.iter().map(|source| start_build(lab, source)).collect();
        sources.iter().zip(started).map(finish).collect()
    };
    sources.chunks(COMPILERS).flat_map(some).collect()
}

/// A program of the fixtures.
struct Source {
    path: PathBuf,
    /// What its compiler is told, where that is the program's own matter.
    flags: Option<String>,
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self { path, flags: None }
    }
}

/// How far a program of the fixtures is from being run.
enum Build {
    /// Its compiler or interpreter is missing.
    None,
    /// Nothing is left to do: the command.
    Done(Vec<String>),
    /// Its compiler, and the command that runs what it writes.
    Running(Child, Vec<String>),
}

/// The JVM, told to keep frame pointers and to write down what it compiled.
const JAVA: [&str; 4] = [
    "java",
    "-XX:+PreserveFramePointer",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+DumpPerfMapAtExit",
];

/// Node.js, told to write down what it compiled, and to have a frame of its own for each function that
/// it interprets.
const NODE: [&str; 3] = ["node", "--perf-basic-prof", "--interpreted-frames-native-stack"];

fn start_build(lab: &Lab, source: &Source) -> Build {
    let path = source.path.display().to_string();
    let name = source.path.file_name().expect("a name").to_string_lossy().replace('.', "_");
    let built = lab.path(&name).display().to_string();
    let own = source.flags.as_deref().map(|flags| flags.split_whitespace().collect::<Vec<_>>());
    let flags = |usual: &[&'static str]| own.clone().unwrap_or_else(|| usual.to_vec());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let c = flags(&["-O2", "-g", "-fno-omit-frame-pointer", "-pthread"]);
    let (tool, flags) = match source.path.extension().and_then(|e| e.to_str()) {
        Some("sh") if own.is_some() => return Build::Done(words(&["bash", &path])),
        Some("sh") => return Build::Done(words(&["sh", &path])),
        Some("mjs" | "cjs") => {
            let version = program("node").arg("--version").output();
            let command = || Build::Done(words(&[&NODE[..], &[&path]].concat()));
            return version.map_or(Build::None, |_| command());
        }
        Some("py") => {
            return python().map_or(Build::None, |python| Build::Done(vec![python, path]));
        }
        Some("c") => ("cc", c),
        Some("cc") => ("c++", c),
        Some("rs") => ("rustc", flags(&["-O", "-g", "-C", "force-frame-pointers=yes"])),
        Some("go") => ("go", vec!["build"]),
        Some("java") => ("javac", Vec::new()),
        other => panic!("{other:?}: no program of the fixtures"),
    };
    let command = match tool {
        "javac" => {
            let text = std::fs::read_to_string(&source.path).expect("a source");
            let told = text.lines().next().and_then(|line| line.strip_prefix("// flags: "));
            let told: Vec<_> = told.into_iter().flat_map(str::split_whitespace).collect();
            let class = if own.is_some() { &name[..name.len() - "_java".len()] } else { "Main" };
            words(&[&JAVA[..], &told, &["-cp", &built, class]].concat())
        }
        _ => vec![built.clone()],
    };
    let output = if tool == "javac" { "-d" } else { "-o" };
    let libraries: &[&str] = if matches!(tool, "cc" | "c++") { &["-lm"] } else { &[] };
    let mut compiler = program(tool);
    compiler.args(flags).args([output, &built, &path]).args(libraries);
    compiler.spawn().map_or(Build::None, |compiler| Build::Running(compiler, command))
}

/// The interpreter itself: `python3` may be a script that looks for it.
fn python() -> Option<String> {
    let asked = program("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    Some(stdout(&asked.ok()?).trim().to_owned()).filter(|path| !path.is_empty())
}

/// What came out for one program.
pub(crate) struct Outcome {
    pub(crate) file: String,
    /// The findings of the last measurement, the costliest first, `run-queue` left out.
    pub(crate) said: Vec<Said>,
    /// How often it was measured.
    pub(crate) tries: usize,
    /// What is wrong with the findings.
    wrong: Option<String>,
}

impl Outcome {
    /// Whether the findings are what they must be.
    pub(crate) fn is_right(&self) -> bool {
        self.wrong.is_none()
    }
}

/// One finding in short.
pub(crate) struct Said {
    pub(crate) id: String,
    pub(crate) share: f64,
    /// Above information.
    pub(crate) accuses: bool,
}

/// Measures the programs one after the other, those left out that this machine cannot build.
fn measure(
    lab: &Lab,
    sources: &[Source],
    judge: impl Fn(usize, &Value) -> Option<String>,
) -> Vec<Outcome> {
    let built = commands(lab, sources);
    let each = sources.iter().zip(built).enumerate();
    each.filter_map(|(n, (source, command))| {
        let name = source.path.file_name().expect("a name").to_string_lossy();
        let Some(command) = command else {
            skip(&name, "its compiler or interpreter");
            return None;
        };
        Some(measure_one(lab, &name, &command, |report| judge(n, report)))
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
) -> Outcome {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    for attempt in 1.. {
        let before = Others::now();
        lab.record("program.culprit", &words);
        let others = before.share_since();
        let report = lab.json(&["report", "program.culprit"]);
        let wrong = judge(&report);
        let why = disturbed(&report)
            .or_else(|| (others > CROWDED).then(|| "other programs".to_owned()))
            .or_else(|| share_above(&report, "run-queue", "a full run queue"))
            .or_else(|| share_above(&report, "major-page-faults", "files that had left memory"));
        if let Some(wrong) = &wrong {
            println!("{name} (try {attempt}, disturbed by {why:?}): {wrong}");
        }
        if wrong.is_none() || attempt == TRIES || why.is_none() {
            let file = name.to_owned();
            return Outcome { file, said: said(&report), tries: attempt, wrong };
        }
    }
    unreachable!("the loop ends by itself")
}

/// The findings that cost anything, but for what a busy machine adds to every program.
fn said(report: &Value) -> Vec<Said> {
    let said = |f: &Value| Said {
        id: f["id"].as_str().expect("an id").to_owned(),
        share: number(&f["share"]),
        accuses: f["severity"] != "info",
    };
    let all = findings(report).iter().map(said);
    all.filter(|said| said.id != "run-queue" && said.share > 0.0).collect()
}

/// Fails if more than `tolerated` of the programs were told wrong.
fn assert_right(outcomes: &[Outcome], tolerated: usize) {
    let wrong: Vec<_> = outcomes.iter().filter(|outcome| !outcome.is_right()).collect();
    let tell = |o: &&Outcome| format!("{}: {}", o.file, o.wrong.as_deref().unwrap_or_default());
    let told: Vec<String> = wrong.iter().map(tell).collect();
    assert!(wrong.len() <= tolerated, "{}", told.join("\n"));
    println!("told wrong: {} of {}", wrong.len(), outcomes.len());
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

/// `what`, where the program spent much of its time on what a machine adds that does other work, too.
fn share_above(report: &Value, id: &str, what: &str) -> Option<String> {
    let found = findings(report).iter().find(|f| f["id"] == id)?;
    (number(&found["share"]) > CROWDED).then(|| what.to_owned())
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

/// What is wrong with the findings of a program of `fixtures/unseen`.
fn mistaken(program: &Unseen, allowed: &[String], report: &Value) -> Option<String> {
    if program.healthy {
        return accused(allowed, report);
    }
    let first = findings(report).iter().find(|f| f["id"] != "run-queue");
    let id = first.and_then(|f| f["id"].as_str()).unwrap_or("nothing");
    let right = id == program.case.finding || program.or.iter().any(|or| or == id);
    let Some(found) = first.filter(|_| right) else {
        return Some(format!("{} expected, {} said", program.case.finding, listed(report)));
    };
    let places = found["where"].as_array().expect("places").iter().take(3);
    let shown = places.map(Value::to_string).collect::<String>();
    let there = program.functions.iter().any(|function| shown.contains(function.as_str()));
    let somewhere = there || program.functions.is_empty();
    (!somewhere).then(|| format!("{id} is said of other functions than {:?}", program.functions))
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures().join(folder)).expect("a folder of fixtures");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "toml"));
    paths.sort();
    paths
}

#[test]
fn guilty_programs_are_told_for_what_they_do_and_healthy_ones_for_nothing() {
    if !all_rights() {
        return skip("guilty", "kernel stacks and wakers need root");
    }
    let (lab, expected) = (Lab::new(), expected());
    assert!(expected.guilty.len() >= 70, "{}", expected.guilty.len());
    assert_eq!(expected.guilty.len(), sources("guilty").len(), "each program is expected to be");
    let folder = fixtures().join("guilty");
    let files: Vec<_> = expected.guilty.iter().map(|case| folder.join(&case.file).into()).collect();
    let guilty = measure(&lab, &files, |n, report| acquitted(&expected.guilty[n], report));
    let healthy: Vec<_> = sources("healthy").into_iter().map(Source::from).collect();
    let healthy = measure(&lab, &healthy, |_, report| accused(&expected.allowed, report));
    accuracy::bless(&expected.guilty, &guilty, &healthy, &expected.allowed);
    assert_right(&guilty, guilty.len() / 20);
    assert_right(&healthy, 0);
}

#[test]
#[ignore = "takes half an hour: `make accuracy`"]
fn programs_by_people_who_had_not_read_the_rules_are_told_right() {
    assert!(all_rights(), "kernel stacks and wakers need root");
    let (lab, programs, allowed) = (Lab::new(), unseen(), expected().allowed);
    assert_eq!(programs.len(), sources("unseen").len(), "each program is expected to be");
    let folder = fixtures().join("unseen");
    let source = |program: &Unseen| Source {
        path: folder.join(&program.case.file),
        flags: Some(program.flags.clone().unwrap_or_default()),
    };
    let files: Vec<_> = programs.iter().map(source).collect();
    let outcomes = measure(&lab, &files, |n, report| mistaken(&programs[n], &allowed, report));
    let is_healthy = |o: &&Outcome| programs.iter().any(|p| p.healthy && p.case.file == o.file);
    let (healthy, guilty): (Vec<_>, Vec<_>) =
        outcomes.into_iter().partition(|outcome| is_healthy(&outcome));
    let cases: Vec<_> = programs.iter().filter(|p| !p.healthy).map(|p| p.case.clone()).collect();
    accuracy::bless_unseen(&cases, &guilty, &healthy);
    assert_right(&guilty, guilty.len() / 10);
    assert_right(&healthy, 0);
}
