//! What the lines of a text are, as far as each says it by itself.

use super::frame;
use super::head::{self, Head};
use crate::door::{Sign, Votes};

/// Lines that may begin a sample which vote on the fields, and bytes that are held until they are
/// there.
const VOTERS: usize = 200;
const MOST_HELD: usize = 16 << 20;

pub(in super::super) fn detect(head: &[u8]) -> bool {
    Votes::count(head, sign).win()
}

fn sign(line: &str) -> Option<Sign> {
    if line.starts_with('#') || is_source(line) {
        return None;
    }
    // Names in JSON may look like anything.
    if line.trim_start().starts_with("{\"") {
        return Some(Sign::Foreign);
    }
    let frame = frame::chained(line, true);
    if frame.is_some_and(|frame| !frame.symbol.is_empty()) {
        return Some(Sign::Sure);
    }
    if frame.is_some() {
        return Some(Sign::Fits);
    }
    if Head::readings(line).any(|head| head.is_sure()) {
        return Some(Sign::Sure);
    }
    Some(if head::is_record(line) { Sign::Fits } else { Sign::Foreign })
}

/// The lines of the beginning.
#[derive(Default)]
pub(super) struct Held {
    pub(super) lines: Vec<String>,
    bytes: usize,
    voters: usize,
}

impl Held {
    pub(super) fn push(&mut self, line: &str) {
        self.bytes += line.len();
        self.voters += usize::from(may_begin(line));
        self.lines.push(line.to_owned());
    }

    pub(super) fn is_full(&self) -> bool {
        self.voters >= VOTERS || self.bytes >= MOST_HELD
    }
}

/// Whether a line may begin a sample.
pub(super) fn may_begin(line: &str) -> bool {
    !line.trim().is_empty()
        && !line.starts_with('#')
        && !is_source(line)
        && !head::is_record(line)
        && frame::chained(line, true).is_none()
}

/// Whether a line names a place in a source file: `  parse.c:12`.
fn is_source(line: &str) -> bool {
    source(line).is_some()
}

/// File and line, and whether the frame above was inlined; 0 for an unknown line.
pub(super) fn source(line: &str) -> Option<(&str, u32, bool)> {
    let text = line.strip_prefix("  ").filter(|text| !text.starts_with(' '))?.trim_end();
    let (text, inlined) =
        text.strip_suffix(" (inlined)").map_or((text, false), |text| (text, true));
    let (file, number) = text.rsplit_once(':')?;
    let number = if number == "?" { 0 } else { number.parse().ok()? };
    (!file.is_empty() && !file.contains(": ")).then_some((file, number, inlined))
}
