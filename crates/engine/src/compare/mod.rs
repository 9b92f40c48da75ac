//! Why one set of runs takes longer than another: the extra time by cause and function.
//!
//! Each run's critical path is charged to (cause, function): what the command's end was waiting
//! for, so that idle threads take no part and the rows of a run sum to its wall time. The extra of
//! a row is the difference of its means, so the extras of all rows sum to the difference of the mean
//! wall times, up to a nanosecond a row.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_model::{Cause, FrameId, Label, Nanos, Recording, StackId, Text};
use rustc_hash::FxHashMap;

use crate::calls::STACK_LOST;
use crate::causes::Causes;
use crate::own::{OwnCode, function_name};
use crate::stats::{Bands, Ratio, compare_paired, compare_unpaired, median_interval};
use crate::wakers::{Relevance, Scope};

/// The function of time in which no recorded thread was on the path.
pub const NOT_RECORDED: &str = "[not recorded]";

/// How sure the interval of a row should be.
const CONFIDENCE: f64 = 0.95;

/// How far the extra time of the rounds lies apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Lower end of the interval of the rounds' median, ns.
    pub low_ns: i64,
    /// Upper end, ns.
    pub high_ns: i64,
    /// How often such an interval holds the true median.
    pub coverage: f64,
}

impl Spread {
    /// The interval of the median of paired differences, ns.
    fn of(differences: &[i64]) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "53 bits hold 104 days of nanoseconds")]
        let values: Vec<f64> = differences.iter().map(|difference| *difference as f64).collect();
        let interval = median_interval(&values, CONFIDENCE)?;
        #[expect(clippy::cast_possible_truncation, reason = "the ends are whole numbers again")]
        let (low_ns, high_ns) = (interval.low as i64, interval.high as i64);
        Some(Self { low_ns, high_ns, coverage: interval.coverage })
    }

    /// Whether 0 lies outside: the rounds agree that there is a difference.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.low_ns > 0 || self.high_ns < 0
    }
}

/// Extra time at one function for one cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Why the time passed.
    pub cause: Cause,
    /// The nearest function of the program's own code, else the innermost outside the kernel: as
    /// [`function_name`] has it.
    pub function: Text,
    /// The program that spent most of it.
    pub process: Text,
    /// The stack at which most of it passed, root first, `module!function` a frame, the cause last;
    /// of the candidate where that spent any time there. Empty where stacks were lost.
    pub stack: Vec<Text>,
    /// Mean over the baseline's runs.
    pub baseline: Nanos,
    /// Mean over the candidate's runs.
    pub candidate: Nanos,
    /// Candidate less baseline, ns.
    pub extra_ns: i64,
    /// The extra as a share of the whole difference; negative when it goes against it, 0 when
    /// there is no difference.
    pub share: f64,
    /// In how many rounds the pair differed in the direction of `extra_ns`.
    pub rounds_agreeing: usize,
    /// How far the rounds lie apart; none without a round of both.
    pub spread: Option<Spread>,
}

impl Difference {
    /// True when the row says what the time went to: its cause is known.
    #[must_use]
    pub fn explains(&self) -> bool {
        self.cause != Cause::Other
    }
}

/// Two sets of runs compared.
#[derive(Debug, Clone, PartialEq)]
pub struct RunComparison {
    /// Mean wall time of the baseline.
    pub baseline: Nanos,
    /// Mean wall time of the candidate.
    pub candidate: Nanos,
    /// The ratio of paired wall times; none without a round of both.
    pub ratio: Option<Ratio>,
    /// Extra time by cause and function, the largest first whatever its sign.
    pub rows: Vec<Difference>,
    /// How much of the difference the rows with a known cause explain, 0 to 1; 0 when there is no
    /// difference.
    pub explained_share: f64,
}

impl RunComparison {
    /// Mean wall time of the candidate less the baseline's, ns.
    #[must_use]
    pub fn extra_ns(&self) -> i64 {
        less(self.candidate, self.baseline)
    }
}

/// One run: its wall time and its rows.
#[derive(Debug, Clone)]
pub struct Run {
    wall: Nanos,
    rows: BTreeMap<Key, Spent>,
}

