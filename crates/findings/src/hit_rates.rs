//! How often findings of a kind are right, measured on programs whose fault is known.
//!
//! A rule says how good its evidence is, from 0 to 1. That orders its own findings, but it is a judgement.
//! Readers want to know how often such a finding is right. `hit_rates.tsv` counts it for each kind on all
//! recordings of known programs: how often it was the first finding, how often rightly, and what the rule
//! had said on average. The rule's number is scaled so that its mean becomes the measured rate.
//!
//! ```text
//! rule says     0.90 0.90 0.95 0.45      right  yes yes yes no
//! mean 0.80, measured 0.75               shown  0.84 0.84 0.89 0.42
//! ```
//!
//! A kind that was seen rarely is taken for as good as all are together.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use culprit_model::Severity;

/// The counts; a test writes them from the replayed recordings.
const TABLE: &str = include_str!("hit_rates.tsv");

/// Findings of the average rate that are added to those of each kind. At half, a kind that was wrong once
/// in two findings is called possible for good; at double, one that is wrong half of the time needs
/// thirty findings to be called so.
const OF_ALL: f64 = 5.0;

/// No kind is surer: the programs that are known are not all programs.
const MOST: f64 = 0.98;

/// Confidence below which a finding is only possible.
pub const POSSIBLE: f64 = 0.6;

/// Confidence from which a finding may be of high severity.
pub const SURE_ENOUGH: f64 = 0.8;

/// What was counted of one kind of finding, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HitRate {
    /// Known programs of which it was the first finding.
    pub said: u32,
    /// Of these, where it was right.
    pub right: u32,
    /// Sum of what the rule itself had said, 0 to 1 each.
    pub claimed: f64,
}

impl HitRate {
    /// The share that was right, with those of all kinds as a start.
    fn rate(self, of_all: f64) -> f64 {
        (f64::from(self.right) + OF_ALL * of_all) / (f64::from(self.said) + OF_ALL)
    }

    /// The same of all kinds together.
    fn plain_rate(self) -> f64 {
        f64::from(self.right) / f64::from(self.said).max(1.0)
    }

    fn mean_claim(self) -> Option<f64> {
        (self.said > 0 && self.claimed > 0.0).then(|| self.claimed / f64::from(self.said))
    }
}

/// The counts by finding.
#[derive(Debug, Default)]
struct HitRates {
    kinds: BTreeMap<&'static str, HitRate>,
    all: HitRate,
}

static HIT_RATES: LazyLock<HitRates> = LazyLock::new(|| HitRates::read(TABLE));

impl HitRates {
    /// Lines of identifier, said, right and claimed, apart by tabs; lines with `#` are comments.
    fn read(table: &'static str) -> Self {
        let mut rates = Self::default();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split('\t');
            let id = fields.next().unwrap_or_default();
            let mut count = || fields.next().and_then(|field| field.parse().ok());
            let (Some(said), Some(right)) = (count(), count()) else { continue };
            let Some(claimed) = fields.next().and_then(|field| field.parse().ok()) else {
                continue;
            };
            let kind = HitRate { said, right, claimed };
            rates.all.said += kind.said;
            rates.all.right += kind.right;
            rates.all.claimed += kind.claimed;
            rates.kinds.insert(id, kind);
        }
        rates
    }

    fn calibrated(&self, id: &str, claimed: f64) -> f64 {
        let kind = self.kinds.get(id).copied().unwrap_or_default();
        let Some(mean) = kind.mean_claim().or_else(|| self.all.mean_claim()) else {
            return claimed;
        };
        (claimed * kind.rate(self.all.plain_rate()) / mean).clamp(0.0, MOST)
    }
}

/// How often a finding of a kind is right whose rule is as sure as `claimed`, 0 to 1.
#[must_use]
pub fn calibrated(id: &str, claimed: f64) -> f64 {
    HIT_RATES.calibrated(id, claimed)
}

/// How sure a finding is whose rule is as sure as `claimed`, and how much it matters at most.
pub(crate) fn judged(id: &str, claimed: f64) -> (f64, Severity) {
    let confidence = calibrated(id, claimed);
    (confidence, most_severe(confidence))
}

/// The most that a finding matters that is so sure: who follows a wrong one loses a day.
pub(crate) fn most_severe(confidence: f64) -> Severity {
    if confidence >= SURE_ENOUGH {
        Severity::High
    } else if confidence >= POSSIBLE {
        Severity::Medium
    } else {
        Severity::Low
    }
}

#[cfg(test)]
mod tests {
    use super::{HIT_RATES, HitRates, MOST, TABLE};
    use crate::catalogue::catalogue;

    #[test]
    fn a_kind_that_is_often_wrong_is_less_sure_and_its_better_evidence_surer() {
        let rates = HitRates::read("good\t40\t40\t36.0\nbad\t40\t10\t36.0\n");
        let shown = |id, claimed| rates.calibrated(id, claimed);
        assert!(shown("good", 0.9) > 0.9 && shown("good", 0.9) <= MOST);
        assert!((shown("bad", 0.9) - (10.0 + 5.0 * 50.0 / 80.0) / 45.0).abs() < 1e-9);
        assert!(shown("bad", 0.5) < shown("bad", 0.9));
        // Nothing is known of it: as good as all are together.
        assert!((shown("new", 0.9) - 50.0 / 80.0).abs() < 1e-9);
    }

    #[test]
    fn without_counts_a_rules_own_number_stays() {
        assert!((HitRates::read("# nothing\n").calibrated("any", 0.7) - 0.7).abs() < 1e-9);
    }

    #[test]
    fn the_table_has_a_line_of_each_kind_that_exists() {
        let ids: Vec<&str> = catalogue().iter().map(|doc| doc.id).collect();
        for id in HIT_RATES.kinds.keys() {
            assert!(ids.contains(id), "{id} is no finding");
        }
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(lines, HIT_RATES.kinds.len(), "a line that cannot be read, or twice the same");
    }
}
