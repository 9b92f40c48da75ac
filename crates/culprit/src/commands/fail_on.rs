//! `--fail-on`: which findings turn the exit code to 1.

use culprit_model::{Finding, Severity};

use crate::failure::{Failure, Outcome};

/// What the user asked to fail on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailOn {
    /// A finding of this severity or above that costs time.
    Severity(Severity),
    /// A finding of this id.
    Id(String),
}

impl FailOn {
    /// Reads the option, if it was given.
    ///
    /// # Errors
    /// When it is neither a severity nor a finding's id.
    pub(crate) fn parse(text: Option<&str>) -> Result<Option<Self>, Failure> {
        let Some(text) = text else { return Ok(None) };
        if let Ok(severity) = text.parse() {
            return Ok(Some(Self::Severity(severity)));
        }
        if culprit_findings::catalogue().iter().any(|doc| doc.id == text) {
            return Ok(Some(Self::Id(text.to_owned())));
        }
        Err(Failure::bad_input(format!(
            "cannot use `--fail-on {text}`: unknown severity or finding"
        ))
        .hint(
            "give a severity (info, low, medium, high) or a finding; `culprit explain` lists them",
        ))
    }

    fn holds(&self, finding: &Finding) -> bool {
        match self {
            Self::Severity(severity) => finding.severity >= *severity,
            Self::Id(id) => finding.id == id,
        }
    }
}

/// How the command ends, given what it found.
pub(crate) fn outcome(wanted: Option<&FailOn>, findings: &[Finding]) -> Outcome {
    match wanted {
        Some(wanted) if findings.iter().any(|finding| wanted.holds(finding)) => Outcome::Found,
        _ => Outcome::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_and_ids_are_told_apart_and_others_refused() {
        assert_eq!(FailOn::parse(Some("high")).unwrap(), Some(FailOn::Severity(Severity::High)));
        let id = FailOn::parse(Some("poll-sleep-loop")).unwrap();
        assert_eq!(id, Some(FailOn::Id("poll-sleep-loop".to_owned())));
        assert!(FailOn::parse(Some("severe")).is_err());
        assert_eq!(FailOn::parse(None).unwrap(), None);
    }
}
