//! Where a probe stands while it measures an arm: the arm's worker, the host's, the place itself.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use culprit_model::Pid;
use culprit_place::{
    Bundle, Cgroup, Counters, Place, PlaceSpec, Position, Settings, Volume, fresh_name, open,
};

use crate::arm::Arm;
use crate::error::{Error, Result};
use crate::inside::{Clock, SUBCOMMAND, Task};
use crate::worker::Worker;

/// Where a container finds our binary. Nothing else of the image is needed, or touched.
const PROGRAM: &str = "/.culprit/culprit";

/// How long files are removed after a session, ns.
const REMOVAL_NS: u64 = 10_000_000_000;

/// How a worker names itself whose file is gone.
const ITSELF: &str = "/proc/self/exe";

/// A round, as the work may want to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeRound {
    /// Counts from 0; rounds that warm up and are not counted come before.
    pub number: u32,
    /// The same for all arms of a round, so that their random choices are the same.
    pub seed: u64,
}

impl ProbeRound {
    /// A round that warms up.
    pub const WARM_UP: Self = Self { number: 0, seed: 0 };

    /// A round that counts; its seed is its own.
    #[must_use]
    pub fn counted(number: u32) -> Self {
        Self { number, seed: u64::from(number) + 1 }
    }

    /// Whether it only warms up.
    #[must_use]
    pub const fn is_warm_up(&self) -> bool {
        self.seed == 0
    }
}

/// Places and workers of a session: opened when they are needed, ended together.
#[derive(Debug)]
pub struct Workers {
    program: PathBuf,
    settings: Settings,
    places: Vec<(PlaceSpec, Box<dyn Place>)>,
    workers: Vec<(Key, Worker)>,
    /// Copies of our binary in containers of others, for the worker that begins next.
    copies: Vec<(PlaceSpec, PathBuf)>,
    /// Folders of arms as the host names them, which workers remove as they end.
    folders: Vec<PathBuf>,
    /// CPU time of workers that have ended.
    past_cpu_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    spec: PlaceSpec,
    in_own_cgroup: bool,
}

impl Workers {
    /// None is started yet. `program` is our own binary on the host.
    #[must_use]
    pub fn new(program: PathBuf, settings: Settings) -> Self {
        Self {
            program,
            settings,
            places: Vec::new(),
            workers: Vec::new(),
            copies: Vec::new(),
            folders: Vec::new(),
            past_cpu_ns: 0,
        }
    }

    /// The place, made ready; the same for the same specification.
    ///
    /// # Errors
    /// When it cannot be had here.
    pub fn place(&mut self, spec: &PlaceSpec) -> Result<&dyn Place> {
        let at = match self.places.iter().position(|(known, _)| known == spec) {
            Some(at) => at,
            None => {
                let place = open(&with_program(spec, &self.program), &self.settings)?;
                self.places.push((spec.clone(), place));
                self.places.len() - 1
            }
        };
        Ok(&*self.places[at].1)
    }

    /// One more place, that is the caller's alone; our binary is not brought there.
    ///
    /// # Errors
    /// When it cannot be had here.
    pub fn open(&self, spec: &PlaceSpec) -> Result<Box<dyn Place>> {
        Ok(open(spec, &self.settings)?)
    }

    /// A container with our binary in it that a runtime makes without an engine; none where there is no
    /// runtime.
    ///
    /// # Errors
    /// When its folder cannot be made.
    pub fn bundle(&self) -> Result<Option<Bundle>> {
        Ok(Bundle::make(&self.program, SUBCOMMAND, &self.settings)?)
    }

    /// Our binary on the host.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Our binary as a worker in this place names it.
    #[must_use]
    pub fn program_in(&self, spec: &PlaceSpec) -> PathBuf {
        match spec {
            PlaceSpec::Engine { .. } => PROGRAM.into(),
            PlaceSpec::Container { .. } => ITSELF.into(),
            _ => self.program.clone(),
        }
    }

