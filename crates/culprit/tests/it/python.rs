//! Python programs by their own functions, with nothing asked of the user.

use culprit_model::{Basis, Cause, Frame, Recording};

use crate::support::{Lab, program, skip, stderr, stdout};

/// Each kind of time three calls deep; a comment names the line that it passes in.
const SCRIPT: &str = r#"
import os, socket, subprocess, sys, threading, time

LONG = 0.5

def spin():
    end = time.process_time() + LONG
    while time.process_time() < end:  # cpu.user
        pass

def compute():
    spin()

def pause():
    time.sleep(LONG)  # blocked.sleep

def rest():
    pause()

class Client:
    def receive(self, end):
        return end.recv(1)  # blocked.ipc

def ask():
    here, there = socket.socketpair()
    threading.Timer(LONG, there.send, [b"x"]).start()
    Client().receive(here)

def read_pipe(descriptor):
    return [os.read(descriptor, 1) for _ in range(1)]  # blocked.pipe

def drain():
    here, there = os.pipe()
    threading.Timer(LONG, os.write, [there, b"x"]).start()
    read_pipe(here)

def enter(lock):
    lock.acquire()  # blocked.lock

def contend():
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(LONG, lock.release).start()
    enter(lock)

def run_child():
    os.waitpid(subprocess.Popen(["sleep", str(LONG)]).pid, 0)  # blocked.child

def delegate():
    run_child()

def main():
    for part in (compute, rest, ask, drain, contend, delegate):
        part()

main()
"#;

/// What the program does: why its time passes, and the functions, the outermost first.
const PARTS: [(Cause, &[&str]); 6] = [
    (Cause::CpuUser, &["<module>", "main", "compute", "spin"]),
    (Cause::Sleep, &["<module>", "main", "rest", "pause"]),
    (Cause::Ipc, &["<module>", "main", "ask", "Client.receive"]),
    (Cause::Pipe, &["<module>", "main", "drain", "read_pipe"]),
    (Cause::Lock, &["<module>", "main", "contend", "enter"]),
    (Cause::Child, &["<module>", "main", "delegate", "run_child"]),
];

