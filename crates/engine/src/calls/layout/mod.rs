//! From rows to the nodes and leaves of an index.
//!
//! ```text
//! trie of stacks (see `trie`)     for each thread: the part of it that its rows touch,
//!   0 main                        below the thread, with causes as leaves
//!   1   f                           Thread a: main < f < cpu.user
//!   2   g                           Thread b: main < g < cpu.user, main < g < blocked.lock
//! ```
//!
//! Threads, and what views tell apart above them, are groups. They are laid out one after the other,
//! in the trie's order, which is preorder: nothing is looked up by name, and nothing is sorted but
//! the parts that groups touch. Their rows are passed over twice: to find the draft of each row's
//! leaf, and, once drafts have become leaves, to add rows up. Each CPU does this for a share of the
//! groups, and the shares' nodes and leaves are then numbered one behind the other.

mod groups;
mod press;
mod shares;

use culprit_model::{
    Cause, CostColumns, Fault, IntervalColumns, Label as _, OptionalColumn, Recording, Root,
    StackId, ThreadId, Time,
};
use rayon::prelude::*;

use self::groups::{Groups, Tops, Works};
use self::press::{Press, Tag};
pub(super) use self::shares::Sharing;
use self::shares::{Laid, Share, shares};
use super::activity::ActivityPaths;
use super::index::{NONE, RawName, RowKind, STACK_LOST};
use super::rows::{Rows, Weights};
use super::trie::{RawNames, Trie};
use crate::activities::Owners;
use crate::causes::FutexWaits;

/// Nodes and rows of an index.
pub(super) struct Layout {
    pub(super) names: Vec<RawName>,
    /// As in the index.
    pub(super) parent: Vec<u32>,
    pub(super) name: Vec<u32>,
    pub(super) guessed: Vec<u32>,
    /// Intervals, faults and costs.
    pub(super) rows: [Rows; 3],
}

impl Layout {
    /// The layout of a recording's threads and stacks under these rows.
    pub(super) fn of(
        recording: &Recording,
        mut intervals: IntervalColumns,
        mut costs: CostColumns,
        (root, paths): (Root, &ActivityPaths),
        sharing: Sharing,
    ) -> Self {
        let mut names = RawNames::default();
        let works = Works { owners: Owners::of(recording), paths };
        let groups = Groups::of(recording, root, works, &mut names);
        let trie = Trie::of(recording, &mut names);
        let tops = Tops::of(root, paths, &mut names);
        let lost = names.text(STACK_LOST, false);
        let causes = Cause::ALL.iter().map(|cause| names.text(cause.word(), false)).collect();
        let faults = &recording.faults;
        FutexWaits::new(recording).show(&mut intervals);
        let mut places = [
            stacks(std::mem::take(&mut intervals.stack)),
            faults.iter().map(|row| row.stack.map_or(NONE, |stack| stack.0)).collect(),
            stacks(std::mem::take(&mut costs.stack)),
        ];
        let weights =
            [time_weights(&mut intervals), fault_weights(faults), cost_weights(&mut costs)];
        let tables = Tables { weights, intervals, faults, costs };
        let shared = Shared { trie, groups, tops, tables, works, lost, causes };
        let Laid { parent, name, guessed, leaves, whole, .. } = shared.lay(sharing, &mut places);
        let [time, fault, cost] = shared.tables.weights;
        let [time_leaves, fault_leaves, cost_leaves] = leaves;
        let [time_whole, fault_whole, cost_whole] = whole;
        let [time_leaf, fault_leaf, cost_leaf] = places;
        let rows = [
            Rows::of(time_leaves, time_whole, time_leaf, time),
            Rows::of(fault_leaves, fault_whole, fault_leaf, fault),
            Rows::of(cost_leaves, cost_whole, cost_leaf, cost),
        ];
        Self { names: names.list, parent, name, guessed, rows }
    }
}

/// The stack of each row, [`NONE`] where it has none: in place, since there are millions of rows.
fn stacks(column: OptionalColumn<StackId>) -> Vec<u32> {
    let (stacks, known) = column.into_parts();
    let mut stacks: Vec<u32> = stacks.into_iter().map(|stack| stack.0).collect();
    if let Some(known) = known {
        let unknown = stacks.iter_mut().zip(known).filter(|(_, known)| !known);
        unknown.for_each(|(stack, _)| *stack = NONE);
    }
    stacks
}

fn time_weights(columns: &mut IntervalColumns) -> Weights {
    Weights {
        start: std::mem::take(&mut columns.start).into_iter().map(|time| time.0).collect(),
        value: std::mem::take(&mut columns.duration).into_iter().map(|length| length.0).collect(),
        ..Weights::default()
    }
}

