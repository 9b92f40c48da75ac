//! A crate may use only what stands after its arrow.

use std::path::{Path, PathBuf};

/// Crate, and the crates of ours that it may use. Data flows one way: from the top of this list to
/// its end.
const ARROWS: &[(&str, &[&str])] = &[
    // Of dev-dependencies alone: no arrow leads to it.
    ("testkit", &[]),
    ("model", &[]),
    ("engine", &["model"]),
    ("recording", &["model"]),
    ("kernel", &["model"]),
    ("place", &["model"]),
    ("symbols", &["model", "place"]),
    ("probe", &["model", "engine", "place"]),
    ("config", &["model", "place"]),
    ("findings", &["model", "engine"]),
    ("record", &["model", "kernel", "place", "recording", "symbols"]),
    ("exchange", &["model", "kernel", "recording", "symbols"]),
    ("query", &["model", "recording"]),
    ("audit", &["model", "recording", "query"]),
    ("experiment", &["model", "engine", "place", "probe", "record", "recording", "findings"]),
    ("report", &["model", "engine", "findings", "config", "probe", "experiment"]),
    ("wasm", &["model", "engine", "recording", "findings", "report"]),
    ("page", &["report"]),
    ("server", &["model", "page", "recording"]),
    ("data", &["model", "engine", "recording", "query", "audit", "report"]),
    (
        "culprit",
        &[
            "model",
            "engine",
            "recording",
            "place",
            "symbols",
            "probe",
            "findings",
            "config",
            "record",
            "exchange",
            "experiment",
            "report",
            "page",
            "server",
        ],
    ),
];

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

pub(crate) fn crates() -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(workspace().join("crates"))
        .expect("crates/")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

#[test]
fn every_crate_keeps_to_its_arrow() {
    let mut wrong = Vec::new();
    for name in crates() {
        let path = workspace().join("crates").join(&name).join("Cargo.toml");
        let manifest: toml::Table =
            std::fs::read_to_string(&path).expect("a manifest").parse().expect("TOML");
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            wrong.push(format!("crates/{name} has no arrow: add it to ARROWS and ARCHITECTURE.md"));
            continue;
        };
        for section in ["dependencies", "build-dependencies"] {
            let Some(used) = manifest.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for ours in used.keys().filter_map(|key| key.strip_prefix("culprit-")) {
                if !allowed.contains(&ours) {
                    wrong.push(format!(
                        "crates/{name}/Cargo.toml: [{section}] culprit-{ours}: {name} may use only {allowed:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_inherits_the_lints() {
    for name in crates() {
        let path = workspace().join("crates").join(&name).join("Cargo.toml");
        let manifest: toml::Table =
            std::fs::read_to_string(&path).expect("a manifest").parse().expect("TOML");
        let inherits = manifest["lints"]["workspace"].as_bool();
        assert_eq!(inherits, Some(true), "crates/{name} does not inherit the workspace's lints");
    }
}
