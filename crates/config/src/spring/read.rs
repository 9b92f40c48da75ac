//! Reading files and what they import, before the profiles are known and after.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::FILES;
use super::active::Context;
use super::environment::Environment;
use super::location::{FileTarget, Location, Locator, Stem, Target, format_of};
use super::placeholder;
use super::tree::{Document, Node, Phase, Tree};
use crate::profile::Profile;
use crate::provenance::{Outcome, Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Segment};
use crate::resolve::{identity, key_of};
use crate::sources::{Choice, Defined, Loaded, NO_LAYER, Part, Request, Root, load_file};
use crate::value::Raw;

/// The locations where `spring.config.location` names none, with what they are called.
const DEFAULT_LOCATIONS: [(&str, &str); 2] = [
    ("optional:classpath:/;optional:classpath:/config/", "class path"),
    ("optional:file:./;optional:file:./config/;optional:file:./config/*/", "working folder"),
];

const IMPORT: &str = "spring.config.import";
const ON_PROFILE: &str = "spring.config.activate.on-profile";
const ON_PLATFORM: &str = "spring.config.activate.on-cloud-platform";

/// More documents than this import each other without an end.
const MAX_DOCUMENTS: usize = 2_000;
/// Folders of a tree of keys are not deeper.
const MAX_DEPTH: usize = 16;

