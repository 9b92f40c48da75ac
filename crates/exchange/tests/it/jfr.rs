//! Flight recordings: what async-profiler writes, several chunks, damaged ones, and one recorded
//! anew where there is a Java.

use std::path::{Path, PathBuf};
use std::process::Command;

use culprit_exchange::{Error, Format, read, read_bytes};
use culprit_model::{Cause, Cost, EdgeKind, LossKind, Metric, Recording};

use crate::blessed::blessed;
use crate::jfr_file::{
    COMPILED, Chunk, ENTER, IN_TLAB, JVM, LIVE, LOG, OWN, RECORDING, SAMPLE, SETTING, SPAN, TRACED,
    Values, WALL,
};
use crate::round_trip::edges;

/// What 1 January 2024 is in nanoseconds since 1970.
const START: u64 = 1_704_067_200_000_000_000;

fn values(numbers: &[u64]) -> Values {
    Values::default().numbers(numbers)
}

/// Names, two threads, and three stacks: Java code, native code in the kernel, a lock.
fn chunk() -> Chunk {
    let mut chunk = Chunk::default();
    chunk.words();
    chunk.class(1, "work/Main");
    chunk.class(2, "[C");
    chunk.class(3, "");
    chunk.method(1, 1, "main");
    chunk.method(2, 1, "parse\u{e9}");
    chunk.method(3, 3, "Unsafe_Park");
    chunk.method(4, 3, "futex_wait_[k]");
    chunk.thread(31, "main", true);
    chunk.thread(32, "C1 CompilerThre", false);
    chunk.trace(1, &[(2, 12, 2), (1, 5, 1)]);
    chunk.trace(2, &[(4, 0, 5), (3, 0, 3), (1, 6, 0)]);
    for (class, name, value) in
        [(SAMPLE, "interval", "2000000"), (SAMPLE, "wall", "50000000"), (RECORDING, "event", "cpu")]
    {
        chunk.event(SETTING, values(&[1000, class]).text(name).text(value));
    }
    chunk.event(JVM, values(&[1000]).text_constant(7).number(4711));
    chunk
}

/// As async-profiler's `-e cpu --wall 50ms --alloc 1k --live --lock 1ms` in two chunks.
fn async_profiler() -> Vec<u8> {
    let mut first = chunk();
    first.event(SAMPLE, values(&[1010, 31, 1, 1]));
    first.event(SAMPLE, values(&[1020, 32, 2, 1]));
    first.event(WALL, values(&[1050, 31, 1, 1, 1]));
    first.event(WALL, values(&[1100, 31, 2, 2, 3]));
    first.event(IN_TLAB, values(&[1200, 31, 1, 2, 88, 1024]));
    first.event(LOG, values(&[1300]).text("profiling started"));
    let mut second = chunk();
    second.event(ENTER, values(&[1500, 7_000_000, 31, 2, 1]));
    second.event(SAMPLE, values(&[1600, 31, 1, 1]));
    second.event(SAMPLE, values(&[1700, 31, 99, 1]));
    second.event(LIVE, values(&[1900, 31, 1, 2, 88]));
    let mut bytes = first.bytes(START);
    bytes.extend(second.bytes(START + 1_000_000_000));
    bytes
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/jfr").join(name)
}

fn sum(recording: &Recording, which: impl Fn(&Cost) -> bool) -> u64 {
    recording.costs.iter().filter(|cost| which(cost)).map(|cost| cost.value).sum()
}

fn lost(recording: &Recording, kind: LossKind) -> u64 {
    recording.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum()
}

#[test]
fn async_profilers_fixture_is_what_the_writer_writes() {
    blessed(&fixture("async.jfr"), &async_profiler());
}

#[test]
fn looks_of_async_profiler_are_weighed_by_its_settings() {
    let recording = read_bytes("x", async_profiler(), None).expect("read").recording;
    let cpu =
        |cause| sum(&recording, |cost| cost.metric == Metric::Cpu && cost.cause == Some(cause));
    assert_eq!((cpu(Cause::CpuUser), cpu(Cause::CpuKernel)), (6_000_000, 2_000_000));
    assert_eq!(sum(&recording, |cost| cost.metric == Metric::Wall), 200_000_000);
    assert_eq!(sum(&recording, |cost| cost.cause == Some(Cause::Lock)), 7_000_000);
    assert_eq!(sum(&recording, |cost| cost.metric == Metric::AllocBytes), 1024);
    assert_eq!(sum(&recording, |cost| cost.metric == Metric::LiveBytes), 88);
    assert_eq!(lost(&recording, LossKind::StacksMissing), 1);
    assert_eq!(recording.meta.wall.0, 2_000_000_000);
    assert_eq!(recording.processes[0].command_line.as_str(), "work.Main serve 8");
}

