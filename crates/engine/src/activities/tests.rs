//! Edges by hand, and what is made of them.

use culprit_model::{
    Activity, ActivityEdge, ActivityId, ActivitySource, Cause, EdgeKind, Filter, LossKind, Nanos,
    Recording, Root, Text, ThreadId, Time, notation,
};

use super::{Survey, build, quantile};
use crate::calls::{CallTree, Query, select};

const MS: u64 = 1_000_000;

/// A recording, and edges as lines `TIME THREAD KIND NAME [KEY]`, times in ms. Requests that are
/// called `call` were sent, others received.
pub(super) fn recording(drawing: &str, edges: &str) -> Recording {
    let mut recording = notation::parse(drawing).expect("the notation is right");
    for line in edges.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let source = match (words[2], words[3]) {
            ("ask" | "answer", "call") => ActivitySource::Call,
            ("ask" | "answer", _) => ActivitySource::Serve,
            _ => ActivitySource::Function,
        };
        recording.activity_edges.push(ActivityEdge {
            time: Time(words[0].parse::<u64>().expect("a time") * MS),
            thread: ThreadId(words[1].parse().expect("a thread")),
            kind: words[2].parse().expect("a kind of edge"),
            name: Text::from(words[3]),
            key: words.get(4).map(|key| Text::from(*key)),
            source,
        });
    }
    build(&mut recording);
    recording
}

/// Activities as `name key start-end <parent`, times in ms.
fn shown(recording: &Recording) -> Vec<String> {
    let show = |row: &Activity| {
        let key = row.key.as_ref().map_or(String::new(), |key| format!(" {key}"));
        let end = row.end.map_or("?".to_owned(), |end| (end.0 / MS).to_string());
        let parent = row.parent.map_or(String::new(), |id| format!(" <{id}"));
        format!("{}{key} {}-{end}{parent}", row.name, row.start.0 / MS)
    };
    recording.activities.iter().map(show).collect()
}

/// Work as `thread activity start+length`, times in ms.
fn work(recording: &Recording) -> Vec<String> {
    let show = |row: &culprit_model::ActivityWork| {
        format!("{} {} {}+{}", row.thread, row.activity, row.start.0 / MS, row.duration.0 / MS)
    };
    recording.activity_work.iter().map(show).collect()
}

const TWO: &str = "
    stack m cpu.user main;loop
    stack w cpu.user work;handle
    app(1)/main(1)    mmmmmmmmmmmmmmmmmmmm
    app(1)/worker(2)  sssswwwwssssssssssss
";

#[test]
fn what_a_thread_enters_nests_and_each_instant_is_the_innermosts() {
    let found = recording(TWO, "2 0 enter a\n5 0 enter b\n8 0 leave b\n9 0 leave a");
    assert_eq!(shown(&found), ["a 2-9", "b 5-8 <0"]);
    assert_eq!(work(&found), ["0 0 2+3", "0 1 5+3", "0 0 8+1"]);
    let rows = found.intervals.iter().filter(|row| row.thread == ThreadId(0));
    let starts: Vec<u64> = rows.map(|row| row.start.0 / MS).collect();
    assert_eq!(starts, [0, 2, 5, 8, 9], "intervals are cut where the owner changes");
    assert!(found.losses.is_empty() && found.activity_edges.is_empty());
}

#[test]
fn what_is_handed_on_is_worked_on_by_the_steps_of_its_key() {
    let edges = "1 0 start request k\n4 1 enter handle k\n8 1 leave handle\n10 0 stop request k";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["request k 1-10", "handle k 4-8 <0"]);
    let survey = Survey::of(&found);
    let request = survey.passed(ActivityId(0));
    assert_eq!((request.latency, request.nobody), (Nanos(9 * MS), Nanos(5 * MS)));
    assert_eq!((request.cpu, survey.passed(ActivityId(1)).nobody), (Nanos(4 * MS), Nanos(0)));
    assert_eq!(survey.causes(ActivityId(0)), [(Cause::CpuUser, Nanos(4 * MS))]);
}

#[test]
fn entering_a_started_activity_is_work_on_it() {
    let edges = "1 0 start request k\n4 1 enter request k\n6 1 leave request\n9 0 stop request k";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["request k 1-9"]);
    assert_eq!(work(&found), ["1 0 4+2"]);
}

#[test]
fn ends_without_a_beginning_and_ends_by_others_are_losses() {
    let edges = "1 0 leave a\n2 0 stop b k\n3 0 enter c\n4 0 enter d\n5 0 leave c\n6 0 enter e";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["c 3-5", "d 4-5 <0", "e 6-?"]);
    assert_eq!(work(&found).last().map(String::as_str), Some("0 2 6+14"));
    let told: Vec<_> = found.losses.iter().map(|row| (row.kind, row.count)).collect();
    assert_eq!(told, [(LossKind::ActivitiesUnpaired, 2), (LossKind::ActivitiesUnpaired, 1)]);
}

