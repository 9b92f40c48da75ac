//! Random inputs give what the real programs make of them: see `tests/fixtures/README.md`.

use std::collections::BTreeMap;
use std::path::Path;

use culprit_config::{Configuration, SourceState};
use serde_json::Value;

use crate::support::inspected;

fn rows(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
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
        Some((name, value.text.clone().unwrap_or_else(|| panic!("{value:?} is hidden"))))
    });
    winners.collect()
}

#[test]
fn files_of_variables_are_read_as_compose_reads_them() {
    let compose = "services:\n  s:\n    env_file: x.env\n";
    let mut refused = 0;
    for row in rows("compose.json").iter().filter(|row| row["text"].is_string()) {
        let text = row["text"].as_str().unwrap();
        let configuration =
            inspected("compose", &[("compose.yaml", compose), ("x.env", text)], &[]);
        let file = configuration.sources.iter().find(|source| source.name == "x.env").unwrap();
        if row["values"].is_null() {
            refused += 1;
            assert_eq!(file.state, SourceState::Unparsable, "{text:?}: {configuration:#?}");
        } else {
            assert_eq!(file.state, SourceState::Read, "{text:?}: {}", file.why);
            assert_eq!(values(&configuration, "s."), texts(&row["values"]), "{text:?}");
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn projects_are_resolved_as_compose_resolves_them() {
    let mut count = 0;
    for row in rows("compose.json").iter().filter(|row| row["files"].is_object()) {
        let (files, shell) = (texts(&row["files"]), texts(&row["shell"]));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let shell: Vec<(&str, &str)> =
            shell.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let configuration = inspected("compose", &files, &shell);
        assert!(!row["values"].is_null(), "{row}");
        let all = row["all"] == true;
        let mut ours = values(&configuration, if all { "" } else { "s." });
        ours.retain(|key, _| !key.starts_with('$'));
        assert_eq!(ours, texts(&row["values"]), "{row}");
        count += 1;
    }
    assert!(count >= 600, "{count}");
}

#[test]
fn files_of_variables_are_read_as_dotenv_reads_them() {
    let rows = rows("dotenv.json");
    assert!(rows.len() >= 400, "{}", rows.len());
    for row in &rows {
        let text = row["text"].as_str().unwrap();
        let configuration = inspected("dotenv", &[("package.json", "{}"), (".env", text)], &[]);
        assert_eq!(values(&configuration, ""), texts(&row["values"]), "{text:?}");
    }
}
