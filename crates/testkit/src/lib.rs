//! What the tests of several crates share. Only tests use it.
//!
//! Every test runs in a process of its own, several at once: two tests share files, ports, images and
//! the machine, but no variable.
#![expect(
    clippy::print_stdout,
    clippy::missing_panics_doc,
    reason = "helpers of tests fail and speak as tests do"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

mod compiled;
pub mod python;
pub mod spark;
pub mod tds;
pub mod words;

pub use compiled::{compiled, compiled_from};

/// How often [`wait_until`] checks a condition.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// After that the machine is too slow, or the condition will never hold.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// All processes of all users lock this file.
const LOCK_FILE: &str = "/var/tmp/culprit-tests.lock";

/// Says that a test cannot run here, and what is missing.
pub fn skip(test: &str, missing: &str) {
    println!("skipped: {test}: {missing}");
}

/// A command that a test starts.
#[expect(clippy::disallowed_methods, reason = "tests start programs as a user's shell does")]
pub fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(name)
}

/// What a program printed to stdout.
#[must_use]
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a program printed to stderr.
#[must_use]
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// True when the recorder may do everything here.
#[must_use]
pub fn all_rights() -> bool {
    rustix::process::geteuid().is_root()
}

/// True when a container engine answers.
#[must_use]
pub fn engine_answers() -> bool {
    let mut version = program("docker");
    version.arg("version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Waits until a condition holds. A slow machine may take a minute; then the test fails.
#[track_caller]
pub fn wait_until(condition: &str, mut holds: impl FnMut() -> bool) {
    let begun = now();
    while !holds() {
        assert!(begun.elapsed() < LONGEST_WAIT, "after a minute still not: {condition}");
        std::thread::sleep(CHECK_INTERVAL);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test waits by the clock of the machine")]
fn now() -> Instant {
    Instant::now()
}

/// Holds the lock of [`alone`] until it is dropped.
#[derive(Debug)]
pub struct Alone(File);

/// Waits until no other test holds this lock, and takes it. For tests that change or record the whole
/// machine: a sysctl, `--all`, every container of an engine. Tests without the lock run beside them.
#[must_use]
pub fn alone() -> Alone {
    let file = lock_file();
    flock(&file, FlockOperation::LockExclusive).expect("the lock can be waited for");
    Alone(file)
}

fn lock_file() -> File {
    // Another user's file may be locked, too, but in /var/tmp not be created again.
    let created = File::options().create(true).append(true).open(LOCK_FILE);
    created.or_else(|_| File::open(LOCK_FILE)).expect("the lock file can be opened")
}

impl Drop for Alone {
    fn drop(&mut self) {
        // A child that was forked meanwhile may hold the file, but no longer the lock.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Voluntary context switches and the state's letter of a thread, by its name in a process.
#[must_use]
pub fn thread_status(pid: u32, name: &str) -> Option<(u64, char)> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let texts = tasks.flatten().filter_map(|task| read(&task.path().join("status")));
    let mut texts = texts.filter(|text| field(text, "Name:") == Some(name));
    let text = texts.next()?;
    let switches = field(&text, "voluntary_ctxt_switches:")?.parse().ok()?;
    Some((switches, field(&text, "State:")?.chars().next()?))
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn field<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

/// The root of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace")
}
