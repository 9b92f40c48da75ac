//! `audit clean` on stores and on a real PostgreSQL.

mod kills;
mod levels;
mod limits;
mod server;
mod source;
mod sources;

use std::path::{Path, PathBuf};
use std::process::Output;

use culprit_testkit::{stderr, stdout};

use crate::site::Site;

impl Site {
    /// A sample of this many visits as the tables of two databases, and its store.
    fn new(interactions: u32) -> Self {
        Self::sampled(interactions, "xdb-csv")
    }

    /// The folders of the sample's shards.
    fn shards(&self) -> [PathBuf; 2] {
        ["shard-0", "shard-1"].map(|shard| self.path("sample/xdb-csv").join(shard))
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
