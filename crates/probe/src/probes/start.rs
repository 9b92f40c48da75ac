//! `start`: what it takes to begin something: a child, a program, a place.
//!
//! The ladder of starts: a fork of a small process that ends at once, a program that ends at once, and
//! the place itself, from asking for it until the measuring program in it has answered. For the host
//! that is a process, for a sandbox a process in namespaces of its own, with an engine a new container,
//! and once more a command that the engine begins in the container that runs already (its `exec`).
//!
//! Where there is an engine, its runtime comes alone, too ([`Bundle`]): what of a container's start is not
//! the engine's. And where that is asked for, containers whose program is a file of the image are begun
//! twice, first with nothing of the image in the page cache.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use culprit_model::{Pid, Unit};
use culprit_place::{Bundle, Command, Group, LowerFile, PlaceSpec, Stdio, no_runtime, procfs};
use rustix::fs::{Advice, fadvise};

use crate::arm::{Arm, Role};
use crate::error::{Error, Result};
use crate::histogram::Histogram;
use crate::inside::{Child, Clock, Fault, Here, NOTHING, SUBCOMMAND, Task, fork_and_exit};
use crate::metric::{Metric, Part};
use crate::probe::{Asked, Probe, standard_arms};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Programs started a round.
    pub spawns: u32,
    /// Forks a round.
    pub forks: u32,
    /// Whether an engine's runtime is measured alone, too.
    pub runtime: bool,
    /// Whether containers are begun from a cold image, too.
    pub cold: bool,
}

impl Default for Start {
    fn default() -> Self {
        Self { spawns: 100, forks: 300, runtime: true, cold: false }
    }
}

const PLACE: Metric =
    Metric::lower("first_answer_ns", "place to first answer", Unit::Nanos, Part::Headline);
const EXEC: Metric =
    Metric::lower("exec_ns", "a program by the engine's exec", Unit::Nanos, Part::Shown);
const COLD: Metric =
    Metric::lower("cold_image_ns", "first answer, cold image", Unit::Nanos, Part::Shown);
const WARM: Metric =
    Metric::lower("warm_image_ns", "first answer, warm image", Unit::Nanos, Part::Shown);
const COLD_MAJOR: Metric =
    Metric::shown_fact("cold_image_major_faults", "waits for a disk, cold image", Unit::Count);
const WARM_MAJOR: Metric =
    Metric::fact("warm_image_major_faults", "waits for a disk, warm image", Unit::Count);
const SECOND: Metric =
    Metric::lower("second_answer_ns", "second answer", Unit::Nanos, Part::Detail);
const SPAWN: Metric = Metric::lower("spawn_ns.p50", "a program, p50", Unit::Nanos, Part::Headline);
const SPAWN_LOW: Metric =
    Metric::lower("spawn_ns.p10", "a program, p10", Unit::Nanos, Part::Detail);
const FORK: Metric = Metric::lower("fork_ns.p50", "a fork, p50", Unit::Nanos, Part::Headline);
const FORK_LOW: Metric = Metric::lower("fork_ns.p10", "a fork, p10", Unit::Nanos, Part::Detail);
const MAJOR: Metric = Metric::fact("spawn_major_faults", "waits for a disk", Unit::Count);

