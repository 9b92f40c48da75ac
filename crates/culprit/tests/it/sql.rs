//! `culprit sql` hands over to its companion, and says how to get it where it is missing.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Lab, program, stderr, stdout};

/// A copy of the program in a folder of its own, and `sql` with these arguments.
fn alone(lab: &Lab, arguments: &[&str]) -> std::process::Output {
    let copy = lab.path("culprit");
    if !copy.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_culprit"), &copy).unwrap();
    }
    let mut culprit = program(&copy);
    culprit.current_dir(lab.path(".")).env("PATH", "").arg("sql").args(arguments).output().unwrap()
}

#[test]
fn without_its_companion_it_says_how_to_get_it() {
    let lab = Lab::new();
    let output = alone(&lab, &["run.culprit", "SELECT 1"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("make build"), "{}", stderr(&output));
    let output = alone(&lab, &["run.culprit", "SELECT 1", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["exit_code"], 3);
    let help = alone(&lab, &["--help"]);
    assert!(help.status.success() && stdout(&help).contains("thread_states"));
    assert_eq!(alone(&lab, &["SELECT 1", "--csv", "--json"]).status.code(), Some(2));
    assert_eq!(alone(&lab, &[]).status.code(), Some(2));
}

#[test]
fn the_companion_beside_it_gets_what_was_typed() {
    let lab = Lab::new();
    let companion = lab.path("culprit-data");
    std::fs::write(&companion, "#!/bin/sh\nfor word; do echo \"[$word]\"; done\nexit 7\n").unwrap();
    std::fs::set_permissions(&companion, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output =
        alone(&lab, &["a.culprit", "--limit", "5", "-f", "x y.sql", "--quiet", "--", "-b.culprit"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(
        stdout(&output),
        "[sql]\n[--quiet]\n[--limit=5]\n[--file]\n[x y.sql]\n[--]\n[a.culprit]\n[-b.culprit]\n"
    );
}