/// Reads files.
pub(super) struct Reader<'a> {
    pub(super) profile: &'a Profile,
    pub(super) environment: &'a Environment<'a>,
    pub(super) tree: Tree,
    /// The cloud platform, when it is known.
    pub(super) known_platform: Option<String>,
    locator: Locator<'a>,
    loaded: Vec<Loaded>,
    taken: BTreeSet<String>,
    stems: Vec<Stem>,
    /// What the initial locations are called.
    called: BTreeMap<usize, String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        root: &'a Root,
        environment: &'a Environment<'a>,
    ) -> Self {
        let names = environment.list(profile, "spring.config.name").map(|(names, _)| names);
        let names = names.unwrap_or_else(|| vec!["application".to_owned()]);
        Self {
            profile,
            environment,
            tree: Tree::default(),
            known_platform: None,
            locator: Locator { root, names },
            loaded: Vec::new(),
            taken: BTreeSet::new(),
            stems: Vec::new(),
            called: BTreeMap::new(),
        }
    }

    /// Reads all; returns the profiles.
    pub(super) fn run(&mut self, request: &Request) -> Defined {
        self.start();
        self.follow(Phase::Before, &Context::Nothing);
        self.known_platform = self.platform();
        self.follow(Phase::Before, &Context::Platform);
        let profiles = self.profiles(request);
        self.follow(Phase::After, &Context::Profiles(profiles.values.clone()));
        self.check_of_profile();
        profiles
    }

    /// The locations from which all starts, the strongest first.
    fn start(&mut self) {
        let listed = |key: &str| {
            let list = self.environment.list(self.profile, key).map(|(list, _)| list);
            list.map(|list| list.into_iter().map(|text| (text, key.to_owned())).collect::<Vec<_>>())
        };
        let defaults = || {
            let default = |(text, called): (&str, &str)| (text.to_owned(), called.to_owned());
            DEFAULT_LOCATIONS.map(default).to_vec()
        };
        let mut strongest: Vec<(String, String)> = Vec::new();
        for list in [
            listed(IMPORT).unwrap_or_default(),
            listed("spring.config.additional-location").unwrap_or_default(),
            listed("spring.config.location").unwrap_or_else(defaults),
        ] {
            strongest.extend(list.into_iter().rev());
        }
        for (text, called) in strongest {
            let text = self.replaced(&text);
            let at = self.tree.add(Node::location(&text));
            self.tree.locations.push(at);
            self.called.insert(at, called);
        }
    }

    /// Reads what is imported in a phase, until nothing is left.
    fn follow(&mut self, phase: Phase, context: &Context) {
        loop {
            let order = self.tree.strongest_first();
            let next = order.into_iter().find(|at| {
                let node = &self.tree.nodes[*at];
                !node.bound || node.waits(phase) && self.is_active(node, context)
            });
            let Some(at) = next.filter(|_| self.tree.nodes.len() < MAX_DOCUMENTS) else { return };
            if !self.tree.nodes[at].bound {
                self.bind(at, context);
                continue;
            }
            let profiles: &[String] = match context {
                Context::Profiles(profiles) => profiles,
                _ => &[],
            };
            let children = self.import(at, profiles);
            self.tree.set(at, phase, children);
        }
    }

    /// Finds out what a document imports, and when it counts.
    fn bind(&mut self, at: usize, context: &Context) {
        let imports = self.list_of(at, IMPORT).map(|(values, _)| values).unwrap_or_default();
        let mut known = Vec::new();
        for text in imports {
            match placeholder::expand(&text, &|key| {
                self.value(key, context).map(|(value, _)| value)
            }) {
                Some(expanded) if expanded.left.is_empty() => known.push(expanded.text),
                _ => self.refuse(at, "a placeholder of its imports has no value"),
            }
        }
        let text = |key: &str| self.list_of(at, key).map(|(values, _)| values.join(", "));
        let (on_profile, on_platform) = (text(ON_PROFILE), text(ON_PLATFORM));
        let is_old = self.list_of(at, "spring.profiles").is_some();
        let node = &mut self.tree.nodes[at];
        node.imports = known;
        (node.on_profile, node.on_platform, node.bound) = (on_profile, on_platform, true);
        if is_old {
            self.refuse(at, "Spring refuses `spring.profiles`; it wants `on-profile`");
        }
    }

    /// Reads what a node imports; returns the documents, the strongest first.
    fn import(&mut self, at: usize, profiles: &[String]) -> Vec<usize> {
        let (imports, base) =
            (self.tree.nodes[at].imports.clone(), self.tree.nodes[at].base.clone());
        let called = match self.called.get(&at) {
            Some(called) => called.clone(),
            None => format!("imported by {}", self.file_of(at)),
        };
        let mut targets = Vec::new();
        for text in &imports {
            let group = Location::group(text);
            targets.extend(self.locator.targets(&group, &base, None, &mut self.stems));
            for profile in profiles {
                let stems = &mut self.stems;
                targets.extend(self.locator.targets(&group, &base, Some(profile), stems));
            }
        }
        let mut children = Vec::new();
        for target in targets.iter().rev() {
            match target {
                Target::File(file) => children.extend(self.file(file, &called)),
                Target::Tree(folder) => {
                    let is_optional = imports.iter().any(|text| text.starts_with("optional:"));
                    children.extend(self.key_tree(folder, &called, is_optional));
                }
                Target::Other(why) => {
                    children.extend(self.other(&imports, (SourceState::Unsupported, why), &called));
                }
                Target::Refused(why) => {
                    children.extend(self.other(&imports, (SourceState::Unparsable, why), &called));
                }
            }
        }
        children
    }

    fn file(&mut self, file: &FileTarget, called: &str) -> Vec<usize> {
        if self.taken.contains(&file.path) {
            return Vec::new();
        }
        let exists = !self.locator.root.matching(&file.path).is_empty();
        // What is looked for in folders is not said where it is missing.
        let is_named = called.starts_with("imported") || called == IMPORT;
        let is_said = is_named && file.profile.is_none() && file.optional;
        if !exists && file.skippable && !is_said {
            return Vec::new();
        }
        self.taken.insert(file.path.clone());
        let layer = match file.profile {
            Some(_) => format!("{called}, for the profile"),
            None => called.to_owned(),
        };
        let path = Path::new(&file.path);
        let (mut source, mut contents) =
            load_file(self.locator.root, path, Some(file.format), SourceKind::File, &layer);
        if source.state == SourceState::Missing && !file.skippable {
            source.state = SourceState::MissingRequired;
            source.why = format!("{}; {called}", source.why);
        }
        contents.entries.append(&mut contents.empties);
        contents.entries.sort_by_key(|entry| (entry.document, entry.at));
        self.loaded.push(Loaded::new(FILES, (source, contents)));
        let loaded = self.loaded.len() - 1;
        let documents = documents(loaded, &self.loaded[loaded].contents);
        let of_profile = file.profile.is_some();
        let nodes = documents.into_iter().rev().map(|document| {
            self.tree.add(Node::document(document, &file.base, of_profile, of_profile))
        });
        nodes.collect()
    }

    /// The files below a folder, each a key.
    fn key_tree(&mut self, folder: &str, called: &str, optional: bool) -> Vec<usize> {
        if !self.taken.insert(format!("{folder}/")) {
            return Vec::new();
        }
        let files = files_below(self.locator.root, folder, 0);
        let mut nodes = Vec::new();
        if files.is_empty() && !self.is_folder(folder) {
            let state = match optional {
                true => SourceState::Missing,
                false => SourceState::MissingRequired,
            };
            nodes.push(self.note(format!("{folder}/"), called, state, "no such folder"));
        }
        for file in files {
            let read = self.locator.root.read(Path::new(&file));
            let (mut source, _) =
                load_file(self.locator.root, Path::new(&file), None, SourceKind::File, called);
            let mut contents = Contents::default();
            if let Some(bytes) = read.bytes {
                (source.state, source.why) = (SourceState::Read, String::new());
                let key = file[folder.len()..].trim_start_matches('/').replace('/', ".");
                let text = String::from_utf8_lossy(&bytes);
                let value = Raw::new(without_line_end(&text));
                contents.entries.push(Entry::unplaced(vec![Segment::Name(key)], value));
            }
            self.loaded.push(Loaded::new(NO_LAYER, (source, contents)));
            let loaded = self.loaded.len() - 1;
            for document in documents(loaded, &self.loaded[loaded].contents) {
                nodes.push(self.tree.add(Node::document(document, "", false, false)));
            }
        }
        nodes
    }

    fn is_folder(&self, folder: &str) -> bool {
        let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.locator.root.entries(parent).1.iter().any(|path| path == folder)
    }

    /// Notes something that Spring imports and Culprit does not read, or that Spring refuses.
    fn other(
        &mut self,
        imports: &[String],
        (state, why): (SourceState, &str),
        called: &str,
    ) -> Option<usize> {
        let name = imports.join(", ");
        let is_new = self.taken.insert(name.clone());
        is_new.then(|| self.note(name, called, state, why))
    }

    fn note(&mut self, name: String, called: &str, state: SourceState, why: &str) -> usize {
        let source = Source {
            kind: SourceKind::File,
            name,
            layer: called.to_owned(),
            state,
            why: why.to_owned(),
            at: None,
            sha256: None,
            bytes: 0,
            modified: None,
        };
        self.loaded.push(Loaded::new(FILES, (source, Contents::default())));
        let document = Document { loaded: self.loaded.len() - 1, number: 0, entries: 0..0 };
        self.tree.add(Node::document(document, "", false, false))
    }

    /// The entries of a document.
    fn entries(&self, at: usize) -> &[Entry] {
        let document = self.tree.nodes[at].document.as_ref();
        document.map_or(&[], |document| {
            &self.loaded[document.loaded].contents.entries[document.entries.clone()]
        })
    }

    /// The file of a document.
    pub(super) fn file_of(&self, at: usize) -> String {
        let document = self.tree.nodes[at].document.as_ref();
        document.map_or(String::new(), |document| self.loaded[document.loaded].source.name.clone())
    }

    /// Says that Spring does not start with a document's file.
    pub(super) fn refuse(&mut self, at: usize, why: &str) {
        let Some(document) = &self.tree.nodes[at].document else { return };
        let source = &mut self.loaded[document.loaded].source;
        if source.state == SourceState::Read {
            (source.state, source.why) = (SourceState::Unparsable, why.to_owned());
        }
    }

    /// The elements of a list of a document, and the line of the first.
    pub(super) fn list_of(&self, at: usize, key: &str) -> Option<(Vec<String>, u32)> {
        let wanted = identity(self.profile, key);
        let own = |entry: &Entry| identity(self.profile, &key_of(self.profile, &entry.path));
        let entries = self.entries(at);
        if let Some(entry) = entries.iter().rev().find(|entry| own(entry) == wanted) {
            let is_empty_list = matches!(entry.value.expose(), "[]" | "{}") && entry.null;
            let values =
                if is_empty_list { Vec::new() } else { super::split(entry.value.expose()) };
            return Some((values, entry.at.line));
        }
        let start = format!("{wanted}[");
        let elements: Vec<&Entry> =
            entries.iter().filter(|entry| own(entry).starts_with(&start)).collect();
        let first = elements.first()?;
        let texts = elements.iter().map(|entry| entry.value.expose().trim().to_owned());
        Some((texts.collect(), first.at.line))
    }

    /// The keys below a key in a document, with their values.
    pub(super) fn pairs_below(&self, at: usize, start: &str) -> Vec<(String, String)> {
        let pair = |entry: &Entry| {
            let key = key_of(self.profile, &entry.path);
            Some((key.strip_prefix(start)?.to_owned(), entry.value.expose().to_owned()))
        };
        self.entries(at).iter().filter_map(pair).collect()
    }

    /// The value of a key as far as it is known, and whether the environment has it.
    pub(super) fn value(&self, key: &str, context: &Context) -> Option<(String, bool)> {
        if let Some((value, _)) = self.environment.get(self.profile, key) {
            return Some((value.to_owned(), true));
        }
        let wanted = identity(self.profile, key);
        let order = self.tree.strongest_first().into_iter();
        let mut active = order.filter(|at| {
            let node = &self.tree.nodes[*at];
            node.bound && self.is_active(node, context)
        });
        active.find_map(|at| {
            let own = |entry: &&Entry| {
                identity(self.profile, &key_of(self.profile, &entry.path)) == wanted
            };
            let found = self.entries(at).iter().rev().find(own)?;
            Some((found.value.expose().to_owned(), false))
        })
    }

    /// A text with its placeholders replaced, where they have values.
    pub(super) fn replaced(&self, text: &str) -> String {
        let lookup = |key: &str| self.value(key, &Context::Platform).map(|(value, _)| value);
        placeholder::expand(text, &lookup).map_or_else(|| text.to_owned(), |expanded| expanded.text)
    }

    /// What was read, the weakest first, and the files of other profiles.
    pub(super) fn ordered(mut self, defined: &Defined) -> (Vec<Loaded>, Vec<Part>) {
        let order: Vec<usize> = self.tree.strongest_first().into_iter().rev().collect();
        self.judge_platforms(&order);
        let mut parts: Vec<Part> = Vec::new();
        for document in order.iter().filter_map(|at| self.tree.nodes[*at].document.as_ref()) {
            parts.push(Part { loaded: document.loaded, entries: document.entries.clone() });
        }
        self.stems.sort();
        self.stems.dedup();
        for stem in self.stems.iter().filter(|stem| !stem.ending.is_empty()) {
            let pattern = format!("{}-*{}", stem.path, stem.ending);
            for name in self.locator.root.matching(&pattern) {
                if !self.taken.insert(name.clone()) {
                    continue;
                }
                let held = load_file(
                    self.locator.root,
                    Path::new(&name),
                    format_of(&name),
                    SourceKind::File,
                    "another profile",
                );
                let mut one = Loaded::new(NO_LAYER, held);
                let value = name.strip_prefix(&format!("{}-", stem.path));
                let value = value.and_then(|rest| rest.strip_suffix(&stem.ending));
                one.choice = self
                    .profile
                    .define(&defined.name)
                    .and_then(|define| Choice::new(define, defined, value?));
                (one.source.state, one.source.why) = (
                    SourceState::Unread,
                    format!("`profile` is `{}` ({})", defined.values.join(","), defined.from),
                );
                parts.push(Part {
                    loaded: self.loaded.len(),
                    entries: 0..one.contents.entries.len(),
                });
                self.loaded.push(one);
            }
        }
        in_order(self.loaded, parts)
    }

    /// Documents of another cloud platform do not count.
    fn judge_platforms(&mut self, order: &[usize]) {
        for at in order {
            let node = &self.tree.nodes[*at];
            let (Some(platform), Some(document)) = (&node.on_platform, &node.document) else {
                continue;
            };
            if self.is_of_platform(platform) {
                continue;
            }
            let why = format!("needs the cloud platform `{platform}`");
            for entry in document.entries.clone() {
                let verdict = (Outcome::ConditionFalse, why.clone());
                self.loaded[document.loaded].verdicts.insert(entry, verdict);
            }
        }
    }
}

