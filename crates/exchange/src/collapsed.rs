//! Collapsed (folded) stacks: `main;parse;memcpy 12`, root first, one line a stack.
//!
//! The form that flamegraph.pl, stackcollapse scripts, async-profiler, py-spy and bpftrace share.
//! Nobody specified it: names hold spaces and whatever else, so the number is what stands after
//! the last space. A `;` in a name cannot be told from one between names; on the way out it becomes
//! a `:`.

use std::io::{self, Write};

use culprit_model::{LossKind, Metric, Step, StepId};

use crate::builder::{Amount, Builder};
use crate::format::{Refusal, Spec};
use crate::input::{Input, whole_lines};
use crate::profile::Profile;

pub(crate) const SPEC: Spec = Spec {
    extensions: &["folded", "collapsed", "txt"],
    about: "folded stacks, one line each: flamegraph.pl, async-profiler, py-spy, bpftrace",
    detect,
    read: Some(read),
    write: Some(write),
};

/// Longer lines are no stacks.
const LONGEST_LINE: u64 = 1 << 20;

/// Lines that are looked at: all must fit.
const LINES_LOOKED_AT: usize = 50;

/// Text of which each whole line is a stack, and one of them at least has two names: any other text
/// with a number at its end would do otherwise.
fn detect(head: &[u8]) -> bool {
    depth(head) == Some(Depth::Stacks)
}

/// Whether text may be stacks of one name each, or anything else with a number at each line's end.
pub(crate) fn is_flat(head: &[u8]) -> bool {
    depth(head) == Some(Depth::Names)
}

/// What lines with a number at their end are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Each is one name.
    Names,
    /// One of them at least has several.
    Stacks,
}

/// None for text of other lines, or of none.
fn depth(head: &[u8]) -> Option<Depth> {
    let text = String::from_utf8_lossy(whole_lines(head));
    let mut depth = None;
    for line in text.lines().filter(|line| !is_comment(line)).take(LINES_LOOKED_AT) {
        parse(line).filter(|(stack, _)| !stack.contains('\0'))?;
        let deep = depth == Some(Depth::Stacks) || line.contains(';');
        depth = Some(if deep { Depth::Stacks } else { Depth::Names });
    }
    depth
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// The names and the number of a line.
fn parse(line: &str) -> Option<(&str, u64)> {
    let (stack, number) = line.trim_end().rsplit_once(' ')?;
    Some((stack.trim_end(), count(number)?)).filter(|(stack, _)| !stack.is_empty())
}

/// Some tools write fractions.
fn count(number: &str) -> Option<u64> {
    if let Ok(count) = number.parse() {
        return Some(count);
    }
    let value: f64 =
        number.parse().ok().filter(|v: &f64| v.is_finite() && (0.0..1e18).contains(v))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    let rounded = value.round() as u64;
    Some(rounded)
}

fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let (mut good, mut bad) = (0_u64, 0_u64);
    input.lines(LONGEST_LINE, |line| match parse(line) {
        _ if is_comment(line) => {}
        Some((stack, value)) => {
            good += 1;
            add(builder, stack, value);
        }
        None => bad += 1,
    })?;
    if good == 0 {
        return Err("no line is a stack with a number behind it".to_owned());
    }
    if bad > 0 {
        builder.lose(LossKind::RecordsMalformed, bad, "lines that are no stack with a number");
    }
    Ok(())
}

fn add(builder: &mut Builder, stack: &str, value: u64) {
    let mut leaf = None;
    for name in stack.split(';').filter(|name| !name.is_empty()) {
        let frame = builder.named(name);
        leaf = Some(builder.push(leaf, frame));
    }
    builder.add(Amount { count: value, ..Amount::at(leaf, Metric::Samples, value) });
}

/// Stacks in the order of their names, callers before what they call.
fn write(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let steps = &profile.selection.steps;
    let mut sums: Vec<Option<u64>> = vec![None; steps.len()];
    for (leaf, value) in profile.sums() {
        match leaf {
            Some(leaf) => sums[leaf.index()] = Some(value),
            None => writeln!(out, " {value}")?,
        }
    }
    let called = called(steps);
    let of = |caller: Option<StepId>| {
        let from = called.partition_point(|id| steps[id.index()].parent < caller);
        let to = called.partition_point(|id| steps[id.index()].parent <= caller);
        called[from..to].iter().rev()
    };
    let mut line = String::new();
    // Each with the length of the line that names its callers.
    let mut left: Vec<(StepId, usize)> = of(None).map(|id| (*id, 0)).collect();
    while let Some((id, length)) = left.pop() {
        line.truncate(length);
        if length > 0 {
            line.push(';');
        }
        line.push_str(&steps[id.index()].name.replace([';', '\n'], ":"));
        if let Some(value) = sums[id.index()] {
            writeln!(out, "{line} {value}")?;
        }
        left.extend(of(Some(id)).map(|id| (*id, line.len())));
    }
    Ok(())
}

/// All steps by their callers, those of one caller by their names.
fn called(steps: &[Step]) -> Vec<StepId> {
    let mut called: Vec<StepId> = (0..steps.len()).map(StepId::from_index).collect();
    called.sort_by(|a, b| {
        let (a, b) = (&steps[a.index()], &steps[b.index()]);
        a.parent.cmp(&b.parent).then_with(|| a.name.cmp(&b.name))
    });
    called
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_after_the_last_space() {
        assert_eq!(parse("a;b c(int, char) 12"), Some(("a;b c(int, char)", 12)));
        assert_eq!(parse("a 1.6"), Some(("a", 2)));
        assert_eq!(parse("a"), None);
        assert_eq!(parse(" 3"), None);
        assert_eq!(parse("a -3"), None);
    }

    #[test]
    fn other_text_is_not_taken_for_stacks() {
        assert!(detect(b"main;a 1\nmain 2\n"));
        assert!(detect(b"# comment\nmain;a 1"));
        assert!(!detect(b"Chapter 1\nverse 2\n"));
        assert!(!detect(b"key;value\n"));
        assert!(!detect(b""));
        assert!(!detect(b"\x7fELF;a 1\nx"));
        assert!(is_flat(b"main 5\n") && is_flat(b"Chapter 1\nverse 2\n"));
        assert!(!is_flat(b"main;a 5\n") && !is_flat(b"Chapter\n") && !is_flat(b""));
    }
}
