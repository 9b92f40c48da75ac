//! What stored bytes cost, and when they reach a budget.

use crate::bloat::BloatReport;
use crate::robots::formulas::float;

/// Bytes of a GB, as storage is sold.
const GB: f64 = 1e9;

/// The price of storage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// What one GB costs a month, in euros.
    pub per_gb_month: f64,
    /// Copies on other servers.
    pub replicas: u32,
    /// Copies in backups.
    pub backups: u32,
}

impl Price {
    /// What so many bytes cost a month, in euros, with all their copies.
    #[must_use]
    pub fn of(&self, bytes: u64) -> f64 {
        float(bytes) / GB * self.per_gb_month * f64::from(1 + self.replicas + self.backups)
    }
}

impl BloatReport {
    /// The day (since 1970-01-01, UTC) on which the facets reach so many bytes, if they grow on as in the last 30
    /// days; the last day when they have them already, none when they do not grow.
    #[must_use]
    pub fn reaches(&self, budget: u64) -> Option<i64> {
        let last = self.days.last()?.0;
        let left = budget.saturating_sub(self.bytes);
        if left == 0 {
            return Some(last);
        }
        let growth = self.growth_per_day().filter(|growth| *growth > 0.0)?;
        let days = float(left) / growth;
        // Beyond a thousand years nobody plans.
        (days < 365_000.0).then(|| last + whole(days.ceil()))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at most 365,000")]
fn whole(days: f64) -> i64 {
    days as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(bytes: u64, days: Vec<(i64, u64)>) -> BloatReport {
        let (facets, paths, top, junk) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        BloatReport { bytes, facets, paths, top, junk, days }
    }

    #[test]
    fn copies_cost_as_much_as_the_first() {
        let price = Price { per_gb_month: 0.1, replicas: 3, backups: 2 };
        assert!((price.of(600_000_000_000) - 360.0).abs() < 1e-9);
    }

    #[test]
    fn a_budget_is_reached_by_the_growth_of_the_last_days() {
        let grows = report(1_000, vec![(100, 300), (129, 300)]);
        assert_eq!(grows.reaches(1_050), Some(132), "20 a day");
        assert_eq!(grows.reaches(1_000), Some(129));
        assert_eq!(report(1_000, Vec::new()).reaches(2_000), None);
        assert_eq!(report(0, vec![(10, 0)]).reaches(5), None);
    }
}
