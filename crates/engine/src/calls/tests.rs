use culprit_model::notation::parse;
use culprit_model::{Cause, Filter, Guess, Recording, Time};

use super::{Butterfly, CallTree, NameId, NodeId, Query, by_name, flame};

const DRAWING: &str = "
    stack a cpu.user main;read;parse
    stack b cpu.user main;read
    stack c blocked.disk main;read;[kernel]!filemap_read
    stack d cpu.user main;sum
    app(1)/main(1)    aaabccccdd
    app(1)/worker(2)  ddddssssss";

fn recording() -> Recording {
    parse(DRAWING).expect("parses")
}

fn tree(filter: &Filter) -> CallTree {
    CallTree::of(&recording(), &Query::compile(filter).expect("compiles"))
}

/// The tree as lines of indented names with totals in ticks.
fn drawn(tree: &CallTree) -> String {
    let line = |id: NodeId| {
        let node = tree.node(id);
        format!(
            "{:indent$}{} {}\n",
            "",
            tree.name(id),
            ticks(node.total),
            indent = node.depth as usize
        )
    };
    tree.ordered().map(line).collect()
}

fn ticks(value: u64) -> u64 {
    value / 1_000_000
}

#[test]
fn a_tree_has_process_thread_frames_and_cause() {
    let filter = Filter { thread: "main".to_owned(), ..Filter::default() };
    assert_eq!(
        drawn(&tree(&filter)),
        "ROOT 10
 Process app (1) 10
  Thread main (1) 10
   app!main 10
    app!read 8
     [kernel]!filemap_read 4
      blocked.disk 4
     app!parse 3
      cpu.user 3
     cpu.user 1
    app!sum 2
     cpu.user 2
"
    );
}

#[test]
fn by_name_has_exclusive_and_inclusive_values() {
    let filter = Filter { fold: "^cpu.;^blocked.".to_owned(), ..Filter::default() };
    let tree = tree(&filter);
    let rows = by_name(&tree);
    let find = |name: &str| rows.iter().find(|row| row.name.as_str() == name).expect("a row");
    let read = find("app!read");
    assert_eq!((ticks(read.exc), ticks(read.inc), ticks(read.fold)), (1, 8, 1));
    assert_eq!((read.first, read.last), (Time(0), Time(8_000_000)));
    assert_eq!(ticks(find("app!sum").exc), 6);
    assert_eq!(ticks(find("[stack lost]").exc), 6);
    assert_eq!(rows.iter().map(|row| row.exc).sum::<u64>(), tree.total());
}

#[test]
fn metrics_keep_their_causes_and_time_is_clipped() {
    use culprit_model::Metric;
    let of = |metric| ticks(tree(&Filter { metric, ..Filter::default() }).total());
    assert_eq!((of(Metric::Wall), of(Metric::Cpu), of(Metric::Blocked)), (20, 10, 10));
    let filter =
        Filter { from: Some(Time(2_500_000)), to: Some(Time(3_500_000)), ..Filter::default() };
    assert_eq!(tree(&filter).total(), 2_000_000);
}

#[test]
fn include_wants_every_pattern_and_exclude_none() {
    let included = |include: &str| {
        ticks(tree(&Filter { include: include.to_owned(), ..Filter::default() }).total())
    };
    assert_eq!(included("!read;cpu.user"), 4);
    assert_eq!(included("!read;"), 8);
    assert_eq!(included("parse|sum"), 9);
    let exclude = "!read".to_owned();
    assert_eq!(ticks(tree(&Filter { exclude, ..Filter::default() }).total()), 12);
}

#[test]
fn an_include_that_only_hidden_frames_fit_is_named() {
    let filter = Filter {
        include: "parse;nowhere".to_owned(),
        fold: "parse".to_owned(),
        ..Filter::default()
    };
    let tree = tree(&filter);
    assert_eq!(tree.total(), 0);
    let unmet: Vec<_> = tree.unmet().iter().map(|u| (u.pattern.as_str(), u.hidden)).collect();
    assert_eq!(unmet, [("parse", true), ("nowhere", false)]);
}

