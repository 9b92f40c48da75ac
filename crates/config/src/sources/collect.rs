//! The sources of a layered profile, the weakest first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::define::{choice, defined, names_of, path_defined, why_not, with_stars};
use super::{Collected, Defined, Loaded, Request, Root, environment_source, load_file};
use crate::launch::{self, Launch};
use crate::profile::{Layer, Needs, Profile, Replaces, placeholders};
use crate::provenance::{Op, Outcome, Source, SourceKind, SourceState};
use crate::readers::{Contents, Format, KEPT, Oddity};
use crate::resolve::key_of;
use crate::value::Raw;
use crate::{arguments, asks, expand, folder, include, needs, repository, switch, variable};

/// Reads all sources of a layered profile.
#[must_use]
pub fn collect(profile: &Profile, request: &Request) -> Collected {
    let mut root = Root::from_request(request);
    let mut defines = path_defines(profile, request, &root);
    let launch = launch::read(profile, request, &root);
    // What the shell has, without what a launch profile sets.
    let shell = request.environment.as_deref();
    let request = &with_launch(request, launch.as_ref());
    let of_names = profile.layers.iter().position(|layer| layer.names_variables);
    let of_names = of_names.unwrap_or_default();
    let filled = profile.fills.as_ref();
    let filled = filled.and_then(|fills| needs::filled(fills, (&root, of_names), request));
    let request = &with_filled(request, filled.as_ref());
    defines.iter().flat_map(|path| &path.values).for_each(|path| root.allow(Path::new(path)));
    let mut collector = Collector {
        profile,
        root: &root,
        taken: BTreeSet::new(),
        loaded: Vec::new(),
        beating: Vec::new(),
    };
    collector.loaded.extend(filled.iter().flat_map(|filled| filled.sources.clone()));
    // Files that no define chooses come before the others, because one of them may set a define.
    for (index, layer) in profile.layers.iter().enumerate() {
        match &layer.needs {
            Some(needs) => collector.needed((index, layer), needs, request),
            None => collector.plain((index, layer)),
        }
        let asks = layer.asks.iter().flat_map(|asks| asks::sources(asks, (index, layer), &root));
        collector.loaded.extend(asks);
        let variables = match layer.environment {
            Some(_) => shell,
            None => request.environment.as_deref(),
        };
        let found = variables.and_then(|variables| of_variables(layer, variables));
        collector.loaded.extend(found.map(|held| Loaded::new(index, held)));
        let given = layer.arguments.then(|| arguments::of_switches(&request.arguments));
        let given = given.and_then(|pairs| arguments::source("arguments", pairs));
        collector.loaded.extend(given.map(|held| Loaded::new(index, held)));
        // Where it does not count, it is shown once, as the last of all variables.
        let is_last = profile.layers[index + 1..].iter().all(|later| later.environment.is_none());
        let launched = launch
            .as_ref()
            .filter(|launch| layer.environment.is_some() && (launch.counts() || is_last));
        let held = launched.map(|launch| (launch.source.clone(), launch.contents.clone()));
        collector.loaded.extend(held.map(|held| Loaded::new(index, held)));
    }
    for define in profile.defines.iter().filter(|define| !define.path) {
        defines.push(defined(define, profile, request, &collector.loaded));
    }
    for (index, layer) in profile.layers.iter().enumerate() {
        collector.chosen((index, layer), &defines);
    }
    // What looks as if it belonged to a layer is known when every layer has its files.
    for (index, layer) in profile.layers.iter().enumerate() {
        collector.unread((index, layer), &defines);
    }
    collector.loaded.append(&mut collector.beating);
    // Within a layer the order of reading is the order of strength.
    collector.loaded.sort_by_key(|loaded| loaded.layer);
    let mut loaded = collector.loaded;
    if profile.keys.replaces != Replaces::Nothing {
        for Loaded { contents, .. } in &mut loaded {
            contents.entries.append(&mut contents.empties);
            contents.entries.sort_by_key(|entry| (entry.document, entry.at));
        }
    }
    let places = filled.map(|filled| filled.places()).unwrap_or_default();
    switch::apply(profile, (request, &places), &defines, &mut loaded);
    expand_values(profile, &root, request, &mut loaded);
    defines.sort_by_key(|one| profile.defines.iter().position(|define| define.name == one.name));
    let is_shown = |one: &Defined| {
        let is_quiet = profile.define(&one.name).is_some_and(|define| define.quiet);
        !is_quiet || !one.values.is_empty()
    };
    defines.retain(is_shown);
    match &profile.includes {
        Some(includes) => include::follow(includes, &root, request, loaded, defines),
        None => Collected::in_order(loaded, defines),
    }
}

