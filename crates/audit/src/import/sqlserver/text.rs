//! Values of SQL Server as CSV: the texts that an export of the same rows has.

use std::io::Write as _;

use tiberius::error::Error;
use tiberius::time::{Date, DateTime2, Time};
use tiberius::{Column, ColumnData, Row};

use crate::time::{DAY_MS, put_clock, put_date};

/// Days from 0001-01-01, where `datetime2` begins, to 1970-01-01.
const TO_1970: i64 = 719_162;
/// Days from 1900-01-01, where `datetime` begins, to 1970-01-01.
const FROM_1900: i64 = 25_567;
/// Microseconds of a day.
const DAY_US: i64 = DAY_MS * 1000;

/// Appends the names of columns.
pub(super) fn put_header(out: &mut Vec<u8>, columns: &[Column]) {
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put_quoted(out, column.name());
    }
    out.push(b'\n');
}

/// Appends a row. An empty cell has no value, `""` is an empty text.
///
/// # Errors
/// When a value has a type that no column of an xDB has.
pub(super) fn put_row(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    for (at, (column, value)) in row.cells().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put(out, column, value)?;
    }
    out.push(b'\n');
    Ok(())
}

fn put(out: &mut Vec<u8>, column: &Column, value: &ColumnData<'_>) -> Result<(), Error> {
    // Writing to a vector cannot fail.
    macro_rules! plain {
        ($value:expr) => {
            if let Some(value) = $value {
                let _ = write!(out, "{value}");
            }
        };
    }
    match value {
        ColumnData::U8(value) => plain!(value),
        ColumnData::I16(value) => plain!(value),
        ColumnData::I32(value) => plain!(value),
        ColumnData::I64(value) => plain!(value),
        ColumnData::F32(value) => plain!(value),
        ColumnData::F64(value) => plain!(value),
        ColumnData::Guid(value) => plain!(value),
        ColumnData::Numeric(value) => plain!(value),
        ColumnData::Bit(value) => plain!(value.map(u8::from)),
        ColumnData::String(Some(text)) => put_quoted(out, text),
        ColumnData::Xml(Some(text)) => put_quoted(out, &text.to_string()),
        ColumnData::Binary(Some(bytes)) => {
            out.extend_from_slice(b"0x");
            for byte in bytes.iter() {
                let _ = write!(out, "{byte:02x}");
            }
        }
        ColumnData::DateTime2(Some(value)) => put_time(out, microseconds(*value), true),
        // The value is in UTC already; the offset is what the writer's clock showed.
        ColumnData::DateTimeOffset(Some(value)) => {
            put_time(out, microseconds(value.datetime2()), true);
        }
        ColumnData::DateTime(Some(value)) => {
            let of_day = i64::from(value.seconds_fragments()) * 10_000 / 3;
            put_time(out, since_1900(value.days().into(), of_day), true);
        }
        ColumnData::SmallDateTime(Some(value)) => {
            let of_day = i64::from(value.seconds_fragments()) * 60_000_000;
            put_time(out, since_1900(value.days().into(), of_day), true);
        }
        ColumnData::Date(Some(value)) => put_time(out, midnight(*value), false),
        ColumnData::String(None)
        | ColumnData::Xml(None)
        | ColumnData::Binary(None)
        | ColumnData::DateTime2(None)
        | ColumnData::DateTimeOffset(None)
        | ColumnData::DateTime(None)
        | ColumnData::SmallDateTime(None)
        | ColumnData::Date(None) => {}
        _ => {
            let (name, ty) = (column.name(), column.column_type());
            let why = format!("the column `{name}` has a type that no xDB has: {ty:?}");
            return Err(Error::Conversion(why.into()));
        }
    }
    Ok(())
}

