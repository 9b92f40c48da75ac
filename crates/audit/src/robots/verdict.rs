//! Verdicts: the sum of the weights, in bands.

use std::collections::BTreeSet;

use super::counts::GroupCounts;
use super::presets::Preset;
use super::signals::{Fired, Group, PRIOR, PageEvidence};

/// Sum from which a verdict is certain: odds of 100 to 1.
const CERTAIN: f64 = 2.0;
/// Sum from which it is likely: odds of 10 to 1.
const LIKELY: f64 = 1.0;
/// Sum from which it is unsure: odds of 1 to 3.
const UNSURE: f64 = -0.5;
/// Kinds of evidence that a certain verdict needs.
const FAMILIES: usize = 2;

/// What a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// A robot.
    Certain,
    /// Most likely a robot.
    Likely,
    /// Could be either.
    Unsure,
    /// Behaves as people do.
    HumanLike,
    /// A robot that the site wants, from its own network.
    VerifiedHelper,
    /// Not judged: a server's program, an own monitor, an allowed user agent.
    Exempt,
}

impl Band {
    /// All bands.
    pub const ALL: [Self; 6] = [
        Self::Certain,
        Self::Likely,
        Self::Unsure,
        Self::HumanLike,
        Self::VerifiedHelper,
        Self::Exempt,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Unsure => "unsure",
            Self::HumanLike => "human-like",
            Self::VerifiedHelper => "verified helper",
            Self::Exempt => "exempt",
        }
    }

    /// True when reports should not count it: a robot by this preset.
    #[must_use]
    pub fn is_robot(self, preset: Preset) -> bool {
        match self {
            Self::Certain | Self::VerifiedHelper => true,
            Self::Likely => preset != Preset::Strict,
            Self::Unsure | Self::HumanLike | Self::Exempt => false,
        }
    }
}

/// A verdict on a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What it is.
    pub band: Band,
    /// The sum of the weights, the prior included.
    pub score: f64,
    /// The signals that fired.
    pub signals: Vec<Fired>,
    /// The page statistics.
    pub pages: PageEvidence,
    /// Why it is exempt; none when it is not.
    pub exempt: Option<String>,
}

/// Judges a group.
#[must_use]
pub fn judge(group: &Group<'_>, preset: Preset) -> Verdict {
    let signals = group.signals();
    let pages = group.page_evidence();
    let score = signals.iter().fold(PRIOR, |sum, signal| sum + signal.weight);
    let exempt = exemption(group);
    let band = if exempt.is_some() {
        Band::Exempt
    } else if preset == Preset::Classic {
        classic(group.counts, group.thresholds.classic)
    } else if is_verified(group) {
        Band::VerifiedHelper
    } else {
        band(score, &signals)
    };
    Verdict { band, score, signals, pages, exempt }
}

/// Why a group is not judged: a server's programs and own monitors are no visits to begin with.
fn exemption(group: &Group<'_>) -> Option<String> {
    if let Some(entry) = &group.votes.allowed_by {
        return Some(format!("allowed by `{entry}`"));
    }
    // A library that walks through pages, or asks what it may read, reports no events.
    (group.votes.is_library() && !group.crawls).then(|| "an HTTP library of servers".to_owned())
}

fn is_verified(group: &Group<'_>) -> bool {
    let network = group.counts.network.unwrap_or_default();
    // Nine in ten: an address without network, or a new range, does not undo the rest.
    group.votes.claims_helper()
        && network.compared > 0
        && network.verified * 10 >= network.compared * 9
}

fn classic(counts: &GroupCounts, least: u64) -> Band {
    let fires = counts.max_pages <= 1 && counts.interactions > least;
    if fires { Band::Certain } else { Band::HumanLike }
}

fn band(score: f64, signals: &[Fired]) -> Band {
    let families: BTreeSet<_> =
        signals.iter().filter(|signal| signal.weight > 0.0).filter_map(|s| s.family).collect();
    match score {
        score if score >= CERTAIN && families.len() >= FAMILIES => Band::Certain,
        score if score >= LIKELY => Band::Likely,
        score if score >= UNSURE => Band::Unsure,
        _ => Band::HumanLike,
    }
}

#[cfg(test)]
mod tests;
