//! Python with packages from PyPI, such as DuckDB, pandas and pyarrow: other programs that read what ours
//! writes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

/// Packages of the environment.
const PACKAGES: [&str; 3] = ["duckdb", "pandas", "pyarrow"];

/// The Python of the environment with these packages.
///
/// # Errors
/// The reason where Python or the packages cannot be had.
pub fn python_readers() -> Result<PathBuf, String> {
    venv("python-readers", &PACKAGES)
}

/// The Python of a virtual environment with these packages below the user's cache folder, made once.
///
/// # Errors
/// The reason where Python or the packages cannot be had.
#[expect(clippy::disallowed_methods, reason = "where the user's cache folder is")]
pub fn venv(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let cache = std::env::var("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|_| std::env::var("HOME").map(|home| Path::new(&home).join(".cache")))
        .map_err(|_| "a home folder".to_owned())?;
    let venv = cache.join("culprit").join(name);
    let python = venv.join("bin/python");
    let ready = venv.join("ready");
    // Tests run at the same time: one of them installs, the others wait.
    std::fs::create_dir_all(&venv).map_err(|error| error.to_string())?;
    let lock = File::create(venv.join("lock")).map_err(|error| error.to_string())?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| error.to_string())?;
    if !ready.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&python).args(pip).args(packages))?;
        std::fs::write(&ready, packages.join(" ")).map_err(|error| error.to_string())?;
    }
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
