//! The columns that `top` can show.

use culprit_engine::calls::{CallTree, NameId, When};
use culprit_model::clean;

use super::{Function, value};
use crate::layout::{Align, Table};
use crate::units::{number, percent};

culprit_model::labels! {
    /// A column of numbers of a name.
    Column("column") {
        /// Value of the function itself.
        Own = "own",
        /// The same as a share of the total.
        OwnShare = "own-share",
        /// Value of stacks that end at this frame.
        Exc = "exc",
        /// The same as a share of the total.
        ExcShare = "exc-share",
        /// Rows that end at this frame.
        ExcCount = "exc-count",
        /// Value of the frame and its callees.
        Inc = "inc",
        /// The same as a share of the total.
        IncShare = "inc-share",
        /// Rows of the frame and its callees.
        Count = "count",
        /// Inclusive value per row.
        Average = "average",
        /// Part of the exclusive value that folding added.
        Fold = "fold",
        /// Rows that folding added.
        FoldCount = "fold-count",
        /// The inclusive value over time: one character per 1/32 of the time range.
        When = "when",
        /// Start of the first row.
        First = "first",
        /// End of the last row.
        Last = "last",
        /// The cause with the largest own value.
        Mostly = "mostly",
    }
}

impl Column {
    /// What it shows, for a list of choices.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Own => "Value of the function itself",
            Self::OwnShare | Self::ExcShare | Self::IncShare => "The same as a share of the total",
            Self::Exc => "Value of stacks that end at this frame",
            Self::ExcCount => "Rows that end at this frame",
            Self::Inc => "Value of the frame and its callees",
            Self::Count => "Rows of the frame and its callees",
            Self::Average => "Inclusive value per row",
            Self::Fold => "Part of the exclusive value that folding added",
            Self::FoldCount => "Rows that folding added",
            Self::When => "The inclusive value over time: one character per 1/32 of the time range",
            Self::First => "Start of the first row",
            Self::Last => "End of the last row",
            Self::Mostly => "The cause with the largest own value",
        }
    }

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
