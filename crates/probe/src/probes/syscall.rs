//! `syscall`: what entering the kernel costs, and what a filter on system calls adds.
//!
//! Batches of one call each, by thread CPU time: `getppid` (a filter's bitmap allows it at once),
//! `personality(0xffffffff)` (filters look at its argument, so their whole program runs),
//! `clone3(NULL, 0)` (refused, by the kernel or before it by a filter), `fcntl(F_GETFD)`, `stat` of
//! a file in memory below an open folder (no other file system takes part), and `clock_gettime`
//! through the vDSO, which does not enter the kernel: it must come out equal, or the machine was not
//! fit to measure. Two threads that send a byte to and fro add what a switch between them costs.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::{fcntl_getfd, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arm::{Arm, Role};
use crate::error::Result;
use crate::inside::{Clock, Fault, Here, Task, stay_on, this_cpu, thread_cpu_ns};
use crate::metric::{Metric, Part};
use crate::probe::{Asked, Probe, standard_arms};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};
use culprit_engine::stats::median;
use culprit_model::Unit;
use culprit_place::{Filter, PlaceSpec};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Syscall {
    /// Calls of each kind in a batch.
    pub calls: u32,
    /// Batches a round; a round's value is their median.
    pub batches: u32,
}

impl Default for Syscall {
    fn default() -> Self {
        Self { calls: 30_000, batches: 9 }
    }
}

const GETPPID: Metric = Metric::lower("getppid_ns", "getppid", Unit::Nanos, Part::Headline);
const PERSONALITY: Metric =
    Metric::lower("personality_ns", "personality", Unit::Nanos, Part::Headline);
/// Where a filter refuses it before the kernel does, it ends in another error.
const CLONE3: Metric = Metric::lower("clone3_ns", "clone3 (refused)", Unit::Nanos, Part::Headline);
const FCNTL: Metric = Metric::lower("fcntl_ns", "fcntl", Unit::Nanos, Part::Shown);
const STAT: Metric = Metric::lower("tmpfs_stat_ns", "stat in memory", Unit::Nanos, Part::Shown);
const PIPE: Metric =
    Metric::lower("pipe_trip_cpu_ns", "pipe round trip, CPU", Unit::Nanos, Part::Shown);
const VDSO: Metric = Metric::lower("vdso_clock_ns", "vDSO clock", Unit::Nanos, Part::Shown);
const FILTERS: Metric = Metric::fact("seccomp_filters", "filters", Unit::Count);

impl Probe for Syscall {
    fn id(&self) -> &'static str {
        "syscall"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![GETPPID, PERSONALITY, CLONE3, FCNTL, STAT, PIPE, VDSO, FILTERS]
    }

    fn workload(&self) -> Value {
        let trips = trips(self.calls);
        json!({"calls": self.calls, "batches": self.batches, "pipe_trips": trips})
    }

    fn words(&self) -> Vec<String> {
        vec![
            format!(
                "in each round, {} batches of {} calls of getppid, personality, clone3 (refused), \
                 fcntl, stat of a file in memory and clock_gettime of the vDSO: CPU time of a \
                 call, the median of the batches",
                self.batches, self.calls
            ),
            format!(
                "the same number of batches of {} round trips of one byte through pipes to \
                 another thread on the same CPU: CPU time of both threads",
                trips(self.calls)
            ),
        ]
    }

    /// The kind of file system plays no part, the filter does: each engine's place comes once as it
    /// is and once without its filter.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let mut arms: Vec<Arm> = Vec::new();
        for arm in standard_arms(&Asked { at: vec![crate::Location::Layer(None)], ..asked.clone() })
        {
            let without = without_filter(&arm);
            arms.push(arm);
            arms.extend(without);
        }
        Ok(arms)
    }

    fn measure(&self, stand: &mut Stand<'_>, _: ProbeRound) -> Result<Sample> {
        let told = stand.ask(&Batches { calls: self.calls, batches: self.batches })?;
        Ok(Sample::default()
            .with(GETPPID.id, told.getppid_ns)
            .with(PERSONALITY.id, told.personality_ns)
            .with(CLONE3.id, told.clone3_ns)
            .with(FCNTL.id, told.fcntl_ns)
            .maybe(STAT.id, told.stat_ns)
            .with(PIPE.id, told.pipe_ns)
            .with(VDSO.id, told.vdso_ns)
            .maybe(FILTERS.id, told.filters))
    }
}

