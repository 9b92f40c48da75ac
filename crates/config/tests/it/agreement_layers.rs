//! Random layered trees give what the real programs make of them: see `tests/fixtures/layers/README.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use culprit_config::{Certainty, Configuration, Raw, SourceState, inspect};
use serde_json::Value;

use crate::support::{profile, redactor, request, write};

/// The profiles whose rows are kept.
const PROFILES: &[&str] = &["git", "systemd", "node-config", "django", "pydantic", "spring"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/layers")
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let Value::Object(object) = value else { return BTreeMap::new() };
    object.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// What a profile says of a row, with `@` for the folder of its files.
struct Said {
    configuration: Configuration,
    mark: String,
}

impl Said {
    fn new(name: &str, row: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let mark = format!("{}/", path.display());
        for (file, text) in texts(&row["files"]) {
            let text = text.replace("@/", &mark);
            if let Some(target) = text.strip_prefix("->") {
                std::fs::create_dir_all(path.join(&file).parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, path.join(&file)).unwrap();
            } else {
                write(&path, &file, text.as_bytes());
            }
        }
        std::fs::create_dir_all(path.join("project")).unwrap();
        let environment = texts(&row["environment"]);
        let environment: Vec<(String, String)> = environment
            .into_iter()
            .map(|(name, value)| (name, value.replace("@/", &mark)))
            .collect();
        let pairs: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut request = request(&path.join("project"), &pairs);
        request.all_variables = row["all"] == true;
        Self { configuration: inspect(&profile(name), &request, redactor()), mark }
    }

    fn marked(&self, text: &str) -> String {
        text.replace(&self.mark, "@/")
    }

    /// The value and the source of each key. Of a value that is hidden, its fingerprint.
    fn values(&self) -> BTreeMap<String, (String, String)> {
        let of = &self.configuration;
        let winners = of.effective.iter().filter_map(|effective| {
            let winner = &of.assignments[effective.winner?];
            let text = match &winner.value.text {
                Some(text) => text.to_string(),
                None => winner.value.fingerprint.to_string(),
            };
            let source = self.marked(&of.sources[winner.source].name);
            Some((self.marked(&effective.key), (self.marked(&text), source)))
        });
        winners.collect()
    }
}

impl Said {
    /// Their values, with fingerprints where ours are hidden.
    fn hidden_as_ours(&self, theirs: BTreeMap<String, String>) -> BTreeMap<String, String> {
        let of = &self.configuration;
        let hidden = |key: &str| {
            let mut rows = of.effective.iter().filter(|one| self.marked(&one.key) == key);
            rows.any(|one| {
                one.winner.is_some_and(|winner| of.assignments[winner].value.text.is_none())
            })
        };
        let shown = |(key, text): (String, String)| {
            let value = redactor().value("", &Raw::new(text.replace("@/", &self.mark)));
            let text = if hidden(&key) { value.fingerprint.to_string() } else { text };
            (key, text)
        };
        theirs.into_iter().map(shown).collect()
    }

    /// What is known agrees, and what is not known is said to be unknown.
    fn partial_difference(&self, theirs: &BTreeMap<String, String>) -> Option<String> {
        let of = &self.configuration;
        let ours = self.values();
        let is_unknown = |key: &str| {
            let mut unknown = of.effective.iter().filter(|one| one.certainty == Certainty::Unknown);
            unknown.any(|one| {
                let rest = key.strip_prefix(one.key.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
        };
        for (key, (value, _)) in ours.iter().filter(|(key, _)| !is_unknown(key)) {
            if theirs.get(key) != Some(value) {
                return Some(format!("`{key}` is {:?}, not {value:?}", theirs.get(key)));
            }
        }
        let missing = theirs.keys().find(|key| !ours.contains_key(*key) && !is_unknown(key));
        missing.map(|key| format!("`{key}` is {:?}, and is not known", theirs[key]))
    }
}

/// What differs from the real program's answer; none if nothing does.
fn difference(name: &str, row: &Value) -> Option<String> {
    let said = Said::new(name, row);
    if row["values"].is_null() {
        return (!said.configuration.has_gaps()).then(|| format!("it refuses the input: {row}"));
    }
    let (ours, theirs) = (said.values(), texts(&row["values"]));
    if row["from"].is_object() {
        let origins = texts(&row["from"]);
        for (key, origin) in &origins {
            let own = ours.get(key).map(|(_, source)| source);
            if own != Some(origin) {
                return Some(format!("`{key}` is from {origin}, not {own:?}: {row}"));
            }
        }
    }
    if row["order"].is_array() {
        return files_difference(&said.configuration, row);
    }
    if row["profiles"].is_string() {
        let own = said.configuration.defines[0].values.join(",");
        if row["profiles"] != own {
            return Some(format!("the profiles are {}, not {own}: {row}", row["profiles"]));
        }
    }
    // What only says which files count is compared by what it does.
    let is_own = |key: &str| name != "spring" || !key.starts_with("spring.");
    let ours: BTreeMap<String, String> = ours
        .into_iter()
        .filter(|(key, _)| is_own(key))
        .map(|(key, (value, _))| (key, value))
        .collect();
    let theirs = said.hidden_as_ours(theirs);
    if name == "spring" {
        // A variable does not say where its key has dashes.
        let bare = |values: BTreeMap<String, String>| -> BTreeMap<String, String> {
            values.into_iter().map(|(key, value)| (key.replace('-', ""), value)).collect()
        };
        let (ours, theirs) = (bare(with_elements(ours)), bare(theirs));
        return (ours != theirs).then(|| format!("ours {ours:?}\ntheirs {theirs:?}\n{row}"));
    }
    if row["partial"] == true {
        return said.partial_difference(&theirs).map(|what| format!("{what}: {row}"));
    }
    (ours != theirs).then(|| format!("ours {ours:?}\ntheirs {theirs:?}\n{row}"))
}

/// Values in which a list that is one value has its elements, as Spring binds them.
fn with_elements(mut values: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let list = values.remove("list").unwrap_or_default();
    let elements = list.split(',').map(str::trim).filter(|element| !element.is_empty());
    values.extend(elements.enumerate().map(|(at, one)| (format!("list[{at}]"), one.to_owned())));
    values
}

/// The order of files, and what they do to each other.
fn files_difference(of: &Configuration, row: &Value) -> Option<String> {
    let read = |wanted: &str| -> Vec<&str> {
        let sources = of.sources.iter().filter(|source| source.layer == wanted);
        let read = sources.filter(|source| source.state == SourceState::Read);
        read.map(|source| source.name.as_str()).collect()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for (name, order) in [("systemd/x.conf", &row["order"]), ("c-d.timer", &row["unit"])] {
        let Some(order) = order.as_array() else { continue };
        let theirs: Vec<String> = order.iter().map(text).collect();
        if read(name) != theirs {
            return Some(format!("{name}: ours {:?}, theirs {theirs:?}: {row}", read(name)));
        }
    }
    for one in row["delta"].as_array().unwrap() {
        let [word, top, bottom] = [0, 1, 2].map(|at| text(&one[at]));
        let source = of.sources.iter().find(|source| source.name == bottom);
        let why = source.map(|source| source.why.clone()).unwrap_or_default();
        let expected = match word.as_str() {
            "EXTENDED" => why.starts_with(&format!("EXTENDED {top}")),
            word => why == format!("{word} by {top}"),
        };
        if !expected {
            return Some(format!("{one}: `{why}`: {row}"));
        }
    }
    None
}

#[test]
fn kept_trees_are_resolved_as_the_real_programs_resolve_them() {
    for name in PROFILES {
        let text = std::fs::read_to_string(folder().join(format!("{name}.jsonl"))).unwrap();
        let rows: Vec<Value> = text.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        assert!(rows.len() >= 60, "{name}: {}", rows.len());
        for row in &rows {
            if let Some(difference) = difference(name, row) {
                panic!("{name}: {difference}");
            }
        }
    }
}

/// 1,000 new trees a profile. `CULPRIT_ORACLES` is the folder with the programs that README.md names,
/// `CULPRIT_PYTHON` the Python that has the packages, `CULPRIT_PROFILE` one profile, and `CULPRIT_SEED`
/// another seed.
#[test]
#[ignore = "runs the real programs: make accuracy"]
#[expect(
    clippy::disallowed_methods,
    reason = "the test starts the real programs itself, and its caller says where they are"
)]
fn new_trees_are_resolved_as_the_real_programs_resolve_them() {
    let variable = |name: &str| std::env::var(name).ok();
    let only = variable("CULPRIT_PROFILE");
    let rows = variable("CULPRIT_ROWS").unwrap_or_else(|| "1000".to_owned());
    let seed = variable("CULPRIT_SEED").unwrap_or_else(|| "90210".to_owned());
    let mut failures = Vec::new();
    for name in PROFILES.iter().filter(|name| only.as_deref().is_none_or(|only| only == **name)) {
        let mut command = Command::new(variable("CULPRIT_PYTHON").unwrap_or("python3".to_owned()));
        command.arg(folder().join("make.py")).args([name, rows.as_str(), seed.as_str()]);
        command.args(variable("CULPRIT_ORACLES"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(3) {
            println!("skipped: {name}: {}", said.trim());
            continue;
        }
        assert!(output.status.success(), "{name}: {said}");
        let text = String::from_utf8(output.stdout).unwrap();
        let rows: Vec<Value> = text.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        let different: Vec<String> = rows.iter().filter_map(|row| difference(name, row)).collect();
        println!("{name}: {} of {} trees agree", rows.len() - different.len(), rows.len());
        failures.extend(different.into_iter().take(3).map(|text| format!("{name}: {text}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
