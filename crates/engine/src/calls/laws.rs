//! Laws that every tree keeps, on random recordings.

use culprit_model::notation::parse;
use culprit_model::{
    Cost, CostColumns, Drill, Filter, IntervalColumns, Label as _, Metric, Nanos, Recording, Root,
    StackId, ThreadId, Time,
};
use proptest::prelude::*;

use super::layout::Sharing;
use super::{CallTree, Diff, Index, NodeId, Query, Side, by_name};

/// A recording of one to three threads over a small alphabet of stacks, some recursive.
fn recordings() -> impl Strategy<Value = Recording> {
    const STACKS: &str = "
        stack a cpu.user main;f;g
        stack b cpu.user main;g;f;g
        stack c blocked.lock main;f;f;[kernel]!futex_wait
        stack e cpu.kernel main;lib!h
        stack h runnable main;lib!h;lib!i;g\n";
    proptest::collection::vec("[abcehUlr]{1,40}", 1..4).prop_map(|strips| {
        let line = |(at, strip): (usize, &String)| format!("app(1)/t{at}({at}) {strip}\n");
        let threads: String = strips.iter().enumerate().map(line).collect();
        parse(&format!("{STACKS}{threads}")).expect("a drawing")
    })
}

fn filters() -> impl Strategy<Value = Filter> {
    let one_of = |texts: &'static [&'static str]| proptest::sample::select(texts);
    (
        one_of(&["", "{%}!->module $1", "{%}!=>module $1", "^Thread->T"]),
        one_of(&["", "!g", "^cpu;^blocked", "!f;!h"]),
        one_of(&["", "!g", "main;!f"]),
        one_of(&["", "!h", "blocked"]),
        proptest::option::of(0.0..60.0_f64),
    )
        .prop_map(|(group, fold, include, exclude, fold_pct)| Filter {
            group: group.to_owned(),
            fold: fold.to_owned(),
            include: include.to_owned(),
            exclude: exclude.to_owned(),
            fold_pct,
            ..Filter::default()
        })
}

fn tree(recording: &Recording, filter: &Filter) -> CallTree {
    CallTree::of(recording, &Query::compile(filter).expect("a filter"))
}

/// Every path with its value, whatever the tree's name numbers.
fn content(tree: &CallTree) -> Vec<(Vec<String>, u64)> {
    let names = |path: Vec<super::NameId>| {
        path.into_iter().map(|id| tree.names().text(id).to_string()).collect()
    };
    let mut content: Vec<_> =
        tree.samples().map(|(path, end)| (names(path), tree.sum(end).value)).collect();
    content.sort();
    content
}

/// Threads of two processes, some with nearly all of the rows, and amounts of theirs and of nobody.
fn many_threads() -> impl Strategy<Value = Recording> {
    let strip = prop_oneof!["[abce]{1,3}", "[abcehUl]{30,90}"];
    let threads = proptest::collection::vec((strip, any::<bool>()), 1..7);
    let amounts = proptest::collection::vec((0..9_u32, 0..5_u32, 0..50_u64), 0..40);
    (threads, amounts).prop_map(|(threads, amounts)| {
        const STACKS: &str = "stack a cpu.user main;f;g\nstack b cpu.user main;g;f;g
            stack c blocked.lock main;f;f;[kernel]!futex_wait\nstack e cpu.kernel main;lib!h
            stack h runnable main;lib!h;lib!i;g\n";
        let line = |(at, (strip, second)): (usize, &(String, bool))| {
            let process = if *second { "other(2)" } else { "app(1)" };
            format!("{process}/t{at}({at}) {strip}\n")
        };
        let lines: String = threads.iter().enumerate().map(line).collect();
        let mut recording = parse(&format!("{STACKS}{lines}")).expect("a drawing");
        let (threads, stacks) = (recording.threads.len(), recording.stacks.len());
        let within = |at: u32, rows: usize| (at as usize).checked_rem(rows + 1);
        recording.costs = amounts
            .into_iter()
            .map(|(thread, stack, time)| Cost {
                thread: within(thread, threads)
                    .filter(|at| *at < threads)
                    .map(ThreadId::from_index),
                time: Time(time),
                duration: Nanos(0),
                stack: within(stack, stacks).filter(|at| *at < stacks).map(StackId::from_index),
                metric: if stack == 1 { Metric::Allocs } else { Metric::AllocBytes },
                cause: None,
                value: time + 1,
                count: 1,
                variance: None,
            })
            .collect();
        recording.costs.sort_by_key(|row| (row.thread, row.time));
        recording
    })
}

