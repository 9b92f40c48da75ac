//! Rows as JSON: one object a line, or one array of objects as `FOR JSON` writes it.
//!
//! The JSON in a row is read where it stands, before the rest of the row is known. Where it then turns
//! out that the row cannot be read, or is not what it looked like, what was counted of it must not
//! count: then the whole chunk is read anew, each row up to its end before what is in it. So what is
//! broken costs twice, and what is whole is read once.

use std::borrow::Cow;

use super::{Cells, Column, XdbRules, add_row, read_next};
use crate::import::batch::Batch;
use crate::json::{Label, Problem, Scanner};

/// When the JSON in a row is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Where it stands.
    AtOnce,
    /// When the row is known to be whole.
    AtTheEnd,
}

/// Why a row is not read on.
#[derive(Debug)]
enum Stop {
    /// It is damaged.
    Problem(Problem),
    /// Something was read at once that should not have been.
    Again,
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Reads the rows of a chunk that begins and ends between two objects.
pub(crate) fn read_json(chunk: &[u8], rules: &XdbRules) -> Batch {
    let read = read_rows(chunk, rules, Reading::AtOnce);
    read.or_else(|| read_rows(chunk, rules, Reading::AtTheEnd)).unwrap_or_default()
}

/// Reads the rows of a chunk; none when it must be read anew.
fn read_rows(chunk: &[u8], rules: &XdbRules, reading: Reading) -> Option<Batch> {
    let mut rows = Rows {
        batch: Batch::default(),
        rules,
        keys: RowKeys::default(),
        cells: Cells::new(),
        reading,
    };
    let mut scanner = Scanner::new(chunk);
    loop {
        // What stands between objects: white space, commas and the brackets of the array.
        scanner.go_past(b" \t\r\n,[]");
        let (from, rest) = (scanner.at(), scanner.rest());
        if rest.is_empty() {
            return Some(rows.batch);
        }
        rows.batch.rows += 1;
        rows.cells.clear();
        let row = rows.batch.rows;
        let problem = match rows.read_fields(&mut scanner) {
            Ok(()) => {
                let bytes = scanner.at() - from;
                let has_read = rows.cells.read.is_some();
                match add_row(&mut rows.batch, rules, (row, bytes), &mut rows.cells) {
                    Ok(()) => {}
                    Err(_) if has_read => return None,
                    Err(reason) => rows.batch.reject(row, reason, &rest[..bytes]),
                }
                continue;
            }
            Err(Stop::Problem(problem)) if rows.cells.read.is_none() => problem,
            Err(_) => return None,
        };
        let reason = match problem {
            Problem::Truncated => "the JSON ends in the middle of a value",
            Problem::Malformed(_) => "the row is no JSON object",
            Problem::TooDeep => "the JSON is nested too deeply",
        };
        // The next row begins on the next line; a value cannot hold a line break.
        let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        rows.batch.reject(row, reason, &rest[..line]);
        scanner.go_to(from + line);
    }
}

/// The rows of a chunk, under way.
struct Rows<'r, 'a> {
    batch: Batch,
    rules: &'r XdbRules,
    keys: RowKeys,
    cells: Cells<'a>,
    reading: Reading,
}

impl<'a> Rows<'_, 'a> {
    /// Reads the cells of the next object.
    fn read_fields(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        scanner.expect(b'{')?;
        if scanner.accept(b'}') {
            return Ok(());
        }
        let mut last = None;
        loop {
            let column = self.keys.next(scanner, &mut last)?;
            if self.cells.read.is_some() && column.is_some_and(Column::decides_what_is_read) {
                return Err(Stop::Again);
            }
            match (scanner.peek(), column) {
                (Some(b'"'), Some(column)) => self.cells.set(column, Some(scanner.text()?)),
                (Some(b'{' | b'['), Some(column)) => self.read_json(column, scanner)?,
                (_, column) => {
                    let text = scanner.skip()?;
                    if let Some(column) = column {
                        self.cells.set(column, (text != b"null").then_some(Cow::Borrowed(text)));
                    }
                }
            }
            if !scanner.accept(b',') {
                return Ok(scanner.expect(b'}')?);
            }
        }
    }

    /// Reads a cell that is an object or an array.
    fn read_json(&mut self, column: Column, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        if self.reading == Reading::AtOnce && !self.cells.has(column) {
            self.cells.read =
                read_next(&mut self.batch, self.rules, column, (&self.cells, &mut *scanner));
        }
        match &self.cells.read {
            Some(read) if read.is_broken() => Err(Stop::Again),
            Some(_) => {
                self.cells.set(column, None);
                Ok(())
            }
            // What is in it is read, and judged, once.
            None => {
                self.cells.set(column, Some(Cow::Borrowed(scanner.nested()?)));
                Ok(())
            }
        }
    }
}

/// Keys of rows that are known by one comparison at most.
const KNOWN: usize = 64;

/// The keys of rows, as they are written. Rows of one table have theirs in one order.
#[derive(Debug, Default)]
struct RowKeys {
    keys: Vec<RowKey>,
    /// The key that rows began with the last time.
    first: usize,
}

#[derive(Debug)]
struct RowKey {
    label: Label,
    column: Option<Column>,
    /// The key that followed it the last time.
    follower: usize,
}

