//! What views need of the long tables, by column: rows take twice the memory, and a reader need not
//! unpack what no view asks for.

use crate::cause::Cause;
use crate::column::{Cell, Column, ColumnData, Row as _, ShapeError, Table, take};
use crate::ids::{StackId, ThreadId};
use crate::metric::Metric;
use crate::tables::costs::Cost;
use crate::tables::intervals::Interval;
use crate::time::{Nanos, Time};

/// A column in which rows may have no value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OptionalColumn<T> {
    /// One value a row; the type's default where a row has none.
    values: Vec<T>,
    /// False where a row has none; absent when every row has one.
    valid: Option<Vec<bool>>,
}

impl<T: Copy> OptionalColumn<T> {
    /// The value of a row.
    ///
    /// # Panics
    /// Past the last row.
    #[must_use]
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        let exists = self.valid.as_ref().is_none_or(|valid| valid[row]);
        exists.then_some(self.values[row])
    }

    /// The values, the type's default where a row has none, and which rows have one; absent when all
    /// have.
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, Option<Vec<bool>>) {
        (self.values, self.valid)
    }
}

impl<T: Cell + Copy + Default> OptionalColumn<T> {
    fn of(cells: impl ExactSizeIterator<Item = Option<T>>) -> Self {
        let mut valid = Vec::with_capacity(cells.len());
        let values = cells.map(|cell| {
            valid.push(cell.is_some());
            cell.unwrap_or_default()
        });
        let values = values.collect();
        let valid = if valid.iter().all(|exists| *exists) { None } else { Some(valid) };
        Self { values, valid }
    }

    fn take(
        columns: &mut std::vec::IntoIter<ColumnData>,
        length: usize,
    ) -> Result<Self, ShapeError> {
        let Some(ColumnData { values, valid }) = columns.next() else {
            return Err(ShapeError::Length { expected: 1, found: 0 });
        };
        if values.len() != length {
            return Err(ShapeError::Length { expected: length, found: values.len() });
        }
        Ok(Self { values: T::scatter(values.into())?, valid })
    }
}

const INTERVAL_COLUMNS: [&str; 5] = ["thread", "start", "duration", "cause", "stack"];

/// The columns of these names; that one is missing shows when this is compiled.
const fn pick<const N: usize>(table: Table, names: [&str; N]) -> [Column; N] {
    let mut picked = [table.columns[0]; N];
    let mut nth = 0;
    while nth < N {
        let mut at = 0;
        while !equal(table.columns[at].name, names[nth]) {
            at += 1;
        }
        picked[nth] = table.columns[at];
        nth += 1;
    }
    picked
}

const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// What views need of the table `intervals`; each column has one entry a row, in its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalColumns {
    /// Whose time.
    pub thread: Vec<ThreadId>,
    /// From when.
    pub start: Vec<Time>,
    /// How long.
    pub duration: Vec<Nanos>,
    /// Why it passed.
    pub cause: Vec<Cause>,
    /// Where the thread was; none if that was lost.
    pub stack: OptionalColumn<StackId>,
}

impl IntervalColumns {
    /// The table with these columns alone, in the order that [`IntervalColumns::from_columns`] wants.
    pub const TABLE: Table =
        Table { columns: &pick(Interval::TABLE, INTERVAL_COLUMNS), ..Interval::TABLE };

    /// From the columns of [`IntervalColumns::TABLE`].
    ///
    /// # Errors
    /// When a column has another shape than the table declares.
    pub fn from_columns(columns: Vec<ColumnData>) -> Result<Self, ShapeError> {
        let length = columns.first().map_or(0, |column| column.values.len());
        let columns = &mut columns.into_iter();
        Ok(Self {
            thread: take(columns, length)?.collect(),
            start: take(columns, length)?.collect(),
            duration: take(columns, length)?.collect(),
            cause: take(columns, length)?.collect(),
            stack: OptionalColumn::take(columns, length)?,
        })
    }

