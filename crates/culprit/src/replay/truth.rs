//! What must be said of each program of the fixtures, and whether a report says it.
//!
//! Used twice: by the replay of kept recordings, and by the tests that record the programs anew
//! (`tests/it/guilty`), which include this file by its path.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A folder of `fixtures/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Slow for one known reason each.
    Guilty,
    /// Nothing is wrong with them.
    Healthy,
    /// By people who had not read the rules; slow ones and healthy ones.
    Unseen,
    /// By such people, too; half of them well-known software with load. Each is a folder.
    FirstSight,
}

impl Group {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Guilty, Self::Healthy, Self::Unseen, Self::FirstSight];

    /// The folder's name.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Guilty => "guilty",
            Self::Healthy => "healthy",
            Self::Unseen => "unseen",
            Self::FirstSight => "first_sight",
        }
    }
}

/// What starts a program that is a folder.
const START: &str = "run.sh";

/// A program and what must be said of it.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) group: Group,
    pub(crate) file: String,
    /// The expected finding; empty for a healthy program.
    pub(crate) finding: String,
    /// Part of the name of one of the first three functions that the finding points at.
    pub(crate) function: Option<String>,
    /// Whether it must cost the most; otherwise being listed is enough.
    pub(crate) first: bool,
    /// Findings that are as right.
    or: Vec<String>,
    /// Parts of functions' names of which one must be in a stack that the finding shows.
    functions: Vec<String>,
    /// What the compiler is told.
    pub(crate) flags: Option<String>,
    /// The only findings that a healthy program may have above low severity.
    allowed: Vec<String>,
}

impl Program {
    /// Its source.
    pub(crate) fn path(&self) -> PathBuf {
        let path = fixtures().join(self.group.folder()).join(&self.file);
        if self.group == Group::FirstSight { path.join(START) } else { path }
    }

    /// `guilty/hot.c`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.group.folder(), self.file)
    }

    /// Whether nothing is wrong with it.
    pub(crate) fn is_healthy(&self) -> bool {
        self.finding.is_empty()
    }

    /// What must be said of it, in a few words.
    pub(crate) fn expected(&self) -> String {
        let within = |function: &String| format!(" in `{function}`");
        let function = self.function.as_ref().map(within).unwrap_or_default();
        match self.first {
            _ if self.is_healthy() => "nothing".to_owned(),
            true => format!("`{}`{function}", self.finding),
            false => format!("`{}` listed", self.finding),
        }
    }

    /// What is wrong with a report (`culprit report --json`) of it.
    pub(crate) fn judge(&self, report: &Value) -> Option<String> {
        match self.group {
            _ if self.is_healthy() => accused(self, report),
            Group::Unseen | Group::FirstSight => mistaken(self, report),
            Group::Guilty | Group::Healthy => acquitted(self, report),
        }
    }
}

/// The folder of test programs.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").canonicalize().expect("fixtures/")
}

/// The findings that a healthy program may have above low severity.
pub(crate) fn allowed() -> Vec<String> {
    words(&table("guilty")["allowed"])
}

/// The programs of a group, in the order in which they are listed. Each source must be listed.
pub(crate) fn programs(group: Group) -> Vec<Program> {
    let allowed = allowed();
    let healthy = |file: String| Program {
        group,
        file,
        finding: String::new(),
        function: None,
        first: true,
        or: Vec::new(),
        functions: Vec::new(),
        flags: None,
        allowed: allowed.clone(),
    };
    let listed = |(file, row): (&String, &toml::Value)| {
        let finding = row.get("finding");
        let list = |key: &str| row.get(key).map(words).unwrap_or_default();
        Program {
            first: finding.is_some(),
            finding: finding.or(row.get("present")).map(word).unwrap_or_default(),
            function: row.get("function").map(word),
            or: list("or"),
            functions: list("functions"),
            flags: row.get("flags").map(word),
            ..healthy(file.clone())
        }
    };
    let sources = sources(group);
    let key = match group {
        Group::Healthy => return sources.into_iter().map(healthy).collect(),
        Group::Guilty => "guilty",
        Group::Unseen | Group::FirstSight => "programs",
    };
    let table = table(group.folder());
    let rows = table[key].as_table().expect("a table");
    if group == Group::FirstSight {
        let unknown: Vec<_> = rows.keys().filter(|name| !sources.contains(name)).collect();
        assert!(unknown.is_empty(), "no such programs: {unknown:?}");
        let of = |file: String| match rows.get_key_value(&file) {
            Some(row) => listed(row),
            None => healthy(file),
        };
        return sources.into_iter().map(of).collect();
    }
    let programs: Vec<_> = rows.iter().map(listed).collect();
    assert_eq!(programs.len(), sources.len(), "expected.toml lists each of {}", group.folder());
    programs
}

