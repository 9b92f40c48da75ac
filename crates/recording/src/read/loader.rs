//! Loads tables one after the other, each against the ones that it points into.

use culprit_model::{
    ColumnData, Frame, Loss, LossKind, Module, Process, Row, Stack, Table, Text, Thread, Values,
};

use crate::disk::ADDED_SINCE;
use crate::read::archive::{Archive, Piece};
use crate::read::check::{Count, Repairs, is_pointed_to, repair, target};
use crate::spool::Folder;
use crate::table::{Unzstd, decode};

/// Which tables are loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All that are asked for.
    All,
    /// These; the others are empty and count as not read.
    Only(Vec<&'static str>),
}

impl Wanted {
    /// The tables of these names and all that they point into, through any number of tables.
    /// Processes and losses are always among them: `meta.json` points into the first, and damage is
    /// told in the second.
    pub(crate) fn only(names: &[&str]) -> Self {
        let named = |name: &str| ["processes", "losses"].contains(&name) || names.contains(&name);
        let tables = culprit_model::TABLES.iter();
        let mut all: Vec<_> = tables.filter(|table| named(table.name)).collect();
        let mut next = 0;
        while let Some(table) = all.get(next) {
            for target in table.columns.iter().filter_map(target) {
                let known = culprit_model::TABLES.iter().find(|table| table.name == target);
                all.extend(known.filter(|known| all.iter().all(|table| table.name != known.name)));
            }
            next += 1;
        }
        Self::Only(all.into_iter().map(|table| table.name).collect())
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(&name),
        }
    }
}

/// Loads tables of one file. Those that others point into come first.
#[derive(Debug)]
pub(crate) struct Loader<'a> {
    archive: &'a Archive,
    /// Rows of the tables loaded so far.
    pub(crate) counts: Vec<Count>,
    /// What was left out so far.
    pub(crate) losses: Vec<Loss>,
    wanted: Wanted,
    zstd: Unzstd,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(archive: &'a Archive, counts: Vec<Count>) -> Self {
        let (losses, wanted, zstd) = (Vec::new(), Wanted::All, Unzstd::default());
        Self { archive, counts, losses, wanted, zstd }
    }

    /// For the tables of a file from its first one on.
    pub(crate) fn of(archive: &'a Archive, wanted: Wanted) -> Self {
        Self { wanted, ..Self::new(archive, Vec::new()) }
    }

    /// Every row of a table that can be vouched for; none of one that is not wanted.
    pub(crate) fn load<R: Row>(&mut self) -> Vec<R> {
        let table = R::TABLE;
        if !self.wanted.has(table.name) {
            return Vec::new();
        }
        let rows = R::rows(self.load_columns(&table)).unwrap_or_else(|e| {
            self.damaged(table.name, format!("cannot read the table `{}`: {e}", table.name));
            Vec::new()
        });
        if let Some(count) = self.counts.last_mut() {
            count.rows = rows.len();
        }
        rows
    }

    /// As [`Loader::load`], by column; the table may declare fewer than the file has.
    pub(crate) fn load_columns(&mut self, table: &Table) -> Vec<ColumnData> {
        let pieces = self.pieces(table.name);
        // A recorder's scratch table is one to point to when the recorder wanted it kept for ever.
        let kept_for_ever = |piece: &Piece<'_>| {
            piece.part.as_ref().is_some_and(|part| part.folder != Folder::Events)
        };
        let pointed_to =
            is_pointed_to(table.name).unwrap_or_else(|| pieces.iter().any(kept_for_ever));
        let mut columns = self.read_pieces(table, &pieces, pointed_to);
        let mut repairs = repair(table, &mut columns, &self.counts, pointed_to);
        // Parts of one table may overlap in time; only a finished file promises order.
        repairs.sorted &= self.archive.finished;
        self.note(table.name, &repairs);
        let present = !pieces.is_empty();
        let rows = columns.first().map_or(0, |column| column.values.len());
        self.counts.push(Count { table: table.name, rows, present });
        columns
    }

    /// Checks that the bytes of a table that nobody reads are what was written.
    pub(crate) fn check(&mut self, table: &Table) {
        for piece in self.pieces(table.name) {
            if let Err(why) = self.archive.read_piece(&piece) {
                self.damaged(table.name, format!("cannot read `{}`: {why}", piece.name()));
            }
        }
    }

    /// The pieces of a table; that there are none is a loss where there should be.
    fn pieces(&mut self, table: &str) -> Vec<Piece<'a>> {
        let pieces = self.archive.pieces(table);
        let expected = !ADDED_SINCE.contains(&table);
        if pieces.is_empty() && self.archive.finished && expected {
            self.damaged(table, format!("the table `{table}` is missing"));
        }
        pieces
    }

    /// The columns of all pieces together.
    fn read_pieces(
        &mut self,
        table: &Table,
        pieces: &[Piece<'_>],
        pointed_to: bool,
    ) -> Vec<ColumnData> {
        let mut all: Option<Vec<ColumnData>> = None;
        // The first part that is kept for ever is number 1; after a `latest/` it may be any.
        let mut expected = Some((Folder::Parts, 1));
        for piece in pieces {
            let number = piece.part.as_ref().map(|part| (part.folder, part.number));
            if matches!(number, None | Some((Folder::Latest, _))) {
                expected = None;
            }
            let gap = expected.is_some_and(|next| pointed_to && number != Some(next));
            let read = if gap {
                Err("the part before it is missing".to_owned())
            } else {
                self.read_piece(table, piece)
            };
            match read {
                Ok(columns) => append(&mut all, columns),
                Err(why) => {
                    self.damaged(table.name, format!("cannot read `{}`: {why}", piece.name()));
                    // Handles into the parts behind it would name other rows.
                    if pointed_to {
                        break;
                    }
                }
            }
            expected = match number {
                Some((Folder::Latest, _)) | None => None,
                Some((folder, number)) => Some((folder, number.saturating_add(1))),
            };
        }
        all.unwrap_or_else(|| empty(table))
    }

    fn read_piece(&mut self, table: &Table, piece: &Piece<'_>) -> Result<Vec<ColumnData>, String> {
        let bytes = self.archive.read_piece(piece)?;
        decode(table.columns, &bytes, &mut self.zstd).map_err(|e| e.to_string())
    }

    /// Records repairs as a loss. In an unfinished file that is else whole they are no damage: a
    /// recorder may append an event before the row that it names.
    pub(crate) fn note(&mut self, table: &str, repairs: &Repairs) {
        if let Some(what) = repairs.describe() {
            let count = repairs.cleared + repairs.dropped;
            let damage = [LossKind::FileDamaged, LossKind::NamesDamaged];
            let whole = self.archive.garbage == 0
                && self.losses.iter().all(|loss| !damage.contains(&loss.kind));
            let kind = if self.archive.unfinished() && whole {
                LossKind::RecorderKilled
            } else {
                damage_to(table)
            };
            self.lost(kind, count.max(1), format!("table `{table}`: {what}"));
        }
    }

    fn damaged(&mut self, table: &str, detail: String) {
        self.lost(damage_to(table), 1, detail);
    }

    fn lost(&mut self, kind: LossKind, count: u64, detail: String) {
        self.losses.push(Loss { kind, count, from: None, to: None, detail: Text::from(detail) });
    }
}

