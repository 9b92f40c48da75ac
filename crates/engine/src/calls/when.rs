//! When a value arose: a histogram of 32 equal parts of a time range, drawn as one line of text.

use culprit_model::{Nanos, Time};

/// Parts of the time range.
pub const BUCKETS: usize = 32;

/// How much of a value arose in each part of the time range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct When(pub [i64; BUCKETS]);

impl When {
    /// Adds another histogram of the same range.
    pub fn add(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }

    /// Takes another histogram of the same range away.
    pub fn subtract(&mut self, other: &Self) {
        for (own, less) in self.0.iter_mut().zip(other.0) {
            *own -= less;
        }
    }

    /// One character a part: `_` nothing, `.` under 0.1 % of `full`, `o` under 1 %, `0` to `9` tens
    /// of percent, `A` to `Y` 100-110 % and so on to 350 %, `*` more. Less than nothing is `a` to
    /// `y` in tens of percent, `@` beyond.
    ///
    /// ```
    /// use culprit_engine::calls::When;
    /// let mut when = When::default();
    /// (when.0[0], when.0[1], when.0[31]) = (50, 100, 1);
    /// assert!(when.text(100).starts_with("5A_"));
    /// assert!(when.text(100).ends_with("_0"));
    /// ```
    #[must_use]
    pub fn text(&self, full: u64) -> String {
        self.0.iter().map(|value| letter(*value, full)).collect()
    }

    /// The size of the largest part, whatever its sign.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.0.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0)
    }
}

fn letter(value: i64, full: u64) -> char {
    if value == 0 || full == 0 {
        return '_';
    }
    let mille = u128::from(value.unsigned_abs()) * 1000 / u128::from(full);
    let nth = |first: char, nth: u32| char::from_u32(u32::from(first) + nth).unwrap_or(first);
    match u32::try_from(mille).unwrap_or(u32::MAX) {
        parts @ ..2500 if value < 0 => nth('a', parts / 100),
        _ if value < 0 => '@',
        0 => '.',
        1..10 => 'o',
        parts @ 10..1000 => nth('0', parts / 100),
        parts @ 1000..3500 => nth('A', (parts - 1000) / 100),
        _ => '*',
    }
}

/// Spreads stretches of time over the parts of a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    from: u64,
    /// Length of a part, at least 1 ns; the last part is cut at the range's end.
    part: u64,
}

impl Spread {
    pub(super) fn over(from: Time, to: Time) -> Self {
        Self { from: from.0, part: part(from, to).0 }
    }

    /// Adds `value`, spread evenly over a stretch; nothing is lost to rounding.
    pub(super) fn add(self, when: &mut When, start: Time, length: Nanos, value: u64) {
        let bucket = |time: u64| {
            let at = time.saturating_sub(self.from) / self.part;
            usize::try_from(at).map_or(BUCKETS - 1, |at| at.min(BUCKETS - 1))
        };
        let end = start.0.saturating_add(length.0);
        let (first, last) = (bucket(start.0), bucket(end.saturating_sub(1).max(start.0)));
        if first == last {
            when.0[first] += signed(value);
            return;
        }
        let mut given = 0;
        for at in first..last {
            let border = self.from + self.part * (at as u64 + 1);
            let until = u128::from(border - start.0) * u128::from(value) / u128::from(length.0);
            let until = u64::try_from(until).unwrap_or(value);
            when.0[at] += signed(until - given);
            given = until;
        }
        when.0[last] += signed(value - given);
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The length of one part of a range: what a time metric's `full` is for one thread.
pub(super) fn part(from: Time, to: Time) -> Nanos {
    Nanos(to.since(from).0.div_ceil(BUCKETS as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_spread_over_the_parts_that_it_overlaps() {
        let mut when = When::default();
        Spread::over(Time(0), Time(320)).add(&mut when, Time(5), Nanos(20), 20);
        assert_eq!(when.0[..4], [5, 10, 5, 0]);
        Spread::over(Time(0), Time(320)).add(&mut when, Time(319), Nanos::ZERO, 7);
        assert_eq!(when.0[31], 7);
    }
}
