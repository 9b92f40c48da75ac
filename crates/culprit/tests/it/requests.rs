//! Requests on sockets, recorded from a server and a client of known numbers of them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use culprit_model::{Activity, ActivityId, LossKind, Pid, Recording};
use culprit_record::{
    Ending, Options, SocketActivity, SocketSide, StopHandle, Target, Waiting, plan,
};

use crate::support::{Lab, all_rights, build, program, skip, stderr};

/// What the program `sockets.c` does.
const CONNECTIONS: usize = 3;
const REQUESTS: usize = 20;
const SLOW_NS: u64 = 60_000_000;

/// A port that nobody uses, another one each time and in each process, and none that the kernel gives
/// to clients.
fn free_port() -> u16 {
    const PORTS: u32 = 12_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = || std::process::id() + 2003 * NEXT.fetch_add(1, Ordering::Relaxed);
    let mut ports = (0..100).map(|_| 20_000 + u16::try_from(next() % PORTS).unwrap());
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).expect("one of a hundred ports is free")
}

/// Records the program; none, with a word on why, where that is not allowed or the recording says that
/// records were lost.
fn recorded(lab: &Lab, mode: &str, at: &str, activities: &[&str]) -> Option<Recording> {
    let output = lab
        .culprit()
        .args(["record", "-o", "x.culprit"])
        .args(activities.iter().flat_map(|activity| ["--activity", activity]))
        .arg("--")
        .arg(build("activities/sockets.c", &[]))
        .args([mode, at, &REQUESTS.to_string()])
        .output()
        .unwrap();
    if output.status.code() == Some(3) {
        skip(mode, stderr(&output).lines().next().unwrap_or_default());
        return None;
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let recording = opened(&lab.path("x.culprit"));
    (!is_disturbed(mode, &recording)).then_some(recording)
}

fn opened(path: &Path) -> Recording {
    culprit_recording::open(path).unwrap().recording
}

fn is_disturbed(mode: &str, recording: &Recording) -> bool {
    let kinds = [LossKind::ProbeHitsLost, LossKind::SwitchesLost];
    let lost = recording.losses.iter().find(|loss| kinds.contains(&loss.kind));
    lost.inspect(|loss| skip(mode, &format!("the recording lost records: {loss:?}"))).is_some()
}

/// The activities of a name by connection, in order of time.
fn by_connection<'r>(recording: &'r Recording, name: &str) -> BTreeMap<&'r str, Vec<&'r Activity>> {
    let mut found: BTreeMap<&str, Vec<&Activity>> = BTreeMap::new();
    for row in recording.activities.iter().filter(|row| &*row.name == name) {
        found.entry(row.key.as_deref().unwrap()).or_default().push(row);
    }
    found
}

fn latency(activity: &Activity) -> u64 {
    activity.end.expect("every request is answered").since(activity.start).0
}

/// Each connection has its requests, and those that the server slept over took at least that long.
fn are_all_there(recording: &Recording, name: &str, at_least: u64) {
    let found = by_connection(recording, name);
    let counts: Vec<_> = found.values().map(Vec::len).collect();
    assert_eq!(counts, [REQUESTS; CONNECTIONS], "{name}: {:?}", recording.losses);
    for (at, row) in found.values().flat_map(|rows| rows.iter().enumerate()) {
        assert!(at % 10 != 5 || latency(row) >= at_least, "{name} {at}: {row:?}");
    }
}

/// Nanoseconds of a key of a name.
fn sum(lab: &Lab, name: &str, key: &str) -> u64 {
    let document = lab.json(&["activities", "x.culprit", "--name", name]);
    document["rows"][0][key].as_u64().unwrap()
}

/// Both sides of a connection at a port, and what else is to be recorded.
fn both_sides(mode: &str, more: &[&str]) -> Option<(Lab, Recording)> {
    if !all_rights() {
        skip(mode, "tracepoints need root");
        return None;
    }
    let lab = Lab::new();
    let port = free_port().to_string();
    let sides = [format!("in=serve:{port}"), format!("out=call:{port}")];
    let sides: Vec<&str> = sides.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let recording = recorded(&lab, mode, &port, &sides)?;
    are_all_there(&recording, "in", SLOW_NS);
    // A call is told when the bytes are on their way, so the server may have begun, and slept, before.
    are_all_there(&recording, "out", 0);
    Some((lab, recording))
}

