//! Variables that the code of a project asks for: `process.env.PORT || "3000"`.
//!
//! The code is searched, and not run. A name that stands behind one of the profile's words is asked for; a literal
//! behind `||` is its default. Names that code makes are not found.

use std::path::Path;

use crate::position::Lines;
use crate::profile::{Asks, Layer};
use crate::provenance::{Op, Outcome, Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Segment};
use crate::sources::{Loaded, Root, hash};
use crate::value::Raw;

/// Code of a project lies no deeper, in no more files, and in none that is larger: that is data, or made by a tool.
const MOST_DEPTH: usize = 6;
const MOST_FILES: usize = 2_000;
const MOST_BYTES: usize = 512 << 10;

/// The files of code that ask for variables, as sources of a layer. Only folders of this machine are searched: those of
/// images and processes are read by the name of each file.
pub(crate) fn sources(asks: &Asks, (index, layer): (usize, &Layer), root: &Root) -> Vec<Loaded> {
    let files = if root.is_of_this_machine() { files(asks, root) } else { Vec::new() };
    let found = files.into_iter().filter_map(|file| source(asks, &layer.name, root, file));
    found.map(|(held, verdicts)| Loaded { verdicts, ..Loaded::new(index, held) }).collect()
}

/// The files of code below the root, those that are nearest first.
fn files(asks: &Asks, root: &Root) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![(String::new(), 0)]);
    let mut at = 0;
    while let Some((folder, depth)) = open.get(at).cloned() {
        at += 1;
        let (files, folders) = root.entries(&folder);
        let is_code = |file: &String| {
            let name = file.rsplit('/').next().unwrap_or_default();
            match name.rsplit_once('.') {
                Some((_, end)) => asks.ends.iter().any(|own| own == end),
                // Programs without an end: `bin/www`.
                None => folder == "bin",
            }
        };
        found.extend(files.into_iter().filter(is_code));
        if found.len() >= MOST_FILES {
            break;
        }
        let is_own = |folder: &String| {
            let name = folder.rsplit('/').next().unwrap_or_default();
            !name.starts_with('.') && !asks.skip.iter().any(|skip| skip == name)
        };
        if depth < MOST_DEPTH {
            open.extend(folders.into_iter().filter(is_own).map(|folder| (folder, depth + 1)));
        }
    }
    found.truncate(MOST_FILES);
    found
}

type Held = ((Source, Contents), std::collections::BTreeMap<usize, (Outcome, String)>);

/// A file that asks for variables; none if it asks for none.
fn source(asks: &Asks, layer: &str, root: &Root, name: String) -> Option<Held> {
    let read = root.read(Path::new(&name));
    let bytes = read.bytes.filter(|bytes| bytes.len() <= MOST_BYTES)?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let (mut contents, mut verdicts) = (Contents::default(), std::collections::BTreeMap::new());
    for asked in asked(asks, text) {
        if asked.default.is_none() {
            let why = "the code asks for it here, and has no default".to_owned();
            verdicts.insert(contents.entries.len(), (Outcome::NeverApplied, why));
        }
        contents.entries.push(asked.entry());
    }
    let mut names: Vec<&str> = contents.entries.iter().filter_map(name_of).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    let source = Source {
        kind: SourceKind::CodeDefault,
        name,
        layer: layer.to_owned(),
        state: SourceState::Read,
        why: format!("asks for {}", listed(&names)),
        sha256: Some(hash(&bytes)),
        bytes: bytes.len() as u64,
        modified: read.modified,
    };
    Some(((source, contents), verdicts))
}

fn name_of(entry: &Entry) -> Option<&str> {
    match entry.path.first() {
        Some(Segment::Name(name)) => Some(name),
        _ => None,
    }
}

