//! The variables of a unit: `Environment=` of its files, then the files of `EnvironmentFile=`, which are stronger
//! (systemd.exec(5)), without those that `UnsetEnvironment=` removes.
//!
//! ```text
//! a.service   Environment=PORT=1       a.service/PORT = 1    shadowed
//! a.env       PORT=2                   a.service/PORT = 2    won, also over a drop-in
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use super::known::section_and_key;
use crate::configuration::Configuration;
use crate::provenance::{Op, Outcome, SourceKind, SourceState, Variable};
use crate::readers::{Entry, Format, Oddity, Segment, is_variable_name, words};
use crate::sources::{Loaded, Root, load_file};
use crate::value::Raw;

/// What an [`Oddity`] says of a word of `Environment=` without a `=`: a blank within a value parts it.
pub(crate) const NO_ASSIGNMENT: &str = "has a word without `=` behind it, which systemd leaves out: a blank ends a value without quotes";
/// What it says of a line with an open quote.
const OPEN_QUOTE: &str = "has an open quote or an unknown escape: systemd leaves the line out";

/// A file that a unit names, where, and whether it may be missing.
struct Named {
    path: String,
    optional: bool,
    place: String,
}

/// Makes keys of the variables of a unit, whose files these are, and adds the files of variables that it names.
pub(super) fn add(unit: &str, root: &Root, loaded: &mut Vec<Loaded>, first: usize) {
    let named: Vec<Named> = loaded[first..].iter().flat_map(files).collect();
    let unset = unset(&loaded[first..]);
    loaded[first..].iter_mut().for_each(|one| split(unit, one));
    named.iter().for_each(|named| add_file(unit, root, named, loaded));
    for one in &mut loaded[first..] {
        for (at, entry) in one.contents.entries.iter().enumerate() {
            if let [_, Segment::Name(name)] = entry.path.as_slice()
                && let Some(place) = unset.get(name)
            {
                let why = format!("`UnsetEnvironment=` of {place} removes it");
                one.verdicts.entry(at).or_insert((Outcome::Shadowed, why));
            }
        }
    }
}

/// The values of a list that count: `Key=` of a file that is read, and that no later line empties.
fn listed<'a>(one: &'a Loaded, key: &str) -> Vec<&'a Entry> {
    let is_read = one.source.state == SourceState::Read;
    let entries = one.contents.entries.iter().enumerate().filter(|(at, entry)| {
        let own = section_and_key(entry).is_some_and(|(_, own)| own == key);
        own && is_read && entry.path.len() == 4 && !one.verdicts.contains_key(at)
    });
    entries.map(|(_, entry)| entry).collect()
}

fn files(one: &Loaded) -> Vec<Named> {
    let named = |entry: &Entry| {
        let text = entry.value.expose();
        let path = text.strip_prefix('-');
        Named {
            path: path.unwrap_or(text).to_owned(),
            optional: path.is_some(),
            place: format!("{}:{}", one.source.name, entry.at.line),
        }
    };
    listed(one, "EnvironmentFile").into_iter().map(named).collect()
}

fn unset(loaded: &[Loaded]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for one in loaded {
        for entry in listed(one, "UnsetEnvironment") {
            let place = format!("{}:{}", one.source.name, entry.at.line);
            let words = words(entry.value.expose()).unwrap_or_default();
            // `NAME=VALUE` removes that value alone.
            let whole = words.into_iter().filter(|word| !word.contains('='));
            names.extend(whole.map(|word| (word, place.clone())));
        }
    }
    names
}

/// Puts one entry a variable in the place of each `Environment=`.
fn split(unit: &str, one: &mut Loaded) {
    let entries = std::mem::take(&mut one.contents.entries);
    let mut verdicts = std::mem::take(&mut one.verdicts);
    for (at, entry) in entries.into_iter().enumerate() {
        // One without a value empties the list.
        let is_variables = !entry.value.expose().is_empty()
            && section_and_key(&entry).is_some_and(|(_, key)| key == "Environment");
        let parts = if is_variables { assignments(unit, one, &entry) } else { vec![entry] };
        let verdict = verdicts.remove(&at);
        for part in parts {
            let index = one.contents.entries.len();
            if let Some(verdict) = &verdict {
                one.verdicts.insert(index, verdict.clone());
            }
            if let [_, Segment::Name(name)] = part.path.as_slice() {
                one.written.insert(index, name.clone());
            }
            one.contents.entries.push(part);
        }
    }
}

