//! Java's properties, by the rules of `java.util.Properties.load`, and Spring's documents in one file.
//!
//! A line that ends in an odd number of backslashes goes on in the next; `=`, `:` or a blank ends the
//! key; `#` and `!` start a comment at a line's start. No parser that keeps columns is kept up.
//! `#---` and `!---` part documents, as Spring Boot has it since 2.4.

use super::{
    Contents, Entry, IN_UTF8, KEEPS_BLANK, KEEPS_QUOTES, LOSES_BACKSLASH, Oddity, Segment,
    Unreadable, is_quoted,
};
use crate::position::{Position, number};
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str) -> Result<Contents, Unreadable> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let mut contents = Contents::default();
    let mut document = 0;
    let mut at = 0;
    while at < lines.len() {
        let start = at;
        let line = lines[at];
        at += 1;
        let content = line.trim_start_matches(BLANKS);
        if content.is_empty() || content.starts_with(['#', '!']) {
            document += u32::from(parts_documents(&lines, start));
            continue;
        }
        let mut logical = content.to_owned();
        while goes_on(&logical) {
            logical.pop();
            let Some(next) = lines.get(at) else { break };
            logical.push_str(next.trim_start_matches(BLANKS));
            at += 1;
        }
        let (key, value) = split(&logical);
        let column = number(line.chars().count() - content.chars().count());
        let position = Position { line: number(start + 1), column: column + 1 };
        let unescape = |text: &str| {
            unescape(text).ok_or_else(|| Unreadable::syntax(position, "a malformed \\u escape"))
        };
        let (name, value) = (unescape(key)?, unescape(value)?);
        let odd = match () {
            () if is_quoted(&value) => Some(KEEPS_QUOTES),
            () if value.ends_with(BLANKS) => Some(KEEPS_BLANK),
            () if is_in_utf8(&logical) => Some(IN_UTF8),
            () if loses_backslash(split(&logical).1) => Some(LOSES_BACKSLASH),
            () => None,
        };
        contents.oddities.extend(odd.map(|what| Oddity { at: position, name: name.clone(), what }));
        contents.entries.push(Entry {
            path: vec![Segment::Name(name)],
            value: Raw::new(value),
            op: Op::Set,
            template: false,
            null: false,
            retyped: None,
            at: position,
            end_line: number(at),
            document,
        });
    }
    Ok(contents)
}

const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

/// Whether characters of ISO 8859-1 are the bytes of others in UTF-8: `Ã¼` of `ü`.
fn is_in_utf8(text: &str) -> bool {
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    bytes.is_ok_and(|bytes| !bytes.is_ascii() && std::str::from_utf8(&bytes).is_ok())
}

/// Whether a value has a backslash that is no known escape, or that follows the letter of a drive: `C:\temp`.
fn loses_backslash(value: &str) -> bool {
    let drive = |at: usize| {
        let before = value[..at].strip_suffix(':').unwrap_or_default();
        before.len() == 1 && before.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    let mut rest = value;
    while let Some(at) = rest.find('\\') {
        let escaped = rest[at + 1..].chars().next();
        let is_plain = escaped.is_some_and(|c| c.is_ascii_alphanumeric());
        let is_escape = escaped.is_some_and(|c| matches!(c, 't' | 'n' | 'r' | 'f' | 'u'));
        if is_plain && (!is_escape || drive(value.len() - rest.len() + at)) {
            return true;
        }
        rest = &rest[at + 1 + escaped.map_or(0, char::len_utf8)..];
    }
    false
}

/// A comment of exactly `---` parts documents, unless a comment of its kind is next to it.
fn parts_documents(lines: &[&str], at: usize) -> bool {
    let line = lines[at].trim_end();
    if line != "#---" && line != "!---" {
        return false;
    }
    let is_comment =
        |line: Option<&&str>| line.is_some_and(|line| line.starts_with(&lines[at][..1]));
    let before = at.checked_sub(1).and_then(|before| lines.get(before));
    !is_comment(lines.get(at + 1)) && !is_comment(before)
}

fn goes_on(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// The key and the value of a logical line, both still escaped.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && (BLANKS.contains(&c) || matches!(c, '=' | ':'));
        escaped = c == '\\' && !escaped;
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(BLANKS);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim_start_matches(BLANKS))
}

/// The text with its escapes replaced; none if a `\u` has no four digits.
fn unescape(text: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let mut buffer = [0; 2];
        let c = if c == '\\' {
            match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let is_number =
                        digits.len() == 4 && digits.chars().all(|c| c.is_ascii_hexdigit());
                    units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| is_number)?);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => break,
            }
        } else {
            c
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String, String, u32)> {
        let entries = read(text).unwrap().entries.into_iter();
        let pair = |entry: Entry| {
            let Segment::Name(key) = &entry.path[0] else { panic!("no name") };
            (key.clone(), entry.value.expose().to_owned(), entry.at.to_string(), entry.document)
        };
        entries.map(pair).collect()
    }

    fn one(text: &str) -> (String, String) {
        let mut all = pairs(text);
        assert_eq!(all.len(), 1, "{text}");
        let (key, value, ..) = all.remove(0);
        (key, value)
    }

    #[test]
    fn lines_are_read_as_java_documents_them() {
        // The examples of the documentation of java.util.Properties.load.
        for line in ["Truth = Beauty", "  Truth:Beauty", "Truth                  :Beauty"] {
            assert_eq!(one(line), ("Truth".to_owned(), "Beauty".to_owned()));
        }
        let fruits =
            "fruits  apple, banana, pear, \\\n        cantaloupe, watermelon, \\\n kiwi, mango";
        let all = "apple, banana, pear, cantaloupe, watermelon, kiwi, mango";
        assert_eq!(one(fruits), ("fruits".to_owned(), all.to_owned()));
        assert_eq!(one("cheeses"), ("cheeses".to_owned(), String::new()));
        assert_eq!(one("a\\:b\\=c=\\u00e9\\td"), ("a:b=c".to_owned(), "é\td".to_owned()));
        assert_eq!(one("a=1 # no comment "), ("a".to_owned(), "1 # no comment ".to_owned()));
        assert!(read("a=\\u12").is_err());
    }

    #[test]
    fn documents_are_parted_as_spring_documents_it() {
        let text = "a=1\n#---\n  b=2\n# a comment\n#---\nc=3\n";
        let found: Vec<_> =
            pairs(text).into_iter().map(|(key, _, at, doc)| (key, at, doc)).collect();
        let row = |key: &str, at: &str, doc| (key.to_owned(), at.to_owned(), doc);
        assert_eq!(found, [row("a", "1:1", 0), row("b", "3:3", 1), row("c", "6:1", 1)]);
    }
}
