//! Time zones: what is added to UTC, and when that changes.

use chrono::{DateTime, Offset as _, TimeZone as _};
use chrono_tz::{TZ_VARIANTS, Tz};
use culprit_query::{Parameter, near};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// One with a name, which knows when clocks change.
    Named(Tz),
    /// A fixed shift in milliseconds: wrong for half of the year where clocks change.
    Fixed(i64),
}

impl Zone {
    /// `Europe/Kyiv`, or a shift such as `+02:00`; none for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(zone) = text.parse() {
            return Some(Self::Named(zone));
        }
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+')?),
        };
        let (hours, minutes) = match rest.split_once(':') {
            Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
            Some(_) => return None,
            None => (rest, "0"),
        };
        let number = |text: &str| {
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten()
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let shift = hours * HOUR_MS + minutes * 60_000;
        // The zones of the world reach from -12 to +14 hours.
        (minutes < 60 && shift <= 14 * HOUR_MS).then_some(Self::Fixed(sign * shift))
    }

    /// Names of zones that a slip of the fingers may have meant, the nearest first.
    #[must_use]
    pub fn names_like(wrong: &str) -> Vec<&'static str> {
        // The others are abbreviations, which name a time rather than a place.
        let places = TZ_VARIANTS.iter().map(|zone| zone.name()).filter(|name| name.contains('/'));
        let names: Vec<(String, &str)> = places.map(|name| (name.to_lowercase(), name)).collect();
        let near = near(wrong, names.iter().map(|(folded, _)| folded.as_str()));
        let named = |folded: &String| names.iter().find(|(name, _)| name == folded);
        near.iter().filter_map(named).map(|(_, name)| *name).collect()
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Named(zone) => zone.name().to_owned(),
            Self::Fixed(shift) => {
                let minutes = shift.abs() / 60_000;
                let sign = if shift < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }

    /// What is added to UTC at a point in time.
    #[must_use]
    pub fn offset_ms(self, utc_ms: i64) -> i64 {
        match self {
            Self::Fixed(shift) => shift,
            Self::Named(zone) => DateTime::from_timestamp_millis(utc_ms).map_or(0, |at| {
                let offset = zone.offset_from_utc_datetime(&at.naive_utc());
                i64::from(offset.fix().local_minus_utc()) * 1000
            }),
        }
    }

    /// The changes between two points in time: until when which offset holds, and the one that
    /// holds from then on.
    ///
    /// Clocks that change twice within a day are not seen; no zone has done so since 1970.
    #[must_use]
    pub fn changes(self, first_ms: i64, last_ms: i64) -> (Vec<(i64, i64)>, i64) {
        let mut below = Vec::new();
        let (mut at, mut offset) = (first_ms, self.offset_ms(first_ms));
        while at < last_ms {
            let next = at.saturating_add(DAY_MS).min(last_ms);
            let after = self.offset_ms(next);
            if after != offset {
                below.push((self.change(at, next), offset));
                offset = after;
            }
            at = next;
        }
        (below, offset)
    }

    /// The first millisecond with the offset of `after`.
    fn change(self, mut before: i64, mut after: i64) -> i64 {
        let old = self.offset_ms(before);
        while after - before > 1 {
            let middle = before + (after - before) / 2;
            if self.offset_ms(middle) == old { before = middle } else { after = middle }
        }
        after
    }

    /// The offset as a parameter of a question about a column of points in time.
    pub(crate) fn parameter(self, column: &'static str, first_ms: i64, last_ms: i64) -> Parameter {
        let (below, last) = self.changes(first_ms, last_ms);
        Parameter::Steps { column, below, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01 and 2026-12-31 in UTC.
    const YEAR: (i64, i64) = (1_767_225_600_000, 1_798_675_200_000);

    #[test]
    fn clocks_change_twice_a_year_to_the_millisecond() {
        let kyiv = Zone::parse("Europe/Kyiv").unwrap();
        // 2026-03-29 and 2026-10-25, both at 01:00 UTC.
        let (below, last) = kyiv.changes(YEAR.0, YEAR.1);
        assert_eq!(below, [(1_774_746_000_000, 2 * HOUR_MS), (1_792_890_000_000, 3 * HOUR_MS)]);
        assert_eq!(last, 2 * HOUR_MS);
        let tokyo = Zone::parse("Asia/Tokyo").unwrap();
        assert_eq!(tokyo.changes(YEAR.0, YEAR.1), (vec![], 9 * HOUR_MS));
    }

    #[test]
    fn shifts_are_read_and_nonsense_is_not() {
        for (text, name) in
            [("+02:00", "+02:00"), ("-3", "-03:00"), ("+5:45", "+05:45"), ("UTC", "UTC")]
        {
            assert_eq!(Zone::parse(text).map(Zone::name).as_deref(), Some(name));
        }
        for text in ["", "2", "+", "+25", "+02:60", "+2:5", "+-2", "Mars/Olympus"] {
            assert_eq!(Zone::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_slip_of_the_fingers_has_names_that_may_be_meant() {
        assert_eq!(Zone::names_like("europe/kyiv")[..2], ["Europe/Kyiv", "Europe/Kiev"]);
        assert_eq!(Zone::names_like("Kyiv"), ["Europe/Kyiv"]);
        assert!(Zone::names_like("CEST").is_empty());
    }
}
