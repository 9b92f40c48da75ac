//! `overlay-copy-up`, as the probe `copy-up` tells it: it times `open` apart and has the bytes that were
//! written meanwhile counted by the kernel.

use culprit_model::{Finding, Severity};

use super::finding;
use super::measured::{Difference, Measured, MeasuredArm, length};
use crate::rule::fact;
use crate::rules::overlay_copy_up::{DOC, LEAST_RATIO};

const OPEN: &str = "open_ns.";

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    measured.candidates().filter_map(|arm| told(measured, arm)).collect()
}

/// One size of a file that was copied.
struct Copied<'m> {
    open: &'m str,
    difference: Difference,
    second: f64,
    bytes: f64,
}

fn told(measured: &Measured<'_>, arm: &MeasuredArm<'_>) -> Option<Finding> {
    let baseline = measured.arms.first()?;
    let opens = measured.metrics.iter().filter_map(|metric| metric.id.strip_prefix(OPEN));
    let copied = opens.filter_map(|size| {
        let open = measured.metric(&format!("{OPEN}{size}"))?.id;
        let copied = Copied {
            open,
            difference: measured.worse(arm, baseline, open)?,
            second: arm.median(&format!("second_open_ns.{size}"))?,
            bytes: arm.median(&format!("open_copied_bytes.{size}"))?,
        };
        let again = copied.difference.worse / copied.second.max(1.0);
        (copied.bytes > 0.0 && again >= LEAST_RATIO).then_some(copied)
    });
    let largest = copied.max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
    let metric = measured.metric(largest.open)?;
    let title = format!(
        "{}: the first open copies the file: {} takes {} the first time and {} the second",
        arm.label,
        metric.name,
        length(largest.difference.worse),
        length(largest.second),
    );
    let mut facts = vec![
        fact("bytes written during the first open", largest.bytes, "bytes"),
        fact("second open (median)", largest.second, "ns"),
    ];
    facts.extend(largest.difference.facts(metric, [baseline.label, arm.label]));
    let sure = largest.difference.ratio.interval.coverage;
    Some(finding(&DOC, title, Severity::High, sure, facts))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(bytes: f64, second: f64) -> Vec<String> {
        let host =
            [("open_ns.64m", 8e3), ("second_open_ns.64m", 7e3), ("open_copied_bytes.64m", 0.0)];
        let layer = [
            ("open_ns.64m", 90e6),
            ("second_open_ns.64m", second),
            ("open_copied_bytes.64m", bytes),
        ];
        let arms = [Arm::host(&host), Arm::engine(&layer).at("layer")];
        measured("copy-up", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn a_copy_is_told_by_its_bytes() {
        let told = of(67_108_864.0, 20e3);
        assert!(
            told[0].contains("takes 90.4 ms the first time and 20.1 us the second"),
            "{told:?}"
        );
    }

    #[test]
    fn a_slow_open_that_copies_nothing_is_another_matter() {
        assert!(of(0.0, 20e3).is_empty());
        assert!(of(67_108_864.0, 80e6).is_empty());
    }
}
