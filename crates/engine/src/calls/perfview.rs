//! The same filters on the same samples as PerfView's own stack engine: see tests/perfview/README.md.
//!
//! Its times are milliseconds and its sums 32-bit floats; ours are nanoseconds. Rows that differ
//! because we differ on purpose are named with the reason.

use culprit_model::{Filter, Text, Time};
use serde_json::Value;

use super::{CallTree, Diff, Index, NodeId, Query, ROOT, Side, by_name, when_of_difference};

/// The samples of an input: time, length, and the names from the outermost in.
fn samples(input: &str) -> Vec<(Time, u64, Vec<String>)> {
    let bodies = input.split("<Sample ").skip(1);
    bodies
        .map(|body| {
            let (head, rest) = body.split_once('>').expect("a tag");
            let number = |name: &str| {
                let start = head.split_once(&format!("{name}=\"")).expect("an attribute").1;
                milliseconds(start.split('"').next().expect("a value"))
            };
            let names = rest.split("</Sample").next().expect("a body").lines().map(str::trim);
            let names = names
                .filter(|name| !name.is_empty())
                .map(|name| name.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
            let mut names: Vec<String> = names.collect();
            names.reverse();
            (Time(number("Time")), number("Metric"), names)
        })
        .collect()
}

fn milliseconds(text: &str) -> u64 {
    let value: f64 = text.parse().expect("a number");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times of the fixture are positive and small"
    )]
    let ns = (value * 1e6).round() as u64;
    ns
}

const APP: &str = include_str!("../../tests/perfview/app.perfView.xml");

fn tree(spec: &Value) -> CallTree {
    tree_of(APP, spec)
}

fn tree_of(input: &str, spec: &Value) -> CallTree {
    let text = |name: &str| spec[name].as_str().unwrap_or_default().to_owned();
    let time = |name: &str| text(name).parse::<f64>().ok().map(|_| Time(milliseconds(&text(name))));
    let filter = Filter {
        from: time("start"),
        to: time("end"),
        group: text("group"),
        fold: text("fold"),
        fold_pct: text("foldPct").parse().ok(),
        include: text("inc"),
        exclude: text("exc"),
        ..Filter::default()
    };
    let query = Query::compile(&filter).expect("a filter");
    let end = time("end").unwrap_or_default();
    Index::of_paths(&samples(input), end).tree(&query)
}

fn near(ours: u64, theirs: &Value) -> bool {
    let theirs = theirs.as_f64().expect("a number") * 1e6;
    #[expect(clippy::cast_precision_loss, reason = "sums of the fixture are small")]
    let difference = (ours as f64 - theirs).abs();
    difference <= 1e-3 * theirs.abs() + 1_500.0
}

/// The same histogram, but that its floats lie a trace beside what is exactly a tenth or nothing.
fn same_shape(ours: &str, theirs: &Value) -> bool {
    const LETTERS: &str = "@yxwvutsrqponmlkjihgfedcba_.o0123456789ABCDEFGHIJKLMNOPQRSTUVWXY*";
    let step = |letter| i64::try_from(LETTERS.find(letter).expect("a letter")).expect("small");
    let same =
        |(ours, theirs)| (step(ours) - step(theirs)).abs() <= 1 || (ours == '_' && theirs == '0');
    ours.chars().zip(theirs.as_str().expect("a text").chars()).all(same)
}

