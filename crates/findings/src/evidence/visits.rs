//! Visits: stretches of a thread's time in which a function stays on its stack.
//!
//! ```text
//! time      0    1    2    3    4    5    6
//! sampled   main main main main main main main
//!           load load load load      load
//!           open open read           
//! visits    load [0, 4) with open 2, read 1; load [5, 6)
//! ```
//!
//! A function is its path: the functions above it belong to it, so that a helper called from two
//! places is two. Calls that follow each other without a look in between are one visit, and calls
//! between two looks are none: a visit is at most as short as the clock's period says. Only measured
//! stacks are looks.

use std::collections::{BTreeMap, BTreeSet};

use culprit_engine::wakers::Lives;
use culprit_model::{Basis, FrameId, Interval, Nanos, Recording, Text, ThreadId, Time};

use super::chores::Chores;

/// Looks to be expected of a function from which it is no chance that none was had: e^-3 is 5 %.
const MUST_BE_SEEN: f64 = 3.0;

/// Share of a function's time with which another one does its work for it.
const NEARLY_ALL: f64 = 0.8;

/// A function at a path; index into [`Visits::paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PathId(u32);

impl PathId {
    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function at the end of a path of functions.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// The path without its last function.
    pub(crate) parent: Option<PathId>,
    /// The path's first function.
    root: PathId,
    /// How many functions it has.
    depth: u32,
    /// A frame of the function, for its names.
    pub(crate) frame: FrameId,
    /// True for a function of the application, not of a library.
    pub(crate) application: bool,
    /// The function's name alone, the same at every path.
    name: u32,
}

/// One stretch.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) thread: ThreadId,
    pub(crate) from: Time,
    pub(crate) to: Time,
}

impl Visit {
    /// How long it was.
    pub(crate) fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// All visits of the application's functions.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    paths: Vec<Path>,
    /// What each stack stands for.
    of_stack: Vec<Option<PathId>>,
    /// Stacks that end in a runtime which generated code called.
    in_runtime: Vec<bool>,
    /// What each function calls, by name.
    calls: BTreeSet<(PathId, u32)>,
    /// By path, in order of time.
    pub(crate) of: BTreeMap<PathId, Vec<Visit>>,
}

/// A function that is on the stack.
struct Open {
    path: PathId,
    from: Time,
}

impl Visits {
    /// Finds the visits of every thread; linear in intervals and in changes of stacks.
    pub(crate) fn of(recording: &Recording, lives: &Lives, chores: &Chores) -> Self {
        let mut visits = Self::default();
        visits.of_stack = visits.paths_of_stacks(recording, chores);
        visits.in_runtime = stacks_in_runtime(recording, chores);
        for thread in (0..recording.threads.len()).map(ThreadId::from_index) {
            visits.walk(recording, lives, thread);
        }
        for each in visits.of.values_mut() {
            each.sort_by_key(|visit| (visit.from, visit.thread));
        }
        visits
    }

    /// The function at the end of a path.
    pub(crate) fn path(&self, id: PathId) -> &Path {
        &self.paths[id.index()]
    }

    /// True where the functions at two paths have the same name.
    pub(crate) fn is_same_function(&self, a: PathId, b: PathId) -> bool {
        self.path(a).name == self.path(b).name
    }

    /// True when `inner` is reached through `outer`.
    pub(crate) fn is_below(&self, inner: PathId, outer: PathId) -> bool {
        let mut next = self.path(inner).parent;
        while let Some(path) = next {
            if path == outer {
                return true;
            }
            next = self.path(path).parent;
        }
        false
    }

    /// The path that each stack stands for: its functions outside the kernel and outside runtimes,
    /// which call everything that a program does.
    fn paths_of_stacks(&mut self, recording: &Recording, chores: &Chores) -> Vec<Option<PathId>> {
        let mut names: BTreeMap<Text, u32> = BTreeMap::new();
        let frames: Vec<Option<u32>> = (0..recording.frames.len())
            .map(FrameId::from_index)
            .map(|frame| {
                let tells = !chores.is_kernel(frame) && !chores.is_runtime(frame);
                let name = tells.then(|| Text::from(untiered(&recording.frame_name(frame))))?;
                let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
                Some(*names.entry(name).or_insert(next))
            })
            .collect();
        let mut known: BTreeMap<(Option<PathId>, u32), PathId> = BTreeMap::new();
        let mut of_stack: Vec<Option<PathId>> = Vec::with_capacity(recording.stacks.len());
        for node in &recording.stacks {
            let parent = node.parent.and_then(|p| of_stack.get(p.index())).copied().flatten();
            let path = frames[node.frame.index()].map_or(parent, |name| {
                let id = *known.entry((parent, name)).or_insert_with(|| {
                    let id = PathId(u32::try_from(self.paths.len()).unwrap_or(u32::MAX));
                    let application = !chores.is_library(node.frame);
                    let (root, depth) = parent.map_or((id, 1), |parent| {
                        let parent = self.path(parent);
                        (parent.root, parent.depth + 1)
                    });
                    self.calls.extend(parent.map(|parent| (parent, name)));
                    self.paths.push(Path {
                        parent,
                        root,
                        depth,
                        frame: node.frame,
                        application,
                        name,
                    });
                    id
                });
                Some(id)
            });
            of_stack.push(path);
        }
        of_stack
    }

