//! Rows as columns of numbers: which leaf of the index, when, how much. The one place that looks at
//! every row, so it is nothing but a pass over three arrays.

use culprit_model::{Cause, Metric, Nanos, ThreadId, Time};

use super::when::{Spread, When};

/// Where rows end: a node of the index and why the time passed there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    /// Node of the index.
    pub(super) node: u32,
    /// Whose; none where process and thread are frames like others.
    pub(super) thread: Option<ThreadId>,
    /// Why the time passed; none for what is no time.
    pub(super) cause: Option<Cause>,
    /// What the rows count.
    pub(super) metric: Metric,
    /// On which activity the thread worked: one of the index's, or none.
    pub(super) activity: u32,
}

/// One row, cut to a time range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) leaf: u32,
    pub(super) start: u64,
    /// 0 for what happened at one instant.
    pub(super) length: u64,
    pub(super) value: u64,
    pub(super) count: u64,
}

/// Rows added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    /// In the rows' unit.
    pub(super) value: u64,
    /// Rows.
    pub(super) count: u64,
    /// When the first begins.
    pub(super) first: Time,
    /// When the last ends.
    pub(super) last: Time,
}

impl Sum {
    /// Adds other rows.
    #[inline]
    pub(super) fn add(&mut self, other: Self) {
        if other.count == 0 {
            return;
        }
        self.first = if self.count == 0 { other.first } else { self.first.min(other.first) };
        self.last = self.last.max(other.last);
        self.value = self.value.saturating_add(other.value);
        self.count = self.count.saturating_add(other.count);
    }
}

/// The rows of one table. Leaves are numbered in the order of first use.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) leaves: Vec<Leaf>,
    /// All rows of each leaf.
    whole: Vec<Sum>,
    leaf: Vec<u32>,
    start: Vec<u64>,
    value: Vec<u64>,
    /// Length and count of each row; empty where a value is the length and the count 1.
    more: Vec<(u64, u64)>,
}

impl Rows {
    /// Makes room for so many rows.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.leaf.reserve_exact(rows);
        self.start.reserve_exact(rows);
        self.value.reserve_exact(rows);
    }

    /// A new leaf.
    pub(super) fn add_leaf(&mut self, leaf: Leaf) -> u32 {
        let id = u32::try_from(self.leaves.len()).unwrap_or(u32::MAX);
        self.leaves.push(leaf);
        self.whole.push(Sum::default());
        id
    }

    /// Adds a stretch of time, whose value is its length.
    pub(super) fn push_time(&mut self, leaf: u32, start: Time, length: Nanos) {
        let (start, length) = (start.0, length.0);
        self.add(Row { leaf, start, length, value: length, count: 1 });
    }

    /// Adds a row of another kind; a table has rows of one kind.
    pub(super) fn push(&mut self, row: Row) {
        self.more.push((row.length, row.count));
        self.add(row);
    }

    fn add(&mut self, row: Row) {
        self.leaf.push(row.leaf);
        self.start.push(row.start);
        self.value.push(row.value);
        self.whole[row.leaf as usize].add(row.sum());
    }

    /// The rows of the kept leaves within a time range, added up by leaf. Time is cut at the
    /// range's edges.
    pub(super) fn sums(&self, (from, to): (Time, Time), keep: &[bool]) -> Vec<Sum> {
        let inside = |sum: &Sum| sum.count == 0 || (sum.first >= from && sum.last <= to);
        if self.whole.iter().zip(keep).all(|(sum, keep)| !keep || inside(sum)) {
            let kept = self.whole.iter().zip(keep);
            return kept.map(|(sum, keep)| if *keep { *sum } else { Sum::default() }).collect();
        }
        let mut sums = vec![Sum::default(); self.leaves.len()];
        self.each((from, to), keep, |_, row| sums[row.leaf as usize].add(row.sum()));
        sums
    }

    /// Calls `found` with number and content of each kept row within a range.
    pub(super) fn each(
        &self,
        (from, to): (Time, Time),
        keep: &[bool],
        mut found: impl FnMut(usize, Row),
    ) {
        let columns = self.leaf.iter().zip(&self.start).zip(&self.value);
        for (at, ((leaf, start), value)) in columns.enumerate() {
            if !keep[*leaf as usize] {
                continue;
            }
            let (length, count) = if self.more.is_empty() { (*value, 1) } else { self.more[at] };
            let row = Row { leaf: *leaf, start: *start, length, value: *value, count };
            if let Some(row) = row.cut(from.0, to.0) {
                found(at, row);
            }
        }
    }

    /// Adds the rows of a time range to the histogram that `slot` gives their leaf, if any, each
    /// over the same `parts`. With `counted`, a row weighs 1 at its start.
    pub(super) fn spread(
        &self,
        (from, to): (Time, Time),
        parts: (Time, Time),
        slot: &[Option<u32>],
        counted: bool,
        whens: &mut [When],
    ) {
        let keep: Vec<bool> = slot.iter().map(Option::is_some).collect();
        let spread = Spread::over(parts.0, parts.1);
        self.each((from, to), &keep, |_, row| {
            let Some(when) = slot[row.leaf as usize].and_then(|at| whens.get_mut(at as usize))
            else {
                return;
            };
            let (length, value) = if counted { (0, 1) } else { (row.length, row.value) };
            spread.add(when, Time(row.start), Nanos(length), value);
        });
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.leaf.len()
    }
}

impl Row {
    /// What a time range, both ends included, leaves of the row: what touches it counts, with no
    /// time. The value is cut in proportion.
    #[inline]
    fn cut(self, from: u64, to: u64) -> Option<Self> {
        let start = self.start.max(from);
        let end = self.start.saturating_add(self.length).min(to);
        if end < start {
            return None;
        }
        let length = end - start;
        if length == self.length {
            return Some(self);
        }
        let part = u128::from(self.value) * u128::from(length) / u128::from(self.length.max(1));
        Some(Self { start, length, value: u64::try_from(part).unwrap_or(u64::MAX), ..self })
    }

    #[inline]
    fn sum(self) -> Sum {
        let last = Time(self.start.saturating_add(self.length));
        Sum { value: self.value, count: self.count, first: Time(self.start), last }
    }
}