/// The defines that are paths.
fn path_defines(profile: &Profile, request: &Request, root: &Root) -> Vec<Defined> {
    let mut defines = Vec::new();
    // Paths that no file sets are known first, because files lie below them.
    for define in profile.defines.iter().filter(|define| define.path) {
        let found = defined(define, profile, request, &[]);
        let is_open = found.values.is_empty();
        let element = define.element.as_ref().filter(|_| is_open);
        let element = element.and_then(|element| folder::element(root, element));
        let repository = define.repository.filter(|_| is_open);
        let place = element.or_else(|| repository::find(root, repository?));
        let found = match place {
            Some((value, from)) => Defined { values: vec![value], from, ..found },
            None => found,
        };
        defines.push(path_defined(found, &defines, request));
    }
    defines
}

/// A request in whose environment the variables of a launch profile are.
fn with_launch(request: &Request, launch: Option<&Launch>) -> Request {
    let environment = request.environment.as_deref();
    let changed = launch.filter(|launch| launch.counts());
    let changed = changed.zip(environment).map(|(launch, variables)| launch.over(variables));
    Request { environment: changed.or_else(|| request.environment.clone()), ..request.clone() }
}

/// A request in whose environment the variables of a file are that it does not have.
fn with_filled(request: &Request, filled: Option<&needs::Filled>) -> Request {
    let mut request = request.clone();
    let more = filled.iter().flat_map(|filled| &filled.variables);
    let more: Vec<(String, Raw)> =
        more.map(|(name, value, _)| (name.clone(), value.clone())).collect();
    if !more.is_empty() {
        request.environment.get_or_insert_default().extend(more);
    }
    request
}

/// The layers in whose values `$NAME` stands for a variable.
fn expanding(profile: &Profile, packages: &str) -> BTreeSet<usize> {
    let expands =
        |layer: &Layer| layer.expands || named_first(&layer.expands_with, packages).is_some();
    let layers = profile.layers.iter().enumerate();
    layers.filter(|(_, layer)| expands(layer)).map(|(at, _)| at).collect()
}

/// The file that names the packages of a project of Node.js.
const PACKAGES: &str = "package.json";

/// The first of some packages that a file of packages names.
fn named_first<'n>(names: &'n [String], packages: &str) -> Option<&'n String> {
    names.iter().find(|name| packages.contains(&format!("\"{name}\"")))
}

/// Notes `${NAME}` in values of layers that keep it, where NAME is set in the same file.
fn note_references(
    profile: &Profile,
    packages: &str,
    expanding: &BTreeSet<usize>,
    loaded: &mut [Loaded],
) {
    for one in loaded.iter_mut().filter(|one| one.source.state == SourceState::Read) {
        let layer = profile.layers.get(one.layer);
        let could = layer.is_some_and(|layer| !layer.expands_with.is_empty());
        if !could || expanding.contains(&one.layer) {
            continue;
        }
        let entries = &one.contents.entries;
        let may = layer.and_then(|layer| named_first(&layer.may_expand_with, packages));
        if let Some(package) = may {
            if entries.iter().any(|entry| entry.value.expose().contains("${")) {
                one.is_doubtful = true;
                one.source.why = format!("`{package}` may replace `${{NAME}}` in it");
            }
            continue;
        }
        let names: BTreeSet<String> =
            entries.iter().map(|entry| key_of(profile, &entry.path)).collect();
        let odd = entries.iter().flat_map(|entry| {
            let parts = entry.value.expose().split("${").skip(1);
            let used = parts.filter_map(|rest| Some(rest.split_once('}')?.0));
            let known = used.filter(|name| names.contains(*name));
            let noted = |name: &str| Oddity { at: entry.at, name: name.to_owned(), what: KEPT };
            known.map(noted).collect::<Vec<_>>()
        });
        let odd: Vec<Oddity> = odd.collect();
        one.contents.oddities.extend(odd);
    }
}

