//! The combined and the common log format of web servers.

use super::clients::is_ip_address;
use super::request::{
    LogLine, Requests, quoted, read_lines, request_line, size, status, without_port,
};
use crate::import::zone::{LocalTimes, LogTime};
use crate::time::{DAY_MS, Date, checked_days};

/// Bytes of a time in brackets at most, with some room.
const TIME_BYTES: usize = 64;

/// Reads lines of the combined (or common) log format, also with a virtual host before the address.
pub(crate) fn read_combined(chunk: &[u8], times: &LocalTimes) -> Requests {
    read_lines(chunk, |line, out| combined(line, times, out))
}

/// Adds the request of a line such as
/// `10.0.0.1 - - [28/Nov/2026:23:12:14 +0000] "GET /a HTTP/1.1" 200 17 "-" "agent"`.
fn combined(line: &[u8], times: &LocalTimes, out: &mut Requests) -> Result<(), &'static str> {
    if !line.contains(&b' ') {
        return Err("the line has no address");
    }
    let (before, time, rest) = around_time(line)?;
    let address = client(before)?;
    let rest = rest.strip_prefix(b" ").ok_or("the line has no request")?;
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
    out.add(&LogLine { time, address, agent, method, target, status, sent, bytes: line.len() })
}

/// A time as [`log_time`] reads it.
type ReadTime = (i64, bool);

/// What stands before the `[time]`, the time, and what stands behind it. Brackets may also be around
/// an IPv6 address, or in the name of a user.
fn around_time(line: &[u8]) -> Result<(&[u8], ReadTime, &[u8]), &'static str> {
    let mut missing = "the line has no time";
    for open in memchr::memchr_iter(b'[', line) {
        let inside = &line[open + 1..line.len().min(open + TIME_BYTES)];
        let Some(length) = memchr::memchr(b']', inside) else { continue };
        match log_time(&inside[..length]) {
            Some(time) => return Ok((&line[..open], time, &line[open + length + 2..])),
            None => missing = "the time cannot be read",
        }
    }
    Err(missing)
}

/// The client's address in what stands before the time: `ADDRESS IDENTITY USER`, or `HOST ADDRESS
/// IDENTITY USER` with the virtual host. A user's name may have blanks, so the number of fields alone
/// does not say which of both it is.
fn client(before: &[u8]) -> Result<&[u8], &'static str> {
    let mut fields = before.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let first = fields.next().ok_or("the line has no address")?;
    // The first of the addresses that proxies have noted.
    if let Some(comma) = memchr::memchr(b',', first) {
        return address(&first[..comma]);
    }
    let (second, rest) = (fields.next().unwrap_or_default(), fields.count());
    if rest < 2 {
        return address(first);
    }
    let second = memchr::memchr(b',', second).map_or(second, |comma| &second[..comma]);
    if is_ip_address(without_port(second)) {
        return address(second);
    }
    let user_has_blanks = is_ip_address(first) || second == b"-";
    address(if user_has_blanks { first } else { second })
}

/// An IP address without its port, or the name of a client (`HostnameLookups On`).
fn address(text: &[u8]) -> Result<&[u8], &'static str> {
    let bare = without_port(text);
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    // A client's port belongs to an address; a name with a port is that of a server.
    let is_name = bare.len() == text.len()
        && text.iter().all(in_name)
        && text.iter().any(u8::is_ascii_alphanumeric);
    if is_name || is_ip_address(bare) {
        return Ok(bare);
    }
    Err("the address is neither an IP address nor the name of a host")
}

