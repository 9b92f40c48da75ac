//! Views that compare recordings, follow waits, and name groups.

use serde_json::Value;

use crate::support::{Lab, number, stderr, stdout};

/// `main` works and waits for a lock that `worker` holds while it reads from a disk.
const BEFORE: &str = "
    tick 10ms
    stack u cpu.user app!main;app!compute
    stack l blocked.lock app!main;libc.so.6!pthread_mutex_lock;[kernel]!futex_wait
    stack d blocked.disk app!load;libc.so.6!read;[kernel]!filemap_read
    app(10)/main(10)    uuulllluuu|
    app(10)/worker(11)  dddddduu|
    wake 7 worker > main app!load;libc.so.6!pthread_mutex_unlock
    root app(10)
";

/// The same with longer waits, in another process, and a function that is new.
const AFTER: &str = "
    tick 10ms
    stack u cpu.user app!main;app!compute
    stack n cpu.user app!main;app!fresh
    stack l blocked.lock app!main;libc.so.6!pthread_mutex_lock;[kernel]!futex_wait
    stack d blocked.disk app!load;libc.so.6!read;[kernel]!filemap_read
    app(20)/main(20)    uullllllllunn|
    app(20)/worker(21)  ddddddddduu|
    wake 10 worker > main app!load;libc.so.6!pthread_mutex_unlock
    root app(20)
";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.draw("before.culprit", BEFORE);
    lab.draw("after.culprit", AFTER);
    lab
}

fn section<'a>(document: &'a Value, by: &str) -> &'a [Value] {
    let sections = document["sections"].as_array().unwrap();
    let section = sections.iter().find(|section| section["by"] == by).unwrap();
    section["rows"].as_array().unwrap()
}

fn row<'a>(rows: &'a [Value], name: &str) -> &'a Value {
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {rows:?}"))
}

#[test]
fn a_diff_names_what_grew_and_what_only_one_side_has() {
    let lab = lab();
    let threads = ["diff", "before.culprit", "after.culprit", "--metric", "wall"];
    let diff = lab.json(&threads);
    let lock = row(section(&diff, "cause"), "blocked.lock");
    assert_eq!((&lock["before"], &lock["after"]), (&4e7.into(), &8e7.into()));
    let functions = section(&diff, "function");
    assert_eq!(row(functions, "app!fresh")["only"], "after");
    let changes: f64 = functions.iter().map(|row| number(&row["change"])).sum();
    assert!((changes - number(&diff["change"])).abs() < 1.0, "{changes}");
    assert_eq!(row(section(&diff, "thread"), "worker")["only"], Value::Null);
    let rows = lab.json(&[&threads[..], &["--work", "10:rows"]].concat());
    assert!((number(&rows["change"]) * 10.0 - number(&diff["change"])).abs() < 1.0);
    let same = lab.json(&["diff", "before.culprit", "before.culprit"]);
    assert!(number(&same["change"]).abs() < 1e-9);
    assert!(section(&same, "function").iter().all(|row| number(&row["change"]).abs() < 1e-9));
}

