//! What a source is, from its first bytes: only where that is certain.

use super::events::{MatomoTable, SNOWPLOW_COLUMNS, table_header};
use super::logs::{JsonNames, W3cRules, read_combined, read_elb, read_json_log, read_w3c};
use super::plan::SourceFormat;
use super::xdb::Column;
use super::zone::LocalTimes;
use crate::json::{Leaf, leaves};
use crate::visits::Zone;

/// The format of a source that begins with these bytes; none when it could be several or none.
pub(super) fn detect(head: &[u8], utc: Zone) -> Option<SourceFormat> {
    // The last line may be cut.
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    let first = whole.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    let found = match first.trim_ascii_start().first()? {
        b'#' => w3c(whole),
        b'{' | b'[' => json(whole, first, utc),
        _ => lines(whole, first, utc),
    };
    let mut found = found.into_iter();
    let one = found.next();
    one.filter(|_| found.next().is_none())
}

fn w3c(head: &[u8]) -> Vec<SourceFormat> {
    let percent = memchr::memmem::find(head, b"x-edge-").is_some();
    let read = read_w3c(head, b"", &W3cRules { percent, names: Vec::new() });
    let has_fields = memchr::memmem::find(head, b"#Fields:").is_some();
    let fits = has_fields && (read.len() > 0 || read.lines.rows == 0);
    let format = if percent { SourceFormat::CloudFront } else { SourceFormat::Iis };
    Vec::from_iter(fits.then_some(format))
}

fn json(head: &[u8], first: &[u8], utc: Zone) -> Vec<SourceFormat> {
    let mut found = Vec::new();
    let (mut xdb, mut events) = (false, 0);
    let object = first.trim_ascii_start();
    let object = object.strip_prefix(b"[").unwrap_or(object).trim_ascii_start();
    // A first row that is longer than the head has its columns at its beginning, too.
    let _ = leaves(object, &mut String::new(), &mut |path, leaf| {
        if matches!(leaf, Leaf::Object) {
            return;
        }
        let key = Column::named(path.as_bytes());
        xdb |= matches!(key, Some(Column::InteractionId | Column::ContactId));
        events += usize::from(matches!(path, "event_timestamp" | "event_name"));
    });
    found.extend(xdb.then_some(SourceFormat::XdbJson));
    found.extend((events >= 2).then_some(SourceFormat::Ga4Json));
    let log = read_json_log(head, &JsonNames::new(&[]), &LocalTimes::new(utc));
    found.extend(mostly(log.len() as u64, log.lines.rows).then_some(SourceFormat::JsonLog));
    found
}

fn lines(head: &[u8], first: &[u8], utc: Zone) -> Vec<SourceFormat> {
    let mut found = Vec::new();
    let (header, _) = table_header(first);
    found.extend(MatomoTable::of_header(&header).map(|_| SourceFormat::Matomo));
    let names = header.columns.iter().map(|name| Column::named(name.as_bytes()));
    let has = |wanted: Column| names.clone().any(|column| column == Some(wanted));
    let xdb = !header.tabs && (has(Column::InteractionId) || has(Column::ContactId));
    found.extend(xdb.then_some(SourceFormat::XdbCsv));
    let columns = first.split(|byte| *byte == b'\t').count();
    found.extend((columns == SNOWPLOW_COLUMNS).then_some(SourceFormat::SnowplowTsv));
    let log = read_combined(head, &LocalTimes::new(utc));
    found.extend(mostly(log.len() as u64, log.lines.rows).then_some(SourceFormat::AccessLog));
    let log = read_elb(head);
    found.extend(mostly(log.len() as u64, log.lines.rows).then_some(SourceFormat::Elb));
    found
}

/// More than half: the rest may be damage.
fn mostly(part: u64, all: u64) -> bool {
    part * 2 > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_has_a_format() {
        let snowplow = format!("app{}2026-11-28\n", "\t".repeat(SNOWPLOW_COLUMNS - 1));
        for (head, format) in [
            ("", None),
            ("hello\nworld\n", None),
            ("#comment\nhello\n", None),
            ("{\"a\":1}\n", None),
            (
                "10.0.0.1 - - [28/Nov/2026:23:12:14 +0000] \"GET / HTTP/1.1\" 200 1\n",
                Some(SourceFormat::AccessLog),
            ),
            (
                "#Software: x\n#Fields: date time c-ip cs-uri-stem sc-status\n",
                Some(SourceFormat::Iis),
            ),
            (
                "#Version: 1.0\n#Fields: date time x-edge-location c-ip\n",
                Some(SourceFormat::CloudFront),
            ),
            ("[{\"InteractionId\":\"x\",\"Events\":[{\"a\":", Some(SourceFormat::XdbJson)),
            ("{\"event_name\":\"a\",\"event_timestamp\":\"1\"}\n", Some(SourceFormat::Ga4Json)),
            (
                "{\"remote_addr\":\"10.0.0.1\",\"uri\":\"/\",\"status\":200,\"ts\":1795907534}\n",
                Some(SourceFormat::JsonLog),
            ),
            ("ContactId,LastModified\n", Some(SourceFormat::XdbCsv)),
            ("idaction\tname\thash\ttype\n", Some(SourceFormat::Matomo)),
            (&snowplow, Some(SourceFormat::SnowplowTsv)),
            (
                "2026-11-28T23:12:14Z lb 10.0.0.1:1 10.0.0.2:2 0 0 0 200 200 0 1 \"GET http://h:80/ HTTP/1.1\"\n",
                Some(SourceFormat::Elb),
            ),
        ] {
            let utc = Zone::parse("UTC").unwrap();
            assert_eq!(detect(head.as_bytes(), utc), format, "{head}");
        }
    }
}
