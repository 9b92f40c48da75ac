//! From a profile to one sampled speedscope profile a thread.
//!
//! Samples stand in the order of their times, end to end: the format has no gaps. They are written
//! as they come, and what their numbers stand for behind them.

use std::io::{self, Write};

use culprit_model::{Label as _, SelectedRow, Step, ThreadId};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::profile::Profile;
use crate::threads::{self, Threads};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Hash)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

pub(super) fn write(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let name = serde_json::to_string(&profile.recording.meta.command.join(" "))?;
    let version = env!("CARGO_PKG_VERSION");
    write!(out, "{{\"$schema\":\"{SCHEMA}\",\"exporter\":\"culprit@{version}\",\"name\":{name},")?;
    out.write_all(b"\"activeProfileIndex\":0,\"profiles\":[")?;
    let mut frames = Frames::default();
    for (at, (thread, rows)) in Threads::of(profile).iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        sampled(profile, out, (thread, rows), &mut frames)?;
    }
    out.write_all(b"],\"shared\":{\"frames\":")?;
    serde_json::to_writer(&mut *out, &frames.list)?;
    out.write_all(b"}}")
}

/// One thread's profile.
fn sampled<'a, 'r>(
    profile: &'a Profile<'_>,
    out: &mut dyn Write,
    (thread, rows): (Option<ThreadId>, impl Iterator<Item = &'r SelectedRow> + Clone),
    frames: &mut Frames<'a>,
) -> io::Result<()> {
    let name = serde_json::to_string(&threads::name(profile.recording, thread))?;
    let (unit, metric) = (unit(profile), profile.metric.word());
    let end = rows.clone().fold(0_u64, |sum, row| sum.saturating_add(row.value));
    write!(
        out,
        "{{\"type\":\"sampled\",\"name\":{name},\"unit\":\"{unit}\",\"metric\":\"{metric}\","
    )?;
    if let Some(thread) = thread.map(|id| profile.recording.thread(id)) {
        let process = profile.recording.process(thread.process);
        let text = |text: &str| serde_json::to_string(text);
        write!(
            out,
            "\"culprit\":{{\"process\":{},\"pid\":{},\"thread\":{},\"tid\":{}}},",
            text(&process.name)?,
            process.pid.0,
            text(&thread.name)?,
            thread.tid.0
        )?;
    }
    write!(out, "\"startValue\":0,\"endValue\":{end},\"samples\":[")?;
    let comma = |at: usize| if at > 0 { "," } else { "" };
    for (at, row) in rows.clone().enumerate() {
        write!(out, "{}[", comma(at))?;
        for (at, step) in threads::frames(profile, row).into_iter().enumerate() {
            write!(out, "{}{}", comma(at), frames.number(profile, step))?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"],\"weights\":[")?;
    for (at, row) in rows.enumerate() {
        write!(out, "{}{}", comma(at), row.value)?;
    }
    out.write_all(b"]}")
}

/// Frames in the order of their first use.
#[derive(Default)]
struct Frames<'a> {
    list: Vec<Frame<'a>>,
    known: FxHashMap<Frame<'a>, usize>,
}

impl<'a> Frames<'a> {
    fn number(&mut self, profile: &Profile<'a>, step: &'a Step) -> usize {
        let (file, line) = threads::source(profile, step);
        let frame = Frame { name: &step.name, file, line };
        *self.known.entry(frame).or_insert_with(|| {
            self.list.push(frame);
            self.list.len() - 1
        })
    }
}

fn unit(profile: &Profile<'_>) -> &'static str {
    match profile.metric.unit() {
        "ns" => "nanoseconds",
        "bytes" => "bytes",
        _ => "none",
    }
}
