//! Defines, which decide what files count, and the names of files that they make.

use super::{Choice, Defined, Loaded, Request};
use crate::condition;
use crate::profile::{Define, Profile, placeholders};
use crate::provenance::{SourceKind, SourceState};
use crate::readers::Entry;
use crate::resolve::{identity, key_of};
use crate::value::Raw;

/// The value of a define, and what sets it.
pub(super) fn defined(
    define: &Define,
    profile: &Profile,
    request: &Request,
    loaded: &[Loaded],
) -> Defined {
    let list = |text: &str| {
        let parts: Vec<String> = match define.list {
            true => text.split(',').map(|part| part.trim().to_owned()).collect(),
            false => vec![text.trim().to_owned()],
        };
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>()
    };
    let of = |mut values: Vec<String>, from: String| {
        if let Some(end) = &define.until {
            let first = |value: &mut String| {
                if let Some(at) = value.find(end.as_str()) {
                    value.truncate(at);
                }
            };
            values.iter_mut().for_each(first);
        }
        Defined { name: define.name.clone(), values, from }
    };
    if let Some((_, values)) = request.defines.iter().find(|(name, _)| *name == define.name) {
        return of(values.clone(), "--define".to_owned());
    }
    let environment = request.environment.as_deref().unwrap_or_default();
    for variable in &define.variables {
        let is_set =
            |(name, value): &&(String, Raw)| name == variable && define.knows(value.expose());
        let set = environment.iter().find(is_set);
        if let Some((name, value)) = set {
            return of(list(value.expose()), format!("variable {name}"));
        }
    }
    let of_file = |loaded: &Loaded| {
        let layer = profile.layers.get(loaded.layer)?;
        let key = define.key.as_ref().filter(|_| loaded.source.kind == SourceKind::File)?;
        let wanted = identity(profile, key);
        let guarded = condition::guarded_documents(profile, layer, &loaded.contents);
        let found: Vec<&Entry> = loaded
            .contents
            .entries
            .iter()
            .filter(|entry| !guarded.iter().any(|(document, _)| *document == entry.document))
            .filter(|entry| {
                // A list is one entry an element.
                let own = identity(profile, &key_of(profile, &entry.path));
                own.split('[').next() == Some(wanted.as_str())
            })
            .collect();
        let first = found.first()?;
        let values = found.iter().flat_map(|entry| list(entry.value.expose())).collect();
        Some(of(values, format!("{}:{}", loaded.source.name, first.at.line)))
    };
    let by_file = loaded.iter().rev().filter(|loaded| loaded.source.state == SourceState::Read);
    if let Some(found) = by_file.filter_map(of_file).next() {
        return found;
    }
    match &define.default {
        Some(text) => of(list(text), "default".to_owned()),
        None => of(Vec::new(), "not set".to_owned()),
    }
}

/// A path define with its placeholders and `~` replaced; a relative path is below the root.
pub(super) fn path_defined(found: Defined, earlier: &[Defined], request: &Request) -> Defined {
    let home = request.variable("HOME").map(|home| home.expose().to_owned());
    let replaced = |value: &String| {
        let mut path = value.clone();
        for define in earlier {
            // A path with a part that is not known is none.
            let Some(first) = define.values.first() else { continue };
            path = path.replace(&format!("{{{}}}", define.name), first);
        }
        match (path.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => path = format!("{home}/{rest}"),
            (Some(_), None) => return None,
            (None, _) => {}
        }
        let shown = path.strip_prefix("./").unwrap_or(&path).to_owned();
        (!shown.is_empty() && !shown.contains('{')).then_some(shown)
    };
    Defined { values: found.values.iter().filter_map(replaced).collect(), ..found }
}

/// File names with their placeholders replaced: for each value of a list all files, in their order. A
/// name with a define that is not set is left out, and one that occurs twice stands at its last place.
pub(super) fn names_of(files: &[&String], profile: &Profile, defines: &[Defined]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let most = defines.iter().map(|define| define.values.len()).max().unwrap_or(0);
    for at in 0..most {
        for file in files {
            let mut name = (*file).clone();
            for define in defines {
                let of_profile = profile.define(&define.name);
                let is_list = of_profile.is_some_and(|define| define.list);
                let is_path = of_profile.is_some_and(|define| define.path);
                let value = define.values.get(if is_list { at } else { 0 });
                if let Some(value) = value.filter(|value| is_path || is_name(value)) {
                    name = name.replace(&format!("{{{}}}", define.name), value);
                }
            }
            if !name.contains('{') {
                names.retain(|other| *other != name);
                names.push(name);
            }
        }
    }
    names
}

/// A value that is no path: `../../etc` must not choose a file.
fn is_name(value: &str) -> bool {
    !value.is_empty() && !value.contains(['/', '\\', '*', '{']) && value != ".."
}

/// The pattern of the files that a define with another value would choose; paths stay.
pub(super) fn with_stars(profile: &Profile, file: &str, defines: &[Defined]) -> String {
    let mut name = file.to_owned();
    for placeholder in placeholders(file) {
        let path = profile
            .define(placeholder)
            .filter(|define| define.path)
            .and_then(|define| defines.iter().find(|one| one.name == define.name)?.values.first());
        let stands = path.map_or("*", String::as_str);
        name = name.replace(&format!("{{{placeholder}}}"), stands);
    }
    // Nothing outside is looked for by a part of its name.
    if name.starts_with('*') && name.contains('/') { String::new() } else { name }
}

/// What would choose a file, where the pattern has one name that is no path.
pub(super) fn choice(
    profile: &Profile,
    pattern: &str,
    file: &str,
    defines: &[Defined],
) -> Option<Choice> {
    let define = |name: &str| profile.define(name).filter(|define| !define.path);
    let mut open = placeholders(pattern).filter_map(define);
    let (Some(define), None) = (open.next(), open.next()) else { return None };
    let pattern = with_stars(profile, pattern, defines);
    let (start, end) = pattern.split_once('*')?;
    let value = file.strip_prefix(start)?.strip_suffix(end)?;
    let now = defines.iter().find(|one| one.name == define.name)?;
    let is_known = define.values.is_empty() || define.values.iter().any(|known| known == value);
    Choice::new(define, now, value).filter(|_| is_known)
}

/// Why a file of a pattern that a define would choose does not count.
pub(super) fn why_not(
    profile: &Profile,
    (file, name): (&str, &str),
    defines: &[Defined],
) -> String {
    let pattern = with_stars(profile, file, defines);
    let value = pattern
        .split_once('*')
        .and_then(|(start, end)| name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)));
    let reasons = placeholders(file).filter_map(|name| {
        let define = defines.iter().find(|define| define.name == name)?;
        let known = profile.define(name).map_or(&[][..], |define| define.values.as_slice());
        if !known.is_empty() && value.is_some_and(|value| known.iter().all(|one| one != value)) {
            return Some(format!("`{name}` is never this, but one of {}", known.join(", ")));
        }
        Some(match define.values.as_slice() {
            [] => format!("`{name}` is not set"),
            values => format!("`{name}` is `{}` ({})", values.join(","), define.from),
        })
    });
    reasons.collect::<Vec<_>>().join(", ")
}
