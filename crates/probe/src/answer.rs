//! What the samples say: each arm against the baseline, by every metric.

use culprit_engine::stats::{
    Bands, Interval, NoiseFloor, Ratio, Summary, Verdict, compare_paired, median, noise_floor,
    settle_family,
};
use serde_json::Value;

use crate::arm::{Arm, Role};
use crate::conduct::{Plan, Session, Stopped};
use crate::environment::Environment;
use crate::histogram::Histogram;
use crate::machine::Gate;
use crate::metric::{Better, Metric, Part};
use crate::sample::Sample;

/// What an arm gave.
#[derive(Debug)]
pub struct ArmSamples {
    /// The arm.
    pub arm: Arm,
    /// By round; none where it had failed.
    pub samples: Vec<Option<Sample>>,
    /// What preparing it told.
    pub facts: Vec<String>,
    /// The file system that its folder lies on, of probes that work with files.
    pub storage: Option<String>,
    /// Why there are no (more) samples.
    pub problem: Option<String>,
}

impl ArmSamples {
    /// A metric's values in the rounds that have one.
    #[must_use]
    pub fn values(&self, metric: &Metric) -> Vec<f64> {
        let values = self.samples.iter().flatten();
        values.filter_map(|sample| sample.values.get(metric.id).copied()).collect()
    }

    /// A metric in a few numbers.
    #[must_use]
    pub fn summary(&self, metric: &Metric) -> Option<Summary> {
        Summary::of(&self.values(metric))
    }

    /// Latencies over all rounds, by what was waited for.
    #[must_use]
    pub fn latencies(&self) -> Vec<(&'static str, Histogram)> {
        let mut all: Vec<(&'static str, Histogram)> = Vec::new();
        for (what, seen) in self.samples.iter().flatten().flat_map(|sample| &sample.latencies) {
            match all.iter_mut().find(|(other, _)| other == what) {
                Some((_, sum)) => sum.add(seen),
                None => all.push((what, seen.clone())),
            }
        }
        all
    }

    /// One value a round; 0 where there is none, and turned over for rates, so that more is slower.
    fn as_times(&self, metric: &Metric) -> Vec<f64> {
        let value = |sample: &Option<Sample>| {
            let value = sample.as_ref()?.values.get(metric.id).copied()?;
            Some(if metric.better == Better::Higher && value > 0.0 { 1.0 / value } else { value })
        };
        self.samples.iter().map(|sample| value(sample).unwrap_or(0.0)).collect()
    }
}

/// One arm against the baseline by one metric.
#[derive(Debug, Clone)]
pub struct ProbeComparison {
    /// Position of the arm.
    pub arm: usize,
    /// Position of the metric.
    pub metric: usize,
    /// The median of the arm's value over the baseline's, round by round.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// What it says about the place: slower is worse, also of rates.
    pub verdict: Verdict,
    /// How many rounds.
    pub rounds: usize,
    /// About how many more would settle it.
    pub more_rounds: Option<usize>,
    /// The bands of the verdict.
    pub bands: Bands,
    /// The p-value of the sign test as it counts in its family.
    pub p_in_family: f64,
    /// The median of the arm less that of the baseline, in the metric's unit.
    pub difference: f64,
}

/// What the baseline differs from itself by, by one metric.
#[derive(Debug, Clone)]
pub struct FloorRow {
    /// Position of the metric.
    pub metric: usize,
    /// The second run of each round against the first.
    pub floor: NoiseFloor,
}

/// What a session says.
#[derive(Debug)]
pub struct Answer {
    /// The probe's name.
    pub probe: &'static str,
    /// What was done, as documents have it.
    pub workload: Value,
    /// What was done, in sentences.
    pub words: Vec<String>,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// The arms, the baseline first.
    pub arms: Vec<ArmSamples>,
    /// Every arm but the baseline and its second run, by every metric that is compared.
    pub comparisons: Vec<ProbeComparison>,
    /// The noise floor of every metric that is compared, where the baseline ran twice.
    pub floors: Vec<FloorRow>,
    /// Position of the metric that the verdict is about.
    pub headline: usize,
    /// How many rounds.
    pub rounds: u32,
    /// Why they ended.
    pub stopped: Stopped,
    /// What the machine did meanwhile.
    pub gate: Gate,
    /// What it was measured on.
    pub environment: Environment,
}

impl Answer {
    /// What a session says.
    #[must_use]
    pub fn new(plan: &Plan, session: &Session) -> Self {
        let metrics = plan.probe.metrics();
        let arms = arms(plan, session);
        let (comparisons, floors) = compared(&arms, &metrics, plan.band);
        let headline = headline(&metrics, &session.gate, session.rounds);
        Self {
            probe: plan.probe.id(),
            workload: plan.probe.workload(),
            words: plan.probe.words(),
            metrics,
            arms,
            comparisons,
            floors,
            headline,
            rounds: session.rounds,
            stopped: session.stopped,
            gate: session.gate.clone(),
            environment: session.environment.clone(),
        }
    }

    /// An arm against the baseline by a metric.
    #[must_use]
    pub fn comparison(&self, arm: usize, metric: usize) -> Option<&ProbeComparison> {
        self.comparisons.iter().find(|row| row.arm == arm && row.metric == metric)
    }

