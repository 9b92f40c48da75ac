//! git's configuration files, and the variable in which git hands `-c KEY=VALUE` to its children.
//!
//! The rules are those of git's `config.c`: sections and names in lower case, subsections as written,
//! quotes within a value, comments behind it, lines that go on after a backslash, and names without a
//! value, which mean true.

use super::{Contents, Entry, Segment, Unreadable};
use crate::position::{Lines, Position, number};
use crate::provenance::Op;
use crate::value::Raw;

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Contents, Unreadable> {
    let text = text.replace("\r\n", "\n");
    let mut reader = Reader { text: &text, at: 0, lines: Lines::new(&text) };
    let mut contents = Contents::default();
    let mut section: Vec<Segment> = Vec::new();
    loop {
        reader.blanks();
        let Some(c) = reader.peek() else { return Ok(contents) };
        match c {
            '#' | ';' => reader.comment(),
            '[' => section = reader.section()?,
            c if c.is_ascii_alphabetic() => contents.entries.push(reader.assignment(&section)?),
            _ => return Err(reader.error("neither a section nor a name")),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    lines: Lines<'a>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn error(&self, reason: &str) -> Unreadable {
        Unreadable::syntax(self.lines.at(self.at), reason)
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(rest.len());
    }

    fn comment(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn word(&mut self, also_dots: bool) -> String {
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || also_dots && c == '.';
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_ascii_lowercase()
    }

    /// `[name]`, or `[name "subsection"]`.
    fn section(&mut self) -> Result<Vec<Segment>, Unreadable> {
        self.next();
        let mut path = vec![Segment::Name(self.word(true))];
        if self.peek().is_some_and(|c| c.is_ascii_whitespace() && c != '\n') {
            while self.peek().is_some_and(|c| c.is_ascii_whitespace() && c != '\n') {
                self.next();
            }
            path.push(Segment::Name(self.subsection()?));
        }
        match self.next() {
            Some(']') => Ok(path),
            _ => Err(self.error("a section without its closing bracket")),
        }
    }

    fn subsection(&mut self) -> Result<String, Unreadable> {
        if self.next() != Some('"') {
            return Err(self.error("a subsection without quotes"));
        }
        let mut name = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(name),
                Some('\\') => match self.next() {
                    Some(c) if c != '\n' => name.push(c),
                    _ => return Err(self.error("an open subsection")),
                },
                Some(c) if c != '\n' => name.push(c),
                _ => return Err(self.error("an open subsection")),
            }
        }
    }

    fn assignment(&mut self, section: &[Segment]) -> Result<Entry, Unreadable> {
        let at = self.lines.at(self.at);
        let name = self.word(false);
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.next();
        }
        let value = match self.peek() {
            None | Some('\n') => None,
            Some('=') => {
                self.next();
                Some(self.value()?)
            }
            Some(_) => return Err(self.error("a name without `=`")),
        };
        let path = section.iter().cloned().chain([Segment::Name(name)]).collect();
        let end_line = self.lines.line(self.at).max(at.line);
        Ok(entry(path, value.as_deref(), at, end_line))
    }

    fn value(&mut self) -> Result<String, Unreadable> {
        let (mut value, mut blanks, mut quoted) = (String::new(), String::new(), false);
        loop {
            let c = match self.peek() {
                None | Some('\n') if quoted => return Err(self.error("an open quote")),
                None | Some('\n') => return Ok(value),
                Some(c) => c,
            };
            if !quoted && matches!(c, '#' | ';') {
                self.comment();
                continue;
            }
            self.next();
            if !quoted && c.is_ascii_whitespace() {
                if !value.is_empty() {
                    blanks.push(c);
                }
                continue;
            }
            value.push_str(&std::mem::take(&mut blanks));
            match c {
                '"' => quoted = !quoted,
                '\\' => self.escape(&mut value)?,
                c => value.push(c),
            }
        }
    }

    fn escape(&mut self, value: &mut String) -> Result<(), Unreadable> {
        match self.next() {
            Some('\n') | None => {}
            Some('t') => value.push('\t'),
            Some('b') => value.push('\u{8}'),
            Some('n') => value.push('\n'),
            Some(c @ ('\\' | '"')) => value.push(c),
            Some(_) => return Err(self.error("an unknown escape")),
        }
        Ok(())
    }
}

