//! Logs in the W3C extended format, as IIS and CloudFront write them. A `#Fields` line says what the
//! lines after it have; it may come again with other fields.
//!
//! <https://www.w3.org/TR/WD-logfile.html>. IIS writes `+` for a blank, CloudFront writes `%20`, and
//! wrote `%2520` until 2019 or so: both are undone.

use std::borrow::Cow;

use culprit_model::Label as _;

use super::request::{FieldSet, LogField, LogLine, Requests, read_lines, size, status};
use crate::import::zone::LogTime;
use crate::values::time;

/// Fields of a line at most: more make no log.
const FIELDS: usize = 256;
/// Which field says what: the names of the format itself.
const NAMES: [(LogField, &str); 8] = [
    (LogField::Date, "date"),
    (LogField::Time, "time"),
    (LogField::Address, "c-ip"),
    (LogField::Agent, "cs(User-Agent)"),
    (LogField::Method, "cs-method"),
    (LogField::Path, "cs-uri-stem"),
    (LogField::Status, "sc-status"),
    (LogField::Sent, "sc-bytes"),
];

/// How the lines of a source are read.
#[derive(Debug, Clone)]
pub(crate) struct W3cRules {
    /// True for CloudFront's way of writing blanks, false for that of IIS.
    pub(crate) percent: bool,
    /// Fields with another name, which go first.
    pub(crate) names: Vec<(LogField, String)>,
}

/// Where the fields of the lines are.
#[derive(Debug, Clone, Default)]
struct Layout {
    count: usize,
    at: [Option<usize>; LogField::ALL.len()],
    /// The day of lines without one, from `#Date`.
    date: Option<Vec<u8>>,
    /// Fields that have the name of `--field`.
    own: FieldSet,
}

impl Layout {
    /// Reads a line that begins with `#`.
    fn directive(&mut self, line: &[u8], rules: &W3cRules) {
        if let Some(fields) = directive(line, b"#Fields:") {
            *self = Self { date: self.date.take(), own: self.own, ..Self::default() };
            for name in fields.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty()) {
                if let Some(field) = rules.field(name) {
                    let named = |text: &str| text.as_bytes().eq_ignore_ascii_case(name);
                    let is_own =
                        rules.names.iter().any(|(known, text)| *known == field && named(text));
                    if is_own {
                        self.own.add(field);
                    }
                    let at = &mut self.at[field as usize];
                    if at.is_none() || is_own {
                        *at = Some(self.count);
                    }
                }
                self.count += 1;
            }
        } else if let Some(date) = directive(line, b"#Date:") {
            self.date = date.trim_ascii().get(..10).map(<[u8]>::to_vec);
        }
    }

    fn cell<'a>(&self, cells: &[&'a [u8]], field: LogField) -> &'a [u8] {
        let cell = self.at[field as usize].and_then(|at| cells.get(at)).copied();
        cell.filter(|cell| *cell != b"-").unwrap_or_default()
    }
}

fn directive<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (begin, rest) = line.split_at_checked(name.len())?;
    begin.eq_ignore_ascii_case(name).then_some(rest)
}

impl W3cRules {
    fn field(&self, name: &[u8]) -> Option<LogField> {
        let is = |text: &str| text.as_bytes().eq_ignore_ascii_case(name);
        let own = self.names.iter().find(|(_, text)| is(text)).map(|(field, _)| *field);
        own.or_else(|| NAMES.iter().find(|(_, text)| is(text)).map(|(field, _)| *field))
    }
}

/// The last lines of a part of a log that say what the lines after it have.
pub(crate) fn header_lines(chunk: &[u8], before: &[u8]) -> Vec<u8> {
    let lines = |name: &'static [u8]| {
        let all = [before, chunk];
        all.map(|text| last_line(text, name)).into_iter().flatten().next_back()
    };
    let mut header = Vec::new();
    for line in [lines(b"#Date:"), lines(b"#Fields:")].into_iter().flatten() {
        header.extend_from_slice(line);
        header.push(b'\n');
    }
    header
}

/// The last line of a text that begins with a name, which begins with `#`.
fn last_line<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut last = None;
    for at in memchr::memchr_iter(b'#', text) {
        let begins = at == 0 || text[at - 1] == b'\n';
        if begins && directive(&text[at..], name).is_some() {
            last = Some(at);
        }
    }
    let from = &text[last?..];
    let end = memchr::memchr(b'\n', from).unwrap_or(from.len());
    Some(from[..end].trim_ascii_end())
}

