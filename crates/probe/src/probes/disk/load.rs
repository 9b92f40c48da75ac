//! One round in the place: the file, the threads, the measured time.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{self, Buffer};
use super::offsets::Requests;
use super::spec::{Engine, Spec};
use super::window::{Times, Window};
use super::{mapped, psync, uring};
use crate::histogram::Histogram;
use crate::inside::{Clock, Fault, Here, Task, Usage};
use culprit_engine::stats::{Random, median};

/// What the file is called in an arm's folder.
pub(super) const FILE: &str = "file";
/// What threads get to be there before load begins.
const AHEAD_NS: u64 = 5_000_000;

/// Writes the arm's file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Write {
    pub(super) spec: Spec,
    /// How many arms will have such a file on the same storage; those that have theirs do not count.
    pub(super) files: u64,
}

/// Load for a time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(super) spec: Spec,
    /// Another arm's file; by default the arm's own.
    pub(super) file: Option<PathBuf>,
    /// Whether it is written anew for this round, and removed after it.
    pub(super) write: bool,
    pub(super) round: u64,
}

/// What was seen in the measured time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(super) measured_ns: u64,
    pub(super) reads: Histogram,
    pub(super) writes: Histogram,
    pub(super) used: Usage,
    /// CPU time of the process, with what the kernel did for it in threads of its own.
    pub(super) cpu_ns: f64,
    /// Mean number of requests that the kernel had not answered when a submission returned.
    pub(super) pending: Option<f64>,
}

impl Task for Write {
    const NAME: &'static str = "disk-write";
    type Output = ();

    fn run(self, here: &mut Here) -> Result<(), Fault> {
        file::check_space(here.dir()?, &self.spec, self.files)?;
        file::write(&here.dir()?.join(FILE), &self.spec)
    }
}

impl Task for Load {
    const NAME: &'static str = "disk";
    type Output = Told;

    fn run(self, here: &mut Here) -> Result<Told, Fault> {
        self.spec.check()?;
        let path = match &self.file {
            Some(path) => path.clone(),
            None => here.dir()?.join(FILE),
        };
        if self.write {
            file::check_space(here.dir()?, &self.spec, 1)?;
            file::write(&path, &self.spec)?;
        }
        let told = self.run_threads(&path);
        if self.write {
            std::fs::remove_file(&path).map_err(|error| Fault::io("remove", &path, &error))?;
        }
        told
    }
}

impl Load {
    fn run_threads(&self, path: &Path) -> Result<Told, Fault> {
        let spec = &self.spec;
        let file = file::open(path, spec)?;
        let mut random = Random::new(spec.seed ^ self.round);
        let buffers: Vec<Buffer> = (0..spec.threads)
            .map(|_| Buffer::new(spec.block * u64::from(spec.depth), &mut random))
            .collect();
        let times = Times::of(spec, Clock::now() + AHEAD_NS);
        let load = match spec.engine {
            Engine::IoUring => uring::load,
            Engine::Psync => psync::load,
            Engine::Mmap => mapped::load,
        };
        let windows = std::thread::scope(|scope| {
            let file = &file;
            let threads: Vec<_> = (0..spec.threads)
                .zip(buffers)
                .map(|(thread, buffer)| {
                    let requests = Requests::new(spec, thread, self.round);
                    scope.spawn(move || {
                        Clock::sleep_until(times.start);
                        load(file, spec, requests, buffer, times)
                    })
                })
                .collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
            });
            joined.collect::<Vec<_>>()
        });
        let windows: Vec<Window> = windows
            .into_iter()
            .collect::<std::io::Result<_>>()
            .map_err(|error| fault(spec, path, &error))?;
        if spec.write_share > 0.0 && !self.write {
            // What this round has dirtied is not to be written in another arm's time.
            file.sync_data().map_err(|error| Fault::io("sync", path, &error))?;
        }
        Ok(sum(&windows, times))
    }
}

