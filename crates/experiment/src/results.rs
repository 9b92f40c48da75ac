//! What timed and recorded rounds tell, as one value.

use std::path::PathBuf;

use culprit_engine::stats::{
    Bands, NoiseFloor, Outliers, Ratio, Summary, Verdict, bootstrap_interval, prefers_cpu_time,
    settle_family, signed_ranks,
};
use culprit_findings::Options;
use culprit_model::{Nanos, elide};
use culprit_place::PlaceSpec;
use culprit_probe::{Gate, Stopped};

use crate::comparison::Comparison;
use crate::counted::{counted_runs, judged};
use crate::experiment::Experiment;
use crate::recorded::Recorded;
use crate::run::Trials;
use crate::timed::Timed;
use crate::trial::Rounds;

/// What is measured of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMetric {
    /// From start to end.
    Wall,
    /// CPU time.
    Cpu,
    /// The most memory held.
    Memory,
}

impl RunMetric {
    const ALL: [Self; 3] = [Self::Wall, Self::Cpu, Self::Memory];

    /// Its id in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Memory => "peak-memory",
        }
    }

    /// Its value in a run. Bytes pass as the nanoseconds that they are compared as: only ratios of
    /// them are taken.
    fn of(self, run: &Timed) -> Option<Nanos> {
        match self {
            Self::Wall => Some(run.wall),
            Self::Cpu => run.cpu,
            Self::Memory => run.peak_memory_bytes.map(Nanos),
        }
    }
}

/// An arm's runs in the rounds that were finished.
#[derive(Debug)]
pub struct ArmRuns {
    /// What it is called.
    pub label: String,
    /// The same, cut where that still tells it from the others.
    pub short: String,
    /// The command line.
    pub line: String,
    /// The full name of its place.
    pub place: String,
    /// The parameters in it.
    pub parameters: Vec<(String, String)>,
    /// Whether it is the baseline's second run in each round.
    pub control: bool,
    /// The runs by round.
    pub runs: Vec<Timed>,
    /// Wall times, seconds.
    pub wall: Option<Summary>,
    /// Which of them lie far from the others.
    pub outliers: Outliers,
    /// Why there are no (more) runs.
    pub problem: Option<String>,
}

impl ArmRuns {
    /// The values of a metric, in seconds or 1e-9 bytes; empty where a run lacks it.
    #[must_use]
    pub fn values(&self, metric: impl Fn(&Timed) -> Option<Nanos>) -> Vec<f64> {
        let values: Option<Vec<f64>> =
            self.runs.iter().map(|run| metric(run).map(Nanos::seconds)).collect();
        values.unwrap_or_default()
    }

    /// The median of a metric.
    #[must_use]
    pub fn median(&self, metric: impl Fn(&Timed) -> Option<Nanos>) -> Option<Nanos> {
        Summary::of(&self.values(metric)).map(|summary| nanos(summary.median))
    }

    /// The most memory of all runs, bytes.
    #[must_use]
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        self.runs.iter().filter_map(|run| run.peak_memory_bytes).max()
    }
}

/// One arm against the baseline by one metric.
#[derive(Debug)]
pub struct MetricRatio {
    /// Position of the arm.
    pub arm: usize,
    /// By what.
    pub metric: RunMetric,
    /// What it says.
    pub ratio: Ratio,
    /// The p-value of the sign test as it counts in the family of its metric.
    pub p_in_family: f64,
    /// The p-value of the signed ranks.
    pub p_signed_ranks: Option<f64>,
    /// The bootstrap's interval of the ratio.
    pub bootstrap: Option<(f64, f64)>,
}

/// What an experiment shows.
#[derive(Debug)]
pub struct Results {
    /// The arms, the baseline first, its second runs last.
    pub arms: Vec<ArmRuns>,
    /// Every arm against the baseline, by every metric that its runs have; wall time first.
    pub ratios: Vec<MetricRatio>,
    /// The noise floor by metric.
    pub noise: Vec<(RunMetric, NoiseFloor)>,
    /// The metric of the verdict.
    pub headline: RunMetric,
    /// The rounds that were finished.
    pub rounds: usize,
    /// Why they ended.
    pub stopped: Stopped,
    /// What the machine did meanwhile.
    pub gate: Gate,
    /// The band that was asked for.
    pub band: f64,
    /// The shell that commands ran in.
    pub shell: Option<String>,
    /// Whether a place is a new container, whose start is part of each run.
    pub starts_containers: bool,
    /// Where the recordings are; none where no run was recorded.
    pub folder: Option<PathBuf>,
    /// What they tell of arms that end as the baseline does, by position of the arm.
    pub inside: Vec<(usize, Comparison)>,
}

