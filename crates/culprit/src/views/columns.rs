//! The columns that `top` can show.

use clap::ValueEnum;
use culprit_engine::calls::{CallTree, NameId, When};

use super::{Function, value};
use crate::output::{Align, Table, clean, number, percent};

/// A column of numbers of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// Value of the function itself.
    Own,
    /// The same as a share of the total.
    OwnShare,
    /// Value of stacks that end at this frame.
    Exc,
    /// The same as a share of the total.
    ExcShare,
    /// Rows that end at this frame.
    ExcCount,
    /// Value of the frame and its callees.
    Inc,
    /// The same as a share of the total.
    IncShare,
    /// Rows of the frame and its callees.
    Count,
    /// Inclusive value per row.
    Average,
    /// Part of the exclusive value that folding added.
    Fold,
    /// Rows that folding added.
    FoldCount,
    /// The inclusive value over time: one character per 1/32 of the time range.
    When,
    /// Start of the first row.
    First,
    /// End of the last row.
    Last,
    /// The cause with the largest own value.
    Mostly,
}

impl Column {
    fn heading(self) -> (&'static str, Align) {
        match self {
            Self::Own => ("own", Align::Right),
            Self::OwnShare => ("own %", Align::Right),
            Self::Exc => ("exc", Align::Right),
            Self::ExcShare => ("exc %", Align::Right),
            Self::ExcCount => ("exc count", Align::Right),
            Self::Inc => ("inc", Align::Right),
            Self::IncShare => ("inc %", Align::Right),
            Self::Count => ("count", Align::Right),
            Self::Average => ("average", Align::Right),
            Self::Fold => ("fold", Align::Right),
            Self::FoldCount => ("fold count", Align::Right),
            // Cut to the width it would say nothing.
            Self::When => ("when", Align::Right),
            Self::First => ("first", Align::Right),
            Self::Last => ("last", Align::Right),
            Self::Mostly => ("main cause", Align::Left),
        }
    }

    fn cell(self, tree: &CallTree, row: &Function, when: &When, full: u64) -> String {
        let metric = tree.metric();
        let time = |time: culprit_model::Time| culprit_model::Nanos(time.0).to_string();
        match self {
            Self::Own => value(metric, row.own),
            Self::OwnShare => percent(row.own_share),
            Self::Exc => value(metric, row.exc),
            Self::ExcShare => percent(row.exc_share),
            Self::ExcCount => row.exc_count.to_string(),
            Self::Inc => value(metric, row.total),
            Self::IncShare => percent(row.total_share),
            Self::Count => row.count.to_string(),
            Self::Average if metric.is_time() => value(metric, row.total / row.count.max(1)),
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            Self::Average => number(row.total as f64 / row.count.max(1) as f64),
            Self::Fold => value(metric, row.fold),
            Self::FoldCount => row.fold_count.to_string(),
            Self::When => when.text(full),
            Self::First => time(row.first),
            Self::Last => time(row.last),
            Self::Mostly => {
                let mostly = row.causes.iter().max_by_key(|(_, value)| *value);
                mostly.map_or_else(String::new, |(cause, _)| cause.to_string())
            }
        }
    }
}

/// Rows with the wanted columns, the name last.
pub(super) fn table(tree: &CallTree, rows: &[Function], columns: &[Column]) -> Table {
    let mut headings: Vec<_> = columns.iter().map(|column| column.heading()).collect();
    headings.push(("name", Align::Left));
    let mut table = Table::new(&headings);
    let names: Vec<NameId> = rows.iter().map(|row| row.id).collect();
    let timed = columns.contains(&Column::When);
    let (whens, full) = if timed {
        (tree.whens_named(&names), tree.full())
    } else {
        (vec![When::default(); names.len()], 1)
    };
    for (row, when) in rows.iter().zip(&whens) {
        let cells = columns.iter().map(|column| column.cell(tree, row, when, full));
        table.row(cells.chain([clean(&row.name).into_owned()]));
    }
    table
}
