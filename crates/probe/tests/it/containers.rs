//! Probes in a container that somebody else made, which is found as it was.

use std::io::Read as _;
use std::time::Duration;

use culprit_place::{Command, PlaceSpec, Settings, Stdio, fresh_name, open};
use culprit_probe::probes::files::Files;
use culprit_probe::probes::notify::{Notify, Reader};
use culprit_probe::probes::start::Start;
use culprit_probe::probes::syscall::Syscall;
use culprit_probe::{Asked, Location, Probe};

use crate::support::{asked, program, run};

/// What a script on the host prints, if it ends well.
fn script(text: &str) -> Option<String> {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let (stdin, stdout, stderr) = (Stdio::Null, Stdio::Pipe, Stdio::Null);
    let command = Command { stdin, stdout, stderr, ..Command::new(["sh", "-ec", text]) };
    let mut running = host.hold(&command, None).unwrap().start().unwrap();
    let mut told = String::new();
    running.take_stdout().unwrap().read_to_string(&mut told).unwrap();
    running.wait().unwrap().success().then_some(told)
}

/// A container that runs, with its image; both go with the value.
struct Container {
    name: String,
}

impl Container {
    /// From an image of these commands' making (in `$d`, which is its root), run with these options
    /// and this command; `None` with a word on what is missing.
    fn run(test: &str, make: &str, options: &str, command: &str) -> Option<Self> {
        let name = fresh_name().unwrap().replace("culprit_", "culprit-test-");
        // Made before the engine is asked for anything, so that what it has made goes, too.
        let container = Self { name };
        let name = &container.name;
        let made = script(&format!(
            "docker version >&2; d=$(mktemp -d); trap 'rm -r $d' EXIT; {make}; \
             tar -C $d -c . | docker import - {name}; \
             docker run -d -i --pull=never --name {name} {options} {name} {command}"
        ));
        if made.is_none() {
            println!("skipped: {test}: no docker with its client, or no static busybox");
        }
        made.map(|_| container)
    }

    /// Nothing but our own program, which waits; not even a folder `/tmp`.
    fn empty(test: &str) -> Option<Self> {
        let make = format!("cp {} $d/wait", program().display());
        Self::run(test, &make, "", "/wait probe-worker")
    }

    fn busybox(test: &str, options: &str) -> Option<Self> {
        let make = "cp $(command -v busybox) $d/busybox; mkdir -m 1777 $d/tmp";
        Self::run(test, make, options, "/busybox sleep 600")
    }

    /// Runs two rounds of a probe in it, all of which must be told.
    fn measure(&self, probe: impl Probe + 'static, at: Option<Location>) {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let places = ["host".to_owned(), format!("container:{}", self.name)];
        let asked = asked(&places.each_ref().map(String::as_str), dir.path());
        let asked = Asked { control: false, at: at.into_iter().collect(), ..asked };
        let (answer, session) = run(probe, &asked, 2);
        assert!(session.problems.is_empty(), "{:?}", session.problems);
        assert_eq!(answer.arms[1].values(&answer.metrics[0]).len(), 2);
    }

    /// What is there that was not in its image.
    fn added(&self) -> Vec<String> {
        let changes = script(&format!("docker diff {}", self.name)).unwrap();
        changes.lines().filter(|line| line.starts_with("A ")).map(str::to_owned).collect()
    }

    /// What lies in a folder of it.
    fn list(&self, folder: &str) -> String {
        script(&format!("docker exec {} /busybox ls -a {folder}", self.name)).unwrap()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let name = &self.name;
        script(&format!("docker rm -f {name}; docker rmi -f {name}"));
    }
}

fn files() -> Files {
    Files { count: 100, records: 20, ..Files::default() }
}

#[test]
fn an_empty_image_needs_nothing_and_keeps_nothing() {
    let Some(container) = Container::empty("an_empty_image_needs_nothing") else { return };
    let before = script(&format!("docker diff {}", container.name));
    container.measure(files(), None);
    container.measure(Syscall { calls: 2_000, batches: 3 }, None);
    assert_eq!(script(&format!("docker diff {}", container.name)), before);
}

#[test]
fn our_program_begins_others_though_its_file_is_gone() {
    let Some(container) = Container::empty("our_program_begins_others") else { return };
    container.measure(Start { spawns: 5, forks: 5, ..Start::default() }, None);
    let readers = vec![Reader::Inotify, Reader::TailExhausted];
    let (think, duration) = (Duration::from_millis(20), Duration::from_millis(500));
    container.measure(Notify { readers, think, duration }, None);
    assert_eq!(container.added(), [""; 0]);
}

#[test]
fn a_user_without_rights_leaves_nothing() {
    let Some(container) = Container::busybox("a_user_without_rights", "--user 1234:1234") else {
        return;
    };
    container.measure(files(), None);
    assert_eq!(container.added(), [""; 0]);
    let error = {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let place = format!("container:{}", container.name);
        let at = vec![Location::Folder(Some("/no/such".into()))];
        let asked = Asked { control: false, at, ..asked(&["host", &place], dir.path()) };
        run(files(), &asked, 1).1.problems.remove(0).1
    };
    assert!(error.to_string().contains("cannot create the folder `/no/such"), "{error}");
    assert!(error.hints()[0].contains("--at folder:/PATH"), "{:?}", error.hints());
    assert_eq!(container.added(), [""; 0]);
}

#[test]
fn a_root_that_is_read_only_is_no_hindrance() {
    let test = "a_root_that_is_read_only";
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: {test}: only root reaches into it");
    }
    for user in ["", "--user 1234:1234 "] {
        let options = format!("{user}--read-only --tmpfs /tmp:noexec");
        let Some(container) = Container::busybox(test, &options) else { return };
        container.measure(files(), None);
        for folder in ["/dev", "/tmp", "/"] {
            assert!(!container.list(folder).contains("culprit"), "{folder}");
        }
    }
}

#[test]
fn a_copy_of_our_program_removes_itself_and_no_other_file() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    for (folder, stays) in [(fresh_name().unwrap(), false), ("culprit".to_owned(), true)] {
        let folder = dir.path().join(folder);
        let copy = folder.join("culprit");
        std::fs::create_dir(&folder).unwrap();
        std::fs::copy(program(), &copy).unwrap();
        script(&format!("{} probe-guest", copy.display())).unwrap();
        assert_eq!((folder.exists(), copy.exists()), (stays, stays));
    }
}
