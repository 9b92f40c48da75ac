//! PerfView's samples through the command line: import, then every view under every filter gives
//! the numbers that PerfView's own stack engine gives. See `crates/engine/tests/perfview/README.md`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Lab, stderr, stdout};

/// Each case, and the names that differ on purpose: `%` stops at `[`, `]`, `-` and `+` there, so
/// that some modules lose a part of their names.
const CASES: [(&str, &[&str]); 8] = [
    ("a02-group-modules", &["module "]),
    ("a08-chain-groups", &[]),
    ("b01-fold-name", &[]),
    ("b06-foldpct-5", &[]),
    ("c02-inc-two-all", &[]),
    ("d02-exc-two-any", &[]),
    ("e01-time-clip", &[]),
    ("g01-recursion-focus", &[]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/perfview")
}

fn case(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(format!("{name}.json"))).expect("a case");
    serde_json::from_str(&text).expect("JSON")
}

/// The filter options of a case.
fn options(spec: &Value) -> Vec<String> {
    let mut options = vec!["--json".to_owned(), "--limit=0".to_owned()];
    for (name, option, unit) in [
        ("group", "--group", ""),
        ("fold", "--fold", ""),
        ("foldPct", "--fold-pct", ""),
        ("inc", "--inc", ""),
        ("exc", "--exc", ""),
        ("start", "--from", "ms"),
        ("end", "--to", "ms"),
    ] {
        let value = spec[name].as_str().unwrap_or_default();
        if !value.is_empty() {
            options.push(format!("{option}={value}{unit}"));
        }
    }
    options
}

/// What `culprit COMMAND x.culprit` with the options of a case prints.
fn shown(lab: &Lab, command: &[&str], spec: &Value) -> Value {
    let ran = lab.culprit().args(command).arg("x.culprit").args(options(spec)).output();
    let ran = ran.expect("culprit runs");
    assert!(ran.status.success(), "{command:?}: {}", stderr(&ran));
    serde_json::from_str(&stdout(&ran)).expect("JSON")
}

#[track_caller]
fn near(ours: &Value, theirs: &Value, what: &str) {
    let ours = ours.as_f64().unwrap_or_else(|| panic!("{what}: no number"));
    let theirs = theirs.as_f64().expect("a number") * 1e6;
    assert!((ours - theirs).abs() <= 1e-3 * theirs.abs() + 1_500.0, "{what}: {ours}, not {theirs}");
}

fn imported() -> Lab {
    let lab = Lab::new();
    let file = folder().join("app.perfView.xml");
    let ran = lab.culprit().arg("import").arg(file).args(["-o", "x.culprit"]).output();
    let ran = ran.expect("culprit runs");
    assert!(ran.status.success(), "{}", stderr(&ran));
    lab
}

#[test]
fn every_filter_gives_the_numbers_of_perfview() {
    let lab = imported();
    for (name, differs) in CASES {
        let case = case(name);
        let top = shown(&lab, &["top"], &case["spec"]);
        near(&top["total"], &case["root"]["inc"], name);
        let rows = top["rows"].as_array().expect("rows");
        for theirs in case["byName"].as_array().expect("rows") {
            let row = theirs["name"].as_str().expect("a name");
            if row == "ROOT" || differs.contains(&row) {
                continue;
            }
            let what = format!("{name}: {row}");
            let ours = rows.iter().find(|ours| ours["name"] == row);
            let ours = ours.unwrap_or_else(|| panic!("{what}: no such row"));
            for column in ["exc", "inc", "fold"] {
                near(&ours[column], &theirs[column], &format!("{what}: {column}"));
            }
            assert_eq!(ours["count"].as_f64(), theirs["incCt"].as_f64(), "{what}");
        }
    }
}

#[test]
fn the_call_tree_and_the_butterfly_are_perfview_s() {
    let lab = imported();
    let case = case("g01-recursion-focus");
    let tree = shown(&lab, &["tree"], &case["spec"]);
    let mut theirs = Vec::new();
    preorder(&case["callTree"], 0, &mut theirs);
    let mut ours: Vec<(u64, String, f64)> = tree["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|node| {
            let name = node["name"].as_str().expect("a name").to_owned();
            (node["depth"].as_u64().expect("a depth"), name, node["inc"].as_f64().expect("inc"))
        })
        .collect();
    // Siblings of one total may stand in any order.
    let order = |a: &(u64, String, f64), b: &(u64, String, f64)| {
        (a.0, &a.1).cmp(&(b.0, &b.1)).then(a.2.total_cmp(&b.2))
    };
    ours.sort_by(order);
    theirs.sort_by(order);
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!((ours.0, &ours.1), (theirs.0, &theirs.1));
        assert!((ours.2 - theirs.2).abs() <= 1e-3 * theirs.2 + 1_500.0, "{ours:?}, {theirs:?}");
    }
    for focus in case["focus"].as_array().expect("names") {
        let name = focus["name"].as_str().expect("a name");
        let found = shown(&lab, &["butterfly", name], &case["spec"]);
        for side in ["callers", "callees"] {
            for theirs in focus["callerCallee"][side].as_array().expect("rows") {
                let ours = found[side].as_array().expect("rows").iter();
                let ours = ours.into_iter().find(|row| row["name"] == theirs["name"]);
                let ours = ours.unwrap_or_else(|| panic!("{name}: no {side} {theirs}"));
                near(&ours["value"], &theirs["inc"], &format!("{name}: {side}"));
            }
        }
    }
}