impl Results {
    /// What was run of an experiment.
    #[must_use]
    pub fn new(experiment: &Experiment, trials: &Trials) -> Self {
        let arms = arms(experiment, trials);
        let recorded = experiment.recording.as_ref().filter(|_| !trials.recorded.runs.is_empty());
        let (ratios, noise) = ratios(experiment, trials);
        let rounds = arms.first().map_or(0, |arm| arm.runs.len());
        let contended = trials.gate.contended.len();
        let by_cpu = ratios.iter().any(|row| row.metric == RunMetric::Cpu);
        let headline = if by_cpu && prefers_cpu_time(contended, rounds, cpu_share(&arms)) {
            RunMetric::Cpu
        } else {
            RunMetric::Wall
        };
        Self {
            arms,
            ratios,
            noise,
            headline,
            rounds,
            stopped: match trials.stop {
                _ if trials.timed.interrupted => Stopped::Interrupted,
                Some(stop) => Stopped::By(stop),
                None => Stopped::Failed,
            },
            gate: trials.gate.clone(),
            band: experiment.band(),
            shell: experiment.shell.clone(),
            starts_containers: experiment
                .places
                .iter()
                .any(|place| matches!(place, PlaceSpec::Engine { .. })),
            folder: recorded.map(|recording| recording.folder.clone()),
            inside: inside(experiment, &trials.recorded),
        }
    }

    /// The arms without the baseline's second runs.
    pub fn real_arms(&self) -> impl Iterator<Item = &ArmRuns> {
        self.arms.iter().filter(|arm| !arm.control)
    }

    /// The ratios by one metric.
    pub fn by(&self, metric: RunMetric) -> impl Iterator<Item = &MetricRatio> {
        self.ratios.iter().filter(move |row| row.metric == metric)
    }

    /// The ratio of an arm by the metric of the verdict.
    #[must_use]
    pub fn main(&self, arm: usize) -> Option<&MetricRatio> {
        self.by(self.headline).find(|row| row.arm == arm)
    }

    /// The noise floor of a metric.
    #[must_use]
    pub fn floor(&self, metric: RunMetric) -> Option<&NoiseFloor> {
        self.noise.iter().find(|(other, _)| *other == metric).map(|(_, floor)| floor)
    }

    /// The band asked for, and the one with the noise.
    #[must_use]
    pub fn bands(&self, metric: RunMetric) -> Bands {
        let different = self.floor(metric).map_or(self.band, |floor| floor.band(self.band));
        Bands { same: self.band, different }
    }

    /// The verdict on every arm. One without a verdict is unclear, as one that fails is.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        let arms = self.arms.iter().enumerate().skip(1).filter(|(_, arm)| !arm.control);
        let verdict = |arm| self.main(arm).and_then(|row| self.verdict(row));
        arms.map(move |(arm, _)| verdict(arm).unwrap_or(Verdict::Unclear))
    }

    /// The verdict of a ratio; none where the commands end differently. A command that fails does other work
    /// than one that succeeds, so that their times say nothing about each other.
    #[must_use]
    pub fn verdict(&self, row: &MetricRatio) -> Option<Verdict> {
        self.end_alike(row.arm).then_some(row.ratio.verdict)
    }

    /// Whether an arm's runs end as those of the baseline.
    #[must_use]
    pub fn end_alike(&self, arm: usize) -> bool {
        let codes = |arm: &ArmRuns| -> Vec<i32> {
            arm.runs.iter().map(|run| run.exit.shell_code()).collect()
        };
        let arms = self.arms.first().zip(self.arms.get(arm));
        arms.is_none_or(|(baseline, arm)| codes(baseline) == codes(arm))
    }
}

/// Longer names are cut in sentences.
const LONGEST_NAME: usize = 40;

/// The names of the arms as sentences have them: cut, unless that makes two of them the same.
fn short_labels(experiment: &Experiment) -> Vec<String> {
    let labels: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    let cut = |label: &str| elide(label, LONGEST_NAME).into_owned();
    let different = |(at, label): (usize, &&str)| {
        labels[..at].iter().all(|other| other == label || cut(other) != cut(label))
    };
    let whole = !labels.iter().enumerate().all(different);
    labels.iter().map(|label| if whole { (*label).to_owned() } else { cut(label) }).collect()
}

