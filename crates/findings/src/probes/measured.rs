//! A probe's answer as rules read it.

use std::collections::BTreeMap;

use culprit_engine::stats::{
    Bands, Interval, Ratio, Verdict, compare_paired, median, settle_family,
};
use culprit_model::{Evidence as Fact, Nanos};

use crate::rule::fact;

/// What kind of place an arm runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// The machine itself.
    Host,
    /// An overlay in a namespace of its own, without an engine.
    Sandbox,
    /// A container made for the probe.
    Engine,
    /// A container that was there.
    Container,
}

/// A probe's answer.
#[derive(Debug, Clone)]
pub struct Measured<'a> {
    /// The probe's name.
    pub probe: &'a str,
    /// What was measured.
    pub metrics: Vec<MeasuredMetric<'a>>,
    /// Whether every arm had files of its own in every round.
    pub fresh_files: bool,
    /// The arms, the baseline first.
    pub arms: Vec<MeasuredArm<'a>>,
    /// Every candidate against the baseline by what is judged.
    pub ratios: Vec<MeasuredRatio>,
}

/// What was measured.
#[derive(Debug, Clone)]
pub struct MeasuredMetric<'a> {
    /// Its id.
    pub id: &'a str,
    /// What tables call it.
    pub name: &'a str,
    /// Its unit: `ns`, `bytes`, `1/s`, ...
    pub unit: &'a str,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Whether a verdict may be about it.
    pub judged: bool,
    /// What differs by less is the same, and what differs by less is no difference.
    pub bands: Bands,
}

/// One arm.
#[derive(Debug, Clone)]
pub struct MeasuredArm<'a> {
    /// What tables call it.
    pub label: &'a str,
    /// The place as it was asked for: arms of one place share it.
    pub place: String,
    /// What kind of place that is.
    pub kind: PlaceKind,
    /// Whether it is a control and no claim.
    pub is_control: bool,
    /// Where its files lie: `folder`, `layer`, `volume`, `tmpfs`.
    pub location: &'a str,
    /// The file system that its folder lies on, where its files matter.
    pub storage: Option<&'a str>,
    /// What is special about it.
    pub variant: Option<&'a str>,
    /// The values of each round by metric; none where it had failed.
    pub rounds: Vec<Option<BTreeMap<&'a str, f64>>>,
}

/// An arm against the baseline by a metric, settled in the family of the whole answer.
#[derive(Debug, Clone)]
pub struct MeasuredRatio {
    /// Position of the arm.
    pub arm: usize,
    /// Position of the metric.
    pub metric: usize,
    /// Arm divided by baseline.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// What it says; slower is worse, also of rates.
    pub verdict: Verdict,
    /// How many rounds.
    pub rounds: usize,
}

/// That one arm is worse than another by a metric.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    /// How many times worse: times divided, rates divided the other way round.
    pub(super) ratio: Ratio,
    /// The middle value of the better arm, in the metric's unit.
    pub(super) better: f64,
    /// The middle value of the worse one.
    pub(super) worse: f64,
}

impl<'a> MeasuredArm<'a> {
    /// The middle value of a metric.
    pub(super) fn median(&self, id: &str) -> Option<f64> {
        let values: Vec<f64> =
            self.rounds.iter().flatten().filter_map(|values| values.get(id).copied()).collect();
        median(&values)
    }

    /// One time a round, also of rates; 0 where there is none.
    fn times(&self, metric: &MeasuredMetric<'_>) -> Vec<f64> {
        let value = |round: &Option<BTreeMap<&'a str, f64>>| {
            let value = *round.as_ref()?.get(metric.id)?;
            Some(if metric.higher_is_better && value > 0.0 { 1.0 / value } else { value })
        };
        self.rounds.iter().map(|round| value(round).unwrap_or(0.0)).collect()
    }
}

