//! Writes the XML form as PerfView saves it: names, stacks and samples by number.
//!
//! Its readers take every `Metric` for milliseconds unless the scaling says otherwise.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::profile::Profile;

pub(super) fn write(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let time = profile.metric.is_time();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<StackWindow>\n <StackSource>")?;
    stacks(profile, out)?;
    writeln!(out, "  <Samples Count=\"{}\">", profile.selection.rows.len())?;
    for (id, row) in profile.selection.rows.iter().enumerate() {
        let stack = row.leaf.map_or_else(|| "-1".to_owned(), |leaf| leaf.index().to_string());
        let metric = if time { milliseconds(row.value) } else { row.value.to_string() };
        let at = milliseconds(row.time.0);
        writeln!(
            out,
            "   <Sample ID=\"{id}\" Time=\"{at}\" StackID=\"{stack}\" Metric=\"{metric}\" />"
        )?;
    }
    let scaling = if time { "TimeMetric" } else { "ScaleToData" };
    writeln!(out, "  </Samples>\n </StackSource>\n <StackWindowGuiState>")?;
    writeln!(out, "  <ScalingPolicy>{scaling}</ScalingPolicy>\n </StackWindowGuiState>")?;
    writeln!(out, "</StackWindow>")
}

fn stacks(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut frames = Vec::new();
    let mut known = FxHashMap::default();
    let steps = &profile.selection.steps;
    let of_step: Vec<usize> = steps
        .iter()
        .map(|step| {
            *known.entry(&step.name).or_insert_with(|| {
                frames.push(&step.name);
                frames.len() - 1
            })
        })
        .collect();
    writeln!(out, "  <Frames Count=\"{}\">", frames.len())?;
    for (id, name) in frames.iter().enumerate() {
        writeln!(out, "   <Frame ID=\"{id}\">{}</Frame>", escaped(name))?;
    }
    writeln!(out, "  </Frames>\n  <Stacks Count=\"{}\">", steps.len())?;
    for (id, (step, frame)) in steps.iter().zip(of_step).enumerate() {
        let caller = step.parent.map_or_else(|| "-1".to_owned(), |at| at.index().to_string());
        writeln!(out, "   <Stack ID=\"{id}\" CallerID=\"{caller}\" FrameID=\"{frame}\" />")?;
    }
    writeln!(out, "  </Stacks>")
}

/// Milliseconds to the nanosecond, without an end of zeros.
fn milliseconds(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000, ns % 1_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:06}").trim_end_matches('0').to_owned()
}

/// A name as text of an element. Characters that XML cannot hold at all become `?`.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            '\t' => text.push('\t'),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => text.push('?'),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_nanoseconds() {
        assert_eq!(milliseconds(1_500_001), "1.500001");
        assert_eq!(milliseconds(2_000_000), "2");
        assert_eq!(milliseconds(100), "0.0001");
    }
}