impl Probe for Start {
    fn id(&self) -> &'static str {
        "start"
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![PLACE, SPAWN, FORK, EXEC, SECOND, SPAWN_LOW, FORK_LOW, MAJOR];
        if self.cold {
            metrics.extend([COLD, WARM, COLD_MAJOR, WARM_MAJOR]);
        }
        metrics
    }

    fn workload(&self) -> Value {
        json!({
            "spawns": self.spawns,
            "forks": self.forks,
            "runtime": self.runtime,
            "cold": self.cold,
        })
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![
            "creation of the place until the first answer of the program in it".to_owned(),
            format!(
                "then {} starts of a program that ends at once, and {} forks: wall time of one",
                self.spawns, self.forks
            ),
            "in a container, one more such program by the engine's exec, from the request to its \
             end"
            .to_owned(),
        ];
        if self.cold {
            words.push(
                "one more container whose program is a file of its image, started twice: first \
                 after the image's files were dropped from the page cache, then again"
                    .to_owned(),
            );
        }
        words
    }

    /// Storage plays no part.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let at = vec![crate::Location::Layer(None)];
        let mut arms = standard_arms(&Asked { at, ..asked.clone() });
        let is_engine = |arm: &Arm| matches!(arm.spec, PlaceSpec::Engine { .. });
        let engine = arms.iter().position(|arm| is_engine(arm) && arm.role == Role::Candidate);
        if let Some(at) = engine.filter(|_| self.runtime) {
            arms.insert(at, runtime_arm());
        }
        Ok(arms)
    }

    fn prepare(&self, stand: &mut Stand<'_>) -> Result<Vec<String>> {
        if is_runtime(stand.arm()) {
            return prepare_runtime(stand).map(|fact| vec![fact]);
        }
        let Some(image) = self.image(stand) else { return Ok(Vec::new()) };
        if stand.workers().place(&image)?.image_folders()?.is_empty() {
            return Ok(vec![
                "no cold start: Culprit cannot access the files of the image, so it cannot drop \
                 them from the page cache"
                    .to_owned(),
            ]);
        }
        Ok(Vec::new())
    }

    fn measure(&self, stand: &mut Stand<'_>, _: ProbeRound) -> Result<Sample> {
        if is_runtime(stand.arm()) {
            return match by_runtime(stand, Some(self)) {
                Err(Error::Interrupted) => Err(Error::Interrupted),
                // Why was told before the first round, and spoils nothing else.
                told => Ok(told.ok().flatten().map_or_else(Sample::default, |(sample, _)| sample)),
            };
        }
        let image = self.image(stand);
        let images = image.map(|image| by_image(stand, &image)).transpose()?.unwrap_or_default();
        stand.end_worker();
        stand.renew_place()?;
        let begun = Clock::now();
        stand.ask(&Hello {})?;
        let first = Clock::now();
        stand.ask(&Hello {})?;
        let second = Clock::now();
        let program = stand.program();
        let told = stand.ask(&self.starts(program))?;
        let exec = exec(stand)?;
        Ok(started(images, told)
            .with(PLACE.id, (first - begun) as f64)
            .with(SECOND.id, (second - first) as f64)
            .maybe(EXEC.id, exec.map(|ns| ns as f64)))
    }
}

fn started(sample: Sample, told: Told) -> Sample {
    let part = |times: &Histogram, q: f64| times.quantile(q).map(|ns| ns as f64);
    sample
        .maybe(SPAWN.id, part(&told.spawns, 0.5))
        .maybe(SPAWN_LOW.id, part(&told.spawns, 0.1))
        .maybe(FORK.id, part(&told.forks, 0.5))
        .maybe(FORK_LOW.id, part(&told.forks, 0.1))
        .with(MAJOR.id, told.major_faults as f64)
        .with_latencies("spawn", told.spawns)
        .with_latencies("fork", told.forks)
}

impl Start {
    const fn starts(&self, program: PathBuf) -> Starts {
        Starts { program, spawns: self.spawns, forks: self.forks }
    }

    /// The arm's place with our program as a file of its image, where a cold start is asked for.
    fn image(&self, stand: &Stand<'_>) -> Option<PlaceSpec> {
        let PlaceSpec::Engine { engine, image, options } = &stand.arm().spec else { return None };
        let mut options = options.clone();
        let program = stand.host_program().to_path_buf();
        options.lower.push(LowerFile::copy(IN_IMAGE.into(), program));
        let spec = PlaceSpec::Engine { engine: *engine, image: image.clone(), options };
        self.cold.then_some(spec)
    }
}

/// What is special about the arm of the runtime alone.
const RUNTIME: &str = "runtime";

fn runtime_arm() -> Arm {
    Arm {
        label: "the runtime alone".to_owned(),
        spec: PlaceSpec::HOST,
        asked: PlaceSpec::HOST,
        dir: PathBuf::from("/"),
        host_dir: None,
        location: "layer",
        role: Role::Candidate,
        variant: Some(RUNTIME),
    }
}

fn is_runtime(arm: &Arm) -> bool {
    arm.variant == Some(RUNTIME)
}

/// Which runtime it is, or why there are no numbers.
fn prepare_runtime(stand: &mut Stand<'_>) -> Result<String> {
    if let Some(why) = no_runtime() {
        return Ok(format!("not measured: {why}"));
    }
    match by_runtime(stand, None) {
        Ok(Some((_, runtime))) => Ok(format!("created by `{}`", runtime.display())),
        Ok(None) => Ok("no container runtime is installed".to_owned()),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => Ok(format!("not measured: the runtime failed: {error}")),
    }
}

