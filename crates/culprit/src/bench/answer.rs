//! What timed and recorded rounds tell, as one value.

use std::path::PathBuf;

use culprit_engine::stats::{
    Bands, NoiseFloor, Outliers, Ratio, Stop, Summary, Verdict, bootstrap_interval,
    prefers_cpu_time, settle_family, signed_ranks,
};
use culprit_findings::{
    DifferenceReport, FindingChange, Options, RunSummary, find_changes, find_difference,
};
use culprit_model::Nanos;
use culprit_place::PlaceSpec;
use culprit_probe::Gate;
use culprit_report::text::{ComparedSides, compared};

use super::conduct::{Session, counted_runs, judged};
use super::endings::no_verdict;
use super::plan::Plan;
use crate::args::FailOnVerdict;
use crate::output::elide;
use crate::places;
use crate::rounds::{Recorded, Rounds, Timed};

/// What is measured of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    /// From start to end.
    Wall,
    /// CPU time.
    Cpu,
    /// The most memory held.
    Memory,
}

impl Metric {
    const ALL: [Self; 3] = [Self::Wall, Self::Cpu, Self::Memory];

    /// Its id in documents.
    pub(crate) const fn id(self) -> &'static str {
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

/// Why timed rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// By the stopping rule.
    By(Stop),
    /// By Ctrl-C.
    Interrupted,
    /// A place failed.
    Failed,
}

impl Stopped {
    /// Its id in documents.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::By(Stop::Precise) => "precise",
            Self::By(Stop::Rounds) => "rounds",
            Self::By(Stop::Time) => "time",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// An arm's runs in the rounds that were finished.
#[derive(Debug)]
pub(crate) struct ArmRuns {
    /// What it is called.
    pub(crate) label: String,
    /// The same, cut where that still tells it from the others.
    pub(crate) short: String,
    /// The command line.
    pub(crate) line: String,
    /// The full name of its place.
    pub(crate) place: String,
    /// The parameters in it.
    pub(crate) parameters: Vec<(String, String)>,
    /// Whether it is the baseline's second run in each round.
    pub(crate) control: bool,
    /// The runs by round.
    pub(crate) runs: Vec<Timed>,
    /// Wall times, seconds.
    pub(crate) wall: Option<Summary>,
    /// Which of them lie far from the others.
    pub(crate) outliers: Outliers,
    /// Why there are no (more) runs.
    pub(crate) problem: Option<String>,
}

impl ArmRuns {
    /// The values of a metric, in seconds or 1e-9 bytes; empty where a run lacks it.
    pub(crate) fn values(&self, metric: impl Fn(&Timed) -> Option<Nanos>) -> Vec<f64> {
        let values: Option<Vec<f64>> =
            self.runs.iter().map(|run| metric(run).map(Nanos::seconds)).collect();
        values.unwrap_or_default()
    }

    /// The median of a metric.
    pub(crate) fn median(&self, metric: impl Fn(&Timed) -> Option<Nanos>) -> Option<Nanos> {
        Summary::of(&self.values(metric)).map(|summary| nanos(summary.median))
    }

    /// The most memory of all runs, bytes.
    pub(crate) fn peak_memory_bytes(&self) -> Option<u64> {
        self.runs.iter().filter_map(|run| run.peak_memory_bytes).max()
    }
}

/// One arm against the baseline by one metric.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Position of the arm.
    pub(crate) arm: usize,
    /// By what.
    pub(crate) metric: Metric,
    /// What it says.
    pub(crate) ratio: Ratio,
    /// The p-value of the sign test as it counts in the family of its metric.
    pub(crate) p_in_family: f64,
    /// The p-value of the signed ranks.
    pub(crate) p_signed_ranks: Option<f64>,
    /// The bootstrap's interval of the ratio.
    pub(crate) bootstrap: Option<(f64, f64)>,
}

/// What recorded rounds tell of an arm.
#[derive(Debug)]
pub(crate) struct Inside {
    /// Position of the arm.
    pub(crate) arm: usize,
    /// Its findings against the baseline's.
    pub(crate) report: DifferenceReport,
    /// Which of the baseline's went away, and which came.
    pub(crate) changes: Vec<FindingChange>,
}

