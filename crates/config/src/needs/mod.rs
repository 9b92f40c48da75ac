//! Whether a project uses what reads a file of variables, and the files that programs do not read.
//!
//! Node.js itself reads no `.env`. A package does, or the program calls for it, or a script starts `node` with
//! an option. So a file counts only if one of these names it; else it is shown as not read.
//!
//! ```text
//! calls     require("dotenv").config({ path: "x" })   of the code
//! scripts   node --env-file=x                         of the package file: stronger, they come first
//! ```

mod calls;
mod scripts;

use std::collections::BTreeMap;
use std::path::Path;

use calls::Calls;
use scripts::Scripts;

use crate::profile::{Asks, Fills, Ignored, Needs, Profile};
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Segment, read};
use crate::sources::{Collected, Loaded, NO_LAYER, Part, Request, Root, load_file};
use crate::value::Raw;

/// A file of variables that the project reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileUse {
    /// The file, below the root.
    pub(crate) file: String,
    /// Whether its variables beat those of the environment.
    pub(crate) beats: bool,
    /// Whether the program does not start without it.
    pub(crate) is_required: bool,
    /// What reads it, in words; empty: what everybody expects.
    pub(crate) by: String,
    /// Why the program may read it in another way; empty: it does not.
    pub(crate) doubt: String,
}

impl FileUse {
    fn new(file: &str) -> Self {
        let (by, doubt) = (String::new(), String::new());
        Self { file: file.to_owned(), beats: false, is_required: false, by, doubt }
    }
}

/// The files of variables that a project reads.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// The files, the weakest first.
    pub(crate) files: Vec<FileUse>,
    /// Calls whose file is not known: where, and whether it beats the environment.
    pub(crate) unknown: Vec<(String, bool)>,
    /// Why the expected file is not read, if it is none of the files.
    pub(crate) why_not: String,
}

impl Uses {
    /// What a project reads. `default` is the file that a call without a path takes.
    pub(crate) fn new(
        needs: &Needs,
        default: &str,
        asks: Option<&Asks>,
        root: &Root,
        request: &Request,
    ) -> Self {
        let package = package(needs, root);
        let scripts = Scripts::new(needs, default, &package, request);
        let calls = Calls::new(needs, default, asks, (root, Some(request)));
        let mut uses = Self { why_not: needs.why.clone(), ..Self::default() };
        if calls.is_empty() {
            uses.by_packages(needs, default, &package, calls.has_code);
        }
        if let Some(first) = calls.unknown.first() {
            uses.why_not = format!("{} makes the path of the file that it reads", first.0);
        } else if let Some(first) = calls.files.first() {
            uses.why_not = format!("{} reads `{}`", first.by, first.file);
        }
        uses.unknown = calls.unknown;
        uses.files.extend(calls.files);
        if let Some(first) = scripts.files.first().filter(|_| uses.files.is_empty()) {
            uses.why_not = format!(
                "{} reads `{}`, and no code that was read loads this file",
                first.by, first.file
            );
        }
        for file in scripts.files {
            // The variables of a script are set when the code starts.
            uses.files.retain(|other| other.file != file.file || other.beats);
            uses.files.push(file);
        }
        uses
    }

    /// What packages say where no code calls for a file.
    fn by_packages(&mut self, needs: &Needs, default: &str, package: &[Entry], has_code: bool) {
        let has = |words: &[String]| {
            let names = package.iter().filter_map(|entry| match entry.path.as_slice() {
                [Segment::Name(group), Segment::Name(name), ..] if needs.groups.contains(group) => {
                    Some(name)
                }
                _ => None,
            });
            names
                .into_iter()
                .find(|name| words.iter().any(|word| name.contains(word.as_str())))
                .cloned()
        };
        let use_of = |doubt: String| FileUse { doubt, ..FileUse::new(default) };
        if let Some(name) = has(&needs.packages) {
            self.files.push(use_of(format!("`{name}` may read it in its own way")));
        } else if let Some(name) = has(&needs.installed) {
            if has_code {
                self.why_not = format!("`{name}` is installed, and {}", needs.not_called);
            } else {
                self.files.push(use_of(format!("no code was found that loads `{name}`")));
            }
        }
    }
}

/// The entries of the package file.
fn package(needs: &Needs, root: &Root) -> Vec<Entry> {
    let bytes = root.read(Path::new(&needs.file)).bytes.unwrap_or_default();
    read(Format::Json, &bytes).map(|found| found.entries).unwrap_or_default()
}

/// Whether a project names what a layer needs, read or not.
pub(crate) fn is_named(needs: &Needs, root: &Root) -> bool {
    let words: Vec<&String> = needs
        .packages
        .iter()
        .chain(&needs.installed)
        .chain(&needs.command_words)
        .chain(&needs.file_options)
        .collect();
    let has = |text: &str| words.iter().any(|word| text.contains(word.trim()));
    let named = package(needs, root).iter().any(|entry| match entry.path.as_slice() {
        [Segment::Name(group), Segment::Name(name), ..] => {
            needs.groups.contains(group) && has(name)
                || *group == needs.commands && has(entry.value.expose())
        }
        _ => false,
    });
    named || !Calls::new(needs, "", None, (root, None)).is_empty()
}

