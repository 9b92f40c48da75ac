//! What becomes rows of the store only with what other chunks hold: requests and events that become
//! visits, tables that are joined.

use super::address::AddressHasher;
use super::batch::{Batch, Reject};
use super::events::{HitVisits, MatomoJoin};
use super::logs::Sessions;
use super::plan::ReadRows;

/// What was read and is no row of the store yet.
#[derive(Debug, Default)]
pub(super) struct Joins {
    sessions: Sessions,
    hits: HitVisits,
    matomo: MatomoJoin,
    orphans: Vec<(usize, Reject)>,
}

impl Joins {
    /// Takes the next chunk, of a source that had `rows` rows before it. What of it is known already:
    /// how many rows it had, those that could not be read, and rows of tables.
    pub(super) fn take(&mut self, at: (usize, u64), rows: ReadRows) -> Batch {
        match rows {
            ReadRows::Batch(batch) => *batch,
            ReadRows::Requests(requests) => {
                self.sessions.take(at, &requests);
                requests.lines
            }
            ReadRows::Hits(hits) => {
                self.hits.take(at, &hits);
                hits.lines.without_texts()
            }
            ReadRows::Matomo(tables) => self.matomo.take(at, *tables).without_texts(),
        }
    }

    /// Visits that have ended, when there are enough to be worth the while.
    pub(super) fn ended(&mut self, hasher: &AddressHasher) -> Option<Batch> {
        self.sessions.batch(false, hasher)
    }

    /// All visits that are left, at the end of the sources.
    pub(super) fn finish(&mut self, hasher: &AddressHasher) -> Vec<Batch> {
        let (mut joined, orphans) = self.matomo.finish();
        self.orphans = orphans;
        let batches =
            [self.sessions.batch(true, hasher), self.hits.batch(hasher), joined.batch(hasher)];
        batches.into_iter().flatten().collect()
    }

    /// Rows that fit to no other row, with their sources; after [`Joins::finish`].
    pub(super) fn orphans(&mut self) -> Vec<(usize, Reject)> {
        std::mem::take(&mut self.orphans)
    }
}