/// The answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The arms, the baseline first, its second runs last.
    pub(crate) arms: Vec<ArmRuns>,
    /// Every arm against the baseline, by every metric that its runs have; wall time first.
    pub(crate) comparisons: Vec<Comparison>,
    /// The noise floor by metric.
    pub(crate) noise: Vec<(Metric, NoiseFloor)>,
    /// The metric of the verdict.
    pub(crate) headline: Metric,
    /// The rounds that were finished.
    pub(crate) rounds: usize,
    /// Why they ended.
    pub(crate) stopped: Stopped,
    /// What the machine did meanwhile.
    pub(crate) gate: Gate,
    /// The band that was asked for.
    pub(crate) band: f64,
    /// The shell that commands ran in.
    pub(crate) shell: Option<String>,
    /// Whether a place is a new container, whose start is part of each run.
    pub(crate) starts_containers: bool,
    /// Where the recordings are; none where no run was recorded.
    pub(crate) folder: Option<PathBuf>,
    /// What they tell of commands that end alike.
    pub(crate) inside: Vec<Inside>,
}

impl Answer {
    /// What a session tells.
    pub(crate) fn new(plan: &Plan, session: &Session) -> Self {
        let arms = arms(plan, session);
        let recording = plan.recording.as_ref().filter(|_| !session.recorded.runs.is_empty());
        let (comparisons, noise) = comparisons(plan, session);
        let rounds = arms.first().map_or(0, |arm| arm.runs.len());
        let cpu_share = cpu_share(&arms);
        let contended = session.gate.contended.len();
        let by_cpu = comparisons.iter().any(|row| row.metric == Metric::Cpu);
        let headline = if by_cpu && prefers_cpu_time(contended, rounds, cpu_share) {
            Metric::Cpu
        } else {
            Metric::Wall
        };
        Self {
            arms,
            comparisons,
            noise,
            headline,
            rounds,
            stopped: match session.stop {
                _ if session.timed.interrupted => Stopped::Interrupted,
                Some(stop) => Stopped::By(stop),
                None => Stopped::Failed,
            },
            gate: session.gate.clone(),
            band: plan.band,
            shell: plan.shell.clone(),
            starts_containers: plan
                .places
                .iter()
                .any(|place| matches!(place, PlaceSpec::Engine { .. })),
            folder: recording.map(|recording| recording.folder.clone()),
            inside: inside(plan, &session.recorded),
        }
    }

    /// The arms without the baseline's second runs.
    pub(crate) fn real_arms(&self) -> impl Iterator<Item = &ArmRuns> {
        self.arms.iter().filter(|arm| !arm.control)
    }

    /// The comparisons by one metric.
    pub(crate) fn by(&self, metric: Metric) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |row| row.metric == metric)
    }

    /// The comparison of an arm by the metric of the verdict.
    pub(crate) fn main(&self, arm: usize) -> Option<&Comparison> {
        self.by(self.headline).find(|row| row.arm == arm)
    }

    /// The noise floor of a metric.
    pub(crate) fn floor(&self, metric: Metric) -> Option<&NoiseFloor> {
        self.noise.iter().find(|(other, _)| *other == metric).map(|(_, floor)| floor)
    }

    /// Each arm against the baseline, a sentence each.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let cpu_time = self.headline == Metric::Cpu;
        let told = |arm: &ArmRuns| {
            let metric = |run: &Timed| if cpu_time { run.cpu } else { Some(run.wall) };
            arm.median(metric).unwrap_or_default().to_string()
        };
        let sentence = |row: &Comparison| {
            let (here, there) = (self.arms.get(row.arm)?, self.arms.first()?);
            if !self.end_alike(row.arm) {
                return Some(no_verdict(here, there));
            }
            let sides = ComparedSides {
                here: &here.short,
                there: &there.short,
                told: (told(here), told(there)),
                option: "--rounds",
                cpu_time,
            };
            Some(compared(&sides, &row.ratio))
        };
        self.by(self.headline).filter_map(sentence).collect()
    }

    /// Whether a verdict is one that the user asked to fail on. An arm without a verdict is unclear, as one
    /// that fails is.
    pub(crate) fn fails_on(&self, asked: &[FailOnVerdict]) -> bool {
        let arms = self.arms.iter().enumerate().skip(1).filter(|(_, arm)| !arm.control);
        let verdict = |arm| self.main(arm).and_then(|row| self.verdict(row));
        let verdict = |arm| verdict(arm).unwrap_or(Verdict::Unclear);
        let mut verdicts = arms.map(|(arm, _)| FailOnVerdict::from(verdict(arm)));
        verdicts.any(|verdict| asked.contains(&verdict))
    }
}

/// Longer names are cut in sentences.
const LONGEST_NAME: usize = 40;