/// Reads the lines of a chunk. `header` has the lines of the source before it that say what its
/// lines have.
pub(crate) fn read_w3c(chunk: &[u8], header: &[u8], rules: &W3cRules) -> Requests {
    let mut layout = Layout::default();
    for line in header.split(|byte| *byte == b'\n') {
        layout.directive(line, rules);
    }
    let mut cells = Vec::new();
    let mut requests = read_lines(chunk, |line, out| {
        if line.first() == Some(&b'#') {
            // It is no row.
            out.lines.rows -= 1;
            layout.directive(line, rules);
            return Ok(());
        }
        cells.clear();
        split(line, layout.count, &mut cells);
        add(line, &cells, &layout, rules, out)
    });
    requests.own_fields = layout.own;
    requests
}

/// Appends the cells of a line. Those of other programs may stand in quotes and have blanks.
fn split<'a>(line: &'a [u8], count: usize, cells: &mut Vec<&'a [u8]>) {
    let separator = |byte: &u8| matches!(byte, b' ' | b'\t');
    // CloudFront's are separated by one tab each, so that a cell may be empty.
    let tabs = memchr::memchr(b'\t', line).is_some();
    if tabs {
        cells.extend(line.split(|byte| *byte == b'\t').take(FIELDS));
    } else {
        cells.extend(line.split(separator).filter(|cell| !cell.is_empty()).take(FIELDS));
    }
    if cells.len() == count || !line.contains(&b'"') {
        return;
    }
    cells.clear();
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() && cells.len() < FIELDS {
        let quote = rest.strip_prefix(b"\"");
        let (cell, after) = match quote.and_then(|inner| Some((inner, closing(inner)?))) {
            Some((inner, end)) => (&inner[..end], &inner[end + 1..]),
            None => rest.split_at(rest.iter().position(separator).unwrap_or(rest.len())),
        };
        cells.push(cell);
        rest = after.trim_ascii_start();
    }
}

/// Where the closing quote is; two quotes stand for one.
fn closing(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr(b'"', inner.get(at..)?)?;
        if inner.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

fn add(
    line: &[u8],
    cells: &[&[u8]],
    layout: &Layout,
    rules: &W3cRules,
    out: &mut Requests,
) -> Result<(), &'static str> {
    if layout.count == 0 {
        return Err("no `#Fields` line stands before it");
    }
    if cells.len() != layout.count {
        return Err("the line has another number of fields than `#Fields`");
    }
    let cell = |field| layout.cell(cells, field);
    let (date, clock) = (cell(LogField::Date), cell(LogField::Time));
    let date = if date.is_empty() { layout.date.as_deref().unwrap_or_default() } else { date };
    let (ms, _) = time(&[date, b"T", clock].concat()).ok_or("the time cannot be read")?;
    // The first of the addresses that a proxy has noted.
    let address = cell(LogField::Address).split(|byte| *byte == b',').next().unwrap_or_default();
    if address.is_empty() {
        return Err("the line has no address");
    }
    let status = match cell(LogField::Status) {
        b"" if layout.at[LogField::Status as usize].is_none() => 200,
        // CloudFront: the client has left before the answer.
        b"000" => 0,
        text => status(text).ok_or("the status is no number")?,
    };
    let agent = cell(LogField::Agent);
    let path = cell(LogField::Path);
    let (agent, path) = match rules.percent {
        true => (unescaped(agent), once(path)),
        false => (blanks(agent), Cow::Borrowed(path)),
    };
    out.add(&LogLine {
        time: LogTime::known(ms),
        address: address.trim_ascii(),
        agent: &agent,
        method: cell(LogField::Method),
        target: &path,
        status,
        sent: size(cell(LogField::Sent)),
        bytes: line.len(),
    })
}

/// `+` as a blank.
fn blanks(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'+') {
        return Cow::Borrowed(text);
    }
    text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect()
}

/// A text without its `%20`; twice where it was written twice.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'%') {
        return Cow::Borrowed(text);
    }
    let first = decoded(text);
    let again = memchr::memmem::find(&first, b"%20").is_some();
    if again { decoded(&first).into() } else { first.into() }
}

