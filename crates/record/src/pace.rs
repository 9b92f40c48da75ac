//! How many of the switches get a stack, when there are very many.
//!
//! A stack costs the switching CPU about 3.5 us (docs/recorder-cost.md). Up to the limit every
//! switch gets one; above it every N-th does, so that the stacks of a CPU never take more than a
//! tenth of it, and the others are given the stack of the same thread's last switch of the same
//! kind. Switch times are exact at any rate. N is odd and changes from round to round: threads that
//! take turns would otherwise be hit always or never.

/// Stacks a second and CPU, below which every switch gets one: 25,000 x 3.5 us = 9 % of the CPU.
/// At this rate a wait lasts 40 us; half the limit would thin out programs that merely work with a
/// database over a socket, twice the limit costs twice as much.
pub const DEFAULT_STACK_RATE: u32 = 25_000;

/// Sets the pace of one CPU, round by round.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    limit: Option<u32>,
    period: u64,
    turn: u64,
}

impl Pace {
    /// Every switch, until a round shows more than `limit` a second; none for no limit.
    pub(crate) fn new(limit: Option<u32>) -> Self {
        Self { limit, period: 1, turn: 0 }
    }

    /// After a round with so many switches in so many ns: the period to use from now on, if it is
    /// another one.
    pub(crate) fn round(&mut self, switches: u64, length_ns: u64) -> Option<u64> {
        let limit = u64::from(self.limit?).max(1);
        if length_ns == 0 {
            return None;
        }
        let rate = u128::from(switches) * 1_000_000_000 / u128::from(length_ns);
        let wanted = u64::try_from(rate).unwrap_or(u64::MAX).div_ceil(limit);
        self.turn = self.turn.wrapping_add(1);
        let period = match wanted {
            0 | 1 => 1,
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

    #[test]
    fn up_to_the_limit_every_switch_gets_its_stack() {
        let mut pace = Pace::new(Some(25_000));
        assert_eq!(pace.round(2_500, ROUND), None);
        assert!(!pace.thins());
    }

    #[test]
    fn above_it_the_period_is_odd_and_changes_every_round() {
        let mut pace = Pace::new(Some(25_000));
        let periods: Vec<_> = (0..4).map(|_| pace.round(13_000, ROUND)).collect();
        assert_eq!(periods, [Some(9), Some(7), Some(9), Some(7)]);
        assert!(pace.thins());
        assert_eq!(pace.round(100, ROUND), Some(1));
    }

    #[test]
    fn without_a_limit_nothing_is_left_out() {
        assert_eq!(Pace::new(None).round(u64::MAX, ROUND), None);
    }
}
