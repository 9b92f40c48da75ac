//! A session as a page uses it: bytes in, columns and JSON out.

use culprit_model::{Filter, Recording, notation};
use culprit_report::Shown;
use culprit_report::filters::run_filter;
use culprit_report::views::functions;
use culprit_wasm::{Session, TreeColumns};
use serde_json::Value;

const DRAWING: &str = "
    stack a cpu.user app!main;app!work
    stack k cpu.kernel app!main;libc.so.6!read;[kernel]!ksys_read
    stack l blocked.lock app!main;libc.so.6!pthread_mutex_lock;[kernel]!futex_do_wait
    stack s blocked.sleep app!nap;libc.so.6!clock_nanosleep
    app(10)/app(10)     aakkllllaa|
    app(10)/worker(11)  aaaaaaaaaa|
    app(10)/spare(12)   ssssssssss|
    wake 8 worker > app app!main;libc.so.6!pthread_mutex_unlock
    root app(10)";

fn recording() -> Recording {
    let mut recording = notation::parse(DRAWING).expect("a drawing");
    for frame in &mut recording.frames {
        if frame.function.as_str() == "work" {
            (frame.file, frame.line) = (Some("/src/app.c".into()), Some(8));
        }
    }
    recording
}

fn bytes(recording: &Recording) -> Vec<u8> {
    culprit_recording::to_bytes(recording).expect("a file")
}

fn session() -> Session {
    Session::open("x.culprit", bytes(&recording())).expect("a session")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("a document")
}

/// A tree as lines of indented names with their values in ms.
fn drawn(session: &Session, tree: &TreeColumns) -> Vec<String> {
    let names = session.names();
    let line = |at: usize| {
        let (depth, name) = (usize::from(tree.depth[at]), tree.name[at] as usize);
        format!("{:depth$}{} {}", "", names[name], tree.value[at] / 1e6)
    };
    (0..tree.name.len()).map(line).collect()
}

#[test]
fn a_session_opens_on_the_run_time_of_all() {
    let mut session = session();
    let filtered = json(&session.filter("{}").unwrap());
    let shown = Shown::new(&recording(), &run_filter(), None).unwrap();
    assert_eq!(filtered["metric"], "run");
    assert_eq!((&filtered["unit"], &filtered["empty"]), (&"ns".into(), &Value::Null));
    assert_eq!(filtered["total"], shown.tree.total());
    assert_eq!(filtered["heading"], shown.basis.heading(&shown.tree));
    let (names, columns, rows) = (session.names(), session.functions(), functions(&shown.tree));
    assert_eq!(columns.name.len(), rows.len());
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(names[columns.name[at] as usize], row.name);
        #[expect(clippy::cast_precision_loss, reason = "some ms")]
        let values = [row.own as f64, row.total as f64, row.count as f64];
        let found = [columns.own[at], columns.total[at], columns.count[at]];
        let same = found.iter().zip(values).all(|(found, value)| (found - value).abs() < 0.5);
        assert!(same, "{}: {found:?} {values:?}", row.name);
    }
    let work = rows.iter().position(|row| row.name == "app!work").unwrap();
    assert_eq!((columns.place[work].as_str(), columns.kind[work]), ("app.c:8", 0));
    assert_eq!(columns.cause[work], 0);
}