#[test]
fn requests_are_counted_where_a_thread_receives_and_answers() {
    let Some((lab, recording)) = both_sides("threads", &[]) else { return };
    assert_eq!(sum(&lab, "in", "nobody_ns"), 0);
    assert_eq!(sum(&lab, "out", "nobody_ns"), 0);
    let in_or_out = recording.activities.iter().all(|row| row.parent.is_none());
    assert!(in_or_out, "{:?}", recording.activities);
    // The client waits while the server sleeps.
    assert!(sum(&lab, "out", "blocked_ns") > 0);
}

#[test]
fn requests_are_counted_where_one_thread_serves_all() {
    let Some((lab, _)) = both_sides("epoll", &[]) else { return };
    assert_eq!(sum(&lab, "in", "nobody_ns"), 0);
}

#[test]
#[ignore = "statistical: make accuracy"]
fn who_asks_waits_as_long_as_the_server_works() {
    let Some((lab, recording)) = both_sides("epoll", &[]) else { return };
    // For the requests before, too.
    assert!(sum(&lab, "out", "latency_ns") >= sum(&lab, "in", "latency_ns"));
    are_all_there(&recording, "out", SLOW_NS / 2);
    let Some((lab, _)) = both_sides("threads", &[]) else { return };
    assert!(sum(&lab, "out", "blocked_ns") >= SLOW_NS / 2 * 6);
}

#[test]
fn a_request_is_answered_by_another_thread_within_a_named_call() {
    let Some((lab, recording)) = both_sides("handoff", &["handle=handle"]) else { return };
    let rows = &recording.activities;
    let handled: Vec<_> = rows.iter().filter(|row| &*row.name == "handle").collect();
    assert_eq!(handled.len(), CONNECTIONS * REQUESTS);
    for row in handled {
        let whole = row.parent.map(|id| &rows[id.index()]);
        assert!(whole.is_some_and(|whole| &*whole.name == "in"), "{row:?}");
        assert!(whole.is_some_and(|whole| whole.start <= row.start && whole.end <= row.end));
    }
    let of_request = |id: ActivityId| &*rows[id.index()].name == "in";
    assert!(!recording.activity_work.iter().any(|row| of_request(row.activity)));
    assert!(sum(&lab, "in", "nobody_ns") > 0);
    assert!(sum(&lab, "in", "blocked_ns") > 0);
}

#[test]
fn without_a_port_unix_sockets_count_too() {
    if !all_rights() {
        return skip("unix", "tracepoints need root");
    }
    let lab = Lab::new();
    let path = lab.path("socket");
    let sides = ["in=serve", "out=call"];
    let Some(recording) = recorded(&lab, "unix", path.to_str().unwrap(), &sides) else { return };
    are_all_there(&recording, "in", SLOW_NS);
    are_all_there(&recording, "out", 0);
}

/// Records the two running processes of the program while they make their requests.
fn attached(lab: &Lab, port: u16) -> Option<Recording> {
    let side = |name: &str, side| {
        let port = Some(port);
        SocketActivity { name: name.to_owned(), side, port }
    };
    let mut child = program(build("activities/sockets.c", &[]))
        .args(["threads", &port.to_string(), &REQUESTS.to_string(), "held"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let mut options = Options::new(Target::Processes(vec![Pid(child.id())]), lab.path("x.culprit"));
    options.extras.requests = vec![side("in", SocketSide::Serve), side("out", SocketSide::Call)];
    let armed = match plan(options).map(|plan| plan.arm(Waiting::default())) {
        Ok(armed) => armed.unwrap(),
        Err(error) => {
            child.kill().unwrap();
            child.wait().unwrap();
            skip("attached", &error.to_string());
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    let stop = StopHandle::new();
    stop.stop();
    armed.run(&stop, &mut |_| {});
    let mut recording = armed.finish(Ending::default()).unwrap().recording;
    culprit_engine::activities::build(&mut recording);
    Some(recording)
}

#[test]
fn connections_that_were_open_before_the_recording_count_from_their_first_request() {
    if !all_rights() {
        return skip("attached", "tracepoints need root");
    }
    let Some(recording) = attached(&Lab::new(), free_port()) else { return };
    if is_disturbed("attached", &recording) {
        return;
    }
    are_all_there(&recording, "in", SLOW_NS);
    are_all_there(&recording, "out", 0);
    let unpaired = |row: &&culprit_model::Loss| row.kind == LossKind::ActivitiesUnpaired;
    assert_eq!(recording.losses.iter().find(unpaired), None);
}
