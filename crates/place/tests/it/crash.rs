//! A run that is killed leaves things behind, and the next run's sweep removes them, and only them.

use crate::again::{again, on_host};
use crate::contract::{shell, start};
use culprit_place::{Command, Pid, PlaceSpec, Settings, Signal, Stdio, open, procfs, sweep};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Kills a copy of us that has a command running in `spec`. Returns the command's number and its
/// cgroup's folder.
fn crash(spec: &str, scratch: &Path) -> (Pid, String) {
    let env: Vec<(OsString, OsString)> =
        vec![(PLACE.into(), spec.into()), (SCRATCH.into(), scratch.into())];
    let command = Command { env, stderr: Stdio::Null, ..again(&[], "crash::owner") };
    let mut running = on_host(&command);
    let lines = BufReader::new(running.take_stdout().unwrap()).lines();
    let line = lines.map_while(Result::ok).find(|l| l.starts_with("left ")).unwrap();
    let words: Vec<_> = line.split(' ').collect();
    running.signal(Signal::KILL).unwrap();
    running.wait().unwrap();
    (Pid(words[1].parse().unwrap()), words[2].to_owned())
}

/// Kills a copy of us at a stage of its way to a command in `spec`. Returns the copy's number.
fn crash_at(stage: &str, spec: &str, scratch: &Path) -> Pid {
    let env: Vec<(OsString, OsString)> =
        vec![(PLACE.into(), spec.into()), (SCRATCH.into(), scratch.into())];
    let command = Command { env, stderr: Stdio::Null, ..again(&[], "crash::owner") };
    let mut running = on_host(&command);
    let mut lines = BufReader::new(running.take_stdout().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with(stage)), "{stage} in {spec}");
    running.signal(Signal::KILL).unwrap();
    running.wait().unwrap();
    running.pid().unwrap()
}

/// Held by a test from the crash to the sweep: another's sweep would find what it has left.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn may_make_cgroups(test: &str) -> bool {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let made = host.make_cgroup();
    if let Err(e) = &made {
        println!("skipped: {test}: {e}");
    }
    made.is_ok()
}

fn swept(scratch: &Path) -> culprit_place::Swept {
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
    let _alone = alone();
    let (pid, cgroup) = crash("host", scratch.path());
    assert!(procfs::stat(pid).is_ok(), "the command runs on");
    assert!(Path::new(&cgroup).is_dir());
    swept(scratch.path());
    assert!(!Path::new(&cgroup).exists());
    assert!(procfs::stat(pid).is_ok(), "and is not touched by the sweep");
    end(pid);
}

#[test]
fn a_sandbox_is_swept_with_everything_in_it() {
    if !may_make_cgroups("a_sandbox_is_swept_with_everything_in_it") {
        return;
    }
    let scratch = tempfile::tempdir_in("/var/tmp").unwrap();
    let _alone = alone();
    let (pid, cgroup) = crash("sandbox:/tmp", scratch.path());
    assert!(procfs::stat(pid).is_ok(), "the command runs on until the next run");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    let found = swept(scratch.path());
    assert_eq!(found.sandboxes, 1);
    assert!(!found.is_clean());
    assert!(procfs::stat(pid).is_err());
    assert!(!Path::new(&cgroup).exists());
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn nothing_of_a_container_is_left_whenever_its_maker_is_killed() {
    let name = "nothing_of_a_container_is_left_whenever_its_maker_is_killed";
    if !may_make_cgroups(name) || crate::engine::place(name, "docker:@host").is_none() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let _alone = alone();
    for stage in ["at begin", "at open", "at hold", "left"] {
        let maker = crash_at(stage, "docker:@host", scratch.path());
        // The engine goes on with what it was asked for, so it may be made after the first sweep.
        let left = (0..100).map(|_| {
            swept(scratch.path());
            crate::engine::things_of(maker)
        });
        let mut clean = 0;
        let mut last = Vec::new();
        for left in left {
            clean = if left.is_empty() { clean + 1 } else { 0 };
            if clean == 5 {
                break;
            }
            last = left;
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert_eq!(clean, 5, "killed {stage}: {last:?}");
    }
}

#[test]
fn what_is_in_use_is_not_swept() {
    let scratch = tempfile::tempdir_in("/var/tmp").unwrap();
    let _alone = alone();
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
    let _alone = alone();
    let (pid, cgroup) = crash("docker:@host", scratch.path());
    assert!(procfs::stat(pid).is_ok(), "the container runs on until the next run");
    let found = swept(scratch.path());
    assert!(found.containers >= 1 && found.images >= 1, "{found:?}");
    assert!(procfs::stat(pid).is_err());
    assert!(!Path::new(&cgroup).exists());
}

#[test]
fn a_program_put_into_a_container_is_swept_and_the_container_stays() {
    let name = "a_program_put_into_a_container_is_swept";
    if !may_make_cgroups(name) {
        return;
    }
    let Some(container) = crate::engine::Sleeping::run(name) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let _alone = alone();
    let spec = format!("container:{}", container.name());
    crash_at("at put", &spec, scratch.path());
    assert_eq!(container.list("/tmp").matches("culprit_").count(), 1);
    assert!(swept(scratch.path()).programs >= 1);
    assert_eq!(container.list("/tmp"), "");
}