    /// The noise floor of a metric.
    #[must_use]
    pub fn floor(&self, metric: usize) -> Option<&NoiseFloor> {
        self.floors.iter().find(|row| row.metric == metric).map(|row| &row.floor)
    }
}

/// Most rounds were contended, and the same work is also told by CPU time: then that.
fn headline(metrics: &[Metric], gate: &Gate, rounds: u32) -> usize {
    let of = |part: Part| metrics.iter().position(|metric| metric.part == part);
    let contended = 2 * gate.contended.len() > rounds as usize;
    let by_cpu = of(Part::CpuTime).filter(|_| contended);
    by_cpu.or_else(|| of(Part::Headline)).unwrap_or(0)
}

fn arms(plan: &Plan, session: &Session) -> Vec<ArmSamples> {
    let arms = plan.arms.iter().enumerate();
    arms.map(|(at, arm)| ArmSamples {
        arm: arm.clone(),
        samples: session.samples[at].clone(),
        facts: session.facts[at].clone(),
        storage: session.storage[at].clone(),
        problem: session
            .problems
            .iter()
            .find(|(other, _)| *other == at)
            .map(|(_, error)| error.to_string()),
    })
    .collect()
}

fn compared(
    arms: &[ArmSamples],
    metrics: &[Metric],
    band: f64,
) -> (Vec<ProbeComparison>, Vec<FloorRow>) {
    let (Some(baseline), again) = (arms.first(), again(arms)) else {
        return (Vec::new(), Vec::new());
    };
    let (mut rows, mut floors) = (Vec::new(), Vec::new());
    for (at, metric) in metrics.iter().enumerate().filter(|(_, metric)| metric.is_compared()) {
        let first = baseline.as_times(metric);
        let floor = again.and_then(|again| noise_floor(&first, &again.as_times(metric)));
        let different = floor.as_ref().map_or(band, |floor| floor.band(band));
        let bands = Bands { same: band, different };
        floors.extend(floor.map(|floor| FloorRow { metric: at, floor }));
        let others = arms.iter().enumerate().skip(1);
        for (arm, samples) in others.filter(|(_, other)| other.arm.role != Role::Again) {
            let ratio = compare_paired(&first, &samples.as_times(metric), bands);
            rows.extend(ratio.map(|ratio| (arm, at, ratio)));
        }
    }
    // What the verdicts are about is one family; a control is no claim.
    let judged =
        |arm: usize, at: usize| metrics[at].is_judged() && arms[arm].arm.role == Role::Candidate;
    let mut family: Vec<&mut Ratio> = rows
        .iter_mut()
        .filter(|(arm, at, _)| judged(*arm, *at))
        .map(|(_, _, ratio)| ratio)
        .collect();
    let mut raised = settle_family(&mut family).into_iter();
    let comparisons = rows
        .into_iter()
        .map(|(arm, at, ratio)| {
            let in_family = if judged(arm, at) { raised.next() } else { None };
            comparison(arms, (arm, at), &metrics[at], &ratio, in_family)
        })
        .collect();
    (comparisons, floors)
}

fn again(arms: &[ArmSamples]) -> Option<&ArmSamples> {
    arms.iter().find(|other| other.arm.role == Role::Again)
}

fn comparison(
    arms: &[ArmSamples],
    (arm, at): (usize, usize),
    metric: &Metric,
    ratio: &Ratio,
    in_family: Option<f64>,
) -> ProbeComparison {
    let middle = |arm: usize| median(&arms[arm].values(metric)).unwrap_or(0.0);
    let turned = metric.better == Better::Higher;
    let interval = if turned {
        Interval {
            low: 1.0 / ratio.interval.high,
            high: 1.0 / ratio.interval.low,
            coverage: ratio.interval.coverage,
        }
    } else {
        ratio.interval
    };
    ProbeComparison {
        arm,
        metric: at,
        value: if turned { 1.0 / ratio.value } else { ratio.value },
        interval,
        verdict: ratio.verdict,
        rounds: ratio.rounds,
        more_rounds: ratio.more_rounds,
        bands: ratio.bands,
        p_in_family: in_family.unwrap_or(ratio.p),
        difference: middle(arm) - middle(0),
    }
}

/// The ratios whose precision decides whether to run more rounds: of what the verdicts are about, and
/// of the baseline against itself.
pub(crate) fn ratios_that_count(plan: &Plan, session: &Session) -> Vec<Ratio> {
    let metrics: Vec<Metric> = plan.probe.metrics().into_iter().filter(Metric::is_judged).collect();
    let arms = arms(plan, session);
    let mut ratios = Vec::new();
    for metric in &metrics {
        let Some(first) = arms.first().map(|baseline| baseline.as_times(metric)) else { continue };
        let others = arms.iter().skip(1).filter(|other| {
            other.problem.is_none() && matches!(other.arm.role, Role::Again | Role::Candidate)
        });
        ratios.extend(others.filter_map(|other| {
            compare_paired(&first, &other.as_times(metric), Bands::one(plan.band))
        }));
    }
    ratios
}
