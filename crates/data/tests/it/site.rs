//! Running `culprit-data audit` in a folder of a test's own.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use culprit_testkit::{program, stderr, stdout};
use serde_json::Value;
use tempfile::TempDir;

/// A folder for samples, stores and plans.
#[derive(Debug)]
pub(crate) struct Site {
    folder: TempDir,
}

impl Site {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with a sample of this many visits in a format, and its store.
    pub(crate) fn sampled(interactions: u32, format: &str) -> Self {
        let site = Self::empty();
        let count = interactions.to_string();
        site.ok(&["sample", "-o", "sample", "--interactions", &count, "--formats", format]);
        let source = format!("sample/{format}");
        site.ok(&["import", "--from", format, &source, "-o", "store"]);
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `culprit-data audit ARGUMENTS`, in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_culprit-data"));
        command.current_dir(self.folder.path()).arg("audit").args(arguments);
        command.stdin(Stdio::null()).env_remove("PGPASSWORD").env_remove("SQLCMDPASSWORD");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command printed that succeeded.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// The document of a command that succeeded.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let all = [arguments, &["--json"]].concat();
        serde_json::from_str(&self.ok(&all)).unwrap()
    }
}