type Key = (Cause, Text);

#[derive(Debug, Clone, Default)]
struct Spent {
    time: Nanos,
    processes: FxHashMap<Text, Nanos>,
    stacks: FxHashMap<StackId, Nanos>,
    /// The costliest of the stacks, written out.
    typical: Vec<Text>,
}

impl Run {
    /// Charges a recording whose intervals are built. Linear in intervals.
    #[must_use]
    pub fn of(recording: &Recording, own: &OwnCode) -> Self {
        Self::with(recording, own, &Causes::of(recording), &Relevance::of(recording))
    }

    /// As [`Run::of`], from parts that the caller has.
    #[must_use]
    pub fn with(
        recording: &Recording,
        own: &OwnCode,
        causes: &Causes,
        relevance: &Relevance,
    ) -> Self {
        let lost = Text::from(STACK_LOST);
        let mut names: FxHashMap<FrameId, Text> = FxHashMap::default();
        let mut rows: FxHashMap<Key, Spent> = FxHashMap::default();
        for (at, row) in recording.intervals.iter().enumerate() {
            let time = relevance.own(at);
            if time == Nanos::ZERO {
                continue;
            }
            let function = row_frame(recording, own, causes, row.stack).map(|frame| {
                let name = || Text::from(function_name(recording, frame));
                names.entry(frame).or_insert_with(name).clone()
            });
            let key = (row.cause, function.unwrap_or_else(|| lost.clone()));
            let process = &recording.process(recording.thread(row.thread).process).name;
            rows.entry(key).or_default().add(process, row.stack, time);
        }
        let named: Nanos = rows.values().map(|spent| spent.time).sum();
        let rest = relevance.wall.saturating_sub(named);
        if matches!(relevance.scope, Scope::Command { .. }) && rest > Nanos::ZERO {
            let key = (Cause::Other, Text::from(NOT_RECORDED));
            rows.entry(key).or_default().add(&Text::default(), None, rest);
        }
        let finished = rows.into_iter().map(|(key, spent)| {
            let typical = spent.typical_stack(recording, key.0);
            (key, Spent { typical, ..spent })
        });
        Self { wall: relevance.wall, rows: finished.collect() }
    }

    /// Its time by cause.
    #[must_use]
    pub fn by_cause(&self) -> BTreeMap<Cause, Nanos> {
        let mut causes = BTreeMap::new();
        for ((cause, _), spent) in &self.rows {
            *causes.entry(*cause).or_default() += spent.time;
        }
        causes
    }
}

/// The frame whose function a row of a comparison is named after, for time at a stack: the nearest of
/// the program's own code, else the innermost outside the kernel, else the innermost.
#[must_use]
pub fn row_frame(
    recording: &Recording,
    own: &OwnCode,
    causes: &Causes,
    stack: Option<StackId>,
) -> Option<FrameId> {
    let leaf = stack.map(|stack| causes.user_part(stack).unwrap_or(stack));
    own.pointed(stack, leaf.and_then(|stack| recording.stack(stack).next()))
}

impl Spent {
    fn add(&mut self, process: &Text, stack: Option<StackId>, time: Nanos) {
        self.time += time;
        *self.processes.entry(process.clone()).or_default() += time;
        if let Some(stack) = stack {
            *self.stacks.entry(stack).or_default() += time;
        }
    }

    /// The costliest stack, root first, with the cause.
    fn typical_stack(&self, recording: &Recording, cause: Cause) -> Vec<Text> {
        let costliest = self.stacks.iter().max_by_key(|(stack, time)| (**time, Reverse(**stack)));
        let Some((stack, _)) = costliest else { return Vec::new() };
        let mut names: Vec<Text> =
            recording.stack(*stack).map(|frame| recording.frame_name(frame).into()).collect();
        names.reverse();
        names.push(cause.word().into());
        names
    }
}

/// Compares two sets of runs; the n-th of one is paired with the n-th of the other. Wall times
/// within a factor `1 + band` count as the same. None when either set is empty.
#[must_use]
pub fn compare(baseline: &[Run], candidate: &[Run], band: f64) -> Option<RunComparison> {
    let ratio = compare_paired(&seconds(baseline), &seconds(candidate), Bands::one(band));
    compared(baseline, candidate, ratio, Sides::Paired)
}