    /// CPU time of all tasks of all workers so far.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.past_cpu_ns + self.workers.iter().map(|(_, worker)| worker.cpu_ns()).sum::<u64>()
    }

    /// Ends all workers and removes all places and files; what could not be removed. Files are removed
    /// for at most ten seconds: a slow disk must not keep the user waiting without end.
    pub fn remove(mut self) -> Vec<(PlaceSpec, Error)> {
        // All clean up at once.
        self.workers.iter_mut().for_each(|(_, worker)| worker.close());
        self.workers.clear();
        let removed = self.places.into_iter().map(|(spec, place)| (spec, place.remove()));
        let mut left: Vec<(PlaceSpec, Error)> =
            removed.filter_map(|(spec, result)| Some((spec, result.err()?.into()))).collect();
        let until = Clock::now() + REMOVAL_NS;
        left.extend(self.folders.iter().filter_map(|folder| left_of(folder, until)));
        left
    }

    /// Once no worker is left, sees to it that this folder of the host is gone.
    pub(crate) fn remove_later(&mut self, folder: PathBuf) {
        self.folders.push(folder);
    }

    fn worker(&mut self, spec: &PlaceSpec, in_own_cgroup: bool) -> Result<&mut Worker> {
        let key = Key { spec: spec.clone(), in_own_cgroup };
        let at = match self.workers.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                let worker = self.start(&key)?;
                self.workers.push((key, worker));
                self.workers.len() - 1
            }
        };
        Ok(&mut self.workers[at].1)
    }

    fn start(&mut self, key: &Key) -> Result<Worker> {
        self.copy(&key.spec)?;
        let copy = self.copies.iter().position(|(spec, _)| *spec == key.spec);
        let program = match copy {
            Some(at) => self.copies.swap_remove(at).1,
            None => self.program_in(&key.spec),
        };
        let place = self.place(&key.spec)?;
        // Without the right to make one, counters are missing and times still hold.
        let cgroup: Option<Cgroup> = key.in_own_cgroup.then(|| own_cgroup(place).ok()).flatten();
        Worker::start(place, &program, cgroup)
    }

    /// Has a copy of our binary ready in a container of somebody else's: each worker removes its own.
    fn copy(&mut self, spec: &PlaceSpec) -> Result<()> {
        let is_there = self.copies.iter().any(|(known, _)| known == spec);
        if matches!(spec, PlaceSpec::Container { .. }) && !is_there {
            let program = self.program.clone();
            let copy = self.place(spec)?.put_program(&program)?;
            self.copies.push((spec.clone(), copy));
        }
        Ok(())
    }

    /// Ends every worker in the place and removes it, so that it is made anew when it is next asked
    /// for.
    fn renew(&mut self, spec: &PlaceSpec) -> Result<()> {
        for in_own_cgroup in [false, true] {
            self.end(spec, in_own_cgroup);
        }
        match self.places.iter().position(|(known, _)| known == spec) {
            Some(at) => Ok(self.places.swap_remove(at).1.remove()?),
            None => Ok(()),
        }
    }

    fn end(&mut self, spec: &PlaceSpec, in_own_cgroup: bool) {
        let key = Key { spec: spec.clone(), in_own_cgroup };
        if let Some(at) = self.workers.iter().position(|(known, _)| *known == key) {
            let (_, worker) = self.workers.swap_remove(at);
            self.past_cpu_ns += worker.cpu_ns();
        }
    }
}

/// A cgroup for a worker. The host's is to weigh as a container's does, also where that takes a folder in
/// a tree of its own.
fn own_cgroup(place: &dyn Place) -> Result<Cgroup> {
    let counting = match place.spec() {
        PlaceSpec::Host { .. } => Cgroup::create_counting(Position::BelowOurs).ok(),
        _ => None,
    };
    Ok(counting.map_or_else(|| place.make_cgroup(), Ok)?)
}

