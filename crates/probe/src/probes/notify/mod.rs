//! `notify`: how soon a reader learns that a file has grown, and whether it learns of it at all.
//!
//! Three parts. A *closed loop*: the writer appends a row, waits until the reader has shown it, thinks
//! and appends the next: rows a second. A *stream*: rows at fixed times, which carry the time at which
//! they were written: how late they come. And *scope*: a watch in the place, and a write by the host into
//! the same folder: into the host's side of a volume, or under an overlay, past its merged view.
//!
//! `tail` is followed by its own rules (see [`reader::Reader::Tail`]), so no image needs to have one;
//! where the place has one, it can be measured, too.

mod reader;
mod rows;
mod scope;
mod source;

use std::time::Duration;

use serde_json::{Value, json};

pub use reader::Reader;
pub(crate) use rows::{Programs, Rows};
pub(crate) use scope::{Append, Upper, Watch, Watched};

use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::probe::Probe;
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What is measured.
#[derive(Debug, Clone)]
pub struct Notify {
    /// The ways in which a reader learns of rows.
    pub readers: Vec<Reader>,
    /// What the writer does between a row's arrival and the next row.
    pub think: Duration,
    /// How long the closed loop goes on; readers that look once a second are given at least two looks.
    pub duration: Duration,
}

impl Default for Notify {
    fn default() -> Self {
        Self {
            readers: vec![Reader::Tail, Reader::Inotify, Reader::Fifo],
            think: Duration::from_millis(50),
            duration: Duration::from_millis(1500),
        }
    }
}

impl Probe for Notify {
    fn id(&self) -> &'static str {
        "notify"
    }

    fn works_with_files(&self) -> bool {
        true
    }

    fn metrics(&self) -> Vec<Metric> {
        let of = |reader: &Reader| {
            let told = reader.metrics();
            [told.rows, told.p50, told.p90, told.most, told.delivered]
        };
        self.readers.iter().flat_map(of).chain(scope::METRICS).collect()
    }

    fn workload(&self) -> Value {
        let readers: Vec<&str> = self.readers.iter().map(|reader| reader.id()).collect();
        json!({
            "readers": readers,
            "think_ns": nanos(self.think),
            "loop_ns": nanos(self.duration),
        })
    }

    fn words(&self) -> Vec<String> {
        vec![
            format!(
                "for {:?}, a writer appends a row, waits until the reader prints it, and pauses \
                 for {:?}: rows per second",
                self.duration, self.think
            ),
            "then the writer appends rows at fixed times: delay of each row".to_owned(),
            "`follow as tail` follows the file as coreutils 8.25 and later do: with inotify, or \
             by a check once a second on file systems that tail treats as remote, such as overlay"
                .to_owned(),
        ]
    }

    fn round_time(&self) -> Option<Duration> {
        self.duration.checked_mul(u32::try_from(self.readers.len()).ok()?)
    }

    /// One round takes long, and what it finds is large.
    fn least_rounds(&self) -> u32 {
        5
    }

    fn prepare(&self, stand: &mut Stand<'_>) -> Result<Vec<String>> {
        let names: Vec<String> =
            self.readers.iter().filter_map(|reader| reader.program()).map(str::to_owned).collect();
        let found = stand.ask(&Programs { names })?;
        let mut facts: Vec<String> = found
            .programs
            .iter()
            .filter(|(_, is_here)| !**is_here)
            .map(|(name, _)| format!("`{name}` is not installed here, so it is not measured"))
            .collect();
        facts.sort_unstable();
        if found.is_remote_to_tail {
            facts.push(format!(
                "tail treats this file system (statfs type {:#x}) as remote and checks the file \
                 once a second",
                found.file_system
            ));
        }
        Ok(facts)
    }

    fn measure(&self, stand: &mut Stand<'_>, _: ProbeRound) -> Result<Sample> {
        let mut sample = Sample::default();
        for reader in &self.readers {
            let task = Rows {
                reader: *reader,
                think_ns: nanos(self.think),
                loop_ns: nanos(self.duration),
            };
            let Some(told) = stand.ask(&task)? else { continue };
            let metrics = reader.metrics();
            let late = |q: f64| told.latency.quantile(q).map(|ns| ns as f64);
            sample = sample
                .with(metrics.rows.id, told.rows_per_second)
                .maybe(metrics.p50.id, late(0.5))
                .maybe(metrics.p90.id, late(0.9))
                .maybe(metrics.most.id, late(1.0))
                .with(metrics.delivered.id, told.delivered)
                .with_latencies(metrics.latency, told.latency);
        }
        if sample.values.is_empty() {
            return Err(Error::Asked {
                what: "none of the given readers is installed in the place".to_owned(),
                hint: Some(
                    "use `tail`, `inotify`, `fifo` or `pipe`: these readers need no program in \
                     the place"
                        .to_owned(),
                ),
            });
        }
        scope::measure(stand, sample)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
