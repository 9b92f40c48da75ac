//! How many of the switches get a stack, when there are very many.
//!
//! A stack costs the switching CPU about 3.5 us (docs/recorder-cost.md). Up to the limit every
//! switch gets one; above it every N-th does, and the others are given the stack of the same thread's
//! last switch of the same kind. What switches that often does so in the same places, so above the
//! limit fewer stacks are taken than at it: they take at most a twentieth of the CPU. Switch times are
//! exact at any rate. N is odd and changes from round to round: threads that take turns would otherwise
//! be hit always or never.
//!
//! ```text
//! switches a second     5,000   25,000   26,000   100,000   240,000
//! every N-th                1        1        3        11        25
//! stacks a second       5,000   25,000    8,700     9,100     9,600
//! ```
//!
//! Dumps are saved up: a program that starts switches often for a fifth of a second, and then waits for long.
//! That wait is one switch, and must not be among those that were left out. So a CPU that took fewer dumps
//! than the limit before may take as many more as it left. That is no program's start where it switches ten
//! times as often as the limit: such dumps would fill a ring before the reader comes.
//!
//! Where the worker falls behind, the reader halves limits until it has caught up ([`Pace::round`], `halvings`):
//! what must be left out is left out evenly.

/// Stacks a second and CPU, below which every switch gets one: 25,000 x 3.5 us = 9 % of the CPU.
/// At this rate a wait lasts 40 us; half the limit would thin out programs that merely work with a
/// database over a socket, twice the limit costs twice as much.
pub const DEFAULT_STACK_RATE: u32 = 25_000;

/// Seconds of the limit that a CPU may save up: a JVM of Java 21 makes some 1,000 switches while it starts, Node.js
/// some 700. On a CPU that is idle before, 2,000 dumps take 3 ms of it and 10 ms of another one.
pub(crate) const DUMPS_SAVED: u32 = 2;

/// Of the limit, how much is taken above it: two fifths.
const ABOVE: (u64, u64) = (2, 5);

/// So many times the limit is no program's start: 10,000 dumps of 12 KiB a second fill a ring of 8 MiB
/// in 70 ms.
const BURST: u64 = 10;

/// Sets the pace of one CPU, round by round.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    limit: Option<u32>,
    period: u64,
    turn: u64,
    /// What may be saved up, and what is.
    most_saved: u64,
    saved: u64,
    /// When the last round was.
    last: u64,
}

impl Pace {
    /// Every switch, until a round shows more than `limit` a second; none for no limit.
    pub(crate) fn new(limit: Option<u32>) -> Self {
        Self { limit, period: 1, turn: 0, most_saved: 0, saved: 0, last: 0 }
    }

    /// The same, with so many seconds of the limit saved up.
    pub(crate) fn with_saved(limit: Option<u32>, seconds: u32) -> Self {
        let most_saved = u64::from(limit.unwrap_or(0)) * u64::from(seconds);
        Self { most_saved, saved: most_saved, ..Self::new(limit) }
    }

    /// After a round that ended `now`, with so many switches in so many ns: the period to use from now on,
    /// if it is another one. The limit is halved so many times.
    pub(crate) fn round(
        &mut self,
        switches: u64,
        (length_ns, now): (u64, u64),
        halvings: u32,
    ) -> Option<u64> {
        let limit = u64::from(self.limit?).checked_shr(halvings).unwrap_or(0).max(1);
        if length_ns == 0 {
            return None;
        }
        // Rounds without a switch are not among these.
        let since = now.saturating_sub(std::mem::replace(&mut self.last, now)).max(length_ns);
        let allowed = u128::from(limit) * u128::from(since) / 1_000_000_000;
        let allowed = u64::try_from(allowed).unwrap_or(u64::MAX);
        let taken = switches / self.period;
        self.saved = self.saved.saturating_add(allowed).saturating_sub(taken).min(self.most_saved);
        let rate = u128::from(switches) * 1_000_000_000 / u128::from(length_ns);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.turn = self.turn.wrapping_add(1);
        let saves = self.saved > 0 && !self.thins() && rate <= limit.saturating_mul(BURST);
        let period = match rate {
            rate if rate <= limit || saves => 1,
            _ => {
                let above = (limit * ABOVE.0 / ABOVE.1).max(1);
                // The next odd number, and the one after it, in turn.
                (rate.div_ceil(above) | 1).saturating_add(2 * (self.turn % 2))
            }
        };
        (std::mem::replace(&mut self.period, period) != period).then_some(period)
    }

