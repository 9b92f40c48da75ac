//! A run that is killed leaves things behind, and the next run's sweep removes them, and only them.

use crate::again::{again, on_host};
use crate::contract::{shell, start};
use culprit_place::{
    Command, Pid, PlaceSpec, Running, Settings, Signal, Stdio, Swept, open, procfs, sweep,
};
use culprit_testkit::wait_until;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Tells a copy of this binary that it is the one to be killed, and in which place.
const PLACE: &str = "CULPRIT_TEST_CRASH_IN";
/// The scratch folder of that copy.
const SCRATCH: &str = "CULPRIT_TEST_CRASH_SCRATCH";

/// The copy's part; does nothing in an ordinary run.
#[test]
fn owner() {
    let (Some(spec), Some(scratch)) = (std::env::var_os(PLACE), std::env::var_os(SCRATCH)) else {
        return;
    };
    let settings = Settings { scratch: scratch.into(), ..Settings::default() };
    println!("\nat begin");
    let place = open(&spec.to_str().unwrap().parse().unwrap(), &settings).unwrap();
    let cgroup = place.make_cgroup().unwrap();
    println!("at open");
    if matches!(place.spec(), PlaceSpec::Container { .. }) {
        place.put_program(Path::new("/proc/self/exe")).unwrap();
        println!("at put");
    }
    let held = place.hold(&shell("exec sleep 600"), Some(&cgroup)).unwrap();
    println!("at hold");
    let running = held.start().unwrap();
    println!("\nleft {} {}", running.pid().unwrap(), cgroup.folder().display());
    running.wait().unwrap();
}

/// A copy of us that was killed and has left a command running. As long as nobody has waited for it, it
/// counts as alive: only then may a sweep take what it has left, be it another test's.
struct Crashed {
    copy: Running,
    /// The command.
    pid: Pid,
    /// The folder of the command's cgroup.
    cgroup: PathBuf,
}

impl Crashed {
    /// Kills a copy of us that has a command running in `spec`.
    fn new(spec: &str, scratch: &Path) -> Self {
        let env: Vec<(OsString, OsString)> =
            vec![(PLACE.into(), spec.into()), (SCRATCH.into(), scratch.into())];
        let command = Command { env, stderr: Stdio::Null, ..again(&[], "crash::owner") };
        let mut copy = on_host(&command);
        let lines = BufReader::new(copy.take_stdout().unwrap()).lines();
        let line = lines.map_while(Result::ok).find(|l| l.starts_with("left ")).unwrap();
        let words: Vec<_> = line.split(' ').collect();
        copy.signal(Signal::KILL).unwrap();
        let (pid, cgroup) = (Pid(words[1].parse().unwrap()), words[2].into());
        let crashed = Self { copy, pid, cgroup };
        assert!(crashed.cgroup.is_dir() && crashed.runs(), "the command runs on");
        crashed
    }

    /// Whether its command runs.
    fn runs(&self) -> bool {
        procfs::stat(self.pid).is_ok()
    }

    /// Lets sweeps take what it has left, sweeps, and waits for the end of its cgroup: another test's
    /// sweep may be at it.
    fn swept(&self, scratch: &Path) -> Swept {
        self.copy.wait().unwrap();
        let found = swept(scratch);
        wait_until("its cgroup is gone", || !self.cgroup.exists());
        found
    }
}

/// Kills a copy of us at a stage of its way to a command in `spec`, and looks at what it has left before
/// a sweep may take it. Returns the copy's number.
fn crash_at(stage: &str, spec: &str, scratch: &Path, look: impl FnOnce(&Running)) -> Pid {
    let env: Vec<(OsString, OsString)> =
        vec![(PLACE.into(), spec.into()), (SCRATCH.into(), scratch.into())];
    let command = Command { env, stderr: Stdio::Null, ..again(&[], "crash::owner") };
    let mut running = on_host(&command);
    let mut lines = BufReader::new(running.take_stdout().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with(stage)), "{stage} in {spec}");
    running.signal(Signal::KILL).unwrap();
    look(&running);
    running.wait().unwrap();
    running.pid().unwrap()
}

