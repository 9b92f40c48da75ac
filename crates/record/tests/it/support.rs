//! Building programs, recording them, and adding up what came out.

use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::OnceLock;

use culprit_model::counter_names::STEAL_NS;
use culprit_model::{LossKind, Nanos, Pid, Recording, Rung, SwitchKind, ThreadId, Time};
use culprit_place::{Cgroup, Command, Place, Position, Running, Settings, Signal};
use culprit_record::{Armed, Ending, Finished, Options, StopHandle, Target, Waiting, plan};

/// A folder for this test run's programs and recordings, on a disk. Nothing of a test program runs
/// after its last test, so a shell waits for its end, however that comes, and removes the folder.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<(PathBuf, Child)> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let folder = tempfile::Builder::new().prefix("culprit-record-").tempdir_in("/var/tmp");
        let path = folder.expect("/var/tmp can be written").keep();
        #[expect(clippy::disallowed_methods, reason = "a test cleans up by itself")]
        let remover = std::process::Command::new("sh")
            .args(["-c", "read end; chmod -R u+w \"$1\"; rm -rf \"$1\"", "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        (path, remover.expect("a shell"))
    });
    &made.0
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
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let flags = [&["-O2", "-g", "-pthread"], flags].concat();
    let program = culprit_testkit::compiled(&source, name, &flags).expect("a C compiler");
    program.to_string_lossy().into_owned()
}

/// The program of known phases.
pub(crate) fn phases() -> String {
    compiled("../../fixtures/phases/phases.c", "phases", &["-fno-omit-frame-pointer"])
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
    record_with((place, test), argv, &[], change)
}

/// Records a command in a place with variables added to its environment.
pub(crate) fn record_with(
    place_and_test: (&str, &str),
    argv: &[&str],
    variables: &[(&str, &str)],
    change: impl FnOnce(&mut Options),
) -> Finished {
    let Started { armed, running, cgroup: _cgroup, place: _place } =
        start(place_and_test, argv, variables, change);
    let stop = StopHandle::new();
    let exit = std::thread::scope(|scope| {
        scope.spawn(|| armed.run(&stop, &mut |_| {}));
        let exit = running.wait().expect("it ends");
        stop.stop();
        exit
    });
    let ending = Ending {
        root: running.pid(),
        exit_code: Some(exit.shell_code()),
        stopped: stop.stopped_at(),
    };
    armed.finish(ending).expect("the recording can be read back")
}

/// Records a command of the host until `until` returns, and ends the command only when it is recorded: what
/// the recorder still asks of a process at the recording's end, this one lives to answer.
pub(crate) fn record_until(test: &str, argv: &[&str], until: impl FnOnce(Pid)) -> Finished {
    let Started { armed, running, cgroup: _cgroup, place: _place } =
        start(("host", test), argv, &[], |_| {});
    let pid = running.pid().expect("a process of the host");
    let stop = StopHandle::new();
    let done = std::thread::scope(|scope| {
        scope.spawn(|| armed.run(&stop, &mut |_| {}));
        let done = catch_unwind(AssertUnwindSafe(|| until(pid)));
        stop.stop();
        done
    });
    let ending = Ending { root: Some(pid), exit_code: None, stopped: stop.stopped_at() };
    let finished = armed.finish(ending);
    // Also where the test has failed: the command does not end by itself.
    running.signal(Signal(9)).expect("it lives");
    running.wait().expect("it ends");
    done.unwrap_or_else(|panic| resume_unwind(panic));
    finished.expect("the recording can be read back")
}

/// A command that runs and is recorded.
struct Started {
    armed: Armed,
    running: Running,
    /// Where it runs, until this is dropped.
    cgroup: Option<Cgroup>,
    /// Its files are there until this is dropped.
    place: Box<dyn Place>,
}

fn start(
    (place, test): (&str, &str),
    argv: &[&str],
    variables: &[(&str, &str)],
    change: impl FnOnce(&mut Options),
) -> Started {
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
    let mut command = Command::new(argv.iter().copied());
    let variable = |(name, value): &(&str, &str)| (name.into(), value.into());
    command.env.extend(variables.iter().map(variable));
    let held = place.hold(&command, cgroup.as_ref()).expect("the program exists");
    let waiting = Waiting { pid: held.pid(), cgroup: cgroup.as_ref() };
    let armed = plan.arm(waiting).expect("events can be opened");
    let running = held.start().expect("it starts");
    Started { armed, running, cgroup, place }
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

/// The kernel's sum of a thread that runs is as old as the last tick, ns.
pub(crate) const TICK: u64 = 10_000_000;

/// A sum beside the kernel's, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pair {
    /// Ours.
    pub(crate) ours: u64,
    /// The kernel's.
    pub(crate) kernels: u64,
}

