//! Files of variables as systemd reads them for `EnvironmentFile=` (`parse_env_file_internal` of `env-file.c`), and
//! the words of `Environment=` (`extract_first_word` with `EXTRACT_CUNESCAPE` and `EXTRACT_UNQUOTE`).
//!
//! A comment is a line of its own, that starts with `#` or `;`. No variable is replaced in a value.

use super::{Contents, Entry, Oddity, Segment};
use crate::position::Lines;
use crate::value::Raw;

/// What an [`Oddity`] says of a name with `export` before it, and of other names.
pub(crate) const NO_NAME: &str = "is no name of a variable: systemd leaves the line out";
/// Of a `#` behind a value.
pub(crate) const KEEPS_COMMENT: &str =
    "keeps the `#` and what follows: it is part of the value here";
/// Of a `$NAME` in a value.
pub(crate) const KEEPS_REFERENCE: &str =
    "keeps its `$`: systemd replaces no variable in such a file";

/// Whether systemd takes a name for that of a variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The state between two characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Name,
    BeforeValue,
    Value,
    Single,
    Double,
}

pub(super) fn read(text: &str) -> Contents {
    let text = &text.replace("\r\n", "\n");
    let lines = Lines::new(text);
    let mut contents = Contents::default();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()).map(|skip| at + skip) {
        if text[start..].starts_with(['#', ';']) {
            at = end_of_comment(text, start);
            continue;
        }
        let Some((name, value, is_quoted, end)) = assignment(&text[start..]) else {
            at = start + text[start..].find('\n').unwrap_or(text.len() - start);
            continue;
        };
        let position = lines.at(start);
        let mut odd = |what| {
            contents.oddities.push(Oddity { at: position, name: name.clone(), what });
        };
        if !is_variable_name(&name) {
            odd(NO_NAME);
        } else {
            if !is_quoted && value.contains(" #") {
                odd(KEEPS_COMMENT);
            }
            let entry = Entry::unplaced(vec![Segment::Name(name.clone())], Raw::new(value));
            let end_line = lines.line((start + end).saturating_sub(1)).max(position.line);
            contents.entries.push(Entry { at: position, end_line, ..entry });
        }
        at = start + end;
    }
    references(&mut contents);
    contents
}

/// Values that name another variable of the file.
fn references(contents: &mut Contents) {
    let names: Vec<String> = contents.entries.iter().map(name_of).collect();
    for entry in &contents.entries {
        let used = entry.value.expose().split('$').skip(1).map(|rest| {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            &rest[..end.unwrap_or(rest.len())]
        });
        if used.into_iter().any(|used| names.iter().any(|name| name == used)) {
            let (at, name) = (entry.at, name_of(entry));
            contents.oddities.push(Oddity { at, name, what: KEEPS_REFERENCE });
        }
    }
}

fn name_of(entry: &Entry) -> String {
    match entry.path.first() {
        Some(Segment::Name(name)) => name.clone(),
        _ => String::new(),
    }
}

/// The end of a comment, which a backslash at its end continues.
fn end_of_comment(text: &str, start: usize) -> usize {
    let mut escaped = false;
    for (at, c) in text[start..].char_indices() {
        match c {
            '\n' if !escaped => return start + at,
            c => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// A name, its value, whether it has quotes, and its length; none: the line has no `=`.
fn assignment(text: &str) -> Option<(String, String, bool, usize)> {
    let (mut state, mut name, mut value) = (State::Name, String::new(), String::new());
    // Blanks at the end of a value that no quote keeps.
    let (mut blanks, mut is_quoted) = (0, false);
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match (state, c) {
            (State::Name, '\n') => return None,
            (State::Name, '=') => state = State::BeforeValue,
            (State::Name, c) => name.push(c),
            (State::BeforeValue | State::Value, '\n') => {
                value.truncate(value.len() - blanks);
                return Some((name.trim_end().to_owned(), value, is_quoted, at + 1));
            }
            (State::BeforeValue, '\'') => (state, is_quoted) = (State::Single, true),
            (State::BeforeValue, '"') => (state, is_quoted) = (State::Double, true),
            (State::BeforeValue, c) if c.is_ascii_whitespace() => {}
            (State::BeforeValue | State::Value, '\\') => {
                (state, blanks) = (State::Value, 0);
                value.extend(characters.next().map(|(_, c)| c).filter(|c| *c != '\n'));
            }
            (State::BeforeValue | State::Value, c) => {
                state = State::Value;
                blanks = if c.is_ascii_whitespace() { blanks + 1 } else { 0 };
                value.push(c);
            }
            (State::Single, '\'') | (State::Double, '"') => state = State::BeforeValue,
            (State::Double, '\\') => match characters.next() {
                Some((_, c @ ('"' | '\\' | '`' | '$'))) => value.push(c),
                Some((_, '\n')) | None => {}
                Some((_, c)) => value.extend(['\\', c]),
            },
            (State::Single | State::Double, c) => value.push(c),
        }
    }
    if state == State::Name {
        return None;
    }
    value.truncate(value.len() - blanks);
    Some((name.trim_end().to_owned(), value, is_quoted, text.len()))
}

/// The words of a value of `Environment=`; none: it has an open quote or an unknown escape, and systemd leaves the
/// line out.
pub(crate) fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', _) => {
                let escaped = escaped(&mut characters)?;
                word.get_or_insert_default().push(escaped);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_ascii_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The character of an escape (`cunescape_one`).
fn escaped(characters: &mut std::str::Chars<'_>) -> Option<char> {
    let simple = match characters.next()? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        's' => ' ',
        c @ ('\\' | '"' | '\'') => c,
        'x' => {
            let digits: String = characters.by_ref().take(2).collect();
            let code = u32::from_str_radix(&digits, 16).ok().filter(|code| *code > 0)?;
            return char::from_u32(code);
        }
        _ => return None,
    };
    Some(simple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_what_other_readers_take_for_comments_and_references() {
        let text =
            "; c\nA=1 # x\nB='a b' \nexport C=1\nD=\"x\\$y\"z\nE=$A\nnothing\nF=a\\\nb\n\nG=";
        let contents = read(text);
        let pair = |entry: &Entry| {
            format!("{}:{}={}", entry.at.line, name_of(entry), entry.value.expose())
        };
        let pairs: Vec<String> = contents.entries.iter().map(pair).collect();
        assert_eq!(pairs, ["2:A=1 # x", "3:B=a b", "5:D=x$yz", "6:E=$A", "8:F=ab", "11:G="]);
        let odd: Vec<&str> = contents.oddities.iter().map(|one| one.what).collect();
        assert_eq!(odd, [KEEPS_COMMENT, NO_NAME, KEEPS_REFERENCE]);
    }

    #[test]
    fn words_are_parted_at_blanks_outside_of_quotes() {
        let parted = |text| words(text).map(|words| words.join("|"));
        assert_eq!(parted(r#""A=x y" B='z' C=1"#).as_deref(), Some("A=x y|B=z|C=1"));
        assert_eq!(parted(r"A=a\sb").as_deref(), Some("A=a b"));
        assert_eq!(parted("A=\"open"), None);
    }
}
