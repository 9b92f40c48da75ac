//! The values of a project: those for `${...}`, those of `env_file`, and those of `environment`.

use std::collections::{BTreeMap, BTreeSet};

use super::clear::Idle;
use super::declared::Declared;
use super::found::{Found, outside_key};
use super::scope::Outside;
use super::{Project, name_of};
use crate::provenance::{Op, Outcome};
use crate::readers::Entry;
use crate::secret;
use crate::template::{expand, mentioned};
use crate::value::{Raw, Redactor};

/// Shows the redactor every secret before anything is shown.
pub(super) fn learn(redactor: &mut Redactor, project: &Project) {
    let included = project.scopes.iter().flat_map(|scope| &scope.dotenv);
    let files = project.dotenv.iter().chain(&project.env_files).chain(&project.shell);
    let files = files.chain(included).chain(project.image.as_ref().map(|(_, held)| held));
    for entry in files.flat_map(|(_, contents)| &contents.entries) {
        redactor.learn(name_of(entry), &entry.value);
    }
}

/// Shows it the secrets that services declare.
pub(super) fn learn_declared(
    redactor: &mut Redactor,
    project: &Project,
    declared: &[(usize, Declared<'_>)],
) {
    for (file, one) in declared {
        let outside = project.outside_of(*file);
        let text = one.template.as_ref().map(|template| outside.expand(template).text);
        redactor.learn(&one.name, &Raw::new(text.unwrap_or_default()));
    }
}

/// The values for `${...}`: of the files, then of the shell, which is stronger.
pub(super) fn outside_values(
    found: &mut Found,
    project: &Project,
    mentioned: &BTreeSet<String>,
    (dotenv_start, shell_index): (usize, usize),
) {
    // A compose file that cannot be read may ask for any name.
    let mut files = project.compose.iter().map(|(source, _)| source);
    let gap = files.find(|source| source.state.is_gap());
    let is_env_file = |name: &str| project.env_files.iter().any(|(source, _)| source.name == name);
    let outside = project.outside();
    for (index, (source, contents)) in project.dotenv.iter().enumerate() {
        for entry in &contents.entries {
            let name = name_of(entry);
            let raw = if entry.op == Op::Inherit {
                Raw::new(outside.get(name).unwrap_or_default())
            } else if entry.template {
                Raw::new(outside.expand(entry.value.expose()).text)
            } else {
                entry.value.clone()
            };
            let made = made_from(&entry.value, entry.template, outside);
            let at = found.add(
                dotenv_start + index,
                (outside_key(name), name),
                (entry, false),
                &raw,
                &made,
            );
            // Compose itself reads these from the file.
            let is_for_compose = name.starts_with("COMPOSE_") || name.starts_with("DOCKER_");
            if mentioned.contains(name) || is_for_compose || is_env_file(&source.name) {
                continue;
            }
            if let Some(gap) = gap {
                let reason = format!("`{}` may ask for it, and is not read", gap.name);
                found.note(at, Outcome::Unknown, reason);
            } else {
                let reason = format!(
                    "`{}` only fills `${{...}}` in the compose file, and no `{}` is there",
                    source.name,
                    outside_key(&secret::name(name))
                );
                found.note(at, Outcome::NeverApplied, reason);
            }
        }
    }
    let in_files = |name: &str| {
        project
            .dotenv
            .iter()
            .any(|(_, contents)| contents.entries.iter().any(|one| name_of(one) == name))
    };
    for entry in project.shell.iter().flat_map(|(_, contents)| &contents.entries) {
        let name = name_of(entry);
        if mentioned.contains(name) || in_files(name) {
            found.add(shell_index, (outside_key(name), name), (entry, true), &entry.value, &[]);
        }
    }
}

/// The variables that a template uses, with their texts.
pub(super) fn made_from(
    template: &Raw,
    is_template: bool,
    outside: &Outside,
) -> Vec<(String, Raw)> {
    if !is_template {
        return Vec::new();
    }
    let uses = outside.expand(template.expose()).uses.into_iter();
    uses.map(|one| {
        let text = outside.get(&one.name).unwrap_or_default();
        (one.name, Raw::new(text))
    })
    .collect()
}

/// Where the shell takes the place of a file: `of the shell, over .env:2`.
fn over_file(project: &Project, name: &str) -> String {
    let is_named = |entry: &&Entry| name_of(entry) == name;
    let of_shell = project.shell.iter().flat_map(|(_, contents)| &contents.entries).find(is_named);
    let of_files = project.dotenv.iter().rev().find_map(|(source, contents)| {
        let entry = contents.entries.iter().rev().find(is_named)?;
        Some(format!("{}:{}", source.name, entry.at.line))
    });
    match (of_shell, of_files) {
        (Some(_), Some(place)) => format!(" of the shell, over {place}"),
        _ => String::new(),
    }
}

fn made_words(made: &[(String, Raw)], project: &Project, outside: &Outside) -> String {
    let word = |(name, _): &(String, Raw)| match outside.get(name) {
        Some(_) => format!("`${{{name}}}`{}", over_file(project, name)),
        None => format!("`${{{name}}}` (not set)"),
    };
    if made.is_empty() {
        return String::new();
    }
    format!("made from {}", made.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// The variables of services from `env_file`, a later file over an earlier one.
pub(super) fn env_file_values(
    found: &mut Found,
    project: &Project,
    declared: &[(usize, Declared<'_>)],
    start: usize,
) {
    let outside = project.outside();
    for (service, index, why) in &project.not_of_services {
        for entry in &project.env_files[*index].1.entries {
            let name = name_of(entry);
            let key = (format!("{service}.{name}"), name);
            let at = found.add(start + index, key, (entry, false), &entry.value, &[]);
            found.note(at, Outcome::Unread, why.clone());
        }
    }
    let mut services: Vec<&str> =
        project.of_services.iter().map(|(name, _)| name.as_str()).collect();
    services.dedup();
    services.sort_unstable();
    services.dedup();
    for service in services {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        let mut own: BTreeMap<&str, String> = BTreeMap::new();
        let stays = |one: &Declared<'_>| one.service == service && one.removed.is_none();
        for (file, one) in declared.iter().filter(|(_, one)| stays(one)) {
            let text = match &one.template {
                Some(template) => Some(project.outside_of(*file).expand(template).text),
                None => one.inherited.clone(),
            };
            match text {
                Some(text) => own.insert(&one.name, text),
                // A later name without a value, which has none outside either, takes the earlier one away.
                None => own.remove(one.name.as_str()),
            };
        }
        let files = project.of_services.iter().filter(|(name, _)| name == service);
        for index in files.map(|(_, index)| *index) {
            for entry in &project.env_files[index].1.entries {
                let name = name_of(entry);
                let lookup = |name: &str| {
                    let own = || own.get(name).cloned();
                    outside.get(name).or_else(own).or_else(|| values.get(name).cloned())
                };
                let text = match entry.op {
                    Op::Inherit => lookup(name),
                    _ if entry.template => Some(expand(entry.value.expose(), &lookup).text),
                    _ => Some(entry.value.expose().to_owned()),
                };
                let made: Vec<(String, Raw)> = if entry.template {
                    let names = mentioned(entry.value.expose()).into_iter();
                    names
                        .map(|name| (name.to_owned(), Raw::new(lookup(name).unwrap_or_default())))
                        .collect()
                } else {
                    Vec::new()
                };
                let key = format!("{service}.{name}");
                let raw = Raw::new(text.clone().unwrap_or_default());
                let at = found.add(start + index, (key, name), (entry, false), &raw, &made);
                match text {
                    Some(text) => {
                        found.assignments[at].reason = made_words(&made, project, outside);
                        values.insert(name.to_owned(), text);
                    }
                    None => found.note(at, Outcome::NeverApplied, not_set(name)),
                }
            }
        }
    }
}

fn not_set(name: &str) -> String {
    let name = secret::name(name);
    format!("the value is taken from outside, and neither the shell nor `.env` sets `{name}`")
}

/// The variables of services from `environment`, a later compose file over an earlier one.
pub(super) fn declared_values(
    found: &mut Found,
    project: &Project,
    declared: &[(usize, Declared<'_>)],
    start: usize,
) {
    for (file, one) in declared {
        let outside = project.outside_of(*file);
        let key = format!("{}.{}", one.service, one.name);
        let (source, name) = (start + file, one.name.as_str());
        let Some(template) = &one.template else {
            let entry = Entry { op: Op::Inherit, ..one.entry.clone() };
            let raw = Raw::new(one.inherited.clone().unwrap_or_default());
            let at = found.add(source, (key, name), (&entry, false), &raw, &[]);
            if let Some(why) = one.removed {
                found.note(at, Outcome::Shadowed, why.to_owned());
            } else if one.inherited.is_none() {
                found.note(at, Outcome::NeverApplied, not_set(name));
                found.removes(at);
            } else {
                found.assignments[at].reason = format!("the value of {}", outside_key(name));
            }
            continue;
        };
        let made = made_from(&Raw::new(template.as_str()), true, outside);
        let raw = Raw::new(outside.expand(template).text);
        let at = found.add(source, (key, name), (one.entry, false), &raw, &made);
        if let Some(why) = one.removed {
            found.note(at, Outcome::Shadowed, why.to_owned());
            continue;
        }
        let words = Some(made_words(&made, project, outside)).filter(|words| !words.is_empty());
        found.assignments[at].reason = words.or_else(|| one.entry.remark()).unwrap_or_default();
    }
}

/// Variables that a file was to take away from weaker ones, and took away from nothing.
pub(super) fn idle_tags(found: &mut Found, project: &Project, start: usize) {
    for (file, idle) in project.idle.iter().enumerate() {
        for Idle { service, name, cleared, why } in idle {
            let mut entry = Entry::unplaced(cleared.path.clone(), Raw::new(""));
            (entry.op, entry.at, entry.end_line) = (Op::Delete, cleared.at, cleared.at.line);
            let key = (format!("{service}.{name}"), name.as_str());
            let at = found.add(start + file, key, (&entry, false), &entry.value, &[]);
            found.note(at, Outcome::NoTarget, why.clone());
        }
    }
}
