//! Keys and variables that the code of a project asks for: `process.env.PORT || "3000"`.
//!
//! The code is searched, and not run: [`patterns`] finds the names in the text of a file.

mod comments;
mod constants;
mod patterns;

pub(crate) use comments::without_comments;
pub(crate) use patterns::ANY;

use std::collections::BTreeMap;
use std::path::Path;

use constants::Constants;
use patterns::Fallback;

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
    let files: Vec<Code> = files.into_iter().filter_map(|name| Code::read(root, name)).collect();
    let texts: Vec<String> = files.iter().map(|file| file.text.clone()).collect();
    let constants = Constants::new(&texts);
    let has_option = |option: &String| texts.iter().any(|text| text.contains(option.as_str()));
    let start = match asks.start_option.as_ref().is_some_and(has_option) {
        true => "",
        false => asks.start.as_str(),
    };
    let sources = files.iter().enumerate();
    let found = sources.filter_map(|file| {
        let start = if asks.start_counts(&file.1.text) { start } else { "" };
        source((asks, start), &layer.name, file, &constants)
    });
    let loaded =
        |(held, verdicts, written)| Loaded { verdicts, written, ..Loaded::new(index, held) };
    let mut loaded: Vec<Loaded> = found.map(loaded).collect();
    let variables = texts.iter().flat_map(|text| patterns::variables(asks, text));
    let variables = variables.map(|name| (name, String::new()));
    if let Some(first) = loaded.first_mut() {
        first.asked.extend(variables);
    }
    loaded
}

/// A file of code.
struct Code {
    name: String,
    /// Its text without comments.
    text: String,
    sha256: String,
    bytes: u64,
    modified: Option<u64>,
}

impl Code {
    fn read(root: &Root, name: String) -> Option<Self> {
        let read = root.read(Path::new(&name));
        let bytes = read.bytes.filter(|bytes| bytes.len() <= MOST_BYTES)?;
        let text = without_comments(std::str::from_utf8(&bytes).ok()?);
        let (sha256, modified) = (hash(&bytes), read.modified);
        Some(Self { name, text, sha256, bytes: bytes.len() as u64, modified })
    }
}

/// The files of code below the root, those that are nearest first.
pub(crate) fn files(asks: &Asks, root: &Root) -> Vec<String> {
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

type Held = ((Source, Contents), BTreeMap<usize, (Outcome, String)>, BTreeMap<usize, String>);

/// What is said of a key without a default.
pub(crate) const NO_DEFAULT: &str = "the code asks for it here, and has no default";

/// What is said of a key without which the program does not start.
pub(crate) const REQUIRED: &str = "the code needs it here, and has no default";

/// What is said of a default that the code also takes for an empty text.
pub(crate) const FOR_EMPTY: &str = "the code takes it for an empty text, too";

/// A file that asks for variables; none if it asks for none.
fn source(
    (asks, start): (&Asks, &str),
    layer: &str,
    (index, file): (usize, &Code),
    constants: &Constants,
) -> Option<Held> {
    let (mut contents, mut verdicts, mut written) =
        (Contents::default(), BTreeMap::new(), BTreeMap::new());
    for asked in patterns::asked(asks, (index, &file.text), constants) {
        let why = match asked.default {
            Fallback::Literal(_) | Fallback::ForEmpty(_) => None,
            Fallback::None if asked.is_group() => Some("the code asks for the group here"),
            Fallback::None if asked.is_required => Some(REQUIRED),
            Fallback::None => Some(NO_DEFAULT),
            Fallback::Made => Some("the code asks for it here; without a value, code makes one"),
        };
        let verdict = match asked.name.starts_with(start) {
            true if matches!(asked.default, Fallback::ForEmpty(_)) => {
                Some((Outcome::Won, FOR_EMPTY.to_owned()))
            }
            true => why.map(|why| (Outcome::Requested, why.to_owned())),
            false => Some((
                Outcome::WrongPrefix,
                format!("code gets no value of a name that does not start with `{start}`"),
            )),
        };
        verdicts.extend(verdict.map(|verdict| (contents.entries.len(), verdict)));
        if asked.written() != asked.name {
            written.insert(contents.entries.len(), asked.written().to_owned());
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
        name: file.name.clone(),
        layer: layer.to_owned(),
        state: SourceState::Read,
        why: format!("asks for {}", listed(&names)),
        at: None,
        sha256: Some(file.sha256.clone()),
        bytes: file.bytes,
        modified: file.modified,
    };
    Some(((source, contents), verdicts, written))
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