/// Depth, name and total in ns of every node.
fn preorder(node: &Value, depth: u64, into: &mut Vec<(u64, String, f64)>) {
    let name = node["name"].as_str().expect("a name").to_owned();
    into.push((depth, name, node["inc"].as_f64().expect("a number") * 1e6));
    for child in node["children"].as_array().map(Vec::as_slice).unwrap_or_default() {
        preorder(child, depth + 1, into);
    }
}

#[test]
fn an_export_reads_back_with_the_same_sums_under_filters() {
    let lab = imported();
    for (format, file) in [("perfview-xml", "x.xml"), ("collapsed", "x.folded")] {
        let export = ["export", "x.culprit", "--to", format, "-o", file, "--exc", "BLOCKED_TIME"];
        let ran = lab.culprit().args(export).output().expect("culprit runs");
        assert!(ran.status.success(), "{}", stderr(&ran));
        let ran = lab.culprit().args(["import", file, "--force", "-o", "again.culprit"]).output();
        assert!(ran.as_ref().is_ok_and(|ran| ran.status.success()), "{ran:?}");
        let total = |arguments: &[&str]| {
            let ran = lab.culprit().args(arguments).arg("--json").output().expect("culprit runs");
            serde_json::from_str::<Value>(&stdout(&ran)).expect("JSON")["total"].as_u64()
        };
        let before = total(&["top", "x.culprit", "--exc", "BLOCKED_TIME"]);
        assert!(before.is_some_and(|total| total > 0));
        assert_eq!(total(&["top", "again.culprit"]), before, "{format}");
    }
}

#[test]
fn an_export_to_stdout_is_the_file_and_ends_quietly_where_nobody_reads() {
    let lab = imported();
    for format in ["collapsed", "perfview-xml", "chrome", "speedscope", "firefox", "pprof", "svg"] {
        let export = ["export", "x.culprit", "--to", format];
        let ran = lab.culprit().args(export).args(["-o", "x"]).output().expect("culprit runs");
        assert!(ran.status.success(), "{}", stderr(&ran));
        let file = std::fs::read(lab.path("x")).expect("a file");
        let ran = lab.culprit().args(export).output().expect("culprit runs");
        assert!(ran.status.success() && ran.stdout == file, "{format}: {}", stderr(&ran));
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ran = lab.culprit().args(export).stdout(writer).output().expect("culprit runs");
        assert_eq!((ran.status.code(), stderr(&ran).as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn a_picture_is_exported_as_flame_draws_it() {
    let lab = imported();
    let run = |arguments: &[&str]| {
        let ran = lab.culprit().args(arguments).output().expect("culprit runs");
        assert!(ran.status.success(), "{arguments:?}: {}", stderr(&ran));
        stdout(&ran)
    };
    let ask = ["--metric", "blocked", "--exc", "READIED_TIME"];
    run(&[&["flame", "x.culprit", "-o", "flame.svg"], &ask[..]].concat());
    let drawn = std::fs::read_to_string(lab.path("flame.svg")).expect("a picture");
    let printed = run(&[&["export", "x.culprit", "--to", "svg"], &ask[..]].concat());
    assert_eq!(printed.trim_end(), drawn.trim_end());
    let told =
        run(&[&["export", "x.culprit", "--to", "svg", "-o", "x.svg", "--json"], &ask[..]].concat());
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let top = run(&[&["top", "x.culprit", "--json"], &ask[..]].concat());
    let top: Value = serde_json::from_str(&top).expect("JSON");
    assert_eq!((&told["format"], &told["total"]), (&Value::from("svg"), &top["total"]));
    assert_eq!(std::fs::read_to_string(lab.path("x.svg")).expect("a picture"), drawn);
}

#[test]
fn what_cannot_be_imported_is_said_and_leaves_nothing() {
    let lab = Lab::new();
    std::fs::write(lab.path("x"), "hello\n").expect("a file");
    std::fs::write(lab.path("taken"), "mine\n").expect("a file");
    std::fs::write(lab.path("x.folded"), "main;a 1\n").expect("a file");
    for (arguments, word) in [
        (&["import", "x", "-o", "y.culprit"][..], "an unknown format"),
        (&["import", "nowhere", "-o", "y.culprit"], "nowhere"),
        (&["import", "x.folded", "-o", "taken"], "the file exists"),
        (&["import", "x.folded", "-o", "y.culprit", "--format", "perfview-xml"], "perfview-xml"),
        (&["top", "x.folded"], "culprit import x.folded"),
    ] {
        let ran = lab.culprit().args(arguments).output().expect("culprit runs");
        let said = stderr(&ran);
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
        assert!(!lab.path("y.culprit").exists(), "{arguments:?}");
    }
    assert_eq!(std::fs::read(lab.path("taken")).expect("a file"), b"mine\n");
}
