//! Times that name no offset: those of the zone of `--tz`.
//!
//! ```text
//! clocks go forward   01:00 .. 02:00 ][ 03:00 .. 04:00     02:30 was never: it counts as 03:30
//! clocks go back      02:00 .. 03:00 ][ 02:00 .. 03:00     02:30 was twice
//! ```

use std::sync::Arc;

use crate::visits::Zone;

/// The years of visits: 1990-01-01 to 2100-01-01.
const YEARS: (i64, i64) = (631_152_000_000, 4_102_444_800_000);

/// A point in time, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogTime {
    /// Milliseconds since 1970; the earlier moment where the clock showed this time twice.
    pub(crate) ms: i64,
    /// How much later the clock showed the same time again; 0 when it did not.
    pub(crate) again_ms: i64,
    /// True when the clock never showed this time.
    pub(crate) never: bool,
}

impl LogTime {
    /// A point in time that is known.
    pub(crate) fn known(ms: i64) -> Self {
        Self { ms, again_ms: 0, never: false }
    }
}

#[derive(Debug, Clone, Copy)]
struct Change {
    utc: i64,
    before: i64,
    after: i64,
}

impl Change {
    /// The first local time whose meaning the change touches.
    fn first_local(&self) -> i64 {
        self.utc + self.before.min(self.after)
    }
}

/// The clock of a zone.
#[derive(Debug, Clone)]
pub(crate) struct LocalTimes {
    changes: Arc<[Change]>,
    /// What is added to UTC before the first change.
    first: i64,
}

impl LocalTimes {
    pub(crate) fn new(zone: Zone) -> Self {
        let (below, last) = zone.changes(YEARS.0, YEARS.1);
        let first = below.first().map_or(last, |(_, offset)| *offset);
        let afters = below.iter().skip(1).map(|(_, offset)| *offset).chain([last]);
        let changes = below.iter().zip(afters);
        let changes =
            changes.map(|((utc, before), after)| Change { utc: *utc, before: *before, after });
        Self { changes: changes.collect(), first }
    }

    /// The moment at which the clock showed a time.
    pub(crate) fn utc(&self, local: i64) -> LogTime {
        let count = self.changes.partition_point(|change| change.first_local() <= local);
        let Some(change) = count.checked_sub(1).and_then(|at| self.changes.get(at)) else {
            return LogTime::known(local - self.first);
        };
        let Change { utc, before, after } = *change;
        if local >= utc + before.max(after) {
            return LogTime::known(local - after);
        }
        let ms = local - before;
        LogTime { ms, again_ms: (before - after).max(0), never: after > before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn the_hour_of_a_change_is_never_or_twice() {
        let kyiv = LocalTimes::new(Zone::parse("Europe/Kyiv").unwrap());
        // 2026-03-29 and 2026-10-25, both at 01:00 UTC: 03:00 becomes 04:00, 04:00 becomes 03:00.
        let (spring, autumn) = (1_774_746_000_000, 1_792_890_000_000);
        let half = HOUR / 2;
        assert_eq!(kyiv.utc(spring + 2 * HOUR - 1), LogTime::known(spring - 1));
        let never = LogTime { ms: spring + half, again_ms: 0, never: true };
        assert_eq!(kyiv.utc(spring + 2 * HOUR + half), never);
        assert_eq!(kyiv.utc(spring + 3 * HOUR), LogTime::known(spring));
        assert_eq!(kyiv.utc(autumn + 2 * HOUR - 1), LogTime::known(autumn - HOUR - 1));
        let twice = LogTime { ms: autumn - half, again_ms: HOUR, never: false };
        assert_eq!(kyiv.utc(autumn + 2 * HOUR + half), twice);
        assert_eq!(kyiv.utc(autumn + 3 * HOUR), LogTime::known(autumn + HOUR));
    }

    #[test]
    fn a_zone_without_changes_is_a_shift() {
        for (name, hours) in [("UTC", 0), ("+05:00", 5), ("-03:00", -3)] {
            let times = LocalTimes::new(Zone::parse(name).unwrap());
            assert_eq!(times.utc(1_000), LogTime::known(1_000 - hours * HOUR), "{name}");
        }
    }
}
