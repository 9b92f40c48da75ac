//! `quota`: what a limit on CPU time does to work that needs less than it on average.
//!
//! A quota of N CPUs lets the members of a cgroup run N times 100 ms in each 100 ms and then holds them
//! all back until the next period. Times of such work depend on when it meets a period's end; the
//! kernel's counters of throttled periods are exact, and stand beside them.
//!
//! One thread alone, with pauses, and then several at once, which use up a period's time the sooner
//! the more they are: a quota of 2 CPUs lasts 8 threads a quarter of each period.
//!
//! What weight does needs no quota: threads of one cgroup count together as one competitor against those
//! outside. Busy threads in the place and busy ones on the host want the same CPU; what those in the
//! place get stands beside what they should get by the weights that the kernel tells.

mod tasks;

use culprit_model::{Pid, Unit};
use culprit_place::{Counters, CpuGroups, NanoCpus, PlaceSpec};
use rustix::thread::{CpuSet, sched_getaffinity};
use serde_json::{Value, json};

use crate::arm::{Arm, Location, Role};
use crate::error::Result;
use crate::histogram::Histogram;
use crate::inside::Clock;
use crate::metric::{Metric, Part};
use crate::probe::{Asked, Probe, standard_arms};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

pub(crate) use tasks::{Chunks, Contest, Rivalled, Rivals, Threads};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// CPUs that engines' places without a quota of their own are given in one more arm.
    pub cpus: NanoCpus,
    /// Chunks of work a round.
    pub chunks: u32,
    /// Busy threads on the host beside those in the place; without any, weight is not measured.
    pub siblings: u32,
}

impl Default for Quota {
    fn default() -> Self {
        Self { cpus: NanoCpus(500_000_000), chunks: 25, siblings: 2 }
    }
}

/// CPU time of a chunk.
const CHUNK_CPU_NS: u64 = 30_000_000;
/// The light load: so much CPU time every so often.
const LIGHT_CPU_NS: u64 = 5_000_000;
const LIGHT_EVERY_NS: u64 = 45_000_000;
const LIGHT_TIMES: u32 = 10;
/// Chunks of each thread where several work at once: 0.3 s of CPU time for two threads.
const THREAD_CHUNKS: u32 = 5;
/// As many threads as the place has CPUs, but no more than so many, so that a round does not take
/// minutes on a large machine with a small quota; more where the quota is as large.
const MOST_THREADS: u32 = 8;
const LEAST_THREADS: u32 = 2;

/// Busy threads in the place that want the same CPU as those on the host: more than these, so that a
/// place whose threads count one by one is told from one whose threads count as one.
const BUSY: u32 = 4;
/// How long that is measured: a hundred turns of a few ms.
const CONTEST_NS: u64 = 600_000_000;
/// Until all threads have begun.
const CONTEST_BEGINS_NS: u64 = 50_000_000;

const CHUNK: Metric =
    Metric::lower("chunk_ns.p50", "30 ms of CPU time", Unit::Nanos, Part::Headline);
const LONGEST: Metric =
    Metric::lower("chunk_ns.max", "30 ms of CPU time, longest", Unit::Nanos, Part::Shown);
const LIGHT: Metric = Metric::lower("light_ns.p50", "5 ms every 45 ms", Unit::Nanos, Part::Shown);
const THROTTLED: Metric = Metric::shown_fact("throttled_share", "throttled periods", Unit::Share);
const HELD_BACK: Metric = Metric::shown_fact("throttled_ns", "throttled time", Unit::Nanos);
const TOGETHER: Metric = Metric::lower(
    "threads_chunk_ns.p50",
    "30 ms in each of several threads",
    Unit::Nanos,
    Part::Shown,
);
const TOGETHER_LONGEST: Metric =
    Metric::lower("threads_chunk_ns.max", "several threads, longest", Unit::Nanos, Part::Detail);
const TOGETHER_THROTTLED: Metric = Metric::shown_fact(
    "threads_throttled_share",
    "throttled periods, several threads",
    Unit::Share,
);
const TOGETHER_HELD_BACK: Metric =
    Metric::fact("threads_throttled_ns", "throttled time, several threads", Unit::Nanos);
const SHARE: Metric = Metric::shown_fact("weight_share", "share of a busy CPU", Unit::Share);
const EXPECTED: Metric =
    Metric::shown_fact("weight_expected", "expected share by weight", Unit::Share);
const SHARE_CPU: Metric =
    Metric::fact("weight_cpu_ns", "CPU time beside busy threads", Unit::Nanos);
const SHARE_COUNTED: Metric =
    Metric::fact("weight_cgroup_cpu_ns", "CPU time of the whole cgroup", Unit::Nanos);
