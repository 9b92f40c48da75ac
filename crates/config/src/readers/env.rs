//! Files of variables: the dialects of `docker run --env-file`, of Docker Compose, and of `dotenv` of
//! npm. They look alike and differ in quotes, comments, escapes and blanks; each function follows the
//! code of its program.

use super::{
    CUT, Contents, Entry, KEEPS_QUOTES, LEFT_OUT, Oddity, QUOTE_IN_VALUE, Segment, Unreadable,
    is_quoted,
};
use crate::position::{Lines, Position, number};
use crate::provenance::Op;
use crate::value::Raw;

fn entry(name: &str, value: &str, at: Position, end_line: u32) -> Entry {
    Entry {
        path: vec![Segment::Name(name.to_owned())],
        value: Raw::new(value),
        op: Op::Set,
        template: false,
        null: false,
        retyped: None,
        at,
        end_line,
        document: 0,
    }
}

/// `docker/cli`, `pkg/kvfile`: a line is `NAME=value` to its end, quotes and blanks included; `NAME`
/// takes the value that the caller has.
pub(super) fn docker(text: &str) -> Result<Contents, Unreadable> {
    let mut contents = Contents::default();
    for (line, full) in text.split('\n').enumerate() {
        let full = full.strip_suffix('\r').unwrap_or(full);
        let content = full.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let column = number(full.chars().count() - content.chars().count());
        let at = Position { line: number(line + 1), column: column + 1 };
        let (name, value) = match content.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (content, None),
        };
        if name.is_empty() {
            return Err(Unreadable::syntax(at, "no variable name"));
        }
        if name.contains(char::is_whitespace) {
            return Err(Unreadable::syntax(at, "a variable name with a blank"));
        }
        let Some(value) = value else {
            contents.entries.push(Entry { op: Op::Inherit, ..entry(name, "", at, at.line) });
            continue;
        };
        contents.oddities.extend(odd_value(name, value, at));
        contents.entries.push(entry(name, value, at, at.line));
    }
    Ok(contents)
}

/// What a value holds that other dialects would remove.
fn odd_value(name: &str, value: &str, at: Position) -> Option<Oddity> {
    let what = if is_quoted(value) {
        KEEPS_QUOTES
    } else if value.contains('\0') {
        "holds a NUL byte, which no variable can"
    } else if value.trim() != value {
        "starts or ends with a blank, which is part of the value here"
    } else {
        return None;
    };
    Some(Oddity { at, name: name.to_owned(), what })
}

/// The dialect of Compose since version 2 (`compose-go`, package `dotenv`). Values that are not within
/// single quotes are templates: their `${...}` is for the caller to replace.
pub(super) fn compose(text: &str) -> Result<Contents, Unreadable> {
    let lines = Lines::new(text);
    let mut contents = Contents::default();
    let mut at = 0;
    while let Some(start) = statement(text, at) {
        let (name, key_at, op, value_at) = compose_key(text, start, &lines)?;
        if op == Op::Inherit {
            if !name.is_empty() {
                let position = lines.at(key_at);
                contents.entries.push(Entry { op, ..entry(name, "", position, position.line) });
            }
            at = value_at;
            continue;
        }
        let (value, template, end) = compose_value(text, value_at, &lines)?;
        let position = lines.at(key_at);
        if name.is_empty() {
            // compose-go takes it for the value of a variable without a name.
            let what = "ends in a name without a line break, which is not read";
            contents.oddities.push(Oddity { at: position, name: String::new(), what });
            at = end;
            continue;
        }
        if value.contains('\0') {
            let what = "holds a NUL byte, which no variable can";
            contents.oddities.push(Oddity { at: position, name: name.to_owned(), what });
        }
        let entry = entry(name, &value, position, lines.line(end.saturating_sub(1).max(key_at)));
        contents.entries.push(Entry { template, ..entry });
        at = end;
    }
    Ok(contents)
}

/// The next character that is neither white space nor part of a comment.
fn statement(text: &str, mut at: usize) -> Option<usize> {
    loop {
        at += text[at..].find(|c: char| !c.is_whitespace())?;
        if !text[at..].starts_with('#') {
            return Some(at);
        }
        at += text[at..].find('\n')?;
    }
}

