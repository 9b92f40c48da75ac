//! Where the mix of windows changes, and what each stretch between two changes is in its run.

use std::cmp::Reverse;

use super::Kind;
use super::windows::Windows;

/// What a further stretch costs, in variances of a window times the logarithm of their number. The
/// gain of a cut at the best of n places in pure noise grows so; at 2, one run in ten of noise
/// alone is cut, at 4 changes of two windows are missed.
const PENALTY: f64 = 3.0;

/// The least variance of a window: windows of constant work differ by what sampling leaves open.
const LEAST_VARIANCE: f64 = 0.002;

/// Share of the time that must be spent otherwise before two stretches are two mixes.
const MIN_CHANGE: f64 = 0.25;

/// More phases than this are a timeline, and nobody reads them as a summary.
const MOST_PHASES: usize = 6;

/// Fewer windows are no phase of a run: a collector's pause, or another program on the CPU.
const FEWEST_WINDOWS: usize = 2;

/// Share of a stretch from which on it is asleep or empty, and has no other name.
const IDLE_FROM: f64 = 0.5;

/// Share of the busy windows that one mix must have to be a steady state.
const STEADY_FROM: f64 = 0.5;

/// A stretch of windows: the first one, and the one behind the last.
pub(super) type Stretch = (usize, usize);

/// The stretches of the windows, each with what it is in the run. Neighbours of one kind stay apart.
pub(super) fn stretches(windows: &Windows) -> Vec<(Kind, Stretch)> {
    let points = &windows.points;
    let found = joined(points, &cuts(points));
    let long = without_short(points, &found);
    let few = joined(points, &at_most(points, &long, MOST_PHASES));
    kinds(windows, &few)
}