/// A container by the runtime alone, begun and ended: what that took, and which runtime it was.
fn by_runtime(stand: &mut Stand<'_>, then: Option<&Start>) -> Result<Option<(Sample, PathBuf)>> {
    if no_runtime().is_some() {
        return Ok(None);
    }
    let Some(bundle) = stand.workers().bundle()? else { return Ok(None) };
    let line = bundle.run();
    let line: Vec<&OsStr> = line.iter().map(OsString::as_os_str).collect();
    let reason = |error: Error| match (error, bundle.said()) {
        (Error::Worker { .. }, Some(what)) => Error::Asked { what, hint: None },
        (error, _) => error,
    };
    // Ends before the bundle goes.
    let begun = stand.begin(&PlaceSpec::HOST, &line, &Hello {}).map_err(reason)?;
    let (mut worker, (), ns) = begun;
    let mut sample = Sample::default().with(PLACE.id, ns as f64);
    if let Some(probe) = then {
        let before = Clock::now();
        stand.have(&mut worker, &Hello {})?;
        sample = sample.with(SECOND.id, (Clock::now() - before) as f64);
        let told = stand.have(&mut worker, &probe.starts(Bundle::PROGRAM.into()))?;
        sample = started(sample, told);
    }
    Ok(Some((sample, bundle.runtime().to_path_buf())))
}

/// Where the image has our program.
const IN_IMAGE: &str = "/culprit-start";

/// A container from the image, after its files were dropped from the page cache and again; nothing where
/// they cannot be reached.
fn by_image(stand: &mut Stand<'_>, image: &PlaceSpec) -> Result<Sample> {
    let folders = stand.workers().place(image)?.image_folders()?;
    if folders.is_empty() {
        return Ok(Sample::default());
    }
    for folder in &folders {
        let path = || folder.display().to_string();
        drop_cached(folder).map_err(|source| Error::File {
            doing: "drop from the page cache the files below",
            path: path(),
            source,
        })?;
    }
    let mut begin = || -> Result<(f64, f64)> {
        let line = [OsStr::new(IN_IMAGE), OsStr::new(SUBCOMMAND)];
        let (_ended, faults, ns) = stand.begin(image, &line, &Faults {})?;
        Ok((ns as f64, faults as f64))
    };
    let (cold, warm) = (begin()?, begin()?);
    Ok(Sample::default()
        .with(COLD.id, cold.0)
        .with(COLD_MAJOR.id, cold.1)
        .with(WARM.id, warm.0)
        .with(WARM_MAJOR.id, warm.1))
}

/// Has the page cache forget all files below a folder of this machine. What is not on the disk yet goes
/// there first, because it would stay; what a program maps just now stays, too.
fn drop_cached(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            drop_cached(&entry.path())?;
        } else if kind.is_file() {
            let file = std::fs::File::open(entry.path())?;
            file.sync_data()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// How often it is looked whether the user has lost patience.
const LOOK: Duration = Duration::from_millis(100);

/// What a program takes that ends at once and is begun by the engine in the arm's container, ns; none
/// where there is no container of ours, or the engine refuses. In somebody else's our worker itself is
/// begun that way, from a copy of our binary that is gone by now.
fn exec(stand: &mut Stand<'_>) -> Result<Option<u64>> {
    if !matches!(stand.arm().spec, PlaceSpec::Engine { .. }) {
        return Ok(None);
    }
    let Some(name) = stand.worker()?.pid().and_then(container_of) else { return Ok(None) };
    match ended(stand, &PlaceSpec::Container { name }) {
        Err(Error::Place(_)) => Ok(None),
        other => other.map(Some),
    }
}

fn ended(stand: &mut Stand<'_>, container: &PlaceSpec) -> Result<u64> {
    let command = Command {
        stdin: Stdio::Null,
        stdout: Stdio::Null,
        stderr: Stdio::Null,
        group: Group::Own,
        ..Command::new([stand.program().as_os_str(), NOTHING.as_ref()])
    };
    // Finding the container is not what is asked here.
    let place = stand.workers().open(container)?;
    let begun = Clock::now();
    let running = place.hold(&command, None)?.start()?;
    while running.wait_at_most(LOOK)?.is_none() {
        if stand.interrupted() {
            return Err(Error::Interrupted);
        }
    }
    Ok(Clock::now() - begun)
}

/// The container of its first process, by the engine's number, which is in the name of its cgroup.
fn container_of(pid: Pid) -> Option<String> {
    number_in(&std::fs::read_to_string(format!("/proc/{}/cgroup", pid.0)).ok()?)
}

/// The last number of 64 hexadecimal digits: containers may lie in one another.
fn number_in(cgroups: &str) -> Option<String> {
    let mut words = cgroups.lines().next()?.rsplit(|letter: char| !letter.is_ascii_hexdigit());
    words.find(|word| word.len() == 64).map(str::to_owned)
}

/// Answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {}

impl Task for Hello {
    const NAME: &'static str = "start-hello";
    type Output = ();

    fn run(self, _: &mut Here) -> std::result::Result<(), Fault> {
        Ok(())
    }
}

/// Answers with the page faults of this process that have waited for a disk.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Faults {}

impl Task for Faults {
    const NAME: &'static str = "start-faults";
    type Output = u64;

    fn run(self, _: &mut Here) -> std::result::Result<u64, Fault> {
        let stat = procfs::stat(Pid(std::process::id()));
        stat.map(|stat| stat.major_faults).map_err(|error| Fault::new(error.to_string()))
    }
}

/// Starts children in the place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Starts {
    program: PathBuf,
    spawns: u32,
    forks: u32,
}