fn without_filter(arm: &Arm) -> Option<Arm> {
    let PlaceSpec::Engine { engine, image, options } = &arm.spec else { return None };
    if options.seccomp.is_some() || arm.role != Role::Candidate {
        return None;
    }
    let mut options = options.clone();
    options.seccomp = Some(Filter::Off);
    let spec = PlaceSpec::Engine { engine: *engine, image: image.clone(), options };
    Some(Arm {
        label: format!("{} without filter", arm.label),
        spec,
        variant: Some("seccomp-off"),
        ..arm.clone()
    })
}

/// One round in the place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Batches {
    calls: u32,
    batches: u32,
}

/// What one round told; times are CPU time of one call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    getppid_ns: f64,
    personality_ns: f64,
    clone3_ns: f64,
    fcntl_ns: f64,
    /// None where there is no memory file system that may be written to.
    stat_ns: Option<f64>,
    /// There and back, both threads.
    pipe_ns: f64,
    vdso_ns: f64,
    /// Filters in force (`Seccomp_filters` of `/proc/self/status`, Linux 5.9).
    filters: Option<f64>,
}

impl Task for Batches {
    const NAME: &'static str = "syscall";
    type Output = Told;

    fn run(self, here: &mut Here) -> std::result::Result<Told, Fault> {
        let input = std::io::stdin();
        let in_memory = InMemory::make();
        Ok(Told {
            getppid_ns: self.each(here, getppid),
            personality_ns: self.each(here, personality),
            clone3_ns: self.each(here, clone3),
            fcntl_ns: self.each(here, || {
                std::hint::black_box(fcntl_getfd(&input)).ok();
            }),
            stat_ns: in_memory.map(|file| self.each(here, || file.stat())),
            pipe_ns: self.pipe(here)?,
            vdso_ns: self.each(here, vdso),
            filters: filters(),
        })
    }
}

impl Batches {
    /// CPU time of one call, the median of the batches.
    fn each(&self, here: &Here, call: impl Fn()) -> f64 {
        let all: Vec<f64> = (0..self.batches)
            .take_while(|_| !here.stopped())
            .map(|_| {
                let begun = thread_cpu_ns();
                (0..self.calls).for_each(|_| call());
                (thread_cpu_ns() - begun) as f64 / f64::from(self.calls)
            })
            .collect();
        median(&all).unwrap_or(0.0)
    }

    /// CPU time of one byte to another thread and back, the median of the batches.
    fn pipe(&self, here: &Here) -> std::result::Result<f64, Fault> {
        let trips = trips(self.calls);
        let all: Vec<f64> = (0..self.batches)
            .take_while(|_| !here.stopped())
            .map(|_| Ok(to_and_fro(trips)? as f64 / f64::from(trips)))
            .collect::<std::io::Result<_>>()
            .map_err(|error| Fault::new(format!("cannot send a byte through a pipe: {error}")))?;
        Ok(median(&all).unwrap_or(0.0))
    }
}

/// One trip takes about as long as so many calls.
const CALLS_A_TRIP: u32 = 60;

fn trips(calls: u32) -> u32 {
    (calls / CALLS_A_TRIP).max(1)
}

/// CPU time of two threads that send a byte to each other so many times.
fn to_and_fro(trips: u32) -> std::io::Result<u64> {
    let (there, to_there) = pipe_with(PipeFlags::CLOEXEC)?;
    let (back, to_back) = pipe_with(PipeFlags::CLOEXEC)?;
    // On one CPU each byte is one switch from thread to thread. On two it would be a switch or a
    // wakeup across CPUs, as the scheduler likes.
    let cpu = this_cpu();
    std::thread::scope(|scope| {
        let other = scope.spawn(move || side(cpu, trips, &to_back, &there, false));
        let this = scope.spawn(move || side(cpu, trips, &to_there, &back, true));
        let ended = [this, other].map(|thread| {
            thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
        });
        ended.into_iter().sum()
    })
}

