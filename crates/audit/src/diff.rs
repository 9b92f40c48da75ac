//! What changed: between two stores, or between days of one.

use std::collections::BTreeMap;

use chrono::{Datelike as _, NaiveDate};
use culprit_query::Parameter;

use crate::impact::ImpactSums;
use crate::opened::{AuditError, AuditStore, Cells};
use crate::time::DAY_MS;
use crate::visits::day_text;

/// Days in a row, in days since 1970-01-01 (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    first: i64,
    last: i64,
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub struct DiffSide<'a> {
    /// The store.
    pub store: &'a AuditStore,
    /// Its days; all rows without them, those without a start included.
    pub days: Option<Days>,
    /// Keys of the user agents that are robots in this store.
    pub robot_agents: Vec<i64>,
}

/// Sums of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiffTotals {
    /// All interactions.
    pub all: ImpactSums,
    /// Those that are no robot's.
    pub people: ImpactSums,
    /// Distinct contacts that the source has a row for, of interactions that are no robot's.
    pub contacts: u64,
    /// Days; none for a whole store.
    pub days: Option<u64>,
    /// True when a source can say that a visit has reached a goal: no log does.
    pub knows_goals: bool,
}

/// Interactions of one user agent or place on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffGroup {
    /// Its name, which is the same in all stores; none where the source has none.
    pub name: Option<String>,
    /// True when it is a robot on either side.
    pub robot: bool,
    /// Interactions before and after.
    pub visits: (u64, u64),
    /// Page views before and after.
    pub pages: (u64, u64),
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffReport {
    /// The first side.
    pub before: DiffTotals,
    /// The second side.
    pub after: DiffTotals,
    /// By user agent, the one that changed most first.
    pub agents: Vec<DiffGroup>,
    /// By place, the one that changed most first; none when a store has no sums of days.
    pub places: Option<Vec<DiffGroup>>,
}

impl Days {
    /// Reads `2026-06-30`, or `2026-06-01..2026-06-30` with both ends.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let epoch = NaiveDate::default().num_days_from_ce();
        let day = |text: &str| {
            let date: NaiveDate = text.trim().parse().ok()?;
            Some(i64::from(date.num_days_from_ce() - epoch))
        };
        let days = Self { first: day(first)?, last: day(last)? };
        (days.first <= days.last).then_some(days)
    }

    /// How many they are.
    #[must_use]
    pub fn count(self) -> u64 {
        self.first.abs_diff(self.last) + 1
    }

    /// `2026-06-30`, or both ends.
    #[must_use]
    pub fn describe(self) -> String {
        let (first, last) = (day_text(Some(self.first)), day_text(Some(self.last)));
        if first == last { first } else { format!("{first}..{last}") }
    }
}

impl DiffGroup {
    /// How many interactions it has more, or fewer.
    #[must_use]
    pub fn change(&self) -> u64 {
        self.visits.0.abs_diff(self.visits.1)
    }
}

/// Compares two sides.
///
/// # Errors
/// When a question cannot be answered within the limits.
pub fn diff(before: &DiffSide<'_>, after: &DiffSide<'_>) -> Result<DiffReport, AuditError> {
    let has_places = |side: &DiffSide<'_>| side.store.has("rollup_day");
    let places = match has_places(before) && has_places(after) {
        true => Some(groups(before, after, places)?),
        false => None,
    };
    Ok(DiffReport {
        before: totals(before)?,
        after: totals(after)?,
        agents: groups(before, after, agents)?,
        places,
    })
}

impl DiffSide<'_> {
    fn parameters(&self) -> Vec<(&'static str, Parameter)> {
        let (first, last) = self.days.map_or((0, 0), |days| (days.first, days.last));
        vec![
            ("all_days", Parameter::Int(self.days.is_none().into())),
            ("from_ms", Parameter::Int(first.saturating_mul(DAY_MS))),
            ("to_ms", Parameter::Int((last + 1).saturating_mul(DAY_MS))),
            ("robots", Parameter::Ints(self.robot_agents.clone())),
            ("labelled", Parameter::Int((!self.store.leaves_out()).into())),
        ]
    }
}

