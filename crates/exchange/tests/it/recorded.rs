//! What the installed perf records on this machine, read here and by perf itself.
//!
//! Each test records a small program and skips, with the reason, where perf or the right is missing.
//! perf may lose records on a busy machine and says so; then what takes all of them is not checked.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "perf itself is what this is held against, and helpers of tests fail and speak as tests do"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use culprit_exchange::read;
use culprit_model::{LossKind, Metric, Recording, SwitchKind};
use culprit_testkit::alone;

/// A folder with the program of `tests/work.c`.
struct Lab(tempfile::TempDir);

impl Lab {
    /// None, with the reason printed, where nothing can be recorded.
    fn new(test: &str) -> Option<Self> {
        let lab = Self(tempfile::tempdir().expect("a folder"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/work.c");
        let flags = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"];
        match culprit_testkit::compiled(&source, "work", &flags) {
            Ok(work) => std::os::unix::fs::symlink(work, lab.path("work")).expect("a link"),
            Err(why) => {
                println!("skipped: {test}: no C compiler: {why}");
                return None;
            }
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
        // Each test has a cache of its own: perf fails where two of it fill one at once.
        perf.env("HOME", self.0.path());
        perf.args(["record", "-q", "-o", data]).args(options).arg("--").args(command);
        let ran = perf.current_dir(self.0.path()).output().map_err(|error| error.to_string())?;
        if ran.status.success() { Ok(()) } else { Err(said(&ran)) }
    }

    /// What perf records and we read; none where it may not, or where it lost records.
    fn recorded(&self, test: &str, options: &[&str], command: &[&str]) -> Option<Recording> {
        if let Err(why) = self.record("perf.data", options, command) {
            println!("skipped: {test}: {why}");
            return None;
        }
        let recording = self.import("perf.data");
        let kinds = [LossKind::SamplesLost, LossKind::SwitchesLost];
        let lost = recording.losses.iter().find(|loss| kinds.contains(&loss.kind));
        if let Some(loss) = lost {
            println!("skipped: {test}: perf lost records: {loss:?}");
            return None;
        }
        Some(recording)
    }

    fn import(&self, data: &str) -> Recording {
        read(&self.path(data), None, &mut |_, _| ()).expect("a perf.data").recording
    }

    /// What `perf script` prints of the recording.
    fn script(&self, options: &[&str]) -> String {
        let mut perf = Command::new("perf");
        perf.env("HOME", self.0.path());
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

/// How often each stack was sampled: as we read it, and as perf does.
type Stacks = BTreeMap<Vec<String>, u64>;

fn copied_stacks(test: &str) -> Option<(Stacks, Stacks)> {
    let lab = Lab::new(test)?;
    let options = ["--call-graph", "dwarf,4096", "-e", "cpu-clock:u", "-F", "2999"];
    let recording = lab.recorded(test, &options, &["./work", "6", "200", "1"])?;
    let perfs = perfs(&lab.script(&["--no-inline", "-F", "ip,sym,dso"]));
    Some((ours(&recording), perfs))
}

#[test]
fn copied_stacks_are_unwound_as_perf_does_it() {
    let test = "copied_stacks_are_unwound_as_perf_does_it";
    let Some((ours, perfs)) = copied_stacks(test) else { return };
    assert_eq!(ours.values().sum::<u64>(), perfs.values().sum::<u64>());
    let deepest = |stacks: &Stacks| stacks.keys().max_by_key(|stack| stack.len()).cloned();
    let (one, other) = (deepest(&ours).unwrap_or_default(), deepest(&perfs).unwrap_or_default());
    assert!(one.len() >= 10, "spin, parse seven times, serve and main: {one:?}");
    assert_eq!(one, other);
}

#[test]
#[ignore = "statistical: make accuracy"]
fn nearly_all_copied_stacks_are_unwound_as_perf_does_it() {
    let Some((ours, perfs)) = copied_stacks("nearly_all_copied_stacks") else { return };
    let all: u64 = perfs.values().sum();
    let same: u64 =
        perfs.iter().map(|(stack, count)| ours.get(stack).copied().unwrap_or(0).min(*count)).sum();
    assert!(same * 20 >= all * 19, "{same} of {all} alike\nours: {ours:#?}\nperf's: {perfs:#?}");
}

/// One line of perf's for a switch: when, which thread, which way.
#[test]
fn functions_of_a_stripped_program_are_named_by_its_debug_file() {
    let test = "functions_of_a_stripped_program_are_named_by_its_debug_file";
    let Some(lab) = Lab::new(test) else { return };
    let objcopy = |arguments: &[&str]| {
        let mut objcopy = Command::new("objcopy");
        objcopy.args(arguments).current_dir(lab.0.path());
        objcopy.status().is_ok_and(|status| status.success())
    };
    let split = objcopy(&["--only-keep-debug", "work", "work.debug"])
        && objcopy(&["--strip-all", "--add-gnu-debuglink=work.debug", "work", "stripped"]);
    if !split {
        println!("skipped: {test}: objcopy");
        return;
    }
    let options = ["-g", "-e", "cpu-clock:u", "-F", "999"];
    let Some(recording) = lab.recorded(test, &options, &["./stripped", "5", "300", "1"]) else {
        return;
    };
    let names = recording.frames.iter().map(|frame| frame.function.to_string());
    let names: Vec<String> = names.collect();
    assert!(names.iter().any(|name| name == "spin"), "{names:?}");
    std::fs::remove_file(lab.path("work.debug")).expect("a debug file");
    let without = lab.import("perf.data");
    assert!(!without.frames.iter().any(|frame| &*frame.function == "spin"));
}

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

/// Rows of switches: when, which thread, which way; in one order, counted from the first of them.
fn ordered(mut rows: Vec<(u64, u32, SwitchKind)>) -> Vec<(u64, u32, SwitchKind)> {
    rows.sort_by_key(|row| (row.0, row.1, row.2 as u8));
    let first = rows.first().map_or(0, |row| row.0);
    rows.iter_mut().for_each(|row| row.0 -= first);
    rows
}

/// The switches of a recording. Without the idle loops and threads that are past their exit: neither
/// has a number.
fn switches(recording: &Recording) -> Vec<(u64, u32, SwitchKind)> {
    let tid = |row: &culprit_model::Switch| recording.thread(row.thread).tid.0;
    let rows = recording.switches.iter().map(|row| (row.time.0, tid(row), row.kind));
    ordered(rows.filter(|row| row.1 != 0).collect())
}

#[test]
fn switch_records_are_thread_time_to_the_nanosecond() {
    let test = "switch_records_are_thread_time_to_the_nanosecond";
    let Some(lab) = Lab::new(test) else { return };
    let _alone = alone();
    // Of the program's threads, and of whole CPUs.
    for all in [&[][..], &["-a", "-m", "1024"]] {
        let options = [&["--switch-events", "-e", "cpu-clock", "-F", "199"], all].concat();
        let work = ["./work", "3", "40", "25"];
        let Some(recording) = lab.recorded(test, &options, &work) else { return };
        let script = lab.script(&["--show-switch-events", "--ns", "-F", "comm,tid,time"]);
        let perfs = ordered(script.lines().filter_map(switch).filter(|row| row.1 != 0).collect());
        let ours = switches(&recording);
        // One whose time is up before it has left its CPU is no switch.
        assert!(ours.len() > 25, "25 naps are 50 switches: {}", ours.len());
        assert_eq!(ours, perfs, "{all:?}");
        assert!(recording.costs.is_empty() && !recording.samples.is_empty());
        assert!(recording.threads.iter().filter(|thread| thread.recorded).count() >= 2);
        let works =
            |row: &&culprit_model::Switch| recording.thread(row.thread).name.as_str() == "work";
        let others = recording.switches.len() - recording.switches.iter().filter(works).count();
        assert_eq!(others > 0, !all.is_empty(), "perf itself runs beside the program: {others}");
    }
}

/// One line of perf's for a traced switch.
struct Traced {
    cpu: u32,
    time: u64,
    /// The one that leaves is past its exit: perf has no number for it any more.
    gone: bool,
    prev: u32,
    kind: SwitchKind,
    next: u32,
}

fn traced(line: &str) -> Option<Traced> {
    let (place, what) = line.split_once("sched:sched_switch:")?;
    let words: Vec<&str> = place.split_whitespace().collect();
    let [.., tid, cpu, time] = words[..] else { return None };
    let (seconds, nanos) = time.trim_end_matches(':').split_once('.')?;
    let (left, came) = what.split_once(" ==> ")?;
    let field = |text: &str, name: &str| {
        let value = text.rsplit_once(name)?.1;
        Some(value.split(' ').next().unwrap_or(value).to_owned())
    };
    let preempted = field(left, "prev_state=")?.starts_with('R');
    Some(Traced {
        cpu: cpu.trim_matches(['[', ']']).parse().ok()?,
        time: seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?,
        gone: tid == "-1",
        prev: field(left, "prev_pid=")?.parse().ok()?,
        kind: if preempted { SwitchKind::Preempted } else { SwitchKind::Out },
        next: field(came, "next_pid=")?.parse().ok()?,
    })
}

/// Who was on a CPU until a switch that names another one as leaving it, for each such switch.
fn breaks(switches: &[Traced]) -> Vec<u32> {
    let mut running = BTreeMap::new();
    let before = switches
        .iter()
        .filter_map(|at| running.insert(at.cpu, at.next).filter(|running| *running != at.prev));
    before.collect()
}

/// An idle loop may leave its CPU untraced, and so may a virtual machine's own agent: what is missing
/// is said, and of the program nothing is.
#[test]
fn every_traced_switch_of_the_machine_is_thread_time() {
    let test = "every_traced_switch_of_the_machine_is_thread_time";
    let Some(lab) = Lab::new(test) else { return };
    let events = ["-e", "sched:sched_switch", "-e", "sched:sched_waking", "-c", "1"];
    let options = [&["-a", "-g", "-m", "1024"][..], &events].concat();
    // Busy CPUs are seldom idle.
    let work = ["sh", "-c", "for cpu in $(seq $(nproc)); do ./work 3 60 25 & done; wait"];
    let _alone = alone();
    if let Err(why) = lab.record("perf.data", &options, &work) {
        return println!("skipped: {test}: {why}");
    }
    let script = lab.script(&["--ns", "--show-lost-events", "-F", "cpu,tid,time,event,trace"]);
    let told: Vec<Traced> = script.lines().filter_map(traced).collect();
    let broken = breaks(&told);
    // Of a tenth and more the reader makes no thread time.
    if script.contains("PERF_RECORD_LOST") || broken.len() * 10 > told.len() {
        return println!("skipped: {test}: perf lost records, or idle CPUs trace too few switches");
    }
    holds_what_was_traced(&lab.import("perf.data"), &told, &broken);
}

fn holds_what_was_traced(recording: &Recording, told: &[Traced], broken: &[u32]) {
    let known = |tid| recording.threads.iter().any(|thread| thread.tid.0 == tid);
    let came = told.iter().filter(|at| known(at.next));
    let came = came.map(|at| (at.time, at.next, SwitchKind::In));
    let rows = told.iter().map(|at| (at.time, at.prev, at.kind)).chain(came);
    let perfs = ordered(rows.filter(|row| row.1 != 0).collect());
    // Whom perf cannot name at its end is told from what was seen of it before, if anything was.
    let gone: Vec<u32> = told.iter().filter(|at| at.gone).map(|at| at.prev).collect();
    let named = |rows: Vec<(u64, u32, SwitchKind)>| -> Vec<_> {
        rows.into_iter().filter(|row| !gone.contains(&row.1)).collect()
    };
    assert_eq!(named(switches(recording)), named(perfs));
    let ours = |tid: &&u32| {
        recording.threads.iter().any(|row| row.tid.0 == **tid && row.name.as_str() == "work")
    };
    assert_eq!(broken.iter().find(ours), None, "the program's own are all traced");
    let said = recording.losses.iter().filter(|loss| loss.kind == LossKind::SwitchesLost);
    assert_eq!(said.map(|loss| loss.count).sum::<u64>(), broken.len() as u64);
    let outs = recording.switches.iter().filter(|row| {
        row.kind == SwitchKind::Out && recording.thread(row.thread).name.as_str() == "work"
    });
    let (all, with_stack) =
        outs.fold((0, 0), |sums, row| (sums.0 + 1, sums.1 + u32::from(row.stack.is_some())));
    // Of three programs with 25 naps each, one whose time is up before it has left its CPU is no switch.
    assert!(all >= 25, "{all} naps");
    assert_eq!(all, with_stack);
    assert!(!recording.wakeups.is_empty() && recording.costs.is_empty());
}

#[test]
fn what_a_sampled_switch_leaves_out_is_not_thread_time() {
    let test = "what_a_sampled_switch_leaves_out_is_not_thread_time";
    let Some(lab) = Lab::new(test) else { return };
    let work = ["./work", "3", "40", "25"];
    let _alone = alone();
    // Some of them only: how long a thread was away cannot be told.
    for (options, why) in [
        (&["-a", "-e", "sched:sched_switch", "-c", "7"][..], "was sampled"),
        (&["-a", "-e", "sched:sched_switch", "-F", "99"], "was sampled"),
        (&["-e", "sched:sched_switch", "-c", "1"], "for some threads only"),
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
