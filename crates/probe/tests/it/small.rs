//! The other probes, each through its whole path on the host and in a sandbox.

use std::time::Duration;

use culprit_probe::probes::log::Log;
use culprit_probe::probes::memory::Memory;
use culprit_probe::probes::net::{Dns, Net};
use culprit_probe::probes::notify::{Notify, Reader};
use culprit_probe::probes::pressure::Pressure;
use culprit_probe::probes::quota::Quota;
use culprit_probe::probes::start::Start;
use culprit_probe::{Answer, Asked, Part, Probe};

use crate::support::{asked, run};

/// Runs two rounds, and every metric that is told or compared has a value in each.
fn two_rounds(probe: impl Probe + 'static, without: &[&str]) -> Answer {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let asked = Asked { control: false, ..asked(&["host", "sandbox"], dir.path()) };
    let (answer, session) = run(probe, &asked, 2);
    assert!(session.problems.is_empty(), "{:?}", session.problems);
    for metric in answer.metrics.iter().filter(|metric| metric.part != Part::Detail) {
        for arm in answer.arms.iter().filter(|_| !without.contains(&metric.id)) {
            assert_eq!(arm.values(metric).len(), 2, "{} of {}", metric.id, arm.arm.label);
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "everything is removed");
    answer
}

fn value(answer: &Answer, arm: usize, metric: &str) -> f64 {
    let metric = answer.metrics.iter().find(|known| known.id == metric).unwrap();
    answer.arms[arm].values(metric)[0]
}

/// The largest value of all rounds.
fn largest(answer: &Answer, arm: usize, metric: &str) -> f64 {
    let metric = answer.metrics.iter().find(|known| known.id == metric).unwrap();
    answer.arms[arm].values(metric).into_iter().fold(0.0, f64::max)
}

#[test]
fn memory_is_told_by_its_faults() {
    let answer = two_rounds(Memory { bytes: 2 << 20 }, &[]);
    assert!((0.0..=1.0).contains(&value(&answer, 0, "cold_major_share")));
}

#[test]
#[ignore = "statistical: make accuracy"]
fn pages_that_are_not_in_memory_come_from_the_disk() {
    let answer = two_rounds(Memory { bytes: 2 << 20 }, &[]);
    assert!(value(&answer, 0, "cold_major_share") > 0.5);
}

/// Without a quota there is nothing to count.
const WITHOUT_QUOTA: [&str; 3] = ["throttled_share", "throttled_ns", "threads_throttled_share"];

#[test]
fn work_of_a_known_cpu_time_takes_at_least_that() {
    let answer = two_rounds(Quota { chunks: 2, ..Quota::default() }, &WITHOUT_QUOTA);
    // Neither place is a cgroup of its own to the scheduler, or both sides would not be one.
    let (got, expected) = (value(&answer, 0, "weight_share"), value(&answer, 0, "weight_expected"));
    assert!((expected - 4.0 / 6.0).abs() < 1e-6 && (0.0..=1.0).contains(&got), "{got} {expected}");
    // A histogram's bucket is 1.6 % wide.
    assert!(value(&answer, 0, "chunk_ns.p50") > 29e6);
}

#[test]
#[ignore = "statistical: make accuracy"]
fn threads_get_their_share_of_a_busy_cpu() {
    let answer = two_rounds(Quota { chunks: 2, ..Quota::default() }, &WITHOUT_QUOTA);
    let got = value(&answer, 0, "weight_share");
    assert!((0.5..0.85).contains(&got), "{got}");
}

#[test]
fn a_file_that_fits_is_read_again() {
    let probe = Pressure { bytes: 4 << 20, ..Pressure::default() };
    // Without a cgroup of its own, as on the host, nothing is counted.
    let answer = two_rounds(probe, &["file_refaults", "limit_hits"]);
    assert!(value(&answer, 0, "read_ns_per_mib") > 0.0);
}

#[test]
fn printed_lines_are_no_answers() {
    let answer = two_rounds(Log { lines: 2000, bytes: 40 }, &[]);
    assert!(value(&answer, 0, "line_ns") > 0.0 && value(&answer, 1, "line_ns") > 0.0);
}

#[test]
fn a_place_that_begins_gives_two_answers() {
    let answer = two_rounds(Start { spawns: 5, forks: 5, ..Start::default() }, &["exec_ns"]);
    for (arm, metric) in [0, 1]
        .into_iter()
        .flat_map(|arm| ["first_answer_ns", "second_answer_ns"].map(|metric| (arm, metric)))
    {
        assert!(value(&answer, arm, metric) > 0.0, "{metric} of {arm}");
    }
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_place_takes_longer_to_begin_than_its_second_answer() {
    let answer = two_rounds(Start { spawns: 5, forks: 5, ..Start::default() }, &["exec_ns"]);
    for arm in [0, 1] {
        let second = value(&answer, arm, "second_answer_ns");
        assert!(value(&answer, arm, "first_answer_ns") > second);
    }
}

/// The probe of the network without a name to look up, and what it says of the host and a sandbox.
fn on_loopback() -> Answer {
    let duration = Duration::from_millis(200);
    let probe = Net { trips: 1000, connects: 100, duration, rate: 400, dns: None };
    assert!(!probe.words().concat().contains("AAAA"), "no name is looked up unless one is given");
    two_rounds(probe, &["proxy_cpu_ns_per_trip", "proxy_cpu_ns_per_connect"])
}

#[test]
fn client_and_server_meet_on_loopback() {
    assert!(largest(&on_loopback(), 0, "load_per_s") > 0.0);
}

#[test]
#[ignore = "statistical: make accuracy"]
fn requests_come_at_the_rate_that_was_planned() {
    let answer = on_loopback();
    // Requests are answered, so as many come back as were planned, give or take the plan's chance.
    let reached = value(&answer, 0, "load_per_s");
    assert!((100.0..900.0).contains(&reached), "{reached}");
}

#[test]
fn a_name_is_looked_up_where_its_server_is_reached() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = socket.local_addr().unwrap();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let all = std::sync::Arc::clone(&seen);
    std::thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            all.lock().unwrap().insert(bytes[12..length].to_vec());
            (bytes[2], bytes[7]) = (0x81, 1);
            socket.send_to(&bytes[..length], from).unwrap();
        }
    });
    let dns = Some(Dns { name: "db.test".parse().unwrap(), server: Some(server) });
    let duration = Duration::from_millis(100);
    let probe = Net { trips: 200, connects: 20, duration, rate: 200, dns };
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let asked = Asked { control: false, ..asked(&["host", "sandbox"], dir.path()) };
    let (answer, session) = run(probe, &asked, 2);
    assert!(session.problems.is_empty(), "{:?}", session.problems);
    assert!(value(&answer, 0, "dns_ns.p50") > 0.0);
    assert!((value(&answer, 0, "dns_records") - 2.0).abs() < 1e-9);
    let names: Vec<Vec<u8>> = seen.lock().unwrap().iter().cloned().collect();
    let question = |kind: u8| [&b"\x02db\x04test\0\0"[..], &[kind, 0, 1]].concat();
    assert_eq!(names, [question(1), question(28)], "nothing else was asked for");
    // A sandbox has a loopback of its own, on which no server listens.
    assert!(session.facts[1][0].contains("lookup of `db.test` failed"), "{:?}", session.facts);
    assert_eq!(answer.arms[1].values(&answer.metrics[0]).len(), 2, "the rest is measured");
}