fn entry(path: Vec<Segment>, value: Option<&str>, at: Position, end_line: u32) -> Entry {
    Entry {
        path,
        value: Raw::new(value.unwrap_or_default()),
        op: Op::Set,
        template: false,
        null: value.is_none(),
        retyped: None,
        at,
        end_line,
        document: 0,
    }
}

/// The path of a key that is written as one word: section and name in lower case.
pub(crate) fn key(text: &str) -> Vec<Segment> {
    let Some((section, rest)) = text.split_once('.') else {
        return vec![Segment::Name(text.to_ascii_lowercase())];
    };
    let (subsection, name) = match rest.rsplit_once('.') {
        Some((subsection, name)) => (Some(subsection), name),
        None => (None, rest),
    };
    let section = [section.to_ascii_lowercase()].into_iter();
    let names = section.chain(subsection.map(str::to_owned)).chain([name.to_ascii_lowercase()]);
    names.map(Segment::Name).collect()
}

/// `GIT_CONFIG_PARAMETERS`: `'key'='value'` or `'key=value'`, quoted as a shell does, with blanks
/// between.
pub(super) fn parameters(text: &str) -> Result<Contents, Unreadable> {
    let mut contents = Contents::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let column = number(text.chars().count() - rest.chars().count()) + 1;
        let at = Position { line: 1, column };
        let malformed = || Unreadable::syntax(at, "not quoted as git quotes it");
        let (first, after) = unquoted(rest).ok_or_else(malformed)?;
        let (name, value, after) = match after.strip_prefix('=') {
            Some(after) if after.starts_with('\'') => {
                let (value, after) = unquoted(after).ok_or_else(malformed)?;
                (first, Some(value), after)
            }
            Some(after) => (first, None, after),
            None => match first.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned()), after),
                None => (first, None, after),
            },
        };
        if !after.is_empty() && !after.starts_with(' ') {
            return Err(malformed());
        }
        contents.entries.push(entry(key(&name), value.as_deref(), at, 1));
        rest = after.trim_start();
    }
    Ok(contents)
}

/// A word in single quotes, in which `'\''` and `'\!'` stand for a quote and a `!`.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut word = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        word.push_str(part);
        let escaped = ["\\'", "\\!"].iter().find_map(|escape| after.strip_prefix(escape));
        let Some(next) = escaped.and_then(|next| next.strip_prefix('\'')) else {
            return Some((word, after));
        };
        word.extend(after.chars().nth(1));
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(contents: &Contents) -> Vec<(String, String)> {
        let key = |entry: &Entry| {
            let names = entry.path.iter().map(|segment| match segment {
                Segment::Name(name) => name.clone(),
                Segment::Index(at) => at.to_string(),
            });
            names.collect::<Vec<_>>().join(".")
        };
        contents.entries.iter().map(|one| (key(one), one.value.expose().to_owned())).collect()
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        let text =
            "[Core] bare\n\tX = a  b ; c\n[a \"B\\\"c\"]\nk = \" q\"#x\\\n  z = one\\\n two\n";
        let found = read(text).unwrap();
        let row = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            pairs(&found),
            [
                row("core.bare", ""),
                row("core.x", "a  b"),
                row("a.B\"c.k", " q"),
                row("a.B\"c.z", "one two")
            ]
        );
        assert!(found.entries[0].null && !found.entries[1].null);
        assert_eq!(found.entries[3].end_line, 6);
        for malformed in ["[a", "[a \"b]", "[a]\nk = \"x", "[a]\n1=2", "[a]\nk\\", "[a]\nk = \\q"] {
            assert!(read(malformed).is_err(), "{malformed}");
        }
    }

    #[test]
    fn parameters_are_unquoted() {
        let found = parameters("'a.b'='it'\\''s' 'Core.X=1' 'a.B.C'").unwrap();
        let row = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(pairs(&found), [row("a.b", "it's"), row("core.x", "1"), row("a.B.c", "")]);
        assert!(parameters("a=b").is_err());
    }
}
