//! The tables of a store, each column with its unit and meaning.
//!
//! Hot tables hold 64-bit keys instead of GUIDs; a GUID stands once, in `interaction_ids` or
//! `contacts`. Texts stand once, in dictionaries. A store is a folder:
//!
//! ```text
//! STORE/store.json                                   which files belong to the store
//! STORE/TABLE/day=2026-11-28/shard=0/*.parquet       tables by day and shard (UTC day of the start)
//! STORE/TABLE/shard=0/*.parquet                      tables by shard
//! STORE/TABLE/*.parquet                              all other tables
//! ```

mod contacts;
mod dictionaries;
mod facets;
mod interactions;
mod keys;
mod ledger;
mod page_views;
mod rollups;

use culprit_model::{Row, Table};

pub use contacts::Contact;
pub use dictionaries::{Address, PathText, PlaceOrigin, StoredPlace, Term, TermKind, UserAgent};
pub use facets::{Facet, JsonPath, JsonState, LongValue, OwnerKind, ValueKind};
pub use interactions::{Initiator, InteractionId, InteractionRow, ParseState, VisitTraffic};
pub use keys::{
    AddressKey, Bytes, ContactKey, InteractionKey, Millis, PathKey, PlaceKey, SourceKey, TermKey,
    UserAgentKey, Utc,
};
pub use ledger::{ImportRun, ImportSource, LabelRow, RejectedRow};
pub use page_views::{PageView, VisitEvent};
pub use rollups::{AgentHour, AgentRollup, ContactRollup, DayRollup, FacetDay, FacetSize};

/// How the files of a table are partitioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// By the UTC day of the interaction's start, then by shard.
    DayAndShard,
    /// By shard.
    Shard,
    /// All rows together.
    Whole,
}

/// A table of a store.
#[derive(Debug, Clone, Copy)]
pub struct StoreTable {
    /// Its declaration.
    pub table: Table,
    /// How its files are partitioned.
    pub partition: Partition,
}

/// All tables of a store, in the order of the documentation.
pub const TABLES: &[StoreTable] = &[
    StoreTable { table: InteractionRow::TABLE, partition: Partition::DayAndShard },
    StoreTable { table: InteractionId::TABLE, partition: Partition::DayAndShard },
    StoreTable { table: VisitTraffic::TABLE, partition: Partition::DayAndShard },
    StoreTable { table: PageView::TABLE, partition: Partition::DayAndShard },
    StoreTable { table: VisitEvent::TABLE, partition: Partition::DayAndShard },
    StoreTable { table: Contact::TABLE, partition: Partition::Shard },
    StoreTable { table: Facet::TABLE, partition: Partition::Shard },
    StoreTable { table: LongValue::TABLE, partition: Partition::Shard },
    StoreTable { table: JsonPath::TABLE, partition: Partition::Whole },
    StoreTable { table: UserAgent::TABLE, partition: Partition::Whole },
    StoreTable { table: StoredPlace::TABLE, partition: Partition::Whole },
    StoreTable { table: PathText::TABLE, partition: Partition::Whole },
    StoreTable { table: Address::TABLE, partition: Partition::Whole },
    StoreTable { table: Term::TABLE, partition: Partition::Whole },
    StoreTable { table: ImportSource::TABLE, partition: Partition::Whole },
    StoreTable { table: RejectedRow::TABLE, partition: Partition::Whole },
    StoreTable { table: ImportRun::TABLE, partition: Partition::Whole },
    StoreTable { table: LabelRow::TABLE, partition: Partition::Whole },
    StoreTable { table: DayRollup::TABLE, partition: Partition::Whole },
    StoreTable { table: FacetSize::TABLE, partition: Partition::Shard },
    StoreTable { table: FacetDay::TABLE, partition: Partition::Shard },
    StoreTable { table: ContactRollup::TABLE, partition: Partition::Whole },
    StoreTable { table: AgentRollup::TABLE, partition: Partition::Whole },
    StoreTable { table: AgentHour::TABLE, partition: Partition::Whole },
];
