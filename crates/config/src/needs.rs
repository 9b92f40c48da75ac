//! Whether a project uses what reads a file of variables, and the files that programs do not read.
//!
//! Node.js itself reads no `.env`. A package does, or the program calls for it, or a script starts `node` with
//! an option. So the file counts only if one of these is found; else it is shown as not read.

use std::collections::BTreeMap;
use std::path::Path;

use crate::profile::{Fills, Ignored, Needs, Profile};
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Format, Segment, read};
use crate::sources::{Collected, Loaded, NO_LAYER, Part, Request, Root, load_file};
use crate::value::Raw;

/// What was found of a need.
pub(crate) enum Met {
    /// The project uses it.
    Yes,
    /// The project uses it, and gives it options that are not followed: where, and which.
    WithOptions(String),
    /// Nothing of the project says so.
    No,
}

/// Whether a project has what a layer needs.
pub(crate) fn met(needs: &Needs, root: &Root) -> Met {
    let files = needs.code.iter().flat_map(|pattern| root.matching(pattern));
    let (mut is_used, mut options) = (in_package(needs, root), None);
    for file in files {
        let Some(bytes) = root.read(Path::new(&file)).bytes else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if needs.code_words.iter().any(|word| text.contains(word.as_str())) {
            is_used = true;
            options = options.or_else(|| with_options(needs, &file, &text));
        }
    }
    match (is_used, options) {
        (true, Some(said)) => Met::WithOptions(said),
        (true, None) => Met::Yes,
        (false, _) => Met::No,
    }
}

/// Whether a name or a script of the package file has one of the words.
fn in_package(needs: &Needs, root: &Root) -> bool {
    let Some(bytes) = root.read(Path::new(&needs.file)).bytes else { return false };
    let Ok(found) = read(Format::Json, &bytes) else { return false };
    let has = |text: &str| needs.words.iter().any(|word| text.contains(word.as_str()));
    found.entries.iter().any(|entry| match entry.path.as_slice() {
        [Segment::Name(group), Segment::Name(name), ..] if needs.groups.contains(group) => {
            has(name) || has(entry.value.expose())
        }
        _ => false,
    })
}

/// The line of a call with options that change what is read.
fn with_options(needs: &Needs, file: &str, text: &str) -> Option<String> {
    let call = needs.call.as_deref()?;
    let (at, _) = text.match_indices(call).next()?;
    let arguments = text[at + call.len()..].split(')').next().unwrap_or_default();
    let given = needs.options.iter().filter(|option| arguments.contains(&format!("{option}:")));
    let given: Vec<String> = given.map(|option| format!("`{option}`")).collect();
    let line = text[..at].matches('\n').count() + 1;
    (!given.is_empty())
        .then(|| format!("{file}:{line} gives {}, which Culprit does not follow", given.join(", ")))
}

/// Judges the files of layers by what they need.
pub(crate) fn judge(profile: &Profile, root: &Root, loaded: &mut [Loaded]) {
    for one in loaded.iter_mut().filter(|one| one.source.state == SourceState::Read) {
        let layer = profile.layers.get(one.layer);
        let Some(needs) = layer.and_then(|layer| layer.needs.as_ref()) else { continue };
        match met(needs, root) {
            Met::Yes => {}
            Met::WithOptions(said) => (one.source.why, one.is_doubtful) = (said, true),
            Met::No => {
                (one.source.state, one.source.why) = (SourceState::Unread, needs.why.clone());
            }
        }
    }
}

/// The variables of a file that a program reads before it reads its configuration.
pub(crate) struct Filled {
    pub(crate) source: Source,
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

/// Reads that file; none if the project does not use it.
pub(crate) fn filled(fills: &Fills, root: &Root, request: &Request) -> Option<Filled> {
    if root.matching(&fills.file).is_empty() || matches!(met(&fills.needs, root), Met::No) {
        return None;
    }
    let (path, kind) = (Path::new(&fills.file), SourceKind::Dotenv);
    let (source, contents) = load_file(root, path, Some(fills.format), kind, &fills.file);
    let mut variables: BTreeMap<String, (Raw, String)> = BTreeMap::new();
    for entry in &contents.entries {
        let [Segment::Name(name)] = entry.path.as_slice() else { continue };
        let place = format!("{}:{}", source.name, entry.at.line);
        variables.insert(name.clone(), (entry.value.clone(), place));
    }
    let open = variables.into_iter().filter(|(name, _)| request.variable(name).is_none());
    let variables = open.map(|(name, (value, place))| (name, value, place)).collect();
    Some(Filled { source, variables })
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
            (source.state, source.why) = (SourceState::Unread, rule.why.clone());
            found.push((source, contents));
        }
    }
    found
}
