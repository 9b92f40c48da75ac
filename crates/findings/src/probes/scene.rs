//! Small answers for the tests of rules.

use std::collections::BTreeMap;

use culprit_engine::stats::{Bands, compare_paired};

use super::measured::{Measured, MeasuredArm, MeasuredMetric, MeasuredRatio, PlaceKind};

/// An arm: its middle values by metric.
pub(super) struct Arm {
    kind: PlaceKind,
    location: &'static str,
    storage: Option<&'static str>,
    variant: Option<&'static str>,
    values: Vec<(&'static str, f64)>,
}

impl Arm {
    pub(super) fn host(values: &[(&'static str, f64)]) -> Self {
        let (kind, values) = (PlaceKind::Host, values.to_vec());
        Self { kind, location: "folder", storage: None, variant: None, values }
    }

    pub(super) fn engine(values: &[(&'static str, f64)]) -> Self {
        Self { kind: PlaceKind::Engine, location: "layer", ..Self::host(values) }
    }

    pub(super) fn at(mut self, location: &'static str) -> Self {
        self.location = location;
        self
    }

    pub(super) fn on(mut self, storage: &'static str) -> Self {
        self.storage = Some(storage);
        self
    }

    pub(super) fn variant(mut self, variant: &'static str) -> Self {
        self.variant = Some(variant);
        self
    }
}

/// Rounds that differ by up to 1 %, in an order of its own for each arm.
const ROUNDS: usize = 12;

/// Gives an answer of these arms to a rule.
pub(super) fn measured<T>(probe: &str, arms: &[Arm], rule: impl FnOnce(&Measured<'_>) -> T) -> T {
    measured_in(ROUNDS, probe, arms, rule)
}

/// The same after so many rounds.
pub(super) fn measured_in<T>(
    rounds: usize,
    probe: &str,
    arms: &[Arm],
    rule: impl FnOnce(&Measured<'_>) -> T,
) -> T {
    let labels: Vec<String> =
        arms.iter().enumerate().map(|(at, arm)| format!("arm {at} {}", arm.location)).collect();
    let bands = Bands::one(0.05);
    let metric = |id: &'static str| MeasuredMetric {
        id,
        name: id,
        unit: "ns",
        higher_is_better: false,
        judged: true,
        bands,
    };
    let metrics: Vec<_> = arms[0].values.iter().map(|(id, _)| metric(id)).collect();
    let of = |(at, arm): (usize, &Arm)| {
        let round = |n: usize| {
            let noise = 1.0 + ((n * 7 + at * 5) % ROUNDS) as f64 / ROUNDS as f64 / 100.0;
            let values = arm.values.iter().map(|(id, value)| (*id, value * noise));
            Some(values.collect::<BTreeMap<&str, f64>>())
        };
        MeasuredArm {
            label: &labels[at],
            place: if arm.kind == PlaceKind::Host { "host" } else { "docker:x" }.to_owned(),
            kind: arm.kind,
            is_control: false,
            location: arm.location,
            storage: arm.storage,
            variant: arm.variant,
            rounds: (0..rounds).map(round).collect(),
        }
    };
    let told: Vec<MeasuredArm<'_>> = arms.iter().enumerate().map(of).collect();
    let mut ratios = Vec::new();
    for (position, metric) in metrics.iter().enumerate() {
        for (at, arm) in told.iter().enumerate().skip(1) {
            let values = |arm: &MeasuredArm<'_>| {
                let rounds = arm.rounds.iter().flatten();
                rounds.map(|values| values[metric.id]).collect::<Vec<_>>()
            };
            let ratio = compare_paired(&values(&told[0]), &values(arm), bands);
            ratios.extend(ratio.map(|ratio| MeasuredRatio {
                arm: at,
                metric: position,
                value: ratio.value,
                interval: ratio.interval,
                verdict: ratio.verdict,
                rounds: ratio.rounds,
            }));
        }
    }
    rule(&Measured { probe, metrics, fresh_files: true, arms: told, ratios })
}
