//! Rows as columns of numbers: which leaf of the index, when, how much. The one place that looks at
//! every row, so it is nothing but passes over a few arrays.

use std::ops::Range;

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
    #[inline]
    fn join_row(&mut self, row: Row) {
        if row.count > 0 {
            self.join(row.start, row.end(), row.value, row.count);
        }
    }

    /// No rows, for [`Sum::join`].
    const NOTHING: Self = Self { value: 0, count: 0, first: Time(u64::MAX), last: Time(0) };

    /// Adds one row to a sum that began as [`Sum::NOTHING`]: without a branch that depends on what
    /// came before, which a processor could not foresee.
    #[inline]
    fn join(&mut self, start: u64, end: u64, value: u64, count: u64) {
        self.first.0 = self.first.0.min(start);
        self.last.0 = self.last.0.max(end);
        self.value = self.value.saturating_add(value);
        self.count = self.count.saturating_add(count);
    }

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

/// Rows of a table added up by leaf.
#[derive(Debug)]
pub(super) struct Sums<'w> {
    weights: &'w Weights,
    sums: Vec<Sum>,
}

impl Sums<'_> {
    /// Adds the rows from a number on, which are of these leaves.
    pub(super) fn add(&mut self, from: usize, leaves: &[u32]) {
        let weights = self.weights;
        let rows = from..from + leaves.len();
        if weights.length.is_empty() && weights.count.is_empty() {
            let columns = weights.start[rows.clone()].iter().zip(&weights.value[rows]);
            for (leaf, (start, value)) in leaves.iter().zip(columns) {
                self.sums[*leaf as usize].join(*start, start.saturating_add(*value), *value, 1);
            }
        } else {
            for (at, leaf) in rows.zip(leaves) {
                self.sums[*leaf as usize].join_row(weights.row(at, *leaf));
            }
        }
    }

    /// The sum of each leaf.
    pub(super) fn settled(mut self) -> Vec<Sum> {
        // Sums of nothing get their usual form.
        for sum in self.sums.iter_mut().filter(|sum| sum.count == 0) {
            *sum = Sum::default();
        }
        self.sums
    }
}

/// When rows are and how much they weigh: one entry a row in each column.
#[derive(Debug, Clone, Default)]
pub(super) struct Weights {
    pub(super) start: Vec<u64>,
    pub(super) value: Vec<u64>,
    /// Empty where each row's value is its length.
    pub(super) length: Vec<u64>,
    /// Empty where each row counts once.
    pub(super) count: Vec<u64>,
}

impl Weights {
    /// Leaves out columns that say nothing.
    pub(super) fn slim(mut self) -> Self {
        if self.length == self.value {
            self.length = Vec::new();
        }
        if self.count.iter().all(|count| *count == 1) {
            self.count = Vec::new();
        }
        self
    }

    /// Sums of nothing for so many leaves.
    pub(super) fn sums(&self, leaves: usize) -> Sums<'_> {
        Sums { weights: self, sums: vec![Sum::NOTHING; leaves] }
    }

    #[inline]
    fn row(&self, at: usize, leaf: u32) -> Row {
        let value = self.value[at];
        let length = if self.length.is_empty() { value } else { self.length[at] };
        let count = if self.count.is_empty() { 1 } else { self.count[at] };
        Row { leaf, start: self.start[at], length, value, count }
    }
}

/// Rows that follow each other by start.
#[derive(Debug, Clone)]
struct Run {
    rows: Range<usize>,
    /// True when they follow each other by end too.
    by_end: bool,
}

/// The rows of one table.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// In the order of their nodes.
    pub(super) leaves: Vec<Leaf>,
    /// All rows of each leaf.
    whole: Vec<Sum>,
    leaf: Vec<u32>,
    weights: Weights,
    runs: Vec<Run>,
}

impl Rows {
    /// The rows of a table: its leaves, their rows added up, and the leaf of each row.
    pub(super) fn of(leaves: Vec<Leaf>, whole: Vec<Sum>, leaf: Vec<u32>, weights: Weights) -> Self {
        let runs = runs(&weights);
        Self { leaves, whole, leaf, weights, runs }
    }

    /// All rows of a leaf.
    #[inline]
    pub(super) fn whole(&self, leaf: usize) -> Sum {
        self.whole[leaf]
    }

