//! Logs of one JSON object a line: nginx with `escape=json`, Caddy, Traefik and others. Which field
//! says what follows from its name.

use std::borrow::Cow;

use culprit_model::Label as _;

use super::combined::log_time;
use super::request::{
    LogField, LogLine, Requests, read_lines, request_line, size, status, without_port,
};
use crate::import::zone::{LocalTimes, LogTime};
use crate::json::{Leaf, Problem, Quoted, decode, leaves};
use crate::values::time;

/// Names of fields: of two of one meaning the one that stands first here counts.
const NAMES: &[(LogField, &[&str])] = &[
    (
        LogField::Time,
        &[
            "time_iso8601",
            "msec",
            "StartUTC",
            "ts",
            "@timestamp",
            "timestamp",
            "time",
            "time_local",
            "StartLocal",
        ],
    ),
    (
        LogField::Address,
        &[
            "request.client_ip",
            "request.remote_ip",
            "ClientHost",
            "remote_addr",
            "client_ip",
            "clientip",
            "remote_ip",
            "request.remote_addr",
            "ClientAddr",
        ],
    ),
    (
        LogField::Agent,
        &[
            "http_user_agent",
            "request.headers.User-Agent",
            "request_User-Agent",
            "user_agent",
            "agent",
        ],
    ),
    (LogField::Method, &["request_method", "request.method", "RequestMethod", "method"]),
    (LogField::Path, &["request_uri", "request.uri", "RequestPath", "uri", "path", "url"]),
    (LogField::Request, &["request"]),
    (LogField::Status, &["status", "DownstreamStatus", "status_code", "response"]),
    (LogField::Sent, &["body_bytes_sent", "bytes_sent", "size", "DownstreamContentSize", "bytes"]),
];

/// Names of fields, those of `--field` first.
#[derive(Debug, Clone)]
pub(crate) struct JsonNames {
    names: Vec<(String, LogField, u8)>,
}

impl JsonNames {
    pub(crate) fn new(own: &[(LogField, String)]) -> Self {
        let mut names: Vec<_> =
            own.iter().map(|(field, name)| (name.clone(), *field, 0_u8)).collect();
        for (field, known) in NAMES {
            let ranks = known.iter().zip(1_u8..);
            names.extend(ranks.map(|(name, rank)| ((*name).to_owned(), *field, rank)));
        }
        names.sort();
        Self { names }
    }

    /// What a field says, and how far behind the best name its name is.
    fn field(&self, path: &str) -> impl Iterator<Item = (LogField, u8)> {
        let from = self.names.partition_point(|(name, ..)| name.as_str() < path);
        let same = self.names[from..].iter().take_while(move |(name, ..)| name == path);
        same.map(|(_, field, rank)| (*field, *rank))
    }
}

/// A text of a line, and the rank of the name that it has.
#[derive(Debug, Clone, Copy)]
struct Found<'a> {
    rank: u8,
    value: Quoted<'a>,
}

type Fields<'a> = [Option<Found<'a>>; LogField::ALL.len()];

/// Reads the lines of a chunk.
pub(crate) fn read_json_log(chunk: &[u8], names: &JsonNames, times: &LocalTimes) -> Requests {
    let mut path = String::new();
    read_lines(chunk, |line, out| {
        let mut fields: Fields<'_> = [None; LogField::ALL.len()];
        let read = leaves(line, &mut path, &mut |path, leaf| {
            let value = match leaf {
                Leaf::Object => return,
                Leaf::Text(string) => string,
                Leaf::Plain(b"null") => return,
                Leaf::Plain(raw) => Quoted { raw, escaped: false },
            };
            for (field, rank) in names.field(path) {
                let slot = &mut fields[field as usize];
                if slot.is_none_or(|found| rank < found.rank) {
                    *slot = Some(Found { rank, value });
                }
            }
        });
        for (found, field) in fields.iter().zip(LogField::ALL) {
            // The names of `--field` go before all others.
            if found.is_some_and(|found| found.rank == 0) {
                out.own_fields.add(*field);
            }
        }
        match read {
            Ok(()) => add(line, &fields, times, out),
            Err(Problem::Truncated) => Err("the JSON ends in the middle of a value"),
            Err(_) => Err("the line is no JSON object"),
        }
    })
}