/// Sorts what was loaded by its first part; what has none stands first.
fn in_order(loaded: Vec<Loaded>, mut parts: Vec<Part>) -> (Vec<Loaded>, Vec<Part>) {
    let first = |at: usize| parts.iter().position(|part| part.loaded == at);
    let mut order: Vec<(Option<usize>, usize)> =
        (0..loaded.len()).map(|at| (first(at), at)).collect();
    order.sort();
    let now: BTreeMap<usize, usize> =
        order.iter().enumerate().map(|(now, (_, before))| (*before, now)).collect();
    parts.iter_mut().for_each(|part| part.loaded = now[&part.loaded]);
    let mut sorted: Vec<(usize, Loaded)> =
        loaded.into_iter().enumerate().map(|(at, one)| (now[&at], one)).collect();
    sorted.sort_by_key(|(now, _)| *now);
    (sorted.into_iter().map(|(_, one)| one).collect(), parts)
}

/// The documents of a file; one without entries, if it has none: also a file that cannot be read has its
/// place among the others.
fn documents(loaded: usize, contents: &Contents) -> Vec<Document> {
    let mut documents: Vec<Document> = Vec::new();
    for (at, entry) in contents.entries.iter().enumerate() {
        match documents.last_mut() {
            Some(last) if last.number == entry.document => last.entries.end = at + 1,
            _ => documents.push(Document { loaded, number: entry.document, entries: at..at + 1 }),
        }
    }
    if documents.is_empty() {
        documents.push(Document { loaded, number: 0, entries: 0..0 });
    }
    documents
}

fn files_below(root: &Root, folder: &str, depth: usize) -> Vec<String> {
    let is_shown =
        |path: &String| !path.rsplit('/').next().is_some_and(|name| name.starts_with(".."));
    let (files, folders) = root.entries(folder);
    let mut found: Vec<String> = files.into_iter().filter(is_shown).collect();
    if depth < MAX_DEPTH {
        for inner in folders.iter().filter(|path| is_shown(path)) {
            found.extend(files_below(root, inner, depth + 1));
        }
    }
    found
}

/// A text of one line without its end; other texts as they are.
fn without_line_end(text: &str) -> &str {
    match text.strip_suffix('\n') {
        Some(line) if !line.contains('\n') => line.strip_suffix('\r').unwrap_or(line),
        _ => text,
    }
}