    /// The rows of the kept leaves within a time range, added up by leaf; none where these are all
    /// of their rows. Time is cut at the range's edges.
    pub(super) fn cut(&self, (from, to): (Time, Time), keep: &[bool]) -> Option<Vec<Sum>> {
        let inside = |sum: &Sum| sum.count == 0 || (sum.first >= from && sum.last <= to);
        if self.whole.iter().zip(keep).all(|(sum, keep)| !keep || inside(sum)) {
            return None;
        }
        let mut sums = self.weights.sums(self.leaves.len());
        self.each((from, to), keep, |_, row| sums.sums[row.leaf as usize].join_row(row));
        Some(sums.settled())
    }

    /// Calls `found` with number and content of each kept row within a range.
    pub(super) fn each(
        &self,
        (from, to): (Time, Time),
        keep: &[bool],
        mut found: impl FnMut(usize, Row),
    ) {
        for run in &self.runs {
            let rows = self.within(run, from.0, to.0);
            for (at, leaf) in rows.clone().zip(&self.leaf[rows]) {
                if !keep[*leaf as usize] {
                    continue;
                }
                if let Some(row) = self.weights.row(at, *leaf).cut(from.0, to.0) {
                    found(at, row);
                }
            }
        }
    }

    /// The rows of a run among which those are that touch a range.
    fn within(&self, run: &Run, from: u64, to: u64) -> Range<usize> {
        let rows = run.rows.clone();
        let starts = &self.weights.start[rows.clone()];
        let end = rows.start + starts.partition_point(|start| *start <= to);
        let begin = if run.by_end {
            let over = |at: &usize| self.weights.row(*at, 0).end() < from;
            first_not(rows.start..end, over)
        } else {
            rows.start
        };
        begin..end
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

/// Where the order by start breaks.
fn runs(weights: &Weights) -> Vec<Run> {
    let rows = weights.start.len();
    let mut runs = Vec::new();
    let mut begin = 0;
    let mut by_end = true;
    let mut last = (0, 0);
    for at in 0..rows {
        let (start, end) = (weights.start[at], weights.row(at, 0).end());
        if start < last.0 {
            runs.push(Run { rows: begin..at, by_end });
            (begin, by_end, last) = (at, true, (0, 0));
        }
        by_end &= last.1 <= end;
        last = (start, end);
    }
    if begin < rows {
        runs.push(Run { rows: begin..rows, by_end });
    }
    runs
}

/// The first number for which `before` does not hold; those for which it does come first.
fn first_not(range: Range<usize>, before: impl Fn(&usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(&middle) { low = middle + 1 } else { high = middle }
    }
    low
}

impl Row {
    #[inline]
    fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }

    /// What a time range, both ends included, leaves of the row: what touches it counts, with no
    /// time. The value is cut in proportion.
    #[inline]
    fn cut(self, from: u64, to: u64) -> Option<Self> {
        let start = self.start.max(from);
        let end = self.end().min(to);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_finds_the_rows_that_a_pass_over_all_of_them_finds() {
        // Two threads that tile, then rows that overlap and end in another order than they begin.
        let start = vec![0, 5, 9, 2, 4, 4, 1, 2, 3];
        let length = vec![5, 4, 3, 2, 0, 9, 9, 1, 2];
        let leaves = (0..9).map(|node| Leaf {
            node,
            thread: None,
            cause: None,
            metric: Metric::Wall,
            activity: u32::MAX,
        });
        let weights =
            Weights { start: start.clone(), value: length.clone(), ..Weights::default() }.slim();
        let mut whole = weights.sums(9);
        whole.add(0, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let whole = whole.settled();
        let rows = Rows::of(leaves.collect(), whole, (0..9).collect(), weights);
        assert_eq!(rows.runs.len(), 3);
        for from in 0..14 {
            for to in from..14 {
                let mut found = Vec::new();
                rows.each((Time(from), Time(to)), &[true; 9], |at, _| found.push(at));
                let all = (0..9).filter(|at| start[*at] <= to && start[*at] + length[*at] >= from);
                assert_eq!(found, all.collect::<Vec<_>>(), "{from} to {to}");
            }
        }
    }
}