#[test]
fn recursion_is_one_node_and_entry_groups_swallow_their_inside() {
    let drawing = "
        stack a cpu.user main;f;f;lib!x;lib!y;main
        app(1)/t(1) aaaa";
    let recording = parse(drawing).expect("parses");
    let of = |group: &str| {
        let filter = Filter {
            group: group.to_owned(),
            fold: "^Thread;^cpu".to_owned(),
            ..Filter::default()
        };
        drawn(&CallTree::of(&recording, &Query::compile(&filter).expect("compiles")))
    };
    assert_eq!(
        of(""),
        "ROOT 4\n Process app (1) 4\n  app!main 4\n   app!f 4\n    lib!x 4\n     lib!y 4\n      app!main 4\n"
    );
    assert_eq!(
        of("{%}!=>module $1"),
        "ROOT 4\n Process app (1) 4\n  module app <<app!main>> 4\n   module lib <<lib!x>> 4\n    module app <<app!main>> 4\n"
    );
}

#[test]
fn small_nodes_fold_into_their_callers_and_nothing_is_lost() {
    let whole = tree(&Filter::default());
    let folded = tree(&Filter { fold_pct: Some(25.0), ..Filter::default() });
    assert_eq!(folded.total(), whole.total());
    assert!(folded.names().find("app!parse").is_some());
    assert!(by_name(&folded).iter().all(|row| row.name.as_str() != "app!parse"));
    // cpu.user is half of everything: its small leaves stay.
    assert!(by_name(&folded).iter().any(|row| row.name.as_str() == "cpu.user"));
}

#[test]
fn callers_callees_and_own_value_balance() {
    let recording = parse(
        "stack a cpu.user main;even;odd;even;odd
         stack b cpu.user main;even;odd
         app(1)/t(1) aaaaaabb",
    )
    .expect("parses");
    let query =
        Query::compile(&Filter { fold: "^cpu".to_owned(), ..Filter::default() }).expect("compiles");
    let tree = CallTree::of(&recording, &query);
    let even = tree.names().find("app!even").expect("a name");
    let Butterfly { total, own, callers, callees } = tree.butterfly(even);
    let named = |side: &[super::Neighbour]| -> Vec<(String, u64)> {
        side.iter().map(|n| (tree.names().text(n.name).to_string(), ticks(n.value))).collect()
    };
    assert_eq!((ticks(total), own), (8, 0));
    assert_eq!(named(&callers), [("app!main".to_owned(), 5), ("app!odd".to_owned(), 3)]);
    assert_eq!(named(&callees), [("app!odd".to_owned(), 8)]);
    // In the trees each sample counts at its innermost occurrence.
    let root = |tree: &CallTree| {
        tree.children(NodeId::at(1))
            .map(|c| (tree.name(c).to_string(), ticks(tree.node(c).total)))
            .collect::<Vec<_>>()
    };
    assert_eq!(root(&tree.callers(even)), [("app!odd".to_owned(), 6), ("app!main".to_owned(), 2)]);
    assert_eq!(root(&tree.callees(even)), [("app!odd".to_owned(), 8)]);
}

#[test]
fn flame_boxes_lie_within_their_callers() {
    let tree = tree(&Filter::default());
    let boxes = flame(&tree, 0.0);
    assert_eq!(boxes.len(), tree.nodes().len());
    assert!((boxes[0].right - 1.0).abs() < 1e-12);
    for inner in &boxes[1..] {
        let parent = tree.node(inner.node).parent;
        let outer = boxes.iter().find(|b| Some(b.node) == parent).expect("a caller");
        assert!(outer.left <= inner.left + 1e-12 && inner.right <= outer.right + 1e-12);
        assert_eq!(inner.depth, outer.depth + 1);
    }
    let disk = boxes.iter().find(|b| tree.name(b.node).as_str() == "[kernel]!filemap_read");
    assert_eq!(disk.and_then(|b| b.cause), Some(Cause::Disk));
    assert!(flame(&tree, 0.3).len() < boxes.len());
}

