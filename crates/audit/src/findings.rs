//! What the reports say as findings, in the form of all others. Their pages are those of
//! `culprit explain`.
//!
//! Nothing here takes time, so the cost is zero; the share is that of the interactions, contacts or
//! bytes concerned.

use culprit_model::{Evidence, Finding, Nanos, Severity, counted};

use crate::blacklist::BlacklistReport;
use crate::bloat::BloatReport;
use crate::orphans::OrphanReport;
use crate::robots::formulas::{float, share};
use crate::robots::{Baseline, RobotReport};
use crate::visits::VisitReport;

/// Share from which a finding is of medium severity: reports are visibly wrong.
const MEDIUM: f64 = 0.05;
/// Share from which it is of high severity: one number in five is wrong.
const HIGH: f64 = 0.2;
/// The least share that is a finding, as for recordings.
const LEAST: f64 = 0.01;
/// Size from which one value is oversized: the longest address that all browsers accept.
const OVERSIZED_BYTES: u64 = 2048;
/// Part of all facet bytes from which the values of one path are bloat.
const BLOAT_SHARE: f64 = 0.2;

fn severity(share: f64) -> Severity {
    match share {
        share if share >= HIGH => Severity::High,
        share if share >= MEDIUM => Severity::Medium,
        _ => Severity::Low,
    }
}

fn fact(what: &str, value: f64, unit: &str) -> Evidence {
    Evidence { what: what.into(), value, unit: unit.into() }
}

/// The parts of a finding that differ between the rules.
struct Parts {
    id: &'static str,
    title: String,
    share: f64,
    confidence: f64,
    evidence: Vec<Evidence>,
    why: &'static str,
    fix: &'static [&'static str],
    check: &'static str,
}

impl From<Parts> for Finding {
    fn from(parts: Parts) -> Self {
        Self {
            id: parts.id,
            title: parts.title,
            severity: severity(parts.share),
            confidence: parts.confidence,
            cost: Nanos::ZERO,
            share: parts.share,
            at: Vec::new(),
            evidence: parts.evidence,
            why: parts.why.to_owned(),
            fix: parts.fix.iter().map(|fix| (*fix).to_owned()).collect(),
            check: parts.check.to_owned(),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

impl RobotReport {
    /// `robots-in-reports`, when robots make at least 1 % of the interactions.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let share = self.robot_share();
        let mut evidence = vec![
            fact("interactions of robots", self.robot_interactions(), "count"),
            fact("interactions", float(self.interactions), "count"),
            fact("of these in mixed groups", self.mixed_interactions, "count"),
            fact("groups that pass by chance", self.chance_hits, "count"),
        ];
        if let Baseline::Rate { q, .. } = self.baseline {
            evidence.push(fact("single-page rate of people", q, "share"));
        }
        // Without the rate of people only lists speak.
        let confidence = if self.baseline.rate().is_some() { 0.9 } else { 0.6 };
        (share >= LEAST).then(|| {
            Finding::from(Parts {
                id: "robots-in-reports",
                title: format!(
                    "Robots make {} of {} interactions",
                    percent(share),
                    self.interactions
                ),
                share,
                confidence,
                evidence,
                why: "Reports count each robot's visit as a visitor with one page. Mean pages, \
                      conversion and visits per place are wrong by that.",
                fix: &[
                    "exclude the certain groups in the reports",
                    "add their user agents to the site's list of robots, exactly as stored",
                    "stop them at the edge, before a visit is stored",
                ],
                check: "culprit audit impact STORE",
            })
        })
    }
}

impl BlacklistReport {
    /// `blacklist-leak`, when an entry misses a stored user agent that it means.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let leaks: usize = self.entries.iter().map(|entry| entry.leaks.len()).sum();
        let unseen = self.entries.iter().filter(|entry| entry.is_unseen()).count();
        let leak = self.entries.iter().find(|entry| !entry.leaks.is_empty())?;
        let share = share(self.leaked_interactions, self.interactions);
        Some(Finding::from(Parts {
            id: "blacklist-leak",
            title: format!(
                "The list of robots misses {}; line {} misses one by {}",
                counted(leaks as u64, "user agent"),
                leak.line,
                leak.leaks[0].differs
            ),
            share,
            confidence: 1.0,
            evidence: vec![
                fact("interactions that pass", float(self.leaked_interactions), "count"),
                fact("user agents that pass", float(leaks as u64), "count"),
                fact("entries that no stored visit is like", float(unseen as u64), "count"),
            ],
            why: "The list is compared letter by letter. An entry in another case, with another \
                  blank or with an entity excludes nobody.",
            fix: &[
                "apply the patch that `--patch` prints",
                "compare without case, if the program can",
            ],
            check: "culprit audit blacklist STORE --list FILE",
        }))
    }
}

impl OrphanReport {
    /// `contacts-without-interactions`, when they are at least 1 % of the contacts.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let share = self.without_share();
        (share >= LEAST).then(|| {
            Finding::from(Parts {
                id: "contacts-without-interactions",
                title: format!(
                    "{} of {} contacts ({}) have no interaction",
                    self.without,
                    self.contacts,
                    percent(share)
                ),
                share,
                confidence: 1.0,
                evidence: vec![
                    fact("contacts without interactions", float(self.without), "count"),
                    fact("of these known by name", float(self.without_known), "count"),
                    fact("bytes of their facets", float(self.without_bytes), "bytes"),
                ],
                why: "A contact without interactions is in every count of contacts and in no \
                      report of visits. It is stored, indexed and backed up.",
                fix: &[
                    "find out which import or clean-up leaves them behind",
                    "delete those that are not known by name",
                ],
                check: "culprit audit orphans STORE",
            })
        })
    }
}

