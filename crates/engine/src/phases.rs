//! Phases of a run: start-up, steady state and end, by where what it does changes.
//!
//! The time is cut into equal windows. Each window becomes a point: the shares of its time that
//! passed for each cause in each function, along the critical path for a command, over everything
//! that counts for a service. Optimal partitioning (Jackson et al., 2005) then finds the changes:
//! of all ways to cut the windows into stretches it takes the one with the least sum of squared
//! distances to each stretch's mean, where every further stretch costs as much as noise alone would
//! gain by it. What neighbouring windows differ by tells the noise.
//!
//! ```text
//! windows    a a a b b b b b b b c b b b d      each letter: another mix
//! stretches  [ a ] [      b      ] c [ b ] d
//! phases     start-up, steady, other, steady, end
//! ```
//!
//! The steady state is the mix of the longest stretch. Start-up is all before the first stretch
//! of that mix, the end all after the last.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_model::{Cause, FrameId, Nanos, Recording, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::causes::Causes;
use crate::wakers::{Relevance, Row, Scope};

/// Windows of a run: enough to place a change to one per cent, few enough that each holds samples.
const WINDOWS: u64 = 100;

/// Windows are no shorter: at the usual thousand samples a second each holds ten.
const SHORTEST: Nanos = Nanos(10_000_000);

/// Fewer windows tell no phases.
const FEWEST: usize = 8;

/// How many places have a share of their own in a window's point; the rest counts by cause.
const PLACES: usize = 24;

/// What a further stretch costs, in variances of a window times the logarithm of their number. The
/// gain of a cut at the best of n places in pure noise grows so; at 2, one run in ten of noise
/// alone is cut, at 4 changes of two windows are missed.
const PENALTY: f64 = 3.0;

/// The least variance of a window: windows of constant work differ by what sampling leaves open.
const LEAST_VARIANCE: f64 = 0.002;

/// Share of the time that must be spent otherwise before two stretches are two mixes.
const MIN_CHANGE: f64 = 0.25;

/// What a stretch is in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Before the steady state.
    Start,
    /// The mix of the longest stretch.
    Steady,
    /// Something else between two stretches of the steady state.
    Other,
    /// After the steady state.
    End,
}

impl Kind {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "start-up",
            Self::Steady => "steady",
            Self::Other => "other",
            Self::End => "end",
        }
    }
}

/// What time passes for, and where: the innermost named function outside the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Why the thread was not running, or where it ran; none while nobody worked.
    pub cause: Option<Cause>,
    /// `module!function`; empty where no stack tells it.
    pub function: String,
}

/// A stretch of the run that does one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// What it is in the run.
    pub kind: Kind,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// The time that counts by place, the costliest first.
    pub places: Vec<(Place, Nanos)>,
}

impl Phase {
    /// How long it is.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }

    /// All time that counts in it.
    #[must_use]
    pub fn counted(&self) -> Nanos {
        self.places.iter().map(|(_, time)| *time).sum()
    }

    /// The time that counts by cause, the costliest first.
    #[must_use]
    pub fn causes(&self) -> Vec<(Cause, Nanos)> {
        let mut causes: BTreeMap<Cause, Nanos> = BTreeMap::new();
        for (place, time) in &self.places {
            if let Some(cause) = place.cause {
                *causes.entry(cause).or_default() += *time;
            }
        }
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, time)| Reverse(*time));
        causes
    }
}

/// The phases of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases {
    /// In order of time, without gaps.
    pub phases: Vec<Phase>,
    /// How exactly changes are placed.
    pub window: Nanos,
    /// True when the time holds too few windows to tell phases.
    pub too_short: bool,
}

/// A stretch of time that counts.
struct Piece {
    from: Time,
    to: Time,
    place: usize,
}

