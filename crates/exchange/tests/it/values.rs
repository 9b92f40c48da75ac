//! What fixtures hold: the sum of each metric and a stack of each, next to what the tools that
//! wrote them say. Losses are part of it.

use std::fmt::Write as _;
use std::path::Path;

use culprit_exchange::read;
use culprit_model::{LossKind, Recording, Text};

use crate::round_trip::{fixtures, sums};

/// The heaviest stack and the sum of each metric, the losses, the threads.
fn summary(recording: &Recording) -> String {
    let mut text = String::new();
    let sums = sums(recording);
    let mut metrics: Vec<_> = sums.keys().map(|(metric, _)| *metric).collect();
    metrics.dedup();
    for metric in metrics {
        let of = || sums.iter().filter(|((of, _), _)| *of == metric);
        let total: u64 = of().map(|(_, value)| value).sum();
        let counts = recording.costs.iter().filter(|cost| cost.metric == metric);
        let count: u64 = counts.map(|cost| cost.count).sum();
        let _ = writeln!(text, "{metric} {total} in {count} samples, {} stacks", of().count());
        if let Some(((_, stack), value)) = of().max_by_key(|(_, value)| **value) {
            let _ = writeln!(text, "  {value} {stack}");
        }
    }
    for thread in &recording.threads {
        let process = recording.process_name(thread.process);
        let _ = writeln!(text, "thread {process} {} ({})", thread.name, thread.tid.0);
    }
    for edge in &recording.activity_edges {
        let (time, kind, thread) = (edge.time.0, edge.kind, edge.thread);
        let key = edge.key.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{time} {kind} {} ({key}) on {thread}", edge.name);
    }
    let _ = writeln!(text, "over {} ns", recording.meta.wall.0);
    // Which files and which kernel are here is the machine's.
    let here = [LossKind::ModulesUnreadable, LossKind::KernelSymbolsMissing];
    for loss in recording.losses.iter().filter(|loss| !here.contains(&loss.kind)) {
        let _ = writeln!(text, "{} {} {}", loss.kind, loss.count, loss.detail);
    }
    text
}

#[test]
fn fixtures_hold_what_their_tools_say() {
    let mut text = String::new();
    for (format, path) in fixtures() {
        let name = path.file_name().map(Path::new).expect("a name");
        let imported = read(&path, None, &mut |_, _| ()).expect("a fixture");
        let _ = writeln!(text, "== {format}/{}", name.display());
        text.push_str(&summary(&imported.recording));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn rows_are_in_order_and_point_to_what_is_there() {
    for (_, path) in fixtures() {
        let recording = read(&path, None, &mut |_, _| ()).expect("a fixture").recording;
        assert!(
            recording.costs.is_sorted_by_key(|cost| (cost.thread, cost.time)),
            "{}",
            path.display()
        );
        for cost in &recording.costs {
            assert!(cost.thread.is_none_or(|id| id.index() < recording.threads.len()));
            assert!(cost.stack.is_none_or(|id| id.index() < recording.stacks.len()));
            let end = cost.time.0 + cost.duration.0;
            assert!(end <= recording.meta.wall.0, "{}: {cost:?}", path.display());
            assert!(
                !cost.metric.is_time() || cost.duration.0 == 0 || cost.duration.0 == cost.value
            );
        }
        let edges = &recording.activity_edges;
        assert!(edges.is_sorted_by_key(|edge| edge.time));
        assert!(edges.iter().all(|edge| edge.thread.index() < recording.threads.len()));
        let empty = Text::default();
        assert!(recording.frames.iter().all(|frame| frame.function != empty));
    }
}
