//! Tables with a header as databases export them: CSV in quotes, or tabs with backslashes.

use std::borrow::Cow;

use crate::import::xdb::csv_cell;

/// Names of the columns, and how the cells are separated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableHeader {
    pub(crate) columns: Vec<String>,
    /// True for tabs, false for commas.
    pub(crate) tabs: bool,
}

/// The header of a table; how many bytes it takes.
pub(crate) fn table_header(head: &[u8]) -> (TableHeader, usize) {
    let end = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
    let line = head[..end].trim_ascii_end();
    let tabs = line.contains(&b'\t');
    let names = line.split(|byte| *byte == if tabs { b'\t' } else { b',' });
    let name = |cell: &[u8]| {
        let cell = cell.trim_ascii();
        let inner = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        String::from_utf8_lossy(inner.unwrap_or(cell)).to_ascii_lowercase()
    };
    (TableHeader { columns: names.map(name).collect(), tabs }, end)
}

/// A cell; none for `NULL`.
type Cell<'a> = Option<Cow<'a, [u8]>>;

impl TableHeader {
    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Calls `each` with the text of every row, and with its cells if it has as many as the header.
    pub(super) fn rows<'a>(
        &self,
        chunk: &'a [u8],
        mut each: impl FnMut(&'a [u8], Option<&[Cell<'a>]>),
    ) {
        let (mut rest, mut cells) = (chunk, Vec::new());
        while !rest.is_empty() {
            cells.clear();
            let end = if self.tabs { tabs(rest, &mut cells) } else { commas(rest, &mut cells) };
            let text = rest[..end].trim_ascii_end();
            rest = &rest[end..];
            if !text.is_empty() {
                each(text, (cells.len() == self.columns.len()).then_some(&cells[..]));
            }
        }
    }
}

fn tabs<'a>(text: &'a [u8], cells: &mut Vec<Cell<'a>>) -> usize {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let row = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
    cells.extend(row.split(|byte| *byte == b'\t').map(|cell| match cell {
        b"\\N" | b"NULL" => None,
        cell => Some(unescaped(cell)),
    }));
    (end + 1).min(text.len())
}

fn commas<'a>(text: &'a [u8], cells: &mut Vec<Cell<'a>>) -> usize {
    let mut at = 0;
    loop {
        let (value, end) = csv_cell(text, at);
        cells.push(value.filter(|value| !matches!(&**value, b"NULL" | b"\\N")));
        match text.get(end) {
            Some(b',') => at = end + 1,
            Some(_) => return end + 1,
            None => return text.len(),
        }
    }
}

/// A cell without its backslashes.
fn unescaped(cell: &[u8]) -> Cow<'_, [u8]> {
    if !cell.contains(&b'\\') {
        return Cow::Borrowed(cell);
    }
    let mut out = Vec::with_capacity(cell.len());
    let mut bytes = cell.iter();
    while let Some(byte) = bytes.next() {
        out.push(match (byte, bytes.as_slice().first()) {
            (b'\\', Some(next)) => {
                bytes.next();
                match next {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b'0' => 0,
                    other => *other,
                }
            }
            (byte, _) => *byte,
        });
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Option<Vec<Option<String>>>> {
        let (header, end) = table_header(text.as_bytes());
        let mut all = Vec::new();
        header.rows(&text.as_bytes()[end..], |_, cells| {
            let text = |cell: &Cell<'_>| {
                cell.as_ref().map(|cell| String::from_utf8_lossy(cell).into_owned())
            };
            all.push(cells.map(|cells| cells.iter().map(text).collect()));
        });
        all
    }

    #[test]
    fn both_forms_give_the_same_cells() {
        let some = |text: &str| Some(text.to_owned());
        let wanted = vec![
            Some(vec![some("1"), some("a\tb\\"), None]),
            None,
            Some(vec![some("2"), some("x,\"y\""), some("z")]),
        ];
        assert_eq!(rows("id\tname\tX\n1\ta\\tb\\\\\t\\N\ncut\n2\tx,\"y\"\tz\r\n"), wanted);
        assert_eq!(rows("\"id\",name,X\n1,a\tb\\,NULL\ncut\n2,\"x,\"\"y\"\"\",z\n"), wanted);
    }
}
