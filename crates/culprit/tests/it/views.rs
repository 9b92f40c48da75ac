//! Every view of one recording: the shapes of the contract, filters, exit codes.

use culprit_model::notation::parse;
use serde_json::Value;

use crate::support::{Lab, number, stderr, stdout};

/// `main` works 60 ms and sleeps 40 ms; `worker` waits for a lock that nobody needs.
const DRAWN: &str = "
    tick 10ms
    stack u cpu.user app!main;app!compute
    stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
    stack l blocked.lock app!start;libc.so.6!pthread_mutex_lock
    app(10)/main(10)    uuuuuussss|
    app(10)/worker(11)  llllllllll|
    root app(10)
";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.draw("x.culprit", DRAWN);
    lab
}

#[test]
fn top_has_the_shape_of_the_contract_and_own_times_sum_to_the_total() {
    let top = lab().json(&["top", "x.culprit"]);
    assert_eq!(
        (&top["schema"], &top["metric"], &top["unit"]),
        (&1.into(), &"run".into(), &"ns".into())
    );
    assert_eq!(top["total"], 100_000_000, "{top}");
    let rows = top["rows"].as_array().unwrap();
    for key in [
        "name",
        "exc",
        "exc_share",
        "inc",
        "inc_share",
        "count",
        "fold",
        "when",
        "first_ns",
        "last_ns",
    ] {
        assert!(rows.iter().all(|row| !row[key].is_null()), "{key}");
    }
    for key in ["exc", "own"] {
        let sum: f64 = rows.iter().map(|row| number(&row[key])).sum();
        assert!((sum - number(&top["total"])).abs() < 0.5, "{key}: {sum}");
    }
}

#[test]
fn filters_narrow_every_view_alike() {
    let lab = lab();
    let cpu = lab.json(&["top", "x.culprit", "--metric", "cpu"]);
    assert_eq!(cpu["total"], 60_000_000);
    let early = lab.json(&["tree", "x.culprit", "--to", "20ms", "--thread", "main"]);
    assert_eq!(early["total"], 20_000_000);
    let no_locks = lab.json(&["flame", "x.culprit", "--exc", "blocked.lock"]);
    assert_eq!(no_locks["total"], 100_000_000);
    let folded = lab.json(&["top", "x.culprit", "--fold", "^blocked.;^cpu."]);
    let compute = row(&folded, "app!compute");
    assert_eq!((&compute["exc"], &compute["fold"]), (&60_000_000.into(), &60_000_000.into()));
}

/// `main` waits 60 ms for `worker`, which works 40 ms and reads 20 ms; three threads stand by.
const JOINED: &str = "
    tick 10ms
    stack u cpu.user app!main
    stack j blocked.lock app!main;libc.so.6!pthread_join
    stack w cpu.user app!start;app!work
    stack d blocked.disk app!start;libc.so.6!read
    stack p blocked.lock pool!take
    app(10)/main(10)    ujjjjjju|
    app(10)/worker(11)  .wwwwdd|
    app(10)/pool(12)    pppppppp|
    app(10)/pool(13)    pppppppp|
    app(10)/pool(14)    pppppppp|
    wake 7 worker > main
    root app(10)
";

fn joined() -> Lab {
    let lab = Lab::new();
    lab.draw("x.culprit", JOINED);
    lab
}