/// A recording's sums over all threads that have two snapshots.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    /// Time on a CPU.
    pub(crate) cpu: Pair,
    /// Time on run queues.
    pub(crate) run_queue: Pair,
    /// Snapshots that were taken while their thread ran.
    pub(crate) rough: u64,
    /// What the hypervisor can have taken meanwhile, ns: the kernel leaves it out of time on a CPU,
    /// and we leave out of waits what it took of an idle CPU that traces nothing.
    pub(crate) stolen: u64,
}

impl Pair {
    /// How far the two are apart, ns.
    pub(crate) fn apart(self) -> u64 {
        self.ours.abs_diff(self.kernels)
    }
}

impl Sums {
    /// Adds up.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut sums = Self { stolen: stolen(recording), ..Self::default() };
        for (at, row) in recording.threads.iter().enumerate() {
            let (Some(from), Some(to), Some(cpu), Some(wait)) =
                (row.sched_from, row.sched_to, row.sched_cpu, row.sched_wait)
            else {
                continue;
            };
            let thread = ThreadId::from_index(at);
            sums.cpu.ours += on_cpu(recording, thread, from, to).0;
            sums.cpu.kernels += cpu.0;
            sums.run_queue.ours += on_run_queue(recording, thread, from, to).0;
            sums.run_queue.kernels += wait.0;
            sums.rough += u64::from(runs_at(recording, thread, from));
            sums.rough += u64::from(runs_at(recording, thread, to));
        }
        sums
    }
}

/// Between the first and the last reading, which are in hundredths of a second.
fn stolen(recording: &Recording) -> u64 {
    let readings = recording.counters.iter().filter(|row| &*row.name == STEAL_NS);
    let values: Vec<u64> = readings.map(|row| row.value).collect();
    match (values.first(), values.last()) {
        (Some(first), Some(last)) if *last > 0 => last - first + 10_000_000,
        _ => 0,
    }
}

fn runs_at(recording: &Recording, thread: ThreadId, time: Time) -> bool {
    let mut rows = recording.switches.iter().filter(|row| row.thread == thread);
    rows.rfind(|row| row.time < time).is_some_and(|row| row.kind == SwitchKind::In)
}

/// Waits of a thread for a CPU that ended between two times, whole: from its wakeup, its birth or
/// its preemption.
fn on_run_queue(recording: &Recording, thread: ThreadId, from: Time, to: Time) -> Nanos {
    let wakeups: Vec<_> = recording.wakeups.iter().filter(|row| row.thread == thread).collect();
    let start = recording.thread(thread).start;
    let mut left = None;
    let mut sum = Nanos::ZERO;
    for switch in recording.switches.iter().filter(|row| row.thread == thread) {
        if switch.kind != SwitchKind::In {
            left = Some(switch);
            continue;
        }
        let woken = |since: Time| {
            let row = wakeups.iter().rev().find(|row| row.time <= switch.time);
            row.filter(|row| row.time >= since).map(|row| row.time)
        };
        let ready = match left {
            None => Some(start).filter(|start| *start > Time::START),
            Some(left) if left.kind == SwitchKind::Preempted => Some(left.time),
            Some(left) => woken(left.time),
        };
        if (from..=to).contains(&switch.time) {
            sum += ready.map_or(Nanos::ZERO, |ready| switch.time.since(ready));
        }
    }
    sum
}

/// Whether a recording itself says that records of these kinds are missing; then says that what takes
/// all of them is not checked.
pub(crate) fn lost(test: &str, recording: &Recording, kinds: &[LossKind]) -> bool {
    let lost = recording.losses.iter().find(|loss| kinds.contains(&loss.kind));
    if let Some(loss) = lost {
        eprintln!("skipped: {test}: the recording says that it lost something: {loss:?}");
    }
    lost.is_some()
}