    /// From rows.
    #[must_use]
    pub fn of(rows: &[Interval]) -> Self {
        Self {
            thread: rows.iter().map(|row| row.thread).collect(),
            start: rows.iter().map(|row| row.start).collect(),
            duration: rows.iter().map(|row| row.duration).collect(),
            cause: rows.iter().map(|row| row.cause).collect(),
            stack: OptionalColumn::of(rows.iter().map(|row| row.stack)),
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.thread.len()
    }

    /// True when there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.thread.is_empty()
    }

    /// True when rows are ordered by thread and follow each other without overlap in each.
    #[must_use]
    pub fn in_order(&self) -> bool {
        (1..self.len()).all(|at| {
            let before = at - 1;
            let end = self.start[before] + self.duration[before];
            self.thread[before] < self.thread[at]
                || (self.thread[before] == self.thread[at] && end <= self.start[at])
        })
    }
}

/// What views need of the table `costs`; each column has one entry a row, in its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CostColumns {
    /// Which thread.
    pub thread: OptionalColumn<ThreadId>,
    /// When, or from when.
    pub time: Vec<Time>,
    /// How long it went on; 0 for what happened at one instant or where the file does not say.
    pub duration: Vec<Nanos>,
    /// At which stack; none if that was lost.
    pub stack: OptionalColumn<StackId>,
    /// What the value counts.
    pub metric: Vec<Metric>,
    /// Why the time passed.
    pub cause: OptionalColumn<Cause>,
    /// How much, in the metric's unit.
    pub value: Vec<u64>,
    /// How many samples of the file it stands for.
    pub count: Vec<u64>,
    /// The variance of an estimate.
    pub variance: OptionalColumn<u64>,
}

impl CostColumns {
    /// The table, whose columns are all wanted, in the order of [`CostColumns::from_columns`].
    pub const TABLE: Table = Cost::TABLE;

    /// From the columns of [`CostColumns::TABLE`].
    ///
    /// # Errors
    /// When a column has another shape than the table declares.
    pub fn from_columns(columns: Vec<ColumnData>) -> Result<Self, ShapeError> {
        let length = columns.first().map_or(0, |column| column.values.len());
        let columns = &mut columns.into_iter();
        Ok(Self {
            thread: OptionalColumn::take(columns, length)?,
            time: take(columns, length)?.collect(),
            duration: take(columns, length)?.collect(),
            stack: OptionalColumn::take(columns, length)?,
            metric: take(columns, length)?.collect(),
            cause: OptionalColumn::take(columns, length)?,
            value: take(columns, length)?.collect(),
            count: take(columns, length)?.collect(),
            variance: OptionalColumn::take(columns, length)?,
        })
    }

    /// From rows.
    #[must_use]
    pub fn of(rows: &[Cost]) -> Self {
        Self {
            thread: OptionalColumn::of(rows.iter().map(|row| row.thread)),
            time: rows.iter().map(|row| row.time).collect(),
            duration: rows.iter().map(|row| row.duration).collect(),
            stack: OptionalColumn::of(rows.iter().map(|row| row.stack)),
            metric: rows.iter().map(|row| row.metric).collect(),
            cause: OptionalColumn::of(rows.iter().map(|row| row.cause)),
            value: rows.iter().map(|row| row.value).collect(),
            count: rows.iter().map(|row| row.count).collect(),
            variance: OptionalColumn::of(rows.iter().map(|row| row.variance)),
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// True when there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    #[test]
    fn columns_by_name_are_those_of_the_rows() {
        let drawing = "stack a cpu.user main;f\napp(1)/t(1) aaU\napp(1)/u(2) aUa";
        let recording = parse(drawing).expect("parses");
        let rows = &recording.intervals;
        let mut all: Vec<Option<ColumnData>> =
            Interval::columns(rows).into_iter().map(Some).collect();
        let of = |wanted: &Column| {
            let named = |column: &Column| column.name == wanted.name;
            let at = Interval::TABLE.columns.iter().position(named);
            all[at.expect("a column")].take().expect("once")
        };
        let columns = IntervalColumns::TABLE.columns.iter().map(of).collect();
        let columns = IntervalColumns::from_columns(columns).expect("the shape");
        assert!(columns.in_order());
        let known = |at| columns.stack.get(at);
        assert!((0..rows.len()).all(|at| known(at) == rows[at].stack));
        assert_eq!(columns.start, IntervalColumns::of(rows).start);
    }
}
