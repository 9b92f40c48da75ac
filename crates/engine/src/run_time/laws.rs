//! Laws that run time keeps on random recordings.

use culprit_model::notation::parse;
use culprit_model::{Filter, Metric, Nanos, Recording, ThreadId, Time, WakeSource};
use proptest::prelude::*;

use super::{RunTime, is_link_name};
use crate::calls::{CallTree, Index, Query, select};
use crate::wakers::Scope;

/// Threads of two processes with waits that any thread may have ended, also one that could not, or a
/// timer; the first thread lives to its process's end.
fn recordings() -> impl Strategy<Value = Recording> {
    let thread = (any::<bool>(), 0..6_usize, "[abcpUlsr]{1,30}", any::<bool>());
    let wakers = proptest::collection::vec(proptest::option::of(0..7_usize), 1..20);
    (proptest::collection::vec(thread, 1..5), wakers).prop_map(|(threads, wakers)| {
        const STACKS: &str = "
            stack a cpu.user main;f;g
            stack b blocked.lock main;f;[kernel]!futex_wait
            stack c blocked.child main;wait;[kernel]!do_wait
            stack p blocked.lock runtime.schedule;[kernel]!futex_do_wait\n";
        let line = |(at, (second, born, strip, ends)): (usize, &(bool, usize, String, bool))| {
            let process = if *second && at > 0 { "cc(9)" } else { "app(1)" };
            let end = if *ends || at == 0 { "|" } else { "" };
            format!("{process}/t{at}({at}) {}{strip}{end}\n", ".".repeat(*born))
        };
        let threads: String = threads.iter().enumerate().map(line).collect();
        let mut recording = parse(&format!("{STACKS}{threads}root app(1)\n")).expect("a drawing");
        let count = recording.threads.len();
        let waits = recording.intervals.iter_mut().filter(|row| row.cause.is_blocked());
        for (row, waker) in waits.zip(wakers.iter().cycle()) {
            row.waker = waker.filter(|at| *at < count).map(ThreadId::from_index);
            row.woken_by = waker.map(|_| match row.waker {
                Some(_) => WakeSource::Thread,
                None => WakeSource::Timer,
            });
        }
        recording
    })
}

fn run(recording: &Recording, filter: &Filter) -> (RunTime, CallTree) {
    let query = Query::compile(filter).expect("compiles");
    let made = RunTime::build(recording, &query);
    let tree = Index::of(&made.recording).tree(&query);
    (made, tree)
}

/// The thread that ended the command, and when the command started, that thread ended, and the
/// command ended.
fn command(recording: &Recording) -> Option<(ThreadId, Time, Time, Time)> {
    let Scope::Command { thread, from, to } = Scope::of(recording) else { return None };
    let (_, end) = recording.meta.command_span?;
    Some((thread, from, to, end))
}

fn filter() -> Filter {
    Filter { metric: Metric::Run, ..Filter::default() }
}

/// Whose each row is, from when to when, in order.
fn rows(made: &RunTime) -> Vec<(ThreadId, Time, Time)> {
    let intervals = made.recording.intervals.iter();
    let intervals = intervals.map(|row| (row.thread, row.start, row.start + row.duration));
    let costs = made.recording.costs.iter();
    let costs =
        costs.map(|row| (row.thread.unwrap_or_default(), row.time, row.time + row.duration));
    let mut rows: Vec<_> = intervals.chain(costs).collect();
    rows.sort_unstable();
    rows
}

