//! A probe's answer as the rules of findings read it.

use culprit_engine::stats::Bands;
use culprit_findings::{
    Measured, MeasuredArm, MeasuredFindings, MeasuredMetric, MeasuredRatio, PlaceKind,
    find_measured,
};
use culprit_place::PlaceSpec;
use culprit_probe::{Answer, ArmSamples, Better, Role};

/// What a probe's answer says about its places.
#[must_use]
pub fn measured_findings(answer: &Answer) -> MeasuredFindings {
    find_measured(&Measured {
        probe: answer.probe,
        metrics: metrics(answer),
        // `disk` says which files; the others make new ones.
        fresh_files: answer.workload["files"]
            .as_str()
            .is_none_or(|files| files == "own-each-round"),
        arms: answer.arms.iter().map(arm).collect(),
        ratios: ratios(answer),
    })
}

/// The bands that the answer judged by; of a metric that nothing was compared by, none is known and
/// none is needed.
fn metrics(answer: &Answer) -> Vec<MeasuredMetric<'_>> {
    let bands = |metric: usize| {
        let row = answer.comparisons.iter().find(|row| row.metric == metric);
        row.map_or(Bands::one(0.0), |row| row.bands)
    };
    let metric = |(at, metric): (usize, &culprit_probe::Metric)| MeasuredMetric {
        id: metric.id,
        name: metric.name,
        unit: metric.unit.id(),
        higher_is_better: metric.better == Better::Higher,
        judged: metric.is_judged(),
        bands: bands(at),
    };
    answer.metrics.iter().enumerate().map(metric).collect()
}

fn arm(samples: &ArmSamples) -> MeasuredArm<'_> {
    let arm = &samples.arm;
    let values = samples.samples.iter().map(|sample| {
        sample
            .as_ref()
            .map(|sample| sample.values.iter().map(|(id, value)| (*id, *value)).collect())
    });
    MeasuredArm {
        label: &arm.label,
        place: arm.asked.to_string(),
        kind: match arm.asked {
            PlaceSpec::Host { .. } => PlaceKind::Host,
            PlaceSpec::Sandbox { .. } => PlaceKind::Sandbox,
            PlaceSpec::Engine { .. } => PlaceKind::Engine,
            PlaceSpec::Container { .. } => PlaceKind::Container,
        },
        is_control: arm.role.is_control(),
        location: arm.location,
        variant: arm.variant,
        storage: samples.storage.as_deref(),
        rounds: values.collect(),
    }
}

fn ratios(answer: &Answer) -> Vec<MeasuredRatio> {
    let judged = answer.comparisons.iter().filter(|row| {
        answer.metrics[row.metric].is_judged() && answer.arms[row.arm].arm.role == Role::Candidate
    });
    judged
        .map(|row| MeasuredRatio {
            arm: row.arm,
            metric: row.metric,
            value: row.value,
            interval: row.interval,
            verdict: row.verdict,
            rounds: row.rounds,
        })
        .collect()
}