#[test]
fn several_runs_have_intervals_and_both_sides_stand_at_every_number() {
    let lab = lab();
    let many = [
        "diff",
        "--before",
        "before.culprit",
        "before.culprit",
        "--after",
        "after.culprit",
        "after.culprit",
        "--metric",
        "wall",
    ];
    let diff = lab.json(&many);
    let lock = row(section(&diff, "cause"), "blocked.lock");
    assert_eq!(lock["interval"]["low"], lock["interval"]["high"]);
    assert_eq!(lock["interval"]["low"], lock["change"]);
    let text = stdout(&lab.culprit().args(many).output().unwrap());
    for part in ["before", "after", "change", "only after", "app!fresh", "Overweight"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output =
        lab.culprit().args(["diff", "before.culprit", "after.culprit", "-o", "x.svg"]).output();
    assert!(output.unwrap().status.success());
    let svg = std::fs::read_to_string(lab.path("x.svg")).unwrap();
    assert!(svg.contains("app!fresh: before 0 ns, after 20.0 ms"), "{svg}");
    let output = lab.culprit().args(["diff", "before.culprit"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_command_and_a_service_are_compared_on_a_metric_that_both_have() {
    let lab = lab();
    lab.draw("service.culprit", &AFTER.replace("root app(20)", ""));
    let same = lab.json(&["diff", "before.culprit", "after.culprit"]);
    assert_eq!(same["metric"], "run", "{same}");
    for sides in [["before.culprit", "service.culprit"], ["service.culprit", "before.culprit"]] {
        let diff = lab.json(&[&["diff"][..], &sides].concat());
        assert_eq!(diff["metric"], "wall", "{diff}");
        let threads = lab.json(&[&["diff", "--metric", "wall"][..], &sides].concat());
        assert_eq!(diff["sections"], threads["sections"]);
        let output = lab.culprit().arg("diff").args(sides).output().unwrap();
        let text = stdout(&output);
        let heading = text.lines().next().unwrap_or_default();
        assert!(heading.starts_with("wall time per run, because the sides differ: "), "{text}");
        assert!(heading.contains("run time of a command"), "{text}");
        assert!(heading.contains("busy time of all threads"), "{text}");
    }
    let asked = ["diff", "before.culprit", "service.culprit", "--metric", "run"];
    let output = lab.culprit().args(asked).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn waits_are_followed_to_whoever_ended_them() {
    let lab = lab();
    let wakers = lab.json(&["wakers", "before.culprit", "--thread", "main"]);
    let first = &wakers["rows"][0];
    assert_eq!((&first["cause"], &first["kind"]), (&"blocked.lock".into(), &"thread".into()));
    assert!(first["woken_by"].as_str().unwrap().contains("worker (11)"), "{first}");
    assert_eq!(first["waker_stack"][0], "app!load");
    assert_eq!(first["chain"][1]["cause"], "blocked.disk");
    let output =
        lab.culprit().args(["wakers", "before.culprit", "--metric", "cpu"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn the_critical_path_sums_to_its_range() {
    let lab = lab();
    for arguments in [
        &["critical-path", "before.culprit"][..],
        &["critical-path", "before.culprit", "--thread", "main", "--from", "20ms", "--to", "75ms"],
    ] {
        let path = lab.json(arguments);
        let links = path["links"].as_array().unwrap();
        let sum: f64 = links.iter().map(|link| number(&link["time_ns"])).sum();
        assert!((sum - number(&path["total_ns"])).abs() < 0.5, "{path}");
        assert!(links.iter().any(|link| link["cause"] == "blocked.disk"), "{path}");
        let sums: f64 =
            path["sums"].as_array().unwrap().iter().map(|s| number(&s["time_ns"])).sum();
        assert!((sum - sums).abs() < 0.5);
    }
    let output = lab
        .culprit()
        .args(["critical-path", "before.culprit", "--thread", "nobody"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn phases_tile_the_run() {
    let lab = lab();
    for arguments in
        [&["phases", "before.culprit"][..], &["phases", "before.culprit", "--thread", "main"]]
    {
        let document = lab.json(arguments);
        let phases = document["phases"].as_array().unwrap();
        assert!(phases.iter().any(|phase| phase["kind"] == "steady"), "{document}");
        for pair in phases.windows(2) {
            assert_eq!(pair[0]["to_ns"], pair[1]["from_ns"], "{document}");
        }
        for phase in phases {
            let places = phase["places"].as_array().unwrap();
            let sum: f64 = places.iter().map(|place| number(&place["time_ns"])).sum();
            assert!((sum - number(&phase["counted_ns"])).abs() < 0.5, "{document}");
        }
    }
    let text = lab.culprit().args(["phases", "before.culprit"]).output().unwrap();
    assert!(stdout(&text).contains("steady"), "{}", stdout(&text));
    let nothing =
        lab.culprit().args(["phases", "before.culprit", "--from", "90s"]).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2), "{}", stderr(&nothing));
}

#[test]
fn instances_of_one_command_are_compared_one_by_one() {
    let lab = Lab::new();
    let drawing = |first: usize, second: usize| {
        let (first, second) = ("a".repeat(first), "a".repeat(second));
        format!(
            "stack a cpu.user main;f\napp(1)/app(1) {first}\napp(2)/app(2) {second}\nsh(3)/sh(3) aaaa\n"
        )
    };
    lab.draw("even.culprit", &drawing(10, 10));
    lab.draw("uneven.culprit", &drawing(18, 2));
    let arguments = ["--by", "instance", "--metric", "wall"];
    let document =
        lab.json(&[&["diff", "even.culprit", "uneven.culprit"][..], &arguments].concat());
    let section = &document["sections"][0];
    assert_eq!(section["by"], "instance");
    let rows = section["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    for name in ["app #1", "app #2"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn presets_are_saved_used_and_deleted() {
    let lab = lab();
    let run = |arguments: &[&str]| {
        let mut culprit = lab.culprit();
        culprit.env("XDG_CONFIG_HOME", lab.path("config")).args(arguments);
        culprit.output().unwrap()
    };
    let saved = run(&["presets", "save", "mine", "--group", "^app!->mine $&"]);
    assert!(saved.status.success(), "{}", stderr(&saved));
    let top = stdout(&run(&["top", "before.culprit", "--preset", "mine", "--json"]));
    assert!(top.contains("mine app!"), "{top}");
    assert!(stdout(&run(&["presets"])).contains("mine"));
    assert!(run(&["presets", "delete", "mine"]).status.success());
    for arguments in [
        &["presets", "delete", "mine"][..],
        &["presets", "delete", "modules"],
        &["presets", "save", "x"],
        &["presets", "save", "x", "--group", "@("],
        &["top", "before.culprit", "--preset", "mine"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_drill_shows_what_is_behind_a_group() {
    let lab = lab();
    let grouped = ["tree", "before.culprit", "--metric", "wall", "--preset", "modules"];
    let whole = lab.json(&grouped);
    let drilled = lab.json(&[&grouped[..], &["--drill", "module libc.so.6"]].concat());
    assert!(number(&drilled["total"]) < number(&whole["total"]));
    let names = drilled["nodes"].to_string();
    assert!(names.contains("libc.so.6!read") && !names.contains("app!compute"), "{names}");
    let flat = lab.json(&["tree", "before.culprit", "--flat"]);
    assert!(flat["nodes"].as_array().unwrap().iter().all(|node| number(&node["depth"]) < 2.0));
    let columns = ["top", "before.culprit", "--columns", "inc,exc-count,average,when,first,last"];
    let text = stdout(&lab.culprit().args(columns).output().unwrap());
    assert!(text.contains("exc count") && text.contains("blocked.disk"), "{text}");
}

/// The extra time of functions, `NAME CHANGE` in ms, of a diff with these options.
fn functions(lab: &Lab, options: &[&str]) -> Vec<String> {
    let both = ["diff", "before.culprit", "after.culprit", "--metric", "wall"];
    let diff = lab.json(&[&both[..], options].concat());
    let told = |row: &Value| {
        let name = row["name"].as_str().unwrap().to_owned();
        format!("{name} {:.0}", number(&row["change"]) / 1e6)
    };
    section(&diff, "function").iter().map(told).collect()
}

#[test]
fn a_diff_names_functions_of_the_programs_own_code() {
    let lab = lab();
    let usual = functions(&lab, &[]);
    assert!(usual.iter().all(|row| row.starts_with("app!")), "{usual:?}");
    assert!(usual.contains(&"app!main 40".to_owned()), "the wait for the lock: {usual:?}");
    let chosen = functions(&lab, &["--own", "pthread_mutex_lock;!read"]);
    assert!(chosen.contains(&"libc.so.6!pthread_mutex_lock 40".to_owned()), "{chosen:?}");
    assert!(chosen.contains(&"libc.so.6!read 30".to_owned()), "{chosen:?}");
}