impl BloatReport {
    /// `oversized-values`: single values above 2 KiB, or texts of one path that are a fifth of all
    /// bytes.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let texts = self.paths.iter().filter(|path| path.kind == "text");
        let large = texts.clone().filter(|path| path.sizes.max > OVERSIZED_BYTES);
        let heavy = texts.filter(|path| path.sizes.share >= BLOAT_SHARE);
        let worst = large.max_by_key(|path| path.sizes.max);
        let worst = worst.or_else(|| heavy.max_by_key(|path| path.sizes.bytes))?;
        Some(Finding::from(Parts {
            id: "oversized-values",
            title: format!(
                "`{}` has a value of {} bytes; its texts are {} of all facet bytes",
                worst.path,
                worst.sizes.max,
                percent(worst.sizes.share)
            ),
            share: worst.sizes.share,
            confidence: 1.0,
            evidence: vec![
                fact("largest value", float(worst.sizes.max), "bytes"),
                fact("values of the path", float(worst.sizes.values), "count"),
                fact("bytes of the path", float(worst.sizes.bytes), "bytes"),
                fact(
                    "bytes that repeat earlier values",
                    float(worst.repeated_bytes.unwrap_or(0)),
                    "bytes",
                ),
            ],
            why: "No limit holds the value back. Each copy is stored, sent and parsed again with \
                  every visit of the contact.",
            fix: &[
                "cut the value before it is stored, at the limit that `culprit audit cap` suggests",
                "store a referrer without its query",
            ],
            check: "culprit audit bloat STORE",
        }))
    }
}

impl VisitReport {
    /// `visits-undercounted`, when the cache of the published query loses at least 1 % of the
    /// contacts.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let published = &self.published;
        let lost = published.contacts.saturating_sub(published.cached_contacts);
        let share = share(lost, published.contacts);
        (share >= LEAST).then(|| {
            Finding::from(Parts {
                id: "visits-undercounted",
                title: format!(
                    "A query over InteractionsCache misses {lost} of {} contacts ({})",
                    published.contacts,
                    percent(share)
                ),
                share,
                confidence: 0.8,
                evidence: vec![
                    fact("contacts from the place", float(published.contacts), "count"),
                    fact(
                        "contacts that the cache shows",
                        float(published.cached_contacts),
                        "count",
                    ),
                    fact("interactions that the query counts", float(published.sessions), "count"),
                    fact("interactions from the place", float(published.own_sessions), "count"),
                ],
                why: "The cache keeps 42 interactions of the last 30 days of a contact. Older and \
                      busier contacts drop out, and visits from elsewhere are counted.",
                fix: &[
                    "count interactions by their own address instead of the contact's cache",
                    "ask `culprit audit visits`, which does so",
                ],
                check: "culprit audit visits STORE --place PLACE --explain",
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_follows_the_share() {
        let of = |share| severity(share).to_string();
        assert_eq!([of(0.01), of(0.05), of(0.2)], ["low", "medium", "high"]);
    }

    #[test]
    fn orphans_are_a_finding_from_one_in_a_hundred() {
        let report = |without| OrphanReport { contacts: 1000, without, ..OrphanReport::default() };
        assert!(report(9).finding().is_none());
        let found = report(75).finding().unwrap();
        assert!(found.title.starts_with("75 of 1000 contacts (7.5 %)"), "{}", found.title);
        assert_eq!((found.share, found.severity), (0.075, Severity::Medium));
    }
}