/// The whole as one stretch.
pub(super) fn whole(windows: &Windows) -> Vec<(Kind, Stretch)> {
    kinds(windows, &[0, windows.points.len()])
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

/// The bounds without stretches of less than [`FEWEST_WINDOWS`]: each goes to the neighbour that it
/// resembles more.
fn without_short(points: &[Vec<f64>], cuts: &[usize]) -> Vec<usize> {
    let mut cuts = cuts.to_vec();
    while let Some(at) = short(&cuts) {
        let own = mean(points, cuts[at], cuts[at + 1]);
        let before = at.checked_sub(1).map(|b| change(&own, &mean(points, cuts[b], cuts[at])));
        let after = cuts.get(at + 2).map(|end| change(&own, &mean(points, cuts[at + 1], *end)));
        let joins_before = match (before, after) {
            (Some(before), Some(after)) => before <= after,
            (before, _) => before.is_some(),
        };
        cuts.remove(if joins_before { at } else { at + 1 });
    }
    cuts
}

/// The first stretch that is too short; none if it is the only one.
fn short(cuts: &[usize]) -> Option<usize> {
    let mut lengths = cuts.windows(2).map(|pair| pair[1] - pair[0]);
    lengths.position(|length| length < FEWEST_WINDOWS).filter(|_| cuts.len() > 2)
}

/// The bounds of at most so many stretches: what costs the least squared distance goes first
/// (Ward, 1963).
fn at_most(points: &[Vec<f64>], cuts: &[usize], most: usize) -> Vec<usize> {
    let mut cuts = cuts.to_vec();
    while cuts.len() > most + 1 {
        let cost = |at: &usize| {
            let (before, after) = (cuts[*at] - cuts[at - 1], cuts[at + 1] - cuts[*at]);
            let (a, b) =
                (mean(points, cuts[at - 1], cuts[*at]), mean(points, cuts[*at], cuts[at + 1]));
            (before * after) as f64 / (before + after) as f64 * squared_distance(&a, &b)
        };
        let inner = 1..cuts.len() - 1;
        let Some(least) = inner.min_by(|a, b| cost(a).total_cmp(&cost(b))) else { break };
        cuts.remove(least);
    }
    cuts
}

/// What each stretch is. One that is asleep or empty is idle, wherever it lies. The mix of the longest
/// other stretch is the steady state, if half of the busy windows have it; else the run goes through
/// steps.
fn kinds(windows: &Windows, cuts: &[usize]) -> Vec<(Kind, Stretch)> {
    let points = &windows.points;
    let stretches: Vec<Stretch> = cuts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let idle: Vec<bool> = stretches.iter().map(|s| windows.idle_share(*s) >= IDLE_FROM).collect();
    let length = |at: usize| stretches[at].1 - stretches[at].0;
    let busy: Vec<usize> = (0..stretches.len()).filter(|at| !idle[*at]).collect();
    let longest = busy.iter().copied().max_by_key(|at| (length(*at), Reverse(*at)));
    let Some(longest) = longest else { return all_of(Kind::Idle, stretches) };
    let steady = mean(points, stretches[longest].0, stretches[longest].1);
    let is_steady = |at: usize| {
        !idle[at] && change(&mean(points, stretches[at].0, stretches[at].1), &steady) < MIN_CHANGE
    };
    let sum = |of: &dyn Fn(usize) -> bool| -> usize {
        busy.iter().filter(|at| of(**at)).map(|at| length(*at)).sum()
    };
    let has_steady = sum(&is_steady) as f64 >= STEADY_FROM * sum(&|_| true) as f64;
    let first = busy.iter().copied().find(|at| is_steady(*at)).unwrap_or(longest);
    let last = busy.iter().copied().rfind(|at| is_steady(*at)).unwrap_or(longest);
    let kind = |at: usize| match at {
        _ if idle[at] => Kind::Idle,
        _ if !has_steady => Kind::Step,
        _ if at < first => Kind::Start,
        _ if at > last => Kind::End,
        _ if is_steady(at) => Kind::Steady,
        _ => Kind::Other,
    };
    stretches.iter().enumerate().map(|(at, stretch)| (kind(at), *stretch)).collect()
}

fn all_of(kind: Kind, stretches: Vec<Stretch>) -> Vec<(Kind, Stretch)> {
    stretches.into_iter().map(|stretch| (kind, stretch)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of two places and sleep: the shares of the first place and of sleep, with a little noise
    /// of a fixed pattern.
    fn windows(mix: &[(usize, f64, f64)]) -> Windows {
        let noise = [0.0, 0.03, -0.02, 0.01, -0.03, 0.02];
        let shares = mix.iter().flat_map(|(count, a, s)| std::iter::repeat_n((*a, *s), *count));
        let point = |((a, sleep), noise): ((f64, f64), &f64)| {
            let a: f64 = (a + noise).clamp(0.0, 1.0 - sleep);
            vec![a, 1.0 - sleep - a, sleep]
        };
        let points: Vec<Vec<f64>> = shares.zip(noise.iter().cycle()).map(point).collect();
        let idle = points.iter().map(|point| point[2]).collect();
        Windows { points, idle, last: 1.0 }
    }

    fn phases(mix: &[(usize, f64, f64)]) -> Vec<(&'static str, usize, usize)> {
        let found = stretches(&windows(mix));
        found.into_iter().map(|(kind, (from, to))| (kind.word(), from, to)).collect()
    }

    #[test]
    fn a_run_that_does_one_thing_is_steady() {
        assert_eq!(phases(&[(100, 0.5, 0.0)]), [("steady", 0, 100)]);
    }

    #[test]
    fn start_and_end_are_separated_from_the_steady_state() {
        let found = phases(&[(12, 0.9, 0.0), (80, 0.2, 0.0), (8, 0.8, 0.0)]);
        assert_eq!(found, [("start-up", 0, 12), ("steady", 12, 92), ("end", 92, 100)]);
    }

    #[test]
    fn a_start_in_two_steps_is_two_stretches() {
        let found = phases(&[(10, 1.0, 0.0), (10, 0.5, 0.0), (80, 0.0, 0.0)]);
        assert_eq!(found, [("start-up", 0, 10), ("start-up", 10, 20), ("steady", 20, 100)]);
    }

    #[test]
    fn something_else_in_between_does_not_end_the_steady_state() {
        let found = phases(&[(40, 0.1, 0.0), (10, 0.9, 0.0), (50, 0.12, 0.0)]);
        assert_eq!(found, [("steady", 0, 40), ("other", 40, 50), ("steady", 50, 100)]);
    }

    #[test]
    fn small_changes_are_none() {
        assert_eq!(phases(&[(50, 0.5, 0.0), (50, 0.65, 0.0)]), [("steady", 0, 100)]);
    }

    #[test]
    fn a_sleep_is_idle_however_long_it_is() {
        let found = phases(&[(10, 0.9, 0.0), (70, 0.0, 0.95), (20, 0.1, 0.0)]);
        assert_eq!(found, [("start-up", 0, 10), ("idle", 10, 80), ("steady", 80, 100)]);
        assert_eq!(phases(&[(100, 0.0, 1.0)]), [("idle", 0, 100)]);
    }

    #[test]
    fn without_a_mix_of_half_the_run_there_is_no_steady_state() {
        let found = phases(&[(30, 1.0, 0.0), (34, 0.0, 0.0), (36, 0.5, 0.0)]);
        assert_eq!(found, [("step", 0, 30), ("step", 30, 64), ("step", 64, 100)]);
    }

    #[test]
    fn a_single_window_is_no_phase() {
        let found = phases(&[(30, 0.0, 0.0), (1, 1.0, 0.0), (69, 0.0, 0.0)]);
        assert_eq!(found, [("steady", 0, 100)]);
    }

    #[test]
    fn a_run_that_changes_often_has_at_most_six_phases() {
        let mix: Vec<_> = (0..20).map(|at| (5, f64::from(at % 2), 0.0)).collect();
        assert!(phases(&mix).len() <= MOST_PHASES);
    }
}
