//! Files of systemd: sections of `Key=Value`, by the rules of `systemd.syntax(7)`.
//!
//! A line that ends in a backslash goes on in the next, and comments between the two are left out. A
//! value ends with its line: `#` in it starts no comment.

use super::{Contents, Entry, Oddity, Segment, Unreadable};
use crate::position::{Position, number};
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str) -> Result<Contents, Unreadable> {
    let mut contents = Contents::default();
    let mut section: Option<String> = None;
    let mut lines = text.lines().enumerate();
    while let Some((line, full)) = lines.next() {
        let content = full.trim_start();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        let column = number(full.chars().count() - content.chars().count());
        let at = Position { line: number(line + 1), column: column + 1 };
        let (logical, end_line) = joined(content, at.line, &mut lines);
        if let Some(rest) = logical.strip_prefix('[') {
            let Some(name) = rest.trim_end().strip_suffix(']') else {
                return Err(Unreadable::syntax(at, "a section without its closing bracket"));
            };
            section = Some(name.to_owned());
            continue;
        }
        let Some((key, value)) = logical.split_once('=') else {
            let what = "is neither a section nor `Key=Value`, and is left out";
            contents.oddities.push(Oddity { at, name: String::new(), what });
            continue;
        };
        let Some(section) = &section else {
            let what = "stands before the first section, and is left out";
            contents.oddities.push(Oddity { at, name: key.trim().to_owned(), what });
            continue;
        };
        let path = [section.as_str(), key.trim()].map(|name| Segment::Name(name.to_owned()));
        contents.entries.push(Entry {
            path: path.to_vec(),
            value: Raw::new(value.trim()),
            op: Op::Set,
            template: false,
            null: false,
            retyped: None,
            at,
            end_line,
            document: 0,
        });
    }
    Ok(contents)
}

/// A line with those that it goes on in; a blank stands for each backslash.
fn joined<'a>(
    first: &str,
    line: u32,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> (String, u32) {
    let mut logical = first.trim_end().to_owned();
    let mut end_line = line;
    while logical.ends_with('\\') {
        let next = lines.by_ref().find(|(_, next)| !next.trim_start().starts_with(['#', ';']));
        logical.pop();
        let Some((at, next)) = next else { break };
        logical.push(' ');
        logical.push_str(next.trim());
        end_line = number(at + 1);
    }
    (logical, end_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_and_comments_between_are_left_out() {
        let text = "x=0\n[Service]\n# c\nExecStart = /bin/a \\\n; c\n  b # d\nnothing\n";
        let found = read(text).unwrap();
        assert_eq!(found.entries.len(), 1);
        let entry = &found.entries[0];
        assert_eq!((entry.value.expose(), entry.at.line, entry.end_line), ("/bin/a  b # d", 4, 6));
        assert_eq!(found.oddities.len(), 2);
        assert!(read("[Service\n").is_err());
    }
}