impl RowKeys {
    /// Goes past the next key of a row and its colon. Its column; none for one that no table has. `last`
    /// is the key before it, and becomes this one.
    #[inline]
    fn next(
        &mut self,
        scanner: &mut Scanner<'_>,
        last: &mut Option<usize>,
    ) -> Result<Option<Column>, Problem> {
        scanner.peek();
        let expected = match last.and_then(|last| self.keys.get(last)) {
            Some(last) => last.follower,
            None => self.first,
        };
        match self.keys.get(expected) {
            Some(key) if scanner.accept_label(&key.label) => {
                *last = Some(expected);
                Ok(key.column)
            }
            _ => self.other(scanner, last),
        }
    }

    /// A key that was not expected.
    fn other(
        &mut self,
        scanner: &mut Scanner<'_>,
        last: &mut Option<usize>,
    ) -> Result<Option<Column>, Problem> {
        let from = scanner.at();
        let column = Column::named(scanner.string()?.raw);
        scanner.expect(b':')?;
        scanner.peek();
        let Some(label) = Label::of(scanner.slice(from, scanner.at())) else { return Ok(column) };
        let known = self.keys.iter().position(|key| key.label == label);
        let at = known.unwrap_or(self.keys.len());
        if at == KNOWN {
            return Ok(column);
        }
        if known.is_none() {
            self.keys.push(RowKey { label, column, follower: KNOWN });
        }
        match last.and_then(|last| self.keys.get_mut(last)) {
            Some(last) => last.follower = at,
            None => self.first = at,
        }
        *last = Some(at);
        Ok(column)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::import::zone::LocalTimes;
    use crate::visits::Zone;

    /// What a batch says, without the numbers that its trees gave paths.
    fn told(batch: &Batch) -> String {
        let trees: Vec<_> = batch
            .trees
            .iter()
            .map(|(key, tree)| {
                let sums = tree.totals().map(|(node, kind, sums)| (tree.name(node), kind, *sums));
                (*key, sums.collect::<Vec<_>>())
            })
            .collect();
        let longs: Vec<_> = batch.longs.iter().map(|long| (long.utf8, long.utf16)).collect();
        let texts: Vec<_> = batch.terms.iter().map(|words| &words.words).collect();
        format!(
            "{} {:?} {:?} {:?} {:?} {:?} {trees:?} {longs:?} {texts:?} {:?} {:?}",
            batch.rows,
            batch.visits,
            batch.views,
            batch.events,
            batch.facets,
            batch.rejects,
            batch.paths.words,
            batch.place_facts,
        )
    }

    fn rules() -> XdbRules {
        XdbRules { shards: 2, times: LocalTimes::new(Zone::Fixed(0)) }
    }

    const GUID: &str = "22def722-a7fa-42a4-8ce5-bbc796b35e31";

    proptest! {
        /// Whatever the rows are, reading what is in them at once gives what reading it at the end does.
        #[test]
        fn when_the_json_of_a_row_is_read_does_not_matter(
            rows in prop::collection::vec(
                prop::collection::vec(
                    prop::sample::select(vec![
                        r#""InteractionId":"G""#,
                        r#""ContactId":"G""#,
                        r#""ContactId": "none""#,
                        r#""FacetKey":"IpInfo""#,
                        r#""FacetKey":"Events""#,
                        r#""FacetKey":"""#,
                        r#""FacetData":{"Country":"ua","City":"Дніпро","a":{"b":[1,true,null]}}"#,
                        r#""FacetData":{"Country":"ua","a":"x\n\ud83d","a":[wrong}}"#,
                        r#""FacetData":"{\"Country\":\"UA\"}""#,
                        r#""Events":[{"Url":"/a","Timestamp":"2026-05-01T01:00:00Z"},{"Type":"x.Goal"}]"#,
                        r#""Events" : [ {"Url":"/a" , "é":"LONG"}, 1 ]"#,
                        r#""Events":[{"Url":tru}]"#,
                        r#""Events":null"#,
                        r#""Unknown":[{"a":"}"}]"#,
                        r#""ShardKey":"Wg==""#,
                        r#""Cut":["#,
                        r#""Cut":"no end"#,
                    ]),
                    0..6,
                ),
                1..6,
            ),
            cut in 0_usize..60,
        ) {
            let row = |fields: &Vec<&str>| format!("{{{}}}\n", fields.join(","));
            let text: String = rows.iter().map(row).collect();
            let text = text.replace("\"G\"", &format!("\"{GUID}\"")).replace("LONG", &"é".repeat(40));
            let text = &text.as_bytes()[..text.len().saturating_sub(cut)];
            let at_the_end = read_rows(text, &rules(), Reading::AtTheEnd).unwrap();
            prop_assert_eq!(told(&read_json(text, &rules())), told(&at_the_end));
            if let Some(at_once) = read_rows(text, &rules(), Reading::AtOnce) {
                prop_assert_eq!(told(&at_once), told(&at_the_end));
            }
        }
    }

    #[test]
    fn whole_rows_are_read_once() {
        let row = format!(
            r#"{{"InteractionId":"{GUID}","ContactId":"{GUID}","Events":[{{"Url":"/a"}}],"ShardKey":"Wg=="}}"#
        );
        let text = format!("{row}\n{row}\n{{\"broken\n{row}\n");
        let batch = read_rows(text.as_bytes(), &rules(), Reading::AtOnce).unwrap();
        assert_eq!((batch.visits.len(), batch.views.len(), batch.rejects.len()), (3, 3, 1));
        let cut = text.replace("\"ShardKey", "ShardKey");
        assert!(read_rows(cut.as_bytes(), &rules(), Reading::AtOnce).is_none());
    }
}
