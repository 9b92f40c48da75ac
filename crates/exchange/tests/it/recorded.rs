//! What the installed perf records on this machine, read here and by perf itself.
//!
//! Each test records a small program and skips, with the reason, where perf or the right is missing.
//! perf may lose records on a busy machine and says so; then it is asked to record again.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::panic,
    reason = "perf itself is what this is held against, and helpers of tests fail and speak as tests do"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use culprit_exchange::read;
use culprit_model::{LossKind, Metric, Recording, SwitchKind};

/// Recordings with losses that are made again before a test gives up.
const ATTEMPTS: usize = 5;

/// A folder with the program of `tests/work.c`.
struct Lab(tempfile::TempDir);

impl Lab {
    /// None, with the reason printed, where nothing can be recorded.
    fn new(test: &str) -> Option<Self> {
        let lab = Self(tempfile::tempdir().expect("a folder"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/work.c");
        let flags = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"];
        let built =
            Command::new("cc").args(flags).arg("-o").arg(lab.path("work")).arg(source).status();
        if !built.is_ok_and(|status| status.success()) {
            println!("skipped: {test}: no C compiler");
            return None;
        }
        if let Err(why) = lab.record("probe.data", &["-e", "cpu-clock"], &["true"]) {
            println!("skipped: {test}: perf cannot record: {why}");
            return None;
        }
        Some(lab)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn record(&self, data: &str, options: &[&str], command: &[&str]) -> Result<(), String> {
        let mut perf = Command::new("perf");
        perf.args(["record", "-q", "-o", data]).args(options).arg("--").args(command);
        let ran = perf.current_dir(self.0.path()).output().map_err(|error| error.to_string())?;
        if ran.status.success() { Ok(()) } else { Err(said(&ran)) }
    }

    /// What perf records and we read, without losses of perf's; none where it may not.
    fn recorded(&self, test: &str, options: &[&str], command: &[&str]) -> Option<Recording> {
        for _ in 0..ATTEMPTS {
            if let Err(why) = self.record("perf.data", options, command) {
                println!("skipped: {test}: {why}");
                return None;
            }
            let recording = self.import("perf.data");
            let lost = [LossKind::SamplesLost, LossKind::SwitchesLost];
            if !recording.losses.iter().any(|loss| lost.contains(&loss.kind)) {
                return Some(recording);
            }
        }
        panic!("perf lost records in each of {ATTEMPTS} recordings");
    }

    fn import(&self, data: &str) -> Recording {
        read(&self.path(data), None, &mut |_, _| ()).expect("a perf.data").recording
    }

    /// What `perf script` prints of the recording.
    fn script(&self, options: &[&str]) -> String {
        let mut perf = Command::new("perf");
        perf.args(["script", "-i", "perf.data"]).args(options).current_dir(self.0.path());
        let ran = perf.output().expect("perf script");
        assert!(ran.status.success(), "{}", said(&ran));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

fn said(ran: &Output) -> String {
    let text = String::from_utf8_lossy(&ran.stderr);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no word").to_owned()
}

/// The functions of the program itself in each sample, leaf first, and how many samples have them.
fn ours(recording: &Recording) -> BTreeMap<Vec<String>, u64> {
    let mut stacks = BTreeMap::new();
    for cost in recording.costs.iter().filter(|cost| cost.metric == Metric::Cpu) {
        let frames = cost.stack.into_iter().flat_map(|stack| recording.stack(stack));
        let frames = frames.map(|id| recording.frame_name(id).to_string());
        let own = frames.filter_map(|name| Some(name.strip_prefix("work!")?.to_owned()));
        *stacks.entry(own.collect()).or_default() += cost.count;
    }
    stacks
}

/// The same from perf.
fn perfs(script: &str) -> BTreeMap<Vec<String>, u64> {
    let mut stacks = BTreeMap::new();
    for block in script.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let own = block.lines().filter_map(|line| {
            let line = line.strip_suffix("/work)")?.trim();
            let (function, _module) = line.split_once(' ')?.1.split_once(" (")?;
            Some(function.to_owned())
        });
        *stacks.entry(own.collect()).or_default() += 1;
    }
    stacks
}

#[test]
fn copied_stacks_are_unwound_as_perf_does_it() {
    let test = "copied_stacks_are_unwound_as_perf_does_it";
    let Some(lab) = Lab::new(test) else { return };
    let options = ["--call-graph", "dwarf,4096", "-e", "cpu-clock:u", "-F", "2999"];
    let Some(recording) = lab.recorded(test, &options, &["./work", "6", "200", "1"]) else {
        return;
    };
    let (ours, perfs) =
        (ours(&recording), perfs(&lab.script(&["--no-inline", "-F", "ip,sym,dso"])));
    let all: u64 = perfs.values().sum();
    assert_eq!(ours.values().sum::<u64>(), all);
    let same: u64 =
        perfs.iter().map(|(stack, count)| ours.get(stack).copied().unwrap_or(0).min(*count)).sum();
    assert!(same * 20 >= all * 19, "{same} of {all} alike\nours: {ours:#?}\nperf's: {perfs:#?}");
    let deepest = ours.keys().map(Vec::len).max().unwrap_or(0);
    assert!(deepest >= 10, "spin, parse seven times, serve and main: {deepest}");
}

/// One line of perf's for a switch: when, which thread, which way.
fn switch(line: &str) -> Option<(u64, u32, SwitchKind)> {
    let (place, what) = line.split_once("PERF_RECORD_SWITCH")?;
    let words: Vec<&str> = place.split_whitespace().collect();
    let [.., tid, time] = words[..] else { return None };
    let (seconds, nanos) = time.trim_end_matches(':').split_once('.')?;
    let time = seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?;
    let what = what.trim_start_matches("_CPU_WIDE").trim_start();
    let kind = match what.strip_prefix("OUT") {
        None => SwitchKind::In,
        Some(more) if more.trim_start().starts_with("preempt") => SwitchKind::Preempted,
        Some(_) => SwitchKind::Out,
    };
    Some((time, tid.parse().ok()?, kind))
}

#[test]
fn switch_records_are_thread_time_to_the_nanosecond() {
    let test = "switch_records_are_thread_time_to_the_nanosecond";
    let Some(lab) = Lab::new(test) else { return };
    // Of the program's threads: a CPU's idle loop may trace nothing, so those of whole CPUs may miss some.
    let options = ["--switch-events", "-e", "cpu-clock", "-F", "199"];
    let work = ["./work", "3", "40", "25"];
    let Some(recording) = lab.recorded(test, &options, &work) else { return };
    let script = lab.script(&["--show-switch-events", "--ns", "-F", "comm,tid,time"]);
    let mut perfs: Vec<_> = script.lines().filter_map(switch).collect();
    let tid = |at: &culprit_model::Switch| recording.thread(at.thread).tid.0;
    let mut rows: Vec<_> =
        recording.switches.iter().map(|row| (row.time.0, tid(row), row.kind)).collect();
    assert!(rows.len() > 50, "25 naps are 50 switches: {}", rows.len());
    // Ours count from the first row.
    let first = perfs.iter().map(|row| row.0).min().expect("a switch");
    let ours = rows.iter().map(|row| row.0).min().expect("a switch");
    rows.iter_mut().for_each(|row| row.0 = row.0 - ours + first);
    let order = |row: &(u64, u32, SwitchKind)| (row.0, row.1, row.2 as u8);
    rows.sort_by_key(order);
    perfs.sort_by_key(order);
    assert_eq!(rows, perfs);
    assert!(recording.costs.is_empty() && !recording.samples.is_empty());
    assert!(recording.threads.iter().filter(|thread| thread.recorded).count() >= 2);
}

#[test]
fn what_a_sampled_switch_leaves_out_is_not_thread_time() {
    let test = "what_a_sampled_switch_leaves_out_is_not_thread_time";
    let Some(lab) = Lab::new(test) else { return };
    let work = ["./work", "3", "40", "25"];
    // Some of them only: how long a thread was away cannot be told.
    for (options, why) in [
        (&["-a", "-e", "sched:sched_switch", "-c", "7"][..], "was sampled"),
        (&["-a", "-e", "sched:sched_switch", "-F", "99"], "was sampled"),
        (&["-e", "sched:sched_switch", "-c", "1"], "of some threads only"),
    ] {
        let Some(recording) = lab.recorded(test, options, &work) else { return };
        assert!(recording.switches.is_empty(), "{options:?}");
        let said = |loss: &culprit_model::Loss| loss.detail.contains(why);
        assert!(recording.losses.iter().any(said), "{options:?}: {:#?}", recording.losses);
        assert!(recording.costs.iter().all(|cost| cost.metric == Metric::Samples));
    }
}

#[test]
fn values_of_a_group_are_what_perf_makes_of_them() {
    let test = "values_of_a_group_are_what_perf_makes_of_them";
    let Some(lab) = Lab::new(test) else { return };
    let options = ["-e", "{cpu-clock,page-faults}:S", "-F", "999"];
    let Some(recording) = lab.recorded(test, &options, &["./work", "3", "60", "1"]) else { return };
    let script = lab.script(&["-F", "event,period"]);
    for (event, metric) in [("cpu-clock", Metric::Cpu), ("page-faults", Metric::Faults)] {
        let perfs = script.lines().filter_map(|line| {
            let (period, name) = line.trim().split_once(char::is_whitespace)?;
            name.contains(event).then(|| period.parse::<u64>().expect("a period"))
        });
        let ours = recording.costs.iter().filter(|cost| cost.metric == metric);
        let ours: u64 = ours.map(|cost| cost.value).sum();
        assert_eq!(ours, perfs.sum::<u64>(), "{event}\n{script}");
    }
}

#[test]
fn processes_of_another_pid_namespace_are_named() {
    let test = "processes_of_another_pid_namespace_are_named";
    let Some(lab) = Lab::new(test) else { return };
    let options = ["--namespaces", "-e", "cpu-clock", "-F", "999"];
    let work = ["unshare", "--pid", "--fork", "./work", "3", "30", "1"];
    let Some(recording) = lab.recorded(test, &options, &work) else { return };
    let facts = &recording.meta.place_facts;
    let space = |(name, text): &(String, String)| {
        name.starts_with("pid namespace") && text.starts_with("work (")
    };
    assert_eq!(facts.iter().filter(|fact| space(fact)).count(), 1, "{facts:?}");
    assert!(recording.meta.command.iter().any(|word| word == "--namespaces"));
}