/// Removes what a worker had no time to remove. After the time is over it goes on only for as long as
/// this program lives.
fn left_of(folder: &Path, until: u64) -> Option<(PlaceSpec, Error)> {
    let (done, removed) = std::sync::mpsc::channel();
    let of_thread = folder.to_path_buf();
    let remover = move || drop(done.send(std::fs::remove_dir_all(of_thread)));
    let started = std::thread::Builder::new().name("culprit-remove".to_owned()).spawn(remover);
    let path = || folder.display().to_string();
    let failed = |source| Some(Error::File { doing: "remove", path: path(), source });
    let left = Duration::from_nanos(until.saturating_sub(Clock::now()));
    let error = match started.map(|_| removed.recv_timeout(left)) {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(error))) if error.kind() == std::io::ErrorKind::NotFound => None,
        // `/proc` and its like refuse with words of their own what never was there.
        Ok(Ok(Err(_))) if !folder.exists() => None,
        Ok(Ok(Err(error))) | Err(error) => failed(error),
        Ok(Err(_)) => Some(Error::NotRemoved { folder: folder.to_path_buf() }),
    };
    Some((PlaceSpec::HOST, error?))
}

/// The same place with our binary in it, where it would not be there.
fn with_program(spec: &PlaceSpec, program: &Path) -> PlaceSpec {
    match spec {
        PlaceSpec::Engine { engine, image, options } => {
            let mut options = options.clone();
            options.volumes.push(Volume {
                source: program.to_path_buf(),
                target: PROGRAM.into(),
                read_only: true,
            });
            PlaceSpec::Engine { engine: *engine, image: image.clone(), options }
        }
        other => other.clone(),
    }
}

