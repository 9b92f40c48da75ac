//! What `top` and `flame` say first of services and of a pipeline: the function that the time goes to.
//!
//! Each service of `fixtures/services` answers requests by the same work, which is in one function. It runs
//! already when it is recorded, and a client asks it all the while. Of a pipeline, one stage of three takes
//! the time and the others wait for it. That holds on a busy machine, too.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::Value;

use crate::support::{Lab, all_rights, alone, build, fixtures, program, skip, stderr, stdout};

/// The rows of a view may be apart from its total, and the total of a command from its elapsed time, by one
/// part of so many: 0.5 %.
const PARTS: u64 = 200;

/// A service that runs; it ends with the test.
struct Service {
    child: Child,
    port: u16,
}

impl Service {
    /// Starts a service, which prints its port.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse();
        let service = Self { child, port: *port.as_ref().unwrap_or(&0) };
        assert!(port.is_ok(), "the port of {command:?}: `{line}`");
        service
    }

    /// Asks for one answer; false where there was none.
    fn ask(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let sent = stream.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n");
        let mut answer = String::new();
        sent.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.contains(" 200 ")
    }

    /// Records the service for two seconds while a client asks it.
    fn record(&self, lab: &Lab) {
        let (over, answers) = (AtomicBool::new(false), AtomicU32::new(0));
        let pid = self.child.id().to_string();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) && self.ask() {
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
            // What is not compiled yet is interpreted.
            culprit_testkit::wait_until("the service answers", || {
                answers.load(Ordering::Relaxed) >= 3
            });
            let record = ["record", "-o", "x.culprit", "-d", "2s", "--pid", &pid];
            let output = lab.culprit().args(record).output();
            over.store(true, Ordering::Relaxed);
            output.unwrap()
        });
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that runs a command, or builds it; none with the reason where this test cannot run.
fn with(test: &str, needed: &str, argument: &str) -> Option<Lab> {
    if !all_rights() {
        skip(test, "recording another process takes root");
        return None;
    }
    if program(needed).arg(argument).output().is_err() {
        skip(test, &format!("`{needed}` is not installed"));
        return None;
    }
    Some(Lab::new())
}

/// The names of a view's functions that have time of their own, the longest first. Their sum is the total.
fn functions_by_own_time(lab: &Lab) -> Vec<String> {
    let top = lab.json(&["top", "x.culprit", "--limit", "0"]);
    let rows = top["rows"].as_array().unwrap().iter();
    let mut rows: Vec<(u64, &str)> =
        rows.map(|row| (nanos(&row["own"]), row["name"].as_str().unwrap())).collect();
    rows.sort_by_key(|(own, _)| std::cmp::Reverse(*own));
    let sum = rows.iter().map(|(own, _)| own).sum();
    assert_near(sum, nanos(&top["total"]), "the rows and their total");
    rows.into_iter().map(|(_, name)| name.to_owned()).collect()
}

fn nanos(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn assert_near(value: u64, expected: u64, what: &str) {
    assert!(value.abs_diff(expected) <= expected / PARTS, "{what}: {value} and {expected}");
}

/// The first function that `top` names is this one, and `flame` has it.
fn says_first(lab: &Lab, function: &str) {
    let names = functions_by_own_time(lab);
    assert!(names[0].contains(function), "{:?}", names.iter().take(5).collect::<Vec<_>>());
    let top = stdout(&lab.culprit().args(["top", "x.culprit"]).output().unwrap());
    let mut rows = top.lines().skip_while(|line| !line.contains("  function")).skip(1);
    assert!(rows.next().is_some_and(|row| row.contains(function)), "{top}");
    let drawn = lab.culprit().args(["flame", "x.culprit", "-o", "x.svg"]).output();
    assert!(drawn.unwrap().status.success());
    assert!(std::fs::read_to_string(lab.path("x.svg")).unwrap().contains(function));
}

#[test]
fn a_service_in_java_spends_its_time_where_it_computes() {
    let Some(lab) = with("a service in Java", "javac", "--version") else { return };
    let _alone = alone();
    let compiled = program("javac")
        .args(["-g", "-d"])
        .args([lab.path("."), fixtures().join("services/Service.java")])
        .status();
    assert!(compiled.unwrap().success());
    let mut command = program("java");
    command.args(["-cp", "."]).arg("Service").current_dir(lab.path("."));
    Service::start(command).record(&lab);
    says_first(&lab, "Service.priceRow");
}

#[test]
fn a_service_in_javascript_spends_its_time_where_it_computes() {
    let Some(lab) = with("a service in JavaScript", "node", "--version") else { return };
    let _alone = alone();
    let mut command = program("node");
    // Culprit sets them for the commands that it starts.
    command
        .args(["--perf-basic-prof", "--interpreted-frames-native-stack"])
        .arg(fixtures().join("services/service.js"))
        .current_dir(lab.path("."));
    let service = Service::start(command);
    service.record(&lab);
    let map = format!("/tmp/perf-{}.map", service.child.id());
    std::fs::remove_file(map).unwrap();
    // V8 may inline `priceRow` into `quote`.
    says_first(&lab, "service.js!");
}

#[test]
fn a_service_in_go_spends_its_time_where_it_computes() {
    let Some(lab) = with("a service in Go", "go", "version") else { return };
    let _alone = alone();
    let built = program("go")
        .args(["build", "-o", "service"])
        .arg(fixtures().join("services/service.go"))
        .current_dir(lab.path("."))
        .env("GOFLAGS", "-mod=mod")
        .status();
    assert!(built.unwrap().success());
    Service::start(program(lab.path("service"))).record(&lab);
    says_first(&lab, "main.priceRow");
}

#[test]
fn a_pipeline_spends_its_time_in_the_stage_that_the_others_wait_for() {
    if !all_rights() {
        return skip("a pipeline", "recording everything takes root");
    }
    let _alone = alone();
    let lab = Lab::new();
    let stage = build("services/pipeline.c", &["-lm"]);
    let stage = stage.display();
    let line = format!("{stage} make | {stage} price | {stage} sum");
    lab.record("x.culprit", &["sh", "-c", &line]);
    says_first(&lab, "price_row");
    let recording = culprit_recording::open(lab.path("x.culprit")).unwrap().recording;
    let (from, to) = recording.meta.command_span.unwrap();
    let total = nanos(&lab.json(&["top", "x.culprit"])["total"]);
    assert_near(total, to.since(from).0, "run time and elapsed time");
}
