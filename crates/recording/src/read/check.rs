//! Makes columns keep the promises of their table, and counts what had to go for that.
//!
//! A cell is *bad* when it names a row that is not there, or a word that nobody knows. In a column
//! that may be empty it becomes empty. In one that may not, its row goes; and in a table whose rows
//! others point to by position, all rows after it go too, because closing the gap would make every
//! later handle name another row.

use culprit_model::{Column, ColumnData, Interval, Table, Time, Values};

/// What [`repair`] had to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repairs {
    /// Cells that were made empty.
    pub(crate) cleared: u64,
    /// Rows that were left out.
    pub(crate) dropped: u64,
    /// True when rows had to be put in the order that the table states.
    pub(crate) sorted: bool,
}

impl Repairs {
    /// What was done, in words; none when nothing was.
    pub(crate) fn describe(&self) -> Option<String> {
        let mut done = Vec::new();
        if self.cleared > 0 {
            done.push(format!("{} references to missing rows were cleared", self.cleared));
        }
        if self.dropped > 0 {
            done.push(format!("{} rows were skipped", self.dropped));
        }
        if self.sorted {
            done.push("rows were in the wrong order".to_owned());
        }
        (!done.is_empty()).then(|| done.join(", "))
    }
}

/// How many rows a table that was read has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// The table.
    pub(crate) table: &'static str,
    /// Its rows.
    pub(crate) rows: usize,
    /// False when the file does not have it at all: a recorder that was killed may have kept the
    /// rows in a scratch table of its own until then.
    pub(crate) present: bool,
}

/// Whether other rows point to this table's rows by position; none for a table that is not one of
/// a recording's.
pub(crate) fn is_pointed_to(table: &str) -> Option<bool> {
    let tables = culprit_model::TABLES;
    tables.iter().find(|known| known.name == table)?;
    Some(tables.iter().flat_map(|t| t.columns).any(|column| target(column) == Some(table)))
}

/// The table that a column's values are rows of.
pub(crate) fn target(column: &Column) -> Option<&'static str> {
    column.unit.strip_prefix("row of ")
}

/// Clears bad cells, drops rows that cannot do without them, and restores the order that the table
/// states.
pub(crate) fn repair(
    table: &Table,
    columns: &mut [ColumnData],
    counts: &[Count],
    pointed_to: bool,
) -> Repairs {
    let mut repairs = Repairs::default();
    for (column, data) in table.columns.iter().zip(columns.iter_mut()) {
        if let Some(target) = target(column) {
            let own = target == table.name;
            let count = counts.iter().find(|count| count.table == target);
            // A table that is not one of a recording's cannot be checked here.
            let limit = count.map_or(usize::MAX, |count| count.rows);
            let cleared = clear_handles(data, |row| if own { row } else { limit });
            let expected = own || count.is_none_or(|count| count.present);
            repairs.cleared += if column.nullable && expected { cleared } else { 0 };
        }
    }
    let rows = columns.first().map_or(0, |column| column.values.len());
    if let Some(keep) = rows_to_keep(table, columns, rows, pointed_to) {
        repairs.dropped = (rows - keep.len()) as u64;
        columns.iter_mut().for_each(|column| select(column, &keep));
    }
    if !pointed_to && let Some(order) = stated_order(table, columns) {
        repairs.sorted = true;
        columns.iter_mut().for_each(|column| select(column, &order));
    }
    repairs
}

/// Marks handles as missing that are not below the limit of their row. How many.
fn clear_handles(data: &mut ColumnData, limit: impl Fn(usize) -> usize) -> u64 {
    let ColumnData { values: Values::U32(values), valid } = data else { return 0 };
    let mut cleared = 0;
    for row in 0..values.len() {
        let exists = valid.as_ref().is_none_or(|valid| valid[row]);
        if exists && values[row] as usize >= limit(row) {
            valid.get_or_insert_with(|| vec![true; values.len()])[row] = false;
            values[row] = 0;
            cleared += 1;
        }
    }
    cleared
}

/// The rows that have a value wherever their table requires one; none when that is all of them.
fn rows_to_keep(
    table: &Table,
    columns: &mut [ColumnData],
    rows: usize,
    pointed_to: bool,
) -> Option<Vec<usize>> {
    let mut keep: Option<Vec<bool>> = None;
    for (column, data) in table.columns.iter().zip(columns) {
        if !column.nullable
            && let Some(valid) = data.valid.take()
        {
            let keep = keep.get_or_insert_with(|| vec![true; rows]);
            keep.iter_mut().zip(valid).for_each(|(keep, ok)| *keep &= ok);
        }
    }
    let keep = keep?;
    let end = match keep.iter().position(|ok| !ok)? {
        first if pointed_to => first,
        _ => rows,
    };
    Some((0..end).filter(|row| keep[*row]).collect())
}

/// The order of rows by time, or by thread and time, where their table begins with these columns
/// and they are not in it.
fn stated_order(table: &Table, columns: &[ColumnData]) -> Option<Vec<usize>> {
    let timed = |at: usize| {
        let declared = table.columns.get(at)?;
        let data = columns.get(at)?;
        match &data.values {
            Values::U64(times) if declared.unit == <Time as culprit_model::Cell>::UNIT => {
                Some(times)
            }
            _ => None,
        }
    };
    if let Some(times) = timed(0) {
        return order_by(times.len(), |row| times[row]);
    }
    let (declared, data) = (table.columns.first()?, columns.first()?);
    let (Values::U32(threads), Some("threads")) = (&data.values, target(declared)) else {
        return None;
    };
    let times = timed(1)?;
    match &data.valid {
        None => order_by(times.len(), |row| (threads[row], times[row])),
        Some(valid) => order_by(times.len(), |row| (valid[row], threads[row], times[row])),
    }
}

/// The order of so many rows by a key; none when they are in it.
fn order_by<K: Ord>(rows: usize, key: impl Fn(usize) -> K) -> Option<Vec<usize>> {
    if (0..rows).is_sorted_by_key(&key) {
        return None;
    }
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|row| key(*row));
    Some(order)
}

/// Keeps these rows, in this order.
fn select(column: &mut ColumnData, rows: &[usize]) {
    fn pick<T: Clone>(values: &mut Vec<T>, rows: &[usize]) {
        *values = rows.iter().map(|row| values[*row].clone()).collect();
    }
    match &mut column.values {
        Values::Bool(values) => pick(values, rows),
        Values::U32(values) => pick(values, rows),
        Values::U64(values) => pick(values, rows),
        Values::I64(values) => pick(values, rows),
        Values::Text(values) => pick(values, rows),
        Values::Label { codes, .. } => pick(codes, rows),
    }
    if let Some(valid) = &mut column.valid {
        pick(valid, rows);
    }
}

/// Drops intervals, which are in their order, that begin before the one before them on the same
/// thread has ended.
pub(crate) fn repair_intervals(intervals: &mut Vec<Interval>) -> Repairs {
    let before = intervals.len();
    let mut last = None;
    intervals.retain(|interval| {
        let apart =
            last.is_none_or(|(thread, end)| thread != interval.thread || end <= interval.start);
        if apart {
            last = Some((interval.thread, interval.start + interval.duration));
        }
        apart
    });
    Repairs { dropped: (before - intervals.len()) as u64, ..Repairs::default() }
}
