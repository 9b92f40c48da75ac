//! The text that the installed perf prints of what it recorded here, against the perf.data that it
//! is from: for many lists of fields the same samples, sums, threads and stacks, as far as the
//! fields hold them.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::panic,
    reason = "perf itself is what this is held against, and helpers of tests fail and speak as tests do"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use culprit_exchange::{Format, read, read_bytes};
use culprit_model::{LossKind, Recording, StackId, ThreadId};

/// Names of commands that look like other fields, addresses or paths.
const NAMES: &[&str] =
    &["dd", "ab", "cc1", "a b", "x/y:z", "[k]", "beef 12", "1 2.5:", "7 1.000000: c:", "two"];

/// Fields in front of the code, and lists of the code's own.
const FIELDS: [&str; 7] = ["comm", "pid", "tid", "cpu", "time", "event", "period"];
const CODE: [&str; 6] = ["", "ip", "ip,sym", "ip,sym,symoff", "ip,sym,dso", "ip,sym,dso,symoff"];

/// Records beside the samples.
const SHOWN: [&[&str]; 4] = [
    &[],
    &["--show-mmap-events"],
    &["--show-task-events"],
    &["--show-mmap-events", "--show-task-events", "--show-switch-events"],
];

/// Functions of the program, which perf and the reader of its files name alike.
const FUNCTIONS: &[&str] = &["main", "serve", "parse", "read_files", "thread"];

/// Recordings that are made again because perf lost something.
const ATTEMPTS: usize = 10;

struct Lab(tempfile::TempDir);