#[test]
fn a_tree_is_in_preorder_with_the_costliest_first() {
    let mut session = session();
    session.filter(r#"{"metric":"wall","thread":"app"}"#).unwrap();
    let tree = session.tree();
    let lines = drawn(&session, &tree);
    assert_eq!(
        lines[..4],
        ["ROOT 10", " Process app (10) 10", "  Thread app (10) 10", "   app!main 10"]
    );
    for (at, line) in lines.iter().enumerate() {
        let end = tree.end[at] as usize;
        assert!(tree.depth[at + 1..end].iter().all(|depth| *depth > tree.depth[at]));
        assert!(tree.depth.get(end).is_none_or(|depth| *depth <= tree.depth[at]));
        let below: f64 = (at + 1..end)
            .filter(|child| tree.depth[*child] == tree.depth[at] + 1)
            .map(|child| tree.value[child])
            .sum();
        assert!((below + tree.own[at] - tree.value[at]).abs() < 0.5, "{line}");
    }
    let lock = lines.iter().position(|line| line.contains("pthread_mutex_lock")).unwrap();
    assert_eq!(tree.cause[lock], 8);
    let name = tree.name[lock];
    assert_eq!(
        drawn(&session, &session.callers(name).unwrap())[1..3],
        [" libc.so.6!pthread_mutex_lock 4", "  app!main 4"]
    );
    assert_eq!(drawn(&session, &session.callees(name).unwrap())[2], "  [kernel]!futex_do_wait 4");
    assert!(session.callers(9_999).unwrap_err().0.contains("9999"));
}

#[test]
fn lanes_are_the_threads_that_the_filter_keeps_the_idle_ones_last() {
    let mut session = session();
    let threads = json(&session.lane_threads().unwrap());
    let names: Vec<_> = threads.as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names.len(), 3);
    assert_eq!(
        (names[0], names[2], &threads[2]["idle"]),
        (&"app".into(), &"spare".into(), &true.into())
    );
    let (rows, bars) = session.lanes((0, 10_000_000), 10, false).unwrap();
    assert_eq!(rows, [0, 1, 2]);
    assert_eq!((bars.first.len(), bars.first[0], bars.first[3] as usize), (4, 0, bars.cause.len()));
    assert_eq!(bars.left[..4], [0.0, 2.0, 4.0, 8.0]);
    let (busy, _) = session.lanes((0, 10_000_000), 10, true).unwrap();
    assert_eq!(busy, [0, 1]);
    let wait = json(&session.at(0, 5_000_000).unwrap());
    assert_eq!(
        (&wait["from"], &wait["to"], &wait["cause"]),
        (&4_000_000.into(), &8_000_000.into(), &8.into())
    );
    assert_eq!(
        (&wait["waker"]["thread"], &wait["waker"]["name"]),
        (&1.into(), &"worker (11)".into())
    );
    assert_eq!(wait["waker"]["stack"][0], "libc.so.6!pthread_mutex_unlock");
    assert_eq!(session.at(0, 99_000_000).unwrap(), "null");
    assert_eq!(session.at(77, 0).unwrap(), "null");
    session.filter(r#"{"thread":"worker"}"#).unwrap();
    assert_eq!(json(&session.lane_threads().unwrap()).as_array().unwrap().len(), 1);
}

#[test]
fn the_bars_of_the_run_are_of_the_threads_that_it_waited_for() {
    let mut session = session();
    let (rows, bars) = session.run_bars((0, 10_000_000), 10).unwrap();
    // The command waits for the lock from 4 to 8 ms, and the worker computes meanwhile.
    assert_eq!((&rows[..], &bars.left[..]), (&[0, 0, 1, 0][..], &[0.0, 2.0, 4.0, 8.0][..]));
    assert_eq!(bars.right, [2.0, 4.0, 8.0, 10.0]);
    session.filter(r#"{"thread":"app"}"#).unwrap();
    let (rows, narrowed) = session.run_bars((0, 10_000_000), 10).unwrap();
    assert_eq!((rows[2], narrowed), (u32::MAX, bars), "its lane is not shown");
    assert!(session.run_bars((5, 5), 10).unwrap().0.is_empty());
}

#[test]
fn evidence_is_of_the_last_report() {
    let mut session = session();
    assert!(session.evidence(0).unwrap_err().0.contains("evidence"));
    let overview = json(&session.overview().unwrap());
    let findings = overview["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for (at, finding) in findings.iter().enumerate() {
        let evidence = json(&session.evidence(at).unwrap());
        let when = evidence["when_ns"].as_array().unwrap().iter();
        let sum: u64 = when.map(|time| time.as_u64().unwrap()).sum();
        assert_eq!(finding["cost_ns"], sum, "{}", finding["id"]);
    }
    assert!(session.evidence(findings.len()).is_err());
}

#[test]
fn activities_are_those_that_the_filter_keeps() {
    let session = session();
    let none = json(&session.activities().unwrap());
    assert!(none["empty"].as_str().unwrap().contains("--activity"), "{none}");
    let mut recording = recording();
    for (time, kind, name) in
        [(1, "enter", "load"), (3, "leave", "load"), (4, "enter", "save"), (9, "leave", "save")]
    {
        recording.activity_edges.push(culprit_model::ActivityEdge {
            time: culprit_model::Time(time * 1_000_000),
            thread: culprit_model::ThreadId(0),
            kind: kind.parse().unwrap(),
            name: name.into(),
            key: None,
            source: culprit_model::ActivitySource::Function,
        });
    }
    culprit_engine::activities::build(&mut recording);
    let mut session = Session::open("x.culprit", bytes(&recording)).unwrap();
    let names = |session: &Session| {
        let found = json(&session.activities().unwrap());
        let rows = found["rows"].as_array().unwrap().iter();
        let row = |row: &Value| format!("{} {}", row["name"].as_str().unwrap(), row["latency_ns"]);
        (rows.map(row).collect::<Vec<_>>().join(", "), found["slowest"].as_array().unwrap().len())
    };
    assert_eq!(names(&session), ("save 5000000, load 2000000".to_owned(), 2));
    session.filter(r#"{"activity":"@^load$"}"#).unwrap();
    assert_eq!(names(&session), ("load 2000000".to_owned(), 1));
    session.filter(r#"{"from":2000000}"#).unwrap();
    assert_eq!(names(&session), ("save 5000000".to_owned(), 1));
    session.filter(r#"{"thread":"worker"}"#).unwrap();
    assert!(json(&session.activities().unwrap())["empty"].is_string());
}

#[test]
fn an_overview_is_the_report_and_leaves_the_session_as_it_was() {
    let mut session = session();
    let first = session.overview().unwrap();
    let overview = json(&first);
    assert!(
        overview["verdict"].as_str().unwrap().starts_with("10.0 ms"),
        "{}",
        overview["verdict"]
    );
    let facts = json(&session.facts().unwrap());
    assert_eq!((&facts["format"], facts["causes"].as_array().unwrap().len()), (&2.into(), 19));
    assert_eq!((&facts["run"], &facts["of"]), (&overview["run"], &overview["of"]));
    assert_eq!(session.overview().unwrap(), first);
    assert_eq!(session.tree(), session.tree());
}

#[test]
fn two_recordings_are_compared_both_ways_round() {
    let mut session = session();
    assert!(session.compare(false).unwrap_err().0.contains("no second recording"));
    assert!(session.compared_runs(false, 9).is_err());
    session.open_other("same.culprit", bytes(&recording())).unwrap();
    let same = json(&session.compare(false).unwrap());
    assert_eq!((&same["same"], &same["ratio"]), (&true.into(), &1.0.into()));
    let longer = DRAWING
        .replace("aakkllllaa|", "aakkssssssssssaa|")
        .replace("    wake 8 worker > app app!main;libc.so.6!pthread_mutex_unlock\n", "");
    let longer = notation::parse(&longer).unwrap();
    assert!(session.open_other("odd", b"PK".to_vec()).is_err());
    assert!(session.compare(false).is_err(), "what was open is not compared any more");
    session.open_other("longer.culprit", bytes(&longer)).unwrap();
    let compared = json(&session.compare(false).unwrap());
    assert_eq!((&compared["same"], &compared["metric"]), (&false.into(), &"run".into()));
    assert_eq!(
        (&compared["before"]["total"], &compared["after"]["total"]),
        (&10e6.into(), &16e6.into())
    );
    let causes = compared["causes"].as_array().unwrap();
    assert_eq!(
        (&causes[0]["name"], &causes[0]["only"]),
        (&"blocked.sleep".into(), &"after".into())
    );
    assert!(compared["functions"].as_array().unwrap().iter().any(|row| row["name"] == "app!nap"));
    let steps = |session: &Session, name: &str| {
        let (tree, names) = session.compared_tree();
        let is = |at: &usize| names[tree.name[*at] as usize] == name;
        let at = (0..tree.name.len()).find(is).unwrap();
        // What is gone and what is new stand side by side.
        (tree.step[at], tree.width[at] >= tree.before[at].max(tree.after[at]))
    };
    assert_eq!((steps(&session, "app!nap"), steps(&session, "ROOT")), ((8, true), (6, true)));
    // Both begin at the start of their commands, and 16 ms of the longer one are 16 pixels.
    let (length, [before, after]) = session.compared_runs(false, 16).unwrap().unwrap();
    assert_eq!((length, before.x1.last(), after.x1.last()), (16_000_000, Some(&10.0), Some(&16.0)));
    assert_eq!((before.names.len(), &after.names[..]), (2, &["app (10)".to_owned()][..]));
    assert_eq!(before.names[before.thread[2] as usize], "worker (11)");
    let found = json(&session.compare_findings(false).unwrap());
    let turned = json(&session.compare(true).unwrap());
    assert_eq!((&turned["before"], &turned["after"]), (&compared["after"], &compared["before"]));
    assert_eq!((steps(&session, "app!nap"), steps(&session, "ROOT")), ((0, true), (2, true)));
    let back = json(&session.compare_findings(true).unwrap());
    assert_eq!(found.as_array().unwrap().len(), back.as_array().unwrap().len());
    assert_eq!(session.tree(), self::session().tree(), "the view stays as it was");
}

#[test]
fn presets_are_written_out_for_the_recording() {
    let session = session();
    let presets = json(&session.presets("").unwrap());
    let names: Vec<_> = presets.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&Value::from("modules")), "{names:?}");
    let own = json(&session.presets("app!work").unwrap());
    let mine = own.as_array().unwrap().iter().find(|one| one["name"] == "my-app").unwrap();
    assert!(mine["group"].as_str().unwrap().contains("OTHER"), "{mine}");
    assert!(session.presets("@(").is_err());
}

#[test]
fn a_filter_that_leaves_nothing_says_what_to_lift() {
    let mut session = session();
    let empty = |session: &mut Session, filter: &str| {
        json(&session.filter(filter).unwrap())["empty"].as_str().unwrap_or_default().to_owned()
    };
    let why = empty(&mut session, r#"{"metric":"wall","include":"nowhere"}"#);
    assert!(why.starts_with("nothing to show: `--inc nowhere` matches no frame"), "{why}");
    assert!(session.functions().name.is_empty());
    let why = empty(&mut session, r#"{"include":"nap"}"#);
    assert!(why.ends_with("`--metric wall` shows the time of all threads"), "{why}");
    assert_eq!(empty(&mut session, r#"{"metric":"wall","include":"nap"}"#), "");
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let mut session = session();
    let before = session.functions();
    for (filter, why) in [
        ("{", "cannot read the filter"),
        (r#"{"metric":"speed"}"#, "unknown metric `speed`"),
        (r#"{"include":"@("}"#, "docs/filters.md"),
        (r#"{"presets":["mine"]}"#, "`mine`"),
    ] {
        let refused = session.filter(filter).unwrap_err().0;
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(session.functions(), before);
    session.filter(r#"{"activity":"x","metric":"wall"}"#).unwrap();
    assert!(session.overview().unwrap_err().0.contains("--from"));
    session.filter("{}").unwrap();
    assert!(session.overview().is_ok());
    for bytes in [&b""[..], b"PK", b"\x7fELF", &[0; 4_096]] {
        let refused = Session::open("odd.bin", bytes.to_vec()).unwrap_err().0;
        assert!(refused.contains("`odd.bin`"), "{refused}");
    }
}

#[test]
fn a_cut_or_changed_file_is_no_panic() {
    let whole = bytes(&recording());
    for at in (0..whole.len()).step_by(97) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        for bytes in [whole[..at].to_vec(), changed] {
            if let Ok(mut session) = Session::open("x.culprit", bytes) {
                let _ = session.overview();
                session.filter(r#"{"metric":"wall"}"#).unwrap();
                let _ = (session.functions(), session.tree(), session.lane_threads());
                let _ = session.lanes((0, u64::MAX), 100, false);
                let _ = (session.run_bars((0, u64::MAX), 100), session.activities());
                let _ = session.evidence(0);
            }
        }
    }
}

#[test]
fn filters_of_a_session_are_those_of_views() {
    let mut session = session();
    for (given, filter) in [
        (
            r#"{"metric":"wall","from":2000000}"#,
            Filter { from: Some(culprit_model::Time(2_000_000)), ..Filter::default() },
        ),
        (
            r#"{"metric":"wall","fold":"^[kernel]!"}"#,
            Filter { fold: "^[kernel]!".to_owned(), ..Filter::default() },
        ),
        (
            r#"{"metric":"wall","group":"{%}!->module $1"}"#,
            Filter { group: "{%}!->module $1".to_owned(), ..Filter::default() },
        ),
    ] {
        session.filter(given).unwrap();
        let shown = Shown::new(&recording(), &filter, None).unwrap();
        let wanted: Vec<_> =
            shown.tree.ordered().map(|id| shown.tree.name(id).to_string()).collect();
        let names = session.names();
        let found: Vec<_> =
            session.tree().name.iter().map(|name| names[*name as usize].clone()).collect();
        assert_eq!(found, wanted, "{given}");
    }
}
