//! What a page reads of a whole recording: first its facts, then its report.

use culprit_engine::accounting;
use culprit_engine::losses;
use culprit_model::{Cause, Label as _, Recording};
use serde::Serialize;

use super::ReportDocument;
use super::findings::RecordingJson;
use super::report::{CheckJson, LossJson, RunJson};
use crate::digest::{Check, Tops};
use crate::palette::{cause_color, group_of};

/// The version of what a page asks the engine and gets.
const FORMAT: u32 = 2;

/// What a page shows at once: all that needs no rule.
#[derive(Debug, Serialize)]
pub struct FactsDocument {
    format: u32,
    recording: RecordingJson,
    /// What the run was mostly waiting for; null where nothing was recorded.
    course: Option<String>,
    /// What the numbers are shares of.
    of: String,
    run: Option<RunJson>,
    checks: Vec<CheckJson>,
    losses: Vec<LossJson>,
    causes: Vec<CauseJson>,
}

impl FactsDocument {
    /// The facts of a recording whose whole run says this.
    #[must_use]
    pub fn new(recording: &Recording, tops: &Tops) -> Self {
        let checks = Check::all(recording, &accounting::accounting(recording));
        Self {
            format: FORMAT,
            recording: RecordingJson::new(recording),
            course: tops.course(),
            of: tops.heading.clone(),
            run: tops.run.as_ref().map(|(parts, whole)| RunJson::new(parts, *whole)),
            checks: checks.into_iter().map(Into::into).collect(),
            losses: losses::lines(&recording.losses).iter().map(Into::into).collect(),
            causes: CauseJson::all(),
        }
    }
}

/// A report as a page reads it.
#[derive(Debug, Serialize)]
pub struct OverviewDocument<C> {
    #[serde(flatten)]
    report: ReportDocument<C>,
    format: u32,
}

impl<C> OverviewDocument<C> {
    /// The report for a page.
    #[must_use]
    pub fn new(report: ReportDocument<C>) -> Self {
        Self { report, format: FORMAT }
    }
}

/// A cause as columns number it.
#[derive(Debug, Serialize)]
struct CauseJson {
    id: u8,
    word: &'static str,
    state: &'static str,
    colour: &'static str,
}

impl CauseJson {
    fn all() -> Vec<Self> {
        let cause = |cause: &Cause| Self {
            id: cause.code(),
            word: cause.word(),
            state: group_of(*cause),
            colour: cause_color(*cause).hex,
        };
        Cause::ALL.iter().map(cause).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::digest_of;
    use crate::filters::run_filter;
    use crate::testing;

    #[test]
    fn facts_are_those_of_the_report() {
        let digest = digest_of(testing::recording(), &run_filter());
        let report = || ReportDocument::<()>::new(&digest, None);
        let facts = serde_json::to_value(FactsDocument::new(&digest.recording, &digest.tops));
        let (facts, whole) = (facts.unwrap(), serde_json::to_value(report()).unwrap());
        for field in ["recording", "of", "run", "checks", "losses"] {
            assert_eq!(facts[field], whole[field], "{field}");
        }
        assert!(facts["course"].as_str().unwrap().starts_with("the run was in "));
        let causes = facts["causes"].as_array().unwrap();
        assert_eq!(causes.len(), Cause::ALL.len());
        assert_eq!(causes[8]["word"], "blocked.lock");
        assert_eq!((&causes[8]["state"], &causes[8]["id"]), (&"blocked".into(), &8.into()));
        assert!(causes[8]["colour"].as_str().unwrap().starts_with('#'));
        let mut with = serde_json::to_value(OverviewDocument::new(report())).unwrap();
        assert_eq!(with.as_object_mut().unwrap().remove("format"), Some(FORMAT.into()));
        assert_eq!(with, whole);
    }
}
