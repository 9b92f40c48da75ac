//! Rows in shares, one for each CPU, and what was laid out of them put together again.

use culprit_model::Root;

use super::Tables;
use super::groups::Groups;
use crate::calls::index::{NONE, RowKind};
use crate::calls::rows::{Leaf, Sum};

/// In how many shares rows are laid out. The layout is the same whatever this is.
#[derive(Debug, Clone, Copy)]
pub(in crate::calls) struct Sharing {
    /// At most so many, each on a thread of its own.
    pub(in crate::calls) most: usize,
    /// Rows of a share at least.
    pub(in crate::calls) rows: usize,
}

impl Sharing {
    /// What this machine gains from. More CPUs than four gain little: what they do is mostly waiting
    /// for memory, which they share. Of fewer rows neither: a [`Press`](super::Press) sets up its
    /// tables for each share.
    pub(in crate::calls) fn of_machine() -> Self {
        Self { most: rayon::current_num_threads().min(4), rows: 1 << 18 }
    }
}

/// Stands for the node of the last process of the share before.
pub(super) const CARRIED: u32 = NONE - 1;

/// Rows of one table and group that follow each other.
#[derive(Debug)]
pub(super) struct Stretch<'p> {
    pub(super) group: u32,
    /// The number of the first row.
    pub(super) from: usize,
    /// Of each row: its stack, then the draft of its leaf, then its leaf.
    pub(super) places: &'p mut [u32],
}

/// Groups that are laid out one after the other.
#[derive(Debug, Default)]
pub(super) struct Share<'p> {
    /// The name of the process that the share before ends in and this one goes on with.
    pub(super) process: Option<u32>,
    /// Of each table, in the order of groups.
    pub(super) stretches: [Vec<Stretch<'p>>; 3],
}

impl Share<'_> {
    /// The first group among the stretches from these numbers on.
    pub(super) fn group_at(&self, next: [usize; 3]) -> Option<u32> {
        let stretches = self.stretches.iter().zip(next);
        stretches.filter_map(|(all, at)| all.get(at)).map(|stretch| stretch.group).min()
    }
}

/// The rows of all tables in shares of about the same size, in the order of groups.
pub(super) fn shares<'p>(
    groups: &Groups<'_>,
    tables: &Tables<'_>,
    (root, sharing): (Root, Sharing),
    places: &'p mut [Vec<u32>; 3],
) -> Vec<Share<'p>> {
    let mut rows = vec![0; groups.list.len()];
    let mut kinds = RowKind::ALL.into_iter();
    let stretches = places.each_mut().map(|places| {
        let kind = kinds.next().unwrap_or(RowKind::Cost);
        let stretches = stretches(groups, tables, kind, places);
        stretches.iter().for_each(|all| rows[all.group as usize] += all.places.len());
        stretches
    });
    let total: usize = rows.iter().sum();
    let count = match root {
        Root::Threads => (total / sharing.rows).clamp(1, sharing.most),
        // Groups have more than processes in common.
        Root::Activities => 1,
    };
    let mut shares: Vec<Share<'p>> = (0..count).map(|_| Share::default()).collect();
    let mut before = 0;
    let mut last = (0, None);
    let mut share_of = Vec::with_capacity(rows.len());
    for (rows, whose) in rows.iter().zip(&groups.list) {
        let share = (before * count / total.max(1)).min(count - 1);
        let process = whose.map(|whose| whose.process);
        if *rows > 0 {
            if share != last.0 {
                shares[share].process = process.filter(|_| process == last.1);
            }
            last = (share, process);
        }
        share_of.push(share);
        before += rows;
    }
    for (kind, stretches) in stretches.into_iter().enumerate() {
        for stretch in stretches {
            shares[share_of[stretch.group as usize]].stretches[kind].push(stretch);
        }
    }
    // A thread with most of the rows leaves some without any.
    shares.retain(|share| share.group_at([0; 3]).is_some());
    shares
}

/// The rows of one table as stretches, in the order of groups.
fn stretches<'p>(
    groups: &Groups<'_>,
    tables: &Tables<'_>,
    kind: RowKind,
    mut places: &'p mut [u32],
) -> Vec<Stretch<'p>> {
    let mut stretches = Vec::new();
    let mut from = 0;
    while !places.is_empty() {
        let thread = tables.thread(kind, from);
        let group = groups.group(thread, tables.start(kind, from));
        let same = |more: &usize| !groups.by_time() && tables.thread(kind, from + more) == thread;
        let length = 1 + (1..places.len()).take_while(same).count();
        let (own, after) = places.split_at_mut(length);
        stretches.push(Stretch { group, from, places: own });
        (places, from) = (after, from + length);
    }
    stretches.sort_by_key(|stretch| stretch.group);
    stretches
}

/// What was laid out of the shares up to one.
#[derive(Debug, Default)]
pub(super) struct Laid<'p> {
    pub(super) parent: Vec<u32>,
    pub(super) name: Vec<u32>,
    /// Nodes whose frames were guessed, in order.
    pub(super) guessed: Vec<u32>,
    /// Of each table.
    pub(super) leaves: [Vec<Leaf>; 3],
    /// All rows of each leaf, added up.
    pub(super) whole: [Vec<Sum>; 3],
    /// The node of the last process.
    pub(super) process: Option<u32>,
    /// The last share's rows, with their leaves.
    pub(super) stretches: [Vec<Stretch<'p>>; 3],
}

impl<'p> Laid<'p> {
    /// Puts what the next share laid out behind this.
    pub(super) fn append(&mut self, later: Laid<'p>) {
        let nodes = count(self.parent.len());
        let process = self.process.unwrap_or(NONE);
        let number = |node: u32| match node {
            NONE => NONE,
            CARRIED => process,
            own => nodes + own,
        };
        self.parent.extend(later.parent.into_iter().map(number));
        self.name.extend(later.name);
        self.guessed.extend(later.guessed.into_iter().map(number));
        let tables = self.leaves.iter_mut().zip(later.leaves);
        for ((leaves, later), mut stretches) in tables.zip(later.stretches) {
            let first = count(leaves.len());
            leaves.extend(later.into_iter().map(|leaf| Leaf { node: number(leaf.node), ..leaf }));
            let places = stretches.iter_mut().flat_map(|stretch| stretch.places.iter_mut());
            places.for_each(|leaf| *leaf += first);
        }
        for (whole, later) in self.whole.iter_mut().zip(later.whole) {
            whole.extend(later);
        }
        self.process = later.process.map(number).or(self.process);
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(NONE)
}
