//! Running `culprit` and the programs under `fixtures/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of the test's own, on a disk (a memory file system has no disk waits), and programs
/// built into it.
#[derive(Debug)]
pub(crate) struct Lab {
    folder: TempDir,
}

/// A command whose start is a test's business.
#[expect(clippy::disallowed_methods, reason = "tests start programs as a user's shell does")]
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(name)
}

/// What a program printed to stdout.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a program printed to stderr.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Says that a test cannot run here, and what is missing.
pub(crate) fn skip(test: &str, missing: &str) {
    println!("skipped: {test}: {missing}");
}

/// True when the recorder may do everything here.
pub(crate) fn all_rights() -> bool {
    rustix::process::geteuid().is_root()
}

/// True when a container engine answers.
pub(crate) fn engine_answers() -> bool {
    let mut version = program("docker");
    version.arg("version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("culprit-test-").tempdir_in("/var/tmp");
        Self { folder: folder.expect("a folder on a disk") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a C program of `fixtures/` and returns its path.
    pub(crate) fn build(&self, source: &str, flags: &[&str]) -> PathBuf {
        let source = fixtures().join(source);
        let target = self.path(source.file_stem().and_then(|s| s.to_str()).expect("a name"));
        let status = program("cc")
            .args(["-O2", "-g", "-fno-omit-frame-pointer", "-pthread"])
            .args(flags)
            .arg("-o")
            .args([&target, &source])
            .status()
            .expect("cc");
        assert!(status.success(), "{} does not compile", source.display());
        target
    }

    /// `culprit ARGUMENTS`, in this folder, without the caller's settings.
    pub(crate) fn culprit(&self) -> Command {
        let mut culprit = program(env!("CARGO_BIN_EXE_culprit"));
        culprit.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CULPRIT_") {
                culprit.env_remove(name);
            }
        }
        culprit
    }

    /// Records a command to `name`; the command must succeed.
    pub(crate) fn record(&self, name: &str, command: &[&str]) -> Output {
        let output = self
            .culprit()
            .args(["record", "-o", name, "--"])
            .args(command)
            .output()
            .expect("culprit runs");
        assert!(output.status.success(), "{}", stderr(&output));
        output
    }

    /// `culprit ARGUMENTS --json` as a document.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.culprit().args(arguments).arg("--json").output().expect("culprit runs");
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    }
}

/// The folder of test programs.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").canonicalize().expect("fixtures/")
}

/// What a report says of records or stacks that were lost: then a measurement may be repeated.
pub(crate) fn disturbed(report: &Value) -> Option<String> {
    const KINDS: [&str; 5] = [
        "switches-lost",
        "samples-lost",
        "sampling-throttled",
        "stacks-missing",
        "accounting-differs",
    ];
    let losses = report["losses"].as_array()?.iter();
    let told: Vec<&str> = losses.filter_map(|loss| loss["id"].as_str()).collect();
    let told: Vec<&str> = told.into_iter().filter(|id| KINDS.contains(id)).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// A number of a JSON document, where it must be one.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}