/// Compares two sets of runs that were not made side by side, of any sizes: what drifted between them
/// is part of every difference. A row's spread is that of the candidate's runs around the baseline's
/// mean. None when either set is empty.
#[must_use]
pub fn compare_sets(baseline: &[Run], candidate: &[Run], band: f64) -> Option<RunComparison> {
    let bands = Bands::one(band);
    let ratio = compare_unpaired(&seconds(baseline), &seconds(candidate), bands);
    compared(baseline, candidate, ratio.map(|ratio| ratio.into_ratio(bands)), Sides::Apart)
}

/// How the runs of the two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sides {
    Paired,
    Apart,
}

fn seconds(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.wall.seconds()).collect()
}

fn compared(
    baseline: &[Run],
    candidate: &[Run],
    ratio: Option<Ratio>,
    sides: Sides,
) -> Option<RunComparison> {
    let walls = |runs: &[Run]| runs.iter().map(|run| run.wall).collect::<Vec<_>>();
    let (mean_before, mean_after) = (mean(&walls(baseline))?, mean(&walls(candidate))?);
    let whole = less(mean_after, mean_before);
    let mut keys: Vec<&Key> =
        baseline.iter().chain(candidate).flat_map(|r| r.rows.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let rows =
        keys.into_iter().filter_map(|key| difference(key, (baseline, candidate), whole, sides));
    let mut rows: Vec<Difference> = rows.collect();
    rows.sort_by(|a, b| {
        (b.extra_ns.unsigned_abs().cmp(&a.extra_ns.unsigned_abs()))
            .then(a.cause.cmp(&b.cause))
            .then_with(|| a.function.cmp(&b.function))
    });
    let explained: f64 = rows.iter().filter(|row| row.explains()).map(|row| row.share).sum();
    Some(RunComparison {
        baseline: mean_before,
        candidate: mean_after,
        ratio,
        rows,
        explained_share: explained.clamp(0.0, 1.0),
    })
}

fn difference(
    key: &Key,
    (baseline, candidate): (&[Run], &[Run]),
    whole: i64,
    sides: Sides,
) -> Option<Difference> {
    let times = |runs: &[Run]| -> Vec<Nanos> {
        runs.iter().map(|run| run.rows.get(key).map_or(Nanos::ZERO, |spent| spent.time)).collect()
    };
    let (before, after) = (times(baseline), times(candidate));
    let (mean_before, mean_after) = (mean(&before)?, mean(&after)?);
    let extra_ns = less(mean_after, mean_before);
    let rounds: Vec<i64> = match sides {
        Sides::Paired => before.iter().zip(&after).map(|(a, b)| less(*b, *a)).collect(),
        Sides::Apart => after.iter().map(|b| less(*b, mean_before)).collect(),
    };
    Some(Difference {
        cause: key.0,
        function: key.1.clone(),
        process: main_process(key, baseline, candidate),
        stack: typical(key, candidate).or_else(|| typical(key, baseline)).unwrap_or_default(),
        baseline: mean_before,
        candidate: mean_after,
        extra_ns,
        share: share(extra_ns, whole),
        rounds_agreeing: rounds.iter().filter(|round| round.signum() == extra_ns.signum()).count(),
        spread: Spread::of(&rounds),
    })
}

/// The typical stack of the run that spent most time at a row.
fn typical(key: &Key, runs: &[Run]) -> Option<Vec<Text>> {
    let spent = runs.iter().filter_map(|run| run.rows.get(key));
    let most = spent.filter(|spent| !spent.typical.is_empty()).max_by_key(|spent| spent.time);
    most.map(|spent| spent.typical.clone())
}

/// The program that spent most time at a row over all runs.
fn main_process(key: &Key, baseline: &[Run], candidate: &[Run]) -> Text {
    let mut sums: Vec<(Text, Nanos)> = Vec::new();
    let spent = baseline.iter().chain(candidate).filter_map(|run| run.rows.get(key));
    for (process, time) in spent.flat_map(|spent| &spent.processes) {
        match sums.iter_mut().find(|(known, _)| known == process) {
            Some((_, sum)) => *sum += *time,
            None => sums.push((process.clone(), *time)),
        }
    }
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums.into_iter().next().map(|(process, _)| process).unwrap_or_default()
}

fn mean(times: &[Nanos]) -> Option<Nanos> {
    let sum: u128 = times.iter().map(|time| u128::from(time.0)).sum();
    let mean = sum.checked_div(times.len() as u128)?;
    Some(Nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
}

fn less(a: Nanos, b: Nanos) -> i64 {
    let signed = |n: Nanos| i64::try_from(n.0).unwrap_or(i64::MAX);
    signed(a) - signed(b)
}

#[expect(clippy::cast_precision_loss, reason = "53 bits hold 104 days of nanoseconds")]
fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Patterns;
    use crate::stats::Verdict;
    use culprit_model::notation::parse;

    fn run(drawing: &str) -> Run {
        let stacks = "
            stack s blocked.sleep main;nap;[kernel]!do_nanosleep
            stack a cpu.user main;work
            stack i blocked.lock pool;next;[kernel]!futex_wait
            root app(1)\n";
        let recording = parse(&format!("{stacks}{drawing}")).expect(drawing);
        Run::of(&recording, &OwnCode::new(&recording, &Patterns::default()))
    }

    #[test]
    fn the_extra_time_is_where_the_candidate_waits_longer() {
        let fast: Vec<Run> = (0..5).map(|_| run("app(1)/main(1) aaass|")).collect();
        let slow: Vec<Run> =
            (0..5).map(|_| run("app(1)/main(1) aaasssssss|\napp(1)/idle(2) iiiiiiiiii")).collect();
        let found = compare(&fast, &slow, 0.05).expect("runs");
        assert_eq!(found.extra_ns(), 5_000_000);
        let worst = &found.rows[0];
        assert_eq!((worst.cause, worst.function.as_str()), (Cause::Sleep, "app!nap"));
        assert_eq!((worst.extra_ns, worst.rounds_agreeing), (5_000_000, 5));
        let spread = worst.spread.expect("five rounds");
        assert_eq!((spread.low_ns, spread.high_ns), (5_000_000, 5_000_000));
        assert!(spread.differs() && spread.coverage > 0.9);
        let stack: Vec<&str> = worst.stack.iter().map(Text::as_str).collect();
        assert_eq!(stack, ["app!main", "app!nap", "[kernel]!do_nanosleep", "blocked.sleep"]);
        assert!((found.explained_share - 1.0).abs() < 1e-9);
        assert!(found.rows.iter().all(|row| row.function.as_str() != "app!next"), "idle counts");
        assert_eq!(found.rows.iter().map(|row| row.extra_ns).sum::<i64>(), found.extra_ns());
    }

    #[test]
    fn sets_that_were_not_made_side_by_side_need_no_pairs() {
        let before = [run("app(1)/main(1) aaass|")];
        let after: Vec<Run> = (0..4).map(|_| run("app(1)/main(1) aaassssssss|")).collect();
        let found = compare_sets(&before, &after, 0.05).expect("runs");
        let ratio = found.ratio.expect("times");
        assert!((ratio.value - 11.0 / 5.0).abs() < 0.01 && ratio.rounds == 4, "{ratio:?}");
        assert_eq!(ratio.verdict, Verdict::Slower);
        assert_eq!((found.rows[0].extra_ns, found.rows[0].rounds_agreeing), (6_000_000, 4));
        // One earlier run tells nothing about how much it varied: the same cannot be shown.
        let same = compare_sets(&before, &[before[0].clone(), before[0].clone()], 0.05);
        assert_eq!(same.and_then(|same| same.ratio).map(|r| r.verdict), Some(Verdict::Unclear));
        assert!(compare_sets(&[], &after, 0.05).is_none());
    }

    #[test]
    fn what_nobody_can_name_explains_nothing() {
        let found =
            compare(&[run("app(1)/main(1) aaax|")], &[run("app(1)/main(1) aaaxxxx|")], 0.05)
                .expect("runs");
        assert!(found.explained_share.abs() < 1e-9);
        assert!(compare(&[], &[], 0.05).is_none());
    }
}