impl Phases {
    /// Finds the phases of a command's life, or of a service's recording. Linear in intervals.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self::new(recording, &Relevance::of(recording), None)
    }

    /// The phases of one thread's time, followed through wakers.
    #[must_use]
    pub fn of_thread(recording: &Recording, thread: ThreadId, range: (Time, Time)) -> Self {
        Self::new(recording, &Relevance::of_range(recording, thread, range), None)
    }

    /// The phases of a part of the recording's time.
    #[must_use]
    pub fn of_range(recording: &Recording, range: (Time, Time)) -> Self {
        Self::new(recording, &Relevance::of(recording), Some(range))
    }

    fn new(recording: &Recording, relevance: &Relevance, part: Option<(Time, Time)>) -> Self {
        let (from, to) = match relevance.scope {
            Scope::Command { from, to, .. } => (from, to),
            Scope::Service => (Time::START, Time(recording.meta.wall.0)),
        };
        let range = part.map_or((from, to), |(a, b)| (a.max(from).min(to), b.min(to).max(from)));
        let (places, pieces) = pieces(recording, relevance, range);
        let whole = range.1.since(range.0);
        let window = Nanos(whole.0.div_ceil(WINDOWS)).max(SHORTEST);
        let count = usize::try_from(whole.0 / window.0).unwrap_or(0).max(1);
        let points = points(&places, &pieces, range.0, window, count);
        let too_short = count < FEWEST;
        let cuts = if too_short { vec![0, count] } else { cuts(&points) };
        let stretches = kinds(&points, &joined(&points, &cuts));
        let at = |cut: usize| match cut == count {
            true => range.1,
            false => Time(range.0.0 + window.0 * cut as u64),
        };
        let phases = stretches
            .into_iter()
            .map(|(kind, first, last)| {
                let (from, to) = (at(first), at(last));
                Phase { kind, from, to, places: sums(&places, &pieces, from, to) }
            })
            .collect();
        Self { phases, window, too_short }
    }

    /// The share of a place in the time that counts of the steady state.
    #[must_use]
    pub fn steady_share(&self, place: &Place) -> f64 {
        let steady = || self.phases.iter().filter(|phase| phase.kind == Kind::Steady);
        let whole: Nanos = steady().map(Phase::counted).sum();
        let own = steady().flat_map(|phase| &phase.places).filter(|(own, _)| own == place);
        own.map(|(_, time)| *time).sum::<Nanos>().share_of(whole)
    }
}

/// The time that counts within a range, and the places that it passes at.
fn pieces(
    recording: &Recording,
    relevance: &Relevance,
    range: (Time, Time),
) -> (Vec<Place>, Vec<Piece>) {
    let causes = Causes::of(recording);
    let functions: Vec<Option<FrameId>> = functions(recording, &causes);
    let mut names: FxHashMap<FrameId, String> = FxHashMap::default();
    let mut known: FxHashMap<Place, usize> = FxHashMap::default();
    let mut places = Vec::new();
    let mut pieces = Vec::new();
    let mut add = |row: Option<usize>, from: Time, to: Time| {
        let (from, to) = (from.max(range.0), to.min(range.1));
        if from >= to {
            return;
        }
        let row = row.map(|at| &recording.intervals[at]);
        let frame =
            row.and_then(|row| row.stack).and_then(|s| functions.get(s.index()).copied()?);
        let function = frame.map_or_else(String::new, |frame| {
            names.entry(frame).or_insert_with(|| recording.frame_name(frame)).clone()
        });
        let place = Place { cause: row.map(|row| row.cause), function };
        let place = *known.entry(place).or_insert_with_key(|place| {
            places.push(place.clone());
            places.len() - 1
        });
        pieces.push(Piece { from, to, place });
    };
    match relevance.scope {
        Scope::Command { .. } => {
            for segment in &relevance.path.segments {
                add(segment.interval.map(Row::index), segment.from, segment.to);
            }
        }
        Scope::Service => {
            for (at, row) in recording.intervals.iter().enumerate() {
                add(Some(at), row.start, row.start + relevance.own(at));
            }
        }
    }
    (places, pieces)
}

/// The innermost named function outside the kernel of each stack.
fn functions(recording: &Recording, causes: &Causes) -> Vec<Option<FrameId>> {
    let mut named: Vec<Option<FrameId>> = Vec::with_capacity(recording.stacks.len());
    for (at, node) in recording.stacks.iter().enumerate() {
        let above = node.parent.and_then(|p| named.get(p.index()).copied()?);
        let kernel = causes.in_kernel(culprit_model::StackId::from_index(at));
        let own = !kernel && recording.frame(node.frame).function.as_str() != "?";
        named.push(if own { Some(node.frame) } else { above });
    }
    named
}

