//! `cpu-quota-throttling`, as a probe tells it: by the kernel's counters, in the arms that have a quota.

use culprit_model::{Finding, Severity};

use super::finding;
use super::measured::{Measured, MeasuredArm, length};
use crate::rule::fact;
use crate::rules::cpu_quota_throttling::{DOC, MIN_THROTTLED};

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let of_quota = measured.candidates().filter(|_| measured.probe == "quota");
    of_quota.filter_map(|arm| told(measured, arm)).collect()
}

fn told(measured: &Measured<'_>, arm: &MeasuredArm<'_>) -> Option<Finding> {
    let throttled = arm.median("throttled_share").filter(|share| *share >= MIN_THROTTLED)?;
    let chunk = measured.metric("chunk_ns.p50")?;
    let took = arm.median(chunk.id)?;
    let title = format!(
        "The CPU quota of {} throttled the work in {:.0} % of its periods; {} took {}",
        arm.label,
        throttled * 100.0,
        chunk.name,
        length(took)
    );
    let mut facts = vec![fact("share of periods that were throttled", throttled, "share")];
    for (id, what, unit) in [
        ("throttled_ns", "throttled time in a round", "ns"),
        ("periods", "periods of the quota in a round", "count"),
        ("quota_cpus", "CPUs that the quota allows", "CPUs"),
    ] {
        facts.extend(arm.median(id).map(|value| fact(what, value, unit)));
    }
    facts.push(fact(format!("{}, wall time (median)", chunk.name), took, "ns"));
    // The counters are exact, whatever times say.
    Some(finding(&DOC, title, Severity::High, 0.99, facts))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(throttled: f64) -> Vec<String> {
        let arms = [
            Arm::host(&[("chunk_ns.p50", 30e6), ("throttled_share", 0.0)]),
            Arm::engine(&[("chunk_ns.p50", 92e6), ("throttled_share", throttled)]),
        ];
        measured("quota", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn counters_tell() {
        assert!(of(0.93)[0].contains("in 93 % of its periods"), "{:?}", of(0.93));
        assert!(of(0.01).is_empty());
    }
}