/// The names of the arms as sentences have them: cut, unless that makes two of them the same.
fn short_labels(plan: &Plan) -> Vec<String> {
    let labels: Vec<String> = (0..plan.arms.len()).map(|arm| plan.label(arm)).collect();
    let cut = |label: &String| elide(label, LONGEST_NAME).into_owned();
    let different = |(at, label): (usize, &String)| {
        labels[..at].iter().all(|other| other == label || cut(other) != cut(label))
    };
    if labels.iter().enumerate().all(different) { labels.iter().map(cut).collect() } else { labels }
}

fn arms(plan: &Plan, session: &Session) -> Vec<ArmRuns> {
    let count = plan.round_places().len();
    let short = short_labels(plan);
    (0..count)
        .map(|at| {
            let control = Some(at) == plan.control_at();
            let arm = if control { &plan.arms[0] } else { &plan.arms[at] };
            let own = if control { 0 } else { at };
            let named = |name: String| if control { format!("{name} (control)") } else { name };
            let runs: Vec<Timed> = counted_runs(plan, &session.timed, session.begun, at)
                .into_iter()
                .cloned()
                .collect();
            let walls: Vec<f64> = runs.iter().map(|run| run.wall.seconds()).collect();
            let problems = session.timed.problems.iter();
            let problem =
                problems.chain(&session.recorded.problems).find(|(place, _)| *place == arm.place);
            ArmRuns {
                label: named(plan.label(own)),
                short: named(short[own].clone()),
                line: arm.line.clone(),
                place: plan.places[arm.place].to_string(),
                parameters: arm.parameters.clone(),
                control,
                wall: Summary::of(&walls),
                outliers: Outliers::of(&walls),
                runs,
                problem: problem.map(|(_, failure)| failure.to_string()),
            }
        })
        .collect()
}

/// All comparisons and noise floors. Wall time is what was asked, a family of its own; the other
/// metrics are one family together.
fn comparisons(plan: &Plan, session: &Session) -> (Vec<Comparison>, Vec<(Metric, NoiseFloor)>) {
    let (mut rows, mut noise) = (Vec::new(), Vec::new());
    for metric in Metric::ALL {
        let of = |run: &Timed| metric.of(run);
        let judged = judged(plan, &session.timed, session.begun, &of);
        noise.extend(judged.floor.map(|floor| (metric, floor)));
        let found = judged.ratios.into_iter().zip(judged.p_in_family).enumerate();
        for (at, (ratio, p)) in found {
            let Some((ratio, p_in_family)) = ratio.zip(p) else { continue };
            let logs = logs(plan, session, at + 1, metric);
            rows.push(Comparison {
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
    let others = rows.iter_mut().filter(|row| row.metric != Metric::Wall);
    let (mut family, p): (Vec<&mut Ratio>, Vec<&mut f64>) =
        others.map(|row| (&mut row.ratio, &mut row.p_in_family)).unzip();
    for (p, raised) in p.into_iter().zip(settle_family(&mut family)) {
        *p = raised;
    }
    (rows, noise)
}

/// The logarithms of an arm's ratios, round by round.
fn logs(plan: &Plan, session: &Session, arm: usize, metric: Metric) -> Vec<f64> {
    let values = |arm: usize| counted_runs(plan, &session.timed, session.begun, arm);
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

fn inside(plan: &Plan, recorded: &Rounds<Recorded>) -> Vec<Inside> {
    let runs = |arm: usize| recorded.of(arm);
    let baseline = runs(0);
    (1..plan.arms.len())
        .filter_map(|arm| {
            let (mut before, mut after): (Vec<RunSummary>, Vec<RunSummary>) = Default::default();
            for (round, run) in runs(arm) {
                if let Some((_, other)) = baseline.iter().find(|(other, _)| *other == round) {
                    if other.exit_code != run.exit_code {
                        return None;
                    }
                    before.push(other.summary.clone());
                    after.push(run.summary.clone());
                }
            }
            let mut report = find_difference(&before, &after, &Options::default())?;
            report.findings.retain(|finding| !STATEMENTS.contains(&finding.id));
            Some(Inside { arm, report, changes: find_changes(&before, &after) })
        })
        .collect()
}

/// What a place is called when a failure is told.
pub(crate) fn place_label(plan: &Plan, place: usize) -> String {
    places::label(&plan.places, place)
}

/// Bands in words: `5 %`, or with the noise.
pub(crate) fn bands_of(answer: &Answer, metric: Metric) -> Bands {
    let different = answer.floor(metric).map_or(answer.band, |floor| floor.band(answer.band));
    Bands { same: answer.band, different }
}

/// A length from seconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "statistics of lengths are lengths"
)]
pub(crate) fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}