fn text(lab: &Lab, arguments: &[&str]) -> String {
    let output = lab.culprit().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

const OF_RUN: &str = "run time of 80.0 ms: each moment given to what the run was waiting for";

#[test]
fn every_view_opens_on_run_time_and_says_so_in_its_first_line() {
    let lab = joined();
    for view in [
        &["top"][..],
        &["top", "--columns", "own"],
        &["tree"],
        &["flame"],
        &["butterfly", "app!work"],
        &["source", "app!work"],
    ] {
        let arguments = [view, &["x.culprit"]].concat();
        let text = text(&lab, &arguments);
        assert_eq!(text.lines().next(), Some(OF_RUN), "{arguments:?}: {text}");
        assert_eq!(lab.json(&arguments)["of"], OF_RUN, "{arguments:?}");
    }
    let callers = text(&lab, &["callers", "app!work", "x.culprit"]);
    let first = format!("40.0 ms of the {OF_RUN}");
    assert_eq!(callers.lines().next(), Some(&*first), "{callers}");
    for (view, first) in [
        ("critical-path", "run time of 80.0 ms, from 0 ns to 80.0 ms: thread main (10), "),
        ("phases", "elapsed time of 80.0 ms; within a phase, shares are of the run time: "),
        ("wakers", "blocked time of 5 threads, "),
    ] {
        let text = text(&lab, &[view, "x.culprit"]);
        assert!(text.starts_with(first), "{text}");
    }
    let wall = text(&lab, &["tree", "x.culprit", "--metric", "wall"]);
    assert_eq!(wall.lines().next(), Some("wall time of 5 threads, 380 ms"), "{wall}");
    assert_eq!(text(&lab, &["report", "x.culprit"]).matches(OF_RUN).count(), 1);
    let report = lab.json(&["report", "x.culprit"]);
    assert_eq!((&report["of"], &report["run"]["total_ns"]), (&OF_RUN.into(), &80_000_000.into()));
    assert_eq!(report["run"]["causes"]["blocked.disk"], 20_000_000);
}

#[test]
fn a_waits_stack_leads_on_to_the_thread_that_was_waited_for() {
    let lab = joined();
    let tree = text(&lab, &["tree", "x.culprit"]);
    assert!(tree.contains("waits for Thread worker (11)") && !tree.contains("pool"), "{tree}");
    let top = lab.json(&["top", "x.culprit"]);
    assert_eq!(row(&top, "app!work")["own"], 40_000_000);
    assert_eq!(row(&top, "libc.so.6!pthread_join")["inc"], 60_000_000);
    assert_eq!(row(&top, "libc.so.6!pthread_join")["own"], 0);
    let folded = text(&lab, &["export", "x.culprit", "--to", "collapsed", "--erase-ids"]);
    assert!(folded.contains("waits for Thread worker;") && !folded.contains("(11)"), "{folded}");
    let sum = |text: &str| -> u64 {
        text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    };
    assert_eq!(sum(&folded), 80_000_000, "{folded}");
    let svg = lab.path("x.svg");
    text(&lab, &["flame", "x.culprit", "-o", svg.to_str().unwrap()]);
    assert!(std::fs::read_to_string(svg).unwrap().contains(OF_RUN));
}

#[test]
fn selected_threads_and_processes_have_their_own_run_time() {
    let lab = joined();
    let of = |arguments: &[&str]| {
        let top = lab.json(&[&["top", "x.culprit"], arguments].concat());
        (top["of"].as_str().unwrap().to_owned(), top["total"].as_u64().unwrap())
    };
    let (heading, total) = of(&["--thread", "worker"]);
    assert!(heading.contains("thread worker (11)") && total == 60_000_000, "{heading}, {total}");
    let (heading, total) = of(&["--thread", "pool"]);
    assert!(heading.contains("3 threads, each with its own run time") && total == 240_000_000);
    let (heading, total) = of(&["--process", "app"]);
    assert!(heading.contains("process app (10)") && total == 80_000_000, "{heading}, {total}");
    assert_eq!(of(&["--from", "20ms", "--to", "75ms"]).1, 55_000_000);
}

#[test]
fn what_the_run_did_not_wait_for_is_named_as_such() {
    let lab = joined();
    let output = lab.culprit().args(["top", "x.culprit", "--inc", "pool"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("the run waited for nothing that the filter keeps"), "{said}");
    assert!(said.contains("--metric wall"), "{said}");
}

#[test]
fn idle_threads_are_one_line_of_the_report() {
    let lab = joined();
    let report = text(&lab, &["report", "x.culprit"]);
    assert!(report.contains("3 idle threads; `--idle` shows them"), "{report}");
    assert!(!report.contains("pool (12)"), "{report}");
    let all = text(&lab, &["report", "x.culprit", "--idle"]);
    assert!(all.contains("pool (12)") && !all.contains("idle threads"), "{all}");
    let threads = lab.json(&["report", "x.culprit"])["threads"].clone();
    let idle: Vec<bool> =
        threads.as_array().unwrap().iter().map(|row| row["idle"].as_bool().unwrap()).collect();
    assert_eq!(idle, [false, false, true, true, true]);
}

#[test]
fn a_difference_is_of_elapsed_times() {
    let lab = joined();
    lab.draw("y.culprit", &JOINED.replace("ujjjjjju|", "ujjjjjjuu|"));
    let diff = lab.json(&["diff", "x.culprit", "y.culprit"]);
    assert_eq!((number(&diff["before"]["total"]), number(&diff["after"]["total"])), (80e6, 90e6));
    assert_eq!(diff["metric"], "run");
    let diff = text(&lab, &["diff", "x.culprit", "y.culprit"]);
    let first = "run time per run: each moment given to what the run was waiting for";
    assert_eq!(diff.lines().next(), Some(first), "{diff}");
    let diff = text(&lab, &["diff", "x.culprit", "y.culprit", "--metric", "cpu"]);
    assert_eq!(diff.lines().next(), Some("CPU time per run"), "{diff}");
}

#[test]
fn without_thread_time_a_recording_keeps_its_own_metric() {
    let lab = Lab::new();
    std::fs::write(lab.path("x.folded"), "main;f 3\nmain;g 4\n").unwrap();
    text(&lab, &["import", "x.folded", "-o", "x.culprit"]);
    let top = lab.json(&["top", "x.culprit"]);
    assert_eq!((&top["metric"], &top["total"]), (&"samples".into(), &7.into()));
    assert_eq!(text(&lab, &["top", "x.culprit"]).lines().next(), Some("samples, 7"));
    for view in [
        &["top"][..],
        &["report"],
        &["flame"],
        &["export", "--to", "collapsed"],
        &["diff", "x.culprit"],
    ] {
        let arguments = [view, &["x.culprit", "--metric", "run"]].concat();
        let output = lab.culprit().args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains("the recording has no thread time"), "{arguments:?}: {said}");
        assert!(said.contains("`samples`"), "{arguments:?}: {said}");
    }
}

fn row(top: &Value, name: &str) -> Value {
    let rows = top["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

#[test]
fn a_function_is_found_by_its_name_or_by_a_pattern() {
    let lab = lab();
    for name in ["app!compute", "compute", "comp*e"] {
        let butterfly = lab.json(&["butterfly", name, "x.culprit"]);
        assert_eq!(butterfly["name"], "app!compute", "{name}");
        assert_eq!(butterfly["callers"][0]["name"], "app!main");
        assert_eq!(butterfly["callees"][0]["name"], "cpu.user");
    }
    let callers = lab.json(&["callers", "clock_nanosleep", "x.culprit"]);
    let names: Vec<&str> = callers["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|node| node["name"].as_str())
        .collect();
    assert_eq!(names[..3], ["ROOT", "libc.so.6!clock_nanosleep", "app!main"]);
    let output = lab.culprit().args(["callees", "nowhere", "x.culprit"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn an_empty_view_names_the_filter_to_lift() {
    let lab = lab();
    let output = lab.culprit().args(["tree", "x.culprit", "--inc", "nowhere"]).output().unwrap();
    assert!(stderr(&output).contains("`--inc nowhere` matches no frame"), "{}", stderr(&output));
    let output = lab
        .culprit()
        .args(["tree", "x.culprit", "--inc", "compute", "--fold", "compute"])
        .output()
        .unwrap();
    assert!(stderr(&output).contains("took away"), "{}", stderr(&output));
    for (arguments, said) in [
        (&["--process", "app", "--thread", "nobody"][..], "`--thread nobody` leaves nothing"),
        (&["--thread", "worker", "--metric", "cpu"], "`--thread worker` leaves nothing"),
        (&["--from", "9s"], "`--from` lies after the recording's end"),
        (&["--metric", "faults"], "no values of the metric `faults`"),
        (
            &["--thread", "nobody", "--process", "nobody"],
            "`--process nobody --thread nobody` together leave nothing",
        ),
    ] {
        let output = lab.culprit().args(["top", "x.culprit"]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn bad_filters_are_bad_input() {
    let lab = lab();
    for arguments in [
        &["--from", "soon"][..],
        &["--metric", "beauty"],
        &["--fold-pct", "200"],
        &["--group", "@(->x"],
        &["--fail-on", "severe"],
        &["--from", "60ms", "--to", "20ms"],
        &["--from", "20ms", "--to", "20ms"],
        &["--inc", "@("],
        &["--thread", "{"],
    ] {
        let output = lab.culprit().arg("report").arg("x.culprit").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    }
    for arguments in [&["--from", "3parsec"][..], &["--from", "3s", "--to", "1s"], &["--inc", "@("]]
    {
        let output = lab.culprit().args(["top", "x.culprit"]).args(arguments).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("as in `"), "{arguments:?} has no example: {said}");
    }
}

#[test]
fn report_and_findings_are_about_what_the_filter_keeps() {
    let lab = lab();
    let report = lab.json(&["report", "x.culprit", "--thread", "worker", "--to", "40ms"]);
    let threads = report["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 1, "{report}");
    assert_eq!(
        (&threads[0]["name"], &threads[0]["wall_ns"]),
        (&"worker".into(), &40_000_000.into())
    );
    let all = lab.json(&["findings", "x.culprit", "--all"]);
    let short = lab.json(&["findings", "x.culprit", "--all", "--thread", "worker", "--to", "1ms"]);
    let placed = |document: &Value| {
        let findings = document["findings"].as_array().unwrap();
        findings.iter().filter(|f| !f["where"].as_array().unwrap().is_empty()).count()
    };
    assert!(placed(&all) > 0 && placed(&short) < placed(&all), "{short}");
}

#[test]
fn what_is_no_amount_is_refused() {
    let lab = Lab::new();
    for arguments in [
        &["record", "-d", "0"][..],
        &["record", "-F", "0"],
        &["record", "--max-mib", "0"],
        &["record", "-o", "a", "-o", "b"],
        &["record", "--place", "docker:x,speed=3"],
        &["why", "-d", "0s"],
        &["why", "--runs", "0"],
    ] {
        let output = lab.culprit().args(arguments).args(["--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert_eq!(std::fs::read_dir(lab.path(".")).unwrap().count(), 0, "{arguments:?}");
    }
}

#[test]
fn findings_report_and_fail_on() {
    let lab = lab();
    let findings = lab.json(&["findings", "x.culprit"]);
    for key in ["wall_ns", "threads", "samples", "lost", "place", "command"] {
        assert!(!findings["recording"][key].is_null(), "{key}");
    }
    for finding in findings["findings"].as_array().unwrap() {
        for key in [
            "id",
            "title",
            "severity",
            "confidence",
            "cost_ns",
            "share",
            "where",
            "evidence",
            "why",
            "fix",
            "check",
        ] {
            assert!(!finding[key].is_null(), "{key}: {finding}");
        }
    }
    let report = lab.json(&["report", "x.culprit"]);
    let threads = report["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let causes = thread["causes"].as_object().unwrap();
        let sum: f64 = causes.values().map(number).sum();
        assert!((sum - number(&thread["wall_ns"])).abs() < 0.5, "{thread}");
    }
    let code = |fail_on: &str| {
        let output =
            lab.culprit().args(["findings", "x.culprit", "--fail-on", fail_on]).output().unwrap();
        output.status.code()
    };
    let first = findings["findings"][0]["id"].as_str().unwrap();
    assert_eq!(code(first), Some(1));
    assert_eq!(code("cpu-quota-throttling"), Some(0));
}

#[test]
fn findings_and_the_threads_of_a_report_keep_to_the_filter() {
    let lab = lab();
    // In the first 20 ms main works; the worker waits for a lock all the time.
    let report = lab.json(&["report", "x.culprit", "--from", "10ms", "--to", "30ms"]);
    for thread in report["threads"].as_array().unwrap() {
        assert_eq!(thread["wall_ns"], 20_000_000, "{thread}");
    }
    assert_eq!(report["whole_ns"], 20_000_000);
    let worker = lab.json(&["report", "x.culprit", "--thread", "^worker"]);
    assert_eq!(worker["threads"].as_array().unwrap().len(), 1);
    let first = |arguments: &[&str]| {
        let found = lab.json(&[&["findings", "x.culprit"], arguments].concat());
        let first = found["findings"][0].clone();
        assert!(number(&first["share"]) <= 1.0, "{first}");
        (first["id"].as_str().unwrap().to_owned(), number(&first["cost_ns"]))
    };
    assert_eq!(first(&["--thread", "^main", "--to", "60ms"]), ("hot-function".into(), 60e6));
    assert_eq!(first(&["--thread", "^worker"]), ("lock-contention".into(), 100e6));
}

#[test]
fn the_report_is_one_screen_without_colour_in_a_pipe() {
    let output =
        lab().culprit().args(["report", "x.culprit"]).env("COLUMNS", "100").output().unwrap();
    let text = stdout(&output);
    assert!(text.lines().count() <= 50, "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 100, "{longest}: {text}");
    for part in
        ["app in host", "Findings", "How far this can be trusted", "sum of all intervals", "Next:"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    for view in [&["tree"][..], &["flame"], &["top"], &["butterfly", "compute"]] {
        let output = lab().culprit().args(view).arg("x.culprit").output().unwrap();
        let text = stdout(&output);
        assert!(output.status.success() && text.contains("compute"), "{view:?}: {text}");
        assert!(!text.contains('\u{1b}'), "{view:?}");
    }
}

#[test]
fn a_process_cannot_reach_the_terminal_through_its_name() {
    let lab = Lab::new();
    let mut recording = parse(DRAWN).unwrap();
    recording.processes[0].name = "\u{1b}]0;owned\u{7}".into();
    recording.threads[0].name = "\u{1b}[2J".into();
    recording.meta.command = vec!["\u{1b}[31m".to_owned()];
    culprit_recording::write(lab.path("x.culprit"), &recording).unwrap();
    recording.frames.iter_mut().for_each(|frame| frame.function = "main\u{1b}[2J".into());
    culprit_recording::write(lab.path("x.culprit"), &recording).unwrap();
    for view in [
        &["report"][..],
        &["findings", "--all"],
        &["top"],
        &["tree"],
        &["flame"],
        &["butterfly", "main"],
        &["callers", "main"],
        &["callees", "nobody\u{1b}[2J"],
    ] {
        let output = lab.culprit().args(view).arg("x.culprit").output().unwrap();
        let text = stdout(&output) + &stderr(&output);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{view:?}: {text:?}");
    }
}

#[test]
fn variables_stand_in_for_options() {
    let lab = lab();
    let output = lab
        .culprit()
        .args(["top", "x.culprit"])
        .envs([("CULPRIT_JSON", "true"), ("CULPRIT_METRIC", "cpu"), ("CULPRIT_LIMIT", "1")])
        .output()
        .unwrap();
    let top: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&top["metric"], top["rows"].as_array().unwrap().len()), (&"cpu".into(), 1));
    let output = lab
        .culprit()
        .args(["report", "x.culprit"])
        .envs([("CULPRIT_JSON", "1"), ("CULPRIT_THREAD", "worker"), ("CULPRIT_REPORT_ALL", "yes")])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["threads"].as_array().unwrap().len(), 1);
    std::fs::write(lab.path("culprit.toml"), "[top]\nmetric = \"blocked\"\n").unwrap();
    assert_eq!(lab.json(&["top", "x.culprit"])["metric"], "blocked");
}

#[test]
fn views_and_findings_are_the_same_where_no_thread_can_be_had() {
    let lab = lab();
    for command in ["report", "findings", "top"] {
        let ask = |bytes: Option<&str>| {
            let mut culprit = lab.culprit();
            // No machine has so much memory, so no thread can have its stack.
            culprit.envs(bytes.map(|bytes| ("RUST_MIN_STACK", bytes)));
            culprit.args([command, "x.culprit"]).output().unwrap()
        };
        let (alone, usual) = (ask(Some("100000000000000")), ask(None));
        assert!(alone.status.success(), "{command}: {}", stderr(&alone));
        assert_eq!(stdout(&alone), stdout(&usual), "{command}");
    }
}