impl<'a> Measured<'a> {
    /// The metric of an id.
    pub(super) fn metric(&self, id: &str) -> Option<&MeasuredMetric<'a>> {
        self.metrics.iter().find(|metric| metric.id == id)
    }

    /// Arms that are claims.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &MeasuredArm<'a>> {
        self.arms.iter().skip(1).filter(|arm| !arm.is_control)
    }

    /// The arm of the same place that has this variant: what differs is the variant alone.
    pub(super) fn sibling(&self, arm: &MeasuredArm<'a>, variant: &str) -> Option<&MeasuredArm<'a>> {
        self.candidates().find(|other| other.place == arm.place && other.variant == Some(variant))
    }

    /// How much worse one arm is than another; none when that was not shown.
    pub(super) fn worse(
        &self,
        worse: &MeasuredArm<'a>,
        better: &MeasuredArm<'a>,
        id: &str,
    ) -> Option<Difference> {
        let metric = self.metric(id)?;
        let ratio = compare_paired(&better.times(metric), &worse.times(metric), metric.bands)?;
        (ratio.verdict == Verdict::Slower).then_some(Difference {
            better: better.median(id)?,
            worse: worse.median(id)?,
            ratio,
        })
    }

    /// All judged metrics by which one arm is worse than another, the worst first.
    pub(super) fn all_worse(
        &self,
        worse: &MeasuredArm<'a>,
        better: &MeasuredArm<'a>,
    ) -> Differences<'_, 'a> {
        let judged = self.metrics.iter().filter(|metric| metric.judged);
        let mut all = settled(judged, [better, worse]);
        all.sort_by(|(_, a), (_, b)| b.ratio.value.total_cmp(&a.ratio.value));
        all
    }

    /// Those of these metrics by which one arm is worse than another, in their order.
    pub(super) fn worse_by(
        &self,
        worse: &MeasuredArm<'a>,
        better: &MeasuredArm<'a>,
        ids: &[&str],
    ) -> Differences<'_, 'a> {
        settled(ids.iter().filter_map(|id| self.metric(id)), [better, worse])
    }
}

/// Metrics by which one arm is worse than another.
pub(super) type Differences<'m, 'a> = Vec<(&'m MeasuredMetric<'a>, Difference)>;

/// Settled as a family, as the answer's verdicts are, so that a finding says nothing that they do not:
/// the more metrics are looked at, the sooner one of them differs by chance.
fn settled<'m, 'a>(
    metrics: impl Iterator<Item = &'m MeasuredMetric<'a>>,
    [better, worse]: [&MeasuredArm<'a>; 2],
) -> Differences<'m, 'a> {
    let compared = |metric: &'m MeasuredMetric<'a>| {
        let times = (better.times(metric), worse.times(metric));
        Some((metric, compare_paired(&times.0, &times.1, metric.bands)?))
    };
    let mut all: Vec<(&MeasuredMetric<'a>, Ratio)> = metrics.filter_map(compared).collect();
    settle_family(&mut all.iter_mut().map(|(_, ratio)| ratio).collect::<Vec<_>>());
    let slower = all.into_iter().filter(|(_, ratio)| ratio.verdict == Verdict::Slower);
    let told = slower.filter_map(|(metric, ratio)| {
        let (better, worse) = (better.median(metric.id)?, worse.median(metric.id)?);
        Some((metric, Difference { ratio, better, worse }))
    });
    told.collect()
}

impl Difference {
    /// `x 1.45 (1.40 to 1.47)`.
    pub(super) fn times(&self) -> String {
        let Interval { low, high, .. } = self.ratio.interval;
        format!("x {:.2} ({low:.2} to {high:.2})", self.ratio.value)
    }

    /// What the worse one has more, in the metric's unit.
    pub(super) fn more(&self) -> f64 {
        self.worse - self.better
    }

    /// The facts of it.
    pub(super) fn facts(&self, metric: &MeasuredMetric<'_>, labels: [&str; 2]) -> Vec<Fact> {
        let [better, worse] = labels;
        let name = metric.name;
        vec![
            fact(format!("{name}, {worse} (median)"), self.worse, metric.unit),
            fact(format!("{name}, {better} (median)"), self.better, metric.unit),
            fact(format!("{name}, how many times worse {worse} is"), self.ratio.value, "ratio"),
            fact(format!("{name}, lower bound of this ratio"), self.ratio.interval.low, "ratio"),
            fact(format!("{name}, upper bound of this ratio"), self.ratio.interval.high, "ratio"),
            fact(format!("{name}, rounds"), self.ratio.rounds as f64, "count"),
        ]
    }
}

/// A length of time in nanoseconds as titles have it.
pub(super) fn length(ns: f64) -> String {
    if ns < 1000.0 {
        return format!("{ns:.0} ns");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive length of time"
    )]
    Nanos(ns as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured_in};

    /// Six rounds, all of them worse by 30 %: a sign test is that sure of one metric (2 / 2^6 = 0.03),
    /// and not of each of three.
    #[test]
    fn the_more_metrics_are_looked_at_the_surer_each_must_be() {
        let values =
            |times: f64| [("a_ns", 1e3 * times), ("b_ns", 2e3 * times), ("c_ns", 3e3 * times)];
        let arms = [Arm::host(&values(1.0)), Arm::engine(&values(1.3))];
        let told = |rounds: usize, ids: &[&str]| {
            measured_in(rounds, "files", &arms, |measured| {
                measured.worse_by(&measured.arms[1], &measured.arms[0], ids).len()
            })
        };
        assert_eq!(told(6, &["a_ns"]), 1);
        assert_eq!(told(6, &["a_ns", "b_ns", "c_ns"]), 0);
        assert_eq!(told(12, &["a_ns", "b_ns", "c_ns"]), 3);
    }
}
