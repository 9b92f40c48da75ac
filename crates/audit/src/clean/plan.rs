//! `plan.json`: what a clean-up removes, why, and what must be true when it does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::guard::GuardResult;
use crate::impact::ImpactSums;
use crate::schema::InteractionRow;

culprit_model::labels! {
    /// Where rows leave from.
    CleanLevel ("level") {
        /// Reports leave them out; no row is removed.
        Label = "label",
        /// The store is rebuilt without them.
        Store = "store",
        /// They are deleted in the database that the store was imported from.
        Source = "source",
    }
}

/// The version of `plan.json`.
pub(crate) const PLAN_SCHEMA: u32 = 1;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this form.
    pub schema: u32,
    /// When it was made: milliseconds since 1970-01-01 UTC.
    pub made_ms: i64,
    /// Level, as [`CleanLevel`] names it.
    pub level: String,
    /// The selection as it was typed.
    pub selection: String,
    /// Preset, thresholds and lists that verdicts rest on, as JSON; null without verdicts.
    pub recognition: serde_json::Value,
    /// The store.
    pub store: PlanStore,
    /// The database; none at other levels, and for plans that are SQL text only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PlanTarget>,
    /// Counts of what is selected.
    pub counts: PlanCounts,
    /// Rows that the selection names and `--spare` leaves out, by guard.
    pub spared: BTreeMap<String, u64>,
    /// Sums of what reports show now.
    pub before: PlanSums,
    /// Sums of what reports will show.
    pub after: PlanSums,
    /// Selected interactions by day and shard.
    pub days: Vec<DayCount>,
    /// What the guards found.
    pub guards: Vec<GuardResult>,
    /// Rows of a batch at most: interactions or contacts.
    pub batch_rows: u32,
    /// SHA-256 of each file of the plan, by path below its folder.
    pub files: BTreeMap<String, String>,
    /// SHA-256 of this document with an empty text here.
    pub digest: String,
}

/// The store that a plan was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStore {
    /// Its folder.
    pub path: String,
    /// Its generation: the number of imports that changed it.
    pub generation: u64,
    /// SHA-256 of its list of files.
    pub digest: String,
    /// Shards of its source.
    pub shards: u32,
}

/// A database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTarget {
    /// Its servers, without passwords; one for all shards, or one a shard.
    pub servers: Vec<String>,
    /// What identifies each of them.
    pub identities: Vec<String>,
    /// Schema of the tables.
    pub schema: String,
    /// Columns of each table, in the order of archived rows.
    pub tables: BTreeMap<String, Vec<String>>,
    /// SHA-256 of the tables' definitions.
    pub definition: String,
}

/// Counts of what a plan selects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCounts {
    /// Interactions.
    pub interactions: u64,
    /// Contacts that are left without an interaction, or had none.
    pub contacts: u64,
    /// Contacts that keep some of their interactions: their calculated facets must be rebuilt.
    pub partial_contacts: u64,
    /// Bytes of the interactions' rows in the source.
    pub raw_bytes: u64,
    /// Bytes of the facets of these interactions and contacts.
    pub facet_bytes: u64,
    /// Rows that changed in the source after the import; they are not in the plan.
    pub changed: u64,
    /// Rows that the source has no more; they are not in the plan.
    pub missing: u64,
}

/// Sums of interactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSums {
    /// Interactions.
    pub visits: u64,
    /// Page views.
    pub pages: u64,
    /// Interactions with at most one page.
    pub single: u64,
    /// Interactions with a goal or an outcome.
    pub converted: u64,
}

impl PlanSums {
    /// Adds an interaction.
    pub(crate) fn add(&mut self, row: &InteractionRow) {
        self.visits += 1;
        self.pages += u64::from(row.pages);
        self.single += u64::from(row.pages <= 1);
        self.converted += u64::from(row.goals > 0 || row.outcomes > 0);
    }
}

impl From<ImpactSums> for PlanSums {
    fn from(sums: ImpactSums) -> Self {
        Self {
            visits: sums.visits,
            pages: sums.pages,
            single: sums.single,
            converted: sums.converted,
        }
    }
}

/// Selected interactions of a day and shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayCount {
    /// The day (UTC), such as `2026-06-30`; `-` without a start.
    pub day: String,
    /// Number of the shard.
    pub shard: u32,
    /// Selected interactions.
    pub interactions: u64,
}
