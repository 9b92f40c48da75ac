//! Reads the parts of an unfinished file.

use culprit_model::{Loss, Row};

use crate::read::{Archive, Count, Loader};

/// An unfinished recording: the parts of any table, also of tables that only its recorder knows.
#[derive(Debug)]
pub struct Spool {
    archive: Archive,
    counts: Vec<Count>,
}

/// The rows of a table, and what had to be left out.
#[derive(Debug)]
pub struct Parts<R> {
    /// Rows in the order in which they were appended, or by time for tables ordered by time.
    pub rows: Vec<R>,
    /// One row for each kind of damage; empty when all is there.
    pub losses: Vec<Loss>,
}

impl Spool {
    /// `counts` tells how many rows the recording's own tables have.
    pub(crate) fn new(archive: Archive, mut counts: Vec<Count>) -> Self {
        // What the file does not have, the recorder keeps elsewhere: nothing to check against.
        counts.retain(|count| count.present);
        Self { archive, counts }
    }

    /// The rows of a table. The table need not be one of a recording's own: a recorder keeps its
    /// scratch data in the spool too. Handles into those of a recording's tables that the file has
    /// are checked as [`crate::open`] does; all other handles are the caller's to check.
    ///
    /// Cost: reads and decodes the table's parts, about 0.1 us a row.
    #[must_use]
    pub fn read_parts<R: Row>(&self) -> Parts<R> {
        let mut loader = Loader::new(&self.archive, self.counts.clone());
        let rows = loader.load::<R>();
        Parts { rows, losses: loader.losses }
    }

    /// True while the recorder still runs and the file may grow; false when it was killed.
    /// Always false where the file system has no locks.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.archive.is_live()
    }

    /// The names of the tables that have parts, sorted.
    #[must_use]
    pub fn tables(&self) -> Vec<&str> {
        self.archive.part_tables()
    }
}
