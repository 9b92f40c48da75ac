//! Finding and reading manifests: the YAML and JSON files below the root that have objects of
//! Kubernetes.

use std::collections::BTreeSet;
use std::path::Path;

use super::kustomize;
use super::mentions::{By, Mentions};
use super::object::{self, Object};
use super::view::View;
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Format, KeyGroup};
use crate::sources::{Root, load_file};

/// Of one object, no more reasons are said besides the first.
const MOST_REASONS: usize = 4;
/// Manifests are not deeper below a root.
const MAX_DEPTH: usize = 6;
/// A folder with more files than this is no folder of manifests; the rest of it is left, and said.
const MAX_FILES: usize = 20_000;

/// What the files below a root have.
#[derive(Debug, Default)]
pub(super) struct Collection {
    /// The sources: one an object, and one a file that cannot be read.
    pub(super) sources: Vec<Source>,
    /// The objects, in the order of files and lines.
    pub(super) objects: Vec<Object>,
    /// The names that anything mentions.
    pub(super) mentions: Mentions,
}

impl Collection {
    /// Adds a source.
    pub(super) fn source(&mut self, source: Source) -> usize {
        self.sources.push(source);
        self.sources.len() - 1
    }

    /// Takes note of the names in a file of Kubernetes that has neither values nor containers.
    fn mention(&mut self, root: &Root, file: &str) {
        let bytes = root.read(Path::new(file)).bytes.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        if text.contains("apiVersion") || is_kustomization(file) {
            self.mentions.text(&text, By::File);
        }
    }
}

/// Whether a file below the root has an object with values or containers.
pub(crate) fn has_objects(root: &Root) -> bool {
    let (files, _) = candidates(root);
    files.iter().any(|file| !is_helm_template(root, file) && is_manifest(root, file))
}

/// Reads all manifests below a root.
pub(super) fn collect(root: &Root) -> Collection {
    let (files, is_cut) = candidates(root);
    let mut collection = Collection::default();
    if is_cut {
        let why = format!("more than {MAX_FILES} files: the rest was not looked at");
        collection.source(unread_source(".", SourceState::TooLarge, why));
    }
    let (files, others): (Vec<String>, Vec<String>) =
        files.into_iter().partition(|file| is_manifest(root, file));
    for file in &others {
        collection.mention(root, file);
    }
    let mut patches = BTreeSet::new();
    for file in &files {
        if is_kustomization(file) {
            collection.mention(root, file);
            patches.extend(kustomize::collect(root, file, &mut collection));
        }
    }
    for file in files.iter().filter(|file| !is_kustomization(file)) {
        if is_helm_template(root, file) {
            collection.mention(root, file);
            let why = "a template of Helm: `helm template` makes a manifest of it".to_owned();
            collection.source(unread_source(file, SourceState::Unread, why));
        } else if patches.contains(file) {
            collection.mention(root, file);
            let why = "a patch of kustomize: `kustomize build` applies it".to_owned();
            collection.source(unread_source(file, SourceState::Unsupported, why));
        } else {
            add_file(root, file, &mut collection);
        }
    }
    collection
}

/// A file as a source without values.
fn unread_source(file: &str, state: SourceState, why: String) -> Source {
    Source {
        kind: SourceKind::File,
        name: file.to_owned(),
        layer: "manifest".to_owned(),
        state,
        why,
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    }
}

/// The files that may be manifests, those of a folder before those of its folders, and whether there
/// are more.
fn candidates(root: &Root) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    let mut count = 0;
    for _ in 0..MAX_DEPTH {
        let mut below = Vec::new();
        for folder in &folders {
            let (files, inner) = root.entries(folder);
            count += files.len() + inner.len();
            if count > MAX_FILES {
                return (found, true);
            }
            let is_wanted = |name: &String| {
                let end = name.rsplit('.').next();
                end.is_some_and(|end| matches!(end, "yaml" | "yml" | "json"))
            };
            found.extend(files.into_iter().filter(is_wanted));
            let is_own = |path: &String| {
                let name = path.rsplit('/').next().unwrap_or(path);
                !name.starts_with('.') && name != "node_modules"
            };
            below.extend(inner.into_iter().filter(is_own));
        }
        folders = below;
    }
    (found, false)
}

fn is_kustomization(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    matches!(name, "kustomization.yaml" | "kustomization.yml" | "Kustomization")
}

/// Whether a file lies in the folder `templates` of a chart.
fn is_helm_template(root: &Root, file: &str) -> bool {
    let charts = file.match_indices("templates/").map(|(at, _)| &file[..at]);
    let is_chart = |start: &str| {
        let starts_folder = start.is_empty() || start.ends_with('/');
        starts_folder && !root.matching(&format!("{start}Chart.yaml")).is_empty()
    };
    charts.into_iter().any(is_chart)
}

/// Whether the text of a file has the form of a manifest with values or containers.
fn is_manifest(root: &Root, file: &str) -> bool {
    let Some(bytes) = root.read(Path::new(file)).bytes else { return false };
    let text = String::from_utf8_lossy(&bytes);
    if is_kustomization(file) {
        return text.contains("configMapGenerator") || text.contains("secretGenerator");
    }
    let is_version = |line: &str| {
        let line = line.trim_start_matches([' ', '-', '{', '"']);
        line.starts_with("apiVersion")
    };
    text.lines().any(is_version)
        && ["containers", "ConfigMap", "Secret"].iter().any(|word| text.contains(word))
}

fn add_file(root: &Root, file: &str, collection: &mut Collection) {
    let format = if file.ends_with(".json") { Format::Json } else { Format::YamlKubernetes };
    let (source, contents) =
        load_file(root, Path::new(file), Some(format), SourceKind::File, "manifest");
    if source.state != SourceState::Read {
        collection.source(source);
        return;
    }
    for document in View::documents(&contents.entries) {
        let items = document.at("items").elements();
        let is_list = document.text("kind").ends_with("List") && !items.is_empty();
        for object in if is_list { items } else { vec![document] } {
            add_object(&object, &source, &contents.groups, collection);
        }
    }
}

fn add_object(
    document: &View<'_>,
    file: &Source,
    groups: &[KeyGroup],
    collection: &mut Collection,
) {
    let Some(id) = object::identity(document) else {
        collection.mentions.document(document, By::File);
        return;
    };
    collection.mentions.document(document, By::Object(collection.sources.len()));
    let mut source = Source { kind: id.kind.source_kind(), layer: id.path(), ..file.clone() };
    let found = object::read(document, id, collection.sources.len(), groups);
    if let Some((at, why)) = found.refused.iter().min() {
        (source.state, source.at) = (SourceState::Unparsable, Some(*at));
        let mut all = vec![format!("line {}: {why}", at.line)];
        let others = found.refused.iter().filter(|(other, _)| other != at);
        all.extend(others.take(MOST_REASONS).map(|(at, why)| format!("line {}: {why}", at.line)));
        source.why = all.join("; ");
    }
    collection.objects.push(found);
    collection.source(source);
}