#[test]
fn when_shows_the_time_range() {
    let tree = tree(&Filter { thread: "main".to_owned(), ..Filter::default() });
    let parse = tree.names().find("app!parse").expect("a name");
    let text = tree.when_named(parse).text(tree.full());
    assert_eq!(text, "AAAAAAAAA6______________________", "3 of 10 ms, all of one thread");
}

/// Whether each node of a name is marked as guessed, in preorder.
fn marks(tree: &CallTree, name: &str) -> Vec<bool> {
    let named = tree.ordered().filter(|id| tree.name(*id).as_str() == name);
    named.map(|id| tree.is_guessed(id)).collect()
}

/// Two callers of one function: below `a` it was found in one stack and guessed in another, below `b`
/// guessed in both.
fn with_guesses() -> Recording {
    let drawing = "
        stack a cpu.user a;found;one
        stack b cpu.user a;guess;two
        stack c cpu.user b;guess;one
        stack d cpu.user b;guess;two
        app(1)/main(1)    aabbccdd";
    let mut recording = parse(drawing).expect("parses");
    for frame in &mut recording.frames {
        let guessed = frame.function.as_str() == "guess";
        if guessed || frame.function.as_str() == "found" {
            frame.function = "handed".into();
            frame.guessed = guessed.then_some(Guess::TailCall);
        }
    }
    recording
}

#[test]
fn a_node_is_guessed_if_all_stacks_there_guess_it() {
    let recording = with_guesses();
    let of = |filter: &Filter| CallTree::of(&recording, &Query::compile(filter).expect("compiles"));
    let tree = of(&Filter::default());
    let calls = |tree: &CallTree| {
        let nodes = tree.ordered().filter(|id| tree.name(*id).as_str() == "app!handed");
        let caller = |id: NodeId| tree.node(id).parent.map(|above| tree.name(above).to_string());
        let mut calls: Vec<_> = nodes.map(|id| (caller(id), tree.is_guessed(id))).collect();
        calls.sort();
        calls
    };
    let (a, b) = (Some("app!a".to_owned()), Some("app!b".to_owned()));
    assert_eq!(calls(&tree), [(a.clone(), false), (b.clone(), true)]);
    // Other names, and other ways through the engine.
    let renamed = of(&Filter { group: "!one->x".to_owned(), ..Filter::default() });
    assert_eq!(calls(&renamed), [(a, false), (b, true)]);
    assert!(tree.ids().all(|id| !tree.is_guessed(id) || tree.name(id).as_str() == "app!handed"));
    let handed = tree.find("app!handed").expect("a name");
    assert_eq!(marks(&tree.callees(handed), "app!handed"), [false]);
    assert_eq!(marks(&tree.callers(handed), "app!handed"), [false]);
    // Without what `a` does, all that is left was guessed.
    let of_b = of(&Filter { include: "app!b".to_owned(), ..Filter::default() });
    assert_eq!(marks(&of_b, "app!handed"), [true]);
    assert_eq!(marks(&of_b.callees(handed_of(&of_b)), "app!handed"), [true]);
    assert_eq!(marks(&of_b.callers(handed_of(&of_b)), "app!handed"), [true]);
    assert_eq!(marks(&of_b.inverted(), "app!handed"), [true, true]);
    assert_eq!(calls(&of_b.merged(&tree)), calls(&tree));
    // What is folded into a guessed frame does not make it one that was found.
    let folded =
        Filter { include: "app!b".to_owned(), fold: "app!one".to_owned(), ..Filter::default() };
    assert_eq!(marks(&of(&folded), "app!handed"), [true]);
    let small = Filter { fold_pct: Some(1.0), ..Filter::default() };
    assert_eq!(marks(&of(&small), "app!handed"), marks(&tree, "app!handed"));
}

fn handed_of(tree: &CallTree) -> NameId {
    tree.find("app!handed").expect("a name")
}