/// The names of a group's sources.
fn sources(group: Group) -> Vec<String> {
    let entries = std::fs::read_dir(fixtures().join(group.folder())).expect("a folder of fixtures");
    let names = entries.map(|entry| entry.expect("a file").file_name());
    let mut names: Vec<String> =
        names.map(|name| name.into_string().expect("a name in UTF-8")).collect();
    match group {
        Group::FirstSight => {
            let folder = fixtures().join(group.folder());
            names.retain(|name| folder.join(name).join(START).is_file());
        }
        _ => names.retain(|name| !name.ends_with(".toml")),
    }
    names.sort();
    names
}

fn table(folder: &str) -> toml::Table {
    let path = fixtures().join(folder).join("expected.toml");
    std::fs::read_to_string(path).expect("the list").parse().expect("TOML")
}

fn word(value: &toml::Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn words(value: &toml::Value) -> Vec<String> {
    value.as_array().expect("a list").iter().map(word).collect()
}

/// The findings of a report.
pub(crate) fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().expect("findings")
}

/// What a busy machine adds to every program.
pub(crate) const NOISE: &str = "run-queue";

/// What is wrong with a guilty program's findings.
fn acquitted(program: &Program, report: &Value) -> Option<String> {
    let noise = |f: &&Value| f["id"] == NOISE && program.finding != NOISE;
    let mut said = findings(report).iter().filter(|f| !noise(f));
    let found = match program.first {
        true => said.next().filter(|f| f["id"] == program.finding.as_str()),
        false => said.find(|f| f["id"] == program.finding.as_str()),
    };
    let Some(found) = found else {
        return Some(format!("{} expected, {} said", program.finding, listed(report)));
    };
    let places = found["where"].as_array().expect("places").iter().take(3);
    let functions: Vec<&str> = places.filter_map(|at| at["function"].as_str()).collect();
    // A statement points nowhere.
    let wanted = program.function.as_deref()?;
    let points = functions.iter().any(|function| function.contains(wanted));
    (!points)
        .then(|| format!("{} in {wanted} expected, it points at {functions:?}", program.finding))
}

/// What is wrong with a healthy program's findings.
fn accused(program: &Program, report: &Value) -> Option<String> {
    let harmless = |f: &Value| {
        matches!(f["severity"].as_str(), Some("info" | "low"))
            || program.allowed.iter().any(|allowed| f["id"] == allowed.as_str())
    };
    let fine = findings(report).iter().all(harmless);
    (!fine).then(|| format!("healthy, but {} said", listed(report)))
}

/// What is wrong with the findings of a program by somebody else.
fn mistaken(program: &Program, report: &Value) -> Option<String> {
    let first = findings(report).iter().find(|f| f["id"] != NOISE);
    let id = first.and_then(|f| f["id"].as_str()).unwrap_or("nothing");
    let right = id == program.finding || program.or.iter().any(|or| or == id);
    let Some(found) = first.filter(|_| right) else {
        return Some(format!("{} expected, {} said", program.finding, listed(report)));
    };
    let places = found["where"].as_array().expect("places").iter().take(3);
    let shown = places.map(Value::to_string).collect::<String>();
    let there = program.functions.iter().any(|function| shown.contains(function.as_str()));
    let somewhere = there || program.functions.is_empty();
    (!somewhere).then(|| format!("{id} is said of other functions than {:?}", program.functions))
}

fn listed(report: &Value) -> String {
    let line = |f: &Value| {
        let share = 100.0 * f["share"].as_f64().expect("a share");
        format!("\n  {} {share:.0} %: {}", f["id"], f["title"])
    };
    findings(report).iter().map(line).collect()
}