/// Replaces `$NAME` in the values of layers that have it, by variables and by stronger values first.
fn expand_values(profile: &Profile, root: &Root, request: &Request, loaded: &mut [Loaded]) {
    let packages = root.read(Path::new(PACKAGES)).bytes.unwrap_or_default();
    let packages = String::from_utf8_lossy(&packages);
    let expanding = expanding(profile, &packages);
    note_references(profile, &packages, &expanding, loaded);
    let expands =
        |one: &Loaded| one.source.state == SourceState::Read && expanding.contains(&one.layer);
    let mut values: BTreeMap<String, Raw> = BTreeMap::new();
    for entry in loaded.iter().filter(|one| expands(one)).flat_map(|one| &one.contents.entries) {
        values.insert(key_of(profile, &entry.path), entry.value.clone());
    }
    let lookup = |name: &str| {
        let found = request.variable(name).or_else(|| values.get(name));
        found.map(|value| value.expose().to_owned())
    };
    for one in loaded.iter_mut().filter(|one| expands(one)) {
        for (at, entry) in one.contents.entries.iter_mut().enumerate() {
            let text = entry.value.expose();
            let made = expand::expanded(text, &lookup);
            if made == text {
                continue;
            }
            let names = text.split('$').skip(1);
            let names = names.map(|rest| expand::name_of(rest.strip_prefix('{').unwrap_or(rest)));
            let used: Vec<(String, Raw)> = names
                .filter(|name| !name.is_empty())
                .map(|name| (name.to_owned(), Raw::new(lookup(name).unwrap_or_default())))
                .collect();
            let words = |(name, _): &(String, Raw)| match lookup(name) {
                Some(_) => format!("`${{{}}}`", crate::secret::name(name)),
                None => format!("`${{{}}}` (not set)", crate::secret::name(name)),
            };
            let words: Vec<String> = used.iter().map(words).collect();
            if !words.is_empty() {
                let why = format!("made from {}", words.join(", "));
                one.verdicts.entry(at).or_insert((Outcome::Won, why));
            }
            one.made.insert(at, used);
            entry.op = Op::TokenExpand;
            entry.value = Raw::new(made);
        }
    }
}

struct Collector<'a> {
    profile: &'a Profile,
    root: &'a Root,
    taken: BTreeSet<String>,
    loaded: Vec<Loaded>,
    /// What is stronger than the environment, although its layer is weaker.
    beating: Vec<Loaded>,
}

