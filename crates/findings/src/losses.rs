//! Losses of a recording as statements: which kinds belong to which quality finding, and how one
//! is worded.

use culprit_model::{Loss, LossKind, LossSeverity, Severity};

use crate::evidence::Evidence;
use crate::rule::{Claim, RuleDoc};

/// The losses of some kinds.
pub(crate) fn of_kinds<'a>(evidence: &Evidence<'a>, kinds: &[LossKind]) -> Vec<&'a Loss> {
    evidence.recording.losses.iter().filter(|l| kinds.contains(&l.kind)).collect()
}

/// A statement about some losses: each kind's count and advice; none when there are none.
pub(crate) fn statement(doc: &'static RuleDoc, title: &str, losses: &[&Loss]) -> Option<Claim> {
    const SHOWN: usize = 8;
    let severity = losses.iter().map(|l| l.kind.severity()).max().map(severity)?;
    let mut claim = Claim::statement(doc, title.to_owned(), severity);
    let mut advice: Vec<&str> = Vec::new();
    let mut largest = losses.to_vec();
    largest.sort_by_key(|loss| std::cmp::Reverse(loss.count));
    for loss in largest.iter().take(SHOWN) {
        let detail =
            if loss.detail.is_empty() { String::new() } else { format!(": {}", loss.detail) };
        claim = claim.fact(format!("{}{detail}", loss.kind), loss.count as f64, "count");
    }
    if let Some(more) = losses.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        claim = claim.fact("losses that are not listed", more as f64, "count");
    }
    for loss in losses {
        if !advice.contains(&loss.kind.advice()) {
            advice.push(loss.kind.advice());
        }
    }
    let advice = advice.join("; ");
    claim.fix = format!("For this recording: {advice}.");
    Some(claim)
}

/// How much a loss matters to a reader.
fn severity(loss: LossSeverity) -> Severity {
    match loss {
        LossSeverity::Error => Severity::Medium,
        LossSeverity::Loss => Severity::Low,
        LossSeverity::Notice | LossSeverity::Info => Severity::Info,
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Loss, LossKind, Recording, Rung, Severity};

    use crate::scene::{Scene, first, told};

    /// A program of which a share of the time has no name, with one loss.
    fn with(kind: LossKind, unnamed_ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 1000 - unnamed_ms, Cause::CpuUser, "main;work");
        scene.run(main, unnamed_ms, Cause::CpuUser, "main;lib.so!?");
        let mut recording = scene.done();
        recording.losses.push(Loss { kind, count: 3, from: None, to: None, detail: "here".into() });
        recording
    }

    #[test]
    fn each_kind_of_limit_is_told_with_its_advice() {
        for (kind, id, severity) in [
            (LossKind::SwitchesLost, "recording-lost", Severity::Medium),
            (LossKind::StacksTruncated, "stacks-truncated", Severity::Info),
            (LossKind::SymbolsMissing, "symbols-missing", Severity::Info),
            (LossKind::WakersMissing, "rights-missing", Severity::Low),
        ] {
            let found = first(&with(kind, 100), id).unwrap_or_else(|| panic!("{id} is not told"));
            assert_eq!(found.severity, severity, "{id}");
            assert!(found.fix[0].contains(kind.advice()), "{id}: {:?}", found.fix);
            assert_eq!((found.cost.0, &*found.evidence[0].what), (0, &*format!("{kind}: here")));
        }
    }

    #[test]
    fn a_stripped_library_that_takes_no_time_is_not_told() {
        assert_eq!(told(&with(LossKind::SymbolsMissing, 10)), ["hot-function 990"]);
    }

    #[test]
    fn a_lower_rung_is_told_with_what_would_lift_it() {
        let mut recording = with(LossKind::KernelStacksMissing, 0);
        recording.meta.rung = Rung::UserOnly;
        recording.meta.degraded = vec!["perf_event_paranoid is 2: set it to 1.".into()];
        let found = first(&recording, "rights-missing").expect("told");
        assert!(found.title.contains("user-only"), "{}", found.title);
        assert!(found.fix[0].starts_with("perf_event_paranoid is 2"), "{:?}", found.fix);
    }
}
