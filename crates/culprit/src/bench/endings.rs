//! How commands end. A command that fails does other work than one that succeeds, so that their times say
//! nothing about each other.

use culprit_engine::stats::Verdict;

use super::answer::{Answer, ArmRuns, Comparison};

/// The verdict in documents where a command failed.
pub(crate) const FAILED: &str = "failed";

impl ArmRuns {
    /// `fails in 5 of 5 runs (exit status 3)`; none where every run succeeds.
    pub(crate) fn failures(&self) -> Option<String> {
        let mut exits: Vec<String> = Vec::new();
        let failed = self.runs.iter().filter(|run| !run.exit.success());
        let count = failed.clone().count();
        for run in failed {
            let exit = run.exit.to_string();
            if !exits.contains(&exit) {
                exits.push(exit);
            }
        }
        let runs = self.runs.len();
        (count > 0).then(|| format!("fails in {count} of {runs} runs ({})", exits.join(", ")))
    }

    /// Whether every run ends as the other command's run of the same round.
    fn ends_as(&self, other: &Self) -> bool {
        let code =
            |arm: &Self| arm.runs.iter().map(|run| run.exit.shell_code()).collect::<Vec<_>>();
        code(self) == code(other)
    }
}

impl Answer {
    /// The verdict of a comparison; none where the commands end differently.
    pub(crate) fn verdict(&self, row: &Comparison) -> Option<Verdict> {
        self.end_alike(row.arm).then_some(row.ratio.verdict)
    }

    /// The same in documents.
    pub(crate) fn verdict_id(&self, row: &Comparison) -> String {
        self.verdict(row).map_or_else(|| FAILED.to_owned(), |verdict| verdict.to_string())
    }

    /// Whether an arm's runs end as those of the baseline.
    pub(crate) fn end_alike(&self, arm: usize) -> bool {
        let arms = self.arms.first().zip(self.arms.get(arm));
        arms.is_none_or(|(baseline, arm)| arm.ends_as(baseline))
    }
}

/// Why a command has no verdict against another.
pub(super) fn no_verdict(here: &ArmRuns, there: &ArmRuns) -> String {
    let (this, that) = (&here.short, &there.short);
    match (here.failures(), there.failures()) {
        (Some(fails), None) => format!("{this} {fails}: no verdict."),
        (None, Some(fails)) => format!("{that} {fails}: no verdict on {this}."),
        (fails, others) => format!(
            "{this} {} and {that} {}: no verdict.",
            fails.unwrap_or_default(),
            others.unwrap_or_default()
        ),
    }
}
