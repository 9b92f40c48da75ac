//! Rows as CSV with a header, or as `bcp` writes them in character mode.

use std::borrow::Cow;

use super::{Cells, Column, XdbRules, add_row};
use crate::import::batch::Batch;

/// The columns of a file in their order; none for one that a store does not need.
pub(crate) type Header = Vec<Option<Column>>;

/// How rows and cells are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separation {
    /// RFC 4180: commas, quotes, line breaks inside of quotes.
    Csv,
    /// Tabs and line breaks; nothing is quoted, an empty cell has no value, a zero byte is an empty
    /// text.
    Bcp,
}

/// Reads the rows of a chunk that begins and ends between two rows.
pub(crate) fn read_separated(
    chunk: &[u8],
    rules: &XdbRules,
    header: &Header,
    separation: Separation,
) -> Batch {
    let mut batch = Batch::default();
    let mut rest = chunk;
    let mut cells = Cells::new();
    while !rest.is_empty() {
        cells.clear();
        let (count, end) = match separation {
            Separation::Csv => read_csv(rest, header, &mut cells),
            Separation::Bcp => read_bcp(rest, header, &mut cells),
        };
        let text = rest[..end].trim_ascii_end();
        rest = &rest[end..];
        if text.is_empty() {
            continue;
        }
        batch.rows += 1;
        let row = batch.rows;
        if count == header.len() {
            if let Err(reason) = add_row(&mut batch, rules, (row, text.len()), &mut cells) {
                batch.reject(row, reason, text);
            }
        } else {
            let why = match separation {
                Separation::Csv => "the row has another number of cells than the header",
                Separation::Bcp => "the row has another number of cells than its table has columns",
            };
            batch.reject(row, why, text);
        }
    }
    batch
}

/// Reads one row of CSV. How many cells it has, and where the next row begins.
fn read_csv<'a>(text: &'a [u8], header: &Header, cells: &mut Cells<'a>) -> (usize, usize) {
    let (mut at, mut count) = (0, 0);
    loop {
        let (value, end) = csv_cell(text, at);
        if let Some(Some(column)) = header.get(count) {
            cells.set(*column, value);
        }
        count += 1;
        match text.get(end) {
            Some(b',') => at = end + 1,
            Some(_) => return (count, end + 1),
            None => return (count, text.len()),
        }
    }
}

/// The cell that begins at `at`, and where its separator or line break is. An empty cell has no
/// value, `""` is an empty text.
pub(crate) fn csv_cell(text: &[u8], at: usize) -> (Option<Cow<'_, [u8]>>, usize) {
    if text.get(at) != Some(&b'"') {
        let rest = &text[at..];
        let end = at + memchr::memchr2(b',', b'\n', rest).unwrap_or(rest.len());
        let value = text[at..end].strip_suffix(b"\r").unwrap_or(&text[at..end]);
        return ((!value.is_empty()).then_some(Cow::Borrowed(value)), end);
    }
    let (mut from, mut value) = (at + 1, Cow::Borrowed(&[][..]));
    loop {
        let rest = text.get(from..).unwrap_or_default();
        let quote = memchr::memchr(b'"', rest).unwrap_or(rest.len());
        let doubled = rest.get(quote + 1) == Some(&b'"');
        let part = &rest[..(quote + usize::from(doubled)).min(rest.len())];
        if value.is_empty() {
            value = Cow::Borrowed(part);
        } else {
            value.to_mut().extend_from_slice(part);
        }
        from += quote + if doubled { 2 } else { 1 };
        if !doubled {
            let from = from.min(text.len());
            let end = memchr::memchr2(b',', b'\n', &text[from..]).map_or(text.len(), |n| from + n);
            return (Some(value), end);
        }
    }
}

fn read_bcp<'a>(text: &'a [u8], header: &Header, cells: &mut Cells<'a>) -> (usize, usize) {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let row = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
    let mut count = 0;
    for value in row.split(|byte| *byte == b'\t') {
        if let Some(Some(column)) = header.get(count) {
            let value = match value {
                b"" => None,
                b"\0" => Some(Cow::Borrowed(&[][..])),
                value => Some(Cow::Borrowed(value)),
            };
            cells.set(*column, value);
        }
        count += 1;
    }
    (count, (end + 1).min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::zone::LocalTimes;
    use crate::visits::Zone;

    /// A file of `bcp` has no header.
    #[test]
    fn a_row_with_another_number_of_cells_is_rejected() {
        let rules = XdbRules { shards: 1, times: LocalTimes::new(Zone::Fixed(0)) };
        let header = vec![Some(Column::ContactId), Some(Column::Created)];
        let reason = |separation| {
            let batch = read_separated(b"one\n", &rules, &header, separation);
            batch.rejects.first().map(|reject| reject.reason)
        };
        let csv = reason(Separation::Csv);
        assert_eq!(csv, Some("the row has another number of cells than the header"));
        let bcp = reason(Separation::Bcp);
        assert_eq!(bcp, Some("the row has another number of cells than its table has columns"));
    }

    #[test]
    fn cells_of_csv_are_unquoted() {
        let cells = |text: &'static str| {
            let (mut at, mut all) = (0, Vec::new());
            loop {
                let (value, end) = csv_cell(text.as_bytes(), at);
                all.push(value.map(|value| String::from_utf8(value.into_owned()).unwrap()));
                match text.as_bytes().get(end) {
                    Some(b',') => at = end + 1,
                    _ => return all,
                }
            }
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            cells("a,,\"b,\"\"c\"\"\nd\",\"\"\r\n"),
            [some("a"), None, some("b,\"c\"\nd"), some("")]
        );
        assert_eq!(cells("\"open, \"\"x"), [some("open, \"x")]);
        assert_eq!(cells("\"\"\"\""), [some("\"")]);
    }
}