/// A path in which `%2520` is `%20` again, as the client sent it.
fn once(path: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memmem::find(path, b"%25").is_none() {
        return Cow::Borrowed(path);
    }
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = memchr::memmem::find(rest, b"%25") {
        let hex = rest.get(at + 3..at + 5).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
        out.extend_from_slice(&rest[..at + 1]);
        if !hex {
            out.extend_from_slice(b"25");
        }
        rest = &rest[at + 3..];
    }
    out.extend_from_slice(rest);
    out.into()
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let digits = digits.and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(percent: bool) -> W3cRules {
        W3cRules { percent, names: Vec::new() }
    }

    fn texts(words: &crate::import::batch::Words) -> Vec<&str> {
        words.words.iter().map(|word| &**word).collect()
    }

    const IIS: &str = "#Software: Microsoft Internet Information Services 10.0\r
#Version: 1.0\r
#Date: 2026-11-28 23:12:14\r
#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken\r
2026-11-28 23:12:14 10.0.0.1 GET /a b=c 443 - 203.0.113.9 Mozilla/5.0+(X11) - 200 0 0 12\r
#Fields: time c-ip cs-method cs-uri-stem sc-status sc-bytes cs(User-Agent)\r
23:12:15 203.0.113.10 HEAD /b 404 77 -\r
23:12:16 203.0.113.10 HEAD /b 404\r
";

    #[test]
    fn the_fields_line_decides_also_in_the_middle() {
        let read = read_w3c(IIS.as_bytes(), b"", &rules(false));
        let rejects: Vec<_> = read.lines.rejects.iter().map(|one| (one.row, one.reason)).collect();
        assert_eq!(rejects, [(3, "the line has another number of fields than `#Fields`")]);
        assert_eq!(texts(&read.addresses), ["203.0.113.9", "203.0.113.10"]);
        assert_eq!(texts(&read.agents), ["Mozilla/5.0 (X11)", ""]);
        assert_eq!(texts(&read.paths), ["/a", "/b"]);
        let times: Vec<_> = read.requests.iter().map(|one| one.time.ms).collect();
        assert_eq!(times, [1_795_907_534_000, 1_795_907_535_000]);
        assert_eq!((read.requests[1].sent, read.requests[1].head), (77, true));
    }

    #[test]
    fn a_chunk_goes_on_with_the_fields_of_those_before_it() {
        let middle = IIS.find("23:12:15").unwrap();
        let header = header_lines(&IIS.as_bytes()[..middle], b"");
        assert!(header.starts_with(b"#Date: 2026-11-28"), "{}", String::from_utf8_lossy(&header));
        let read = read_w3c(&IIS.as_bytes()[middle..], &header, &rules(false));
        assert_eq!(read.requests.len(), 1);
        assert_eq!(read.first_ms(), Some(1_795_907_535_000));
        assert_eq!(header_lines(b"no header\n", &header), header);
        let alone = read_w3c(&IIS.as_bytes()[middle..], b"", &rules(false));
        assert_eq!(alone.lines.rejects[0].reason, "no `#Fields` line stands before it");
    }

    #[test]
    fn both_encodings_of_cloudfront_are_undone() {
        let fields = "#Fields: date\ttime\tsc-bytes\tc-ip\tcs-method\tcs-uri-stem\tsc-status\tcs(User-Agent)\n";
        let line = |path: &str, agent: &str| {
            format!("2026-11-28\t23:12:14\t335\t203.0.113.9\tGET\t{path}\t200\t{agent}\n")
        };
        let log = [
            fields,
            &line("/a%2520b", "Mozilla/5.0%20(X11;%20100%25)"),
            &line("/a%20b%25", "Mozilla/5.0%2520(X11)"),
            &line("/c", "a+b%"),
        ];
        let read = read_w3c(log.concat().as_bytes(), b"", &rules(true));
        assert_eq!(texts(&read.agents), ["Mozilla/5.0 (X11; 100%)", "Mozilla/5.0 (X11)", "a+b%"]);
        assert_eq!(texts(&read.paths), ["/a%20b", "/a%20b%25", "/c"]);
    }

    #[test]
    fn quoted_cells_and_own_names_are_read() {
        let names = vec![(LogField::Address, "X-Forwarded-For".to_owned())];
        let log = "#Fields: date time c-ip cs-uri-stem X-Forwarded-For cs(User-Agent)\n\
                   2026-11-28 23:12:14 10.0.0.1 /a \"203.0.113.9, 10.0.0.1\" \"a \"\"b\"\" c\"\n";
        let read = read_w3c(log.as_bytes(), b"", &W3cRules { percent: false, names });
        assert_eq!(texts(&read.addresses), ["203.0.113.9"]);
        assert_eq!(texts(&read.agents), ["a \"\"b\"\" c"]);
    }
}
