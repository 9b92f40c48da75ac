//! Rows whose other half is missing: O1 to O4.

use crate::opened::{AuditError, AuditStore, Cells};
use crate::robots::formulas::share;

/// What is orphaned in a store. All numbers are exact.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrphanReport {
    /// Contacts that the source has a row for.
    pub contacts: u64,
    /// O1: those without an interaction.
    pub without: u64,
    /// Those of O1 that the source knows by name.
    pub without_known: u64,
    /// The bytes of the facets of O1.
    pub without_bytes: u64,
    /// O2: contacts that only interactions name.
    pub unrecorded: u64,
    /// The interactions of O2.
    pub unrecorded_visits: u64,
    /// O3 by kind of owner: contact, interaction.
    pub facets: Vec<OrphanFacets>,
    /// Contacts with a reported total of interactions.
    pub reported: u64,
    /// O4: those whose reported total is not the counted one.
    pub wrong_total: u64,
    /// Interactions that O4 reports beyond the counted ones.
    pub reported_more: u64,
    /// Interactions that O4 does not report.
    pub reported_less: u64,
    /// Contacts with a row in several shards.
    pub in_several_shards: u64,
}

/// O3: facets of one kind of owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanFacets {
    /// `contact` or `interaction`.
    pub owner: String,
    /// All of them.
    pub facets: u64,
    /// Those whose owner has no row.
    pub orphans: u64,
    /// Their bytes in UTF-8.
    pub orphan_bytes: u64,
}

impl OrphanReport {
    /// The share of contacts without an interaction, 0 to 1.
    #[must_use]
    pub fn without_share(&self) -> f64 {
        share(self.without, self.contacts)
    }
}

/// Finds orphans.
///
/// # Errors
/// When a question cannot be answered within the limits.
pub fn orphans(store: &AuditStore) -> Result<OrphanReport, AuditError> {
    let summed = store.has_sums("rollup_contacts");
    let question = if summed { "rolled_contacts" } else { "orphan_contacts" };
    let rows = store.ask(question, &[])?.rows;
    let cells = Cells(rows.first().map_or(&[], Vec::as_slice));
    let summed = store.has_sums("rollup_facets");
    let question = if summed { "rolled_owners" } else { "orphan_facets" };
    let facets = store.ask(question, &[])?.rows;
    let mut facets: Vec<OrphanFacets> = facets
        .iter()
        .map(|row| Cells(row))
        .map(|cells| OrphanFacets {
            owner: cells.text(0).unwrap_or_default().to_owned(),
            facets: cells.count(1),
            orphans: cells.count(2),
            orphan_bytes: cells.count(3),
        })
        .collect();
    facets.sort_by(|a, b| a.owner.cmp(&b.owner));
    Ok(OrphanReport {
        contacts: cells.count(0),
        without: cells.count(1),
        without_known: cells.count(2),
        without_bytes: cells.count(3),
        unrecorded: cells.count(4),
        unrecorded_visits: cells.count(5),
        facets,
        reported: cells.count(6),
        wrong_total: cells.count(7),
        reported_more: cells.count(8),
        reported_less: cells.count(9),
        in_several_shards: cells.count(10),
    })
}