fn readers() -> Answer {
    let probe = Notify {
        readers: vec![Reader::Tail, Reader::Inotify],
        think: Duration::from_millis(20),
        duration: Duration::from_millis(500),
    };
    two_rounds(probe, &[])
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_reader_that_looks_once_a_second_shows_one_row_a_second() {
    let answer = readers();
    assert!(value(&answer, 0, "rows_per_second.tail") > 5.0);
    assert!(value(&answer, 1, "rows_per_second.tail") < 1.5);
    assert!(value(&answer, 1, "rows_per_second.inotify") > 5.0);
}

#[test]
fn a_write_is_heard_in_the_place_that_makes_it() {
    let answer = readers();
    for (arm, reader) in [(0, "tail"), (0, "inotify"), (1, "tail"), (1, "inotify")] {
        let rows = value(&answer, arm, &format!("rows_per_second.{reader}"));
        assert!(rows > 0.0, "{reader} in {arm} saw nothing");
    }
    // What the place itself writes is heard everywhere.
    for arm in [0, 1] {
        assert!((value(&answer, arm, "heard.from_place") - 1.0).abs() < 1e-9);
    }
    assert!((value(&answer, 0, "heard.from_host") - 1.0).abs() < 1e-9);
}

#[test]
fn a_file_is_read_and_written_by_every_engine() {
    use culprit_probe::probes::disk::{Cache, Disk, Engine, Files, Spec};
    for (engine, depth, cache) in
        [(Engine::Psync, 1, Cache::Cached), (Engine::IoUring, 8, Cache::Direct)]
    {
        let spec = Spec {
            engine,
            depth,
            cache,
            write_share: 0.3,
            size: 4 << 20,
            warmup: Duration::from_millis(20),
            duration: Duration::from_millis(500),
            ..Spec::default()
        };
        // A short round has too few requests for its tail; a disk that stands still answers none.
        let probe = Disk::new(spec, Files::OwnEachRound, Vec::new()).unwrap();
        let some = ["latency_ns.p50", "latency_ns.p99", "latency_ns.max", "cpu_ns_per_op"];
        let answer = two_rounds(probe, &some);
        for arm in [0, 1] {
            assert!(largest(&answer, arm, "iops") > 0.0, "{engine:?}: no request in two rounds");
            assert!(largest(&answer, arm, "in_flight") > 0.0, "{:?}", answer.workload);
        }
    }
}
