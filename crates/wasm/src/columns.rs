//! Views as columns of numbers.

use culprit_engine::calls::{CallTree, Diff, DiffNode, NameId, NodeId};
use culprit_engine::lanes::Lanes;
use culprit_engine::wakers::CommandPath;
use culprit_model::{Cause, Label as _, Nanos, Recording, Time};
use culprit_report::views::{Function, FunctionPlaces, Kind, functions};

/// The code of no cause.
const NO_CAUSE: u8 = u8::MAX;

/// Functions by falling own value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FunctionColumns {
    /// Value in itself.
    pub own: Vec<f64>,
    /// Value in itself and what it calls.
    pub total: Vec<f64>,
    /// Rows of the recording behind the total.
    pub count: Vec<f64>,
    /// Number of the name.
    pub name: Vec<u32>,
    /// 0 a function, 1 a process, thread or activity, 2 a cause.
    pub kind: Vec<u8>,
    /// Code of the cause of most of the own value.
    pub cause: Vec<u8>,
    /// `app.py:8`, or nothing.
    pub place: Vec<String>,
}

/// A call tree in preorder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeColumns {
    /// Number of the name.
    pub name: Vec<u32>,
    /// Nodes between it and the root.
    pub depth: Vec<u16>,
    /// Value with all nodes below.
    pub value: Vec<f64>,
    /// Value that ended at the node.
    pub own: Vec<f64>,
    /// Code of the cause of most of the value.
    pub cause: Vec<u8>,
    /// The node behind the subtree.
    pub end: Vec<u32>,
}

/// What a command was waiting for over time: bars in order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunColumns {
    /// When the command began, ns of its recording: where the bars' pixels begin.
    pub start: f64,
    /// Left edges, in pixels.
    pub x0: Vec<f32>,
    /// Right edges, in pixels.
    pub x1: Vec<f32>,
    /// Code of the cause.
    pub cause: Vec<u8>,
    /// Place of the thread in `names`.
    pub thread: Vec<u32>,
    /// `NAME (TID)` of the threads that the run waited for.
    pub names: Vec<String>,
}

/// A value for JavaScript, whose numbers are exact up to 2 to the 53: 104 days of ns.
#[expect(clippy::cast_precision_loss, reason = "a page shows no more digits")]
fn value(value: u64) -> f64 {
    value as f64
}

fn code(cause: Option<Cause>) -> u8 {
    cause.map_or(NO_CAUSE, Cause::code)
}

fn name(id: NameId) -> u32 {
    u32::try_from(id.index()).unwrap_or(u32::MAX)
}

impl FunctionColumns {
    /// Of all names of a tree.
    pub(crate) fn of(tree: &CallTree, places: &FunctionPlaces) -> Self {
        let rows = functions(tree);
        let kind = |row: &Function| match row.kind {
            Kind::Function => 0,
            Kind::Thread => 1,
            Kind::Cause => 2,
        };
        let main = |row: &Function| {
            let own =
                row.causes.iter().max_by_key(|(cause, value)| (*value, std::cmp::Reverse(*cause)));
            code(own.map(|(cause, _)| *cause).or_else(|| Cause::from_word(&row.name)))
        };
        Self {
            own: rows.iter().map(|row| value(row.own)).collect(),
            total: rows.iter().map(|row| value(row.total)).collect(),
            count: rows.iter().map(|row| value(row.count)).collect(),
            name: rows.iter().map(|row| name(row.id)).collect(),
            kind: rows.iter().map(kind).collect(),
            cause: rows.iter().map(main).collect(),
            place: rows
                .iter()
                .map(|row| places.get(&row.name).map(|place| place.label()).unwrap_or_default())
                .collect(),
        }
    }
}

/// How long a command lived.
pub(crate) fn length(path: &CommandPath) -> Nanos {
    let ends = path.segments().first().zip(path.segments().last());
    ends.map_or(Nanos::ZERO, |(first, last)| last.to.since(first.from))
}

