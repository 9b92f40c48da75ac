//! What reports would say without robots and without contacts that never came.

use std::collections::BTreeMap;

use culprit_query::Parameter;

use crate::opened::{AuditError, AuditStore, Cells};
use crate::robots::formulas::share;

/// Sums of interactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImpactSums {
    /// Interactions.
    pub visits: u64,
    /// Page views.
    pub pages: u64,
    /// Interactions with at most one page.
    pub single: u64,
    /// Interactions with a goal or an outcome.
    pub converted: u64,
    /// Bytes of their rows in the source.
    pub raw_bytes: u64,
}

/// One day before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImpactDay {
    /// Days since 1970-01-01 (UTC); none for interactions without a start.
    pub day: Option<i64>,
    /// All interactions.
    pub before: ImpactSums,
    /// Without robots.
    pub after: ImpactSums,
}

/// A store before and after.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImpactReport {
    /// All interactions.
    pub before: ImpactSums,
    /// Without robots.
    pub after: ImpactSums,
    /// Contacts that the source has a row for.
    pub contacts_before: u64,
    /// Those with an interaction that is no robot's.
    pub contacts_after: u64,
    /// Those with interactions of robots alone.
    pub contacts_of_robots: u64,
    /// Those without any interaction.
    pub contacts_without: u64,
    /// Bytes of the facets of contacts and interactions. Events are in the rows of the interactions.
    pub facets_before: u64,
    /// Those of the contacts and interactions that are left.
    pub facets_after: u64,
    /// By day, the earliest first.
    pub days: Vec<ImpactDay>,
    /// True when a source can say that a visit has reached a goal: no log does.
    pub knows_goals: bool,
}

impl ImpactSums {
    /// Page views an interaction.
    #[must_use]
    pub fn pages_mean(&self) -> f64 {
        share(self.pages, self.visits)
    }

    /// The share of interactions with at most one page.
    #[must_use]
    pub fn single_share(&self) -> f64 {
        share(self.single, self.visits)
    }

    /// The share of interactions with a goal or an outcome; none where no source knows of goals.
    #[must_use]
    pub fn conversion(&self, knows_goals: bool) -> Option<f64> {
        knows_goals.then(|| share(self.converted, self.visits))
    }
}

impl std::ops::AddAssign for ImpactSums {
    fn add_assign(&mut self, more: Self) {
        self.visits += more.visits;
        self.pages += more.pages;
        self.single += more.single;
        self.converted += more.converted;
        self.raw_bytes += more.raw_bytes;
    }
}

impl ImpactReport {
    /// Bytes of the rows of interactions and of all facets, before and after.
    #[must_use]
    pub fn storage(&self) -> (u64, u64) {
        (self.before.raw_bytes + self.facets_before, self.after.raw_bytes + self.facets_after)
    }
}

/// Compares a store with itself without the interactions of these user agents.
///
/// # Errors
/// When a question cannot be answered within the limits.
pub fn impact(store: &AuditStore, robot_agents: &[i64]) -> Result<ImpactReport, AuditError> {
    let values = [("robots", Parameter::Ints(robot_agents.to_vec()))];
    let mut days: BTreeMap<Option<i64>, ImpactDay> = BTreeMap::new();
    let mut report = ImpactReport::default();
    for row in store.ask("impact_days", &values)?.rows {
        let cells = Cells(&row);
        let sums = ImpactSums {
            visits: cells.count(2),
            pages: cells.count(3),
            single: cells.count(4),
            converted: cells.count(5),
            raw_bytes: cells.count(6),
        };
        let none = ImpactSums::default();
        let day = ImpactDay { day: cells.int(0), before: none, after: none };
        let day = days.entry(cells.int(0)).or_insert(day);
        day.before += sums;
        report.before += sums;
        if cells.int(1) != Some(1) {
            day.after += sums;
            report.after += sums;
        }
    }
    let (mut facets_before, mut facets_after) = (0, 0);
    for row in store.ask("impact_facets", &values)?.rows {
        let cells = Cells(&row);
        facets_before += cells.count(1);
        facets_after += if cells.int(0) == Some(1) { 0 } else { cells.count(1) };
    }
    let rows = store.ask("impact_contacts", &values)?.rows;
    let cells = Cells(rows.first().map_or(&[], Vec::as_slice));
    Ok(ImpactReport {
        contacts_before: cells.count(0),
        contacts_after: cells.count(1),
        contacts_of_robots: cells.count(2),
        contacts_without: cells.count(3),
        facets_before: facets_before + cells.count(4),
        facets_after: facets_after + cells.count(5),
        days: days.into_values().collect(),
        knows_goals: store.knows_goals()?,
        ..report
    })
}
