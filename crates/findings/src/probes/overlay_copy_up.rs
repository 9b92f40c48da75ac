//! `overlay-copy-up`: the first change of a file in a lower layer copies it whole.
//!
//! Told by the probe `copy-up`, which times `open` apart and has the bytes that were written meanwhile
//! counted by the kernel.

use culprit_model::{Finding, Severity};

use super::finding;
use super::measured::{Difference, Measured, MeasuredArm, length};
use crate::rule::{Group, RuleDoc, Specificity, Threshold, fact};

/// How many times as long the first open must take as the second, in the same arm.
const LEAST_RATIO: f64 = 2.0;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "overlay-copy-up",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    claim: "The first change of a file that lies in a lower layer copies the whole file, in `open`.",
    signature: "`culprit bench copy-up`: the first open for writing takes long and the second does not, \
                and the kernel counts as many bytes written during that open as the file has.",
    why: "An overlay keeps changes in its upper layer. A file of the image is copied there before it is \
          changed for the first time, also for a change of its mode or owner, and the copy is synced. \
          The time is charged to open(2) or chmod(2), never to write(2), and grows with the file's \
          size, not with the change's.",
    fix: "Put files that change into a volume, or make them when the container starts instead of in the \
          image. Open without write access what is only read. Change modes and owners in the same build \
          step that adds the file (`COPY --chown`, `--chmod`), never by `chmod -R` at the start.",
    check: "culprit bench copy-up --place docker:IMAGE --at layer --at volume",
    thresholds: &[Threshold {
        what: "first open of a file against the second, in the same place",
        value: LEAST_RATIO,
        unit: "ratio",
        reason: "The bytes that were copied are the evidence; the ratio only leaves out copies that \
                 nobody notices.",
        source: "64 KiB files: 1.9 to 13 ms against 0.02 ms",
    }],
};

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
        "{}: {} takes {} the first time and {} the second: the open copies the file",
        arm.label,
        metric.name,
        length(largest.difference.worse),
        length(largest.second),
    );
    let mut facts = vec![
        fact("bytes written by the open", largest.bytes, "bytes"),
        fact("the second open (median)", largest.second, "ns"),
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
