//! The civil calendar and the text of points in time, without a library's cost per row.
//!
//! Days are counted from 1970-01-01 in the proleptic Gregorian calendar. The conversions are those
//! of Howard Hinnant, "chrono-compatible low-level date algorithms".

use std::io::Write as _;

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;
/// Milliseconds of an hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;

/// A calendar date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
}

/// Days from 1970-01-01 to a date; the month counts from 1 to 12.
#[inline]
pub(crate) fn days(date: Date) -> i64 {
    let year = if date.month <= 2 { date.year - 1 } else { date.year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = (date.month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + date.day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Days from 1970-01-01 to a date; none when the calendar has no such date, such as 2026-02-31.
#[inline]
pub(crate) fn checked_days(wanted: Date) -> Option<i64> {
    let Date { year, month, day } = wanted;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if (1..=last).contains(&day) { Some(days(wanted)) } else { None }
}

/// The date of a day.
pub(crate) fn date(days: i64) -> Date {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Date { year, month, day: of_year - (153 * shifted_month + 2) / 5 + 1 }
}

/// Appends `2026-11-28`.
pub(crate) fn put_date(out: &mut Vec<u8>, ms: i64) {
    let Date { year, month, day } = date(ms.div_euclid(DAY_MS));
    // Writing to a vector cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

/// Appends `23:12:14`.
pub(crate) fn put_clock(out: &mut Vec<u8>, ms: i64) {
    let seconds = ms.rem_euclid(DAY_MS) / 1000;
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/// Appends `2026-11-28T23:12:14.5340000Z`, as xDB writes points in time: tenths of microseconds.
pub(crate) fn put_xdb(out: &mut Vec<u8>, ms: i64) {
    put_date(out, ms);
    out.push(b'T');
    put_clock(out, ms);
    let _ = write!(out, ".{:03}0000Z", ms.rem_euclid(1000));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse_over_four_centuries() {
        for day in (-150_000..150_000).step_by(7) {
            let found = date(day);
            assert_eq!(days(found), day);
            assert!((1..=31).contains(&found.day));
        }
        assert_eq!(days(Date { year: 1970, month: 1, day: 1 }), 0);
        assert_eq!(days(Date { year: 2000, month: 3, day: 1 }), 11_017);
    }

    #[test]
    fn a_date_that_the_calendar_does_not_have_is_none() {
        let found = |year, month, day| checked_days(Date { year, month, day });
        assert_eq!(found(1970, 1, 2), Some(1));
        assert!(found(2024, 2, 29).is_some() && found(2000, 2, 29).is_some());
        for (year, month, day) in [
            (2026, 2, 31),
            (2025, 2, 29),
            (1900, 2, 29),
            (2026, 4, 31),
            (2026, 1, 0),
            (2026, 0, 1),
            (2026, 13, 1),
        ] {
            assert_eq!(found(year, month, day), None, "{year}-{month}-{day}");
        }
    }

    #[test]
    fn points_in_time_are_written_as_xdb_writes_them() {
        let mut out = Vec::new();
        put_xdb(&mut out, 1_000);
        put_xdb(&mut out, -1);
        assert_eq!(out, b"1970-01-01T00:00:01.0000000Z1969-12-31T23:59:59.9990000Z");
    }
}
