//! Where visits come from, for a map.

use std::collections::BTreeMap;

use culprit_query::Parameter;

use crate::opened::{AuditError, AuditStore, Cells};

/// Visits from one spot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Two letters; none when unknown.
    pub country: Option<String>,
    /// City; none when unknown.
    pub city: Option<String>,
    /// Latitude and longitude in millionths of a degree; none when the place has none.
    pub at_e6: Option<(i64, i64)>,
    /// Interactions that are no robot's.
    pub visits: u64,
    /// Interactions of robots.
    pub of_robots: u64,
}

impl Origin {
    /// All of its interactions.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.visits + self.of_robots
    }
}

/// Visits by where they come from, the most first. Places of one spot with several postal codes are one.
///
/// # Errors
/// When the question cannot be answered within the limits.
pub fn origins(store: &AuditStore, robot_agents: &[i64]) -> Result<Vec<Origin>, AuditError> {
    let values = [("robots", Parameter::Ints(robot_agents.to_vec()))];
    let mut spots: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for row in store.ask("place_visits", &values)?.rows {
        let cells = Cells(&row);
        let text = |at: usize| cells.text(at).map(str::to_owned);
        let sums = spots.entry((text(0), text(1), cells.int(2).zip(cells.int(3)))).or_default();
        match cells.int(4) {
            Some(1) => sums.1 += cells.count(5),
            _ => sums.0 += cells.count(5),
        }
    }
    let origin = |((country, city, at_e6), (visits, of_robots))| Origin {
        country,
        city,
        at_e6,
        visits,
        of_robots,
    };
    let mut origins: Vec<Origin> = spots.into_iter().map(origin).collect();
    origins.sort_by_key(|origin| std::cmp::Reverse(origin.all()));
    Ok(origins)
}