#[test]
fn chunks_add_up() {
    let one = chunk_of_samples().bytes(START);
    let twice = [one.clone(), one.clone()].concat();
    let value = |bytes: &[u8]| {
        let recording = read_bytes("x", bytes.to_vec(), None).expect("read").recording;
        (sum(&recording, |_| true), recording.threads.len(), recording.stacks.len())
    };
    let (sum, threads, stacks) = value(&one);
    assert_eq!(value(&twice), (2 * sum, threads, stacks));
}

fn chunk_of_samples() -> Chunk {
    let mut chunk = chunk();
    for at in 0..20 {
        chunk.event(SAMPLE, values(&[1000 + at, 31, 1, 1]));
    }
    chunk
}

#[test]
fn spans_of_programs_are_activities() {
    let mut chunk = chunk();
    let ms = 1_000_000;
    // Events are written when they end: inner ones first.
    chunk.event(ENTER, values(&[1030, 7 * ms, 31, 2, 1]));
    chunk.event(TRACED, values(&[1020, 20 * ms, 31, 1, 2]));
    chunk.event(SPAN, values(&[1010, 60 * ms, 31]).text("import"));
    chunk.event(SPAN, values(&[1100, 5 * ms, 32]).text(""));
    chunk.event(OWN, values(&[1080, 100 * ms, 31, 1]).text("/"));
    chunk.event(OWN, values(&[1150, 90 * ms, 31, 1]).text("/late"));
    // Instants, what is nobody's, and the virtual machine's own are none.
    chunk.event(OWN, values(&[1300, 0, 31, 1]).text("/"));
    chunk.event(OWN, values(&[1300, ms, 0, 1]).text("/"));
    chunk.event(COMPILED, values(&[1300, 9 * ms, 31]));
    let recording = read_bytes("x", chunk.bytes(START), None).expect("read").recording;
    assert_eq!(
        edges(&recording, 1_000_000),
        [
            "10 31 enter import",
            "20 31 enter work.Main.parse\u{e9}",
            "40 31 leave work.Main.parse\u{e9}",
            "70 31 leave import",
            "80 31 enter work.Request",
            "100 32 enter profiler.Span",
            "105 32 leave profiler.Span",
            "150 31 start work.Request 5",
            "180 31 leave work.Request",
            "240 31 stop work.Request 5",
        ]
    );
    assert_eq!(sum(&recording, |cost| cost.cause == Some(Cause::Lock)), 7_000_000);
    assert_eq!(recording.costs.len(), 1, "{:?}", recording.costs);
    let left = |name: &str| {
        let of = |loss: &&culprit_model::Loss| loss.detail.starts_with(name);
        recording.losses.iter().find(of).map(|loss| loss.count)
    };
    assert_eq!((left("work.Request"), left("jdk.Compilation")), (Some(2), Some(1)));
}

#[test]
fn a_chunk_under_writing_is_read_as_far_as_it_goes() {
    let mut bytes = chunk_of_samples().bytes(START);
    bytes[8..32].fill(0);
    bytes.extend([0; 40]);
    let recording = read_bytes("x", bytes, None).expect("read").recording;
    assert_eq!(sum(&recording, |_| true), 40_000_000);
    assert_eq!(lost(&recording, LossKind::FileDamaged), 1);
}

#[test]
fn what_is_no_chunk_behind_one_is_told() {
    let mut bytes = chunk_of_samples().bytes(START);
    bytes.extend(b"something else");
    let recording = read_bytes("x", bytes, None).expect("read").recording;
    assert_eq!(sum(&recording, |_| true), 40_000_000);
    assert_eq!(lost(&recording, LossKind::FileDamaged), 1);
}

#[test]
fn older_versions_are_refused() {
    let mut bytes = chunk_of_samples().bytes(START);
    bytes[5] = 1;
    let error = read_bytes("x", bytes, None).expect_err("refused");
    assert!(matches!(&error, Error::Malformed { format: Format::Jfr, .. }));
    assert!(error.to_string().contains("version 1.0"), "{error}");
}