    /// The functions of a path, the outermost first.
    fn functions(&self, path: Option<PathId>) -> Vec<PathId> {
        let mut all: Vec<_> = std::iter::successors(path, |path| self.path(*path).parent).collect();
        all.reverse();
        all
    }

    fn walk(&mut self, recording: &Recording, lives: &Lives, thread: ThreadId) {
        let rows = &recording.intervals[lives.rows(thread)];
        let root = self.usual_root(rows);
        let mut open: Vec<Open> = Vec::new();
        let mut current = None;
        let mut doubted = false;
        let mut end = Time::START;
        for row in rows {
            end = row.start + row.duration;
            // A stack that was cut or lost says nothing about what was on it.
            let Some(path) = self.at(row).filter(|p| Some(self.path(*p).root) == root) else {
                continue;
            };
            if current == Some(path) {
                doubted = false;
                continue;
            }
            let stays = current.and_then(|current| self.common(current, path));
            if self.misses_caller(&open, stays, path) {
                continue;
            }
            // Generated code calls its runtime by stubs without a frame, in which the walk of the stack
            // misses their caller: one look that only shows less than before may be such a one.
            let doubtful = stays == Some(path) && self.is_in_runtime(row);
            if doubtful && !doubted {
                doubted = true;
                continue;
            }
            doubted = false;
            while open.last().is_some_and(|last| Some(last.path) != stays) {
                self.close(&mut open, thread, row.start);
            }
            let kept = open.len();
            let added = std::iter::successors(Some(path), |path| self.path(*path).parent);
            let added = added.take_while(|path| Some(*path) != stays);
            open.extend(added.map(|path| Open { path, from: row.start }));
            open[kept..].reverse();
            current = Some(path);
        }
        while !open.is_empty() {
            self.close(&mut open, thread, end);
        }
    }

    fn close(&mut self, open: &mut Vec<Open>, thread: ThreadId, to: Time) {
        let Some(Open { path, from }) = open.pop() else { return };
        if self.path(path).application {
            self.of.entry(path).or_default().push(Visit { thread, from, to });
        }
    }

    /// The path of functions of an interval's stack; none where that was taken over from another time,
    /// and says nothing about this one.
    fn at(&self, interval: &Interval) -> Option<PathId> {
        let stack = interval.stack.filter(|_| interval.basis != Basis::Nearest)?;
        self.of_stack.get(stack.index()).copied().flatten()
    }

    fn is_in_runtime(&self, interval: &Interval) -> bool {
        interval.stack.is_some_and(|stack| self.in_runtime.get(stack.index()) == Some(&true))
    }

    /// True where `path` has what the outermost function that it would close calls, in that function's
    /// place: code without a frame of its own lets the walk of the stack miss its caller, and no
    /// call has ended.
    fn misses_caller(&self, open: &[Open], stays: Option<PathId>, path: PathId) -> bool {
        let depth = stays.map_or(0, |stays| self.path(stays).depth) as usize;
        let Some(closed) = open.get(depth) else { return false };
        let next = std::iter::successors(Some(path), |path| self.path(*path).parent);
        let next = next.take_while(|path| Some(*path) != stays).last();
        next.is_some_and(|next| self.calls.contains(&(closed.path, self.path(next).name)))
    }

    /// The longest path that two paths begin with.
    fn common(&self, one: PathId, other: PathId) -> Option<PathId> {
        let (mut one, mut other) = (Some(one), Some(other));
        while one != other {
            let depth = |path: Option<PathId>| path.map_or(0, |path| self.path(path).depth);
            let above = |path: Option<PathId>| path.and_then(|path| self.path(path).parent);
            let (a, b) = (depth(one), depth(other));
            one = if a >= b { above(one) } else { one };
            other = if b >= a { above(other) } else { other };
        }
        one
    }