/// What each took.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    spawns: Histogram,
    forks: Histogram,
    major_faults: u64,
}

impl Task for Starts {
    const NAME: &'static str = "start";
    type Output = Told;

    fn run(self, here: &mut Here) -> std::result::Result<Told, Fault> {
        let (mut spawns, mut forks) = (Histogram::default(), Histogram::default());
        let mut major_faults = 0;
        let failed = |error: std::io::Error| Fault::io("start", &self.program, &error);
        for _ in 0..self.spawns {
            if here.stopped() {
                break;
            }
            let begun = Clock::now();
            let child = Child::spawn(&self.program, &[OsStr::new(NOTHING)], None, None);
            let ended = child.and_then(Child::wait).map_err(failed)?;
            spawns.record(Clock::now() - begun);
            major_faults += ended.major_faults;
            if !ended.success {
                return Err(Fault::new(format!("`{}` failed", self.program.display())));
            }
        }
        for _ in 0..self.forks {
            let begun = Clock::now();
            fork_and_exit().map_err(|error| Fault::new(format!("cannot fork: {error}")))?;
            forks.record(Clock::now() - begun);
        }
        Ok(Told { spawns, forks, major_faults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_comes_with_its_runtime_and_a_place_without_one_does_not() {
        let arms = |places: &[&str]| -> Vec<String> {
            let places = places.iter().map(|text| text.parse().unwrap()).collect();
            let asked = Asked { places, at: Vec::new(), host_dir: "/".into(), control: false };
            let arms = Start::default().arms(&asked).unwrap();
            arms.into_iter().map(|arm| arm.label).collect()
        };
        assert_eq!(arms(&["host", "sandbox"]), ["host", "sandbox"]);
        let ladder = ["host", "sandbox", "the runtime alone", "docker:@host", "podman:x"];
        assert_eq!(arms(&["host", "sandbox", "docker:@host", "podman:x"]), ladder);
    }

    #[test]
    fn files_are_dropped_from_the_page_cache_in_all_folders() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        std::fs::create_dir(dir.path().join("below")).unwrap();
        std::fs::write(dir.path().join("below/file"), vec![1; 1 << 20]).unwrap();
        std::os::unix::fs::symlink("/nowhere", dir.path().join("link")).unwrap();
        drop_cached(dir.path()).unwrap();
        let before = crate::inside::bytes_read().unwrap();
        std::fs::read(dir.path().join("below/file")).unwrap();
        assert!(crate::inside::bytes_read().unwrap() >= before + (1 << 20), "from the disk");
    }

    #[test]
    fn a_container_is_known_by_its_cgroup() {
        let number = "0123456789abcdef".repeat(4);
        for line in [
            format!("12:devices:/docker/{number}"),
            format!("0::/culprit_1_2/{number}"),
            format!("0::/system.slice/docker-{number}.scope"),
            format!("0::/machine.slice/libpod-{number}.scope/container"),
            format!("0::/docker/{}/docker/{number}", "f".repeat(64)),
        ] {
            assert_eq!(number_in(&line), Some(number.clone()), "{line}");
        }
        assert_eq!(number_in("0::/user.slice/session-1.scope"), None);
    }
}
