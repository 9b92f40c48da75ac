//! Keys and variables that the code of a project asks for: `process.env.PORT || "3000"`.
//!
//! The code is searched, and not run: [`patterns`] finds the names in the text of a file.

mod patterns;

pub(crate) use patterns::ANY;

use std::path::Path;

use crate::profile::{Asks, Layer};
use crate::provenance::{Outcome, Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Segment};
use crate::sources::{Loaded, Root, hash};

/// Code of a project lies no deeper, in no more files, and in none that is larger: that is data, or made by a tool.
/// The packages of Java are the deepest: `src/main/java/com/example/shop/order/web`.
const MOST_DEPTH: usize = 12;
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
    let text = patterns::without_comments(std::str::from_utf8(&bytes).ok()?);
    let (mut contents, mut verdicts) = (Contents::default(), std::collections::BTreeMap::new());
    for asked in patterns::asked(asks, &text) {
        if asked.default.is_none() {
            let why = match asked.is_group() {
                true => "the code asks for the group here",
                false => "the code asks for it here, and has no default",
            };
            verdicts.insert(contents.entries.len(), (Outcome::Requested, why.to_owned()));
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
        at: None,
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
