//! Measures how fast views are: `make bench`, or
//! `cargo run --release -p culprit-engine --example views [REC]...`.
//!
//! For each recording, or for synthetic ones (see [`SHAPES`]), prints the time of the file's opening,
//! of the index, of views under filters, and of a function's neighbours: the best of three, wall
//! clock and CPU, the file in the page cache, with the program's allocator. Then the most memory
//! that the process held meanwhile. Times are no gate, they are for looking at.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use culprit_engine::calls::{CallTree, Index, Query, by_name};
use culprit_engine::lanes::Lanes;
use culprit_model::{
    Basis, Cause, Cost, Filter, Frame, FrameId, Interval, Metric, Module, ModuleId, Nanos, Pid,
    Process, ProcessId, Recording, Root, Stack, StackId, Thread, ThreadId, Tid, Time, main_metric,
};
use rustix::time::{ClockId, clock_gettime};

#[expect(unsafe_code, unreachable_pub, reason = "the program's own allocator, out of its crate")]
#[path = "../../record/src/sys/memory.rs"]
mod memory;

#[global_allocator]
static ALLOCATOR: memory::HugePages = memory::HugePages;

/// Runs of which the best counts.
const RUNS: usize = 3;
/// Threads among which the rows are shared.
const THREADS: u32 = 16;
/// Functions, of which each module has a hundred.
const FUNCTIONS: u32 = 20_000;

/// What a synthetic recording is like.
struct Shape {
    name: &'static str,
    rows: u32,
    stacks: u32,
    /// Frames of the deepest stacks; none for some twenty.
    depth: Option<u32>,
    /// True when all threads are at the same stacks.
    shared: bool,
    /// True for samples, as imports have them; else rows are intervals of thread time.
    sampled: bool,
}

const SHAPES: [Shape; 6] = [
    Shape {
        name: "long",
        rows: 4_000_000,
        stacks: 20_000,
        depth: None,
        shared: false,
        sampled: false,
    },
    Shape {
        name: "wide",
        rows: 10_000_000,
        stacks: 1_000_000,
        depth: None,
        shared: false,
        sampled: false,
    },
    Shape {
        name: "sampled",
        rows: 10_000_000,
        stacks: 1_000_000,
        depth: None,
        shared: false,
        sampled: true,
    },
    Shape {
        name: "pool",
        rows: 10_000_000,
        stacks: 100_000,
        depth: None,
        shared: true,
        sampled: false,
    },
    Shape {
        name: "deep",
        rows: 2_000_000,
        stacks: 200_000,
        depth: Some(200),
        shared: false,
        sampled: false,
    },
    Shape { name: "few", rows: 10_000_000, stacks: 64, depth: None, shared: false, sampled: false },
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for path in &named {
        measure(path, &mut out)?;
    }
    if named.is_empty() {
        let folder = tempfile::tempdir()?;
        for shape in &SHAPES {
            let path = folder.path().join(format!("{}.culprit", shape.name));
            culprit_recording::write(&path, &synthetic(shape))?;
            // Memory counts from here on: writing the file is none of a view's work.
            std::fs::write("/proc/self/clear_refs", "5")?;
            measure(&path, &mut out)?;
        }
    }
    Ok(())
}

fn measure(path: &Path, out: &mut impl io::Write) -> Result<(), Box<dyn std::error::Error>> {
    let (opening, opened) = timed(|| culprit_recording::open_for_views(path));
    let opened = opened?;
    let recording = opened.opened.recording;
    let metric = match &opened.columns {
        Some((intervals, costs)) => {
            main_metric(!intervals.is_empty(), costs.metric.iter().copied())
        }
        None => recording.main_metric(),
    };
    let (making, index) = timed(|| match opened.columns {
        Some((intervals, costs)) => Index::of_columns(&recording, intervals, costs, Root::Threads),
        None => Index::of(&recording),
    });
    writeln!(
        out,
        "{}: {} rows, {} leaves; open {opening}, index {making}",
        path.display(),
        index.rows(),
        index.stacks(),
    )?;
    for (what, filter) in filters(recording.meta.wall.0, metric) {
        let query = Query::compile(&filter)?;
        let (time, tree) = best(|| view(&index, &query));
        writeln!(out, "  {what:<22} {time} {:>9} nodes", tree.nodes().len())?;
    }
    neighbours(&index, metric, out)?;
    drop(index);
    bars(path, out)?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    writeln!(out, "  most memory {}", peak.trim())?;
    Ok(())
}

/// All lanes of a timeline, and one that is zoomed in.
fn bars(path: &Path, out: &mut impl io::Write) -> Result<(), Box<dyn std::error::Error>> {
    let recording = culprit_recording::open(path)?.recording;
    let (making, lanes) = timed(|| Lanes::of(&recording));
    writeln!(out, "  {:<22} {making}", "lanes")?;
    let threads: Vec<_> = (0..recording.threads.len()).map(ThreadId::from_index).collect();
    let wall = recording.meta.wall.0;
    for (what, from) in [("bars of all", 0), ("bars of a thousandth", wall - wall / 1000)] {
        let (time, found) = best(|| lanes.bars(&threads, (Time(from), Time(wall)), 2_000));
        writeln!(out, "  {what:<22} {time} {:>9} bars", found.cause.len())?;
    }
    Ok(())
}

/// What a change of a filter costs: the tree and its rows by name.
fn view(index: &Arc<Index>, query: &Query) -> CallTree {
    let tree = index.tree(query);
    assert!(by_name(&tree).len() <= tree.nodes().len());
    tree
}

