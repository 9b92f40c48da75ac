//! `start`: what it takes to begin something: a child, a program, a place.
//!
//! The ladder of starts: a fork of a small process that ends at once, a program that ends at once, and
//! the place itself, from asking for it until the measuring program in it has answered. For the host
//! that is a process, for a sandbox a process in namespaces of its own, with an engine a new container,
//! and once more a command that the engine begins in the container that runs already (its `exec`).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use culprit_model::Pid;
use culprit_place::{Command, Group, PlaceSpec, Stdio};

use crate::arm::Arm;
use crate::error::{Error, Result};
use crate::histogram::Histogram;
use crate::inside::{Child, Clock, Fault, Here, NOTHING, Task, fork_and_exit};
use crate::metric::{Metric, Part, Unit};
use crate::probe::{Asked, Probe, standard_arms};
use crate::sample::Sample;
use crate::stand::{Round, Stand};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Programs started a round.
    pub spawns: u32,
    /// Forks a round.
    pub forks: u32,
}

impl Default for Start {
    fn default() -> Self {
        Self { spawns: 100, forks: 300 }
    }
}

const PLACE: Metric =
    Metric::lower("first_answer_ns", "place to first answer", Unit::Nanos, Part::Headline);
const EXEC: Metric =
    Metric::lower("exec_ns", "a program by the engine's exec", Unit::Nanos, Part::Shown);
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
        vec![PLACE, SPAWN, FORK, EXEC, SECOND, SPAWN_LOW, FORK_LOW, MAJOR]
    }

    fn workload(&self) -> Value {
        json!({"spawns": self.spawns, "forks": self.forks})
    }

    fn words(&self) -> Vec<String> {
        vec![
            format!(
                "the place made anew, until the program in it has answered; then {} starts of a program that ends at once, and {} forks: wall time of one",
                self.spawns, self.forks
            ),
            "in a container one more such program by the engine's exec, from asking until it has ended".to_owned(),
        ]
    }

    /// Storage plays no part.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let at = vec![crate::Location::Layer(None)];
        Ok(standard_arms(&Asked { at, ..asked.clone() }))
    }

    fn measure(&self, stand: &mut Stand<'_>, _: Round) -> Result<Sample> {
        stand.end_worker();
        stand.renew_place()?;
        let begun = Clock::now();
        stand.ask(&Hello {})?;
        let first = Clock::now();
        stand.ask(&Hello {})?;
        let second = Clock::now();
        let program = stand.program();
        let told = stand.ask(&Starts { program, spawns: self.spawns, forks: self.forks })?;
        let exec = exec(stand)?;
        let part = |times: &Histogram, q: f64| times.quantile(q).map(|ns| ns as f64);
        Ok(Sample::default()
            .with(PLACE.id, (first - begun) as f64)
            .with(SECOND.id, (second - first) as f64)
            .maybe(SPAWN.id, part(&told.spawns, 0.5))
            .maybe(SPAWN_LOW.id, part(&told.spawns, 0.1))
            .maybe(FORK.id, part(&told.forks, 0.5))
            .maybe(FORK_LOW.id, part(&told.forks, 0.1))
            .maybe(EXEC.id, exec.map(|ns| ns as f64))
            .with(MAJOR.id, told.major_faults as f64)
            .with_latencies("spawn", told.spawns)
            .with_latencies("fork", told.forks))
    }
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
                return Err(Fault::new(format!("`{}` did not end well", self.program.display())));
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
