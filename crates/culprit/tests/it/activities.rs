//! Activities: how long requests took, how that time passed, and the views below them.

use culprit_model::notation::parse;
use culprit_model::{ActivityEdge, ActivitySource, EdgeKind, ThreadId, Time};
use serde_json::Value;

use crate::support::{Lab, all_rights, build, fixtures, skip, stderr, stdout};

/// `main` takes requests and `worker` handles them: 20 ms each, of which 10 ms blocked.
const DRAWN: &str = "
    tick 10ms
    stack w cpu.user app!worker;app!handle
    stack l blocked.lock app!worker;app!handle;libc.so.6!pthread_mutex_lock
    app(10)/main(10)    KKKKssssss|
    app(10)/worker(11)  sswlssswls|
    root app(10)
";

fn lab() -> Lab {
    let lab = Lab::new();
    let mut recording = parse(DRAWN).unwrap();
    recording.meta.command = vec!["app".to_owned()];
    // Requests a from 10 to 50 ms and b from 20 to 100 ms; handled from 20 and from 70 ms on.
    for (ms, thread, kind, name, key) in [
        (10, 0, EdgeKind::Start, "request", Some("a")),
        (20, 0, EdgeKind::Start, "request", Some("b")),
        (20, 1, EdgeKind::Enter, "handle", Some("a")),
        (40, 1, EdgeKind::Leave, "handle", None),
        (50, 0, EdgeKind::Stop, "request", Some("a")),
        (70, 1, EdgeKind::Enter, "handle", Some("b")),
        (90, 1, EdgeKind::Leave, "handle", None),
        (100, 0, EdgeKind::Stop, "request", Some("b")),
    ] {
        recording.activity_edges.push(ActivityEdge {
            time: Time(ms * 1_000_000),
            thread: ThreadId(thread),
            kind,
            name: name.into(),
            key: key.map(Into::into),
            source: ActivitySource::Function,
        });
    }
    culprit_engine::activities::build(&mut recording);
    culprit_recording::write(lab.path("x.culprit"), &recording).unwrap();
    lab
}

fn ms(value: &Value) -> u64 {
    value.as_u64().unwrap() / 1_000_000
}

#[test]
fn latencies_and_how_they_passed() {
    let lab = lab();
    let document = lab.json(&["activities", "x.culprit"]);
    assert_eq!((&document["ended"], &document["open"]), (&4.into(), &0.into()));
    let request = &document["rows"][0];
    assert_eq!((request["name"].as_str(), request["count"].as_u64()), (Some("request"), Some(2)));
    let told = ["latency_ns", "cpu_ns", "blocked_ns", "nobody_ns", "p50_ns", "max_ns"];
    assert_eq!(told.map(|key| ms(&request[key])), [120, 20, 20, 80, 40, 80]);
    let counts = request["histogram"].as_array().unwrap().iter().map(|b| b["count"].as_u64());
    assert_eq!(counts.collect::<Vec<_>>(), [Some(1), Some(1)]);
    let slowest = &document["slowest"][0];
    assert_eq!((slowest["key"].as_str(), ms(&slowest["latency_ns"])), (Some("b"), 80));
    assert_eq!(slowest["range"], "--from 0.020000000s --to 0.100000000s");
    let part = document["slowest"].as_array().unwrap().iter().find(|row| row["name"] == "handle");
    assert_eq!(part.unwrap()["path"], serde_json::json!(["request", "handle"]));
    let text = stdout(
        &lab.culprit().args(["activities", "x.culprit", "--name", "request"]).output().unwrap(),
    );
    assert!(text.contains("50.0 ms to") && text.contains("Slowest"), "{text}");
    assert!(!text.contains("handle"), "{text}");
    let later = lab.json(&["activities", "x.culprit", "--from", "60ms", "--thread", "worker"]);
    assert_eq!((&later["ended"], later["rows"].as_array().unwrap().len()), (&1.into(), 1));
}

#[test]
fn the_tree_below_activities_is_all_of_the_time() {
    let lab = lab();
    let arguments = ["tree", "x.culprit", "--root", "activities", "--metric", "wall"];
    let tree = lab.json(&arguments);
    assert_eq!(ms(&tree["nodes"][0]["inc"]), 200);
    let text = stdout(&lab.culprit().args(arguments).output().unwrap());
    let order = ["(Non-Activities)", "(Activities)", "Activity request", "Activity handle"];
    let places: Vec<_> = order.iter().map(|name| text.find(name)).collect();
    assert!(places.iter().all(Option::is_some) && places[1..].is_sorted(), "{text}");
    for (pattern, total) in [("request", 40), ("handle", 40)] {
        let top = lab.json(&["top", "x.culprit", "--activity", pattern]);
        assert_eq!(ms(&top["total"]), total, "{pattern}");
    }
    let empty = lab.culprit().args(["top", "x.culprit", "--activity", "nothing"]).output().unwrap();
    assert_eq!(empty.status.code(), Some(2));
    assert!(stderr(&empty).contains("--activity nothing"), "{}", stderr(&empty));
    let refused = lab.culprit().args(["findings", "x.culprit", "--activity", "request"]).output();
    assert_eq!(refused.unwrap().status.code(), Some(2));
}