const THREADS: Metric = Metric::fact("threads", "threads", Unit::Count);
const PERIODS: Metric = Metric::fact("periods", "periods", Unit::Count);
const ALLOWED: Metric = Metric::fact("quota_cpus", "CPUs allowed", Unit::Count);

impl Probe for Quota {
    fn id(&self) -> &'static str {
        "quota"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            CHUNK,
            LONGEST,
            LIGHT,
            TOGETHER,
            THROTTLED,
            TOGETHER_THROTTLED,
            HELD_BACK,
            SHARE,
            EXPECTED,
            SHARE_CPU,
            SHARE_COUNTED,
            TOGETHER_LONGEST,
            TOGETHER_HELD_BACK,
            THREADS,
            PERIODS,
            ALLOWED,
        ]
    }

    fn workload(&self) -> Value {
        json!({
            "chunks": self.chunks,
            "chunk_cpu_ns": CHUNK_CPU_NS,
            "light_cpu_ns": LIGHT_CPU_NS,
            "light_every_ns": LIGHT_EVERY_NS,
            "light_times": LIGHT_TIMES,
            "thread_chunks": THREAD_CHUNKS,
            "most_threads": self.most_threads(),
            "quota_cpus": self.cpus.0 as f64 / 1e9,
            "busy_threads": BUSY,
            "siblings": self.siblings,
            "contest_ns": CONTEST_NS,
        })
    }

    fn words(&self) -> Vec<String> {
        let alone = format!(
            "{} chunks of 30 ms of CPU time, one after the other, and {LIGHT_TIMES} of 5 ms, one \
             every 45 ms: wall time of each chunk",
            self.chunks
        );
        let counters =
            "the kernel counts the periods in which the quota throttled the work".to_owned();
        let together = format!(
            "then {THREAD_CHUNKS} chunks of 30 ms in each of several threads at once: one thread \
             per CPU of the place, at least {LEAST_THREADS} and at most {}",
            self.most_threads()
        );
        let weight = (self.siblings > 0).then(|| {
            format!(
                "at the end, {BUSY} busy threads in the place and {} on the host, all on one CPU: \
                 the place's share of their CPU time, and its share by the weights of the cgroups",
                self.siblings
            )
        });
        [alone, counters, together].into_iter().chain(weight).collect()
    }

    /// One round takes seconds.
    fn least_rounds(&self) -> u32 {
        6
    }

    /// Storage plays no part; an engine's place without a quota comes once more with one.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let asked = Asked { at: vec![Location::Layer(None)], ..asked.clone() };
        let with = |arm: Arm| {
            let limited = limited(&arm, self.cpus);
            std::iter::once(arm).chain(limited)
        };
        Ok(standard_arms(&asked).into_iter().flat_map(with).collect())
    }

    fn measure(&self, stand: &mut Stand<'_>, _: ProbeRound) -> Result<Sample> {
        let before = stand.counters()?;
        let told = stand.ask(&Chunks { chunks: self.chunks })?;
        let after = stand.counters()?;
        let together = stand.ask(&Threads { most: self.most_threads(), chunks: THREAD_CHUNKS })?;
        let at_last = stand.counters()?;
        let weighed = self.weighed(stand, &at_last)?;
        let late = |times: &Histogram, q: f64| times.quantile(q).map(|ns| ns as f64);
        Ok(weighed
            .maybe(CHUNK.id, late(&told.chunks, 0.5))
            .maybe(LONGEST.id, late(&told.chunks, 1.0))
            .maybe(LIGHT.id, late(&told.light, 0.5))
            .maybe(TOGETHER.id, late(&together.chunks, 0.5))
            .maybe(TOGETHER_LONGEST.id, late(&together.chunks, 1.0))
            .with(THREADS.id, f64::from(together.threads))
            .with_latencies("chunk", told.chunks)
            .with_latencies("threads_chunk", together.chunks))
        .map(|sample| counted(sample, &before, &after))
        .map(|sample| counted_together(sample, &after, &at_last))
    }
}

impl Quota {
    /// Both sides at once; nothing where they cannot share a CPU.
    fn weighed(&self, stand: &mut Stand<'_>, before: &Counters) -> Result<Sample> {
        let (Some(cpu), true) = (one_cpu(), self.siblings > 0) else {
            return Ok(Sample::default());
        };
        let from = Clock::now() + CONTEST_BEGINS_NS;
        let contest = Contest { threads: self.siblings, cpu, from, to: from + CONTEST_NS };
        let dir = stand.dir().to_path_buf();
        stand.ask_host(&Rivals(contest), &dir)?;
        let mine = stand.ask(&Contest { threads: BUSY, ..contest })?;
        let after = stand.counters()?;
        let theirs = stand.ask_host(&Rivalled {}, &dir)?;
        let (Some(mine), Some(theirs)) = (mine, theirs) else { return Ok(Sample::default()) };
        let all_ns = (mine.cpu_ns + theirs.cpu_ns).max(1);
        let counted = grown(before.cpu.usage_ns, after.cpu.usage_ns);
        Ok(Sample::default()
            .with(SHARE.id, mine.cpu_ns as f64 / all_ns as f64)
            .maybe(EXPECTED.id, expected(stand, mine.weight, theirs.weight, &after)?)
            .with(SHARE_CPU.id, mine.cpu_ns as f64)
            .maybe(SHARE_COUNTED.id, counted))
    }

