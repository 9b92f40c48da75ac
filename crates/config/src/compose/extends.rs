//! `extends` of services in compose files: what a service takes from another one stands right before the
//! file that says so, as entries of the service.
//!
//! ```text
//! base.yaml     services.common.environment.LEVEL    as services.web.environment.LEVEL
//! compose.yaml  services.web.extends: common         its own values are stronger
//! ```

use std::path::Path;

use crate::provenance::{SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Segment};
use crate::sources::{Root, load_file};

use super::clear::Tags;
use super::include::{joined, with_paths_below};
use super::load::with_sound_templates;
use super::scope::Layered;
use super::{Held, is_name, of_service};

/// Services extend each other no deeper; deeper ones are a circle.
const MAX_DEPTH: usize = 16;

/// What the services of a file take from others: sources that are weaker than the file, the weakest first.
/// `folders` are the project's and the one that paths of the file count from; `included` is what the file
/// includes.
pub(super) fn bases(
    root: &Root,
    (project, from): (&Path, &Path),
    (file, tags): (&Layered, &mut Tags),
    included: &[Layered],
) -> Vec<Layered> {
    let mut found = Vec::new();
    let mut services: Vec<&str> = Vec::new();
    for (service, path) in file.held.1.entries.iter().filter_map(of_service) {
        if is_name(path.first(), "extends") && !services.contains(&service) {
            services.push(service);
        }
    }
    for service in services {
        let reader = Reader { root, project, service, scope: file.scope };
        let start = found.len();
        add(&reader, (&file.held, from, included), service, 0, &mut found);
        tags.clear(&mut found[start..], Some((service, service)));
    }
    found
}

struct Reader<'a> {
    root: &'a Root,
    /// The folder of the project.
    project: &'a Path,
    /// The service that takes everything.
    service: &'a str,
    scope: usize,
}

/// Adds what a service of a file extends. Besides the file: the folder that its paths count from, and what
/// it includes.
fn add(
    reader: &Reader<'_>,
    (file, from, included): (&Held, &Path, &[Layered]),
    service: &str,
    depth: usize,
    found: &mut Vec<Layered>,
) {
    let Some((base, other)) = extended(file, service) else { return };
    let (held, from, included) = match &other {
        None => (file.clone(), from.to_owned(), included),
        Some(name) => {
            let kind = SourceKind::ComposeEnvironment;
            let path = joined(from, name);
            let held = load_file(reader.root, &path, Some(Format::YamlCompose), kind, "extends");
            let (mut source, contents) = with_sound_templates(held, true);
            if source.state == SourceState::Missing {
                source.state = SourceState::MissingRequired;
            }
            let own = Path::new(&source.name).parent().unwrap_or(Path::new("")).to_owned();
            (with_paths_below((source, contents), reader.project, &own), own, &[][..])
        }
    };
    let has_base =
        |held: &Held| held.1.entries.iter().filter_map(of_service).any(|(name, _)| name == base);
    let is_there = has_base(&held) || included.iter().any(|one| has_base(&one.held));
    let source_of = |held: &Held| {
        let mut source = held.0.clone();
        source.layer = format!("extends: {base}");
        source.why = format!("`{}` extends `{base}`", reader.service);
        source
    };
    let mut source = source_of(&held);
    if source.state != SourceState::Read || !is_there || depth >= MAX_DEPTH {
        if source.state == SourceState::Read {
            source.state = SourceState::MissingRequired;
            source.why = format!("`{}` extends `{base}`, which is not there", reader.service);
        }
        found.push(Layered::new((source, Contents::default()), reader.scope));
        return;
    }
    let start = found.len();
    add(reader, (&held, &from, included), &base, depth + 1, found);
    // What the base takes away from what it extends itself.
    Tags::new(&held).clear(&mut found[start..], Some((base.as_str(), reader.service)));
    let taken = |held: &Held| {
        let of = |all: &[Entry]| all.iter().filter_map(|one| renamed(reader, &base, one)).collect();
        let (entries, empties) = (of(&held.1.entries), of(&held.1.empties));
        (source_of(held), Contents { entries, empties, ..Contents::default() })
    };
    let of_included = included.iter().filter(|one| has_base(&one.held));
    found.extend(of_included.map(|one| {
        let mut copy = Layered::new(taken(&one.held), one.scope);
        copy.copied.clone_from(&one.copied);
        copy.copied.push((base.clone(), reader.scope));
        copy
    }));
    found.push(Layered::new(taken(&held), reader.scope));
}

/// The service that a service extends, and the file of it.
fn extended(file: &Held, service: &str) -> Option<(String, Option<String>)> {
    let (mut base, mut other) = (None, None);
    for entry in &file.1.entries {
        let Some((name, [first, rest @ ..])) = of_service(entry) else { continue };
        if name != service || !is_name(Some(first), "extends") {
            continue;
        }
        let text = entry.value.expose().to_owned();
        match rest {
            [] => base = Some(text),
            [last] if is_name(Some(last), "service") => base = Some(text),
            [last] if is_name(Some(last), "file") => other = Some(text),
            _ => {}
        }
    }
    base.map(|base| (base, other))
}

/// An entry of the base as one of the service that takes it.
fn renamed(reader: &Reader<'_>, base: &str, entry: &Entry) -> Option<Entry> {
    let (name, path) = of_service(entry)?;
    let is_taken = |wanted| is_name(path.first(), wanted);
    let is_known = ["environment", "env_file", "profiles", "image"].into_iter().any(is_taken);
    // A text in the place of the service is refused.
    let is_text = path.is_empty() && !entry.null;
    if name != base || !(is_known || is_text) {
        return None;
    }
    let mut renamed = entry.clone();
    renamed.path[1] = Segment::Name(reader.service.to_owned());
    Some(renamed)
}