fn totals(side: &DiffSide<'_>) -> Result<DiffTotals, AuditError> {
    let mut totals = DiffTotals {
        days: side.days.map(Days::count),
        knows_goals: side.store.knows_goals()?,
        ..DiffTotals::default()
    };
    for row in side.store.ask("diff_totals", &side.parameters())?.rows {
        let cells = Cells(&row);
        let sums = ImpactSums {
            visits: cells.count(1),
            pages: cells.count(3),
            single: cells.count(4),
            converted: cells.count(5),
            raw_bytes: cells.count(6),
        };
        totals.all += sums;
        if cells.int(0) != Some(1) {
            totals.people += sums;
            totals.contacts += cells.count(2);
        }
    }
    Ok(totals)
}

/// A group of one side: name, whether it is a robot, visits, pages.
type Sums = (Option<String>, bool, u64, u64);

fn agents(side: &DiffSide<'_>) -> Result<Vec<Sums>, AuditError> {
    let rows = side.store.ask("diff_agents", &side.parameters())?.rows;
    let sums = |cells: Cells<'_>| {
        let name = cells.text(0).map(str::to_owned);
        (name, cells.int(1) == Some(1), cells.count(2), cells.count(3))
    };
    Ok(rows.iter().map(|row| sums(Cells(row))).collect())
}

fn places(side: &DiffSide<'_>) -> Result<Vec<Sums>, AuditError> {
    let rows = side.store.ask("diff_places", &side.parameters())?.rows;
    let sums = |cells: Cells<'_>| {
        let parts: Vec<&str> = (0..4).filter_map(|at| cells.text(at)).collect();
        let name = (!parts.is_empty()).then(|| parts.join(", "));
        (name, false, cells.count(4), cells.count(5))
    };
    Ok(rows.iter().map(|row| sums(Cells(row))).collect())
}

/// The groups of both sides by name, the one that changed most first.
fn groups(
    before: &DiffSide<'_>,
    after: &DiffSide<'_>,
    ask: fn(&DiffSide<'_>) -> Result<Vec<Sums>, AuditError>,
) -> Result<Vec<DiffGroup>, AuditError> {
    let mut all: BTreeMap<Option<String>, DiffGroup> = BTreeMap::new();
    for (is_after, sums) in [(false, ask(before)?), (true, ask(after)?)] {
        for (name, robot, visits, pages) in sums {
            let new = DiffGroup { name: name.clone(), robot, visits: (0, 0), pages: (0, 0) };
            let group = all.entry(name).or_insert(new);
            group.robot |= robot;
            match is_after {
                false => {
                    (group.visits.0, group.pages.0) =
                        (group.visits.0 + visits, group.pages.0 + pages)
                }
                true => {
                    (group.visits.1, group.pages.1) =
                        (group.visits.1 + visits, group.pages.1 + pages)
                }
            }
        }
    }
    let mut groups: Vec<DiffGroup> = all.into_values().collect();
    // The sort is stable: equal changes stay in the order of their names.
    groups.sort_by_key(|group| std::cmp::Reverse(group.change()));
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_with_both_ends() {
        let days = |text: &str| Days::parse(text).map(|days| (days.describe(), days.count()));
        assert_eq!(days("2026-06-30"), Some(("2026-06-30".to_owned(), 1)));
        assert_eq!(days("2026-06-01..2026-06-30"), Some(("2026-06-01..2026-06-30".to_owned(), 30)));
        assert_eq!(days("2026-06-30..2026-06-01"), None);
        assert_eq!(days("2026-02-30"), None);
        assert_eq!(Days::parse("1970-01-02").map(|days| days.first), Some(1));
    }
}