fn add(
    line: &[u8],
    fields: &Fields<'_>,
    times: &LocalTimes,
    out: &mut Requests,
) -> Result<(), &'static str> {
    let cell = |field: LogField| -> Cow<'_, [u8]> {
        match fields[field as usize] {
            None => Cow::Borrowed(b""),
            Some(Found { value, .. }) if !value.escaped => Cow::Borrowed(value.raw),
            Some(Found { value, .. }) => Cow::Owned(decode(value).0.into_owned().into_bytes()),
        }
    };
    let (address, path) = (cell(LogField::Address), cell(LogField::Path));
    let request = cell(LogField::Request);
    if address.is_empty() && path.is_empty() && request.is_empty() {
        // A message of the server that is about no request.
        out.lines.ignored += 1;
        return Ok(());
    }
    if address.is_empty() {
        return Err("no field is known as the client's address");
    }
    let (method, target) = request_line(&request);
    let (method, target) = match path.is_empty() {
        true => (Cow::Borrowed(method), target),
        false => (cell(LogField::Method), &*path),
    };
    let at = cell(LogField::Time);
    if at.is_empty() {
        return Err("no field is known as the time");
    }
    let at = match moment(&at).ok_or("the time cannot be read")? {
        (ms, true) => LogTime::known(ms),
        (local, false) => out.local(local, times),
    };
    let code = cell(LogField::Status);
    if code.is_empty() {
        return Err("no field is known as the status");
    }
    let status = status(&code).ok_or("the status is no number")?;
    let agent = cell(LogField::Agent);
    out.add(&LogLine {
        time: at,
        address: without_port(&address),
        agent: if &*agent == b"-" { b"" } else { &agent },
        method: &method,
        target,
        status,
        sent: size(&cell(LogField::Sent)),
        bytes: line.len(),
    })
}