/// The interpreters to try: the one of the path, and the system's.
fn interpreters() -> Vec<String> {
    let of_path = program("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let of_path = of_path.ok().filter(|output| output.status.success());
    let of_path = of_path.map(|output| stdout(&output).trim().to_owned());
    let system =
        Some("/usr/bin/python3".to_owned()).filter(|path| std::fs::exists(path).is_ok_and(|is| is));
    let mut all: Vec<String> = of_path.into_iter().chain(system).collect();
    all.dedup();
    all
}

/// Whether time of a cause passes in these functions, at the line of the script that names the cause.
fn passes(
    recording: &Recording,
    cause: Cause,
    functions: &[&str],
    (script, source): (&str, &str),
) -> bool {
    let mark = format!("# {cause}");
    let line = source.lines().position(|line| line.ends_with(&mark)).expect("a marked line") + 1;
    let here = |row: &culprit_model::Interval| {
        let frames = row.stack.into_iter().flat_map(|stack| recording.stack(stack));
        let frames: Vec<_> = frames.map(|frame| recording.frame(frame)).collect();
        let own =
            frames.iter().rev().filter(|f| f.file.as_ref().is_some_and(|f| f.as_str() == script));
        let own: Vec<_> = own.collect();
        let last = own.last().is_some_and(|f| f.line.is_some_and(|found| found as usize == line));
        // A comprehension is a function of its own before Python 3.12.
        let names: Vec<&str> = own.iter().map(|frame| frame.function.as_str()).collect();
        let names: Vec<&str> =
            names.into_iter().filter(|name| !name.ends_with("<listcomp>")).collect();
        let bare = |name: &&str| name.rsplit('.').next().map(str::to_owned);
        let same = names.iter().map(bare).eq(functions.iter().map(bare));
        last && same
    };
    recording.intervals.iter().any(|row| row.cause == cause && here(row))
}

#[test]
fn waits_and_work_of_python_are_in_its_own_functions() {
    let interpreters = interpreters();
    if interpreters.is_empty() {
        return skip("waits_and_work_of_python_are_in_its_own_functions", "python3");
    }
    let lab = Lab::new();
    std::fs::write(lab.path("app.py"), SCRIPT).unwrap();
    let script = lab.path("app.py").to_string_lossy().into_owned();
    for (at, python) in interpreters.iter().enumerate() {
        let name = format!("{at}.culprit");
        let output = lab.record(&name, &[python, &script]);
        let recording = culprit_recording::open(lab.path(&name)).unwrap().recording;
        for (cause, functions) in PARTS {
            let found = passes(&recording, cause, functions, (&script, SCRIPT));
            assert!(found, "{python}: {cause} in {functions:?}\n{}", stderr(&output));
        }
        let tree = lab.culprit().args(["tree", &name, "--inc", "app.py!pause"]).output().unwrap();
        assert!(stdout(&tree).contains("app.py!rest"), "{}", stdout(&tree));
    }
}

/// Waits whose functions are in no stack: those of coroutines.
const AWAITING: &str = r#"
import asyncio

async def answer():
    await asyncio.sleep(0.5)  # blocked.poll

async def ask():
    await asyncio.gather(answer(), answer())

async def main():
    for _ in range(4):
        await asyncio.create_task(ask())

asyncio.run(main())
"#;

/// Releases whose event loops are read.
const AWAITING_IN: [&str; 3] = ["python3.12", "python3.13", "python3.14"];

#[test]
fn an_event_loop_that_waits_is_in_the_functions_that_it_awaits() {
    const TEST: &str = "an_event_loop_that_waits_is_in_the_functions_that_it_awaits";
    let answers = |python: &&str| {
        let output = program(python).args(["-c", "import asyncio"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let installed: Vec<&str> = AWAITING_IN.into_iter().filter(answers).collect();
    if installed.is_empty() {
        return skip(TEST, "no python3.12 or later");
    }
    let lab = Lab::new();
    std::fs::write(lab.path("app.py"), AWAITING).unwrap();
    let script = lab.path("app.py").to_string_lossy().into_owned();
    for python in installed {
        let name = format!("{python}.culprit");
        let output = lab.record(&name, &[python, &script]);
        let recording = culprit_recording::open(lab.path(&name)).unwrap().recording;
        let stacks = recording.intervals.iter().filter(|row| row.cause == Cause::Poll);
        let mut frames = stacks.filter_map(|row| row.stack).flat_map(|at| recording.stack(at));
        let marked = frames.any(|frame| recording.frame(frame).function.as_str() == "awaits");
        let functions = ["<module>", "main", "ask", "answer"];
        let found = passes(&recording, Cause::Poll, &functions, (&script, AWAITING));
        assert!(found && marked, "{python}: {}", stderr(&output));
    }
}

/// Two functions that take turns of a quarter of a millisecond: a look at the thread mostly finds the other one than
/// the sample did.
const TURNS: &str = r#"
import hashlib, time

DATA = b"x" * 200_000

def digest():
    hashlib.sha256(DATA).digest()

def add_up():
    total = 0
    for value in range(3000):
        total += value * value % 7

end = time.process_time() + 1.5
while time.process_time() < end:
    digest()
    add_up()
"#;

#[test]
fn a_sample_has_the_function_that_ran_then() {
    const TEST: &str = "a_sample_has_the_function_that_ran_then";
    // Older releases have their instructions apart from the function.
    let is_new = |python: &String| {
        let argv = ["-c", "import hashlib, sys; sys.exit(sys.version_info < (3, 11))"];
        program(python).args(argv).output().is_ok_and(|output| output.status.success())
    };
    let interpreters: Vec<String> = interpreters().into_iter().filter(is_new).collect();
    if interpreters.is_empty() {
        return skip(TEST, "no python 3.11 or later with hashlib");
    }
    let lab = Lab::new();
    std::fs::write(lab.path("turns.py"), TURNS).unwrap();
    let script = lab.path("turns.py").to_string_lossy().into_owned();
    for (at, python) in interpreters.iter().enumerate() {
        let name = format!("{at}.culprit");
        let output = lab.record(&name, &[python, &script]);
        let recording = culprit_recording::open(lab.path(&name)).unwrap().recording;
        let samples = recording.intervals.iter().filter(|row| row.basis == Basis::Sample);
        let (mut right, mut wrong) = (0, 0);
        for stack in samples.filter_map(|row| row.stack) {
            let frames: Vec<_> = recording.stack(stack).map(|at| recording.frame(at)).collect();
            let module = |frame: &&Frame| frame.module.map(|it| recording.module(it).name.as_str());
            let hashes =
                frames.iter().any(|f| module(f).is_some_and(|m| m.starts_with("libcrypto")));
            let own = |f: &&&Frame| f.file.as_ref().is_some_and(|file| file.as_str() == script);
            let innermost = frames.iter().find(own).filter(|_| hashes);
            match innermost.map(|frame| frame.function.as_str()) {
                Some("digest") => right += 1,
                Some("add_up") => wrong += 1,
                _ => {} // at the start, or not known
            }
        }
        // The first samples are taken before the functions were met.
        assert!(right > 10 * wrong, "{python}: {right} right, {wrong} wrong\n{}", stderr(&output));
    }
}