/// The one stretch that the rows of each thread tile; none where they leave a gap or overlap.
fn tiled(made: &RunTime) -> Option<Vec<(ThreadId, Time, Time)>> {
    let mut stretches: Vec<(ThreadId, Time, Time)> = Vec::new();
    for (thread, from, to) in rows(made) {
        match stretches.last_mut() {
            Some(last) if last.0 == thread && last.2 == from => last.2 = to,
            Some(last) if last.0 == thread => return None,
            _ => stretches.push((thread, from, to)),
        }
    }
    Some(stretches)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_commands_rows_tile_its_elapsed_time(recording in recordings()) {
        let (made, tree) = run(&recording, &filter());
        if let Some((thread, from, end, to)) = command(&recording) {
            let mut stretches = tiled(&made).expect("no gap and no overlap");
            stretches.sort_by_key(|(_, from, _)| *from);
            prop_assert_eq!(stretches.first().map(|first| first.1), Some(from));
            prop_assert_eq!(stretches.last().map(|last| last.2), Some(to));
            prop_assert!(stretches.windows(2).all(|pair| pair[0].2 == pair[1].1));
            prop_assert!(stretches.contains(&(thread, from, end)) || stretches == [(thread, from, to)]);
            prop_assert_eq!(tree.total(), to.since(from).0);
            prop_assert_eq!(made.total((Time::START, Time(u64::MAX))), to.since(from));
        }
    }

    #[test]
    fn a_ranges_total_is_its_length(recording in recordings(), ends in (0..40_000_u64, 0..40_000_u64)) {
        let range = (Time(ends.0.min(ends.1) * 1_000), Time(ends.0.max(ends.1) * 1_000));
        let filter = Filter { from: Some(range.0), to: Some(range.1), ..filter() };
        let (made, tree) = run(&recording, &filter);
        if let Some((_, from, _, to)) = command(&recording) {
            let within = range.1.min(to).since(range.0.max(from));
            prop_assert_eq!(tree.total(), within.0);
            prop_assert_eq!(made.total(range), within);
        }
    }

    #[test]
    fn selected_threads_and_processes_sum_to_their_lives(recording in recordings()) {
        let (made, tree) = run(&recording, &Filter { thread: "t".to_owned(), ..filter() });
        let lives = tiled(&made);
        let sum: Nanos = recording.intervals.iter().map(|row| row.duration).sum();
        prop_assert_eq!(tree.total(), sum.0);
        prop_assert_eq!(lives.map(|lives| lives.len()), Some(recording.threads.len()));
        let (made, tree) = run(&recording, &Filter { process: "(".to_owned(), ..filter() });
        let lives = tiled(&made).expect("each process has one path");
        // The command's own has a second one: the end of its process.
        prop_assert!(lives.len() <= recording.processes.len() + 1);
        prop_assert_eq!(tree.total(), lives.iter().map(|(_, from, to)| to.since(*from).0).sum::<u64>());
    }

    #[test]
    fn every_view_and_export_has_the_same_sum(recording in recordings()) {
        let erased = Filter { erase_ids: true, ..filter() };
        let (made, tree) = run(&recording, &erased);
        let whole = run(&recording, &filter()).1.total();
        prop_assert_eq!(tree.total(), whole);
        let names = tree.names();
        prop_assert!(names.ids().all(|id| !is_link_name(names.text(id)) || !names.text(id).contains('(')));
        let query = Query::compile(&erased).expect("compiles");
        let selection = select(&made.recording, &query);
        prop_assert_eq!(selection.rows.iter().map(|row| row.value).sum::<u64>(), whole);
        let parents = made.recording.stacks.iter().enumerate();
        prop_assert!(parents.into_iter().all(|(at, row)| row.parent.is_none_or(|above| above.index() < at)));
    }

    #[test]
    fn a_recording_without_an_end_counts_each_interval_at_most_once(recording in recordings()) {
        let mut recording = recording;
        recording.meta.root_process = None;
        let (made, tree) = run(&recording, &filter());
        let rows = rows(&made);
        prop_assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0 || pair[0].2 <= pair[1].1));
        let busy: u64 = recording.intervals.iter().filter(|row| !row.cause.is_blocked())
            .map(|row| row.duration.0).sum();
        let all: u64 = recording.intervals.iter().map(|row| row.duration.0).sum();
        prop_assert!((busy..=all).contains(&tree.total()));
    }
}
