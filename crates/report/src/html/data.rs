//! The page's data as JSON columns: what the scripts in `page/` draw.
//!
//! Only names, stacks and times that the page shows are in it. Per thread the pieces of time are
//! columns without gaps (start, then lengths); exact sums by thread, stack and cause stand beside
//! them, because a long recording's pieces are merged to keep the page openable.
use std::collections::BTreeMap;

use culprit_engine::causes::FutexWaits;
use culprit_engine::wakers::Relevance;
use culprit_model::{
    Cause, Label as _, Nanos, Recording, SelectedRow, Selection, Source, StackId, StepId, ThreadId,
};
use serde::Serialize;

use crate::digest::Digest;
use crate::palette::{cause_color, group_of};

/// The number of pieces above which short ones are merged. At about 12 bytes a piece the page
/// stays below 4 MB a recording, which browsers open at once.
const MOST_PIECES: usize = 300_000;

/// Everything that the scripts read.
#[derive(Debug, Serialize)]
pub(super) struct PageData {
    causes: Vec<CauseEntry>,
    /// The view that is shown first.
    first: usize,
    views: Vec<View>,
}

#[derive(Debug, Serialize)]
struct CauseEntry {
    word: &'static str,
    group: &'static str,
    color: &'static str,
}

/// One recording.
#[derive(Debug, Serialize)]
pub(super) struct View {
    label: String,
    wall_ns: u64,
    /// Pieces shorter than this were merged; 0 when none was.
    merged_below_ns: u64,
    names: Vec<String>,
    stacks: Stacks,
    threads: Vec<Strip>,
    weights: Weights,
    /// None where the table has no times.
    table: Option<TableRows>,
}

/// The rows that the function table is made of: the flame graph shows the same.
#[derive(Debug, Default, Serialize)]
pub(super) struct TableRows {
    metric: String,
    /// What shares are of.
    of: String,
    /// True where each row has its own stretch of time, so that a range can be cut out.
    ranged: bool,
    names: Vec<String>,
    /// Positions in the names, and of callers, which stand before what they call; -1 is no caller.
    name: Vec<u32>,
    parent: Vec<i64>,
    /// What a step is: 0 code, 1 a process, 2 a thread, from 3 on a cause.
    kind: Vec<u8>,
    /// A row's last step; -1 where it has no stack.
    leaf: Vec<i64>,
    start_ns: Vec<u64>,
    ns: Vec<u64>,
}

/// A prefix tree of the stacks in use, parents first; -1 is no parent.
#[derive(Debug, Default, Serialize)]
struct Stacks {
    parent: Vec<i64>,
    name: Vec<u32>,
    /// Those that end in a guessed frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    guessed: Vec<i64>,
}

/// One thread's time.
#[derive(Debug, Serialize)]
struct Strip {
    label: String,
    process: String,
    process_name: String,
    thread: String,
    thread_name: String,
    start_ns: u64,
    ns: Vec<u64>,
    cause: Vec<u8>,
    /// Positions in the stacks; -1 where the stack is unknown or pieces were merged.
    stack: Vec<i64>,
    /// 1 where somebody waited for the piece, 0 where nobody did.
    counts: Vec<u8>,
}

/// One stretch of a thread's time on its way into a strip.
#[derive(Debug, Clone, Copy)]
struct Piece {
    length: Nanos,
    cause: Cause,
    stack: i64,
    counts: bool,
}

/// Exact sums.
#[derive(Debug, Default, Serialize)]
struct Weights {
    thread: Vec<u32>,
    stack: Vec<i64>,
    cause: Vec<u8>,
    ns: Vec<u64>,
}

impl PageData {
    pub(super) fn new(views: Vec<View>, first: usize) -> Self {
        let entry = |cause: &Cause| CauseEntry {
            word: cause.word(),
            group: group_of(*cause),
            color: cause_color(*cause).hex,
        };
        Self { causes: Cause::ALL.iter().map(entry).collect(), first, views }
    }
}