/// White space within a line, as Go's package has it.
fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{85}' | '\u{a0}')
}

/// A name, where it stands, whether it has a value, and where what follows starts.
fn compose_key<'a>(
    text: &'a str,
    start: usize,
    lines: &Lines<'_>,
) -> Result<(&'a str, usize, Op, usize), Unreadable> {
    let skip = |at: usize| at + text[at..].find(|c| !is_blank(c)).unwrap_or(text.len() - at);
    let mut key_at = start;
    let exported = text[start..].strip_prefix("export");
    if exported.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_whitespace())) {
        key_at = skip(start + "export".len());
    }
    for (offset, c) in text[key_at..].char_indices() {
        let end = key_at + offset;
        match c {
            '=' | ':' | '\n' => {
                let name = text[key_at..end].trim_end();
                if name.contains(' ') {
                    return Err(Unreadable::syntax(
                        lines.at(key_at),
                        "a variable name with a blank",
                    ));
                }
                let op = if c == '\n' { Op::Inherit } else { Op::Set };
                return Ok((name, key_at, op, skip(end + 1)));
            }
            '_' | '.' | '-' | '[' | ']' => {}
            c if is_blank(c) || c.is_alphanumeric() => {}
            _ => {
                let what = "a character that no variable name may have";
                return Err(Unreadable::syntax(lines.at(end), what));
            }
        }
    }
    // A name at the end of the text, without a line break: compose-go returns an empty key, and then
    // reads the name again as the value of that key.
    Ok(("", key_at, Op::Set, key_at))
}

/// A value, whether it is a template, and where it ends.
fn compose_value(
    text: &str,
    start: usize,
    lines: &Lines<'_>,
) -> Result<(String, bool, usize), Unreadable> {
    let rest = &text[start..];
    let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let end = rest.find('\n').map_or(text.len(), |at| start + at);
        let value = &text[start..end];
        let value = value.split(" #").next().unwrap_or_default().trim_end();
        return Ok((value.to_owned(), true, (end + 1).min(text.len())));
    };
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !escaped {
            let end = start + at + 1;
            let double = quote == '"';
            return Ok((if double { expand_escapes(&value) } else { value }, double, end));
        }
        if c == '\\' && !escaped {
            escaped = true;
            continue;
        }
        if escaped && c != quote {
            value.push('\\');
        }
        escaped = false;
        value.push(c);
    }
    Err(Unreadable::syntax(lines.at(start), "a quoted value without its closing quote"))
}

/// `\n`, `\t`, `\0123` and so on; `\$` becomes `$$`, which a template reads as `$`.
fn expand_escapes(text: &str) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (replaced, length) = match after.chars().next() {
            Some('a') => ("\u{7}".to_owned(), 1),
            Some('b') => ("\u{8}".to_owned(), 1),
            Some('f') => ("\u{c}".to_owned(), 1),
            Some('n') => ("\n".to_owned(), 1),
            Some('r') => ("\r".to_owned(), 1),
            Some('t') => ("\t".to_owned(), 1),
            Some('v') => ("\u{b}".to_owned(), 1),
            Some('$') => ("$$".to_owned(), 1),
            Some('"') => ("\"".to_owned(), 1),
            Some('\\') => ("\\".to_owned(), 1),
            Some('0') => octal(after),
            // What is no escape stays, its backslash too; `\c` is matched and then not understood.
            _ => ("\\".to_owned(), 0),
        };
        expanded.push_str(&replaced);
        rest = &after[length..];
    }
    expanded.push_str(rest);
    expanded
}

/// `\0` and three octal digits; what is fewer, or no character, stays.
fn octal(after: &str) -> (String, usize) {
    let digits: String = after[1..].chars().take_while(char::is_ascii_digit).take(3).collect();
    let length = 1 + digits.len();
    let number = u32::from_str_radix(&digits, 8).ok().filter(|number| *number < 256);
    match number.filter(|_| digits.len() == 3).and_then(char::from_u32) {
        Some(c) => (c.to_string(), length),
        // The zero is gone in any case: that is what compose-go does.
        None => (format!("\\{digits}"), length),
    }
}

