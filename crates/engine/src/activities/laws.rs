//! Laws that hold for any edges, also such as no program makes.

use culprit_model::{
    ActivityEdge, ActivitySource, EdgeKind, Filter, Label as _, Nanos, Recording, Root, Text,
    ThreadId, Time, notation,
};
use proptest::prelude::*;

use super::{Survey, build};
use crate::calls::{CallTree, Query, select};

fn edges() -> impl Strategy<Value = Vec<ActivityEdge>> {
    let kinds = proptest::sample::select(EdgeKind::ALL);
    let sources = proptest::sample::select(ActivitySource::ALL);
    let names = proptest::sample::select(&["a", "b", "c"][..]);
    let keys = proptest::option::of(proptest::sample::select(&["k", "l"][..]));
    let edge = (0..24_000_000_u64, 0..5_u32, kinds, names, keys, sources);
    let edge = edge.prop_map(|(time, thread, kind, name, key, source)| ActivityEdge {
        time: Time(time),
        thread: ThreadId(thread),
        kind,
        name: Text::from(name),
        key: key.map(Text::from),
        source,
    });
    proptest::collection::vec(edge, 0..60)
}

fn recording(edges: Vec<ActivityEdge>) -> Recording {
    let drawing = "
        stack u cpu.user main;f
        stack k cpu.kernel main;g
        app(1)/main(1)    uuuukkkkssssrrrruuuu
        app(1)/one(2)     ..uuuulllluuuu|
        app(1)/two(3)     uuuussssssssssssssss
        sub(9)/sub(9)     kkkkuuuurrrruuuu";
    let mut recording = notation::parse(drawing).expect("the notation is right");
    recording.activity_edges = edges;
    build(&mut recording);
    recording
}

fn total(recording: &Recording, filter: &Filter) -> u64 {
    CallTree::of(recording, &Query::compile(filter).expect("compiles")).total()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn work_does_not_overlap_and_names_what_is_there(edges in edges()) {
        let found = recording(edges);
        let mut last = (ThreadId(0), Time::START);
        for row in &found.activity_work {
            prop_assert!((row.thread, row.start) >= last && row.duration > Nanos::ZERO);
            last = (row.thread, row.start + row.duration);
            let activity = &found.activities[row.activity.index()];
            prop_assert!(activity.start <= row.start);
        }
        for (at, activity) in found.activities.iter().enumerate() {
            prop_assert!(activity.parent.is_none_or(|parent| parent.index() < at));
            prop_assert!(activity.end.is_none_or(|end| end >= activity.start));
        }
        prop_assert!(found.activities.is_sorted_by_key(|row| row.start));
    }

    #[test]
    fn intervals_still_tile_and_each_has_one_owner(edges in edges()) {
        let (found, whole) = (recording(edges), recording(Vec::new()));
        let sum = |recording: &Recording| recording.intervals.iter().map(|row| row.duration).sum::<Nanos>();
        prop_assert_eq!(sum(&found), sum(&whole));
        for pair in found.intervals.windows(2).filter(|pair| pair[0].thread == pair[1].thread) {
            prop_assert_eq!(pair[0].start + pair[0].duration, pair[1].start);
        }
        for row in &found.intervals {
            prop_assert!(row.duration > Nanos::ZERO);
            for work in found.activity_work.iter().filter(|work| work.thread == row.thread) {
                let (from, to) = (work.start, work.start + work.duration);
                let apart = row.start + row.duration <= from || row.start >= to;
                prop_assert!(apart || (row.start >= from && row.start + row.duration <= to));
            }
        }
    }

    #[test]
    fn latency_is_worked_time_and_time_that_nobody_worked(edges in edges()) {
        let found = recording(edges);
        let survey = Survey::of(&found);
        for (at, activity) in found.activities.iter().enumerate() {
            let id = culprit_model::ActivityId::from_index(at);
            let passed = survey.passed(id);
            let Some(end) = activity.end else { continue };
            // Counted tick by tick of what is left when all edges of work are laid out.
            let mut edges: Vec<Time> = vec![activity.start, end];
            let is_part = |mut other: usize| loop {
                if other == at { break true; }
                match found.activities[other].parent { Some(up) => other = up.index(), None => break false }
            };
            let parts: Vec<_> =
                found.activity_work.iter().filter(|work| is_part(work.activity.index())).collect();
            edges.extend(parts.iter().flat_map(|work| [work.start, work.start + work.duration]));
            edges.retain(|edge| *edge >= activity.start && *edge <= end);
            edges.sort_unstable();
            let idle = edges.windows(2).filter(|pair| {
                !parts.iter().any(|work| work.start <= pair[0] && pair[1] <= work.start + work.duration)
            });
            let nobody: Nanos = idle.map(|pair| pair[1].since(pair[0])).sum();
            prop_assert_eq!(passed.nobody, nobody);
            prop_assert_eq!(passed.latency, end.since(activity.start));
        }
    }

    #[test]
    fn every_root_and_every_part_adds_up_to_the_whole(edges in edges()) {
        let found = recording(edges);
        let whole = found.intervals.iter().map(|row| row.duration.0).sum::<u64>();
        let rooted = Filter { root: Root::Activities, ..Filter::default() };
        prop_assert_eq!(total(&found, &rooted), whole);
        prop_assert_eq!(total(&found, &Filter::default()), whole);
        for name in ["a", "b", "c"] {
            let filter = Filter { activity: name.to_owned(), ..Filter::default() };
            let filter_rooted = Filter { root: Root::Activities, ..filter.clone() };
            let rows = select(&found, &Query::compile(&filter).expect("compiles")).rows;
            let picked = rows.iter().map(|row| row.value).sum::<u64>();
            prop_assert_eq!(total(&found, &filter), picked);
            prop_assert_eq!(total(&found, &filter_rooted), picked);
        }
    }
}
