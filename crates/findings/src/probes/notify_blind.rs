//! `notify-blind`: a watch in the place does not hear of writes that come from the host.
//!
//! Told by the probe `notify`: one write by the place itself, which is heard, and one by the host into
//! the same folder, which is not.

use culprit_model::{Finding, Severity};

use super::finding;
use super::measured::{Measured, MeasuredArm};
use crate::rule::{Group, RuleDoc, Specificity, fact};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "notify-blind",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "A file watch (inotify) in the place gets no event for files that the host writes into \
            the same folder.",
    signature: "`culprit bench notify` writes into the watched folder from the place and from the \
                host. In every round the watch reports the place's write and misses the host's.",
    not_reported: &["a watch that misses the place's own writes, too"],
    why: "inotify reports changes through the inode that is watched. A write below an overlay, or \
          on the other side of a network or shared-folder file system, goes through another inode. \
          The watch gets no event, although a read shows the new data.",
    fix: &[
        "Write through the same view that is watched: `docker cp` or `docker exec`.",
        "Share the folder as a volume of the same kernel.",
        "Let the watcher poll: `CHOKIDAR_USEPOLLING=1`, `WATCHPACK_POLLING=true` or the like.",
    ],
    check: "culprit bench notify --place docker:IMAGE --at layer --at volume; the arm that you use \
            must not have this finding",
    thresholds: &[],
};

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    measured.candidates().filter_map(told).collect()
}

fn told(arm: &MeasuredArm<'_>) -> Option<Finding> {
    let always = |id: &str, value: f64| {
        let mut heard = arm.rounds.iter().flatten().filter_map(|values| values.get(id)).peekable();
        heard.peek().is_some() && heard.all(|share| (share - value).abs() < f64::EPSILON)
    };
    (always("heard.from_place", 1.0) && always("heard.from_host", 0.0)).then(|| {
        let title = format!(
            "{}: a file watch reports the place's own writes and misses the host's writes",
            arm.label
        );
        let rounds = arm.rounds.iter().flatten().count() as f64;
        let facts = vec![fact("rounds, all with this result", rounds, "count")];
        finding(&DOC, title, Severity::Medium, 0.95, facts)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::measured::PlaceKind;

    fn of(from_place: f64, from_host: Option<f64>) -> bool {
        let values = [("heard.from_place", Some(from_place)), ("heard.from_host", from_host)];
        let round = values.into_iter().filter_map(|(id, value)| Some((id, value?))).collect();
        let arm = MeasuredArm {
            label: "x layer",
            place: "x".into(),
            kind: PlaceKind::Engine,
            is_control: false,
            location: "layer",
            storage: None,
            variant: None,
            rounds: vec![Some(round)],
        };
        told(&arm).is_some()
    }

    #[test]
    fn only_what_the_host_writes_must_go_unheard() {
        assert!(of(1.0, Some(0.0)));
        assert!(!of(1.0, Some(1.0)) && !of(0.0, Some(0.0)) && !of(1.0, None));
    }
}