proptest! {
    #[test]
    fn an_index_is_the_same_in_however_many_shares(recording in many_threads()) {
        let index = |most| {
            let columns =
                (IntervalColumns::of(&recording.intervals), CostColumns::of(&recording.costs));
            let sharing = Sharing { most, rows: 1 };
            format!("{:?}", Index::shared(&recording, columns, Root::Threads, sharing))
        };
        let one = index(1);
        for most in 2..6 {
            prop_assert_eq!(&index(most), &one);
        }
    }

    #[test]
    fn a_node_s_main_cause_is_the_largest_of_its_causes(
        recording in recordings(),
        filter in filters(),
    ) {
        let tree = tree(&recording, &filter);
        for tree in [tree.inverted(), tree] {
            for (id, main) in tree.ids().zip(tree.main_causes()) {
                let causes = tree.causes(id);
                let most = causes.iter().map(|(_, value)| *value).max();
                let found = main.and_then(|main| causes.iter().find(|(cause, _)| *cause == main));
                prop_assert_eq!(found.map(|(_, value)| *value), most.filter(|most| *most > 0));
            }
        }
    }

    #[test]
    fn a_tree_sums_to_the_threads_time(recording in recordings()) {
        let sum = tree(&recording, &Filter::default()).total();
        let lives: Nanos = recording.intervals.iter().map(|row| row.duration).sum();
        prop_assert_eq!(sum, lives.0);
        let of = |metric| tree(&recording, &Filter { metric, ..Filter::default() }).total();
        let parts = of(Metric::Cpu) + of(Metric::Blocked) + of(Metric::Runnable);
        prop_assert_eq!(parts, sum);
        let causes: u64 = Metric::ALL.iter().filter(|metric| metric.cause().is_some())
            .map(|metric| of(*metric)).sum();
        let quota = of(Metric::RunnableQuota);
        prop_assert_eq!(causes + of(Metric::Runnable) - quota, sum);
    }

    #[test]
    fn own_values_sum_to_every_nodes_total(recording in recordings(), filter in filters()) {
        let tree = tree(&recording, &filter);
        for at in 0..tree.nodes().len() {
            let id = NodeId::at(at);
            let below: u64 = tree.children(id).map(|child| tree.node(child).total).sum();
            let own = tree.own(id).map_or(0, |own| own.value);
            prop_assert_eq!(tree.node(id).total, own + below);
            let when: i64 = tree.when(id).0.iter().sum();
            prop_assert_eq!(when.unsigned_abs(), tree.node(id).total);
            let causes: u64 = tree.causes(id).iter().map(|(_, value)| value).sum();
            prop_assert_eq!(causes, tree.node(id).total);
        }
        prop_assert_eq!(by_name(&tree).iter().map(|row| row.exc).sum::<u64>(),
            tree.total() - tree.own(NodeId::ROOT).map_or(0, |own| own.value));
    }

    #[test]
    fn parts_of_the_time_sum_to_the_whole(recording in recordings(), cut in 0..40_u64) {
        let cut = Some(Time(cut * 1_000_000));
        let early = tree(&recording, &Filter { to: cut, ..Filter::default() });
        let late = tree(&recording, &Filter { from: cut, ..Filter::default() });
        let whole = tree(&recording, &Filter::default());
        prop_assert_eq!(early.total() + late.total(), whole.total());
        prop_assert_eq!(content(&early.merged(&late)).iter().map(|(_, v)| v).sum::<u64>(), whole.total());
    }

    #[test]
    fn a_drill_keeps_the_samples_of_its_node(recording in recordings(), filter in filters()) {
        let whole = tree(&recording, &filter);
        for row in by_name(&whole).into_iter().take(3) {
            let drill = |drill| tree(&recording, &Filter { drill, ..filter.clone() }).total();
            prop_assert_eq!(drill(Drill::Through(row.name.to_string())), row.inc);
            prop_assert_eq!(drill(Drill::At(row.name.to_string())), row.exc);
        }
        let flat = tree(&recording, &Filter { flat: true, fold_pct: None, ..filter.clone() });
        prop_assert_eq!(flat.total(), whole.total());
        prop_assert!(flat.nodes().iter().all(|node| node.depth < 2));
    }

    #[test]
    fn folding_loses_nothing(recording in recordings(), filter in filters()) {
        let plain = Filter { fold: String::new(), fold_pct: None, group: String::new(), ..filter };
        let folded = Filter { fold: "!g;!h".to_owned(), fold_pct: Some(20.0), include: String::new(), ..plain.clone() };
        let plain = Filter { include: String::new(), ..plain };
        prop_assert_eq!(tree(&recording, &folded).total(), tree(&recording, &plain).total());
    }

    #[test]
    fn inverting_twice_gives_the_first_tree(recording in recordings(), filter in filters()) {
        let tree = tree(&recording, &filter);
        let inverted = tree.inverted();
        prop_assert_eq!(inverted.total(), tree.total());
        prop_assert_eq!(content(&inverted.inverted()), content(&tree));
    }

    #[test]
    fn merging_is_order_free(a in recordings(), b in recordings(), filter in filters()) {
        let (a, b) = (tree(&a, &filter), tree(&b, &filter));
        let (one, other) = (a.merged(&b), b.merged(&a));
        prop_assert_eq!(content(&one), content(&other));
        prop_assert_eq!(one.total(), a.total() + b.total());
    }

    #[test]
    fn a_diff_with_itself_is_zero_and_sums_like_its_sides(
        a in recordings(), b in recordings(), filter in filters()
    ) {
        let side = |recording: &Recording| Side { runs: vec![tree(recording, &filter)], units: 1.0 };
        let same = Diff::of(&side(&a), &side(&a));
        prop_assert!(same.nodes().iter().all(|node| node.before == node.after));
        prop_assert!(same.overweight().is_empty());
        let diff = Diff::of(&side(&a), &side(&b));
        let own: (u64, u64) = diff.nodes().iter().fold((0, 0), |sum, node| {
            (sum.0 + node.before.own, sum.1 + node.after.own)
        });
        prop_assert_eq!(own, (side(&a).runs[0].total(), side(&b).runs[0].total()));
        let folded = diff.clone().fold_small(20.0);
        let own: u64 = folded.nodes().iter().map(|node| node.before.own).sum();
        prop_assert_eq!(own, side(&a).runs[0].total());
        for entry in diff.flame(0.0) {
            prop_assert!(entry.left >= -1e-9 && entry.right <= 1.0 + 1e-9);
        }
    }

    #[test]
    fn lines_sum_to_their_function(recording in recordings(), filter in filters()) {
        let filter = Filter { group: String::new(), fold: String::new(), fold_pct: None, ..filter };
        let index = Index::of(&recording);
        let view = index.tree(&Query::compile(&filter).expect("a filter"));
        for row in by_name(&view).into_iter().filter(|row| row.name.contains('!')) {
            let lines = view.lines(&recording, &row.name);
            prop_assert_eq!(lines.values().map(|line| line.inc).sum::<u64>(), row.inc);
        }
    }

    #[test]
    fn a_butterfly_balances(recording in recordings(), filter in filters()) {
        let tree = tree(&recording, &filter);
        for row in by_name(&tree) {
            let found = tree.butterfly(row.id);
            prop_assert_eq!(found.total, row.inc);
            prop_assert_eq!(found.callers.iter().map(|n| n.value).sum::<u64>(), found.total);
            let callees: u64 = found.callees.iter().map(|n| n.value).sum();
            prop_assert_eq!(callees + found.own, found.total);
            prop_assert_eq!(tree.callers(row.id).total(), row.inc);
            prop_assert_eq!(tree.callees(row.id).total(), row.inc);
        }
    }

    #[test]
    fn the_same_input_gives_the_same_tree(recording in recordings(), filter in filters()) {
        let (one, two) = (tree(&recording, &filter), tree(&recording, &filter));
        prop_assert_eq!(one.nodes(), two.nodes());
        prop_assert_eq!(by_name(&one), by_name(&two));
    }
}
