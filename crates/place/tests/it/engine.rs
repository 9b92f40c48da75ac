//! Containers keep the contract: from an image, on the host's programs, in an existing container.

use crate::contract::{Expected, check, mark, output, shell, start};
use culprit_place::{
    Command, EngineKind, Error, Exit, FileSystem, Place, PlaceSpec, Settings, Stage, Stdio, open,
    running_container,
};
use std::io::Read;
use std::path::Path;

const EXPECTED: Expected = Expected { held_has_pid: false, tells_signals: false };

/// The place, or `None` with a word on which engine or image is missing.
pub(crate) fn place(test: &str, spec: &str) -> Option<Box<dyn Place>> {
    match open(&spec.parse().unwrap(), &Settings::default()) {
        Ok(place) => Some(place),
        Err(e @ (Error::EngineUnavailable { .. } | Error::ImageMissing { .. })) => {
            println!("skipped: {test}: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// An image with busybox alone, made and removed with the engine's own client.
struct Busybox {
    name: String,
}

impl Busybox {
    fn import(test: &str) -> Option<Self> {
        let name = format!("culprit-test-{}:{test}", std::process::id());
        let script = format!(
            "set -e; docker version > /dev/null; d=$(mktemp -d); mkdir -p $d/bin $d/tmp; \
             cp $(command -v busybox) $d/bin/; for a in $($d/bin/busybox --list); do \
             [ $a = busybox ] || ln -s busybox $d/bin/$a; done; \
             tar -C $d -c . | docker import -c 'WORKDIR /tmp' - {name}; rm -r $d"
        );
        if docker(&script) {
            return Some(Self { name });
        }
        println!("skipped: {test}: no docker with its client, or no static busybox");
        None
    }
}

impl Drop for Busybox {
    fn drop(&mut self) {
        docker(&format!("docker rmi -f {}", self.name));
    }
}

/// A container that sleeps, made and removed with the engine's own client.
pub(crate) struct Sleeping {
    name: String,
    image: Busybox,
}

impl Sleeping {
    pub(crate) fn run(test: &str) -> Option<Self> {
        let image = Busybox::import(test)?;
        let name = format!("culprit-test-{}-{test}", std::process::id());
        let made =
            docker(&format!("docker run -d --pull=never --name {name} {} sleep 600", image.name));
        let container = Self { name, image };
        assert!(made);
        Some(container)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What lies in a folder of it.
    pub(crate) fn list(&self, folder: &str) -> String {
        let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
        output(&*host, &shell(&format!("docker exec {} ls {folder}", self.name))).0
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        docker(&format!("docker rm -f {}", self.name));
    }
}

/// The containers and images that a process of ours made, as the engine's own client shows them.
pub(crate) fn things_of(maker: culprit_place::Pid) -> Vec<String> {
    let script = "docker ps -a --format '{{.Names}}'; docker images --format '{{.Repository}}'";
    let command = Command { stdout: Stdio::Pipe, ..shell(script) };
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let (text, _) = output(&*host, &command);
    let mark = format!("_{maker}_");
    text.lines()
        .filter(|l| l.starts_with("culprit_") && l.contains(&mark))
        .map(str::to_owned)
        .collect()
}

/// Runs a script on the host.
fn docker(script: &str) -> bool {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let command = Command { stdout: Stdio::Null, stderr: Stdio::Null, ..shell(script) };
    start(&*host, &command).wait().unwrap().success()
}

/// How many containers run a command with this word in it.
fn containers_with(word: &str) -> usize {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let script = format!("docker ps -a --no-trunc --format '{{{{.Command}}}}' | grep -c {word}");
    output(&*host, &shell(&script)).0.trim().parse().unwrap()
}

#[test]
fn an_image_keeps_the_contract() {
    let name = "an_image_keeps_the_contract";
    let Some(image) = Busybox::import("contract") else { return };
    let Some(place) = place(name, &format!("docker:{}", image.name)) else { return };
    let facts = place.facts().unwrap();
    assert_eq!(facts.work_dir, Path::new("/tmp"), "the image's own work folder");
    check(&*place, &EXPECTED);
    place.remove().unwrap();
}

#[test]
fn the_hosts_programs_keep_the_contract() {
    let Some(place) = place("the_hosts_programs_keep_the_contract", "docker:@host") else { return };
    check(&*place, &EXPECTED);
    assert!(place.facts().unwrap().work.as_ref().is_none_or(FileSystem::is_overlay));
    let (text, exit) = output(&*place, &shell("touch /usr/x 2> /dev/null; echo $?; touch here"));
    assert_eq!((text.as_str(), exit), ("1\n", Exit::Code(0)), "programs are read-only");
    place.remove().unwrap();
}

#[test]
fn an_existing_container_keeps_the_contract_and_stays() {
    let name = "an_existing_container_keeps_the_contract_and_stays";
    let Some(made) = Sleeping::run("existing") else { return };
    let (container, image) = (made.name(), &made.image.name);
    let Some(place) = place(name, &format!("container:{container}")) else { return };
    check(&*place, &EXPECTED);
    place.remove().unwrap();
    let found = running_container(container, &Settings::default()).unwrap();
    assert_eq!((found.name.as_str(), found.engine), (container, EngineKind::Docker));
    assert_eq!(found.image, *image);
    assert!(found.cgroup().unwrap().members().unwrap().contains(&found.init));

    assert!(docker(&format!("docker kill {container}")));
    let error = running_container(container, &Settings::default()).unwrap_err();
    assert!(
        matches!(&error, Error::ContainerStopped { state, .. } if state == "exited"),
        "{error}"
    );
    assert!(docker(&format!("docker rm {container}")));
    let error = running_container(container, &Settings::default()).unwrap_err();
    assert!(matches!(error, Error::ContainerMissing { .. }), "{error}");
}

#[test]
fn options_reach_the_container() {
    let volume = tempfile::tempdir().unwrap();
    std::fs::write(volume.path().join("file"), "seen\n").unwrap();
    let path = volume.path().display();
    let spec =
        format!("docker:@host,volume={path}:/data:ro,net=none,cpus=0.5,memory=64m,workdir=/data");
    let Some(place) = place("options_reach_the_container", &spec) else { return };
    let script = "cat file; ls /sys/class/net; touch x 2> /dev/null || echo read-only; pwd";
    let (text, _) = output(&*place, &shell(script));
    assert_eq!(text, "seen\nlo\nread-only\n/data\n");
    let facts = place.facts().unwrap();
    assert_eq!(facts.cpu_quota_ns, Some((50_000_000, 100_000_000)));
    assert_eq!(facts.memory_limit_bytes, Some(64 << 20));
    assert!(!facts.work.unwrap().is_overlay(), "a volume lies on the host's own file system");
}

#[test]
fn what_cannot_start_says_why() {
    let Some(place) = place("what_cannot_start_says_why", "docker:@host") else { return };
    let begin =
        |command: &Command| place.hold(command, None).unwrap().start().map(drop).unwrap_err();
    let missing = begin(&Command::new(["/no/such/program"]));
    assert!(matches!(missing, Error::Start { stage: Stage::Execute, .. }), "{missing}");
    assert!(matches!(begin(&Command::new(["/etc/passwd"])), Error::Start { .. }));
    place.remove().unwrap();
}

#[test]
fn nothing_is_pulled_and_nothing_is_left() {
    let name = "nothing_is_pulled_and_nothing_is_left";
    let Some(host) = place(name, "docker:@host") else { return };
    let spec = "docker:culprit-test.invalid/no/such:image".parse().unwrap();
    let error = open(&spec, &Settings::default()).map(drop).unwrap_err();
    assert!(matches!(error, Error::ImageMissing { .. }), "{error}");
    assert!(error.hints()[0].contains("culprit_"), "it says which there are: {error:?}");

    let left = mark("left");
    let command = Command {
        stdout: Stdio::Pipe,
        stdin: Stdio::Null,
        ..Command::new(["sh", "-c", "echo; exec sleep 600", &left])
    };
    let mut running = start(&*host, &command);
    running.take_stdout().unwrap().read_exact(&mut [0]).unwrap();
    let held = host.hold(&command, None).unwrap();
    assert_eq!(containers_with(&left), 2);
    drop(held);
    assert_eq!(containers_with(&left), 1);
    let forgotten = host.hold(&command, None).unwrap();
    host.remove().unwrap();
    assert_eq!(containers_with(&left), 0);
    drop((running, forgotten));
}

#[test]
fn an_engine_that_is_not_there_is_said_so_with_the_way_out() {
    let settings = Settings {
        docker_sockets: vec!["/no/such.sock".into(), "/etc/passwd".into()],
        ..Settings::default()
    };
    let error = open(&"docker:@host".parse().unwrap(), &settings).map(drop).unwrap_err();
    assert!(matches!(error, Error::EngineUnavailable { .. }));
    assert!(error.is_refusal());
    assert!(error.to_string().contains("/no/such.sock"), "{error}");
    assert!(error.hints().iter().any(|h| h.contains("systemctl start docker")));
}