/// A line that looks like an assignment, and is none.
fn left_out(line: &str, at: Position) -> Option<Oddity> {
    let is_comment = line.trim_start().starts_with('#');
    let (name, _) = line.split_once('=').filter(|_| !is_comment)?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || "_.- \t".contains(c));
    (is_name && !name.trim().is_empty()).then(|| Oddity { at, name: String::new(), what: LEFT_OUT })
}

/// The dialect of npm's `dotenv`, by its regular expression:
/// `^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)(QUOTED|[^#\r\n]+)?\s*(?:#.*)?$` on each line.
/// Lines that do not match are passed over in silence.
pub(super) fn dotenv(text: &str) -> Contents {
    // The package itself does so before it looks for lines.
    let text = &text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = Lines::new(text);
    let mut contents = Contents::default();
    let mut at = 0;
    while at < text.len() {
        let end_of_line = text[at..].find(['\n', '\r']).map_or(text.len(), |length| at + length);
        let Some((name, key_at, value_at)) = dotenv_key(text, at) else {
            contents.oddities.extend(left_out(&text[at..end_of_line], lines.at(at)));
            at = end_of_line + 1;
            continue;
        };
        let (value, end) = dotenv_value(text, value_at);
        let position = lines.at(key_at);
        // A blank before `#` shows that a comment is meant.
        let is_cut = text[end..].starts_with('#') && text[..end].ends_with(|c| !is_js_space(c));
        let is_plain = !text[..end].ends_with(['"', '\'', '`', '=']);
        let mut one = entry(name, &value, position, lines.line(end.max(key_at)));
        if is_cut && is_plain {
            contents.oddities.push(Oddity { at: position, name: name.to_owned(), what: CUT });
            let line_end = text[end..].find('\n').map_or(text.len(), |length| end + length);
            one.value = Raw::cut(value.clone(), text[value_at..line_end].trim());
        }
        let quote = |c: &char| matches!(c, '"' | '\'' | '`');
        let first = text[skip(text, value_at, is_js_space)..].chars().next().filter(quote);
        if first.is_some_and(|quote| value.starts_with(quote) && !value[1..].ends_with(quote)) {
            let what = QUOTE_IN_VALUE;
            contents.oddities.push(Oddity { at: position, name: name.to_owned(), what });
        }
        contents.entries.push(one);
        // The rest of the line is a comment, or nothing.
        at = text[end..].find(['\n', '\r']).map_or(text.len(), |length| end + length + 1);
    }
    contents
}

/// JavaScript's `\s`.
fn is_js_space(c: char) -> bool {
    c.is_whitespace() && c != '\u{85}' || c == '\u{feff}'
}

fn skip(text: &str, at: usize, skipped: fn(char) -> bool) -> usize {
    at + text[at..].find(|c| !skipped(c)).unwrap_or(text.len() - at)
}

/// A name, where it stands, and where what follows `=` or `: ` starts.
fn dotenv_key(text: &str, at: usize) -> Option<(&str, usize, usize)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let named = |key_at: usize| {
        let end = key_at + text[key_at..].find(|c| !is_name(c)).unwrap_or(text.len() - key_at);
        let (name, spaced) = (&text[key_at..end], skip(text, end, is_js_space));
        if name.is_empty() {
            None
        } else if text[spaced..].starts_with('=') {
            Some((name, key_at, spaced + 1))
        } else {
            let rest = text[end..].strip_prefix(':')?;
            let blank = rest.chars().next().filter(|c| is_js_space(*c))?;
            Some((name, key_at, end + 1 + blank.len_utf8()))
        }
    };
    let start = skip(text, at, is_js_space);
    let exported =
        text[start..].strip_prefix("export").filter(|rest| rest.starts_with(is_js_space));
    exported
        .and_then(|_| named(skip(text, start + "export".len(), is_js_space)))
        .or_else(|| named(start))
}

