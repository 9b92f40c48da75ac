//! Named stretches of threads' times, as activities.
//!
//! ```text
//! a |-----------------|      entered and left: what the thread does meanwhile is its
//!      b |----|              part of a
//!              c |---------| begins within a and outlasts it: started and stopped
//! ```

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_model::{EdgeKind, Text, ThreadId};

use crate::builder::{Builder, Edge};

/// A stretch of a thread's time.
#[derive(Debug, Clone)]
struct Span {
    start: u64,
    end: u64,
    name: Text,
}

/// The stretches of all threads.
#[derive(Debug, Default)]
pub(crate) struct Spans(BTreeMap<ThreadId, Vec<Span>>);

impl Spans {
    /// Adds one; times as in [`Edge`].
    pub(crate) fn add(&mut self, thread: ThreadId, (start, end): (u64, u64), name: Text) {
        self.0.entry(thread).or_default().push(Span { start, end, name });
    }

    /// Hands them on. Of two that overlap without one being inside the other, a thread cannot work
    /// on the later one for longer than on the earlier one around it: of that one only start and
    /// stop are told.
    pub(crate) fn finish(self, builder: &mut Builder) {
        for (thread, mut spans) in self.0 {
            // The sort is stable: of equal ones, the first is outside.
            spans.sort_by_key(|span| (span.start, Reverse(span.end)));
            let mut open: Vec<Span> = Vec::new();
            for span in spans {
                close(builder, thread, &mut open, span.start);
                if open.last().is_some_and(|around| around.end < span.end) {
                    apart(builder, thread, span);
                } else {
                    edge(builder, thread, (EdgeKind::Enter, span.start), &span.name, None);
                    open.push(span);
                }
            }
            close(builder, thread, &mut open, u64::MAX);
        }
    }
}

/// Ends the open ones that end until a time.
fn close(builder: &mut Builder, thread: ThreadId, open: &mut Vec<Span>, until: u64) {
    while let Some(span) = open.pop_if(|span| span.end <= until) {
        edge(builder, thread, (EdgeKind::Leave, span.end), &span.name, None);
    }
}

/// One that is inside of none and around none, told from others by a number.
fn apart(builder: &mut Builder, thread: ThreadId, span: Span) {
    let key = Text::from(builder.recording().activity_edges.len().to_string());
    let Span { start, end, name } = span;
    edge(builder, thread, (EdgeKind::Start, start), &name, Some(key.clone()));
    edge(builder, thread, (EdgeKind::Stop, end), &name, Some(key));
}

fn edge(
    builder: &mut Builder,
    thread: ThreadId,
    (kind, time): (EdgeKind, u64),
    name: &str,
    key: Option<Text>,
) {
    builder.edge(Edge { time, thread, kind, name, key });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans as `name start end`, edges as `+a@0` and `-a@9`, those apart in brackets.
    fn check(spans: &str, expected: &str) {
        let mut all = Spans::default();
        for span in spans.split(", ") {
            let words: Vec<&str> = span.split(' ').collect();
            let time = |at: usize| words[at].parse().unwrap();
            all.add(ThreadId(0), (time(1), time(2)), Text::from(words[0]));
        }
        let mut builder = Builder::default();
        all.finish(&mut builder);
        let mut edges = std::mem::take(&mut builder.recording().activity_edges);
        edges.sort_by_key(|edge| edge.time);
        let shown = edges.iter().map(|edge| {
            let (name, time) = (&edge.name, edge.time.0);
            match edge.kind {
                EdgeKind::Enter => format!("+{name}@{time}"),
                EdgeKind::Leave => format!("-{name}@{time}"),
                EdgeKind::Start => format!("[{name}@{time}"),
                EdgeKind::Stop => format!("{name}@{time}]"),
                other => format!("{other}"),
            }
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{spans}");
    }

    #[test]
    fn what_is_inside_ends_first_and_neighbours_do_not_touch() {
        check("b 2 9, a 0 9", "+a@0 +b@2 -b@9 -a@9");
        check("a 5 9, a 0 5", "+a@0 -a@5 +a@5 -a@9");
        check("a 0 9, b 0 9", "+a@0 +b@0 -b@9 -a@9");
        check("a 0 4, b 4 4, c 4 6", "+a@0 -a@4 +c@4 +b@4 -b@4 -c@6");
    }

    #[test]
    fn what_outlasts_the_one_around_it_is_told_apart() {
        check("a 0 5, b 3 9, c 4 5", "+a@0 [b@3 +c@4 -c@5 -a@5 b@9]");
        check("a 0 5, b 3 9, c 6 7", "+a@0 [b@3 -a@5 +c@6 -c@7 b@9]");
    }
}