/// The first names, and how many more there are.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 5;
    let shown = names.iter().take(MOST).map(|name| format!("`{}`", crate::secret::name(name)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A variable that code asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    name: &'a str,
    default: Option<&'a str>,
    at: crate::Position,
}

impl Asked<'_> {
    fn entry(&self) -> Entry {
        let path = vec![Segment::Name(self.name.to_owned())];
        let entry = Entry::unplaced(path, Raw::new(self.default.unwrap_or_default()));
        let op = if self.default.is_some() { Op::Set } else { Op::Inherit };
        Entry { op, at: self.at, end_line: self.at.line, null: self.default.is_none(), ..entry }
    }
}

/// What a text of code asks for, in its order: of a name that is asked for several times the first place, and the
/// first one with a default.
fn asked<'a>(asks: &Asks, text: &'a str) -> Vec<Asked<'a>> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for word in &asks.words {
        places.extend(text.match_indices(word.as_str()).map(|(at, _)| (at, at + word.len())));
    }
    places.sort_unstable();
    let lines = Lines::new(text);
    let mut found: Vec<Asked<'a>> = Vec::new();
    for (at, start) in places {
        let rest = &text[start..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        let is_name =
            name.starts_with(|c: char| !c.is_ascii_digit()) && name.starts_with(&asks.start);
        if !is_name || asks.except.iter().any(|other| other == name) || in_comment(text, at) {
            continue;
        }
        let default = default(asks, rest[end..].trim_start_matches(['\'', '"', '`', ']']));
        match found.iter_mut().find(|one| one.name == name) {
            Some(known) if known.default.is_none() && default.is_some() => {
                (known.default, known.at) = (default, lines.at(at));
            }
            Some(_) => {}
            None => found.push(Asked { name, default, at: lines.at(at) }),
        }
    }
    found
}

/// Whether a line is a comment up to a place.
fn in_comment(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default().trim_start();
    line.starts_with("//") || line.starts_with('*') || line.starts_with("/*")
}

/// The literal that stands behind a name as its default.
fn default<'a>(asks: &Asks, rest: &'a str) -> Option<&'a str> {
    let rest = rest.trim_start();
    let rest = asks.defaults.iter().find_map(|word| rest.strip_prefix(word.as_str()))?.trim_start();
    let quote = rest.chars().next()?;
    if matches!(quote, '\'' | '"' | '`') {
        let end = rest[1..].find(quote)?;
        let text = &rest[1..=end];
        return (!text.contains(['\\', '$', '\n'])).then_some(text);
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
    let word = &rest[..end];
    let is_literal =
        word.starts_with(|c: char| c.is_ascii_digit()) || matches!(word, "true" | "false");
    let is_whole = !rest[end..].trim_start().starts_with(['*', '+', '-', '/', '(', '[']);
    (is_literal && is_whole).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Asks {
        let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        Asks {
            ends: words(&["js"]),
            skip: words(&["node_modules"]),
            words: words(&["process.env.", "process.env[\"", "process.env['"]),
            defaults: words(&["||", "??"]),
            start: String::new(),
            except: words(&["npm_config"]),
        }
    }

    #[test]
    fn names_and_their_literal_defaults_are_found() {
        let text = "const port = normalizePort(process.env.PORT || '3000');\n\
                    // process.env.OLD\n\
                    const a = process.env[\"A_B\"] ?? 12, b = process.env.B || make();\n\
                    if (process.env.C) run(process.env.C ?? 'x'); x(process.env.D || 60 * 1000);\n";
        let found = asked(&node(), text);
        let rows: Vec<(&str, Option<&str>, u32)> =
            found.iter().map(|one| (one.name, one.default, one.at.line)).collect();
        assert_eq!(
            rows,
            [
                ("PORT", Some("3000"), 1),
                ("A_B", Some("12"), 3),
                ("B", None, 3),
                ("C", Some("x"), 4),
                ("D", None, 4)
            ]
        );
    }

    #[test]
    fn names_that_are_made_are_no_names() {
        assert!(
            asked(&node(), "process.env[name]; process.env.1; process.env.npm_config").is_empty()
        );
    }
}
