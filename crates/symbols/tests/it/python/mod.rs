//! The frames of real Python programs: what is read from outside, against what Python says of
//! itself.

pub(crate) mod live;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use culprit_symbols::runtimes::cpython::{CPython, PyFrame, PyLook, ThreadFrames};
use culprit_testkit::{program, skip, wait_until};
use live::LiveMemory;
use rustix::process::{Pid, Signal, kill_process};

/// Interpreters that are tried, each where it is installed.
const NAMES: [&str; 8] = [
    "python3",
    "python3.8",
    "python3.9",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
];

/// Frames of each thread, `NAME<tab>FILE<tab>LINE`, the outermost first.
type Stacks = BTreeMap<u32, Vec<String>>;

/// A running Python program; killed when dropped.
struct Python {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Python {
    fn start(interpreter: &str, arguments: &[&str]) -> Self {
        let mut command = program(interpreter);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the interpreter answered before");
        let requests = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, requests, answers }
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("UTF-8");
        line.trim_end().to_owned()
    }

    /// What the program says of its own threads.
    fn stacks(&mut self) -> Stacks {
        let requests = self.requests.as_mut().expect("open until it is dropped");
        requests.write_all(b"show\n").expect("it listens");
        let (mut stacks, mut tid) = (Stacks::new(), 0);
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "the program ended");
            match line.split_once(' ') {
                _ if line == "end" => return stacks,
                Some(("thread", number)) => tid = number.parse().expect("a number"),
                _ => stacks.entry(tid).or_default().push(line),
            }
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The installed interpreters of a supported release, each release once.
fn interpreters(test: &str) -> Vec<&'static str> {
    let mut releases = Vec::new();
    let mut found = Vec::new();
    for name in NAMES {
        let says =
            "import sys; print('%s %s %s' % (sys.implementation.name, *sys.version_info[:2]))";
        let Ok(release) = crate::programs::run(name, &["-c", says]) else { continue };
        let words: Vec<&str> = release.split_whitespace().collect();
        let supported = matches!(words.as_slice(), ["cpython", "3", minor]
            if minor.parse().is_ok_and(|minor: u8| (8..=14).contains(&minor)));
        if supported && !releases.contains(&release) {
            releases.push(release);
            found.push(name);
        }
    }
    if found.is_empty() {
        skip(test, "no python3 of a supported release");
    }
    found
}

