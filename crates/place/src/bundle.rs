//! A container by an OCI runtime alone (runc, crun), without an engine: what of a container's start is
//! the runtime's.
//!
//! ```text
//!   SCRATCH/culprit_.../config.json    what the runtime is to make (OCI runtime specification 1.0)
//!                      /rootfs         empty; our program is mounted into it, as engines mount it
//!                      /state          what the runtime keeps
//!                      /log            what it says when it fails
//! ```
//!
//! The folder and the cgroup bear names of ours, so the next run's sweep removes what a killed one
//! leaves. The runtime itself ends with the program in the container.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::command::{Command, Group, Stdio};
use crate::error::{Error, Result};
use crate::host::{Host, our_environment};
use crate::owner::fresh_name;
use crate::place::{Place, Settings};

/// The runtimes, in the order to try: engines use the first by default.
const RUNTIMES: [&str; 2] = ["runc", "crun"];

/// Folders of system programs, which users need not have in their `PATH`.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// What a runtime can make a container of. Dropping it removes everything.
#[derive(Debug)]
pub struct Bundle {
    runtime: PathBuf,
    dir: PathBuf,
    name: String,
}

/// Why there is no container by a runtime alone here; none where there is.
#[must_use]
pub fn no_runtime() -> Option<String> {
    match runtime() {
        None => Some(format!(
            "no container runtime is installed (`{}` or `{}`)",
            RUNTIMES[0], RUNTIMES[1]
        )),
        Some(_) if !rustix::process::geteuid().is_root() => {
            Some("a container runtime needs root".to_owned())
        }
        Some(_) => None,
    }
}

fn runtime() -> Option<PathBuf> {
    let path = our_environment().find(|(key, _)| key == "PATH").map(|(_, value)| value);
    let folders: Vec<PathBuf> = path.iter().flat_map(std::env::split_paths).collect();
    let folders = folders.iter().map(PathBuf::as_path).chain(SYSTEM.iter().map(Path::new));
    let folders: Vec<&Path> = folders.collect();
    let file = |name: &&str| folders.iter().map(|dir| dir.join(name)).find(|file| file.is_file());
    RUNTIMES.iter().find_map(file)
}

impl Bundle {
    /// Where the container finds our program.
    pub const PROGRAM: &'static str = "/.culprit/culprit";

    /// Prepares a container that runs a program of this machine with this one argument; none where
    /// there is no runtime.
    ///
    /// # Errors
    /// When its folder cannot be made.
    pub fn make(program: &Path, argument: &str, settings: &Settings) -> Result<Option<Self>> {
        let Some(runtime) = runtime() else { return Ok(None) };
        let name = fresh_name()?;
        let dir = settings.scratch.join(&name);
        let made = fs::DirBuilder::new().mode(0o700).create(&dir);
        made.map_err(|e| Error::file("create", &dir, e))?;
        // From here on a failure removes what was made.
        let bundle = Self { runtime, dir, name };
        let root = bundle.dir.join("rootfs");
        fs::create_dir(&root).map_err(|e| Error::file("create", root, e))?;
        let file = bundle.dir.join("config.json");
        let text = config(&crate::engine::text(program.as_os_str())?, argument, &bundle.name);
        fs::write(&file, text).map_err(|e| Error::file("write", file, e))?;
        Ok(Some(bundle))
    }

    /// The runtime.
    #[must_use]
    pub fn runtime(&self) -> &Path {
        &self.runtime
    }

    /// The command line that makes the container, runs the program with our streams, and removes the
    /// container when that has ended.
    #[must_use]
    pub fn run(&self) -> Vec<OsString> {
        let (dir, log) = (self.dir.as_os_str(), self.dir.join("log"));
        let run = [OsStr::new("run"), "--bundle".as_ref(), dir, self.name.as_ref()];
        self.line(&[&[OsStr::new("--log"), log.as_os_str()][..], &run[..]].concat())
    }

    /// What the runtime said last when it failed.
    #[must_use]
    pub fn said(&self) -> Option<String> {
        let log = fs::read_to_string(self.dir.join("log")).ok()?;
        log.lines().last().map(str::to_owned)
    }

    fn line(&self, rest: &[&OsStr]) -> Vec<OsString> {
        let state = self.dir.join("state");
        let runtime = [self.runtime.as_os_str(), "--root".as_ref(), state.as_os_str()];
        runtime.iter().chain(rest).map(OsString::from).collect()
    }

    /// Removes a container that its runtime had no time to remove.
    fn delete(&self) -> Result<()> {
        let argv = self.line(&["delete".as_ref(), "--force".as_ref(), self.name.as_ref()]);
        let (stdin, stdout, stderr) = (Stdio::Null, Stdio::Null, Stdio::Null);
        let command = Command { stdin, stdout, stderr, group: Group::Own, ..Command::new(argv) };
        Host::new(None).hold(&command, None)?.start()?.wait().map(drop)
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        // What stays here is swept by the next run.
        if self.dir.join("state").join(&self.name).exists() {
            let _swept_later = self.delete();
        }
        let _swept_later = fs::remove_dir_all(&self.dir);
    }
}

/// The container: namespaces as `runc spec` has them, a cgroup of its own, no rights. An engine gives it
/// more mounts, a filter, layers and a network, which are what the engine's start is dearer by.
fn config(program: &str, argument: &str, name: &str) -> String {
    let program = program.replace('\\', "\\\\").replace('"', "\\\"");
    let target = Bundle::PROGRAM;
    format!(
        r#"{{
  "ociVersion": "1.0.2",
  "process": {{
    "terminal": false,
    "user": {{"uid": 0, "gid": 0}},
    "args": ["{target}", "{argument}"],
    "env": ["PATH=/"],
    "cwd": "/"
  }},
  "root": {{"path": "rootfs"}},
  "mounts": [
    {{"destination": "/proc", "type": "proc", "source": "proc"}},
    {{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]}},
    {{"destination": "{target}", "type": "bind", "source": "{program}", "options": ["bind", "ro"]}}
  ],
  "linux": {{
    "cgroupsPath": "/{name}",
    "namespaces": [
      {{"type": "pid"}}, {{"type": "network"}}, {{"type": "ipc"}}, {{"type": "uts"}}, {{"type": "mount"}}
    ]
  }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_goes_with_its_value() {
        let scratch = tempfile::tempdir().unwrap();
        let settings = Settings { scratch: scratch.path().into(), ..Settings::default() };
        let Some(bundle) = Bundle::make(Path::new("/a\"b"), "go", &settings).unwrap() else {
            println!("skipped: no OCI runtime is here");
            return;
        };
        let text = fs::read_to_string(bundle.dir.join("config.json")).unwrap();
        assert!(text.contains(r#""source": "/a\"b""#), "{text}");
        assert!(crate::maker_lives(&bundle.name) == Some(true), "known to the next run's sweep");
        assert_eq!(bundle.run().last().unwrap().to_str(), Some(bundle.name.as_str()));
        drop(bundle);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