#[track_caller]
fn check(case: &str, differs: &[&str]) {
    let case: Value = serde_json::from_str(case).expect("a case");
    let tree = tree(&case["spec"]);
    assert!(near(tree.total(), &case["root"]["inc"]), "root: {}", tree.total());
    let rows = by_name(&tree);
    let theirs = case["byName"].as_array().expect("rows");
    for row in theirs.iter().filter(|row| row["name"] != "ROOT") {
        let name = row["name"].as_str().expect("a name");
        if differs.contains(&name) {
            continue;
        }
        let ours = rows.iter().find(|row| row.name.as_str() == name);
        let ours = ours.unwrap_or_else(|| panic!("no row `{name}`"));
        for (ours, what) in [
            (ours.exc, "exc"),
            (ours.inc, "inc"),
            (ours.fold, "fold"),
            (ours.first.0, "first"),
            (ours.last.0, "last"),
        ] {
            assert!(near(ours, &row[what]), "{name}: {what} {ours}, theirs {}", row[what]);
        }
        for (ours, what) in
            [(ours.exc_count, "excCt"), (ours.count, "incCt"), (ours.fold_count, "foldCt")]
        {
            assert_eq!(Some(ours), row[what].as_u64(), "{name}: {what}");
        }
        let when = tree.when_named(ours.id).text(tree.full());
        assert!(same_shape(&when, &row["when"]), "{name}: {when}, theirs {}", row["when"]);
    }
    let known = |name: &str| theirs.iter().any(|row| row["name"] == name);
    let more: Vec<_> = rows.iter().filter(|row| !known(&row.name)).map(|row| &row.name).collect();
    assert_eq!(more.len(), differs.len(), "rows of ours alone: {more:?}");
}

#[test]
fn module_groups() {
    // `%` stops at `[`, `]`, `-` and `+` there, so that these modules lose a part of their names.
    check(include_str!("../../tests/perfview/a02-group-modules.json"), &["module "]);
}

#[test]
fn time_is_clipped() {
    check(include_str!("../../tests/perfview/e01-time-clip.json"), &[]);
}

#[test]
fn groups_chain() {
    check(include_str!("../../tests/perfview/a08-chain-groups.json"), &[]);
}

#[test]
fn folding_by_name() {
    check(include_str!("../../tests/perfview/b01-fold-name.json"), &[]);
}

#[test]
fn folding_by_percentage() {
    check(include_str!("../../tests/perfview/b06-foldpct-5.json"), &[]);
}

#[test]
fn includes_are_all_of() {
    check(include_str!("../../tests/perfview/c02-inc-two-all.json"), &[]);
}

#[test]
fn excludes_are_any_of() {
    check(include_str!("../../tests/perfview/d02-exc-two-any.json"), &[]);
}

#[test]
fn recursion_in_all_views() {
    let case = include_str!("../../tests/perfview/g01-recursion-focus.json");
    check(case, &[]);
    let case: Value = serde_json::from_str(case).expect("a case");
    let tree = tree(&case["spec"]);
    for focus in case["focus"].as_array().expect("names") {
        let name = focus["name"].as_str().expect("a name");
        let id = tree.names().find(name).expect(name);
        let found = tree.butterfly(id);
        for (ours, theirs) in [(&found.callers, "callers"), (&found.callees, "callees")] {
            let theirs = focus["callerCallee"][theirs].as_array().expect("rows");
            assert_eq!(ours.len(), theirs.len(), "{name}");
            for row in theirs {
                let same =
                    |n: &&super::Neighbour| tree.names().text(n.name).as_str() == row["name"];
                let ours = ours.iter().find(same).unwrap_or_else(|| panic!("no row {row}"));
                assert!(near(ours.value, &row["inc"]), "{name}: {row}");
                let count = row["incCt"].as_f64().expect("a count");
                assert!((ours.count - count).abs() <= count / 1e3, "{name}: {} {row}", ours.count);
            }
        }
        check_tree(&tree.callers(id), NodeId::at(1), &focus["callersTree"], false);
        check_tree(&tree.callees(id), NodeId::at(1), &focus["calleesTree"], false);
    }
    check_tree(&tree, NodeId::ROOT, &case["callTree"], true);
}

/// The dumps of callers and callees end here.
const DUMPED_LEVELS: u32 = 6;

