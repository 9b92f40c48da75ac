//! `include` of compose files: what a file includes stands before it, as weaker sources.
//!
//! ```text
//! compose.yaml    include: [a.yaml, b.yaml]      strongest
//! a.yaml                                         of a service in both, the first wins
//! b.yaml
//! ```
//!
//! compose-go 2.16 merges a service that several files have (`loader.importResource`), where the
//! specification wants an error.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::clear::Tags;
use super::load::{dotenv_file, with_sound_templates};
use super::scope::{Layered, Scope};
use super::{Held, extends, is_name, of_service};
use crate::provenance::{SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Segment};
use crate::sources::{Root, load_file};
use crate::value::Raw;

/// More than this is not included: files that include two files each are 2^depth.
const MOST_SCOPES: usize = 1_000;

/// Files with what they include.
pub(super) struct Loader<'a> {
    root: &'a Root,
    /// The scopes; the project's is the first.
    pub(super) scopes: Vec<Scope>,
}

/// One item of `include`.
#[derive(Default)]
struct Item {
    paths: Vec<String>,
    folder: Option<String>,
    env_files: Vec<String>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(root: &'a Root, project: Scope) -> Self {
        Self { root, scopes: vec![project] }
    }

    /// The files of a scope behind what they extend and include, the weakest first. `above` are the files that lead to
    /// them. A document of a file is loaded as a file of its own (`loader.loadYamlFile`).
    pub(super) fn all(&mut self, files: Vec<Held>, scope: usize, above: &[String]) -> Vec<Layered> {
        let mut all: Vec<Layered> = Vec::new();
        for file in files.into_iter().flat_map(documents) {
            let mut tags = Tags::new(&file);
            tags.clear(&mut all, None);
            let mut expanded = self.expanded(file, &mut tags, scope, above);
            if let Some(file) = expanded.last_mut() {
                file.idle = tags.idle();
            }
            all.extend(expanded);
        }
        all
    }

    /// A file behind what it extends and includes.
    fn expanded(
        &mut self,
        file: Held,
        tags: &mut Tags,
        scope: usize,
        above: &[String],
    ) -> Vec<Layered> {
        if file.0.state != SourceState::Read {
            return vec![Layered::new(file, scope)];
        }
        let mut path = above.to_vec();
        path.push(file.0.name.clone());
        let mut included = Vec::new();
        for item in self.items(&file, scope).into_iter().rev() {
            included.extend(self.item(&item, scope, &path));
        }
        tags.clear_included(&file, &mut included);
        let from = self.scopes[scope].folder.clone();
        let project = self.scopes[0].folder.clone();
        let file = Layered::new(file, scope);
        let mut all = extends::bases(self.root, (&project, &from), (&file, tags), &included);
        all.extend(included);
        all.push(file);
        all
    }

    /// The items of a file's `include`, with their `${...}` replaced.
    fn items(&self, file: &Held, scope: usize) -> Vec<Item> {
        let outside = &self.scopes[scope].outside;
        let mut items: Vec<Item> = Vec::new();
        for entry in &file.1.entries {
            let [first, Segment::Index(at), rest @ ..] = entry.path.as_slice() else { continue };
            if !is_name(Some(first), "include") {
                continue;
            }
            while items.len() <= *at {
                items.push(Item::default());
            }
            let text = outside.expand(entry.value.expose()).text;
            let item = &mut items[*at];
            match rest.first() {
                None => item.paths.push(text),
                name if is_name(name, "path") => item.paths.push(text),
                name if is_name(name, "env_file") => item.env_files.push(text),
                name if is_name(name, "project_directory") => item.folder = Some(text),
                Some(_) => {}
            }
        }
        items
    }

