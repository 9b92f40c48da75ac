//! From a profile to one sampled speedscope profile a thread.
//!
//! Samples stand in the order of their times, end to end: the format has no gaps.

use std::io::{self, Write};

use culprit_model::Label as _;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::profile::Profile;
use crate::threads;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    active_profile_index: u32,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    metric: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

pub(super) fn write(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut frames = Vec::new();
    let mut known = FxHashMap::default();
    let mut profiles = Vec::new();
    for (thread, rows) in threads::split(profile) {
        let mut sampled = Sampled {
            kind: "sampled",
            name: threads::name(profile.recording, thread),
            unit: unit(profile),
            metric: profile.metric.word(),
            start_value: 0,
            end_value: 0,
            samples: Vec::with_capacity(rows.len()),
            weights: Vec::with_capacity(rows.len()),
        };
        for row in rows {
            let steps = threads::frames(profile, &row);
            let indices = steps.iter().map(|step| {
                let (file, line) = threads::source(profile, step);
                *known.entry((step.name.as_str(), file, line)).or_insert_with(|| {
                    frames.push(Frame { name: &step.name, file, line });
                    frames.len() - 1
                })
            });
            sampled.samples.push(indices.collect());
            sampled.weights.push(row.value);
            sampled.end_value = sampled.end_value.saturating_add(row.value);
        }
        profiles.push(sampled);
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("culprit@{}", env!("CARGO_PKG_VERSION")),
        name: profile.recording.meta.command.join(" "),
        active_profile_index: 0,
        shared: Shared { frames },
        profiles,
    };
    serde_json::to_writer(out, &file).map_err(io::Error::from)
}

fn unit(profile: &Profile<'_>) -> &'static str {
    match profile.metric.unit() {
        "ns" => "nanoseconds",
        "bytes" => "bytes",
        _ => "none",
    }
}