/// One of the two; its CPU time. Its ends of the pipes are closed with it, which ends the other, too.
fn side(
    cpu: usize,
    trips: u32,
    to: &OwnedFd,
    from: &OwnedFd,
    begins: bool,
) -> std::io::Result<u64> {
    // Refused, the numbers are only less steady.
    let _ = stay_on(cpu);
    let mut byte = [0];
    let begun = thread_cpu_ns();
    for _ in 0..trips {
        if begins {
            write(to, &byte)?;
        }
        if read(from, &mut byte)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if !begins {
            write(to, &byte)?;
        }
    }
    Ok(thread_cpu_ns() - begun)
}

/// Where memory file systems are mounted that everybody may write to.
const MEMORY: &str = "/dev/shm";
/// Of tmpfs (`TMPFS_MAGIC` of linux/magic.h).
const TMPFS: libc::c_long = 0x0102_1994;

/// An empty file in memory, which goes away with its value.
#[derive(Debug)]
struct InMemory {
    folder: File,
    name: CString,
}

impl InMemory {
    /// None where there is no such file system, or it may not be written to.
    fn make() -> Option<Self> {
        let folder = File::open(MEMORY).ok()?;
        if rustix::fs::fstatfs(&folder).ok()?.f_type != TMPFS {
            return None;
        }
        let name = format!("culprit-stat-{}-{}", std::process::id(), Clock::now());
        let name = CString::new(name).ok()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR).ok()?;
        Some(Self { folder, name })
    }

    fn stat(&self) {
        std::hint::black_box(statat(&self.folder, &self.name, AtFlags::empty())).ok();
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

fn getppid() {
    std::hint::black_box(rustix::process::getppid());
}

#[expect(unsafe_code, reason = "personality has no safe wrapper here")]
fn personality() {
    // SAFETY: 0xffffffff asks for the value and changes nothing (personality(2)).
    std::hint::black_box(unsafe { libc::personality(0xffff_ffff) });
}

#[expect(unsafe_code, reason = "clone3 has no safe wrapper")]
fn clone3() {
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: a size of 0 is refused before anything is read or made (clone3(2), EINVAL).
    std::hint::black_box(unsafe { libc::syscall(libc::SYS_clone3, nothing, 0_usize) });
}

fn vdso() {
    std::hint::black_box(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic));
}

fn filters() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("Seccomp_filters:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_call_has_its_cost() {
        let told = Batches { calls: 1_000, batches: 2 }.run(&mut Here::at(Path::new("/"))).unwrap();
        let costs = [told.vdso_ns, told.getppid_ns, told.personality_ns, told.fcntl_ns];
        assert!(costs.iter().all(|cost| *cost > 0.0), "{told:?}");
        assert!(told.clone3_ns > 0.0 && told.pipe_ns > 0.0, "{told:?}");
    }

    #[test]
    #[ignore = "statistical: make accuracy"]
    fn entering_the_kernel_costs_more_than_the_vdso() {
        let told =
            Batches { calls: 20_000, batches: 5 }.run(&mut Here::at(Path::new("/"))).unwrap();
        assert!(told.vdso_ns > 0.0 && told.getppid_ns > told.vdso_ns, "{told:?}");
        assert!(told.personality_ns > told.vdso_ns, "{told:?}");
        assert!(told.fcntl_ns > told.vdso_ns && told.clone3_ns > told.vdso_ns, "{told:?}");
        // Two writes, two reads, and two switches.
        assert!(told.pipe_ns > 4.0 * told.fcntl_ns, "{told:?}");
    }

    #[test]
    fn a_file_in_memory_goes_away() {
        // Machines without such a folder have no number, and no file.
        let Some(file) = InMemory::make() else { return };
        let path = Path::new(MEMORY).join(file.name.to_str().unwrap());
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_call_that_is_refused_makes_no_process() {
        clone3();
        let error = std::io::Error::last_os_error().raw_os_error();
        assert!(matches!(error, Some(libc::EINVAL | libc::ENOSYS | libc::EPERM)), "{error:?}");
    }
}