    /// The files of an item, the weakest first.
    fn item(&mut self, item: &Item, parent: usize, above: &[String]) -> Vec<Layered> {
        let base = self.scopes[parent].folder.clone();
        let paths: Vec<PathBuf> = item.paths.iter().map(|path| joined(&base, path)).collect();
        let Some(first) = paths.first() else { return Vec::new() };
        if self.scopes.len() >= MOST_SCOPES {
            let mut refused = self.file(first, parent, above);
            refused.0.state = SourceState::TooLarge;
            refused.0.why = format!("more than {MOST_SCOPES} files are included");
            return vec![Layered::new((refused.0, Contents::default()), parent)];
        }
        let folder = match item.folder.as_deref().filter(|folder| !folder.is_empty()) {
            Some(folder) => joined(&base, folder),
            None => first.parent().unwrap_or(Path::new("")).to_owned(),
        };
        let dotenv: Vec<Held> = if item.env_files.is_empty() {
            let own = folder.join(".env");
            let names = self.root.matching(&own.to_string_lossy());
            names.iter().map(|name| dotenv_file(self.root, Path::new(name), false)).collect()
        } else {
            let named = item.env_files.iter().filter(|name| *name != "/dev/null");
            named.map(|name| dotenv_file(self.root, &joined(&base, name), true)).collect()
        };
        let by = above.last().map_or("", String::as_str);
        let remark = |(mut source, contents): Held| {
            if source.why.is_empty() {
                source.why = format!("fills `${{...}}` of what `{by}` includes");
            }
            source.layer = "${...}, include".to_owned();
            (source, contents)
        };
        let dotenv: Vec<Held> = dotenv.into_iter().map(remark).collect();
        let outside = self.scopes[parent].outside.over(&dotenv);
        self.scopes.push(Scope { parent: Some(parent), folder, dotenv, outside });
        let scope = self.scopes.len() - 1;
        let files = paths.iter().map(|path| self.file(path, scope, above)).collect::<Vec<_>>();
        self.all(files, scope, above)
    }

    /// A file that is included by the last of `above`.
    fn file(&self, path: &Path, scope: usize, above: &[String]) -> Held {
        let by = above.last().map_or("", String::as_str);
        let kind = SourceKind::ComposeEnvironment;
        let held = load_file(self.root, path, Some(Format::YamlCompose), kind, "include");
        let (mut source, contents) = with_sound_templates(held, true);
        if source.state == SourceState::Missing {
            source.state = SourceState::MissingRequired;
        }
        if above.contains(&source.name) {
            source.state = SourceState::Unparsable;
            source.why = format!("`{by}` includes it, and it includes `{by}`");
            return (source, Contents::default());
        }
        if source.why.is_empty() {
            source.why = format!("included by `{by}`");
        }
        with_paths_below((source, contents), &self.scopes[0].folder, &self.scopes[scope].folder)
    }
}

/// The documents of a file, each as a file.
fn documents((source, contents): Held) -> Vec<Held> {
    let values = contents.entries.iter().chain(&contents.empties).map(|one| one.document);
    let tags = contents.cleared.iter().map(|one| one.document);
    let groups = contents.groups.iter().map(|one| one.document);
    let present: BTreeSet<u32> = values.chain(tags).chain(groups).collect();
    if present.len() < 2 {
        return vec![(source, contents)];
    }
    let mut parts: Vec<Held> = Vec::new();
    for document in present {
        let mut source = source.clone();
        let place = format!("document {}", document + 1);
        source.why = match source.why.as_str() {
            "" => place,
            why => format!("{why}, {place}"),
        };
        let mut own = contents.clone();
        own.entries.retain(|one| one.document == document);
        own.empties.retain(|one| one.document == document);
        own.cleared.retain(|one| one.document == document);
        own.groups.retain(|one| one.document == document);
        if !parts.is_empty() {
            own.oddities.clear();
        }
        parts.push((source, own));
    }
    parts
}

/// A file whose paths of `env_file` count from the project's folder, as those of the project's own files.
pub(super) fn with_paths_below(
    (source, mut contents): Held,
    project: &Path,
    folder: &Path,
) -> Held {
    for entry in &mut contents.entries {
        if names_env_file(entry) && !entry.value.expose().starts_with('/') {
            let path = joined(folder, entry.value.expose());
            let path = match path.strip_prefix(project) {
                Ok(below) => below.to_owned(),
                Err(_) => project
                    .components()
                    .map(|_| Component::ParentDir)
                    .collect::<PathBuf>()
                    .join(path),
            };
            entry.value = Raw::new(path.to_string_lossy());
        }
    }
    (source, contents)
}

/// Whether an entry is the path of a service's `env_file`.
fn names_env_file(entry: &Entry) -> bool {
    let Some((_, path)) = of_service(entry) else { return false };
    is_name(path.first(), "env_file") && (path.len() < 3 || is_name(path.get(2), "path"))
}

/// A path from a folder, without `.` and without `..` behind a name.
pub(super) fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut found = PathBuf::new();
    for part in folder.join(path).components() {
        let is_named = matches!(found.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if is_named => {
                found.pop();
            }
            part => found.push(part),
        }
    }
    found
}
