//! `disk`: reads and writes of one file, by diskspd's model.
//!
//! Threads keep requests in flight, at random or in order, through the page cache or around it, for a
//! time; a request counts when it completes in the measured part of it. See [`Spec`] for everything
//! that can be chosen, and [`definitions`] for those of other tools.
//!
//! Two files of the same content in sibling folders can differ tenfold in buffered overwrites, by
//! where their pages and blocks happen to lie. So every arm gets a file of its own in every round,
//! as long as it is small enough to be written so often; or all arms on the same storage share one
//! file, by choice, which takes the file out of the comparison.

pub mod definitions;
mod file;
mod load;
mod mapped;
mod offsets;
mod psync;
mod spec;
mod uring;
mod window;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use culprit_model::Unit;

use crate::arm::Role;
use crate::error::{Error, Result};
use crate::histogram::Histogram;
use crate::metric::{Metric, Part};
use crate::probe::Probe;
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

pub(crate) use load::{Load, Write};
pub use spec::{Access, Cache, Engine, HotSpot, Spec};

/// Which file an arm works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// A new one in every round, up to [`FRESH`] bytes; a larger one is written once for all rounds.
    OwnEachRound,
    /// One for all rounds.
    Own,
    /// The baseline's, where the arm sees its folder; its own elsewhere.
    Shared,
}

/// A file up to this size is written anew for every round.
pub const FRESH: u64 = 256 << 20;

/// What is measured.
#[derive(Debug)]
pub struct Disk {
    spec: Spec,
    files: Files,
    /// More that is to be said about the work: where a definition came from, and what differs.
    remarks: Vec<String>,
    /// The folder of the baseline's file as the host names it, once it is there.
    baseline: Mutex<Option<PathBuf>>,
}

impl Disk {
    /// This workload.
    ///
    /// # Errors
    /// When it does not fit together.
    pub fn new(spec: Spec, files: Files, remarks: Vec<String>) -> Result<Self> {
        spec.check().map_err(Error::from)?;
        let files =
            if files == Files::OwnEachRound && spec.size > FRESH { Files::Own } else { files };
        Ok(Self { spec, files, remarks, baseline: Mutex::new(None) })
    }
}

const P50: Metric = Metric::lower("latency_ns.p50", "latency, p50", Unit::Nanos, Part::Headline);
const CPU: Metric = Metric::lower("cpu_ns_per_op", "CPU a request", Unit::Nanos, Part::CpuTime);
const IOPS: Metric = Metric::higher("iops", "requests", Unit::PerSecond, Part::Shown);
const BYTES: Metric =
    Metric::higher("bytes_per_s", "throughput", Unit::BytesPerSecond, Part::Shown);
const P99: Metric = Metric::lower("latency_ns.p99", "latency, p99", Unit::Nanos, Part::Shown);
const IN_FLIGHT: Metric = Metric::shown_fact("in_flight", "in flight", Unit::Count);
const P999: Metric = Metric::lower("latency_ns.p999", "p99.9", Unit::Nanos, Part::Detail);
const READ_P50: Metric =
    Metric::lower("read_latency_ns.p50", "read, p50", Unit::Nanos, Part::Detail);
const WRITE_P50: Metric =
    Metric::lower("write_latency_ns.p50", "write, p50", Unit::Nanos, Part::Detail);
const MOST: Metric = Metric::fact("latency_ns.max", "longest", Unit::Nanos);
const MEAN: Metric = Metric::fact("latency_ns.mean", "mean", Unit::Nanos);
const PENDING: Metric = Metric::fact("pending", "pending after a submission", Unit::Count);
const WAITED: Metric = Metric::fact("run_queue_share", "waited for a CPU", Unit::Share);
const MAJOR: Metric = Metric::fact("major_faults", "major faults", Unit::Count);

