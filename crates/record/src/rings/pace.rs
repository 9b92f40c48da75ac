//! How many of the switches get a stack, when there are very many.
//!
//! A stack costs the switching CPU about 3.5 us (docs/recorder-cost.md). Up to the limit every
//! switch gets one; above it every N-th does, so that the stacks of a CPU never take more than a
//! tenth of it, and the others are given the stack of the same thread's last switch of the same
//! kind. Switch times are exact at any rate. N is odd and changes from round to round: threads that
//! take turns would otherwise be hit always or never.
//!
//! Dumps are saved up: a program that starts switches often for a fifth of a second, and then waits for long.
//! That wait is one switch, and must not be among those that were left out. So a CPU that took fewer dumps
//! than the limit before may take as many more as it left.

/// Stacks a second and CPU, below which every switch gets one: 25,000 x 3.5 us = 9 % of the CPU.
/// At this rate a wait lasts 40 us; half the limit would thin out programs that merely work with a
/// database over a socket, twice the limit costs twice as much.
pub const DEFAULT_STACK_RATE: u32 = 25_000;

/// Seconds of the limit that a CPU may save up: a JVM of Java 21 makes some 1,000 switches while it starts, Node.js
/// some 700. On a CPU that is idle before, 2,000 dumps take 3 ms of it and 10 ms of another one.
pub(crate) const DUMPS_SAVED: u32 = 2;

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
    /// if it is another one.
    pub(crate) fn round(&mut self, switches: u64, length_ns: u64, now: u64) -> Option<u64> {
        let limit = u64::from(self.limit?).max(1);
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
        let wanted = u64::try_from(rate).unwrap_or(u64::MAX).div_ceil(limit);
        self.turn = self.turn.wrapping_add(1);
        let period = match wanted {
            0 | 1 => 1,
            _ if self.saved > 0 && !self.thins() => 1,
            // The next odd number, and the one after it, in turn.
            several => (several | 1).saturating_add(2 * (self.turn % 2)),
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
        switches.iter().zip(ends).map(|(count, now)| pace.round(*count, ROUND, now)).collect()
    }

    #[test]
    fn up_to_the_limit_every_switch_gets_its_stack() {
        let mut pace = Pace::new(Some(25_000));
        assert_eq!(pace.round(2_500, ROUND, ROUND), None);
        assert!(!pace.thins());
    }

    #[test]
    fn above_it_the_period_is_odd_and_changes_every_round() {
        let mut pace = Pace::new(Some(25_000));
        assert_eq!(rounds(&mut pace, &[13_000; 4]), [Some(9), Some(7), Some(9), Some(7)]);
        assert!(pace.thins());
        assert_eq!(pace.round(100, ROUND, 5 * ROUND), Some(1));
    }

    #[test]
    fn without_a_limit_nothing_is_left_out() {
        assert_eq!(Pace::new(None).round(u64::MAX, ROUND, ROUND), None);
    }

    #[test]
    fn a_short_start_has_all_its_dumps_and_what_goes_on_has_not() {
        let mut pace = Pace::with_saved(Some(1_000), 2);
        // 900 a round, 100 allowed: 2,000 saved ones last for two rounds.
        assert_eq!(rounds(&mut pace, &[900, 900, 900, 900]), [None, None, Some(11), Some(9)]);
        let mut pace = Pace::with_saved(Some(1_000), 2);
        assert_eq!(rounds(&mut pace, &[900, 900, 3, 3]), [None; 4]);
        assert_eq!(pace.round(900, ROUND, 40 * ROUND), None, "it was saved up again");
    }

    #[test]
    fn on_the_average_no_more_than_the_limit_is_taken() {
        let mut pace = Pace::with_saved(Some(1_000), 2);
        let (mut taken, mut period) = (0, 1);
        for round in 1..=600 {
            taken += 430 / period;
            period = pace.round(430, ROUND, round * ROUND).unwrap_or(period);
        }
        assert!(taken <= 2_000 + 600 * 100 + 430, "{taken}");
    }
}