/// Appends a text, in quotes where it needs them.
fn put_quoted(out: &mut Vec<u8>, text: &str) {
    if !text.is_empty()
        && memchr::memchr3(b',', b'"', b'\n', text.as_bytes()).is_none()
        && !text.contains('\r')
    {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for (at, part) in text.split('"').enumerate() {
        if at > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.push(b'"');
}

/// Microseconds from 1970 to midnight of a date.
fn midnight(date: Date) -> i64 {
    (i64::from(date.days()) - TO_1970) * DAY_US
}

fn since_1900(days: i64, of_day_us: i64) -> i64 {
    (days - FROM_1900).saturating_mul(DAY_US).saturating_add(of_day_us)
}

/// Microseconds since 1970; more exact digits are dropped.
fn microseconds(value: DateTime2) -> i64 {
    midnight(value.date()) + of_day(value.time())
}

fn of_day(time: Time) -> i64 {
    let scale = u32::from(time.scale());
    let ticks = time.increments();
    let us = match scale {
        0..=6 => ticks.saturating_mul(10_u64.pow(6 - scale)),
        _ => ticks / 10_u64.saturating_pow(scale - 6),
    };
    // A time of day; what a broken server sends beyond it ends there.
    i64::try_from(us).unwrap_or(DAY_US).min(DAY_US)
}

/// Appends `2026-11-28T23:12:14.534000Z`, or the date alone.
fn put_time(out: &mut Vec<u8>, us: i64, clock: bool) {
    let ms = us.div_euclid(1000);
    put_date(out, ms);
    if clock {
        out.push(b'T');
        put_clock(out, ms);
        let _ = write!(out, ".{:06}Z", us.rem_euclid(1_000_000));
    }
}

#[cfg(test)]
mod tests {
    use tiberius::ColumnType;
    use tiberius::time::{DateTime, DateTimeOffset, SmallDateTime};

    use super::*;

    fn column(name: &str) -> Column {
        Column::new(name.to_owned(), ColumnType::Timen)
    }

    #[expect(clippy::needless_pass_by_value, reason = "as tests make them")]
    fn text(value: ColumnData<'_>) -> String {
        let mut out = Vec::new();
        put(&mut out, &column("c"), &value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_of_all_types_are_points_in_utc() {
        // 2026-11-28 is day 739,947 from 0001-01-01, and day 46,352 from 1900-01-01.
        let date = Date::new(739_947);
        let at = |increments, scale| DateTime2::new(date, Time::new(increments, scale));
        let seven = at(835_345_340_009, 7);
        assert_eq!(text(ColumnData::DateTime2(Some(seven))), "2026-11-28T23:12:14.534000Z");
        assert_eq!(text(ColumnData::DateTime2(Some(at(83_534, 0)))), "2026-11-28T23:12:14.000000Z");
        let shifted = DateTimeOffset::new(seven, 120);
        let shown = text(ColumnData::DateTimeOffset(Some(shifted)));
        assert_eq!(shown, "2026-11-28T23:12:14.534000Z");
        let old = DateTime::new(46_352, 83_534 * 300 + 160);
        assert_eq!(text(ColumnData::DateTime(Some(old))), "2026-11-28T23:12:14.533333Z");
        let small = SmallDateTime::new(46_352, 1392);
        assert_eq!(text(ColumnData::SmallDateTime(Some(small))), "2026-11-28T23:12:00.000000Z");
        assert_eq!(text(ColumnData::Date(Some(date))), "2026-11-28");
        assert_eq!(text(ColumnData::DateTime2(None)), "");
    }

    #[test]
    fn values_out_of_range_do_not_end_the_program() {
        let time = Time::new(u64::MAX, 255);
        let far = DateTime2::new(Date::new(0x00ff_ffff), time);
        assert!(text(ColumnData::DateTime2(Some(far))).ends_with('Z'));
        let far = DateTime::new(i32::MIN, u32::MAX);
        assert!(text(ColumnData::DateTime(Some(far))).ends_with('Z'));
    }

    #[test]
    fn values_are_as_csv_has_them() {
        assert_eq!(text(ColumnData::String(Some("a,\"b\"\n".into()))), "\"a,\"\"b\"\"\n\"");
        assert_eq!(text(ColumnData::String(Some("".into()))), "\"\"");
        assert_eq!(text(ColumnData::String(Some("a b".into()))), "a b");
        assert_eq!(text(ColumnData::Binary(Some(vec![0x5a].into()))), "0x5a");
        assert_eq!(text(ColumnData::Bit(Some(true))), "1");
        assert_eq!(text(ColumnData::F64(Some(0.5))), "0.5");
        let mut out = Vec::new();
        let time = ColumnData::Time(Some(Time::new(0, 0)));
        let error = put(&mut out, &column("Noon"), &time).unwrap_err();
        assert!(error.to_string().contains("`Noon`"), "{error}");
    }
}