/// Each window's shares by place: its point.
fn points(
    places: &[Place],
    pieces: &[Piece],
    start: Time,
    window: Nanos,
    count: usize,
) -> Vec<Vec<f64>> {
    let columns = columns(places, pieces);
    let width = columns.iter().max().map_or(0, |most| most + 1);
    let mut points = vec![vec![0.0; width + 1]; count];
    for piece in pieces {
        let mut from = piece.from;
        while from < piece.to {
            let at = usize::try_from(from.since(start).0 / window.0).unwrap_or(count);
            let at = at.min(count - 1);
            let edge = Time(start.0 + window.0 * (at as u64 + 1));
            let to = if at + 1 == count { piece.to } else { piece.to.min(edge) };
            points[at][columns[piece.place]] += to.since(from).0 as f64;
            from = to;
        }
    }
    for point in &mut points {
        let counted: f64 = point.iter().sum();
        let whole = counted.max(window.0 as f64);
        // Where nobody works, that is what the window does.
        point[width] = whole - counted;
        point.iter_mut().for_each(|share| *share /= whole);
    }
    points
}

/// The column of each place in a point: one for each of the costliest, one a cause for the rest.
fn columns(places: &[Place], pieces: &[Piece]) -> Vec<usize> {
    let mut sums = vec![Nanos::ZERO; places.len()];
    for piece in pieces {
        sums[piece.place] += piece.to.since(piece.from);
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|at| (Reverse(sums[*at]), *at));
    let mut columns = vec![0; places.len()];
    let mut rest: BTreeMap<Option<Cause>, usize> = BTreeMap::new();
    for (rank, at) in order.into_iter().enumerate() {
        let next = PLACES + rest.len();
        columns[at] =
            if rank < PLACES { rank } else { *rest.entry(places[at].cause).or_insert(next) };
    }
    columns
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// How much of the time two mixes spend otherwise, 0 to 1.
fn change(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

/// The variance of a window around its stretch's mean: half the usual squared distance of
/// neighbours, which few changes do not disturb.
fn variance(points: &[Vec<f64>]) -> f64 {
    let mut distances: Vec<f64> =
        points.windows(2).map(|pair| squared_distance(&pair[0], &pair[1])).collect();
    distances.sort_by(f64::total_cmp);
    let median = distances.get(distances.len() / 2).copied().unwrap_or(0.0);
    (median / 2.0).max(LEAST_VARIANCE)
}

/// The bounds of the best stretches, from 0 to the number of points.
fn cuts(points: &[Vec<f64>]) -> Vec<usize> {
    let count = points.len();
    let penalty = PENALTY * variance(points) * (count as f64).ln();
    let width = points.first().map_or(0, Vec::len);
    // Sums over all points before one, of the points and of their squares.
    let mut sums = vec![vec![0.0; width]];
    let mut squares = vec![0.0];
    for point in points {
        let mut sum = sums.last().cloned().unwrap_or_default();
        sum.iter_mut().zip(point).for_each(|(sum, share)| *sum += share);
        let square =
            squares.last().copied().unwrap_or(0.0) + squared_distance(point, &vec![0.0; width]);
        sums.push(sum);
        squares.push(square);
    }
    let apart = |from: usize, to: usize| {
        let mean = squared_distance(&sums[to], &sums[from]) / (to - from) as f64;
        squares[to] - squares[from] - mean
    };
    // The least cost of the points before one, and where its last stretch begins.
    let mut best: Vec<(f64, usize)> = vec![(-penalty, 0)];
    for to in 1..=count {
        let costs = (0..to).map(|from| (best[from].0 + apart(from, to) + penalty, from));
        let least = costs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0));
        best.push(least);
    }
    let mut cuts = vec![count];
    let mut at = count;
    while at > 0 {
        at = best[at].1;
        cuts.push(at);
    }
    cuts.reverse();
    cuts
}

fn mean(points: &[Vec<f64>], from: usize, to: usize) -> Vec<f64> {
    let mut mean = vec![0.0; points.first().map_or(0, Vec::len)];
    for point in &points[from..to] {
        mean.iter_mut().zip(point).for_each(|(mean, share)| *mean += share / (to - from) as f64);
    }
    mean
}