fn may_make_cgroups(test: &str) -> bool {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let made = host.make_cgroup();
    if let Err(e) = &made {
        println!("skipped: {test}: {e}");
    }
    made.is_ok()
}

fn swept(scratch: &Path) -> Swept {
    let swept = sweep(&Settings { scratch: scratch.to_path_buf(), ..Settings::default() });
    assert!(swept.problems.is_empty(), "{:?}", swept.problems);
    swept
}

fn end(pid: Pid) {
    let killed = Command::new(["kill".to_owned(), "-9".to_owned(), pid.to_string()]);
    on_host(&killed).wait().unwrap();
}

#[test]
fn a_command_on_the_host_outlives_its_recorder_and_its_cgroup_is_swept() {
    if !may_make_cgroups("a_command_on_the_host_outlives_its_recorder") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let crashed = Crashed::new("host", scratch.path());
    crashed.swept(scratch.path());
    assert!(crashed.runs(), "the command is not touched by the sweep");
    end(crashed.pid);
}

#[test]
fn a_sandbox_is_swept_with_everything_in_it() {
    if !may_make_cgroups("a_sandbox_is_swept_with_everything_in_it") {
        return;
    }
    let scratch = tempfile::tempdir_in("/var/tmp").unwrap();
    let crashed = Crashed::new("sandbox:/tmp", scratch.path());
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    let found = crashed.swept(scratch.path());
    assert_eq!(found.sandboxes, 1);
    assert!(!found.is_clean());
    assert!(!crashed.runs());
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn nothing_of_a_container_is_left_whenever_its_maker_is_killed() {
    let name = "nothing_of_a_container_is_left_whenever_its_maker_is_killed";
    if !may_make_cgroups(name) || crate::engine::place(name, "docker:@host").is_none() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    for stage in ["at begin", "at open", "at hold", "left"] {
        let maker = crash_at(stage, "docker:@host", scratch.path(), |_| {});
        // The engine goes on with what it was asked for, so it may be made after the first sweep.
        let mut clean = 0;
        wait_until(&format!("nothing is left of one that was killed {stage}"), || {
            swept(scratch.path());
            let left = crate::engine::things_of(maker);
            clean = if left.is_empty() { clean + 1 } else { 0 };
            std::thread::sleep(std::time::Duration::from_millis(90));
            clean == 5
        });
    }
}

#[test]
fn what_is_in_use_is_not_swept() {
    let scratch = tempfile::tempdir_in("/var/tmp").unwrap();
    let settings = Settings { scratch: scratch.path().to_path_buf(), ..Settings::default() };
    let Ok(place) = open(&"sandbox:/tmp".parse().unwrap(), &settings) else {
        return println!("skipped: what_is_in_use_is_not_swept: no sandbox");
    };
    assert_eq!(swept(scratch.path()).sandboxes, 0);
    assert!(start(&*place, &shell("true")).wait().unwrap().success());
}

#[test]
fn a_container_and_its_image_are_swept() {
    let name = "a_container_and_its_image_are_swept";
    if !may_make_cgroups(name) || crate::engine::place(name, "docker:@host").is_none() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let crashed = Crashed::new("docker:@host", scratch.path());
    let maker = crashed.copy.pid().unwrap();
    // A container and its image.
    assert!(crate::engine::things_of(maker).len() >= 2, "they stay until the next run");
    crashed.swept(scratch.path());
    wait_until("everything of it is swept", || crate::engine::things_of(maker).is_empty());
    assert!(!crashed.runs());
}

#[test]
fn a_program_put_into_a_container_is_swept_and_the_container_stays() {
    let name = "a_program_put_into_a_container_is_swept";
    if !may_make_cgroups(name) {
        return;
    }
    let Some(container) = crate::engine::Sleeping::run(name) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let spec = format!("container:{}", container.name());
    // Another test's sweep may be the one that removes it.
    crash_at("at put", &spec, scratch.path(), |_| {
        assert_eq!(container.list("/tmp").matches("culprit_").count(), 1);
    });
    swept(scratch.path());
    wait_until("the program is gone", || container.list("/tmp").is_empty());
}