/// The files of variables that a program reads before it reads its configuration.
pub(crate) struct Filled {
    pub(crate) sources: Vec<Loaded>,
    /// The variables that the environment does not have, each with its place.
    pub(crate) variables: Vec<(String, Raw, String)>,
}

impl Filled {
    /// The places of its variables.
    pub(crate) fn places(&self) -> BTreeMap<String, String> {
        let variables = self.variables.iter();
        variables.map(|(name, _, place)| (name.clone(), place.clone())).collect()
    }
}

/// Reads those files; none if the project uses none.
pub(crate) fn filled(
    fills: &Fills,
    (root, layer): (&Root, usize),
    request: &Request,
) -> Option<Filled> {
    let uses = Uses::new(&fills.needs, &fills.file, None, root, request);
    let mut filled = Filled { sources: Vec::new(), variables: Vec::new() };
    let mut variables: BTreeMap<String, (Raw, String)> = BTreeMap::new();
    for file in &uses.files {
        if root.matching(&file.file).is_empty() {
            continue;
        }
        let (path, kind) = (Path::new(&file.file), SourceKind::Dotenv);
        let (mut source, contents) = load_file(root, path, Some(fills.format), kind, &fills.file);
        for entry in &contents.entries {
            let [Segment::Name(name)] = entry.path.as_slice() else { continue };
            let place = format!("{}:{}", source.name, entry.at.line);
            if file.beats || request.variable(name).is_none() {
                variables.insert(name.clone(), (entry.value.clone(), place));
            }
        }
        source.why.push_str(&file.doubt);
        let is_doubtful = !file.doubt.is_empty();
        let held = (source, Contents::default());
        filled.sources.push(Loaded { is_doubtful, ..Loaded::new(layer, held) });
    }
    filled.sources.extend(uses.unknown.iter().map(|(place, _)| unknown(layer, place)));
    filled
        .variables
        .extend(variables.into_iter().map(|(name, (value, place))| (name, value, place)));
    (!filled.sources.is_empty()).then_some(filled)
}

/// A call whose file is not known, as a source that could not be read.
pub(crate) fn unknown(layer: usize, place: &str) -> Loaded {
    let source = Source {
        kind: SourceKind::Dotenv,
        name: place.to_owned(),
        layer: "a file of variables".to_owned(),
        state: SourceState::Unsupported,
        why: "code makes the path of the file, and Culprit does not run it".to_owned(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    };
    Loaded::new(layer, (source, Contents::default()))
}

/// Adds the files that look as if the program read them, and that it does not.
pub(crate) fn add_ignored(profile: &Profile, request: &Request, to: &mut Collected) {
    let root = Root::from_request(request);
    for (source, contents) in ignored(&profile.ignored, &root) {
        if to.loaded.iter().any(|one| one.source.name == source.name) {
            continue;
        }
        let entries = 0..contents.entries.len();
        to.parts.push(Part { loaded: to.loaded.len(), entries });
        to.loaded.push(Loaded::new(NO_LAYER, (source, contents)));
    }
}

/// What is said of a file that a part of the program may read.
const MAY_BE_READ: &str = "the project has what reads it, and Culprit does not follow it";

/// Whether the project has what reads such files.
fn may_be_read(rule: &Ignored, root: &Root) -> bool {
    let files = rule.unless_files.iter().flat_map(|pattern| root.matching(pattern));
    let bytes = files.filter_map(|file| root.read(Path::new(&file)).bytes);
    bytes.into_iter().any(|bytes| String::from_utf8_lossy(&bytes).contains(&rule.unless_text))
}

/// The files that programs do not read.
pub(crate) fn ignored(rules: &[Ignored], root: &Root) -> Vec<(Source, Contents)> {
    let mut found: Vec<(Source, Contents)> = Vec::new();
    for rule in rules {
        for name in rule.files.iter().flat_map(|pattern| root.matching(pattern)) {
            if found.iter().any(|(source, _)| source.name == name) {
                continue;
            }
            let is_env = rule.format.is_some_and(Format::is_env);
            let kind = if is_env { SourceKind::Dotenv } else { SourceKind::File };
            let (mut source, contents) =
                load_file(root, Path::new(&name), rule.format, kind, "not read");
            let is_open = !rule.unless_text.is_empty() && may_be_read(rule, root);
            (source.state, source.why) = match (is_open, rule.near) {
                (true, _) => (SourceState::Unsupported, MAY_BE_READ.to_owned()),
                (false, true) => (SourceState::OffLoadPath, rule.why.clone()),
                (false, false) => (SourceState::Unread, rule.why.clone()),
            };
            found.push((source, contents));
        }
    }
    found
}