impl Lab {
    /// None, with the reason printed, where nothing can be recorded.
    fn new(test: &str) -> Option<Self> {
        let lab = Self(tempfile::tempdir().expect("a folder"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/named.c");
        let flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"];
        let mut cc = Command::new("cc");
        cc.args(flags).arg("-o").arg(lab.path("named")).arg(source);
        if !cc.status().is_ok_and(|status| status.success()) {
            println!("skipped: {test}: a C compiler");
            return None;
        }
        if let Err(why) = lab.perf(&["record", "-q", "-o", "x", "-e", "cpu-clock", "--", "true"]) {
            println!("skipped: {test}: the right to record with perf: {why}");
            return None;
        }
        Some(lab)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn perf(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut perf = Command::new("perf");
        // Each test has a cache of its own: perf fails where two of it fill one at once.
        perf.env("HOME", self.0.path());
        let ran = perf.args(arguments).current_dir(self.0.path()).output();
        let ran = ran.map_err(|error| error.to_string())?;
        if ran.status.success() { Ok(ran.stdout) } else { Err(said(&ran)) }
    }

    /// Records the program so that nothing is lost.
    fn record(&self, data: &'static str, options: &[&str]) -> Recorded {
        let how = ["record", "-q", "-e", "cpu-clock", "-F", "3999", "--sample-cpu", "-o", data];
        for _ in 0..ATTEMPTS {
            let words = [&how[..], options, &["--", "./named"], NAMES].concat();
            self.perf(&words).expect("recorded");
            let read = read(&self.path(data), None, &mut |_, _| ()).expect("a perf.data");
            let lost = [LossKind::SamplesLost, LossKind::SwitchesLost];
            if !read.recording.losses.iter().any(|row| lost.contains(&row.kind)) {
                let comms = Comms::new(&self.script(data, &["--ns", "-F", "comm,tid,time"]));
                return Recorded { data, recording: read.recording, comms };
            }
        }
        panic!("perf lost records in each of {ATTEMPTS} recordings");
    }

    fn script(&self, data: &str, options: &[&str]) -> String {
        self.try_script(data, options).expect("perf script")
    }

    fn try_script(&self, data: &str, options: &[&str]) -> Result<String, String> {
        let words = [&["script", "--no-inline", "-i", data], options].concat();
        Ok(String::from_utf8_lossy(&self.perf(&words)?).into_owned())
    }
}

/// A perf.data, and what threads were called meanwhile.
struct Recorded {
    data: &'static str,
    recording: Recording,
    comms: Comms,
}

/// What each thread was called at each of its samples, by time from the first: a recording keeps
/// the last name of each.
#[derive(Default)]
struct Comms(BTreeMap<u32, BTreeMap<u64, String>>);

impl Comms {
    fn new(text: &str) -> Self {
        let mut first = None;
        let mut comms = Self::default();
        for line in text.lines() {
            let (front, time) =
                line.trim_end().trim_end_matches(':').rsplit_once(' ').expect("time");
            let (comm, tid) = front.trim_end().rsplit_once(' ').expect("tid");
            let time: u64 = time.replace('.', "").parse().expect("a time");
            let first = *first.get_or_insert(time);
            let of = comms.0.entry(tid.parse().expect("a number")).or_default();
            of.insert(time - first, comm.trim().to_owned());
        }
        comms
    }

    fn at(&self, tid: u32, time: u64) -> &str {
        &self.0[&tid][&time]
    }

    fn last(&self, tid: u32) -> &str {
        self.0[&tid].values().next_back().expect("a sample")
    }
}

fn said(ran: &Output) -> String {
    let text = String::from_utf8_lossy(&ran.stderr);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no word").to_owned()
}

/// One sample, whichever file it is from.
#[derive(Debug, Clone)]
struct Row {
    thread: Option<ThreadId>,
    time: u64,
    /// None where the file has become thread time, whose samples weigh nothing.
    value: Option<u64>,
    /// Functions, leaf first.
    stack: Vec<String>,
}

fn rows(recording: &Recording) -> Vec<Row> {
    let stack = |stack: Option<StackId>| {
        let frames = stack.into_iter().flat_map(|stack| recording.stack(stack));
        // perf was asked for no inlined functions.
        let frames = frames.filter(|frame| !recording.frame(*frame).inlined);
        frames.map(|frame| recording.frame(frame).function.to_string()).collect()
    };
    let costs = recording.costs.iter().map(|row| Row {
        thread: row.thread,
        time: row.time.0,
        value: Some(row.value),
        stack: stack(row.stack),
    });
    let samples = recording.samples.iter().map(|row| Row {
        thread: Some(row.thread),
        time: row.time.0,
        value: None,
        stack: stack(row.stack),
    });
    costs.chain(samples).collect()
}

/// What is asked of perf.
struct Asked {
    fields: Vec<&'static str>,
    code: &'static str,
    /// Whether the text has call chains.
    chains: bool,
}

impl Asked {
    fn has(&self, field: &str) -> bool {
        self.fields.contains(&field)
    }

    fn list(&self) -> String {
        let code = Some(self.code).filter(|code| !code.is_empty());
        self.fields.iter().copied().chain(code).collect::<Vec<_>>().join(",")
    }

    /// How often each sample is there, as far as the fields tell samples apart. `first` is the time
    /// of the first.
    fn sums(
        &self,
        recording: &Recording,
        comms: Option<&Comms>,
        weighed: bool,
    ) -> BTreeMap<String, u64> {
        let rows = rows(recording);
        let first = rows.iter().map(|row| row.time).min().unwrap_or(0);
        let mut sums = BTreeMap::new();
        for row in rows {
            let thread = row.thread.map(|id| recording.thread(id));
            let ids = thread.map(|thread| {
                let pid = recording.process(thread.process).pid.0;
                match (self.has("pid"), self.has("tid")) {
                    (true, true) => format!("{pid}/{}", thread.tid.0),
                    (true, false) => pid.to_string(),
                    (false, true) => thread.tid.0.to_string(),
                    (false, false) => String::new(),
                }
            });
            let comm = thread.filter(|_| self.has("comm") && (self.has("tid") || !self.has("pid")));
            let comm = comm.map_or("", |thread| match comms {
                None => thread.name.as_str(),
                Some(comms) if self.has("tid") => comms.last(thread.tid.0),
                Some(comms) => comms.at(thread.tid.0, row.time - first),
            });
            let time = if self.has("time") { row.time - first } else { 0 };
            let value = row.value.filter(|_| weighed && self.has("period")).unwrap_or(1);
            let own = |name: &&String| FUNCTIONS.contains(&name.as_str());
            let frames = if self.chains { usize::MAX } else { 1 };
            let frames = row.stack.iter().take(frames);
            let stack = match self.code {
                "" => String::new(),
                "ip" => frames.count().to_string(),
                _ => frames.filter(own).cloned().collect::<Vec<_>>().join("<"),
            };
            let key = format!("{} {comm} {time} {value} {stack}", ids.unwrap_or_default());
            *sums.entry(key).or_default() += 1;
        }
        sums
    }
}

/// Samples that are not in both as often.
fn differences(ours: &BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) -> Vec<String> {
    let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    let counts = keys.into_iter().map(|key| (key, ours.get(key), theirs.get(key)));
    let other = counts.filter(|(_, ours, theirs)| ours != theirs);
    other.map(|(key, ours, theirs)| format!("{ours:?}, {theirs:?}: {key}")).collect()
}

/// Losses of a text that perf printed whole.
fn unexpected(recording: &Recording) -> Vec<String> {
    let expected = |row: &culprit_model::Loss| {
        row.kind == LossKind::SymbolsMissing
            || row.detail.contains(" records")
            || row.detail.starts_with("samples without")
            || row.detail.starts_with("threads whose process")
    };
    let rows = recording.losses.iter().filter(|row| !expected(row));
    rows.map(|row| format!("{} {} {}", row.kind, row.count, row.detail)).collect()
}

#[test]
fn lists_of_fields_read_as_the_file_that_they_are_printed_from() {
    lists_of_fields("lists_of_fields_read_as_the_file_that_they_are_printed_from", 5);
}

#[test]
#[ignore = "long: make accuracy"]
fn every_list_of_fields_reads_as_the_file_that_it_is_printed_from() {
    lists_of_fields("every_list_of_fields_reads_as_the_file_that_it_is_printed_from", 1);
}

/// Compares every `step`-th list.
fn lists_of_fields(test: &str, step: usize) {
    let Some(lab) = Lab::new(test) else { return };
    let chains = lab.record("chains", &["-g"]);
    let flat = lab.record("flat", &[]);
    let switches = lab.record("switches", &["-g", "--switch-events"]);
    let mut compared = 0;
    let all = 1_usize << FIELDS.len();
    for mask in (0..all).step_by(step) {
        let fields = FIELDS.iter().enumerate().filter(|(at, _)| mask & 1 << at != 0);
        let fields: Vec<_> = fields.map(|(_, field)| *field).collect();
        let recorded = [&chains, &flat, &switches][mask % 3];
        let Recorded { data, recording, comms } = recorded;
        // A list of its own for each of the ways to print code.
        let code = CODE[(mask / 3) % CODE.len()];
        let shown = SHOWN[(mask / 5) % SHOWN.len()];
        let no_chains = mask % 3 == 0 && mask % 2 == 1;
        let asked = Asked { fields, code, chains: *data != "flat" && !no_chains };
        let list = asked.list();
        if list.is_empty() {
            continue;
        }
        let mut options = vec!["--ns", "-F", &list];
        options.extend(no_chains.then_some("-G"));
        options.extend(shown);
        let text = lab.script(data, &options);
        let what = format!("{data} {options:?}");
        let read = read_bytes("x", text.clone().into_bytes(), Some(Format::PerfScript));
        let read = read.unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
        // Fields that were printed and are values of the same row on both sides.
        let weighed = !recording.costs.is_empty();
        let (ours, theirs) = (
            asked.sums(&read.recording, None, weighed),
            asked.sums(recording, Some(comms), weighed),
        );
        let other = differences(&ours, &theirs);
        assert!(other.is_empty(), "{what}: text, file:\n{}\n{text}", other.join("\n"));
        let unexpected = unexpected(&read.recording);
        assert!(unexpected.is_empty(), "{what}: {unexpected:?}\n{text}");
        compared += 1;
    }
    assert!(compared * step * 3 >= all, "{compared}");
    println!("{compared} lists of fields compared");
}

#[test]
fn texts_with_a_time_or_call_chains_are_known_by_themselves() {
    let test = "texts_with_a_time_or_call_chains_are_known_by_themselves";
    let Some(lab) = Lab::new(test) else { return };
    let recording = lab.record("chains", &["-g"]).recording;
    for options in [
        &[][..],
        &["-G"],
        &["-F", "-comm"],
        &["-F", "ip,sym"],
        &["-F", "comm,period,ip,sym,dso"],
        &["-F", "tid,time", "-G"],
        &["-F", "event,time", "-G"],
        &["-F", "+srcline"],
        &["--show-mmap-events", "--show-task-events"],
        &["--header"],
        &["-L"],
    ] {
        let text = match lab.try_script("chains", options) {
            Ok(text) => text,
            // perf gives up where a sample is in a program of BPF, which other tests load at the same time.
            Err(why) if why.contains("addr2line bpf_prog") => {
                println!("skipped: {options:?}: {why}");
                continue;
            }
            Err(why) => panic!("{options:?}: {why}"),
        };
        let read = read_bytes("x", text.clone().into_bytes(), None);
        let read = read.unwrap_or_else(|error| panic!("{options:?}: {error}\n{text}"));
        assert_eq!(read.format, Format::PerfScript, "{options:?}");
        assert_eq!(read.recording.costs.len(), recording.costs.len(), "{options:?}\n{text}");
    }
}

#[test]
fn tracepoints_and_counts_of_faults_keep_their_code() {
    let test = "tracepoints_and_counts_of_faults_keep_their_code";
    let Some(lab) = Lab::new(test) else { return };
    for event in ["sched:sched_process_exit", "page-faults", "minor-faults"] {
        for chain in [&[][..], &["-g"]] {
            let words = [&["record", "-q", "-o", "points", "-c", "1", "-d", "-e", event], chain];
            let words = [&words.concat()[..], &["--", "./named"], NAMES].concat();
            if let Err(why) = lab.perf(&words) {
                println!("skipped: {test}: {event}: {why}");
                continue;
            }
            let file = read(&lab.path("points"), None, &mut |_, _| ()).expect("a perf.data");
            for options in
                [&[][..], &["-F", "+ip,+sym"], &["-F", "comm,tid,time,event,trace,ip,sym"]]
            {
                if options.iter().any(|word| word.contains("trace")) && !event.contains(':') {
                    continue;
                }
                let text = lab.script("points", options);
                let text = read_bytes("x", text.into_bytes(), None).expect("a text").recording;
                let depth = |recording: &Recording| {
                    let mut depths: Vec<_> = rows(recording)
                        .into_iter()
                        .map(|row| {
                            row.stack
                                .iter()
                                .filter(|name| FUNCTIONS.contains(&name.as_str()))
                                .count()
                        })
                        .collect();
                    depths.sort_unstable();
                    depths
                };
                let (ours, theirs) = (depth(&text), depth(&file.recording));
                assert_eq!(ours.len(), theirs.len(), "{event} {chain:?} {options:?}");
                // Without `ip` in the list, tracepoints have no code of their own.
                if !chain.is_empty() || !event.contains(':') {
                    assert_eq!(ours, theirs, "{event} {chain:?} {options:?}");
                }
            }
        }
    }
}