/// How many events of each kind the JDK's own tool counts.
fn summary(file: &Path) -> Option<impl Fn(&str) -> u64 + use<>> {
    let output = run(program("jfr").arg("summary").arg(file))?;
    Some(move |event: &str| {
        let line = output.lines().find(|line| line.split_whitespace().next() == Some(event));
        let count = line.and_then(|line| line.split_whitespace().nth(1));
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    })
}

#[expect(clippy::disallowed_methods, reason = "the JDK's own tools are what this is held against")]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// What a program prints; none when there is no such program or it fails.
fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a program of `tests/java` leaves recorded, and how the JDK's own tool counts its events;
/// none where there is no Java.
fn recorded(program_name: &str) -> Option<(Recording, impl Fn(&str) -> u64 + use<>)> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("work.jfr");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
    let settings = source.join("work.jfc");
    let option = format!(
        "-XX:StartFlightRecording:filename={},settings={}",
        file.display(),
        settings.display()
    );
    let made = run(program("java").arg(option).arg(source.join(program_name)));
    let count = made.and_then(|_| summary(&file))?;
    let recording = read(&file, None, &mut |_, _| ()).expect("read").recording;
    Some((recording, count))
}

#[test]
fn a_recording_made_now_holds_what_the_jdks_own_tool_counts() {
    let Some((recording, count)) = recorded("Work.java") else {
        println!("skipped: a recording made now: java with a compiler, and the tool jfr");
        return;
    };
    let rows =
        |cause| recording.costs.iter().filter(|cost| cost.cause == Some(cause)).count() as u64;
    let events = |names: &[&str]| names.iter().map(|name| count(name)).sum::<u64>();
    for (cause, names) in [
        (Cause::CpuUser, &["jdk.ExecutionSample"][..]),
        (Cause::Sleep, &["jdk.ThreadSleep"]),
        (Cause::Lock, &["jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark"]),
        (Cause::Net, &["jdk.SocketRead", "jdk.SocketWrite"]),
        (Cause::Disk, &["jdk.FileRead", "jdk.FileWrite"]),
        (Cause::Fsync, &["jdk.FileForce"]),
    ] {
        assert_eq!(rows(cause), events(names), "{cause}");
        // What a busy machine lets the sampler see is its own affair; waits are events.
        assert!(cause == Cause::CpuUser || rows(cause) > 0, "{cause}");
    }
    assert!(sum(&recording, |cost| cost.cause == Some(Cause::Sleep)) >= 30_000_000);
    assert!(recording.threads.iter().any(|thread| thread.name.as_str() == "main"));
    let serves = |function: &str| function == "Work.serve";
    let serving = recording.frames.iter().find(|frame| serves(frame.function.as_str()));
    assert!(serving.is_some_and(|frame| frame.line.is_some()), "{:?}", recording.frames);
}

/// Holds what `Spans.java` tells: four requests of three steps each, one of which sleeps.
fn check_spans(recording: &Recording) {
    let entered = |name: &str| {
        let entered = recording.activity_edges.iter().filter(|edge| edge.kind == EdgeKind::Enter);
        entered.filter(|edge| edge.name.as_str() == name).count()
    };
    assert_eq!((entered("Spans$Request"), entered("Spans$Step")), (4, 12));
    let mut depths = std::collections::BTreeMap::new();
    for edge in &recording.activity_edges {
        let depth: &mut usize = depths.entry(edge.thread).or_default();
        let inside = usize::from(edge.name.as_str() == "Spans$Step");
        match edge.kind {
            EdgeKind::Enter => {
                assert_eq!(*depth, inside, "{edge:?}");
                *depth += 1;
            }
            _ => *depth -= 1,
        }
    }
    assert_eq!(depths.len(), 2, "two threads handle them");
    assert!(sum(recording, |cost| cost.cause == Some(Cause::Sleep)) >= 4 * 5_000_000);
}

#[test]
fn spans_of_a_program_recorded_now_are_activities_and_its_waits_are_waits() {
    check_spans(&read(&fixture("spans.jfr.gz"), None, &mut |_, _| ()).expect("read").recording);
    let Some((recording, count)) = recorded("Spans.java") else {
        println!("skipped: spans recorded now: java with a compiler, and the tool jfr");
        return;
    };
    check_spans(&recording);
    assert_eq!((count("Spans$Request"), count("Spans$Step")), (4, 12));
    let sleeps = recording.costs.iter().filter(|cost| cost.cause == Some(Cause::Sleep)).count();
    assert_eq!(sleeps as u64, count("jdk.ThreadSleep"));
}
