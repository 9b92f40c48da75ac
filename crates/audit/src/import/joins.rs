//! What becomes rows of the store only with what other chunks hold: requests and events that become
//! visits, tables that are joined.

use culprit_model::Label as _;

use super::address::AddressHasher;
use super::batch::{Batch, Reject};
use super::events::{HitVisits, MatomoJoin};
use super::logs::{FieldSet, LogField, Sessions, UnusualClients};
use super::plan::{PlannedSource, ReadRows};

/// What was read and is no row of the store yet.
#[derive(Debug, Default)]
pub(super) struct Joins {
    sessions: Sessions,
    hits: HitVisits,
    matomo: MatomoJoin,
    orphans: Vec<(usize, Reject)>,
    /// What the reader must know of tables that are in no source.
    missing_tables: Vec<String>,
    own_fields: FieldSet,
}

impl Joins {
    /// Nothing yet of these sources.
    pub(super) fn new(sources: &[PlannedSource]) -> Self {
        let first_ms: Vec<Option<i64>> = sources.iter().map(|source| source.first_ms).collect();
        Self { sessions: Sessions::new(&first_ms), ..Self::default() }
    }

    /// What the reader must know of the sources, which were read with these names of fields; after
    /// [`Joins::finish`].
    pub(super) fn warnings(&self, fields: &[(LogField, String)]) -> Vec<String> {
        let missing = fields.iter().filter(|(field, _)| !self.own_fields.has(*field));
        let mut warnings: Vec<String> = missing
            .map(|(field, name)| {
                format!("no line has the field `{name}` of `--field {}={name}`", field.word())
            })
            .collect();
        warnings.extend(self.missing_tables.iter().cloned());
        let (repeated, more) = self.sessions.repeated_lines();
        if repeated > 0 {
            warnings.push(format!(
                "{}{} in two files: they count twice in visits. Import files that do not overlap",
                if more { "at least " } else { "" },
                match repeated {
                    1 => "1 line stands".to_owned(),
                    many => format!("{many} lines stand"),
                }
            ));
        }
        warnings
    }

    /// Sources whose addresses are hardly those of clients; after [`Joins::finish`].
    pub(super) fn unusual_clients(&self) -> &[UnusualClients] {
        self.sessions.unusual_clients()
    }

    /// Takes the next chunk, of a source that had `rows` rows before it. What of it is known already:
    /// how many rows it had, those that could not be read, and rows of tables.
    pub(super) fn take(&mut self, at: (usize, u64), rows: ReadRows) -> Batch {
        match rows {
            ReadRows::Batch(batch) => *batch,
            ReadRows::Requests(requests) => {
                self.sessions.take(at, &requests);
                self.own_fields.add_all(requests.own_fields);
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
        let found = self.matomo.finish();
        self.missing_tables = found.warnings();
        let (mut joined, orphans) = (found.all, found.orphans);
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
