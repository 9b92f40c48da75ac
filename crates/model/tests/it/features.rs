//! The program and the tests are built on the same crates with the same features: else each crate that
//! differs is compiled twice, with everything that uses it.

use std::collections::BTreeSet;
use std::process::Command;

use crate::arrows::workspace;

/// `NAME VERSION FEATURES` of what cargo builds for these packages on this machine.
#[expect(clippy::disallowed_methods, reason = "cargo alone knows what it resolves")]
fn built_for(packages: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix=none", "--format={p} {f}"])
        .args(packages)
        .current_dir(workspace())
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn the_program_and_the_tests_share_what_they_are_built_on() {
    let program = built_for(&["--package=culprit-cli", "--edges=normal,build"]);
    let tests = built_for(&["--workspace", "--edges=normal,build,dev"]);
    let only_program: Vec<_> = program.difference(&tests).map(String::as_str).collect();
    assert!(
        only_program.is_empty(),
        "the tests turn on more features of these: name them in crates/culprit/Cargo.toml, below \
         `Not used here`:\n{}",
        only_program.join("\n")
    );
}