/// The stretches without cuts at which hardly anything changes: the least change goes first.
fn joined(points: &[Vec<f64>], cuts: &[usize]) -> Vec<usize> {
    let mut cuts = cuts.to_vec();
    loop {
        let inner = 1..cuts.len().saturating_sub(1);
        let least = inner
            .map(|at| {
                let before = mean(points, cuts[at - 1], cuts[at]);
                (change(&before, &mean(points, cuts[at], cuts[at + 1])), at)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match least {
            Some((change, at)) if change < MIN_CHANGE => drop(cuts.remove(at)),
            _ => return cuts,
        }
    }
}

/// What each stretch is: its kind, first window and end. Neighbours of one kind stay apart.
fn kinds(points: &[Vec<f64>], cuts: &[usize]) -> Vec<(Kind, usize, usize)> {
    let stretches: Vec<(usize, usize)> = cuts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let longest = stretches.iter().copied().max_by_key(|(from, to)| (to - from, Reverse(*from)));
    let Some(longest) = longest else { return Vec::new() };
    let steady = mean(points, longest.0, longest.1);
    let is_steady =
        |(from, to): &(usize, usize)| change(&mean(points, *from, *to), &steady) < MIN_CHANGE;
    let first = stretches.iter().position(is_steady).unwrap_or(0);
    let last = stretches.iter().rposition(is_steady).unwrap_or(0);
    let kind = |at: usize, stretch: &(usize, usize)| match at {
        _ if at < first => Kind::Start,
        _ if at > last => Kind::End,
        _ if is_steady(stretch) => Kind::Steady,
        _ => Kind::Other,
    };
    stretches.iter().enumerate().map(|(at, s)| (kind(at, s), s.0, s.1)).collect()
}

/// The time that counts from `from` to `to` by place, the costliest first.
fn sums(places: &[Place], pieces: &[Piece], from: Time, to: Time) -> Vec<(Place, Nanos)> {
    let mut sums = vec![Nanos::ZERO; places.len()];
    for piece in pieces {
        sums[piece.place] += piece.to.min(to).since(piece.from.max(from));
    }
    let mut sums: Vec<_> = sums.into_iter().enumerate().filter(|(_, t)| *t > Nanos::ZERO).collect();
    sums.sort_by_key(|(at, time)| (Reverse(*time), *at));
    sums.into_iter().map(|(at, time)| (places[at].clone(), time)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of two places: the share of the first one, with a little noise of a fixed pattern.
    fn windows(mix: &[(usize, f64)]) -> Vec<Vec<f64>> {
        let shares = mix.iter().flat_map(|(count, share)| std::iter::repeat_n(*share, *count));
        let noise = [0.0, 0.03, -0.02, 0.01, -0.03, 0.02];
        shares
            .zip(noise.iter().cycle())
            .map(|(share, noise)| {
                let share: f64 = (share + noise).clamp(0.0, 1.0);
                vec![share, 1.0 - share]
            })
            .collect()
    }

    fn told(mix: &[(usize, f64)]) -> Vec<(&'static str, usize, usize)> {
        let points = windows(mix);
        let stretches = kinds(&points, &joined(&points, &cuts(&points)));
        stretches.into_iter().map(|(kind, from, to)| (kind.word(), from, to)).collect()
    }

    #[test]
    fn a_run_that_does_one_thing_is_steady() {
        assert_eq!(told(&[(100, 0.5)]), [("steady", 0, 100)]);
    }

    #[test]
    fn a_start_and_an_end_are_told_from_the_steady_state() {
        let told = told(&[(12, 0.9), (80, 0.2), (8, 0.8)]);
        assert_eq!(told, [("start-up", 0, 12), ("steady", 12, 92), ("end", 92, 100)]);
    }

    #[test]
    fn a_start_in_two_steps_is_two_stretches() {
        let told = told(&[(10, 1.0), (10, 0.5), (80, 0.0)]);
        assert_eq!(told, [("start-up", 0, 10), ("start-up", 10, 20), ("steady", 20, 100)]);
    }

    #[test]
    fn something_else_in_between_does_not_end_the_steady_state() {
        let told = told(&[(40, 0.1), (10, 0.9), (50, 0.12)]);
        assert_eq!(told, [("steady", 0, 40), ("other", 40, 50), ("steady", 50, 100)]);
    }

    #[test]
    fn small_changes_are_none() {
        assert_eq!(told(&[(50, 0.5), (50, 0.65)]), [("steady", 0, 100)]);
    }
}