fn sum(windows: &[Window], times: Times) -> Told {
    let (mut reads, mut writes) = (Histogram::default(), Histogram::default());
    let (mut used, mut pending, mut submissions) = (Usage::default(), 0, 0);
    for seen in windows.iter().map(|window| &window.seen) {
        reads.add(&seen.reads);
        writes.add(&seen.writes);
        used = used.and(seen.used);
        pending += seen.pending;
        submissions += seen.submissions;
    }
    // Each thread has seen the same process; the middle one neither began nor ended late.
    let of_process: Vec<f64> =
        windows.iter().map(|window| window.seen.process_cpu_ns as f64).collect();
    let cpu_ns = median(&of_process).unwrap_or(0.0);
    let pending = (submissions > 0).then(|| pending as f64 / submissions as f64);
    Told { measured_ns: times.measured_ns(), reads, writes, used, cpu_ns, pending }
}

fn fault(spec: &Spec, path: &Path, error: &std::io::Error) -> Fault {
    let refused = matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EACCES));
    if spec.engine == Engine::IoUring && refused {
        return Fault::new(format!("io_uring is not allowed in this place: {error}")).hint(
            "a system call filter or `kernel.io_uring_disabled` forbids it; use `--engine psync` \
             with more threads",
        );
    }
    Fault::io("read and write", path, error)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::spec::{Access, Cache};
    use super::*;

    fn told(spec: Spec) -> Told {
        let spec = Spec {
            size: 4 << 20,
            warmup: Duration::from_millis(20),
            duration: Duration::from_millis(150),
            cooldown: Duration::from_millis(5),
            ..spec
        };
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut here = Here::at(&dir.path().join("ours"));
        let told = Load { spec, file: None, write: true, round: 1 }.run(&mut here).unwrap();
        assert_eq!(std::fs::read_dir(dir.path().join("ours")).unwrap().count(), 0);
        told
    }

    #[test]
    fn every_engine_reads_and_writes() {
        for engine in Engine::ALL {
            let depth = if engine == Engine::IoUring { 8 } else { 1 };
            for cache in Cache::ALL {
                if engine == Engine::Mmap && cache.is_direct() {
                    continue;
                }
                let told = told(Spec {
                    engine,
                    depth,
                    cache,
                    threads: 2,
                    write_share: 0.5,
                    access: Access::Mixed { random: 0.5 },
                    ..Spec::default()
                });
                let what = format!("{engine:?} {cache:?}");
                assert!(told.reads.count() > 0 && told.writes.count() > 0, "{what}: {told:?}");
                assert!(told.cpu_ns > 0.0, "{what}");
            }
        }
    }

    /// Requests of 2 threads with 400 a second each: 140 are planned in 0.175 s, with the times before
    /// and after the measured one. A thread that is late makes those of the time before in the measured
    /// time.
    fn at_a_rate(engine: Engine) -> u64 {
        told(Spec { engine, rate: Some(400), threads: 2, ..Spec::default() }).reads.count()
    }

    #[test]
    fn no_engine_makes_more_requests_than_are_planned() {
        for engine in Engine::ALL {
            let count = at_a_rate(engine);
            assert!((1..=140).contains(&count), "{engine:?} {count}");
        }
    }

    #[test]
    #[ignore = "statistical: make accuracy"]
    fn a_rate_is_kept_by_every_engine() {
        for engine in Engine::ALL {
            // Some may be late.
            let count = at_a_rate(engine);
            assert!(count >= 60, "{engine:?} {count}");
        }
    }

    /// How many requests are in flight on average where sixteen may be.
    fn in_flight() -> f64 {
        let deep =
            Spec { engine: Engine::IoUring, depth: 16, cache: Cache::Direct, ..Spec::default() };
        told(deep).pending.unwrap()
    }

    #[test]
    fn no_more_requests_are_in_flight_than_may_be() {
        let pending = in_flight();
        assert!(pending > 0.0 && pending <= 16.0, "{pending}");
    }

    #[test]
    #[ignore = "statistical: make accuracy"]
    fn requests_without_the_page_cache_are_in_flight_together() {
        assert!(in_flight() > 2.0);
    }

    #[test]
    fn what_cannot_be_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec { size: 1 << 20, ..Spec::default() };
        let load = Load { spec, file: Some(dir.path().join("none")), write: false, round: 1 };
        let fault = load.run(&mut Here::at(dir.path())).unwrap_err();
        assert!(fault.what.contains("open") && fault.what.contains("none"), "{fault:?}");
    }
}