fn script(name: &str) -> String {
    format!("{}/tests/it/programs/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// One line a function; entries are left out.
fn texts(python: &CPython, frames: &[PyFrame]) -> Vec<String> {
    let text = |frame: &PyFrame| {
        let PyFrame::Code { code, line } = frame else { return None };
        let code = python.code(*code).expect("a known function");
        let line = line.map_or_else(|| "?".to_owned(), |line| line.to_string());
        Some(format!("{}\t{}\t{line}", code.qualname, code.file))
    };
    frames.iter().filter_map(text).collect()
}

fn look(python: &mut CPython, memory: &LiveMemory) -> Vec<ThreadFrames> {
    let mut threads = Vec::new();
    python.look(memory, &mut threads).expect("a blocked program can be read");
    threads
}

/// What the program says and what is read, without the thread that answers.
fn both(program: &mut Python, python: &mut CPython) -> (Stacks, Stacks) {
    let mut said = program.stacks();
    let answers = |stack: &Vec<String>| stack.iter().any(|line| line.starts_with("listen\t"));
    said.retain(|_, stack| !answers(stack));
    let threads = look(python, &LiveMemory(program.pid()));
    let read = threads.iter().map(|thread| (thread.tid, texts(python, &thread.frames)));
    (said, read.filter(|(_, stack)| !answers(stack)).collect())
}

/// Starts the program with blocked threads and waits until all are blocked: until what it says of
/// itself stands still, and has so many threads.
fn blocked(interpreter: &str) -> (Python, CPython, Stacks) {
    const THREADS: usize = 17;
    let mut program = Python::start(interpreter, &[&script("blocked.py")]);
    let mut said = program.stacks();
    let is_blocked = |stack: &Vec<String>| {
        let last = stack.last().map(String::as_str).unwrap_or_default();
        ["wait\t", "Condition.wait\t", "in_a_lock\t", "Thread._wait_for_tstate_lock\t"]
            .iter()
            .chain(&["_wait_for_tstate_lock\t", "Thread.join\t", "join\t"])
            .any(|name| last.starts_with(name))
    };
    wait_until("all threads are blocked", || {
        let before = std::mem::replace(&mut said, program.stacks());
        let waiting = said.values().filter(|stack| is_blocked(stack)).count();
        waiting == THREADS && before == said
    });
    let python = live::interpreter(program.pid()).expect("the interpreter is found");
    (program, python, said)
}

#[test]
fn blocked_threads_are_read_as_python_shows_them() {
    for interpreter in interpreters("blocked_threads_are_read_as_python_shows_them") {
        let (mut program, mut python, _) = blocked(interpreter);
        for _ in 0..3 {
            let (said, read) = both(&mut program, &mut python);
            for (tid, stack) in &said {
                let read = read.get(tid).map(Vec::as_slice).unwrap_or_default();
                assert_eq!(read, stack, "{interpreter}");
            }
            assert_eq!(read.len(), said.len(), "{interpreter}");
        }
    }
}

#[test]
fn one_thread_is_read_as_in_a_look_at_all() {
    for interpreter in interpreters("one_thread_is_read_as_in_a_look_at_all") {
        let (program, mut python, said) = blocked(interpreter);
        let memory = LiveMemory(program.pid());
        let all = look(&mut python, &memory);
        for thread in all.iter().filter(|thread| said.contains_key(&thread.tid)) {
            assert_eq!(thread.look, Ok(PyLook::default()), "{interpreter}");
            let mut frames = Vec::new();
            let look = python.look_at(&memory, thread.tid, &mut frames);
            assert_eq!(look, Ok(Some(PyLook::default())), "{interpreter}");
            assert_eq!(frames, thread.frames, "{interpreter}");
        }
        let mut frames = vec![PyFrame::Entry];
        let stranger = std::process::id();
        assert_eq!(python.look_at(&memory, stranger, &mut frames), Ok(None), "{interpreter}");
        assert_eq!(frames, [], "{interpreter}");
    }
}

/// What the program `busy.py` calls on a line.
fn calls(source: &str) -> BTreeMap<u32, &str> {
    let call = |line: &'_ str| Some(line.split_once("# calls ")?.1.len());
    let lines = (1..).zip(source.lines());
    lines.filter_map(|(number, line)| Some((number, &line[line.len() - call(line)?..]))).collect()
}

/// Whether Python can have had these frames: each function is called on the line where its caller
/// is.
fn is_possible(python: &CPython, frames: &[PyFrame], calls: &BTreeMap<u32, &str>) -> bool {
    let codes = frames.iter().filter_map(|frame| match frame {
        PyFrame::Entry => None,
        PyFrame::Code { code, line } => Some((python.code(*code).expect("known"), *line)),
    });
    let own: Vec<_> = codes.skip_while(|(code, _)| !code.file.ends_with("busy.py")).collect();
    let bottom =
        own.first().is_some_and(|(code, _)| ["root", "fleeting"].contains(&&*code.qualname));
    bottom
        && own.windows(2).all(|pair| {
            let [(_, line), (callee, callee_line)] = pair else { return false };
            let called = line.and_then(|line| calls.get(&line)).copied().unwrap_or_default();
            let name = callee.qualname.rsplit('.').next().unwrap_or_default();
            match name.strip_prefix("fleeting").map(str::parse::<u32>) {
                // Its number is in its name and in its lines, too.
                Some(Ok(number)) => {
                    let lines = [1, number + 2];
                    called == "fleeting" && callee_line.is_none_or(|line| lines.contains(&line))
                }
                _ => called == name,
            }
        })
}

/// A program that never rests, and its threads' numbers.
fn busy(interpreter: &str) -> (Python, CPython, Vec<u32>) {
    let mut program = Python::start(interpreter, &[&script("busy.py")]);
    let numbers = program.line();
    let tids = numbers.split(' ').map(|tid| tid.parse().expect("a number")).collect();
    let python = live::interpreter(program.pid()).expect("the interpreter is found");
    (program, python, tids)
}

/// Stops a process wherever its threads are.
fn stop(pid: u32) {
    signal(pid, Signal::STOP);
    wait_until("all threads stand", || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
        let mut states =
            tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("stat")));
        states.all(|stat| {
            stat.is_ok_and(|stat| {
                stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
            })
        })
    });
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("not 0");
    kill_process(pid, signal).expect("it runs");
}

#[test]
fn frames_of_stopped_threads_are_possible_ones_or_marked() {
    const STOPS: usize = 200;
    let source = std::fs::read_to_string(script("busy.py")).expect("a script");
    let calls = calls(&source);
    for interpreter in interpreters("frames_of_stopped_threads_are_possible_ones_or_marked") {
        let (program, mut python, tids) = busy(interpreter);
        let (memory, mut frames, mut unchanged) = (LiveMemory(program.pid()), Vec::new(), 0);
        for _ in 0..STOPS {
            stop(program.pid());
            for tid in &tids {
                // A thread can be stopped in the middle of a call.
                let look = python.look_at(&memory, *tid, &mut frames);
                let texts = texts(&python, &frames);
                if look == Ok(Some(PyLook::default())) {
                    unchanged += 1;
                    assert!(is_possible(&python, &frames, &calls), "{interpreter}: {texts:#?}");
                }
            }
            signal(program.pid(), Signal::CONT);
        }
        // Two of three threads wait for the interpreter's lock at any time.
        assert!(unchanged >= STOPS, "{interpreter}: {unchanged}");
    }
}

