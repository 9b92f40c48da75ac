//! Random inputs give what the real programs make of them: see `tests/fixtures/README.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use culprit_config::{Configuration, SourceState};
use serde_json::Value;

use crate::support::inspected;

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn rows(folder: &Path, name: &str) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let Value::Object(object) = value else { return BTreeMap::new() };
    object.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// The values of the keys of a service, or of all keys.
fn values(configuration: &Configuration, prefix: &str) -> BTreeMap<String, String> {
    let winners = configuration.effective.iter().filter_map(|effective| {
        let name = effective.key.strip_prefix(prefix)?.to_owned();
        let value = &configuration.assignments[effective.winner?].value;
        Some((
            name,
            String::from(value.text.as_ref().unwrap_or_else(|| panic!("{value:?} is hidden"))),
        ))
    });
    winners.collect()
}

/// Whether a file of variables of a compose project is read as the row says.
fn env_file_agrees(row: &Value) -> Result<(), String> {
    let compose = "services:\n  s:\n    env_file: x.env\n";
    let text = row["text"].as_str().unwrap();
    let configuration = inspected("compose", &[("compose.yaml", compose), ("x.env", text)], &[]);
    let file = configuration.sources.iter().find(|source| source.name == "x.env").unwrap();
    let is_read = file.state == SourceState::Read;
    let values = values(&configuration, "s.");
    match (is_read, row["values"].is_null()) {
        (true, false) if values == texts(&row["values"]) => Ok(()),
        (false, true) if file.state == SourceState::Unparsable => Ok(()),
        _ => Err(format!("{row}: {} {}, {values:?}", file.state, file.why)),
    }
}

/// Whether a project is resolved as the row says.
fn project_agrees(row: &Value) -> Result<(), String> {
    let (files, shell) = (texts(&row["files"]), texts(&row["shell"]));
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let shell: Vec<(&str, &str)> = shell.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let of_all = row["all"] == true;
    let configuration = inspected("compose", &files, &shell);
    let mut values = values(&configuration, if of_all { "" } else { "s." });
    values.retain(|key, _| !key.starts_with('$'));
    let agrees = match row["values"].is_null() {
        true => configuration.has_gaps(),
        false => values == texts(&row["values"]) && !configuration.has_gaps(),
    };
    agrees.then_some(()).ok_or_else(|| format!("{row}: {values:?}"))
}

/// Whether a file of variables is read as the row says.
fn dotenv_agrees(row: &Value) -> Result<(), String> {
    let text = row["text"].as_str().unwrap();
    let configuration = inspected(
        "dotenv",
        &[("package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}"), (".env", text)],
        &[],
    );
    let values = values(&configuration, "");
    (values == texts(&row["values"])).then_some(()).ok_or_else(|| format!("{row}: {values:?}"))
}

fn env_files(folder: &Path) -> Vec<Value> {
    rows(folder, "compose.json").into_iter().filter(|row| row["text"].is_string()).collect()
}

fn projects(folder: &Path) -> Vec<Value> {
    rows(folder, "compose.json").into_iter().filter(|row| row["files"].is_object()).collect()
}

#[test]
fn files_of_variables_are_read_as_compose_reads_them() {
    let rows = env_files(&kept());
    rows.iter().for_each(|row| env_file_agrees(row).unwrap());
    let refused = rows.iter().filter(|row| row["values"].is_null()).count();
    assert!(refused > 20, "{refused}");
}

#[test]
fn projects_are_resolved_as_compose_resolves_them() {
    let rows = projects(&kept());
    let different: Vec<String> = rows.iter().filter_map(|row| project_agrees(row).err()).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(rows.len() >= 900, "{}", rows.len());
}

#[test]
fn files_of_variables_are_read_as_dotenv_reads_them() {
    let rows = rows(&kept(), "dotenv.json");
    rows.iter().for_each(|row| dotenv_agrees(row).unwrap());
    assert!(rows.len() >= 400, "{}", rows.len());
}

/// 1,000 new inputs of each kind. `CULPRIT_ORACLES` is a folder with `go`, a Go module that has compose-go,
/// and `package`, the unpacked npm package `dotenv`. `CULPRIT_ROWS` and `CULPRIT_SEED` give other numbers.
#[test]
#[ignore = "runs the real programs: make accuracy"]
#[expect(
    clippy::disallowed_methods,
    reason = "the test starts the real programs itself, and its caller says where they are"
)]
fn new_inputs_are_read_as_the_real_programs_read_them() {
    let variable = |name: &str, other: &str| std::env::var(name).unwrap_or(other.to_owned());
    let oracles = PathBuf::from(variable("CULPRIT_ORACLES", "none"));
    if !oracles.join("go").is_dir() || !oracles.join("package").is_dir() {
        println!("skipped: `CULPRIT_ORACLES` names no folder with `go` and `package`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("python3");
    command.arg(kept().join("make.py")).args([oracles.join("go"), oracles.join("package")]);
    command.args([variable("CULPRIT_ROWS", "1000"), variable("CULPRIT_SEED", "90210")]);
    let output = match command.arg(folder.path()).output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: python3 cannot be started: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        println!("skipped: a real program could not be asked: {}", said.trim());
        return;
    }
    assert!(output.status.success(), "{}: {said}", output.status);
    let mut failures = Vec::new();
    let mut judge = |name: &str, rows: &[Value], agrees: fn(&Value) -> Result<(), String>| {
        let different: Vec<String> = rows.iter().filter_map(|row| agrees(row).err()).collect();
        println!("{name}: {} of {} agree", rows.len() - different.len(), rows.len());
        failures.extend(different.into_iter().take(5));
    };
    judge("compose, env files", &env_files(folder.path()), env_file_agrees);
    let (include, others): (Vec<Value>, Vec<Value>) = projects(folder.path())
        .into_iter()
        .partition(|row| row["files"]["compose.yaml"].to_string().contains("include:"));
    judge("compose, projects that include", &include, project_agrees);
    judge("compose, other projects", &others, project_agrees);
    judge("dotenv", &rows(folder.path(), "dotenv.json"), dotenv_agrees);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
