//! `unexplained`: what no other rule explains, by cause.

use culprit_model::{Cause, Severity};

use crate::evidence::{Evidence, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct Unexplained;

/// Share of the measured time from which what is left of a cause is listed.
const MIN_LEFT: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "unexplained",
    group: Group::Quality,
    specificity: Specificity::Remainder,
    yields_to: &[],
    claim: "Time that no other finding explains, with the functions in which it passes.",
    signature: "A cause with at least 5 % of the measured time is left when all other rules have \
                taken what they explain.",
    not_reported: &["causes with less time than that"],
    why: "No rule knows this mechanism, or the time is spread over many functions. The cause and the \
          functions are measured all the same.",
    fix: &[
        "Look at the functions listed: `culprit tree REC --metric CAUSE` shows their callers.",
        "If a file is read or written there, record again with `--io`, which names it.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the time of this cause in `culprit report \
            fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "share of the measured time from which a cause is listed",
        value: MIN_LEFT,
        unit: "share",
        reason: "Below, the difference between two runs is larger than what could be gained.",
        source: "the limit of low severity",
    }],
};

impl Rule for Unexplained {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let all: Vec<SegmentId> = evidence.chain.iter().map(|(id, _)| id).collect();
        let by_cause = tally::by(evidence, &all, |s| Some(evidence.of_segment(s).cause));
        by_cause.into_iter().map(|t| claim(evidence, t.key, t.segments)).collect()
    }
}

fn claim(evidence: &Evidence<'_>, cause: Cause, segments: Vec<SegmentId>) -> Claim {
    let whole = evidence.chain.whole;
    let title =
        format!("{COST} of {whole} ({PERCENT}) of {cause} is explained by no other finding");
    let claim = Claim::new(&DOC, title, Vec::new()).share_of(whole).at(Site::Entry).sure(0.9);
    Claim { segments, listed_from: MIN_LEFT, at_most: Severity::Info, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Severity};

    #[test]
    fn what_no_rule_takes_is_listed_last_with_its_functions() {
        let mut scene = Scene::default();
        let main = scene.program("writer", None, 0);
        let write = "main;save;libc.so.6!write;k:ksys_write;k:vfs_write;k:jbd2_journal_start";
        scene.wait(main, 60, Cause::Disk, write, End::Disk);
        scene.run(main, 40, Cause::CpuUser, "main;compute");
        let recording = scene.done();
        let report = crate::find(&recording, &crate::Options::default());
        let ids: Vec<_> = report.findings.iter().map(|found| found.id).collect();
        assert_eq!(ids, ["hot-function", "unexplained"]);
        let found = first(&recording, "unexplained").expect("found");
        assert_eq!(found.severity, Severity::Info);
        assert_eq!(&*found.at[0].function, "save");
        assert!((report.explained_share - 0.4).abs() < 0.01, "{}", report.explained_share);
    }

    #[test]
    fn little_of_a_cause_is_not_listed() {
        let mut scene = Scene::default();
        let main = scene.program("writer", None, 0);
        scene.wait(main, 4, Cause::Disk, "main;save;k:ksys_write;k:vfs_write", End::Disk);
        scene.run(main, 96, Cause::CpuUser, "main;compute");
        assert!(first(&scene.done(), "unexplained").is_none());
    }
}
