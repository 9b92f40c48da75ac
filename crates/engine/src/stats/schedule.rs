//! In which order the arms of a round run.
//!
//! Machines drift: they warm up, clocks change, neighbours come and go. What always runs second then
//! looks slower or faster than it is. So each arm stands equally often at each position: two arms
//! run ABBA, more take turns around a shuffled circle, one block of rounds forwards and the next one
//! backwards.
//!
//! ```text
//!   two arms    AB BA AB BA ...
//!   three arms  CAB ABC BCA | BAC CBA ACB | a new shuffle ...
//! ```

use super::random::Random;

/// The arms of a round, by number, in the order in which they run. The round counts from 0.
#[must_use]
pub fn order(arms: usize, round: u32) -> Vec<usize> {
    let round = round as usize;
    if arms < 3 {
        let mut all: Vec<usize> = (0..arms).collect();
        if round % 2 == 1 {
            all.reverse();
        }
        return all;
    }
    // Two blocks share a shuffle: what ran before what in the first runs after it in the second.
    let (pair, within) = (round / (2 * arms), round % (2 * arms));
    let mut all = shuffled(arms, pair as u64);
    all.rotate_left(within % arms);
    if within >= arms {
        all.reverse();
    }
    all
}

fn shuffled(arms: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut all: Vec<usize> = (0..arms).collect();
    // Fisher and Yates: each of all orders is as likely.
    for last in (1..arms).rev() {
        all.swap(last, random.below(last + 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_arms_alternate_their_direction() {
        let all: Vec<usize> = (0..4).flat_map(|round| order(2, round)).collect();
        assert_eq!(all, [0, 1, 1, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn every_arm_stands_equally_often_at_every_position() {
        for arms in 1..7 {
            let block = if arms < 3 { 2 } else { arms };
            let mut seen = vec![vec![0; arms]; arms];
            for round in 0..4 * block {
                for (position, arm) in order(arms, u32::try_from(round).unwrap()).iter().enumerate()
                {
                    seen[*arm][position] += 1;
                }
            }
            let expected = 4 * block / arms;
            assert!(seen.iter().flatten().all(|count| *count == expected), "{arms}: {seen:?}");
        }
    }

    #[test]
    fn who_ran_before_whom_is_turned_around_in_the_next_block() {
        let before = |round, a: usize, b: usize| {
            let order = order(4, round);
            let at = |arm| order.iter().position(|other| *other == arm);
            at(a) < at(b)
        };
        for (a, b) in [(0, 1), (0, 3), (1, 2)] {
            let first: usize = (0..8).map(|round| usize::from(before(round, a, b))).sum();
            assert_eq!(first, 4, "{a} before {b}");
        }
    }
}
