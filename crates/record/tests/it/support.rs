//! Building programs, recording them, and adding up what came out.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use culprit_model::{Nanos, Recording, Rung, SwitchKind, ThreadId, Time};
use culprit_place::{Cgroup, Command, Position, Settings};
use culprit_record::{Ending, Finished, Options, StopHandle, Target, Waiting, plan};

/// A folder for this test run's programs and recordings, on a disk.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let folder = tempfile::Builder::new().prefix("culprit-record-").tempdir_in("/var/tmp");
        folder.expect("/var/tmp can be written")
    });
    made.path()
}

/// A folder of one test's own, for programs that write.
pub(crate) fn scratch(test: &str) -> String {
    let path = folder().join(format!("{test}.d"));
    std::fs::create_dir_all(&path).expect("/var/tmp can be written");
    path.to_string_lossy().into_owned()
}

/// Runs a tool of the machine to its end.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "a test compiles and signals by itself")]
    let output = std::process::Command::new(program).args(arguments).output();
    output.expect("the tool is installed")
}

/// Compiles a C program of the workspace with the given flags; the path of the result.
pub(crate) fn compiled(source: &str, name: &str, flags: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = folder().join(name);
    let (source, path) = (root.join(source), output.to_string_lossy().into_owned());
    let source = source.to_string_lossy().into_owned();
    let mut arguments = vec!["-O2", "-g", "-pthread", "-o", &path, &source];
    arguments.extend(flags);
    let built = tool("cc", &arguments);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    path
}

/// The program of known phases.
pub(crate) fn phases() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        compiled("../../fixtures/phases/phases.c", "phases", &["-fno-omit-frame-pointer"])
    })
}

/// Where a test's recording is written.
pub(crate) fn output(test: &str) -> PathBuf {
    folder().join(format!("{test}.culprit"))
}

/// Records a command on the host from its first instruction to its end.
pub(crate) fn record(test: &str, argv: &[&str], change: impl FnOnce(&mut Options)) -> Finished {
    record_in("host", test, argv, change)
}

/// Records a command in a place from its first instruction to its end.
pub(crate) fn record_in(
    place: &str,
    test: &str,
    argv: &[&str],
    change: impl FnOnce(&mut Options),
) -> Finished {
    let mut options = Options::new(Target::Command, output(test));
    options.command = argv.iter().map(|&word| word.to_owned()).collect();
    change(&mut options);
    let plan = plan(options).expect("an own command can be recorded somehow");
    let cgroup = plan
        .wants_cgroup()
        .then(|| Cgroup::create(if place == "host" { Position::BelowOurs } else { Position::Top }))
        .transpose()
        .expect("a cgroup can be made");
    let place = culprit_place::open(&place.parse().expect("a place"), &Settings::default());
    let place = place.expect("it can be had here");
    let command = Command::new(argv.iter().copied());
    let held = place.hold(&command, cgroup.as_ref()).expect("the program exists");
    let waiting = Waiting { pid: held.pid(), cgroup: cgroup.as_ref() };
    let armed = plan.arm(waiting).expect("events can be opened");
    let running = held.start().expect("it starts");
    let stop = StopHandle::new();
    let exit = std::thread::scope(|scope| {
        scope.spawn(|| armed.run(&stop, &mut |_| {}));
        let exit = running.wait().expect("it ends");
        stop.stop();
        exit
    });
    let ending = Ending { root: None, exit_code: Some(exit.shell_code()) };
    armed.finish(ending).expect("the recording can be read back")
}

/// Whether the recording stands at least on this rung; says that the test is skipped if not.
pub(crate) fn stands_on(test: &str, recording: &Recording, rung: Rung) -> bool {
    if recording.meta.rung <= rung {
        return true;
    }
    eprintln!("skipped: {test}: {}", recording.meta.degraded.join("; "));
    false
}

/// A thread by its name.
pub(crate) fn thread(recording: &Recording, name: &str) -> ThreadId {
    let found = recording.threads.iter().position(|row| row.recorded && row.name.as_str() == name);
    ThreadId::from_index(found.expect("the program has a thread of that name"))
}

/// Time on a CPU of a thread between two times, from its switches alone.
pub(crate) fn on_cpu(recording: &Recording, thread: ThreadId, from: Time, to: Time) -> Nanos {
    let mut sum = Nanos::ZERO;
    let mut since = None;
    let clip = |time: Time| time.max(from).min(to);
    for switch in recording.switches.iter().filter(|switch| switch.thread == thread) {
        match (switch.kind, since) {
            (SwitchKind::In, _) => since = Some(switch.time),
            (_, Some(start)) => {
                sum += clip(switch.time).since(clip(start));
                since = None;
            }
            (_, None) => {}
        }
    }
    if let Some(start) = since {
        sum += clip(recording.thread_end(thread)).since(clip(start));
    }
    sum
}

/// The functions of a stack, leaf first, as they are named everywhere.
pub(crate) fn names(recording: &Recording, stack: culprit_model::StackId) -> Vec<String> {
    recording.stack(stack).map(|frame| recording.frame_name(frame)).collect()
}