/// Tables that say what and whose the rows of the others are.
const NAMES: [&str; 5] = [
    Process::TABLE.name,
    Thread::TABLE.name,
    Module::TABLE.name,
    Frame::TABLE.name,
    Stack::TABLE.name,
];

/// What damage to a table is called.
fn damage_to(table: &str) -> LossKind {
    if NAMES.contains(&table) { LossKind::NamesDamaged } else { LossKind::FileDamaged }
}

fn append(all: &mut Option<Vec<ColumnData>>, more: Vec<ColumnData>) {
    let Some(all) = all else {
        *all = Some(more);
        return;
    };
    for (column, more) in all.iter_mut().zip(more) {
        extend(column, more);
    }
}

/// Adds the rows of one column below another's; both are of the same declaration.
fn extend(column: &mut ColumnData, more: ColumnData) {
    let (rows, more_rows) = (column.values.len(), more.values.len());
    if column.valid.is_some() || more.valid.is_some() {
        let valid = column.valid.get_or_insert_with(|| vec![true; rows]);
        match more.valid {
            Some(more) => valid.extend(more),
            None => valid.extend(std::iter::repeat_n(true, more_rows)),
        }
    }
    match (&mut column.values, more.values) {
        (Values::Bool(all), Values::Bool(more)) => all.extend(more),
        (Values::U32(all), Values::U32(more)) => all.extend(more),
        (Values::U64(all), Values::U64(more)) => all.extend(more),
        (Values::I64(all), Values::I64(more)) => all.extend(more),
        (Values::Text(all), Values::Text(more)) => all.extend(more),
        (Values::Label { codes: all, .. }, Values::Label { codes: more, .. }) => all.extend(more),
        _ => unreachable!("both were decoded for the same column"),
    }
}

fn empty(table: &Table) -> Vec<ColumnData> {
    table.columns.iter().map(|column| crate::table::missing(column.ty, 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_brings_those_that_it_points_into() {
        let names = |names: &[&str]| match Wanted::only(names) {
            Wanted::Only(mut names) => {
                names.sort_unstable();
                names.join(" ")
            }
            Wanted::All => unreachable!("some were named"),
        };
        assert_eq!(names(&[]), "losses processes");
        assert_eq!(
            names(&["intervals"]),
            "frames intervals losses modules processes stacks threads"
        );
        assert_eq!(names(&["frames", "marks"]), "frames losses marks modules processes threads");
    }
}
