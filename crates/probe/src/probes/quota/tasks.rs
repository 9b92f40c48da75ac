//! What runs in the place: chunks of work with pauses, threads at once, and busy threads against others.

use std::num::NonZero;
use std::thread::JoinHandle;

use rustix::thread::sched_getaffinity;
use serde::{Deserialize, Serialize};

use super::{CHUNK_CPU_NS, CONTEST_NS, LEAST_THREADS, LIGHT_CPU_NS, LIGHT_EVERY_NS, LIGHT_TIMES};
use crate::histogram::Histogram;
use crate::inside::{Clock, Fault, Here, Task, stay_on, stopped, thread_cpu_ns};

/// One round in the place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Chunks {
    pub(super) chunks: u32,
}

/// Wall times.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(super) chunks: Histogram,
    pub(super) light: Histogram,
}

impl Task for Chunks {
    const NAME: &'static str = "quota";
    type Output = Told;

    fn run(self, here: &mut Here) -> Result<Told, Fault> {
        let (mut chunks, mut light) = (Histogram::default(), Histogram::default());
        for _ in 0..self.chunks {
            if here.stopped() {
                break;
            }
            chunks.record(work(CHUNK_CPU_NS));
        }
        let begun = Clock::now();
        for at in 0..u64::from(LIGHT_TIMES) {
            if here.stopped() {
                break;
            }
            Clock::sleep_until(begun + at * LIGHT_EVERY_NS);
            light.record(work(LIGHT_CPU_NS));
        }
        Ok(Told { chunks, light })
    }
}

/// The same chunks in several threads at once.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Threads {
    pub(super) most: u32,
    /// Of each thread.
    pub(super) chunks: u32,
}

/// Wall times of all threads' chunks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToldTogether {
    pub(super) threads: u32,
    pub(super) chunks: Histogram,
}

impl Task for Threads {
    const NAME: &'static str = "quota-threads";
    type Output = ToldTogether;

    fn run(self, _: &mut Here) -> Result<ToldTogether, Fault> {
        let threads = cpus().clamp(LEAST_THREADS, self.most.max(LEAST_THREADS));
        let one = || {
            let mut chunks = Histogram::default();
            for _ in (0..self.chunks).take_while(|_| !stopped()) {
                chunks.record(work(CHUNK_CPU_NS));
            }
            chunks
        };
        let mut chunks = Histogram::default();
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
            for thread in all {
                let seen = thread.join().map_err(|_| Fault::new("a thread panicked"))?;
                chunks.add(&seen);
            }
            Ok(ToldTogether { threads, chunks })
        })
    }
}

/// Threads that want all of one CPU over the same time, by the monotonic clock, as others elsewhere.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Contest {
    pub(super) threads: u32,
    pub(super) cpu: u32,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// What they got.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Got {
    pub(super) cpu_ns: u64,
    /// Of all threads, in threads that have not been made nice.
    pub(super) weight: f64,
}

impl Contest {
    fn begin(self) -> Vec<JoinHandle<Option<u64>>> {
        (0..self.threads).map(|_| std::thread::spawn(move || self.one())).collect()
    }

    /// CPU time of one thread; none where it may not be on that CPU, or has another clock.
    fn one(self) -> Option<u64> {
        if !stay_on(usize::try_from(self.cpu).ok()?) {
            return None;
        }
        if self.from.abs_diff(Clock::now()) > 10 * CONTEST_NS {
            return None;
        }
        spin_until(self.from);
        let begun = thread_cpu_ns();
        spin_until(self.to);
        Some(thread_cpu_ns() - begun)
    }
}

fn spin_until(then: u64) {
    while Clock::now() < then && !stopped() {
        std::hint::spin_loop();
    }
}

fn together(threads: Vec<JoinHandle<Option<u64>>>) -> Result<Option<Got>, Fault> {
    let nice = rustix::process::getpriority_process(None).unwrap_or(0);
    let mut got = Some(Got { cpu_ns: 0, weight: threads.len() as f64 * 1.25_f64.powi(-nice) });
    for thread in threads {
        let one = thread.join().map_err(|_| Fault::new("a thread panicked"))?;
        got = got.zip(one).map(|(got, ns)| Got { cpu_ns: got.cpu_ns + ns, ..got });
    }
    Ok(got)
}

impl Task for Contest {
    const NAME: &'static str = "quota-contest";
    type Output = Option<Got>;

    fn run(self, _: &mut Here) -> Result<Option<Got>, Fault> {
        together(self.begin())
    }
}

/// The other side, which begins and does not wait for the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rivals(pub(super) Contest);

struct Running(Vec<JoinHandle<Option<u64>>>);

impl Task for Rivals {
    const NAME: &'static str = "quota-rivals";
    type Output = ();

    fn run(self, here: &mut Here) -> Result<(), Fault> {
        here.keep(Running(self.0.begin()));
        Ok(())
    }
}

/// What the other side got, after its end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rivalled {}

impl Task for Rivalled {
    const NAME: &'static str = "quota-rivalled";
    type Output = Option<Got>;

    fn run(self, here: &mut Here) -> Result<Option<Got>, Fault> {
        let threads = here.kept::<Running>().map(|running| std::mem::take(&mut running.0));
        together(threads.unwrap_or_default())
    }
}

/// CPUs that this place may use. What `available_parallelism` tells is no more than the quota, which
/// is to be exceeded here.
fn cpus() -> u32 {
    match sched_getaffinity(None) {
        Ok(cpus) => cpus.count(),
        // More CPUs than such a set has room for.
        Err(_) => std::thread::available_parallelism()
            .map_or(LEAST_THREADS, |cpus| u32::try_from(NonZero::get(cpus)).unwrap_or(u32::MAX)),
    }
}

/// Uses so much CPU time, and returns the wall time that it took.
pub(super) fn work(cpu_ns: u64) -> u64 {
    let (begun, until) = (Clock::now(), thread_cpu_ns() + cpu_ns);
    let mut sum = 0_u64;
    while thread_cpu_ns() < until {
        for number in 0..1000 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    }
    Clock::now() - begun
}
