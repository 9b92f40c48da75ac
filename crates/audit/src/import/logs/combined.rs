//! The combined and the common log format of web servers.

use super::request::{LogLine, Requests, quoted, read_lines, request_line, size, status};
use crate::import::zone::{LocalTimes, LogTime};
use crate::time::{DAY_MS, Date, days};

/// Reads lines of the combined (or common) log format.
pub(crate) fn read_combined(chunk: &[u8], times: &LocalTimes) -> Requests {
    read_lines(chunk, |line, out| combined(line, times, out))
}

/// Adds the request of a line such as
/// `10.0.0.1 - - [28/Nov/2026:23:12:14 +0000] "GET /a HTTP/1.1" 200 17 "-" "agent"`.
fn combined(line: &[u8], times: &LocalTimes, out: &mut Requests) -> Result<(), &'static str> {
    let space = memchr::memchr(b' ', line).ok_or("the line has no address")?;
    let open = memchr::memchr(b'[', line).ok_or("the line has no time")?;
    let close = open + memchr::memchr(b']', &line[open..]).ok_or("the line has no time")?;
    let time = log_time(&line[open + 1..close]).ok_or("the time cannot be read")?;
    let rest = line[close + 1..].strip_prefix(b" ").ok_or("the line has no request")?;
    let (request, rest) = quoted(rest).ok_or("the request has no closing quote")?;
    let mut words = rest.trim_ascii_start().splitn(3, |byte| *byte == b' ');
    let status = words.next().and_then(status).ok_or("the status is no number")?;
    let sent = words.next().map_or(0, size);
    let agent = match words.next() {
        None => &b""[..],
        Some(rest) => {
            let (_, rest) = quoted(rest).ok_or("the referrer has no closing quote")?;
            quoted(rest.trim_ascii_start()).ok_or("the user agent has no closing quote")?.0
        }
    };
    let (method, target) = request_line(request);
    let time = match time {
        (ms, true) => LogTime::known(ms),
        (local, false) => out.local(local, times),
    };
    out.add(&LogLine {
        time,
        address: &line[..space],
        agent,
        method,
        target,
        status,
        sent,
        bytes: line.len(),
    })
}

/// `28/Nov/2026:23:12:14 +0100` in milliseconds since 1970, and whether it names its offset: if not,
/// it is the time of a local clock.
pub(super) fn log_time(text: &[u8]) -> Option<(i64, bool)> {
    const MONTHS: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let number = |from: usize, to: usize| {
        text.get(from..to)?.iter().try_fold(0_i64, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    let month = MONTHS.iter().position(|month| text.get(3..6) == Some(*month))?;
    let (day, year) = (number(0, 2)?, number(7, 11)?);
    let [hour, minute, second] = [number(12, 14)?, number(15, 17)?, number(18, 20)?];
    if !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let month = i64::try_from(month).ok()? + 1;
    let local = ((hour * 60 + minute) * 60 + second) * 1000;
    let local = days(Date { year, month, day }) * DAY_MS + local;
    match text.get(20..26) {
        Some([b' ', sign @ (b'+' | b'-'), ..]) => {
            let minutes = number(22, 24)? * 60 + number(24, 26)?;
            let offset = if *sign == b'-' { -minutes } else { minutes };
            Some((local - offset * 60_000, true))
        }
        _ => Some((local, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs_are_read() {
        assert_eq!(log_time(b"01/Jan/1970:01:00:01 +0100"), Some((1000, true)));
        assert_eq!(log_time(b"01/Jan/1970:00:00:01 -0130"), Some((5_401_000, true)));
        assert_eq!(log_time(b"01/Jan/1970:00:00:01"), Some((1000, false)));
        assert_eq!(log_time(b"01/Foo/1970:00:00:01 +0000"), None);
        assert_eq!(log_time(b""), None);
    }
}
