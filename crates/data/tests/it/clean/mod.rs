//! `audit clean` on stores and on a real PostgreSQL.

mod kills;
mod levels;
mod server;
mod source;
mod sources;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use culprit_testkit::{program, stderr, stdout};
use serde_json::Value;
use tempfile::TempDir;

/// A sample, its store, and folders for plans.
struct Site {
    folder: TempDir,
}

impl Site {
    /// Makes a sample of this many visits and imports it.
    fn new(interactions: u32) -> Self {
        let site = Self { folder: tempfile::tempdir().unwrap() };
        let count = interactions.to_string();
        site.ok(&["sample", "-o", "sample", "--interactions", &count, "--formats", "xdb-csv"]);
        site.ok(&["import", "--from", "xdb-csv", "sample/xdb-csv", "-o", "store"]);
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folders of the sample's shards.
    fn shards(&self) -> [PathBuf; 2] {
        ["shard-0", "shard-1"].map(|shard| self.path("sample/xdb-csv").join(shard))
    }

    /// `culprit-data audit ARGUMENTS`, in this folder.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_culprit-data"));
        command.current_dir(self.folder.path()).arg("audit").args(arguments);
        command.stdin(Stdio::null()).env_remove("PGPASSWORD");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command printed that succeeded.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// The document of a command that succeeded.
    fn json(&self, arguments: &[&str]) -> Value {
        let all = [arguments, &["--json"]].concat();
        serde_json::from_str(&self.ok(&all)).unwrap()
    }

    /// A plan of this level for everything that is certain; what `--confirm` must say.
    fn plan(&self, name: &str, more: &[&str]) -> String {
        let plan = ["clean", "plan", "store", "--select", "verdict=certain", "-o", name];
        let made = self.json(&[&plan, more].concat());
        made["confirm"].as_str().unwrap().to_owned()
    }
}

/// Code and text of a command that failed.
fn failed(output: &Output) -> (Option<i32>, String) {
    assert!(!output.status.success(), "{}", stdout(output));
    (output.status.code(), stderr(output))
}

/// Every file below a folder but for the plan's lock.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.file_name().is_some_and(|name| name != "apply.lock") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Copies a folder with what is in it.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