impl View {
    /// The recording's threads in the given order; others are left out.
    pub(super) fn new(label: &str, recording: &Recording, order: &[ThreadId]) -> Self {
        let merge = merge_below(recording);
        let relevance = Relevance::of(recording);
        let mut stacks = StackTable::new(recording);
        let rows = rows_by_thread(recording);
        let mut sums: BTreeMap<(u32, i64, u8), u64> = BTreeMap::new();
        let mut threads = Vec::new();
        let mut waits = FutexWaits::new(recording);
        for (index, thread) in (0u32..).zip(order) {
            let mut strip = Strip::new(recording, *thread);
            for at in rows.get(thread).cloned().unwrap_or_default() {
                let row = &recording.intervals[at];
                let stack = row.stack.map_or(-1, |stack| stacks.position(stack));
                if strip.ns.is_empty() {
                    strip.start_ns = row.start.0;
                }
                let counts = relevance.own(at) + relevance.waited(at) > Nanos::ZERO;
                let cause = waits.cause(row.cause, row.stack);
                strip.push(Piece { length: row.duration, cause, stack, counts }, merge);
                *sums.entry((index, stack, cause.code())).or_default() += row.duration.0;
            }
            threads.push(strip);
        }
        let mut weights = Weights::default();
        for ((thread, stack, cause), ns) in sums {
            weights.thread.push(thread);
            weights.stack.push(stack);
            weights.cause.push(cause);
            weights.ns.push(ns);
        }
        let (names, stacks) = stacks.finish();
        Self {
            label: label.to_owned(),
            wall_ns: recording.meta.wall.0,
            merged_below_ns: merge.0,
            names,
            stacks,
            threads,
            weights,
            table: None,
        }
    }

    /// With the rows of the function table.
    pub(super) fn with_rows(self, table: Option<TableRows>) -> Self {
        Self { table, ..self }
    }
}

/// The first number of a step that is a cause.
const FIRST_CAUSE: u8 = 3;

impl TableRows {
    /// The rows of a digest's functions; none where these are no times.
    pub(super) fn new(digest: &Digest) -> Option<Self> {
        let drawn = digest.metric().is_time() && digest.tops.weighed.is_none();
        drawn.then(|| {
            let (metric, of) = (digest.metric().to_string(), digest.tops.heading.clone());
            Self { metric, of, ..Self::of_rows(&digest.selection()) }
        })
    }

    fn of_rows(selection: &Selection) -> Self {
        let mut table = Self::default();
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        for step in &selection.steps {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            table.name.push(*known.entry(&step.name).or_insert_with(|| {
                table.names.push(step.name.to_string());
                next
            }));
            table.parent.push(position(step.parent));
            table.kind.push(match step.source {
                Source::Process(_) => 1,
                Source::Thread(_) => 2,
                Source::Cause(cause) => FIRST_CAUSE.saturating_add(cause.code()),
                _ => 0,
            });
        }
        let is_stretch = |row: &SelectedRow| row.value == row.duration.0;
        table.ranged = selection.rows.len() <= MOST_PIECES && selection.rows.iter().all(is_stretch);
        if table.ranged {
            for row in &selection.rows {
                table.push(position(row.leaf), row.time.0, row.value);
            }
        } else {
            let mut sums: BTreeMap<i64, u64> = BTreeMap::new();
            for row in &selection.rows {
                let sum = sums.entry(position(row.leaf)).or_default();
                *sum = sum.saturating_add(row.value);
            }
            sums.into_iter().for_each(|(leaf, ns)| table.push(leaf, 0, ns));
        }
        table
    }

    fn push(&mut self, leaf: i64, start: u64, ns: u64) {
        self.leaf.push(leaf);
        self.start_ns.push(start);
        self.ns.push(ns);
    }
}

/// A step as the scripts number it.
fn position(step: Option<StepId>) -> i64 {
    step.map_or(-1, |step| i64::try_from(step.index()).unwrap_or(-1))
}