/// A value, and where it ends.
fn dotenv_value(text: &str, start: usize) -> (String, usize) {
    let quoted = skip(text, start, is_js_space);
    let quote = text[quoted..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    if let Some(end) = quote.and_then(|quote| closing_quote(text, quoted, quote)) {
        let value = &text[quoted + 1..end];
        let value = if quote == Some('"') { expand_line_breaks(value) } else { value.to_owned() };
        return (value, end + 1);
    }
    let end = text[start..].find(['#', '\r', '\n']).map_or(text.len(), |length| start + length);
    let value = text[start..end].trim_matches(is_js_space);
    let first = value.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let inner = first.and_then(|quote| value[1..].strip_suffix(quote));
    let unquoted = inner.unwrap_or(value);
    let value = if first == Some('"') { expand_line_breaks(unquoted) } else { unquoted.to_owned() };
    (value, end)
}

/// The quote that ends a value: the last one, up to the first without a backslash before it, after
/// which the line has nothing but a comment.
fn closing_quote(text: &str, open: usize, quote: char) -> Option<usize> {
    let mut found = None;
    for (offset, _) in text[open + 1..].match_indices(quote) {
        let at = open + 1 + offset;
        let after = skip(text, at + 1, |c| is_js_space(c) && !matches!(c, '\n' | '\r'));
        if text[after..].is_empty() || text[after..].starts_with(['\n', '\r', '#']) {
            found = Some(at);
        }
        if !text[..at].ends_with('\\') {
            break;
        }
    }
    found
}

fn expand_line_breaks(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\r", "\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(contents: &Contents) -> Vec<String> {
        let pair = |entry: &Entry| {
            let Segment::Name(name) = &entry.path[0] else { panic!("no name") };
            format!("{} {name}={}", entry.at, entry.value.expose())
        };
        contents.entries.iter().map(pair).collect()
    }

    #[test]
    fn docker_keeps_quotes_and_comments_in_values() {
        let contents = docker("# a comment\n  A=\"1\" # x\r\nB\nC='2'\n").unwrap();
        assert_eq!(pairs(&contents), ["2:3 A=\"1\" # x", "3:1 B=", "4:1 C='2'"]);
        assert_eq!(contents.entries[1].op, Op::Inherit);
        assert_eq!(contents.oddities.len(), 1, "{:?}", contents.oddities);
        assert!(docker("A B=1").is_err() && docker("=1").is_err());
    }

    #[test]
    fn compose_removes_quotes_and_comments() {
        let text = "export A=1 # x\nB=\"a\\n$C\"\nD='$C'\nE: yes\nF\nG=\"two\nlines\"\n";
        let contents = compose(text).unwrap();
        let expected =
            ["1:8 A=1", "2:1 B=a\n$C", "3:1 D=$C", "4:1 E=yes", "5:1 F=", "6:1 G=two\nlines"];
        assert_eq!(pairs(&contents), expected);
        let templates: Vec<bool> = contents.entries.iter().map(|entry| entry.template).collect();
        assert_eq!(templates, [true, true, false, true, false, true]);
        assert_eq!(contents.entries[5].end_line, 7);
        let error = compose("A=1\nB=\"open\n").unwrap_err().to_string();
        assert_eq!(error, "line 2, column 3: a quoted value without its closing quote");
    }

    #[test]
    fn a_quote_that_ends_nowhere_is_a_part_of_the_value() {
        let contents = dotenv("A=\"60\nB=\"hello\" world\nC=\"x\"\nD='two\nlines'\nE=it's\n");
        let rows =
            ["1:1 A=\"60", "2:1 B=\"hello\" world", "3:1 C=x", "4:1 D=two\nlines", "6:1 E=it's"];
        assert_eq!(pairs(&contents), rows);
        let odd: Vec<&str> = contents.oddities.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(odd, ["A", "B"]);
    }

    #[test]
    fn dotenv_passes_over_what_is_no_assignment() {
        let text = "A=1#x\nno assignment\nB='it's'\nC=\"a\\nb\"\n  D : x\nE: y\nF=\n";
        assert_eq!(
            pairs(&dotenv(text)),
            ["1:1 A=1", "3:1 B=it's", "4:1 C=a\nb", "6:1 E=y", "7:1 F="]
        );
    }
}