/// Where a probe stands while it measures an arm.
pub struct Stand<'a> {
    arm: &'a Arm,
    arms: &'a [Arm],
    dir: PathBuf,
    host_dir: Option<PathBuf>,
    workers: &'a mut Workers,
    interrupted: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Stand<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stand")
            .field("arm", self.arm)
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl<'a> Stand<'a> {
    /// The stand of one of the arms; `name` is what its own folder is called.
    pub(crate) fn new(
        (arms, arm): (&'a [Arm], usize),
        name: &str,
        workers: &'a mut Workers,
        interrupted: &'a dyn Fn() -> bool,
    ) -> Self {
        let arm = &arms[arm];
        let host_dir = arm.host_dir.as_ref().map(|dir| dir.join(name));
        Self { dir: arm.dir.join(name), host_dir, arm, arms, workers, interrupted }
    }

    /// What is measured.
    #[must_use]
    pub const fn arm(&self) -> &Arm {
        self.arm
    }

    /// How many arms, this one included, have their own folders in the same folder of the host.
    #[must_use]
    pub fn arms_in_folder(&self) -> u64 {
        let same = |other: &&Arm| other.host_dir.is_some() && other.host_dir == self.arm.host_dir;
        (self.arms.iter().filter(same).count() as u64).max(1)
    }

    /// The folder that is this arm's alone, as its place names it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The same folder as the host names it, where it has one.
    #[must_use]
    pub fn host_dir(&self) -> Option<&Path> {
        self.host_dir.as_deref()
    }

    /// Has a task done by the arm's worker.
    ///
    /// # Errors
    /// When the place or the task fails.
    pub fn ask<T: Task>(&mut self, task: &T) -> Result<T::Output> {
        let (spec, own) = (&self.arm.spec, self.arm.in_own_cgroup());
        self.workers.worker(spec, own)?.ask(task, &self.dir, self.interrupted)
    }

    /// Has a task done by a worker on the host, outside of any cgroup of ours; for the other end of
    /// what an arm does. `dir` is the folder that the task may make and work in.
    ///
    /// # Errors
    /// As [`Stand::ask`].
    pub fn ask_host<T: Task>(&mut self, task: &T, dir: &Path) -> Result<T::Output> {
        self.workers.worker(&PlaceSpec::HOST, false)?.ask(task, dir, self.interrupted)
    }

    /// Begins one more worker in a place by this command line, and has it do a task: the worker, what the
    /// task told, and the time from asking for the worker until then, ns.
    ///
    /// # Errors
    /// As [`Stand::ask`].
    pub fn begin<T: Task>(
        &mut self,
        spec: &PlaceSpec,
        line: &[&OsStr],
        task: &T,
    ) -> Result<(Worker, T::Output, u64)> {
        let place = self.workers.place(spec)?;
        let begun = Clock::now();
        let mut worker = Worker::run(place, line, None)?;
        let told = worker.ask(task, &self.dir, self.interrupted)?;
        Ok((worker, told, Clock::now() - begun))
    }

    /// Has a worker of the caller's own do a task.
    ///
    /// # Errors
    /// As [`Stand::ask`].
    pub fn have<T: Task>(&self, worker: &mut Worker, task: &T) -> Result<T::Output> {
        worker.ask(task, &self.dir, self.interrupted)
    }

    /// Our binary on the host.
    #[must_use]
    pub fn host_program(&self) -> &Path {
        self.workers.program()
    }

    /// The process of the worker that [`Stand::ask_host`] asks.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn host_pid(&mut self) -> Result<Option<Pid>> {
        Ok(self.workers.worker(&PlaceSpec::HOST, false)?.pid())
    }

    /// The counters of the arm's cgroup; all empty where it has none of its own.
    ///
    /// # Errors
    /// When the worker cannot be started.
    pub fn counters(&mut self) -> Result<Counters> {
        let own = self.arm.in_own_cgroup();
        Ok(self.workers.worker(&self.arm.spec, own)?.counters())
    }

    /// The arm's worker.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn worker(&mut self) -> Result<&mut Worker> {
        self.workers.worker(&self.arm.spec, self.arm.in_own_cgroup())
    }

    /// Ends the arm's worker, so that the next task finds a new one: in an engine's place, a new
    /// container.
    pub fn end_worker(&mut self) {
        self.workers.end(&self.arm.spec, self.arm.in_own_cgroup());
    }

    /// Has the next task find a place in which nothing was written yet: a new container, a sandbox
    /// made anew. The host stays what it is, and so does a container of somebody else's, but for the
    /// copy of our binary that the next worker needs.
    ///
    /// # Errors
    /// When the old sandbox cannot be removed, or the copy not be made.
    pub fn renew_place(&mut self) -> Result<()> {
        match self.arm.spec {
            PlaceSpec::Sandbox { .. } => self.workers.renew(&self.arm.spec),
            PlaceSpec::Engine { .. } => {
                self.end_worker();
                Ok(())
            }
            PlaceSpec::Container { .. } => self.workers.copy(&self.arm.spec),
            PlaceSpec::Host { .. } => Ok(()),
        }
    }

    /// The place.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn place(&mut self) -> Result<&dyn Place> {
        self.workers.place(&self.arm.spec)
    }

    /// Our binary as the arm's worker names it.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.workers.program_in(&self.arm.spec)
    }

    /// All places and workers, for probes that need more than their arm's.
    pub const fn workers(&mut self) -> &mut Workers {
        self.workers
    }

    /// Whether the user has asked to end.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        (self.interrupted)()
    }
}

/// A name for the folder of an arm.
pub(crate) fn folder_name() -> Result<String> {
    Ok(fresh_name()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_ends_in_time_and_says_what_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = folder.path().join("made");
        std::fs::create_dir_all(made.join("a/b")).expect("folders");
        std::fs::write(made.join("a/b/c"), "x").expect("a file");
        assert!(left_of(&made, Clock::now() + REMOVAL_NS).is_none());
        assert!(!made.exists() && folder.path().exists());
        assert!(left_of(&made, Clock::now() + REMOVAL_NS).is_none(), "what is not there");
        let error = Error::NotRemoved { folder: "/srv/my data".into() };
        assert!(error.to_string().contains("the rest stays"), "{error}");
        assert_eq!(error.hints(), ["remove it: `rm -rf -- '/srv/my data'`"]);
    }
}
