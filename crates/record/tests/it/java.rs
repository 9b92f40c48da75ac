//! Methods of Java, read from the memory of the JVM: compiled, inlined and interpreted ones.

use std::path::PathBuf;

use culprit_model::{Frame, Loss, LossKind, Pid, Recording, Rung, StackId, SwitchKind};
use culprit_place::{Command, Settings, Stdio, procfs};
use culprit_record::Target;
use culprit_testkit::{program, thread_status, wait_until};

use crate::attach::attach;
use crate::support::{folder, record_until, stands_on, thread};

/// JVMs that are tried besides those of the system: paths of `java` with colons between.
const MORE: &str = "CULPRIT_TEST_JVMS";

/// Where the methods stand.
const CHECK: &str = "Orders.check Orders.java:16";
const HANDLE: &str = "Orders.handle Orders.java:20";
const NAP: &str = "Orders.nap Orders.java:24";
const REST: &str = "Orders.rest Orders.java:28";
const HOLD: &str = "Orders.hold Orders.java:33";
/// Compiled code counts the wait for a lock to what follows it, interpreted code to its own line, 32.
const LOCK: &str = "Orders.hold Orders.java:3";

/// Every JVM that is installed, with the folder of the program's classes.
fn with_jvms(test: &str, mut check: impl FnMut(&str, &str)) {
    let classes = folder().join("classes");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/Orders.java");
    let mut compiler = program("javac");
    compiler.args(["-g", "--release", "11", source, "-d"]).arg(&classes);
    if !compiler.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {test}: javac");
        return;
    }
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let mut javas: Vec<PathBuf> = installed
        .filter_map(|folder| std::fs::canonicalize(folder.path().join("bin/java")).ok())
        .collect();
    let more = std::env::var_os(MORE).unwrap_or_default();
    let more = std::env::split_paths(&more).filter(|path| !path.as_os_str().is_empty());
    javas.extend(more);
    javas.sort();
    javas.dedup();
    for java in javas {
        eprintln!("{}", java.display());
        check(&java.to_string_lossy(), &classes.to_string_lossy());
    }
}

/// `FUNCTION FILE:LINE`.
fn with_place(frame: &Frame) -> String {
    let line = frame.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{} {}{line}", frame.function, frame.file.as_deref().unwrap_or_default())
}

/// Whether these follow each other on a stack, callers first; the beginning of each is enough.
fn has_path(recording: &Recording, stack: StackId, path: &[&str]) -> bool {
    let frames = recording.stack(stack).map(|id| with_place(recording.frame(id)));
    let mut frames: Vec<String> = frames.collect();
    frames.reverse();
    let mut frames = frames.iter();
    path.iter().all(|wanted| frames.any(|has| has.starts_with(wanted)))
}

/// What the program does is in the recording, and nothing of it has no name.
fn check(recording: &Recording, java: &str) {
    let sampled = |path: &[&str]| {
        let mut stacks = recording.samples.iter().filter_map(|row| row.stack);
        stacks.any(|stack| has_path(recording, stack, path))
    };
    assert!(
        sampled(&["Orders.main", HANDLE, CHECK, "Orders.parse Orders.java:"]),
        "{java}: {:?}",
        recording.losses,
    );
    let sleep = "java.lang.Thread.sleep";
    let waited = |name: &str, path: &[&str], sleeps: bool| {
        let of = thread(recording, name);
        let rows = recording.switches.iter().filter(|row| row.thread == of);
        let mut stacks = rows.filter(|row| row.kind == SwitchKind::Out).filter_map(|row| row.stack);
        stacks.any(|stack| {
            has_path(recording, stack, path) && has_path(recording, stack, &[sleep]) == sleeps
        })
    };
    let run = "java.lang.Thread.run";
    assert!(waited("napper", &[run, REST, NAP], true), "{java}");
    assert!(waited("holder", &[run, HOLD], true), "{java}");
    let for_lock = ["holder", "waiter"].map(|name| waited(name, &[run, LOCK], false));
    assert!(for_lock.contains(&true), "{java}");
}