    /// The outermost function of most of a thread's time.
    fn usual_root(&self, rows: &[Interval]) -> Option<PathId> {
        let mut roots: BTreeMap<PathId, Nanos> = BTreeMap::new();
        for row in rows {
            if let Some(path) = self.at(row) {
                *roots.entry(self.path(path).root).or_default() += row.duration;
            }
        }
        roots.into_iter().max_by_key(|(path, time)| (*time, std::cmp::Reverse(*path))).map(|r| r.0)
    }

    /// The functions that a visit of `path` calls and none of `others` does with their time, the
    /// longest first: the outermost ones, or what they pass nearly all of it on to in the application.
    ///
    /// A function that takes a share of the visit is missing in n looks at the others by chance with
    /// (1 - share)^n: those of which `MUST_BE_SEEN` looks were to be expected are told, so that chance
    /// makes one in twenty.
    pub(crate) fn only_in(
        &self,
        recording: &Recording,
        lives: &Lives,
        path: PathId,
        visit: &Visit,
        others: &[&Visit],
    ) -> Vec<(PathId, Nanos)> {
        let within = |visit: &Visit| {
            let rows = &recording.intervals[lives.rows(visit.thread)];
            let first = rows.partition_point(|row| row.start < visit.from);
            let last = rows.partition_point(|row| row.start < visit.to);
            rows[first..last].iter()
        };
        let below = |row: &Interval| {
            let functions = self.functions(self.at(row)).into_iter();
            functions.skip_while(|function| *function != path).skip(1)
        };
        let mut seen: BTreeSet<PathId> = BTreeSet::new();
        // A stack that was cut or lost is no look.
        let mut looks = 0_u64;
        for row in others.iter().flat_map(|other| within(other)) {
            let functions = self.functions(self.at(row));
            if let Some(at) = functions.iter().position(|function| *function == path) {
                looks += 1;
                seen.extend(&functions[at + 1..]);
            }
        }
        // Of each function's time, and the outermost ones among them.
        let mut times: BTreeMap<PathId, Nanos> = BTreeMap::new();
        let mut outermost: BTreeSet<PathId> = BTreeSet::new();
        for row in within(visit) {
            let unseen = below(row).skip_while(|function| seen.contains(function));
            for (depth, function) in unseen.enumerate() {
                *times.entry(function).or_default() += row.duration;
                if depth == 0 {
                    outermost.insert(function);
                }
            }
        }
        let expected = |time: Nanos| time.share_of(visit.length()) * looks as f64;
        let own = outermost.into_iter().map(|function| (function, times[&function]));
        let own = own.filter(|(_, time)| expected(*time) >= MUST_BE_SEEN);
        let mut own: Vec<_> =
            own.map(|(function, time)| (self.passed_on(&times, function), time)).collect();
        own.sort_by_key(|(function, time)| (std::cmp::Reverse(*time), *function));
        own
    }

    /// The innermost function of the application to which a function passes nearly all of its time
    /// on; itself where there is none.
    fn passed_on(&self, times: &BTreeMap<PathId, Nanos>, function: PathId) -> PathId {
        let all = times[&function];
        let (mut told, mut next) = (function, Some(function));
        while let Some(function) = next {
            if self.path(function).application {
                told = function;
            }
            let callees = times.iter().filter(|(p, _)| self.path(**p).parent == Some(function));
            let most = callees.max_by_key(|(path, time)| (**time, std::cmp::Reverse(**path)));
            next = most.filter(|(_, time)| time.share_of(all) >= NEARLY_ALL).map(|(path, _)| *path);
        }
        told
    }
}

/// Which stacks have a runtime's function that generated code called, with nothing of the program below.
fn stacks_in_runtime(recording: &Recording, chores: &Chores) -> Vec<bool> {
    let mut inside: Vec<bool> = Vec::with_capacity(recording.stacks.len());
    for node in &recording.stacks {
        let is_inside = node.parent.is_some_and(|parent| {
            let called = inside.get(parent.index()) == Some(&true)
                || chores.is_generated(recording.stacks[parent.index()].frame);
            called && (chores.is_runtime(node.frame) || chores.is_kernel(node.frame))
        });
        inside.push(is_inside);
    }
    inside
}

/// A name without the mark that says how V8 compiled the function: the same one goes through several.
fn untiered(name: &str) -> String {
    let Some((module, function)) = name.split_once('!') else { return name.to_owned() };
    let kinds = ["JS:", "LazyCompile:", "Function:", "Eval:", "Script:"];
    let rest = kinds.iter().find_map(|kind| function.strip_prefix(kind));
    rest.map_or_else(
        || name.to_owned(),
        |rest| format!("{module}!JS:{}", rest.trim_start_matches(['~', '*', '^', '+'])),
    )
}
