//! Files of variables as the package python-dotenv reads them (`dotenv.parser`).
//!
//! A line that does not fit is left out. `${NAME}` and `${NAME:-default}` are replaced in every value,
//! quoted or not: such values are templates.

use super::{Contents, Entry, Oddity, Segment};
use crate::position::Lines;
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str) -> Contents {
    let lines = Lines::new(text);
    let mut contents = Contents::default();
    let mut at = 0;
    loop {
        at += text[at..].find(|c: char| !c.is_whitespace()).unwrap_or(text.len() - at);
        if at >= text.len() {
            return contents;
        }
        let end_of_line = |at: usize| at + text[at..].find(['\n', '\r']).unwrap_or(text.len() - at);
        match binding(&text[at..]) {
            Some(Binding { name: None, length, .. }) => at += length,
            Some(Binding { name: Some(name), offset, value, length }) => {
                let position = lines.at(at + offset);
                let end_line = lines.line((at + length).saturating_sub(1)).max(position.line);
                contents.entries.push(Entry {
                    path: vec![Segment::Name(name)],
                    template: value.is_some(),
                    null: value.is_none(),
                    retyped: None,
                    value: Raw::new(value.unwrap_or_default()),
                    op: Op::Set,
                    at: position,
                    end_line,
                    document: 0,
                });
                at += length;
            }
            None => {
                let what = "is not read: it does not have the form NAME=value";
                contents.oddities.push(Oddity { at: lines.at(at), name: String::new(), what });
                at = end_of_line(at);
            }
        }
    }
}

struct Binding {
    /// None: a comment.
    name: Option<String>,
    /// Where the name starts.
    offset: usize,
    value: Option<String>,
    length: usize,
}

fn blanks(text: &str) -> usize {
    text.find(|c: char| !c.is_whitespace() || matches!(c, '\n' | '\r')).unwrap_or(text.len())
}

/// One line with its value; none if it does not fit.
fn binding(text: &str) -> Option<Binding> {
    let mut at = 0;
    if let Some(rest) = text.strip_prefix("export") {
        let space = blanks(rest);
        at = if space > 0 { "export".len() + space } else { 0 };
    }
    let offset = at;
    let mut name = None;
    let mut value = None;
    if !text[at..].starts_with('#') {
        let rest = &text[at..];
        let (own, length) = match rest.strip_prefix('\'') {
            Some(quoted) => (quoted.split_once('\'')?.0, quoted.find('\'')? + 2),
            None => {
                let end = rest.find(|c: char| c == '=' || c == '#' || c.is_whitespace());
                let end = end.unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        if own.is_empty() {
            return None;
        }
        name = Some(own.to_owned());
        at += length;
        at += blanks(&text[at..]);
        if text[at..].starts_with('=') {
            at += 1;
            at += blanks(&text[at..]);
            let (found, length) = value_of(&text[at..])?;
            value = Some(found);
            at += length;
        }
    }
    let comment = at + blanks(&text[at..]);
    if text[comment..].starts_with('#') {
        at = comment + text[comment..].find(['\n', '\r']).unwrap_or(text.len() - comment);
    }
    at += blanks(&text[at..]);
    let rest = &text[at..];
    let line_break = ["\r\n", "\n", "\r"].iter().find(|end| rest.starts_with(**end));
    match line_break {
        Some(end) => at += end.len(),
        None if rest.is_empty() => {}
        None => return None,
    }
    Some(Binding { name, offset, value, length: at })
}

/// A value, and its length.
fn value_of(text: &str) -> Option<(String, usize)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let Some(quote) = quote else {
        let end = text.find(['\n', '\r']).unwrap_or(text.len());
        let line = &text[..end];
        let comment = line
            .char_indices()
            .find(|(at, c)| c.is_whitespace() && line[*at..].trim_start().starts_with('#'));
        let value = &line[..comment.map_or(line.len(), |(at, _)| at)];
        return Some((value.trim_end().to_owned(), end));
    };
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some((value, at + 1));
        }
        let next = chars.peek().map(|(_, next)| *next);
        let escaped = next.filter(|_| c == '\\').and_then(|next| escape(quote, next));
        if let Some(escaped) = escaped {
            value.push(escaped);
            chars.next();
        } else {
            value.push(c);
        }
    }
    None
}

fn escape(quote: char, c: char) -> Option<char> {
    Some(match c {
        '\\' | '\'' => c,
        _ if quote == '\'' => return None,
        '"' => c,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_python_dotenv_reads_them() {
        let text = "export A = 1 # c\n'B c'='it\\'s' # d\nC=\"x\\ny\"\nD\n=bad\nE=a#b\n# F=1\nG='two\nlines'";
        let found = read(text);
        let rows: Vec<String> = found
            .entries
            .iter()
            .map(|entry| format!("{:?} {:?} {}", entry.path, entry.value.expose(), entry.at))
            .collect();
        let row = |name: &str, value: &str, at: &str| format!("[Name({name:?})] {value:?} {at}");
        assert_eq!(
            rows,
            [
                row("A", "1", "1:8"),
                row("B c", "it's", "2:1"),
                row("C", "x\ny", "3:1"),
                row("D", "", "4:1"),
                row("E", "a#b", "6:1"),
                row("G", "two\nlines", "8:1"),
            ]
        );
        assert_eq!(found.oddities.len(), 1);
    }
}