/// Rows of each thread; a thread's rows follow each other.
fn rows_by_thread(recording: &Recording) -> BTreeMap<ThreadId, std::ops::Range<usize>> {
    let mut rows: BTreeMap<ThreadId, std::ops::Range<usize>> = BTreeMap::new();
    for (i, row) in recording.intervals.iter().enumerate() {
        rows.entry(row.thread).or_insert(i..i).end = i + 1;
    }
    rows
}

/// The length below which pieces are merged so that at most [`MOST_PIECES`] stay apart.
fn merge_below(recording: &Recording) -> Nanos {
    let excess = recording.intervals.len().saturating_sub(MOST_PIECES);
    if excess == 0 {
        return Nanos::ZERO;
    }
    let mut lengths: Vec<u64> = recording.intervals.iter().map(|row| row.duration.0).collect();
    let (_, length, _) = lengths.select_nth_unstable(excess);
    Nanos(*length)
}

impl Strip {
    fn new(recording: &Recording, id: ThreadId) -> Self {
        let thread = recording.thread(id);
        let process = recording.process(thread.process);
        Self {
            label: if thread.name == process.name {
                recording.thread_name(id)
            } else {
                format!("{} / {}", process.name, recording.thread_name(id))
            },
            process: recording.process_name(thread.process),
            process_name: process.name.to_string(),
            thread: recording.thread_name(id),
            thread_name: thread.name.to_string(),
            start_ns: 0,
            ns: Vec::new(),
            cause: Vec::new(),
            stack: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Adds a piece; a short one joins a short one before it, and the longer of the two names both.
    fn push(&mut self, piece: Piece, merge: Nanos) {
        let Piece { length, cause, stack, counts } = piece;
        if let (Some(last), Some(last_cause), Some(last_stack), Some(last_counts)) = (
            self.ns.last_mut(),
            self.cause.last_mut(),
            self.stack.last_mut(),
            self.counts.last_mut(),
        ) {
            let same =
                (*last_cause, *last_stack, *last_counts) == (cause.code(), stack, u8::from(counts));
            if same || (length < merge && Nanos(*last) < merge) {
                if !same && length.0 > *last {
                    *last_cause = cause.code();
                }
                if !same {
                    *last_stack = -1;
                    *last_counts |= u8::from(counts);
                }
                *last += length.0;
                return;
            }
        }
        self.ns.push(length.0);
        self.cause.push(cause.code());
        self.stack.push(stack);
        self.counts.push(u8::from(counts));
    }
}

/// The stacks and names in use, numbered as they come.
struct StackTable<'a> {
    recording: &'a Recording,
    positions: Vec<Option<i64>>,
    names: BTreeMap<String, u32>,
    stacks: Stacks,
}

impl<'a> StackTable<'a> {
    fn new(recording: &'a Recording) -> Self {
        let positions = vec![None; recording.stacks.len()];
        Self { recording, positions, names: BTreeMap::new(), stacks: Stacks::default() }
    }

    /// The position of a stack in the page's table; its callers get theirs first.
    fn position(&mut self, stack: StackId) -> i64 {
        let mut path = Vec::new();
        let mut next = Some(stack);
        let mut parent = -1;
        while let Some(id) = next {
            if let Some(known) = self.positions[id.index()] {
                parent = known;
                break;
            }
            path.push(id);
            next = self.recording.stacks[id.index()].parent;
        }
        for id in path.into_iter().rev() {
            let frame = self.recording.stacks[id.index()].frame;
            let name = self.name(self.recording.frame_name(frame));
            let position = i64::try_from(self.stacks.parent.len()).unwrap_or(i64::MAX);
            self.stacks.parent.push(parent);
            self.stacks.name.push(name);
            if self.recording.frame(frame).guessed.is_some() {
                self.stacks.guessed.push(position);
            }
            self.positions[id.index()] = Some(position);
            parent = position;
        }
        parent
    }

