//! `meta.json`: the on-disk shape of [`Meta`].
//!
//! The only serialised types of the workspace's file side. Field names here are part of the format
//! (docs/format.md); the names in memory may change without the file changing. A field that an
//! older writer did not know gets its default, so adding one needs no new schema number; changing
//! a field's meaning, or a table's, does.

use culprit_model::{ClockPair, KeptConfiguration, Meta, Nanos, ProcessId, Rung, Time};
use serde::{Deserialize, Serialize};

/// The format that this version writes, and the newest that it reads.
///
/// | schema | since | change |
/// |---|---|---|
/// | 1 | 0.1 | the first |
pub const SCHEMA: u32 = 1;

/// Tables that files of this number may lack, because they were added since: then they are empty.
pub(crate) const ADDED_SINCE: [&str; 5] =
    ["interpreter_stacks", "costs", "activities", "activity_work", "activity_edges"];

/// The name of the entry.
pub(crate) const META: &str = "meta.json";

/// The name of a table's entry in a finished file.
pub(crate) fn table_entry(table: &str) -> String {
    format!("{table}.parquet")
}

/// The part of `meta.json` that every version can read.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    /// The format's number.
    pub(crate) schema: u32,
    /// The writing program's version.
    #[serde(default)]
    pub(crate) tool: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct DiskMeta {
    schema: u32,
    #[serde(flatten)]
    body: Body,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Body {
    tool: String,
    command: Vec<String>,
    place: String,
    place_facts: Vec<(String, String)>,
    start: DiskClock,
    end: DiskClock,
    wall_ns: u64,
    command_span: Option<(u64, u64)>,
    root_process: Option<u32>,
    exit_code: Option<i32>,
    rung: DiskRung,
    degraded: Vec<String>,
    kernel: String,
    cpus: u32,
    frequency: u32,
    later_frequency: u32,
    recorder_memory_bytes: u64,
    recorder_cpu_ns: u64,
    complete: bool,
    /// Why the recorder could not go on, in a file that it could not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<DiskConfiguration>,
}

/// Configuration: an object with one of these members.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DiskConfiguration {
    Snapshot(String),
    LeftOut(String),
}

impl From<KeptConfiguration> for DiskConfiguration {
    fn from(kept: KeptConfiguration) -> Self {
        match kept {
            KeptConfiguration::Snapshot(lines) => Self::Snapshot(lines),
            KeptConfiguration::LeftOut(why) => Self::LeftOut(why),
        }
    }
}

impl From<DiskConfiguration> for KeptConfiguration {
    fn from(kept: DiskConfiguration) -> Self {
        match kept {
            DiskConfiguration::Snapshot(lines) => Self::Snapshot(lines),
            DiskConfiguration::LeftOut(why) => Self::LeftOut(why),
        }
    }
}

#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
#[serde(default)]
struct DiskClock {
    monotonic_ns: u64,
    realtime_ns: u64,
}

/// A rung by its word.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct DiskRung(Rung);

impl Default for DiskRung {
    fn default() -> Self {
        Self(Meta::default().rung)
    }
}

impl TryFrom<String> for DiskRung {
    type Error = culprit_model::UnknownLabel;
    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse().map(Self)
    }
}

impl From<DiskRung> for String {
    fn from(rung: DiskRung) -> Self {
        rung.0.to_string()
    }
}

impl From<ClockPair> for DiskClock {
    fn from(pair: ClockPair) -> Self {
        Self { monotonic_ns: pair.monotonic, realtime_ns: pair.realtime }
    }
}

impl From<DiskClock> for ClockPair {
    fn from(pair: DiskClock) -> Self {
        Self { monotonic: pair.monotonic_ns, realtime: pair.realtime_ns }
    }
}

impl From<&Meta> for Body {
    fn from(meta: &Meta) -> Self {
        Self {
            tool: meta.tool.clone(),
            command: meta.command.clone(),
            place: meta.place.clone(),
            place_facts: meta.place_facts.clone(),
            start: meta.start.into(),
            end: meta.end.into(),
            wall_ns: meta.wall.0,
            command_span: meta.command_span.map(|(from, to)| (from.0, to.0)),
            root_process: meta.root_process.map(|p| p.0),
            exit_code: meta.exit_code,
            rung: DiskRung(meta.rung),
            degraded: meta.degraded.clone(),
            kernel: meta.kernel.clone(),
            cpus: meta.cpus,
            frequency: meta.frequency,
            later_frequency: meta.later_frequency,
            recorder_memory_bytes: meta.recorder_memory_bytes,
            recorder_cpu_ns: meta.recorder_cpu.0,
            complete: meta.complete,
            stopped: None,
            configuration: meta.configuration.clone().map(DiskConfiguration::from),
        }
    }
}

impl From<Body> for Meta {
    fn from(body: Body) -> Self {
        Self {
            tool: body.tool,
            command: body.command,
            place: body.place,
            place_facts: body.place_facts,
            start: body.start.into(),
            end: body.end.into(),
            wall: Nanos(body.wall_ns),
            command_span: body.command_span.map(|(from, to)| (Time(from), Time(to))),
            root_process: body.root_process.map(ProcessId),
            exit_code: body.exit_code,
            rung: body.rung.0,
            degraded: body.degraded,
            kernel: body.kernel,
            cpus: body.cpus,
            frequency: body.frequency,
            later_frequency: body.later_frequency,
            recorder_memory_bytes: body.recorder_memory_bytes,
            recorder_cpu: Nanos(body.recorder_cpu_ns),
            complete: body.complete,
            configuration: body.configuration.map(KeptConfiguration::from),
        }
    }
}

/// The bytes of `meta.json`, indented for people who unpack the file.
pub(crate) fn meta_to_json(meta: &Meta) -> Result<Vec<u8>, serde_json::Error> {
    json(meta.into())
}

/// As [`meta_to_json`], with the reason why the recorder could not go on.
pub(crate) fn stopped_to_json(meta: &Meta, why: &str) -> Result<Vec<u8>, serde_json::Error> {
    json(Body { stopped: Some(why.to_owned()), ..meta.into() })
}

fn json(body: Body) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(&DiskMeta { schema: SCHEMA, body })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Why the recorder could not go on, if a `meta.json` of this version says so.
pub(crate) fn parse_stopped(bytes: &[u8]) -> Option<String> {
    serde_json::from_slice::<DiskMeta>(bytes).ok()?.body.stopped
}

/// The schema and the writer, from a `meta.json` of any version.
pub(crate) fn parse_head(bytes: &[u8]) -> Result<Head, serde_json::Error> {
    serde_json::from_slice(bytes)
}

/// The whole of a `meta.json` of this version.
pub(crate) fn parse_meta(bytes: &[u8]) -> Result<Meta, serde_json::Error> {
    serde_json::from_slice::<DiskMeta>(bytes).map(|disk| disk.body.into())
}
