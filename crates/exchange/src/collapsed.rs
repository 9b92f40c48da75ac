//! Collapsed (folded) stacks: `main;parse;memcpy 12`, root first, one line a stack.
//!
//! The form that flamegraph.pl, stackcollapse scripts, async-profiler, py-spy and bpftrace share.
//! Nobody specified it: names hold spaces and whatever else, so the number is what stands after
//! the last space. A `;` in a name cannot be told from one between names; on the way out it becomes
//! a `:`. difffolded.pl writes two numbers, before and after: the second is taken where every line
//! ends in two.

use std::io::{self, BufRead as _, Read as _, Write};

use culprit_model::{LossKind, Metric, StackId, Step, StepId};

use crate::builder::{Amount, Builder};
use crate::decimal::Decimal;
use crate::door::{Sign, Votes};
use crate::format::{Refusal, Spec};
use crate::input::Input;
use crate::profile::Profile;
use crate::weights::{Unit, Weights};

pub(crate) const SPEC: Spec = Spec {
    extensions: &["folded", "collapsed", "txt"],
    about: "folded stacks, one line each: flamegraph.pl, async-profiler, py-spy, bpftrace",
    detect,
    read: Some(read),
    write: Some(write),
};

/// Longer lines are no stacks.
const LONGEST_LINE: u64 = 16 << 20;

/// What we write in front of stacks that look like something else: like comments, or like two
/// columns of numbers.
const PLAIN: &str = "# culprit: each line is a stack and one number";

/// Text of which nearly each line is a stack, and one of them at least has two names: any other
/// text with a number at its end would do otherwise.
fn detect(head: &[u8]) -> bool {
    Votes::count(head, sign).win_clearly()
}

/// Whether text may be stacks of one name each, or anything else with a number at each line's end.
pub(crate) fn is_flat(head: &[u8]) -> bool {
    let votes = Votes::count(head, sign);
    votes.fits > 0 && votes.sure + votes.in_front + votes.between == 0
}

fn sign(line: &str) -> Option<Sign> {
    let control = |byte: u8| byte.is_ascii_control() && byte != b'\t';
    match parse(line) {
        _ if is_comment(line) => None,
        Some(_) if line.bytes().any(control) => Some(Sign::Foreign),
        Some((stack, _)) if stack.contains(';') => Some(Sign::Sure),
        Some(_) => Some(Sign::Fits),
        None => Some(Sign::Foreign),
    }
}

/// Names may begin with `#`, too: `#<Class:0x1>;new 3` is a stack.
fn is_comment(line: &str) -> bool {
    let rest = line.trim_start();
    rest.is_empty()
        || (rest.starts_with('#')
            && parse(line).is_none_or(|(stack, _)| rest.starts_with("# ") && !stack.contains(';')))
}

/// The names and the number of a line.
fn parse(line: &str) -> Option<(&str, Decimal)> {
    let (stack, number) = line.trim_end().rsplit_once([' ', '\t'])?;
    Some((stack.trim_end(), Decimal::parse(number)?)).filter(|(stack, _)| !stack.is_empty())
}

/// What the lines of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    One,
    /// One, and no line is a comment.
    Plain,
    /// Before and after.
    Two,
}

/// Whether every line that is a stack ends in two numbers.
fn columns(input: &mut Input<'_>) -> Result<Columns, Refusal> {
    let mut bytes = Vec::new();
    let mut two = false;
    loop {
        bytes.clear();
        let mut line = input.by_ref().take(LONGEST_LINE);
        let read = line.read_until(b'\n', &mut bytes).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&bytes);
        let one = match parse(&text) {
            _ if text.trim_end() == PLAIN => return Ok(Columns::Plain),
            _ if is_comment(&text) => false,
            Some((stack, _)) => {
                let second = parse(stack).is_some();
                two |= second;
                !second
            }
            None => false,
        };
        if one || read == 0 {
            input.rewind().map_err(|error| error.to_string())?;
            return Ok(if two && !one { Columns::Two } else { Columns::One });
        }
    }
}

fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let columns = columns(input)?;
    let (mut bad, mut nameless) = (0_u64, 0_u64);
    let mut weights = Weights::new(Unit::Free);
    let mut rows = 0_u64;
    input.lines(LONGEST_LINE, |line, whole| match parse(line).filter(|_| whole) {
        _ if columns != Columns::Plain && is_comment(line) => {}
        None if line.trim().is_empty() => {}
        Some((stack, weight)) => {
            rows += 1;
            let before = parse(stack).filter(|_| columns == Columns::Two);
            let stack = before.map_or(stack, |(stack, _)| stack);
            let (leaf, empty) = add(builder, stack);
            nameless += u64::from(empty);
            let amount = Amount { count: 0, ..Amount::at(leaf, Metric::Samples, 0) };
            weights.push(amount, weight);
        }
        None => bad += 1,
    })?;
    if rows == 0 {
        return Err("no line has a stack and a number after it".to_owned());
    }
    weights.finish(builder, |builder, amount| {
        // The first column of a difference may be all that a stack has.
        if amount.value > 0 || columns != Columns::Two {
            builder.add(amount);
        }
    });
    if columns == Columns::Two {
        let what = "lines end in two numbers, as difffolded.pl writes them: the second counts; to \
                    compare, import both profiles and use `culprit diff`";
        builder.lose(LossKind::MetricGuessed, rows, what);
    }
    for (kind, count, what) in [
        (LossKind::RecordsMalformed, bad, "lines that are not a stack with a number"),
        (LossKind::DetailLeftOut, nameless, "stacks with frames without a name"),
    ] {
        if count > 0 {
            builder.lose(kind, count, what);
        }
    }
    Ok(())
}

/// The stack of a line, and whether a frame of it has no name.
fn add(builder: &mut Builder, stack: &str) -> (Option<StackId>, bool) {
    let (mut leaf, mut empty) = (None, false);
    for name in stack.split(';') {
        if name.is_empty() {
            empty = true;
            continue;
        }
        let frame = builder.named(name);
        leaf = Some(builder.push(leaf, frame));
    }
    // A `;` at either end is how some tools write.
    (leaf, empty && stack.trim_matches(';').contains(";;"))
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
    if steps.iter().any(|step| step.parent.is_none() && looks_foreign(&step.name))
        || steps
            .iter()
            .zip(&sums)
            .filter(|(_, sum)| sum.is_some())
            .all(|(step, _)| parse(&format!("x{}", step.name)).is_some())
    {
        writeln!(out, "{PLAIN}")?;
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
        line.push_str(&steps[id.index()].name.replace([';', '\n', '\r'], ":"));
        if let Some(value) = sums[id.index()] {
            writeln!(out, "{line} {value}")?;
        }
        left.extend(of(Some(id)).map(|id| (*id, line.len())));
    }
    Ok(())
}

/// Whether a root's name looks like a comment, or like the mark of a text's encoding.
fn looks_foreign(name: &str) -> bool {
    name.trim_start().starts_with('#') || name.starts_with('\u{feff}')
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

    fn parsed(line: &str) -> Option<(&str, i128)> {
        parse(line).map(|(stack, number)| (stack, number.scaled(1).unwrap()))
    }

    #[test]
    fn the_number_stands_after_the_last_space() {
        assert_eq!(parsed("a;b c(int, char) 12"), Some(("a;b c(int, char)", 120)));
        assert_eq!(parsed("a 1.6"), Some(("a", 16)));
        assert_eq!(parsed("a -3"), Some(("a", -30)));
        assert_eq!(parsed("a"), None);
        assert_eq!(parsed(" 3"), None);
    }

    #[test]
    fn other_text_is_not_taken_for_stacks() {
        assert!(detect(b"main;a 1\nmain 2\n"));
        assert!(detect(b"# comment\nmain;a 1"));
        assert!(detect(b"main;a 5\nmain;b -3\n"));
        assert!(detect(b"Attaching 1 probe...\nmain;a 5\nmain;b 3\n"));
        assert!(!detect(b"int a; int b = 1\n{\nreturn a; }\n"));
        assert!(!detect(b"Chapter 1\nverse 2\n"));
        assert!(!detect(b"key;value\n"));
        assert!(!detect(b""));
        assert!(!detect(b"\x7fELF;a 1\nx"));
        assert!(is_flat(b"main 5\n") && is_flat(b"Chapter 1\nverse 2\n"));
        assert!(!is_flat(b"main;a 5\n") && !is_flat(b"Chapter\n") && !is_flat(b""));
    }

    #[test]
    fn a_name_may_begin_with_a_hash() {
        assert!(is_comment("# made by x 3") && is_comment("#") && is_comment("#made by x"));
        assert!(!is_comment("#<Class:0x1>;new 3") && !is_comment("# a;b 3") && !is_comment("#f 3"));
    }
}
