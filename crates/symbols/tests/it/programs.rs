//! Compiles the test programs and runs the tools that judge our answers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use culprit_symbols::ModuleImage;

/// A folder with the programs built so far; removed when dropped.
pub(crate) struct Workshop {
    folder: tempfile::TempDir,
}

/// Where the sources of the test programs are.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs").join(name)
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a program by the kind of its source; `None` when the compiler is missing or cannot do it
    /// (a static C library that is not installed), said on stdout.
    pub(crate) fn compile(
        &self,
        test: &str,
        source_name: &str,
        output: &str,
        flags: &[&str],
    ) -> Option<PathBuf> {
        let compiler = match source_name.rsplit('.').next() {
            Some("rs") => "rustc",
            Some("cpp") => "g++",
            _ => "cc",
        };
        let binary = self.path(output);
        let source = source(source_name);
        let mut arguments: Vec<&str> = flags.to_vec();
        let (source, out) = (source.to_str().expect("UTF-8"), binary.to_str().expect("UTF-8"));
        arguments.extend([source, "-o", out]);
        match run(compiler, &arguments) {
            Ok(_) => Some(binary),
            Err(reason) => {
                println!("skipped: {test}: {compiler} {flags:?}: {reason}");
                None
            }
        }
    }
}

/// Runs a tool to its end; what it printed, or why not.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    run_with(program, arguments, None)
}

#[expect(clippy::disallowed_methods, reason = "the tools that judge our answers are programs")]
pub(crate) fn run_with(
    program: &str,
    arguments: &[&str],
    input: Option<&Path>,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(input) = input {
        command.stdin(File::open(input).map_err(|error| error.to_string())?);
    }
    let Output { status, stdout, stderr } = command.output().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!(
            "{status}: {}",
            String::from_utf8_lossy(&stderr).lines().next().unwrap_or_default()
        ));
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

pub(crate) fn open(path: &Path) -> ModuleImage {
    let file = File::open(path).expect("the program that was just built");
    ModuleImage::open(file, &path.to_string_lossy(), None).expect("a real program opens")
}