/// `28/Nov/2026:23:12:14 +0100` in milliseconds since 1970, and whether it names its offset: if not,
/// it is the time of a local clock.
pub(super) fn log_time(text: &[u8]) -> Option<ReadTime> {
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
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let month = i64::try_from(month).ok()? + 1;
    let local = ((hour * 60 + minute) * 60 + second) * 1000;
    let local = checked_days(Date { year, month, day })? * DAY_MS + local;
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
    use crate::visits::Zone;

    /// The address of a line that begins so, or why it is rejected.
    fn read(before: &str) -> Result<String, &'static str> {
        let line = format!(
            "{before} [28/Nov/2026:23:12:14 +0000] \"GET /a HTTP/1.1\" 200 17 \"-\" \"a\"\n"
        );
        let read = read_combined(line.as_bytes(), &LocalTimes::new(Zone::Fixed(0)));
        match read.lines.rejects.first() {
            Some(reject) => Err(reject.reason),
            None => Ok(read.addresses.words[0].to_string()),
        }
    }

    #[test]
    fn the_address_stands_before_identity_and_user() {
        for (before, address) in [
            ("192.0.2.1 - -", "192.0.2.1"),
            ("2001:db8::1 - -", "2001:db8::1"),
            ("fe80::1%eth0 - -", "fe80::1%eth0"),
            ("client.example - -", "client.example"),
            ("localhost ident frank", "localhost"),
            // Users with blanks and brackets.
            ("192.0.2.1 - John Q Public", "192.0.2.1"),
            ("client.example - John Public", "client.example"),
            ("192.0.2.1 - John [admin]", "192.0.2.1"),
            // With the virtual host.
            ("www.site.example:443 192.0.2.1 - -", "192.0.2.1"),
            ("www.site.example 192.0.2.1 - -", "192.0.2.1"),
            ("www.site.example:80 2001:db8::1 - -", "2001:db8::1"),
            ("www.site.example:443 client.example - -", "client.example"),
            ("www.site.example:443 192.0.2.1 - John Public", "192.0.2.1"),
            ("192.0.2.80:443 192.0.2.1 - -", "192.0.2.1"),
            ("192.0.2.80 192.0.2.1 - -", "192.0.2.1"),
            ("[2001:db8::80]:443 [2001:db8::1]:51234 - -", "2001:db8::1"),
            // A port, and what proxies have noted.
            ("192.0.2.1:51234 - -", "192.0.2.1"),
            ("192.0.2.1, 10.0.0.1 - -", "192.0.2.1"),
            ("192.0.2.1,10.0.0.1 - -", "192.0.2.1"),
            ("www.site.example:443 192.0.2.1, 10.0.0.1 - -", "192.0.2.1"),
        ] {
            assert_eq!(read(before).as_deref(), Ok(address), "{before}");
        }
    }

    #[test]
    fn what_can_be_no_address_is_rejected() {
        for before in [
            "- - -",
            "-, 10.0.0.1 - -",
            "unix: - -",
            "www.site.example:443 - -",
            "www.site.example:443 - - -",
            "www.site.example:443 unix: - -",
            "\"192.0.2.1\" - -",
            "[broken - -",
            "a/b - -",
        ] {
            let why = "the address is neither an IP address nor the name of a host";
            assert_eq!(read(before), Err(why), "{before}");
        }
        assert_eq!(read(""), Err("the line has no address"));
    }

    /// Many brackets cost no more than others.
    #[test]
    fn a_line_without_a_time_is_rejected_at_once() {
        let line = "a [".repeat(1 << 20);
        let read = read_combined(line.as_bytes(), &LocalTimes::new(Zone::Fixed(0)));
        assert_eq!(read.lines.rejects[0].reason, "the line has no time");
    }

    #[test]
    fn times_of_logs_are_read() {
        assert_eq!(log_time(b"01/Jan/1970:01:00:01 +0100"), Some((1000, true)));
        assert_eq!(log_time(b"01/Jan/1970:00:00:01 -0130"), Some((5_401_000, true)));
        assert_eq!(log_time(b"01/Jan/1970:00:00:01"), Some((1000, false)));
        assert_eq!(log_time(b"01/Foo/1970:00:00:01 +0000"), None);
        assert_eq!(log_time(b""), None);
        for day in ["31/Feb/2026", "29/Feb/2025", "31/Apr/2026", "00/Jan/2026", "32/Jan/2026"] {
            assert_eq!(log_time(format!("{day}:10:00:00 +0000").as_bytes()), None, "{day}");
        }
        assert!(log_time(b"29/Feb/2024:10:00:00 +0000").is_some());
    }
}
