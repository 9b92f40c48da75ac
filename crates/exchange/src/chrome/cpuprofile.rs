//! A V8 CPU profile as a file of its own: `node --cpu-prof`, "Save profile" in Chromium.

use serde::Deserialize;

use super::v8::{Node, Profile};
use crate::builder::Builder;
use crate::format::Refusal;
use crate::input::Input;
use crate::json::{self, Loose, Number};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(borrow)]
    nodes: Vec<Loose<Node<'a>>>,
    #[serde(default)]
    start_time: Number,
    #[serde(default)]
    end_time: Number,
    #[serde(default)]
    samples: Vec<Number>,
    #[serde(default)]
    time_deltas: Vec<Number>,
}

pub(super) fn detect(head: &[u8]) -> bool {
    json::is_object(head)
        && json::mentions(head, "\"nodes\"")
        && (json::mentions(head, "\"callFrame\"") || json::mentions(head, "\"timeDeltas\""))
        && !json::mentions(head, "\"traceEvents\"")
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let text = input.text()?;
    let file: File<'_> = json::document(&text, builder)?;
    let mut profile = Profile::default();
    profile.starts_at(file.start_time);
    profile.ends_at(file.end_time);
    profile.nodes(&file.nodes, builder);
    profile.samples(&file.samples, &file.time_deltas);
    if let Some(start) = file.start_time.scaled(3).and_then(|start| u64::try_from(start).ok()) {
        builder.starts_at(start);
    }
    profile.finish(builder, None, true);
    Ok(())
}
