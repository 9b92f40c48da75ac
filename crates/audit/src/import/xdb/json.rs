//! Rows as JSON: one object a line, or one array of objects as `FOR JSON` writes it.

use std::borrow::Cow;

use super::{Cells, Column, XdbRules, add_row};
use crate::import::batch::Batch;
use crate::json::{Problem, Scanner};

/// Reads the rows of a chunk that begins and ends between two objects.
pub(crate) fn read_json(chunk: &[u8], rules: &XdbRules) -> Batch {
    let mut batch = Batch::default();
    let mut rest = chunk;
    loop {
        // What stands between objects: white space, commas and the brackets of the array.
        let skipped = rest.iter().take_while(|byte| b" \t\r\n,[]".contains(byte)).count();
        rest = &rest[skipped..];
        if rest.is_empty() {
            return batch;
        }
        batch.rows += 1;
        let row = batch.rows;
        let mut cells = Cells::new();
        let (result, end) = read_object(rest, &mut cells);
        let line = memchr::memchr(b'\n', &rest[end..]).map_or(rest.len(), |at| end + at);
        match result {
            Ok(()) => add_row(&mut batch, rules, row, &cells, &rest[..end]),
            Err(problem) => {
                let reason = match problem {
                    Problem::Truncated => "the JSON ends in the middle of a value",
                    Problem::Malformed(_) => "the row is no JSON object",
                    Problem::TooDeep => "the JSON is nested too deeply",
                };
                // The next row begins on the next line; a value cannot hold a line break.
                let first = memchr::memchr(b'\n', rest).unwrap_or(line);
                batch.reject(row, reason, &rest[..first]);
                rest = &rest[first..];
                continue;
            }
        }
        rest = &rest[end..];
    }
}

/// Reads the cells of one object; where it ends.
fn read_object<'a>(text: &'a [u8], cells: &mut Cells<'a>) -> (Result<(), Problem>, usize) {
    let mut scanner = Scanner::new(text);
    let result = read_fields(&mut scanner, cells);
    (result, scanner.at().min(text.len()))
}

fn read_fields<'a>(scanner: &mut Scanner<'a>, cells: &mut Cells<'a>) -> Result<(), Problem> {
    scanner.expect(b'{')?;
    if scanner.accept(b'}') {
        return Ok(());
    }
    let mut last = None;
    loop {
        scanner.peek();
        let (name, _) = scanner.string()?;
        scanner.expect(b':')?;
        let column = Column::named_after(last, name);
        last = column.or(last);
        match (scanner.peek(), column) {
            (Some(b'"'), Some(column)) => cells.set(column, Some(scanner.text()?)),
            // What is in it is read, and judged, once.
            (Some(b'{' | b'['), Some(column)) => {
                cells.set(column, Some(Cow::Borrowed(scanner.nested()?)));
            }
            (_, column) => {
                let text = scanner.skip()?;
                if let Some(column) = column {
                    cells.set(column, (text != b"null").then_some(Cow::Borrowed(text)));
                }
            }
        }
        if !scanner.accept(b',') {
            return scanner.expect(b'}');
        }
    }
}