#[test]
fn busy_threads_are_read_or_refused() {
    const LOOKS: usize = 3000;
    for interpreter in interpreters("busy_threads_are_read_or_refused") {
        let (program, mut python, tids) = busy(interpreter);
        let (memory, mut frames) = (LiveMemory(program.pid()), Vec::new());
        for tid in tids.iter().cycle().take(LOOKS) {
            match python.look_at(&memory, *tid, &mut frames) {
                Ok(look) => assert!(look.is_some(), "{interpreter}"),
                Err(error) => {
                    assert!(error.is_transient(), "{interpreter}: {error}");
                    assert_eq!(frames, [], "{interpreter}");
                }
            }
        }
    }
}

#[test]
fn a_forked_process_has_its_own_thread_number() {
    for interpreter in interpreters("a_forked_process_has_its_own_thread_number") {
        let mut program = Python::start(interpreter, &[&script("forks.py")]);
        let child: u32 = program.line().parse().expect("a number");
        let memory = LiveMemory(child);
        let mut python = live::interpreter(child).expect("the interpreter is found");
        let mut threads = Vec::new();
        wait_until("the child waits", || {
            threads.clear();
            python.look(&memory, &mut threads).expect("a list of threads");
            let texts = threads.first().map(|thread| texts(&python, &thread.frames));
            texts.is_some_and(|texts| texts.last().is_some_and(|last| last.starts_with("wait\t")))
        });
        assert_eq!(threads.iter().map(|thread| thread.tid).collect::<Vec<_>>(), [child]);
    }
}

/// What `tasks.py` awaits in each way: its own functions, the outermost first.
const AWAITED: [(&str, &[&str]); 13] = [
    ("nested", &["nested", "answer"]),
    ("wrapped", &["wrapped", "answer"]),
    ("generated", &["generated", "items", "answer"]),
    ("awaited", &["awaited", "answer"]),
    ("gathered", &["gathered", "answer"]),
    ("apart", &["apart"]),
    ("grouped", &["grouped", "answer"]),
    ("busy_group", &["busy_group", "other"]),
    ("waited", &["waited", "answer"]),
    ("shielded", &["shielded", "answer"]),
    ("limited", &["limited", "answer"]),
    // Nothing awaits the second task.
    ("several", &[]),
    // There is one task more than are read.
    ("crowded", &[]),
];

#[test]
fn event_loops_show_what_they_await() {
    const TEST: &str = "event_loops_show_what_they_await";
    let mut tried = false;
    for interpreter in interpreters(TEST) {
        let mut program = Python::start(interpreter, &[&script("tasks.py")]);
        let lines: Vec<String> = AWAITED.iter().map(|_| program.line()).collect();
        let memory = LiveMemory(program.pid());
        let mut python = live::interpreter(program.pid()).expect("the interpreter is found");
        if !python.has_readable_tasks() {
            continue;
        }
        tried = true;
        // From 3.14 on the module has a table.
        let table = live::asyncio(program.pid());
        assert_eq!(table.is_some(), python.version() >= (3, 14));
        if let Some(table) = table {
            python.set_asyncio(&memory, table).expect("its table");
        }
        for line in lines {
            let (tid, way) = line.split_once(' ').expect("a thread and its way");
            let tid = tid.parse().expect("a number");
            let (_, wanted) = AWAITED.iter().find(|(name, _)| *name == way).expect("a known way");
            wait_until(&format!("{interpreter}: {way} awaits {wanted:?}"), || {
                let (mut loop_frames, mut frames) = (Vec::new(), Vec::new());
                let look = python.look_at(&memory, tid, &mut loop_frames);
                let read = python.look_at_tasks(&memory, tid, &mut frames);
                let waits = texts(&python, &loop_frames)
                    .last()
                    .is_some_and(|last| last.starts_with("EpollSelector.select\t"));
                let texts = texts(&python, &frames);
                let own = texts.iter().filter(|text| text.contains("/programs/tasks.py\t"));
                let names = own.map(|text| text.split('\t').next().unwrap_or_default());
                look.is_ok() && read.is_ok() && waits && names.eq(wanted.iter().copied())
            });
        }
    }
    if !tried {
        skip(TEST, "no python3.12 or later");
    }
}
