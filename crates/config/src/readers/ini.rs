//! INI: sections of `key = value` or `key: value`; `;` and `#` start comments at a line's start.
//!
//! No parser of INI that keeps positions is kept up, and the format has no standard: this is what the
//! dialects of git, systemd, Python and PHP have in common. Values stay as written, quotes too.

use super::{Contents, Entry, Oddity, Segment, Unreadable};
use crate::position::{Position, number};
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str) -> Result<Contents, Unreadable> {
    let mut contents = Contents::default();
    let mut section = None;
    for (line, full) in text.lines().enumerate() {
        let content = full.trim();
        let column = number(full.chars().take_while(|c| c.is_whitespace()).count());
        let at = Position { line: number(line + 1), column: column + 1 };
        if content.is_empty() || content.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let Some((name, _)) = rest.split_once(']') else {
                return Err(Unreadable::syntax(at, "a section without its closing bracket"));
            };
            section = Some(name.trim().to_owned());
            continue;
        }
        let (key, value) = match content.split_once(['=', ':']) {
            Some((key, value)) => (key.trim(), value.trim()),
            None => (content, ""),
        };
        if key.is_empty() {
            contents.oddities.push(Oddity {
                at,
                name: String::new(),
                what: "has a value without a name",
            });
            continue;
        }
        let path = section.iter().cloned().chain([key.to_owned()]).map(Segment::Name).collect();
        contents.entries.push(Entry {
            path,
            value: Raw::new(value),
            op: Op::Set,
            template: false,
            null: false,
            retyped: None,
            at,
            end_line: at.line,
            document: 0,
        });
    }
    Ok(contents)
}
