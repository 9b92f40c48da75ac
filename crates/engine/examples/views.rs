//! Measures how fast views are: `make bench`, or
//! `cargo run --release -p culprit-engine --example views [REC]...`.
//!
//! For each recording, or for two synthetic ones (4 million intervals at 20,000 stacks, 10 million
//! at 1 million), prints the time of the file's opening, of the index, and of views under filters:
//! the best of three, CPU time on one thread, the file in the page cache. Then the most memory that
//! the process ever held. Times are no gate, they are for looking at.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use culprit_engine::calls::{CallTree, Index, Query, by_name};
use culprit_model::{
    Basis, Cause, Filter, Frame, FrameId, Interval, Metric, Module, ModuleId, Nanos, Pid, Process,
    ProcessId, Recording, Stack, StackId, Text, Thread, ThreadId, Tid, Time,
};

/// Runs of which the best counts.
const RUNS: usize = 3;
/// Threads among which the rows are shared.
const THREADS: u32 = 16;
/// Functions, of which each module has a hundred.
const FUNCTIONS: u32 = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for path in &named {
        measure(path, &mut out)?;
    }
    if named.is_empty() {
        let folder = tempfile::tempdir()?;
        for (rows, stacks) in [(4_000_000, 20_000), (10_000_000, 1_000_000)] {
            let path = folder.path().join(format!("{rows}.culprit"));
            culprit_recording::write(&path, &synthetic(rows, stacks))?;
            // Memory counts from here on: writing the file is none of a view's work.
            std::fs::write("/proc/self/clear_refs", "5")?;
            measure(&path, &mut out)?;
        }
    }
    Ok(())
}

fn measure(path: &Path, out: &mut impl io::Write) -> Result<(), Box<dyn std::error::Error>> {
    let (opening, opened) = timed(|| culprit_recording::open(path));
    let mut recording = opened?.recording;
    let (making, index) = timed(|| Index::of(&recording));
    let wall = recording.meta.wall.0;
    recording.intervals = Vec::new();
    writeln!(
        out,
        "{}: {} rows, {} stacks; open {}, index {}",
        path.display(),
        index.rows(),
        index.stacks(),
        millis(opening),
        millis(making)
    )?;
    for (what, filter) in filters(wall) {
        let query = Query::compile(&filter)?;
        let mut shortest = Duration::MAX;
        let mut nodes = 0;
        for _ in 0..RUNS {
            let (time, tree) = timed(|| view(&index, &query));
            shortest = shortest.min(time);
            nodes = tree.nodes().len();
        }
        writeln!(out, "  {what:<22} {:>8} {nodes:>9} nodes", millis(shortest))?;
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    writeln!(out, "  most memory {}", peak.trim())?;
    Ok(())
}

/// What one change of a filter costs: the tree and its rows by name.
fn view(index: &Arc<Index>, query: &Query) -> CallTree {
    let tree = index.tree(query);
    assert!(by_name(&tree).len() <= tree.nodes().len());
    tree
}

fn filters(wall: u64) -> Vec<(&'static str, Filter)> {
    let text = str::to_owned;
    let third = |nth| Some(Time(wall / 3 * nth));
    vec![
        ("everything", Filter::default()),
        ("metric cpu", Filter { metric: Metric::Cpu, ..Filter::default() }),
        ("a third of the time", Filter { from: third(1), to: third(2), ..Filter::default() }),
        ("group modules", Filter { group: text("{%}!->module $1"), ..Filter::default() }),
        ("group module entries", Filter { group: text("{%}!=>module $1"), ..Filter::default() }),
        ("fold the kernel", Filter { fold: text("^[kernel]!"), ..Filter::default() }),
        ("fold 1 %", Filter { fold_pct: Some(1.0), ..Filter::default() }),
        ("include a name", Filter { include: text("f7"), ..Filter::default() }),
        ("exclude a name", Filter { exclude: text("f77"), ..Filter::default() }),
        ("one thread", Filter { thread: text("worker (3)"), ..Filter::default() }),
    ]
}

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = cpu_time();
    let value = run();
    (cpu_time().saturating_sub(start), value)
}

/// CPU time of this process so far, in user code and in the kernel.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

/// Rows at random stacks of 16 threads, each of which has stacks of its own.
fn synthetic(rows: u32, stacks: u32) -> Recording {
    let mut recording = Recording::default();
    let mut random = Random(1);
    recording.processes.push(Process {
        pid: Pid(1),
        parent: None,
        name: Text::from("server"),
        exe: Text::default(),
        command_line: Text::default(),
        start: Time::START,
        end: None,
        exit_code: None,
        recorded: true,
    });
    code(&mut recording, &mut random, stacks);
    for thread in 0..THREADS {
        recording.threads.push(Thread {
            process: ProcessId(0),
            tid: Tid(thread),
            name: Text::from("worker"),
            start: Time::START,
            end: None,
            recorded: true,
            sched_from: None,
            sched_to: None,
            sched_cpu: None,
            sched_wait: None,
        });
        let mut now = 0;
        for _ in 0..rows / THREADS {
            let stack = thread * (stacks / THREADS) + random.below(stacks / THREADS);
            let length = 1_000 + u64::from(random.below(20_000));
            recording.intervals.push(interval(thread, now, length, stack));
            now += length;
        }
        recording.meta.wall = Nanos(recording.meta.wall.0.max(now));
    }
    recording
}

fn interval(thread: u32, start: u64, length: u64, stack: u32) -> Interval {
    Interval {
        thread: ThreadId(thread),
        start: Time(start),
        duration: Nanos(length),
        cause: if stack.is_multiple_of(2) { Cause::CpuUser } else { Cause::Lock },
        stack: Some(StackId(stack)),
        basis: Basis::Sample,
        cpu: None,
        waker: None,
        waker_stack: None,
        woken_by: None,
        uncertain: false,
    }
}

/// Modules, functions, and stacks of which each is an earlier one of its thread with one frame more;
/// some twenty frames deep.
fn code(recording: &mut Recording, random: &mut Random, stacks: u32) {
    for module in 0..FUNCTIONS / 100 {
        let name = if module == 0 { "[kernel]".to_owned() } else { format!("lib{module}.so.1") };
        recording.modules.push(Module {
            path: format!("/usr/lib/{name}").into(),
            name: name.into(),
            build_id: None,
            symbols: true,
            lines: false,
        });
    }
    for function in 0..FUNCTIONS {
        recording.frames.push(Frame {
            module: Some(ModuleId(function / 100)),
            function: format!("ns::f{function}(int, char const*)").into(),
            address: Some(u64::from(function)),
            file: None,
            line: None,
            inlined: false,
        });
    }
    for stack in 0..stacks {
        let first = stack - stack % (stacks / THREADS);
        let earlier = stack - first;
        let parent = first + random.below(earlier).max(random.below(earlier));
        recording.stacks.push(Stack {
            parent: (earlier > 0).then_some(StackId(parent)),
            frame: FrameId(random.below(FUNCTIONS)),
        });
    }
}

/// The same numbers each time: Knuth's MMIX generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        const A: u64 = 6_364_136_223_846_793_005;
        const C: u64 = 1_442_695_040_888_963_407;
        self.0 = self.0.wrapping_mul(A).wrapping_add(C);
        u32::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }
}