    /// Whether switches are left out now.
    pub(crate) fn thins(&self) -> bool {
        self.period > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: u64 = 100_000_000;

    /// What each round answers, one after the other.
    fn rounds(pace: &mut Pace, switches: &[u64]) -> Vec<Option<u64>> {
        let ends = (1..).map(|round: u64| round * ROUND);
        switches.iter().zip(ends).map(|(count, now)| pace.round(*count, (ROUND, now), 0)).collect()
    }

    #[test]
    fn up_to_the_limit_every_switch_gets_its_stack() {
        let mut pace = Pace::new(Some(25_000));
        assert_eq!(pace.round(2_500, (ROUND, ROUND), 0), None);
        assert!(!pace.thins());
    }

    #[test]
    fn above_it_the_period_is_odd_and_changes_every_round() {
        let mut pace = Pace::new(Some(25_000));
        assert_eq!(rounds(&mut pace, &[13_000; 4]), [Some(15), Some(13), Some(15), Some(13)]);
        assert!(pace.thins());
        assert_eq!(pace.round(100, (ROUND, 5 * ROUND), 0), Some(1));
    }

    #[test]
    fn without_a_limit_nothing_is_left_out() {
        assert_eq!(Pace::new(None).round(u64::MAX, (ROUND, ROUND), 0), None);
    }

    #[test]
    fn a_short_start_has_all_its_dumps_and_what_goes_on_has_not() {
        let mut pace = Pace::with_saved(Some(1_000), 2);
        // 900 a round, 100 allowed: 2,000 saved ones last for two rounds.
        assert_eq!(rounds(&mut pace, &[900, 900, 900, 900]), [None, None, Some(25), Some(23)]);
        let mut pace = Pace::with_saved(Some(1_000), 2);
        assert_eq!(rounds(&mut pace, &[900, 900, 3, 3]), [None; 4]);
        assert_eq!(pace.round(900, (ROUND, 40 * ROUND), 0), None, "it was saved up again");
    }

    #[test]
    fn on_the_average_no_more_than_the_limit_is_taken() {
        let mut pace = Pace::with_saved(Some(1_000), 2);
        let (mut taken, mut period) = (0, 1);
        for round in 1..=600 {
            taken += 430 / period;
            period = pace.round(430, (ROUND, round * ROUND), 0).unwrap_or(period);
        }
        assert!(taken <= 2_000 + 600 * 100 + 430, "{taken}");
    }

    #[test]
    fn a_rate_that_is_no_programs_start_uses_nothing_that_was_saved() {
        let mut pace = Pace::with_saved(Some(1_000), 2);
        assert_eq!(pace.round(1_200, (ROUND, ROUND), 0), Some(33));
    }

    #[test]
    fn where_the_worker_falls_behind_fewer_are_taken() {
        let mut pace = Pace::new(Some(25_000));
        assert_eq!(pace.round(2_400, (ROUND, ROUND), 0), None);
        assert_eq!(pace.round(2_400, (ROUND, 2 * ROUND), 1), Some(5));
        assert_eq!(pace.round(2_400, (ROUND, 3 * ROUND), 3), Some(23));
        assert_eq!(pace.round(2_400, (ROUND, 4 * ROUND), 0), Some(1));
    }
}