#[test]
fn asynchronous_events_of_a_trace_are_activities_that_nobody_is_known_to_work_on() {
    let lab = Lab::new();
    let trace = fixtures().join("../crates/exchange/tests/fixtures/chrome/async.json");
    let imported = lab.json(&["import", trace.to_str().unwrap(), "-o", "x.culprit"]);
    assert_eq!(imported["activities"], 5);
    let document = lab.json(&["activities", "x.culprit", "--name", "request|query|frame"]);
    let rows = document["rows"].as_array().unwrap();
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            (row["name"].as_str().unwrap(), row["count"].as_u64(), row["latency_ns"].as_u64())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("request", Some(3), Some(4_000_000 + 8_000_250 + 400_000)),
            ("query", Some(1), Some(2_500_000)),
            ("frame", Some(1), Some(700_000)),
        ]
    );
    assert!(rows.iter().all(|row| row["nobody_ns"].is_null() && row["cpu_ns"].is_null()));
    let none =
        lab.culprit().args(["activities", "x.culprit", "--name", "nothing"]).output().unwrap();
    assert!(none.status.success() && stderr(&none).contains("matches"), "{}", stderr(&none));
}

/// Records the program of known requests; none, with a word on why, where that is not allowed or the
/// recording says that hits were lost.
fn recorded(lab: &Lab) -> Option<Value> {
    let output = lab
        .culprit()
        .args(["record", "-o", "x.culprit", "--force"])
        .args(["--activity", "outer=requests:outer", "--activity", "inner=inner"])
        .args(["--activity", "request=request_begin..request_end@arg1"])
        .args(["--activity", "handle=handle@arg1", "--activity", "thrown=thrown"])
        .args(["--activity", "tx=usdt:requests:tx_begin..tx_end@arg1"])
        .args(["--activity", "nowhere=no_such_function", "--"])
        .arg(build("activities/requests.c", &[]))
        .output()
        .unwrap();
    if output.status.code() == Some(3) {
        skip("recorded activities", stderr(&output).lines().next().unwrap_or_default());
        return None;
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let listened = if cfg!(target_arch = "x86_64") { 8 } else { 0 };
    assert_eq!(stdout(&output), format!("{listened} listened to\n"));
    let document = lab.json(&["activities", "x.culprit"]);
    let missing = document["missing"].as_array().unwrap();
    let lost = ["probe-hits-lost", "switches-lost"];
    if missing.iter().any(|hole| lost.iter().any(|lost| hole["id"] == *lost)) {
        skip("recorded activities", &format!("the recording lost hits: {missing:?}"));
        return None;
    }
    Some(document)
}

#[test]
fn named_functions_are_recorded_nested_and_across_threads() {
    if !all_rights() {
        return skip("recorded activities", "probes need root");
    }
    let lab = Lab::new();
    let Some(document) = recorded(&lab) else { return };
    let rows = document["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name);
    let counts = |name: &str| row(name).map(|row| (row["count"].as_u64(), row["open"].as_u64()));
    let ended = |count| Some((Some(count), Some(0)));
    assert_eq!(counts("outer"), ended(5), "{document}");
    assert_eq!(counts("inner"), ended(15));
    assert_eq!(counts("request"), ended(20));
    assert_eq!(counts("handle"), ended(20));
    assert_eq!(counts("nowhere"), None);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(counts("tx"), ended(8));
    }
    // The last call that was thrown out of is over when the thread is next inside a named function:
    // never, here.
    let thrown = row("thrown").unwrap();
    assert_eq!(thrown["count"].as_u64().unwrap() + thrown["open"].as_u64().unwrap(), 4);
    assert_eq!(thrown["open"], 1);
    let report = lab.json(&["report", "x.culprit"]);
    let losses = report["losses"].as_array().unwrap();
    let told = |id: &str, part: &str| {
        losses.iter().any(|loss| {
            loss["id"] == id && loss["detail"].as_str().is_some_and(|text| text.contains(part))
        })
    };
    assert!(told("probes-refused", "no_such_function"), "{losses:?}");
    assert!(told("activities-unpaired", "without a return"), "{losses:?}");
    times_of_requests_are_whole(row("request").unwrap(), row("handle").unwrap());
    let tree = lab.json(&["tree", "x.culprit", "--root", "activities", "--metric", "wall"]);
    let threads: u64 =
        report["threads"].as_array().unwrap().iter().map(|t| t["wall_ns"].as_u64().unwrap()).sum();
    assert_eq!(tree["nodes"][0]["inc"], threads);
}

/// A request is worked on while it is handled, and by nobody before: 20 handled one after the other,
/// each with a sleep of a millisecond, which no machine makes shorter.
fn times_of_requests_are_whole(request: &Value, handle: &Value) {
    let of = |row: &Value, key: &str| row[key].as_u64().unwrap();
    assert!(of(handle, "nobody_ns") == 0 && of(handle, "blocked_ns") > 0, "{handle}");
    assert!(of(handle, "latency_ns") >= 20_000_000, "{handle}");
    let worked = of(request, "latency_ns") - of(request, "nobody_ns");
    assert_eq!(worked, of(handle, "latency_ns"), "{request} {handle}");
    let parts = ["cpu_ns", "runnable_ns", "blocked_ns"].map(|key| of(handle, key));
    assert_eq!(parts.iter().sum::<u64>(), of(handle, "latency_ns"), "{handle}");
}