    /// A quota of as many CPUs as there are threads would not be noticed.
    fn most_threads(&self) -> u32 {
        let cpus = u32::try_from(self.cpus.0.div_ceil(1_000_000_000)).unwrap_or(u32::MAX);
        MOST_THREADS.max(cpus.saturating_add(1))
    }
}

/// What the kernel's weights say, and a quota that allows less; none where they cannot be seen from here,
/// as with an engine on another machine.
fn expected(
    stand: &mut Stand<'_>,
    mine: f64,
    theirs: f64,
    counters: &Counters,
) -> Result<Option<f64>> {
    let (ours, hosts) = (stand.worker()?.pid(), stand.host_pid()?);
    let groups = |pid: Option<Pid>| CpuGroups::of_process(pid?).ok();
    let share = groups(ours).zip(groups(hosts)).map(|(a, b)| a.share(mine, &b, theirs));
    let quota = counters.cpu.quota_ns.zip(counters.cpu.period_ns);
    let quota = quota.map_or(1.0, |(quota, period)| quota as f64 / period.max(1) as f64);
    Ok(share.map(|share| share.min(quota)))
}

/// A CPU that both sides may use: the last, which has less to do with devices than the first.
fn one_cpu() -> Option<u32> {
    let cpus = sched_getaffinity(None).ok()?;
    (0..CpuSet::MAX_CPU).rev().find(|cpu| cpus.is_set(*cpu)).and_then(|cpu| u32::try_from(cpu).ok())
}

/// What the quota did between two readings. Without a quota there are no periods, and the counters
/// stand still: then nothing is told.
struct HeldBack {
    throttled_share: f64,
    throttled_ns: Option<f64>,
}

fn held_back(before: &Counters, after: &Counters) -> Option<HeldBack> {
    let (from, to) = (&before.cpu, &after.cpu);
    to.quota_ns.zip(to.period_ns)?;
    let throttled = grown(from.throttled_periods, to.throttled_periods)?;
    let periods = grown(from.periods, to.periods)?;
    Some(HeldBack {
        throttled_share: throttled / periods.max(1.0),
        throttled_ns: grown(from.throttled_ns, to.throttled_ns),
    })
}

fn grown(from: Option<u64>, to: Option<u64>) -> Option<f64> {
    Some(to?.saturating_sub(from?) as f64)
}

/// The same while several threads worked.
fn counted_together(sample: Sample, before: &Counters, after: &Counters) -> Sample {
    let told = held_back(before, after);
    sample
        .maybe(TOGETHER_THROTTLED.id, told.as_ref().map(|told| told.throttled_share))
        .maybe(TOGETHER_HELD_BACK.id, told.and_then(|told| told.throttled_ns))
}

/// What the quota did while one thread worked, by the kernel's counters.
fn counted(sample: Sample, before: &Counters, after: &Counters) -> Sample {
    let told = held_back(before, after);
    let (from, to) = (&before.cpu, &after.cpu);
    let allowed = to.quota_ns.zip(to.period_ns);
    sample
        .maybe(THROTTLED.id, told.as_ref().map(|told| told.throttled_share))
        .maybe(HELD_BACK.id, told.and_then(|told| told.throttled_ns))
        .maybe(PERIODS.id, grown(from.periods, to.periods))
        .maybe(ALLOWED.id, allowed.map(|(quota, period)| quota as f64 / period.max(1) as f64))
}

fn limited(arm: &Arm, cpus: NanoCpus) -> Option<Arm> {
    let PlaceSpec::Engine { engine, image, options } = &arm.spec else { return None };
    if options.cpus.is_some() || arm.role != Role::Candidate {
        return None;
    }
    let mut options = options.clone();
    options.cpus = Some(cpus);
    let spec = PlaceSpec::Engine { engine: *engine, image: image.clone(), options };
    let label = format!("{} with {} CPUs", arm.label, cpus.0 as f64 / 1e9);
    Some(Arm { label, spec, variant: Some("quota"), ..arm.clone() })
}

#[cfg(test)]
mod tests;
