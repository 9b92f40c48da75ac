//! A rule's page: what `culprit explain` shows of it.

/// A rule's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigRuleDoc {
    /// The finding's stable identifier.
    pub id: &'static str,
    /// One sentence: what it says about a configuration.
    pub claim: &'static str,
    /// What in the sources proves it.
    pub signature: &'static str,
    /// What looks like it and is not reported, a phrase each.
    pub not_reported: &'static [&'static str],
    /// Why it matters.
    pub why: &'static str,
    /// What to do, the most likely first.
    pub fix: &'static [&'static str],
    /// How to see whether the fix worked.
    pub check: &'static str,
}