impl Probe for Disk {
    fn id(&self) -> &'static str {
        "disk"
    }

    fn works_with_files(&self) -> bool {
        true
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            P50, CPU, IOPS, BYTES, P99, IN_FLIGHT, P999, READ_P50, WRITE_P50, MOST, MEAN, PENDING,
            WAITED, MAJOR,
        ]
    }

    fn round_time(&self) -> Option<Duration> {
        Some(self.spec.warmup + self.spec.duration + self.spec.cooldown)
    }

    fn workload(&self) -> Value {
        let mut told = serde_json::to_value(&self.spec).unwrap_or_default();
        if let Value::Object(told) = &mut told {
            let files = match self.files {
                Files::OwnEachRound => "own-each-round",
                Files::Own => "own",
                Files::Shared => "shared",
            };
            told.insert("files".to_owned(), files.into());
        }
        told
    }

    fn words(&self) -> Vec<String> {
        let mut words = self.spec.words();
        words.push(match self.files {
            Files::OwnEachRound => "every place gets a new file in each round, because the \
                                    position of a file on the disk changes its speed"
                .to_owned(),
            Files::Own => "every place has one file for all rounds; the position of a file on the \
                           disk can cause a part of a difference"
                .to_owned(),
            Files::Shared => "places that contain the folder of the first place use the same \
                              file; other places have their own file"
                .to_owned(),
        });
        words.extend(self.remarks.iter().cloned());
        words
    }

    fn prepare(&self, stand: &mut Stand<'_>) -> Result<Vec<String>> {
        let mut facts = Vec::new();
        if let Some(shared) = self.shared(stand) {
            return Ok(vec![format!("uses the file of the first place, {}", shared.display())]);
        }
        if self.files != Files::OwnEachRound {
            // Those after the first have been counted with it.
            let own = self.files == Files::Own && stand.arm().role == Role::Baseline;
            let files = if own { stand.arms_in_folder() } else { 1 };
            stand.ask(&Write { spec: self.spec.clone(), files })?;
        }
        if stand.arm().role == Role::Baseline {
            let folder = stand.host_dir().map(std::path::Path::to_path_buf);
            *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = folder;
        }
        if let Some(fact) = self.fits(stand) {
            facts.push(fact);
        }
        Ok(facts)
    }

    fn measure(&self, stand: &mut Stand<'_>, round: ProbeRound) -> Result<Sample> {
        let file = self.shared(stand).map(|folder| folder.join(load::FILE));
        let write = self.files == Files::OwnEachRound;
        let load = Load { spec: self.spec.clone(), file, write, round: round.seed };
        Ok(sample(&stand.ask(&load)?, self.spec.block))
    }
}

impl Disk {
    /// The baseline's folder as this arm names it, where it is to be shared and the arm sees it.
    fn shared(&self, stand: &Stand<'_>) -> Option<PathBuf> {
        if self.files != Files::Shared || stand.arm().role == Role::Baseline {
            return None;
        }
        let baseline = self.baseline.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let here = stand.arm().host_dir.as_ref()?;
        let rest = baseline.strip_prefix(here).ok()?;
        Some(stand.arm().dir.join(rest))
    }

    /// Whether the file stays in a place's memory when it goes through the page cache.
    fn fits(&self, stand: &mut Stand<'_>) -> Option<String> {
        if self.spec.cache.is_direct() {
            return None;
        }
        let limit = stand.place().ok()?.facts().ok()?.memory_limit_bytes?;
        (limit < self.spec.used()).then(|| {
            format!(
                "the memory limit of {limit} bytes is smaller than the {} in use: the page cache \
                 cannot hold them in this place, but may hold them in other places",
                spec::size(self.spec.used())
            )
        })
    }
}

fn sample(told: &load::Told, block: u64) -> Sample {
    let mut all = told.reads.clone();
    all.add(&told.writes);
    let seconds = told.measured_ns as f64 / 1e9;
    let requests = all.count() as f64;
    let quantile = |seen: &Histogram, q: f64| seen.percentile(q).map(|ns| ns as f64);
    let each = |total: f64| (requests > 0.0).then(|| total / requests);
    let ready = (told.used.cpu_ns + told.used.run_queue_ns) as f64;
    let mut sample = Sample::default()
        .with(IOPS.id, requests / seconds)
        .with(BYTES.id, requests * block as f64 / seconds)
        // Little's law: how many were in flight on average.
        .with(IN_FLIGHT.id, all.mean() * requests / told.measured_ns as f64)
        .with(MOST.id, all.most() as f64)
        .with(MEAN.id, all.mean())
        .with(MAJOR.id, told.used.major_faults as f64)
        .maybe(CPU.id, each(told.cpu_ns))
        .maybe(P50.id, quantile(&all, 0.5))
        .maybe(P99.id, quantile(&all, 0.99))
        .maybe(P999.id, quantile(&all, 0.999))
        .maybe(READ_P50.id, quantile(&told.reads, 0.5))
        .maybe(WRITE_P50.id, quantile(&told.writes, 0.5))
        .maybe(PENDING.id, told.pending)
        .maybe(WAITED.id, (ready > 0.0).then(|| told.used.run_queue_ns as f64 / ready));
    for (what, seen) in [("read", &told.reads), ("write", &told.writes)] {
        if seen.count() > 0 {
            sample = sample.with_latencies(what, seen.clone());
        }
    }
    sample
}
