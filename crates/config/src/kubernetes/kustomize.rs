//! ConfigMaps and Secrets that kustomize generates from literals and files.

use std::path::Path;

use super::manifests::Collection;
use super::object::{Id, Kind, Object, Value};
use super::view::View;
use crate::position::Position;
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Entry, Format, Segment};
use crate::sources::{Root, load_file};
use crate::value::Raw;

/// Adds what a kustomization generates; returns the files of its patches.
pub(super) fn collect(root: &Root, file: &str, collection: &mut Collection) -> Vec<String> {
    let (source, contents) =
        load_file(root, Path::new(file), Some(Format::Yaml), SourceKind::File, "kustomization");
    if source.state != SourceState::Read {
        collection.source(source);
        return Vec::new();
    }
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut patches = Vec::new();
    for document in View::documents(&contents.entries) {
        let generator = Generator { root, folder, source: &source };
        let lists = [(Kind::ConfigMap, "configMapGenerator"), (Kind::Secret, "secretGenerator")];
        for (kind, list) in lists {
            for one in document.at(list).elements() {
                generator.add(&kind, &one, collection);
            }
        }
        for list in ["patches", "patchesStrategicMerge"] {
            for one in document.at(list).elements() {
                let path = one.entry().map(|entry| entry.value.expose().to_owned());
                let path = path.unwrap_or_else(|| one.text("path"));
                patches.push(folder.join(path).to_string_lossy().into_owned());
            }
        }
    }
    patches
}

struct Generator<'a> {
    root: &'a Root,
    folder: &'a Path,
    source: &'a Source,
}

impl Generator<'_> {
    fn add(&self, kind: &Kind, one: &View<'_>, collection: &mut Collection) {
        let id =
            Id { kind: kind.clone(), namespace: one.text("namespace"), name: one.text("name") };
        let layer = id.path();
        let own = Source { kind: kind.source_kind(), layer, ..self.source.clone() };
        let index = collection.source(own);
        let mut object = Object::new(id, index);
        object.merges = one.text("behavior") == "merge";
        let mut files = one.at("envs").elements();
        files.extend(Some(one.at("env")).filter(|env| env.entry().is_some()));
        for file in files.iter().filter_map(View::entry) {
            self.add_env_file(file.value.expose(), &mut object, collection);
        }
        for file in one.at("files").elements().iter().filter_map(View::entry) {
            self.add_whole_file(file.value.expose(), &mut object, collection);
        }
        for literal in one.at("literals").elements().iter().filter_map(View::entry) {
            let Some((key, text)) = literal.value.expose().split_once('=') else { continue };
            object.values.push(value(key, without_quotes(text), literal, index));
        }
        collection.objects.push(object);
    }

    /// Each line of a file is a value.
    fn add_env_file(&self, file: &str, object: &mut Object, collection: &mut Collection) {
        let (index, entries) = self.read(file, Some(Format::EnvDocker), object, collection);
        for entry in &entries {
            let [Segment::Name(key)] = entry.path.as_slice() else { continue };
            object.values.push(value(key, entry.value.expose(), entry, index));
        }
    }

    /// A file as a whole is a value, by its name or as `KEY=FILE`.
    fn add_whole_file(&self, text: &str, object: &mut Object, collection: &mut Collection) {
        let (key, file) = match text.split_once('=') {
            Some((key, file)) => (key, file),
            None => (text.rsplit('/').next().unwrap_or(text), text),
        };
        let (index, _) = self.read(file, None, object, collection);
        let bytes = self.root.read(&self.folder.join(file)).bytes.unwrap_or_default();
        if collection.sources[index].state == SourceState::Read {
            object.values.push(Value {
                key: key.to_owned(),
                raw: Raw::new(String::from_utf8_lossy(&bytes)),
                at: (Position::START, 1),
                binary: false,
                malformed: false,
                source: index,
            });
        }
    }

    /// A file that a generator names, as a source, with its lines.
    fn read(
        &self,
        file: &str,
        format: Option<Format>,
        object: &Object,
        collection: &mut Collection,
    ) -> (usize, Vec<Entry>) {
        let path = self.folder.join(file);
        let kind = object.id.kind.source_kind();
        let (mut source, contents) = load_file(self.root, &path, format, kind, &object.id.path());
        match source.state {
            SourceState::Missing => source.state = SourceState::MissingRequired,
            // Without a format, the file is one value, whatever it holds.
            SourceState::Unread | SourceState::Unparsable if format.is_none() => {
                (source.state, source.why) = (SourceState::Read, String::new());
            }
            _ => {}
        }
        (collection.source(source), contents.entries)
    }
}

fn value(key: &str, text: &str, entry: &Entry, source: usize) -> Value {
    Value {
        key: key.trim().to_owned(),
        raw: Raw::new(text),
        at: (entry.at, entry.end_line),
        binary: false,
        malformed: false,
        source,
    }
}

/// A literal without the quotes around it.
fn without_quotes(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}