/// The variables of one line.
fn assignments(unit: &str, one: &mut Loaded, entry: &Entry) -> Vec<Entry> {
    let mut odd = |name: &str, what| {
        one.contents.oddities.push(Oddity { at: entry.at, name: name.to_owned(), what });
    };
    let Some(words) = words(entry.value.expose()) else {
        odd("Environment", OPEN_QUOTE);
        return Vec::new();
    };
    let mut found: Vec<Entry> = Vec::new();
    for word in words {
        match word.split_once('=').filter(|(name, _)| is_variable_name(name)) {
            Some((name, value)) => found.push(Entry {
                path: [unit, name].map(|name| Segment::Name(name.to_owned())).to_vec(),
                value: Raw::new(value),
                ..entry.clone()
            }),
            None => {
                let last = found.last().and_then(|last| match last.path.last() {
                    Some(Segment::Name(name)) => Some(name.as_str()),
                    _ => None,
                });
                odd(last.unwrap_or("Environment"), NO_ASSIGNMENT);
            }
        }
    }
    found
}

/// Whether the folder is the root of a whole system: os-release(5) is there.
fn is_whole_system(root: &Root) -> bool {
    ["etc/os-release", "usr/lib/os-release"].iter().any(|name| !root.matching(name).is_empty())
}

/// Adds a file of variables, or several that a pattern matches.
fn add_file(unit: &str, root: &Root, named: &Named, loaded: &mut Vec<Loaded>) {
    let below = named.path.trim_start_matches('/');
    let is_pattern = below.contains(['*', '?', '[']);
    let names = if is_pattern { root.matching(below) } else { vec![below.to_owned()] };
    for name in names {
        let format = Some(Format::EnvSystemd);
        let (mut source, mut contents) =
            load_file(root, Path::new(&name), format, SourceKind::Dotenv, unit);
        if source.state == SourceState::Missing && !named.optional {
            let (place, path) = (&named.place, &named.path);
            if is_whole_system(root) {
                source.state = SourceState::MissingRequired;
                source.why = format!("{place} names `{path}`, and no such file is there");
            } else {
                // It may well be there on the machine that runs the unit.
                source.state = SourceState::Outside;
                source.why = format!(
                    "{place} names `{path}`, which is not below this folder; its variables beat `Environment=`"
                );
            }
        }
        let mut written = BTreeMap::new();
        for (at, entry) in contents.entries.iter_mut().enumerate() {
            if let Some(Segment::Name(name)) = entry.path.first() {
                written.insert(at, name.clone());
            }
            entry.path.insert(0, Segment::Name(unit.to_owned()));
        }
        loaded.push(Loaded { written, ..Loaded::new(0, (source, contents)) });
    }
}

/// The variables of all units, in the order of sources.
pub(crate) fn of_units(configuration: &Configuration) -> Vec<Variable> {
    let own = configuration.assignments.iter().filter(|one| {
        // Of other settings the whole key is written.
        one.op == Op::Set && !one.written.contains('/') && one.key.contains('/')
    });
    own.map(Variable::of).collect()
}

/// Marks files that systemd refuses because of what they make together: a second `ExecStart=` is for
/// `Type=oneshot` alone.
pub(crate) fn refuse(configuration: &mut Configuration) {
    let winner = |key: &str| {
        let own = configuration.effective.iter().find(|one| one.key == key)?;
        configuration.assignments.get(own.winner?)
    };
    let missing = configuration
        .sources
        .iter()
        .find(|source| source.state == SourceState::MissingRequired)
        .map(|source| format!("`{}`", source.layer));
    if missing.is_some() {
        configuration.refused_by = missing;
    }
    let mut refused = Vec::new();
    for second in &configuration.effective {
        let Some(unit) = second.key.strip_suffix("/Service/ExecStart[1]") else { continue };
        if !unit.ends_with(".service") {
            continue;
        }
        let kind = winner(&format!("{unit}/Service/Type"));
        let is_oneshot = kind.is_some_and(|kind| kind.value.text.as_deref() == Some("oneshot"));
        if let Some(one) = winner(&second.key).filter(|_| !is_oneshot) {
            refused.push((unit.to_owned(), one.source, one.at));
        }
    }
    for (unit, source, at) in refused {
        configuration.refused_by = Some(format!("`{unit}`"));
        let source = &mut configuration.sources[source];
        source.state = SourceState::Unparsable;
        source.at = at;
        let before = if source.why.is_empty() { "" } else { "; " };
        source.why += before;
        source.why += &format!(
            "line {}: a second `ExecStart=`, which only `Type=oneshot` may have; an empty `ExecStart=` before it \
             removes the first",
            at.map_or(0, |at| at.line)
        );
    }
}