impl RunColumns {
    /// Of a recording's command, from its start on for so long in so many pixels.
    pub(crate) fn of(
        recording: &Recording,
        path: &CommandPath,
        longest: Nanos,
        pixels: u32,
    ) -> Self {
        let start = path.segments().first().map_or(Time(0), |first| first.from);
        let bars =
            Lanes::of(recording).path_bars(path.segments(), (start, start + longest), pixels);
        let mut threads = bars.thread.clone();
        threads.sort_unstable();
        threads.dedup();
        let place = |thread| u32::try_from(threads.partition_point(|one| *one < thread));
        Self {
            start: value(start.0),
            x0: bars.left,
            x1: bars.right,
            cause: bars.cause,
            thread: bars.thread.iter().map(|id| place(*id).unwrap_or(u32::MAX)).collect(),
            names: threads.iter().map(|thread| recording.thread_name(*thread)).collect(),
        }
    }
}

impl TreeColumns {
    /// Of all nodes of a tree, those of one caller by falling value.
    pub(crate) fn of(tree: &CallTree) -> Self {
        let causes = tree.main_causes();
        let mut own = vec![0; tree.nodes().len()];
        for (node, _, value) in tree.ended_below(NodeId::ROOT) {
            own[node.index()] += value;
        }
        let mut columns = Self::default();
        for (at, id) in (0_u32..).zip(tree.ordered()) {
            let node = tree.node(id);
            columns.name.push(name(node.name));
            columns.depth.push(u16::try_from(node.depth).unwrap_or(u16::MAX));
            columns.value.push(value(node.total));
            columns.own.push(value(own[id.index()]));
            columns.cause.push(code(causes[id.index()]));
            columns.end.push(at + node.subtree());
        }
        columns
    }
}

/// Two call trees as one, in preorder, the larger side first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiffColumns {
    /// Number of the name.
    pub name: Vec<u32>,
    /// Nodes between it and the root.
    pub depth: Vec<u16>,
    /// How wide it is in a picture of both sides.
    pub width: Vec<f64>,
    /// Value of the first side, with all nodes below.
    pub before: Vec<f64>,
    /// Value of the second side.
    pub after: Vec<f64>,
    /// How it changed: `change_step`.
    pub step: Vec<u8>,
    /// The node behind the subtree.
    pub end: Vec<u32>,
}

/// The steps of a change to one side: 0 is gone, 1 to 3 are less, 4 is about the same, 5 to 7 are more, 8 is new.
const SAME_STEP: f64 = 4.0;

/// Changes below this share of the larger side are none: two runs of the same program differ by as much.
const SAME: f64 = culprit_findings::SAME_BAND;

/// How much of the larger side a node's change is, in steps of a third.
fn change_step(diff: &Diff, node: &DiffNode) -> u8 {
    if node.after.count == 0 {
        return 0;
    }
    if node.before.count == 0 {
        return 8;
    }
    let larger = diff.before(node.before.total).max(diff.after(node.after.total));
    let part = if larger > 0.0 { diff.net(node) / larger } else { 0.0 };
    let steps = if part.abs() <= SAME { 0.0 } else { (part.abs() * 3.0).ceil().min(3.0) };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 1 and 7"
    )]
    let step = (SAME_STEP + steps.copysign(part)) as u8;
    step
}

impl DiffColumns {
    /// Of all nodes of a difference.
    pub(crate) fn of(diff: &Diff) -> Self {
        let mut columns = Self { width: diff.widths(), ..Self::default() };
        for (at, node) in (0_u32..).zip(diff.nodes()) {
            columns.name.push(name(node.name));
            columns.depth.push(u16::try_from(node.depth).unwrap_or(u16::MAX));
            columns.before.push(diff.before(node.before.total));
            columns.after.push(diff.after(node.after.total));
            columns.step.push(change_step(diff, node));
            columns.end.push(at + node.size);
        }
        columns
    }
}
