//! Days, weeks and hours as numbers and as text.

use chrono::{DateTime, Days};

/// What a row is a row of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bucket {
    /// A day.
    #[default]
    Day,
    /// A week from Monday on.
    Week,
    /// An hour.
    Hour,
}

const HOUR_MS: f64 = 3_600_000.0;
/// 1970-01-05, a Monday, in days since 1970-01-01.
const FIRST_MONDAY: i64 = 4;

impl Bucket {
    /// Its length in milliseconds.
    pub(crate) fn length_ms(self) -> f64 {
        match self {
            Self::Day => 24.0 * HOUR_MS,
            Self::Week => 7.0 * 24.0 * HOUR_MS,
            Self::Hour => HOUR_MS,
        }
    }

    /// What is taken from a time so that weeks begin on Mondays.
    pub(crate) fn shift_ms(self) -> i64 {
        match self {
            Self::Week => FIRST_MONDAY * 86_400_000,
            Self::Day | Self::Hour => 0,
        }
    }
}

/// The start of a bucket: `2026-03-29`, or `2026-03-29 14:00` for an hour.
pub(crate) fn bucket_text(by: Bucket, number: i64) -> String {
    let epoch = DateTime::UNIX_EPOCH.date_naive();
    let date = |days: i64| {
        let step = Days::new(days.unsigned_abs());
        let date =
            if days < 0 { epoch.checked_sub_days(step) } else { epoch.checked_add_days(step) };
        date.map_or_else(|| format!("day {days}"), |date| date.to_string())
    };
    match by {
        Bucket::Day => date(number),
        Bucket::Week => date(number.saturating_mul(7).saturating_add(FIRST_MONDAY)),
        Bucket::Hour => format!("{} {:02}:00", date(number.div_euclid(24)), number.rem_euclid(24)),
    }
}

/// A day since 1970-01-01 as text: `2026-03-29`, `-` for none.
#[must_use]
pub fn day_text(day: Option<i64>) -> String {
    day.map_or_else(|| "-".to_owned(), |day| bucket_text(Bucket::Day, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_dates() {
        assert_eq!(bucket_text(Bucket::Day, 20_541), "2026-03-29");
        assert_eq!(bucket_text(Bucket::Day, -1), "1969-12-31");
        assert_eq!(bucket_text(Bucket::Hour, 20_541 * 24 + 14), "2026-03-29 14:00");
        assert_eq!(bucket_text(Bucket::Hour, -1), "1969-12-31 23:00");
        // 2026-03-23 is a Monday.
        assert_eq!(bucket_text(Bucket::Week, (20_535 - FIRST_MONDAY) / 7), "2026-03-23");
    }
}