/// A function in the middle and the one of the largest total, between callers and callees.
fn neighbours(index: &Arc<Index>, metric: Metric, out: &mut impl io::Write) -> io::Result<()> {
    let query =
        Query::compile(&Filter { metric, ..Filter::default() }).map_err(io::Error::other)?;
    let tree = index.tree(&query);
    let mut rows = by_name(&tree);
    rows.retain(|row| row.name.contains('!'));
    rows.sort_by_key(|row| std::cmp::Reverse(row.inc));
    for (what, at) in [("the largest", 0), ("a middling", rows.len() / 2)] {
        let Some(row) = rows.get(at) else { continue };
        let (time, found) = best(|| tree.callers(row.id));
        writeln!(out, "  callers, {what:<13} {time} {:>9} nodes", found.nodes().len())?;
        let (time, found) = best(|| tree.callees(row.id));
        writeln!(out, "  callees, {what:<13} {time} {:>9} nodes", found.nodes().len())?;
        let (time, found) = best(|| tree.butterfly(row.id));
        let names = found.callers.len() + found.callees.len();
        writeln!(out, "  butterfly, {what:<11} {time} {names:>9} names")?;
    }
    Ok(())
}

fn filters(wall: u64, metric: Metric) -> Vec<(&'static str, Filter)> {
    let text = str::to_owned;
    let third = |nth| Some(Time(wall / 3 * nth));
    let all = Filter { metric, ..Filter::default() };
    let waits = Metric::Waits;
    vec![
        ("everything", all.clone()),
        ("another metric", Filter { metric: waits, ..all.clone() }),
        ("a third of the time", Filter { from: third(1), to: third(2), ..all.clone() }),
        ("group modules", Filter { group: text("{%}!->module $1"), ..all.clone() }),
        ("group module entries", Filter { group: text("{%}!=>module $1"), ..all.clone() }),
        ("fold the kernel", Filter { fold: text("^[kernel]!"), ..all.clone() }),
        ("fold 1 %", Filter { fold_pct: Some(1.0), ..all.clone() }),
        ("include a name", Filter { include: text("f7"), ..all.clone() }),
        ("exclude a name", Filter { exclude: text("f77"), ..all.clone() }),
        ("one thread", Filter { thread: text("worker (3)"), ..all }),
    ]
}

/// How long something took.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Took {
    wall: Duration,
    cpu: Duration,
}

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "{:>6.1} ms ({:.0} CPU)", millis(self.wall), millis(self.cpu))
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> (Took, T) {
    let now = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    let (wall, cpu) = (now(ClockId::Monotonic), now(ClockId::ProcessCPUTime));
    let value = run();
    let took = Took {
        wall: now(ClockId::Monotonic).saturating_sub(wall),
        cpu: now(ClockId::ProcessCPUTime).saturating_sub(cpu),
    };
    (took, value)
}

/// The shortest of some runs.
fn best<T>(mut run: impl FnMut() -> T) -> (Took, T) {
    let (mut shortest, mut value) = timed(&mut run);
    for _ in 1..RUNS {
        // One result at a time, as in a program that replaces its view.
        drop(value);
        let (time, again) = timed(&mut run);
        (shortest, value) = (shortest.min(time), again);
    }
    (shortest, value)
}

/// Rows at random stacks of 16 threads, each of which has stacks of its own unless they are shared.
fn synthetic(shape: &Shape) -> Recording {
    let &Shape { rows, stacks, shared, .. } = shape;
    let (own, offset) = if shared { (stacks, 0) } else { (stacks / THREADS, stacks / THREADS) };
    let mut recording = Recording::default();
    let mut random = Random(1);
    recording.processes.push(Process::new(Pid(1), "server", Time::START));
    code(&mut recording, &mut random, shape);
    for thread in 0..THREADS {
        recording.threads.push(Thread::new(ProcessId(0), Tid(thread), "worker", Time::START));
        let mut now = 0;
        for _ in 0..rows / THREADS {
            let stack = thread * offset + random.below(own);
            let length = 1_000 + u64::from(random.below(20_000));
            if shape.sampled {
                recording.costs.push(cost(thread, now, stack));
            } else {
                recording.intervals.push(interval(thread, now, length, stack));
            }
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

fn cost(thread: u32, time: u64, stack: u32) -> Cost {
    Cost {
        thread: Some(ThreadId(thread)),
        time: Time(time),
        duration: Nanos(0),
        stack: Some(StackId(stack)),
        metric: Metric::Cpu,
        cause: None,
        value: 10_000,
        count: 1,
        variance: None,
    }
}

/// Modules, functions, and stacks of which each is an earlier one of its thread with one frame more.
fn code(recording: &mut Recording, random: &mut Random, shape: &Shape) {
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
        let (module, name) =
            (ModuleId(function / 100), format!("ns::f{function}(int, char const*)"));
        recording.frames.push(Frame::new(Some(module), name, Some(u64::from(function))));
    }
    let own = if shape.shared { shape.stacks } else { shape.stacks / THREADS };
    let mut depths: Vec<u32> = Vec::new();
    for stack in 0..shape.stacks {
        let earlier = stack % own;
        let first = stack - earlier;
        let parent = match shape.depth {
            // Mostly one frame more than the one before.
            Some(most) if random.below(most) > 1 && earlier > 0 => stack - 1,
            Some(_) => first + random.below(earlier),
            None => first + random.below(earlier).max(random.below(earlier)),
        };
        let above = depths.get(parent as usize).copied().unwrap_or(0);
        let fits = earlier > 0 && shape.depth.is_none_or(|most| above < most);
        depths.push(if fits { above + 1 } else { 1 });
        recording.stacks.push(Stack {
            parent: fits.then_some(StackId(parent)),
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
