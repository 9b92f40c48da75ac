//! From a thread's beginnings and ends to nested spans, and from those to the time of each stack.
//!
//! ```text
//! events     B parse        X read ---      E
//! spans      parse -------------------------
//!                           read ------
//! stacks     parse          parse;read parse
//! ```

use std::borrow::Cow;
use std::cmp::Reverse;

use culprit_model::{FrameId, StackId};

/// Open spans that are searched for the one that an end belongs to: it is the innermost in any
/// trace that makes sense, and a file of ends that fit nowhere must not take for ever.
const SEARCHED: usize = 1_000;

/// One event of a thread. Times are ns.
#[derive(Debug, Clone)]
pub(super) struct Mark<'a> {
    pub(super) time: u64,
    pub(super) what: What<'a>,
}

/// What an event says.
#[derive(Debug, Clone)]
pub(super) enum What<'a> {
    /// A span begins.
    Begin(FrameId, Cow<'a, str>),
    /// The innermost open span ends: the innermost of this name, where it says one.
    End(Cow<'a, str>),
    /// A span with its length.
    Whole(FrameId, u64),
}

/// A stretch of time in which a frame was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) frame: FrameId,
}

/// The spans of a thread in the order of their beginnings, outer ones first, and how many events do
/// not fit: ends without a beginning, beginnings without an end (these last until the thread's last
/// event).
pub(super) fn spans(mut marks: Vec<Mark<'_>>) -> (Vec<Span>, u64) {
    marks.sort_by_key(|mark| mark.time);
    let last = marks.iter().map(|mark| match mark.what {
        What::Whole(_, length) => mark.time.saturating_add(length),
        _ => mark.time,
    });
    let last = last.max().unwrap_or(0);
    let (mut spans, mut bad) = (Vec::new(), 0);
    let mut open: Vec<(usize, Cow<'_, str>)> = Vec::new();
    for Mark { time, what } in marks {
        match what {
            What::Whole(frame, length) => {
                spans.push(Span { start: time, end: time.saturating_add(length), frame });
            }
            What::Begin(frame, name) => {
                open.push((spans.len(), name));
                spans.push(Span { start: time, end: last, frame });
            }
            What::End(name) => {
                let same = |entry: &(usize, Cow<'_, str>)| name.is_empty() || entry.1 == name;
                let searched = open.len().saturating_sub(SEARCHED);
                let found = open[searched..].iter().rposition(same);
                let Some(at) = found.map(|at| searched + at) else {
                    bad += 1;
                    continue;
                };
                bad += (open.len() - 1 - at) as u64;
                for (span, _) in open.drain(at..) {
                    spans[span].end = time;
                }
            }
        }
    }
    bad += open.len() as u64;
    // The sort is stable: of equal spans, the one that the file has first is outside.
    spans.sort_by_key(|span| (span.start, Reverse(span.end)));
    (spans, bad)
}

/// The time that passed at each stack, in order: `push` makes the stack of a frame called by
/// another, `add` takes a stack with the start and the length of its time. Gives how many spans
/// outlast the one that they began in; they end with it.
pub(super) fn stacks(
    spans: &[Span],
    mut push: impl FnMut(Option<StackId>, FrameId) -> StackId,
    mut add: impl FnMut(StackId, u64, u64),
) -> u64 {
    let mut open: Vec<(u64, StackId)> = Vec::new();
    let (mut now, mut bad) = (0, 0);
    for span in spans {
        close(&mut open, &mut now, span.start, &mut add);
        let caller = open.last().copied();
        if let Some((_, stack)) = caller.filter(|_| span.start > now) {
            add(stack, now, span.start - now);
        }
        now = span.start;
        let end = caller.map_or(span.end, |(end, _)| end.min(span.end));
        bad += u64::from(end < span.end);
        open.push((end, push(caller.map(|(_, stack)| stack), span.frame)));
    }
    close(&mut open, &mut now, u64::MAX, &mut add);
    bad
}

/// Ends the open spans that end until a time.
fn close(
    open: &mut Vec<(u64, StackId)>,
    now: &mut u64,
    until: u64,
    add: &mut impl FnMut(StackId, u64, u64),
) {
    while let Some((end, stack)) = open.pop_if(|(end, _)| *end <= until) {
        if end > *now {
            add(stack, *now, end - *now);
            *now = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks as text: `0 B a`, `5 E a`, `5 E`, `1 X b 3`; stacks as `a;b@1+3`.
    fn check(text: &str, expected: &str, unfit: u64) {
        let mut names: Vec<String> = Vec::new();
        let mut frame = |name: &str| {
            let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            FrameId::from_index(at)
        };
        let marks = text.split(", ").map(|mark| {
            let words: Vec<&str> = mark.split(' ').collect();
            let name = words.get(2).copied().unwrap_or("").to_owned();
            let what = match words[1] {
                "B" => What::Begin(frame(&name), name.into()),
                "E" => What::End(name.into()),
                _ => What::Whole(frame(&name), words[3].parse().unwrap()),
            };
            Mark { time: words[0].parse().unwrap(), what }
        });
        let (spans, bad) = spans(marks.collect());
        let mut texts: Vec<String> = Vec::new();
        let texts_of = std::cell::RefCell::new(&mut texts);
        let mut out = Vec::new();
        let cut = stacks(
            &spans,
            |caller, frame| {
                let mut texts = texts_of.borrow_mut();
                let outer = caller.map_or(String::new(), |id| format!("{};", texts[id.index()]));
                texts.push(format!("{outer}{}", names[frame.index()]));
                StackId::from_index(texts.len() - 1)
            },
            |stack, from, length| {
                out.push(format!("{}@{from}+{length}", texts_of.borrow()[stack.index()]));
            },
        );
        assert_eq!((out.join(" ").as_str(), bad + cut), (expected, unfit), "{text}");
    }

    #[test]
    fn the_time_of_a_span_is_what_those_inside_leave() {
        check("0 B a, 2 X b 3, 10 E a", "a@0+2 a;b@2+3 a@5+5", 0);
        check("2 X b 3, 0 X a 10", "a@0+2 a;b@2+3 a@5+5", 0);
        check("0 X a 4, 6 X a 1", "a@0+4 a@6+1", 0);
        check("0 X a 4, 0 X b 4", "a;b@0+4", 0);
        check("0 B a, 1 B b, 2 E, 3 E", "a@0+1 a;b@1+1 a@2+1", 0);
    }

    #[test]
    fn events_that_do_not_fit_are_counted() {
        check("0 B a, 5 X b 1", "a@0+5 a;b@5+1", 1);
        check("3 E a, 4 X a 1", "a@4+1", 1);
        check("0 B a, 1 B b, 4 E a", "a@0+1 a;b@1+3", 1);
        check("0 X a 4, 2 X b 4", "a@0+2 a;b@2+2", 1);
    }
}