fn arms(experiment: &Experiment, trials: &Trials) -> Vec<ArmRuns> {
    let count = experiment.round_places().len();
    let short = short_labels(experiment);
    (0..count)
        .map(|at| {
            let control = Some(at) == experiment.control_at();
            let arm = if control { &experiment.arms[0] } else { &experiment.arms[at] };
            let own = if control { 0 } else { at };
            let named = |name: String| if control { format!("{name} (control)") } else { name };
            let runs: Vec<Timed> = counted_runs(experiment, &trials.timed, trials.begun, at)
                .into_iter()
                .cloned()
                .collect();
            let walls: Vec<f64> = runs.iter().map(|run| run.wall.seconds()).collect();
            let problems = trials.timed.problems.iter();
            let problem =
                problems.chain(&trials.recorded.problems).find(|(place, _)| *place == arm.place);
            ArmRuns {
                label: named(experiment.arms[own].label.clone()),
                short: named(short[own].clone()),
                line: arm.line.clone(),
                place: experiment.places[arm.place].to_string(),
                parameters: arm.parameters.clone(),
                control,
                wall: Summary::of(&walls),
                outliers: Outliers::of(&walls),
                runs,
                problem: problem.map(|(_, error)| error.to_string()),
            }
        })
        .collect()
}

/// All ratios and noise floors. Wall time is what was asked, a family of its own; the other
/// metrics are one family together.
fn ratios(
    experiment: &Experiment,
    trials: &Trials,
) -> (Vec<MetricRatio>, Vec<(RunMetric, NoiseFloor)>) {
    let (mut rows, mut noise) = (Vec::new(), Vec::new());
    for metric in RunMetric::ALL {
        let of = |run: &Timed| metric.of(run);
        let judged = judged(experiment, &trials.timed, trials.begun, &of);
        noise.extend(judged.floor.map(|floor| (metric, floor)));
        let found = judged.ratios.into_iter().zip(judged.p_in_family).enumerate();
        for (at, (ratio, p)) in found {
            let Some((ratio, p_in_family)) = ratio.zip(p) else { continue };
            let logs = logs(experiment, trials, at + 1, metric);
            rows.push(MetricRatio {
                arm: at + 1,
                metric,
                ratio,
                p_in_family,
                p_signed_ranks: signed_ranks(&logs),
                bootstrap: bootstrap_interval(&logs)
                    .map(|interval| (interval.low.exp(), interval.high.exp())),
            });
        }
    }
    let others = rows.iter_mut().filter(|row| row.metric != RunMetric::Wall);
    let (mut family, p): (Vec<&mut Ratio>, Vec<&mut f64>) =
        others.map(|row| (&mut row.ratio, &mut row.p_in_family)).unzip();
    for (p, raised) in p.into_iter().zip(settle_family(&mut family)) {
        *p = raised;
    }
    (rows, noise)
}

/// The logarithms of an arm's ratios, round by round.
fn logs(experiment: &Experiment, trials: &Trials, arm: usize, metric: RunMetric) -> Vec<f64> {
    let values = |arm: usize| counted_runs(experiment, &trials.timed, trials.begun, arm);
    let (before, after) = (values(0), values(arm));
    let pairs = before.iter().zip(&after);
    pairs
        .filter_map(|(a, b)| {
            let (a, b) = (metric.of(a)?.seconds(), metric.of(b)?.seconds());
            (a > 0.0 && b > 0.0).then(|| (b / a).ln())
        })
        .collect()
}

/// The share of its wall time that every arm spends on CPUs in its least disturbed run: waiting for a
/// CPU is no part of what a command is like.
fn cpu_share(arms: &[ArmRuns]) -> f64 {
    let of_run = |run: &Timed| run.cpu.map_or(0.0, |cpu| cpu.share_of(run.wall));
    let most = |arm: &ArmRuns| arm.runs.iter().map(of_run).fold(0.0, f64::max);
    arms.iter().map(most).fold(f64::INFINITY, f64::min)
}

/// What the comparison says of recorded runs as a whole: the timed ones say that.
const STATEMENTS: [&str; 3] = ["slower-in-place", "no-difference", "unclear"];

fn inside(experiment: &Experiment, recorded: &Rounds<Recorded>) -> Vec<(usize, Comparison)> {
    let of_arm = |arm: usize| {
        let mut pairs = recorded.paired(0, arm).into_iter();
        if pairs.any(|(baseline, run)| baseline.exit_code != run.exit_code) {
            return None;
        }
        let label = &experiment.arms[arm].label;
        let mut found = Comparison::of_rounds(label, recorded, (0, arm), &Options::default())?;
        found.report.findings.retain(|finding| !STATEMENTS.contains(&finding.id));
        Some((arm, found))
    };
    (1..experiment.arms.len()).filter_map(of_arm).collect()
}

/// A length from seconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "statistics of lengths are lengths"
)]
#[must_use]
pub fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}