impl Collector<'_> {
    /// Reads the files of a layer that no define chooses.
    fn plain(&mut self, (index, layer): (usize, &Layer)) {
        for file in layer.files.iter().filter(|file| placeholders(file).next().is_none()) {
            let names = self.root.matching(file);
            names.iter().for_each(|name| self.file((index, layer), name, None));
        }
    }

    /// Reads the files of a layer that the project says it reads, and shows its others as not read.
    fn needed(&mut self, (index, layer): (usize, &Layer), needs: &Needs, request: &Request) {
        let asks = self.profile.layers.iter().find_map(|layer| layer.asks.as_ref());
        let default = layer.files.first().map_or("", String::as_str);
        let uses = needs::Uses::new(needs, default, asks, self.root, request);
        let environment = self.profile.layers.iter().rposition(|one| one.environment.is_some());
        let stronger = |beats: bool| environment.filter(|_| beats).unwrap_or(index);
        for file in &uses.files {
            let is_missing = self.root.matching(&file.file).is_empty();
            let before = self.loaded.len();
            // That there is no `.env` is no news.
            if !is_missing || file.file != default {
                self.file((index, layer), &file.file, None);
            }
            let Some(one) = self.loaded.get_mut(before) else { continue };
            one.layer = stronger(file.beats);
            one.is_doubtful = !file.doubt.is_empty();
            if is_missing {
                one.source.why = format!("no such file; {} reads it", file.by);
            }
            if is_missing && file.is_required {
                one.source.state = SourceState::MissingRequired;
                one.source.why =
                    format!("no such file; Node.js does not start: {} names it", file.by);
            }
            if one.is_doubtful {
                one.source.why.clone_from(&file.doubt);
            }
            if file.beats {
                self.beating.extend(self.loaded.pop());
            }
        }
        for (place, beats) in &uses.unknown {
            let to = if *beats { &mut self.beating } else { &mut self.loaded };
            to.push(needs::unknown(stronger(*beats), place));
        }
        for name in layer.files.iter().flat_map(|file| self.root.matching(file)) {
            self.file((index, layer), &name, Some(&uses.why_not));
        }
    }

    /// Reads the files of a layer that defines choose.
    fn chosen(&mut self, (index, layer): (usize, &Layer), defines: &[Defined]) {
        let chosen: Vec<&String> =
            layer.files.iter().filter(|file| placeholders(file).next().is_some()).collect();
        for file in names_of(&chosen, self.profile, defines) {
            let names = self.root.matching(&file);
            names.iter().for_each(|name| self.file((index, layer), name, None));
        }
    }

    /// Reads the files that another value of a define would choose, and those that programs leave.
    fn unread(&mut self, (index, layer): (usize, &Layer), defines: &[Defined]) {
        for file in layer.files.iter().filter(|file| placeholders(file).next().is_some()) {
            for name in self.root.matching(&with_stars(self.profile, file, defines)) {
                let before = self.loaded.len();
                let why = why_not(self.profile, (file, &name), defines);
                self.file((index, layer), &name, Some(&why));
                if let Some(one) = self.loaded.get_mut(before) {
                    one.choice = choice(self.profile, file, &name, defines);
                }
            }
        }
        for file in &layer.not_read {
            let why = format!("the program reads {}", layer.files.join(", "));
            let names = self.root.matching(file);
            names.iter().for_each(|name| self.file((index, layer), name, Some(&why)));
        }
    }

    /// Reads a file, unless an earlier pattern took it; with a reason it does not count.
    fn file(&mut self, (index, layer): (usize, &Layer), name: &str, unread: Option<&str>) {
        let format = layer.format.or_else(|| self.profile.formats.of(name));
        let is_opaque = layer.is_opaque(name);
        if format.is_none() && !is_opaque || !self.taken.insert(name.to_owned()) {
            return;
        }
        let is_env = format.is_some_and(Format::is_env) && layer.format.is_some();
        let kind = if is_env { SourceKind::Dotenv } else { SourceKind::File };
        let format = format.filter(|_| !is_opaque);
        let (mut source, mut contents) =
            load_file(self.root, Path::new(name), format, kind, &layer.name);
        if is_opaque && !source.state.is_gap() {
            contents = Contents::default();
            source.state = SourceState::Unsupported;
            source.why = "Culprit cannot read its format, and runs no program".to_owned();
        }
        if let Some(why) = unread {
            (source.state, source.why) = (SourceState::Unread, why.to_owned());
        }
        self.loaded.push(Loaded::new(index, (source, contents)));
    }
}

/// What a layer takes from the environment; none if it takes nothing.
fn of_variables(layer: &Layer, variables: &[(String, Raw)]) -> Option<(Source, Contents)> {
    if layer.environment.is_some() {
        return Some(environment_source(&layer.name, variables));
    }
    layer
        .document
        .as_ref()
        .and_then(|document| variable::document(&layer.name, document, variables))
        .or_else(|| {
            layer
                .counted
                .as_ref()
                .and_then(|counted| variable::counted(&layer.name, counted, variables))
        })
}