#[track_caller]
fn check_tree(tree: &CallTree, at: NodeId, theirs: &Value, whole: bool) {
    assert_eq!(theirs["name"], tree.name(at).as_str());
    assert!(near(tree.node(at).total, &theirs["inc"]), "{theirs}");
    if !whole && tree.node(at).depth > DUMPED_LEVELS {
        return;
    }
    let below = theirs["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Rows can remain that net to nothing, and callers end in the root.
    let shown = |child: &&Value| child["incCt"] != 0 && child["name"] != ROOT;
    let below: Vec<&Value> = below.iter().filter(shown).collect();
    assert_eq!(tree.children(at).count(), below.len(), "{}", tree.name(at));
    for theirs in below {
        let child = tree.children(at).find(|child| theirs["name"] == tree.name(*child).as_str());
        check_tree(tree, child.unwrap_or_else(|| panic!("no {theirs}")), theirs, whole);
    }
}

/// An input with modules named without their folders, as views show them.
fn short(input: &str) -> String {
    let line = |line: &str| match line.split_once('!') {
        Some((module, _)) => line[module.rfind('/').map_or(0, |at| at + 1)..].to_owned(),
        None => line.to_owned(),
    };
    input.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Both sides of a diff as their window has them: one run each.
fn difference(case: &Value, before: &str, after: &str) -> Diff {
    let side = |input| Side { runs: vec![tree_of(input, &case["spec"])], units: 1.0 };
    Diff::of(&side(before), &side(after))
}

fn near_value(ours: f64, theirs: &Value) -> bool {
    let theirs = theirs.as_f64().expect("a number") * 1e6;
    (ours - theirs).abs() <= 1e-3 * theirs.abs() + 1_500.0
}

#[test]
fn a_diff_has_negative_values_and_names_of_one_side() {
    let case = include_str!("../../tests/perfview/h01-diff-raw.json");
    let case: Value = serde_json::from_str(case).expect("a case");
    let before = &short(include_str!("../../tests/perfview/diff-base.perfView.xml"));
    let after = &short(include_str!("../../tests/perfview/diff-test.perfView.xml"));
    let diff = difference(&case, before, after);
    assert!(near_value(diff.net(&diff.nodes()[0]), &case["root"]["inc"]));
    let rows = diff.by_name();
    for row in case["byName"].as_array().expect("rows").iter().filter(|row| row["name"] != ROOT) {
        let name = row["name"].as_str().expect("a name");
        let (one, two) = rows.get(&Text::from(name)).copied().unwrap_or_default();
        assert!(near_value(two - one, &row["inc"]), "{name}: {one} {two}, theirs {}", row["inc"]);
        let when = when_of_difference(
            &tree_of(before, &case["spec"]),
            &tree_of(after, &case["spec"]),
            name,
        );
        let full = tree_of(after, &case["spec"]).full();
        let when = when.text(full);
        assert!(same_shape(&when, &row["when"]), "{name}: {when}, theirs {}", row["when"]);
    }
    assert_eq!(rows.len() + 1, case["byName"].as_array().expect("rows").len());
    assert!(diff.clone().fold_small(5.0).nodes().len() < diff.nodes().len());
}

#[test]
fn overweights_are_those_of_the_regression_report() {
    let case = include_str!("../../tests/perfview/i01-overweight.json");
    let case: Value = serde_json::from_str(case).expect("a case");
    let diff = difference(
        &case,
        include_str!("../../tests/perfview/overweight-base.perfView.xml"),
        include_str!("../../tests/perfview/overweight-test.perfView.xml"),
    );
    let ours = diff.overweight();
    let theirs = case["overweight"]["rows"].as_array().expect("rows");
    // Ours leaves out the root, which is the whole by definition.
    let shown: Vec<_> =
        theirs.iter().filter(|row| row["shown"] == true && row["name"] != ROOT).collect();
    assert_eq!(ours.len(), shown.len());
    for row in shown {
        let name = row["name"].as_str().expect("a name");
        let ours = ours.iter().find(|ours| ours.name.as_str() == name).expect(name);
        let percent = |value: f64, theirs: &Value| {
            (value * 100.0 - theirs.as_f64().expect("a number")).abs() < 0.1
        };
        assert!(percent(ours.overweight, &row["overweightPct"]), "{row}");
        assert!(percent(ours.responsibility, &row["responsibilityPct"]), "{row}");
        assert_eq!(u64::from(ours.interest), row["interest"].as_u64().expect("a number"), "{row}");
    }
}
