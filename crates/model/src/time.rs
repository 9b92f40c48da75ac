//! Points in time and lengths of time.
//!
//! All times count nanoseconds of `CLOCK_MONOTONIC` from the start of the recording;
//! [`Meta`](crate::Meta) holds the pairs that convert them to wall-clock time.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use crate::column::{Cell, ColumnData, ColumnType, ShapeError};

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

/// A point in time: nanoseconds since the recording's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// The length in seconds, for ratios and for people.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits hold 104 days exactly")]
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The difference, or zero when `other` is longer.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This length as a share of `whole`, 0 when `whole` is empty.
    #[must_use]
    #[inline]
    pub fn share_of(self, whole: Self) -> f64 {
        if whole.0 == 0 { 0.0 } else { self.seconds() / whole.seconds() }
    }
}

impl Time {
    /// The recording's start.
    pub const START: Self = Self(0);

    /// The time that passed from `earlier` to here, zero when `earlier` is later.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Time {
    type Output = Self;
    #[inline]
    fn add(self, length: Nanos) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Sub<Nanos> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, length: Nanos) -> Self {
        Self(self.0.saturating_sub(length.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(lengths: I) -> Self {
        lengths.fold(Self::ZERO, Add::add)
    }
}

/// `1.25 s`, `12.5 ms`, `430 us`, `12 ns`: three significant digits, the unit that fits.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} ns", self.0)),
            1_000..1_000_000 => (self.seconds() * 1e6, "us"),
            1_000_000..1_000_000_000 => (self.seconds() * 1e3, "ms"),
            _ => (self.seconds(), "s"),
        };
        let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Nanos(self.0).fmt(f)
    }
}

macro_rules! cell {
    ($name:ident, $unit:literal) => {
        impl Cell for $name {
            const TYPE: ColumnType = ColumnType::U64;
            const UNIT: &'static str = $unit;

            fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> ColumnData {
                ColumnData::u64(cells.map(|c| c.0).collect())
            }

            fn scatter(column: ColumnData) -> Result<Vec<Self>, ShapeError> {
                Ok(column.into_u64()?.into_iter().map(Self).collect())
            }
        }
    };
}
cell!(Time, "ns since the recording's start");
cell!(Nanos, "ns");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_print_with_three_digits_and_the_unit_that_fits() {
        let shown: Vec<_> = [0, 999, 1_000, 12_345, 123_456_789, 1_250_000_000, 99_960_000_000]
            .map(|n| Nanos(n).to_string())
            .into();
        assert_eq!(shown, ["0 ns", "999 ns", "1.00 us", "12.3 us", "123 ms", "1.25 s", "100 s"]);
    }
}
