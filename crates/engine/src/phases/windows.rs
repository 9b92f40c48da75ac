//! Windows of a run as points: the share of each window's time at each spot.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_model::{Nanos, Time};

use super::changes::Stretch;
use super::{Counted, TimeUse};

/// How many spots have a share of their own in a window's point; the rest counts by use.
const SPOTS: usize = 24;

/// The windows of a run.
#[derive(Debug)]
pub(super) struct Windows {
    /// Each window's shares by spot; the last is that in which nothing was recorded. They sum to 1.
    pub(super) points: Vec<Vec<f64>>,
    /// The share of each window that nothing was done in: asleep, or nothing recorded.
    pub(super) idle: Vec<f64>,
    /// How long the last window is, where the others are 1.
    pub(super) last: f64,
}

impl Windows {
    /// `count` windows of a length in a range of time; the last one takes what is behind it.
    pub(super) fn new(
        counted: &Counted,
        (start, end): (Time, Time),
        (window, count): (Nanos, usize),
    ) -> Self {
        let last = end.since(start).saturating_sub(Nanos(window.0 * (count as u64 - 1)));
        let columns = Columns::new(counted);
        let width = columns.idle.len();
        let mut points = vec![vec![0.0; width + 1]; count];
        for piece in &counted.pieces {
            let column = columns.of_spot[counted.uses[piece.passes_for].1];
            let mut from = piece.from;
            while from < piece.to {
                let at = usize::try_from(from.since(start).0 / window.0).unwrap_or(count);
                let at = at.min(count - 1);
                let edge = Time(start.0 + window.0 * (at as u64 + 1));
                let to = if at + 1 == count { piece.to } else { piece.to.min(edge) };
                points[at][column] += to.since(from).0 as f64;
                from = to;
            }
        }
        for (at, point) in points.iter_mut().enumerate() {
            let counted: f64 = point.iter().sum();
            let length = if at + 1 == count { last } else { window };
            let whole = counted.max(length.0 as f64).max(1.0);
            // Where nobody works, that is what the window does.
            point[width] = whole - counted;
            point.iter_mut().for_each(|share| *share /= whole);
        }
        let idle_of = |point: &Vec<f64>| {
            let own = point.iter().zip(&columns.idle).filter(|(_, idle)| **idle);
            own.map(|(share, _)| *share).sum::<f64>() + point[width]
        };
        let idle = points.iter().map(idle_of).collect();
        Self { points, idle, last: last.share_of(window) }
    }

    /// The idle share of a stretch.
    pub(super) fn idle_share(&self, (from, to): Stretch) -> f64 {
        let length = |at: usize| if at + 1 == self.idle.len() { self.last } else { 1.0 };
        let idle: f64 = (from..to).map(|at| self.idle[at] * length(at)).sum();
        idle / (from..to).map(length).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// The columns of a point.
struct Columns {
    /// Of each spot.
    of_spot: Vec<usize>,
    /// Whether nothing is done in a column's time.
    idle: Vec<bool>,
}

impl Columns {
    /// One for each of the costliest spots, one a use for the rest.
    fn new(counted: &Counted) -> Self {
        let spots = &counted.spots;
        let mut sums = vec![Nanos::ZERO; spots.len()];
        for piece in &counted.pieces {
            sums[counted.uses[piece.passes_for].1] += piece.to.since(piece.from);
        }
        let mut order: Vec<usize> = (0..spots.len()).collect();
        order.sort_by_key(|at| (Reverse(sums[*at]), *at));
        let mut of_spot = vec![0; spots.len()];
        let mut idle = Vec::new();
        let mut rest: BTreeMap<TimeUse, usize> = BTreeMap::new();
        for (rank, at) in order.into_iter().enumerate() {
            let time_use = spots[at].time_use;
            let mut add = || {
                idle.push(time_use.is_idle());
                idle.len() - 1
            };
            of_spot[at] =
                if rank < SPOTS { add() } else { *rest.entry(time_use).or_insert_with(add) };
        }
        Self { of_spot, idle }
    }
}
