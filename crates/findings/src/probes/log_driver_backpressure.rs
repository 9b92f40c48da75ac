//! `log-driver-backpressure`, as the probe `log` tells it: the same lines with the engine's own driver
//! and with none.

use culprit_model::{Finding, Severity};

use super::finding;
use super::measured::{Measured, MeasuredArm, length};
use crate::rules::log_driver_backpressure::DOC;

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let usual = measured.candidates().filter(|arm| arm.variant.is_none());
    usual.filter_map(|arm| told(measured, arm)).collect()
}

fn told(measured: &Measured<'_>, arm: &MeasuredArm<'_>) -> Option<Finding> {
    let none = measured.sibling(arm, "log-none")?;
    let metric = measured.metric("line_ns")?;
    let difference = measured.worse(arm, none, metric.id)?;
    let title = format!(
        "A printed line takes {} with the log driver of {}, and {} with no driver: {}",
        length(difference.worse),
        arm.place,
        length(difference.better),
        difference.times()
    );
    let facts = difference.facts(metric, [none.label, arm.label]);
    let sure = difference.ratio.interval.coverage;
    Some(finding(&DOC, title, Severity::Medium, sure, facts))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(driver: f64) -> Vec<String> {
        let arms = [
            Arm::host(&[("line_ns", 900.0)]),
            Arm::engine(&[("line_ns", driver)]),
            Arm::engine(&[("line_ns", 1700.0)]).variant("log-none"),
        ];
        measured("log", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn the_driver_is_told_against_none() {
        assert!(of(4500.0)[0].contains("takes 4.5") && of(1705.0).is_empty());
    }
}