/// What says that methods were not read. Code that the JVM threw away before it was read has no name, on a
/// machine with other work as much as some hundredths of the stacks: that is no fault up to a tenth.
fn unread(recording: &Recording) -> Vec<&Loss> {
    let stacks = recording.samples.iter().filter(|row| row.stack.is_some()).count()
        + recording.switches.iter().filter(|row| row.stack.is_some()).count();
    let few = |loss: &Loss| {
        loss.detail.starts_with("code without a known name")
            && loss.count.saturating_mul(10) < stacks as u64
    };
    let mut losses: Vec<&Loss> = recording.losses.iter().collect();
    losses.retain(|loss| loss.kind == LossKind::AddressesUnknown && !few(loss));
    losses
}

/// Waits until each of the program's threads has waited some fifty times, and the program has used as much CPU
/// time as some hundreds of samples take.
fn wait_for_work(pid: Pid) {
    let used = || procfs::stat(pid).map_or(0, |stat| stat.user_ticks);
    let before = used();
    for name in ["napper", "holder", "waiter"] {
        let waits = || thread_status(pid.0, name).map_or(0, |(waits, _)| waits);
        let first = waits();
        wait_until(&format!("{name} waits"), || waits() > first + 50);
    }
    wait_until("it computes", || used() > before + 30);
}

#[test]
fn methods_of_a_command_have_file_and_line() {
    with_jvms("methods of a command", |java, classes| {
        let argv = [java, "-XX:+UnlockDiagnosticVMOptions", "-XX:+PreserveFramePointer", "-cp"];
        let argv = [&argv[..], &[classes, "Orders", "1000"]].concat();
        let recording = record_until("java", &argv, wait_for_work).recording;
        if stands_on("methods of a command", &recording, Rung::KernelStacks) {
            check(&recording, java);
        }
    });
}

#[test]
fn methods_of_a_running_jvm_have_file_and_line() {
    with_jvms("methods of a running JVM", |java, classes| {
        let place = culprit_place::open(&"host".parse().expect("a place"), &Settings::default());
        let argv = [java, "-cp", classes, "Orders", "1000"];
        let command = Command { stdin: Stdio::Null, ..Command::new(argv) };
        let held = place.expect("the host").hold(&command, None).expect("it exists");
        let running = held.start().expect("it starts");
        let pid = running.pid().expect("a process of the host");
        wait_for_work(pid);
        let recording = attach("running Java", Target::Processes(vec![pid]), || wait_for_work(pid));
        running.signal(culprit_place::Signal(9)).expect("it lives");
        running.wait().expect("it ends");
        let Some(recording) = recording else { return };
        if stands_on("methods of a running JVM", &recording, Rung::KernelStacks) {
            check(&recording, java);
            assert_eq!(unread(&recording), Vec::<&Loss>::new(), "{java}");
        }
    });
}

/// Compilers differ in the order of what they write, so only the version that made the class is asked.
#[test]
fn the_class_that_programs_in_java_get_is_made_of_its_source() {
    let version = program("javac").arg("-version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !version.is_ok_and(|version| version.starts_with("javac 17.")) {
        eprintln!("skipped: the class for programs in Java: javac 17");
        return;
    }
    let shim = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("shim/culprit");
    let classes = folder().join("class-of-the-shim");
    let mut compiler = program("javac");
    compiler.args(["--release", "8", "-g:none"]).arg(shim.join("Environment.java"));
    let compiled = compiler.arg("-d").arg(&classes).output().expect("it runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let made = std::fs::read(classes.join("culprit/Environment.class")).expect("it was written");
    let kept = std::fs::read(shim.join("Environment.class")).expect("it is kept");
    assert!(made == kept, "{} and {} bytes", made.len(), kept.len());
}