    fn name(&mut self, name: String) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        *self.names.entry(name).or_insert(next)
    }

    fn finish(self) -> (Vec<String>, Stacks) {
        let mut names = vec![String::new(); self.names.len()];
        for (name, index) in self.names {
            names[index as usize] = name;
        }
        (names, self.stacks)
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::{Filter, Metric};

    use super::*;
    use crate::digest::digest_of;
    use crate::filters::run_filter;
    use crate::testing;

    #[test]
    fn lengths_of_a_thread_add_up_and_sums_are_exact() {
        let recording = testing::recording();
        let order: Vec<ThreadId> = (0..recording.threads.len()).map(ThreadId::from_index).collect();
        let view = View::new("x", &recording, &order);
        let pieces: u64 = view.threads.iter().flat_map(|t| &t.ns).sum();
        let rows: u64 = recording.intervals.iter().map(|row| row.duration.0).sum();
        assert_eq!(pieces, rows);
        assert_eq!(view.weights.ns.iter().sum::<u64>(), rows);
        let parents_first = view
            .stacks
            .parent
            .iter()
            .enumerate()
            .all(|(i, p)| usize::try_from(*p).is_ok_and(|p| p < i) || *p == -1);
        assert!(parents_first);
    }

    #[test]
    fn stacks_that_end_in_a_guess_are_listed() {
        let order = [ThreadId(0), ThreadId(1)];
        let view = View::new("x", &testing::with_a_guess(), &order);
        let guessed = |at: usize| view.stacks.guessed.contains(&i64::try_from(at).unwrap());
        let name = |at: usize| view.names[view.stacks.name[at] as usize].as_str();
        assert!(!view.stacks.guessed.is_empty());
        let all = 0..view.stacks.name.len();
        assert!(all.clone().all(|at| guessed(at) == (name(at) == "app!compute")));
        assert!(View::new("x", &testing::recording(), &order).stacks.guessed.is_empty());
    }

    #[test]
    fn the_flame_graph_shows_what_the_table_shows() {
        let digest = digest_of(testing::recording(), &run_filter());
        let table = TableRows::new(&digest).unwrap();
        let (_, whole) = digest.tops.run.as_ref().unwrap();
        assert_eq!((table.metric.as_str(), &table.of), ("run", &digest.tops.heading));
        assert_eq!(table.ns.iter().sum::<u64>(), whole.0);
        assert!(table.ranged);
        let of = |kind: u8| table.kind.iter().filter(|other| **other == kind).count();
        assert_eq!((of(1), of(2)), (1, 2), "{:?}", table.names);
        let callers_first = table.parent.iter().enumerate().all(|(at, parent)| {
            *parent == -1 || usize::try_from(*parent).is_ok_and(|parent| parent < at)
        });
        assert!(callers_first);
        let filter = Filter { metric: Metric::Cpu, ..Filter::default() };
        let cpu = digest_of(testing::recording(), &filter);
        let table = TableRows::new(&cpu).unwrap();
        assert_eq!(table.ns.iter().sum::<u64>(), 70_000_000);
        let filter = Filter { metric: Metric::Waits, ..Filter::default() };
        let counts = digest_of(testing::recording(), &filter);
        assert!(TableRows::new(&counts).is_none());
    }

    #[test]
    fn short_pieces_merge_and_the_longest_names_them() {
        let recording = testing::recording();
        let mut strip = Strip::new(&recording, ThreadId(0));
        for (length, cause) in
            [(3, Cause::CpuUser), (5, Cause::Sleep), (50, Cause::Disk), (2, Cause::Net)]
        {
            let piece = Piece { length: Nanos(length), cause, stack: 0, counts: true };
            strip.push(piece, Nanos(10));
        }
        assert_eq!(strip.ns, [8, 50, 2]);
        assert_eq!(strip.cause, [Cause::Sleep, Cause::Disk, Cause::Net].map(Cause::code));
        assert_eq!(strip.stack, [-1, 0, 0]);
    }
}