#[test]
fn of_two_that_are_started_alike_the_younger_stops_first() {
    let edges = "1 0 start a k\n3 1 start a k\n5 0 stop a k\n9 1 stop a k";
    assert_eq!(shown(&recording(TWO, edges)), ["a k 1-9", "a k 3-5 <0"]);
    // Keys of another process are others.
    let two = format!("{TWO}\n    sub(7)/sub(7) mmmm");
    let edges = "1 0 start a k\n2 2 start a k\n3 2 stop a k\n4 0 stop a k";
    assert_eq!(shown(&recording(&two, edges)), ["a k 1-4", "a k 2-3"]);
}

#[test]
fn a_path_is_part_of_the_longest_path_that_it_begins_with() {
    let edges = "1 0 start a /1/\n2 1 start b /1/2/3/\n3 1 start c /1/2/\n4 0 start d /1/2/7/\n\
        5 0 start e /10/\n6 0 start f /1/2\n7 0 stop c /1/2/\n8 1 start g /1/2/9/";
    let shown = shown(&recording(TWO, edges));
    let expected = [
        "a /1/ 1-?",
        "b /1/2/3/ 2-? <0",
        "c /1/2/ 3-7 <0",
        "d /1/2/7/ 4-? <2",
        "e /10/ 5-?",
        "f /1/2 6-?",
        "g /1/2/9/ 8-? <0",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn sums_by_name_count_recursion_once() {
    let edges = "0 0 enter f\n2 0 enter f\n6 0 leave f\n10 0 leave f\n12 0 enter f\n14 0 leave f";
    let found = recording(TWO, edges);
    let rows = Survey::of(&found).by_name(|_, _| true);
    assert_eq!((rows.len(), rows[0].ended.len(), rows[0].open), (1, 3, 0));
    assert_eq!(rows[0].passed.latency, Nanos(12 * MS));
    assert_eq!(rows[0].passed.cpu, Nanos(12 * MS));
    assert_eq!(rows[0].latencies, [2, 4, 10].map(|ms| Nanos(ms * MS)));
    assert_eq!(quantile(&rows[0].latencies, 0.5), Some(Nanos(4 * MS)));
    assert_eq!(quantile(&rows[0].latencies, 0.99), Some(Nanos(10 * MS)));
    assert_eq!(quantile(&[], 0.5), None);
    let slowest = Survey::of(&found).slowest(rows[0].ended.clone(), 2);
    assert_eq!(slowest, [ActivityId(0), ActivityId(1)]);
}

const HANDED: &str =
    "1 0 start request k\n4 1 enter handle k\n8 1 leave handle\n10 0 stop request k";

#[test]
fn a_tree_rooted_at_activities_holds_all_of_the_time() {
    let found = recording(TWO, HANDED);
    let filter = Filter { root: Root::Activities, ..Filter::default() };
    let tree = CallTree::of(&found, &Query::compile(&filter).expect("compiles"));
    assert_eq!(tree.total(), 40 * MS);
    let paths = crate::calls::by_name(&tree);
    let named = |name: &str| paths.iter().find(|row| row.name.as_str() == name).map(|row| row.inc);
    assert_eq!(named("(Activities)"), Some(4 * MS));
    assert_eq!(named("(Non-Activities)"), Some(36 * MS));
    assert_eq!(named("Activity request"), Some(4 * MS));
    assert_eq!(named("Activity handle"), Some(4 * MS));
    let picked = select(&found, &Query::compile(&filter).expect("compiles"));
    assert_eq!(picked.rows.iter().map(|row| row.value).sum::<u64>(), 40 * MS);
    assert!(picked.steps.iter().any(|step| step.name.as_str() == "Activity handle"));
}

#[test]
fn an_activity_pattern_keeps_what_was_done_for_it_and_its_parts() {
    let found = recording(TWO, HANDED);
    for (pattern, kept) in [("request", 4), ("handle", 4), ("other", 0), ("", 40)] {
        let filter = Filter { activity: pattern.to_owned(), ..Filter::default() };
        let query = Query::compile(&filter).expect("compiles");
        assert_eq!(CallTree::of(&found, &query).total(), kept * MS, "{pattern}");
        let picked = select(&found, &query);
        assert_eq!(picked.rows.iter().map(|row| row.value).sum::<u64>(), kept * MS, "{pattern}");
    }
}

#[test]
fn a_cut_keeps_what_was_under_way_and_says_that_it_is_not_whole() {
    let mut found = recording(TWO, HANDED);
    crate::cut(&mut found, Time(5 * MS), Time(9 * MS));
    assert_eq!(shown(&found), ["request k 0-?", "handle k 0-? <0"]);
    assert_eq!(work(&found), ["1 1 0+3"]);
    let mut found = recording(TWO, HANDED);
    crate::cut(&mut found, Time(2 * MS), Time(9 * MS));
    assert_eq!(shown(&found), ["request k 0-?", "handle k 2-6 <0"]);
}

#[test]
fn every_kind_of_edge_is_told_by_its_word() {
    let kinds = ["enter", "leave", "start", "stop", "ask", "answer"].map(str::parse::<EdgeKind>);
    assert!(kinds.iter().all(Result::is_ok));
}

#[test]
fn a_request_is_from_its_first_byte_to_the_last_byte_before_the_next() {
    let edges = "1 0 ask serve c\n2 0 ask serve c\n5 0 answer serve c\n7 0 answer serve c
        12 0 ask serve c\n15 0 answer serve c";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["serve c 1-7", "serve c 12-15"]);
    assert_eq!(work(&found), ["0 0 1+1", "0 0 2+3", "0 0 5+2", "0 1 12+3"]);
    assert_eq!(Survey::of(&found).passed(ActivityId(0)).nobody, Nanos(0));
    let told = |id: u32| found.activities[id as usize].end_thread;
    assert_eq!((told(0), told(1)), (Some(ThreadId(0)), Some(ThreadId(0))));
    assert!(found.losses.is_empty());
}

#[test]
fn connections_are_apart_and_the_unanswered_stays_open() {
    let edges = "1 0 ask serve c\n2 0 ask serve d\n4 0 answer serve d\n6 0 answer serve c
        8 0 ask serve d";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["serve c 1-6", "serve d 2-4", "serve d 8-?"]);
    // Of c it is known what was done until d was received.
    assert_eq!(work(&found), ["0 0 1+1", "0 1 2+2"]);
}

#[test]
fn who_receives_and_does_not_answer_did_not_work_on_it() {
    let edges = "1 0 ask serve c\n4 1 enter handle\n6 1 answer serve c\n8 1 leave handle";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["serve c 1-6", "handle 4-8 <0"]);
    assert_eq!(work(&found), ["1 1 4+2", "1 1 6+2"]);
    assert_eq!(Survey::of(&found).passed(ActivityId(0)).nobody, Nanos(3 * MS));
    // What it does besides stays its own.
    let edges = format!("0 0 enter loop\n{edges}");
    let found = recording(TWO, &edges);
    assert_eq!(work(&found)[..2], ["0 0 0+1", "0 0 1+19"]);
}

#[test]
fn what_a_server_asks_others_is_part_of_what_it_serves() {
    let edges = "1 0 ask serve c\n3 0 ask call d\n6 0 answer call d\n7 0 enter show
        8 0 leave show\n9 0 answer serve c\n10 0 enter log\n11 0 leave log\n12 0 ask call d
        13 0 answer call d";
    let found = recording(TWO, edges);
    let whole = ["serve c 1-9", "call d 3-6 <0", "show 7-8 <0", "log 10-11", "call d 12-13"];
    assert_eq!(shown(&found), whole);
    let worked = ["0 0 1+2", "0 1 3+3", "0 0 6+1", "0 2 7+1", "0 0 8+1", "0 3 10+1", "0 4 12+1"];
    assert_eq!(work(&found), worked);
}

#[test]
fn a_request_outlasts_the_function_that_received_it() {
    let edges = "1 0 enter read\n2 0 ask serve c\n3 0 leave read\n4 0 enter handle
        5 0 leave handle\n6 0 answer serve c";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["read 1-3", "serve c 2-6", "handle 4-5 <1"]);
    assert_eq!(work(&found), ["0 0 1+1", "0 1 2+1", "0 1 3+1", "0 2 4+1", "0 1 5+1"]);
    assert!(found.losses.is_empty());
}

#[test]
fn answers_without_a_request_are_told_once_a_connection() {
    let edges = "1 0 answer serve c\n2 0 answer serve c\n3 0 ask serve c\n4 0 answer serve c";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["serve c 3-4"]);
    let told: Vec<_> = found.losses.iter().map(|row| (row.kind, row.count)).collect();
    assert_eq!(told, [(LossKind::ActivitiesUnpaired, 1)]);
}

#[test]
fn the_same_bytes_may_have_two_names() {
    let edges = "1 0 ask all c\n1 0 ask web c\n5 0 answer all c\n5 0 answer web c
        6 0 ask all c\n6 0 ask web c\n9 0 answer all c\n9 0 answer web c";
    let found = recording(TWO, edges);
    assert_eq!(shown(&found), ["all c 1-5", "web c 1-5 <0", "all c 6-9", "web c 6-9 <2"]);
    assert_eq!(work(&found), ["0 1 1+4", "0 3 6+3"]);
}
