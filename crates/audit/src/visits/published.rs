//! Where the published T-SQL query for the same question would differ, and by how much.
//!
//! It finds contacts through a cache of their newest interactions, counts all interactions of these
//! contacts wherever they came from, shifts times by a fixed number of hours, counts robots, and
//! divides its threshold by the number of shards in whole numbers.

use culprit_query::Parameter;

use super::report::{Run, VisitRow};
use crate::opened::{AuditError, Cells};

/// Interactions that the cache keeps of a contact by default.
const CACHE_INTERACTIONS: i64 = 42;
/// How far back it reaches from a contact's last interaction: 30 days.
const CACHE_MS: i64 = 30 * 86_400_000;

/// What the published query would say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Published {
    /// Contacts with an interaction at the place.
    pub contacts: u64,
    /// Those of them that their cache shows.
    pub cached_contacts: u64,
    /// All interactions of the contacts that the cache shows, wherever they came from: what it
    /// counts.
    pub sessions: u64,
    /// Interactions from the place, whoever made them, before rows below the least number are left out:
    /// the published query knows neither.
    pub own_sessions: u64,
    /// Rows that its threshold of each shard keeps; none without a least number of sessions.
    pub rows_by_shard_threshold: Option<u64>,
    /// Rows that the threshold of the sum keeps.
    pub rows: u64,
    /// True where such a query can be asked: a log has no facets, so no InteractionsCache.
    pub is_possible: bool,
}

pub(super) fn published(
    run: &Run<'_>,
    per_shard: &[Vec<u64>],
    rows: &[VisitRow],
) -> Result<Published, AuditError> {
    let mut values = run.parameters();
    values.push(("cache_interactions", Parameter::Int(CACHE_INTERACTIONS)));
    values.push(("cache_ms", Parameter::Int(CACHE_MS)));
    let answer = run.store.ask("visit_published", &values)?.rows;
    let Some(row) = answer.first() else { return Ok(Published::default()) };
    let cells = Cells(row);
    let least = run.options.min_sessions;
    let shards = run.span.shards + run.span.missing;
    Ok(Published {
        contacts: cells.count(0),
        cached_contacts: cells.count(2),
        sessions: cells.count(3),
        own_sessions: per_shard.iter().flatten().sum(),
        rows_by_shard_threshold: (least > 1).then(|| kept(per_shard, least, shards)),
        rows: rows.len() as u64,
        is_possible: run.store.has("facets"),
    })
}

/// Rows with a shard above the divided threshold: 6 on 2 shards becomes "more than 3".
fn kept(per_shard: &[Vec<u64>], least: u64, shards: u64) -> u64 {
    let each = least / shards.max(1);
    per_shard.iter().filter(|row| row.iter().any(|sessions| *sessions > each)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_of_each_shard_loses_even_days_and_keeps_uneven_ones() {
        // Six sessions on two shards: 3 + 3 is lost, 4 + 0 is kept although it is below 6.
        assert_eq!(kept(&[vec![3, 3], vec![4], vec![6, 6]], 6, 2), 2);
        // 7 / 2 is 3 in whole numbers.
        assert_eq!(kept(&[vec![4, 3]], 7, 2), 1);
    }
}
