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
use crate::value::Raw;

use super::{Held, is_name, of_service, with_sound_templates};

/// Services extend each other no deeper; deeper ones are a circle.
const MAX_DEPTH: usize = 16;

/// What the services of a file take from others: sources that are weaker than the file, the weakest first.
/// `folder` is the project's.
pub(super) fn bases(root: &Root, folder: &Path, file: &Held) -> Vec<Held> {
    let mut found = Vec::new();
    let mut services: Vec<&str> = Vec::new();
    for (service, path) in file.1.entries.iter().filter_map(of_service) {
        if is_name(path.first(), "extends") && !services.contains(&service) {
            services.push(service);
        }
    }
    for service in services {
        add(&Reader { root, folder, service }, file, service, 0, &mut found);
    }
    found
}

struct Reader<'a> {
    root: &'a Root,
    folder: &'a Path,
    /// The service that takes everything.
    service: &'a str,
}

/// Adds what a service of a file extends.
fn add(reader: &Reader<'_>, file: &Held, service: &str, depth: usize, found: &mut Vec<Held>) {
    let Some((base, other)) = extended(file, service) else { return };
    let held = match &other {
        None => file.clone(),
        Some(name) => {
            let own = Path::new(&file.0.name).parent().unwrap_or(Path::new(""));
            let kind = SourceKind::ComposeEnvironment;
            let path = own.join(name);
            let held = load_file(reader.root, &path, Some(Format::Yaml), kind, "extends");
            let (mut source, contents) = with_sound_templates(held, true);
            if source.state == SourceState::Missing {
                source.state = SourceState::MissingRequired;
            }
            (source, contents)
        }
    };
    let has_base = held.1.entries.iter().filter_map(of_service).any(|(name, _)| name == base);
    let mut source = held.0.clone();
    source.layer = format!("extends: {base}");
    source.why = format!("`{}` extends `{base}`", reader.service);
    if source.state != SourceState::Read || !has_base || depth >= MAX_DEPTH {
        if source.state == SourceState::Read {
            source.state = SourceState::MissingRequired;
            source.why = format!("`{}` extends `{base}`, which is not there", reader.service);
        }
        found.push((source, Contents::default()));
        return;
    }
    add(reader, &held, &base, depth + 1, found);
    let entries = held.1.entries.iter().filter_map(|entry| renamed(reader, &held, &base, entry));
    found.push((source, Contents { entries: entries.collect(), ..Contents::default() }));
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

/// An entry of the base as one of the service that takes it; paths are the project's.
fn renamed(reader: &Reader<'_>, file: &Held, base: &str, entry: &Entry) -> Option<Entry> {
    let (name, path) = of_service(entry)?;
    let is_file = is_name(path.first(), "env_file");
    let is_taken = |wanted| is_name(path.first(), wanted);
    if name != base || !["environment", "env_file", "profiles"].into_iter().any(is_taken) {
        return None;
    }
    let mut renamed = entry.clone();
    renamed.path[1] = Segment::Name(reader.service.to_owned());
    let is_path = is_file && (path.len() < 3 || is_name(path.get(2), "path"));
    let text = entry.value.expose();
    if is_path && !text.starts_with('/') {
        let own = Path::new(&file.0.name).parent().unwrap_or(Path::new(""));
        let own = own.strip_prefix(reader.folder).unwrap_or(own);
        renamed.value = Raw::new(own.join(text).to_string_lossy());
    }
    Some(renamed)
}