/// A point in time as logs write it, and whether it is in UTC: seconds, milli-, micro- or
/// nanoseconds since 1970, ISO 8601, or the form of the combined format.
fn moment(text: &[u8]) -> Option<(i64, bool)> {
    if let Some(found) = time(text).or_else(|| log_time(text)) {
        return Some(found);
    }
    let number: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    // Seconds until the year 5138; more digits are smaller units.
    let ms = match number {
        n if !(0.0..1e20).contains(&n) => return None,
        n if n < 1e11 => n * 1e3,
        n if n < 1e14 => n,
        n if n < 1e17 => n / 1e3,
        n => n / 1e6,
    };
    #[expect(clippy::cast_possible_truncation, reason = "below 10^14")]
    Some((ms.round() as i64, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visits::Zone;

    fn read(lines: &str, own: &[(LogField, String)]) -> Requests {
        let times = LocalTimes::new(Zone::parse("Europe/Kyiv").unwrap());
        read_json_log(lines.as_bytes(), &JsonNames::new(own), &times)
    }

    fn texts(words: &crate::import::batch::Words) -> Vec<&str> {
        words.words.iter().map(|word| &**word).collect()
    }

    const NGINX: &str = r#"{"time_iso8601":"2026-11-29T01:12:14+02:00","remote_addr":"203.0.113.9","request":"GET /a?b=c HTTP/1.1","status":"200","body_bytes_sent":"57","http_user_agent":"Mozilla \u0022x\u0022"}"#;
    const CADDY: &str = r#"{"level":"info","ts":1795907534.534,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"10.0.0.1","remote_port":"2","client_ip":"203.0.113.10","method":"HEAD","host":"h","uri":"/b?x","headers":{"User-Agent":["curl/8"],"Accept":["*/*"]}},"user_id":"","duration":0.1,"size":58,"status":404}"#;
    const TRAEFIK: &str = r#"{"ClientAddr":"203.0.113.11:2817","ClientHost":"203.0.113.11","DownstreamContentSize":59,"DownstreamStatus":301,"RequestMethod":"GET","RequestPath":"/c","StartLocal":"2026-11-29T01:12:14.5+02:00","StartUTC":"2026-11-28T23:12:14.5Z","request_User-Agent":"t","time":"2026-11-29T00:00:00Z"}"#;

    #[test]
    fn the_servers_names_are_known() {
        let read = read(&[NGINX, CADDY, TRAEFIK].join("\n"), &[]);
        assert!(read.lines.rejects.is_empty(), "{:?}", read.lines.rejects);
        assert_eq!(texts(&read.addresses), ["203.0.113.9", "203.0.113.10", "203.0.113.11"]);
        assert_eq!(texts(&read.agents), ["Mozilla \"x\"", "curl/8", "t"]);
        assert_eq!(texts(&read.paths), ["/a", "/b", "/c"]);
        let numbers =
            read.requests.iter().map(|one| (one.time.ms % 100_000, one.status, one.sent, one.head));
        let numbers: Vec<_> = numbers.collect();
        assert_eq!(
            numbers,
            [(34_000, 200, 57, false), (34_534, 404, 58, true), (34_500, 301, 59, false)]
        );
    }

    #[test]
    fn own_names_go_first_and_local_times_are_those_of_the_zone() {
        let line = r#"{"when":"2026-11-29 01:12:14","ip":"203.0.113.9","remote_addr":"10.0.0.1","uri":"/","status":200}"#;
        let own = [(LogField::Time, "when".to_owned()), (LogField::Address, "ip".to_owned())];
        let read = read(line, &own);
        assert_eq!(
            (read.first_ms(), texts(&read.addresses)),
            (Some(1_795_907_534_000), vec!["203.0.113.9"])
        );
    }

    #[test]
    fn messages_are_no_requests_and_damage_is_rejected() {
        let lines = [
            r#"{"level":"info","ts":1.5,"msg":"started"}"#,
            &CADDY[..100],
            "no JSON",
            r#"{"remote_addr":"203.0.113.9","uri":"/","status":200}"#,
            r#"{"uri":"/","status":200,"ts":1795907534}"#,
            r#"{"ts":-1,"remote_addr":"203.0.113.9","uri":"/","status":200}"#,
            r#"{"time":"2026-02-31T10:00:00","remote_addr":"203.0.113.9","uri":"/","status":200}"#,
            r#"{"ts":1795907534,"remote_addr":"203.0.113.9","uri":"/"}"#,
            r#"{"ts":1795907534,"remote_addr":"203.0.113.9","uri":"/","status":"ok"}"#,
        ];
        let read = read(&lines.join("\n"), &[]);
        let reasons: Vec<_> = read.lines.rejects.iter().map(|one| (one.row, one.reason)).collect();
        assert_eq!(read.lines.ignored, 1);
        assert_eq!(
            reasons,
            [
                (2, "the JSON ends in the middle of a value"),
                (3, "the line is no JSON object"),
                (4, "no field is known as the time"),
                (5, "no field is known as the client's address"),
                (6, "the time cannot be read"),
                (7, "the time cannot be read"),
                (8, "no field is known as the status"),
                (9, "the status is no number"),
            ]
        );
    }

    #[test]
    fn numbers_are_times_in_any_unit() {
        for text in ["1795907534", "1795907534000", "1795907534000000", "1795907534000000000"] {
            assert_eq!(moment(text.as_bytes()), Some((1_795_907_534_000, true)), "{text}");
        }
        for text in ["nan", "inf", "-5", "1e300", ""] {
            assert_eq!(moment(text.as_bytes()), None, "{text}");
        }
    }
}
