//! Running `culprit-data` on recordings that are drawn.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use culprit_model::notation::parse;
pub(crate) use culprit_testkit::{program, stderr, stdout};
use tempfile::TempDir;

/// A thread that computes and sleeps.
const DRAWING: &str = "
    tick 10ms
    stack u cpu.user app!main;app!compute
    stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
    app(10)/main(10)    uuuuussssu|
    root app(10)";

/// A folder with the recording `run.culprit`.
#[derive(Debug)]
pub(crate) struct Lab {
    folder: TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap() };
        culprit_recording::write(lab.path("run.culprit"), &parse(DRAWING).unwrap()).unwrap();
        lab
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `culprit-data sql ARGUMENTS`, in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_culprit-data"));
        command.current_dir(self.folder.path()).arg("sql").args(arguments).stdin(Stdio::null());
        command
    }

    pub(crate) fn sql(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a question that must be answered prints.
    pub(crate) fn answer(&self, arguments: &[&str]) -> String {
        let output = self.sql(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }
}

/// A file of the project.
pub(crate) fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