fn fault_weights(faults: &[Fault]) -> Weights {
    Weights {
        start: faults.iter().map(|row| row.time.0).collect(),
        value: faults.iter().map(|row| row.count).collect(),
        length: vec![0; faults.len()],
        count: Vec::new(),
    }
}

fn cost_weights(columns: &mut CostColumns) -> Weights {
    let weights = Weights {
        start: std::mem::take(&mut columns.time).into_iter().map(|time| time.0).collect(),
        value: std::mem::take(&mut columns.value),
        length: std::mem::take(&mut columns.duration).into_iter().map(|length| length.0).collect(),
        count: std::mem::take(&mut columns.count),
    };
    weights.slim()
}

/// The long tables, without their stacks: these make way for leaves.
struct Tables<'r> {
    /// Of each [`RowKind`].
    weights: [Weights; 3],
    intervals: IntervalColumns,
    faults: &'r [Fault],
    costs: CostColumns,
}

impl Tables<'_> {
    /// Whose a row is.
    #[inline]
    fn thread(&self, kind: RowKind, at: usize) -> Option<ThreadId> {
        match kind {
            RowKind::Interval => Some(self.intervals.thread[at]),
            RowKind::Fault => Some(self.faults[at].thread),
            RowKind::Cost => self.costs.thread.get(at),
        }
    }

    /// When a row is, or begins.
    #[inline]
    fn start(&self, kind: RowKind, at: usize) -> Time {
        Time(self.weights[kind as usize].start[at])
    }

    /// What tells its leaf from others at its stack, but for the activity.
    #[inline]
    fn tag(&self, kind: RowKind, at: usize) -> Tag {
        match kind {
            RowKind::Interval => Tag::interval(self.intervals.cause[at]),
            RowKind::Fault => Tag::FAULT,
            RowKind::Cost => Tag::cost(self.costs.metric[at], self.costs.cause.get(at)),
        }
    }
}

/// What all shares of the work look at.
struct Shared<'r> {
    trie: Trie,
    groups: Groups<'r>,
    tops: Tops<'r>,
    tables: Tables<'r>,
    works: Works<'r>,
    /// The name of lost stacks, and of each cause.
    lost: u32,
    causes: Vec<u32>,
}

impl Shared<'_> {
    /// Lays out all groups. `places` has the stacks of each table's rows and is left with their leaves.
    fn lay(&self, sharing: Sharing, places: &mut [Vec<u32>; 3]) -> Laid<'_> {
        let how = (self.tops.root, sharing);
        let shares = shares(&self.groups, &self.tables, how, places);
        let laid: Vec<Laid<'_>> =
            shares.into_par_iter().map(|share| self.lay_share(share)).collect();
        let mut all = Laid::default();
        laid.into_iter().for_each(|laid| all.append(laid));
        Laid { stretches: Default::default(), ..all }
    }

    fn lay_share<'p>(&self, mut share: Share<'p>) -> Laid<'p> {
        let mut press = Press::new(self, share.process);
        let mut next = [0; 3];
        while let Some(group) = share.group_at(next) {
            let whose = self.groups.list[group as usize];
            press.begin(group, whose.is_some());
            for kind in RowKind::ALL {
                let stretches = share.stretches[kind as usize].iter_mut();
                for stretch in stretches.skip(next[kind as usize]) {
                    if stretch.group != group {
                        break;
                    }
                    next[kind as usize] += 1;
                    self.draft(&mut press, kind, (stretch.from, stretch.places));
                }
            }
            press.lay(whose);
        }
        self.add_up(press, share)
    }

    /// Finds the draft of the leaf of each row of a stretch.
    #[inline]
    fn draft(&self, press: &mut Press<'_>, kind: RowKind, (from, places): (usize, &mut [u32])) {
        for (at, place) in (from..).zip(places) {
            let mut tag = self.tables.tag(kind, at);
            if self.works.any() {
                let (thread, start) = (self.tables.thread(kind, at), self.tables.start(kind, at));
                tag.activity = self.works.at(thread, start);
            }
            *place = press.draft(*place, tag);
        }
    }

    /// Turns drafts into leaves and adds their rows up.
    fn add_up<'p>(&self, press: Press<'_>, mut share: Share<'p>) -> Laid<'p> {
        let (mut laid, of_draft) = press.done();
        for kind in RowKind::ALL.map(|kind| kind as usize) {
            let weights = &self.tables.weights[kind];
            let mut sums = weights.sums(laid.leaves[kind].len());
            for stretch in &mut share.stretches[kind] {
                stretch.places.iter_mut().for_each(|place| *place = of_draft[*place as usize]);
                sums.add(stretch.from, stretch.places);
            }
            laid.whole[kind] = sums.settled();
        }
        Laid { stretches: share.stretches, ..laid }
    }
}
