//! Settings that are classes with fields, as pydantic-settings has them.
//!
//! ```text
//! strongest   variables           PREFIX + FIELD, or PREFIX + FIELD + DELIMITER + FIELD of a group
//!             env_file            the last file first
//!             secrets_dir         a file a field
//!             defaults            of the class
//! ```
//!
//! Groups of fields are merged over the sources; a list or a text replaces a weaker one as a whole.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use super::class::{Class, Written, classes_of};
use super::expression::Value;
use super::module::BY_CODE;
use super::options::Options;
use super::tokens::statements;
use super::values::{UNDECODED, interpolated, values_of};
use crate::asks::REQUIRED;
use crate::needs;
use crate::position::Position;
use crate::profile::{Profile, PythonClasses};
use crate::provenance::{Op, Outcome, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Segment};
use crate::sources::{Collected, Loaded, Part, Request, Root, environment_source, load_file};
use crate::value::Raw;

/// Reads the classes of settings below a root, and their sources.
pub(crate) fn collect(profile: &Profile, request: &Request) -> Collected {
    let Some(rules) = &profile.python_classes else {
        return Collected::in_order(Vec::new(), Vec::new());
    };
    let mut root = Root::from_request(request);
    let classes = Classes::read(rules, &root);
    let settings = classes.settings(rules);
    for class in &settings {
        class.options.secrets_dir.iter().for_each(|folder| root.allow(Path::new(folder)));
    }
    let mut collected = Collected::in_order(classes.gaps, Vec::new());
    for class in &settings {
        class.sources(&root, request, &mut collected);
    }
    collected
}

struct Classes {
    all: BTreeMap<String, Class>,
    gaps: Vec<Loaded>,
}

/// A class of settings with its fields, those of groups below them.
struct Settings {
    name: String,
    file: String,
    fields: Vec<Field>,
    options: Options,
}

struct Field {
    written: Written,
    /// The fields of the group that it is; empty: it is a value.
    below: Vec<Field>,
}

impl Classes {
    fn read(rules: &PythonClasses, root: &Root) -> Self {
        let mut classes = Self { all: BTreeMap::new(), gaps: Vec::new() };
        let files = rules.files.iter().flat_map(|pattern| root.matching(pattern));
        for file in files {
            let Some(bytes) = root.read(Path::new(&file)).bytes else { continue };
            let text = String::from_utf8_lossy(&bytes);
            if !text.contains(&rules.base) && !text.contains(&rules.group_base) {
                continue;
            }
            match statements(&text) {
                Ok(found) => {
                    for class in classes_of(&file, &found) {
                        classes.all.insert(class.name.clone(), class);
                    }
                }
                Err((at, why)) => {
                    let (mut source, _) =
                        load_file(root, Path::new(&file), None, SourceKind::File, "class");
                    source.state = SourceState::Unparsable;
                    source.why = format!("line {}, column {}: {why}", at.line, at.column);
                    classes.gaps.push(Loaded::new(0, (source, Contents::default())));
                }
            }
        }
        classes
    }

    /// Whether a class is below a base.
    fn is_below(&self, class: &Class, base: &str, depth: usize) -> bool {
        depth < 16
            && class.bases.iter().any(|own| {
                own == base
                    || self
                        .all
                        .get(own)
                        .is_some_and(|parent| self.is_below(parent, base, depth + 1))
            })
    }

    fn settings(&self, rules: &PythonClasses) -> Vec<Settings> {
        let all = self.all.values().filter(|class| self.is_below(class, &rules.base, 0));
        // A class that others are made from is no settings of its own.
        let is_parent =
            |class: &&Class| self.all.values().any(|other| other.bases.contains(&class.name));
        let own = all.filter(|class| !is_parent(class) && !self.is_field(class));
        own.map(|class| Settings {
            name: class.name.clone(),
            file: class.file.clone(),
            fields: self.fields(rules, class, 0),
            options: Options::new(&self.options(class, 0)),
        })
        .collect()
    }

    fn is_field(&self, class: &Class) -> bool {
        let mut fields = self.all.values().flat_map(|other| &other.fields);
        fields.any(|field| field.kind == class.name)
    }

    fn options(&self, class: &Class, depth: usize) -> Vec<(String, Value)> {
        let bases = class.bases.iter().filter_map(|base| self.all.get(base));
        let inherited = bases.filter(|_| depth < 16).flat_map(|base| self.options(base, depth + 1));
        inherited.chain(class.options.clone()).collect()
    }

    fn fields(&self, rules: &PythonClasses, class: &Class, depth: usize) -> Vec<Field> {
        if depth > 16 {
            return Vec::new();
        }
        let mut fields: Vec<Field> = Vec::new();
        for base in class.bases.iter().filter_map(|base| self.all.get(base)) {
            fields.extend(self.fields(rules, base, depth + 1));
        }
        for written in &class.fields {
            let group = self.all.get(&written.kind).filter(|group| {
                self.is_below(group, &rules.group_base, 0) || self.is_below(group, &rules.base, 0)
            });
            let below = group.map(|group| self.fields(rules, group, depth + 1)).unwrap_or_default();
            fields.retain(|other| other.written.name != written.name);
            fields.push(Field { written: written.clone(), below });
        }
        fields
    }
}

/// Types whose values are JSON in a variable.
const JSON_KINDS: &[&str] = &[
    "list",
    "dict",
    "set",
    "tuple",
    "frozenset",
    "List",
    "Dict",
    "Set",
    "Tuple",
    "Sequence",
    "Mapping",
];

/// A variable of a source.
struct Given {
    name: String,
    value: Raw,
    at: Option<(Position, u32)>,
    /// Its source: an index of [`Collected::loaded`].
    source: usize,
    used: bool,
    /// Why it loses before fields are set.
    lost: Option<String>,
}

impl Settings {
    fn sources(&self, root: &Root, request: &Request, to: &mut Collected) {
        let first = to.loaded.len();
        self.defaults(root, to);
        to.loaded[first].asked = self.asked();
        if let Some(folder) = &self.options.secrets_dir {
            self.secrets(root, folder, to);
        }
        self.env_files(root, request, to);
        if self.options.has_unknown_file {
            to.loaded.push(needs::unknown(0, &format!("env_file of {}", self.name)));
        }
        if let Some(variables) = &request.environment {
            let (source, _) = environment_source("environment", variables);
            let index = to.loaded.len();
            to.loaded.push(Loaded::new(0, (source, Contents::default())));
            let given = variables.iter().map(|(name, value)| Given {
                name: name.clone(),
                value: value.clone(),
                at: None,
                source: index,
                used: false,
                lost: None,
            });
            self.take(&mut given.collect::<Vec<_>>(), to);
        }
        self.forget_made(&mut to.loaded[first..]);
    }

    /// The variables of the fields, each with the key that it sets.
    fn asked(&self) -> BTreeMap<String, String> {
        let mut asked = BTreeMap::new();
        for field in &self.fields {
            let key = format!("{}.{}", self.name, field.written.name);
            for name in self.names(field) {
                self.add_asked(field, &name, &key, &mut asked);
            }
        }
        asked
    }

    fn add_asked(
        &self,
        field: &Field,
        name: &str,
        key: &str,
        asked: &mut BTreeMap<String, String>,
    ) {
        let shown = if self.options.case_sensitive { name.to_owned() } else { name.to_uppercase() };
        asked.insert(shown, key.to_owned());
        let Some(delimiter) = &self.options.delimiter else { return };
        for inner in &field.below {
            let own = &inner.written.name;
            let (name, key) = (format!("{name}{delimiter}{own}"), format!("{key}.{own}"));
            self.add_asked(inner, &name, &key, asked);
        }
    }

    /// The names of variables that set a field.
    fn names(&self, field: &Field) -> Vec<String> {
        match field.written.aliases.as_slice() {
            [] => vec![format!("{}{}", self.options.prefix, field.written.name)],
            aliases => aliases.to_vec(),
        }
    }

    fn start(&self) -> Vec<Segment> {
        vec![Segment::Name(self.name.clone())]
    }

    fn defaults(&self, root: &Root, to: &mut Collected) {
        let (mut source, _) =
            load_file(root, Path::new(&self.file), None, SourceKind::File, "class");
        (source.state, source.why) = (SourceState::Read, String::new());
        to.loaded.push(Loaded::new(0, (source, Contents::default())));
        add_defaults(&self.fields, &self.start(), to);
    }

    /// Files of a folder, each with the name of a field.
    fn secrets(&self, root: &Root, folder: &str, to: &mut Collected) {
        let files = root.matching(&format!("{}/*", folder.trim_end_matches('/')));
        for file in files {
            let kind = SourceKind::SecretFile;
            let (mut source, _) = load_file(root, Path::new(&file), None, kind, "secrets_dir");
            let index = to.loaded.len();
            let mut given = Vec::new();
            if source.state == SourceState::Unread {
                (source.state, source.why) = (SourceState::Read, String::new());
                let bytes = root.read(Path::new(&file)).bytes.unwrap_or_default();
                given.push(Given {
                    name: file.rsplit('/').next().unwrap_or_default().to_owned(),
                    value: Raw::new(String::from_utf8_lossy(&bytes).trim()),
                    at: Some((Position::START, 1)),
                    source: index,
                    used: false,
                    lost: None,
                });
            }
            to.loaded.push(Loaded::new(0, (source, Contents::default())));
            self.take(&mut given, to);
            let own = &mut to.loaded[index];
            if own.contents.entries.is_empty() && own.source.state == SourceState::Read {
                own.source.state = SourceState::Unread;
                own.source.why = format!("no field of {} has this name", self.name);
            }
        }
    }

    /// All files of variables are one source: a name of a later file replaces that of an earlier one.
    fn env_files(&self, root: &Root, request: &Request, to: &mut Collected) {
        let (mut given, mut lost): (Vec<Given>, Vec<Given>) = (Vec::new(), Vec::new());
        for file in &self.options.env_files {
            for next in self.env_file(root, request, file, to) {
                let same = |other: &Given| {
                    self.options.folded(&other.name) == self.options.folded(&next.name)
                };
                if let Some(at) = given.iter().position(same) {
                    let by = &to.loaded[next.source].source.name;
                    let line = next.at.map_or(1, |(at, _)| at.line);
                    let why = format!("line {line} of {by} sets it again");
                    lost.push(Given { lost: Some(why), ..given.remove(at) });
                }
                given.push(next);
            }
        }
        self.take(&mut lost, to);
        self.take(&mut given, to);
        self.forbid(&given, to);
    }

    fn env_file(
        &self,
        root: &Root,
        request: &Request,
        file: &str,
        to: &mut Collected,
    ) -> Vec<Given> {
        let kind = SourceKind::Dotenv;
        let (source, contents) =
            load_file(root, Path::new(file), Some(Format::EnvPython), kind, "env_file");
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        let mut given: Vec<Given> = Vec::new();
        for entry in &contents.entries {
            let Some(Segment::Name(name)) = entry.path.first() else { continue };
            if entry.null {
                continue;
            }
            let text = interpolated(entry.value.expose(), &|name| {
                let outside = || request.variable(name).map(|value| value.expose().to_owned());
                values.get(name).cloned().or_else(outside)
            });
            values.insert(name.clone(), text.clone());
            given.push(Given {
                name: name.clone(),
                value: Raw::new(text),
                at: Some((entry.at, entry.end_line)),
                source: to.loaded.len(),
                used: false,
                lost: None,
            });
        }
        let contents = Contents { oddities: contents.oddities, ..Contents::default() };
        to.loaded.push(Loaded::new(0, (source, contents)));
        given
    }

    /// Names of an `env_file` that no field has: they end the program, or are left out.
    fn forbid(&self, given: &[Given], to: &mut Collected) {
        let prefix = self.options.folded(&self.options.prefix);
        for unused in given.iter().filter(|given| !given.used) {
            let own = self.options.folded(&unused.name);
            if !own.starts_with(&prefix) {
                self.without_prefix(unused, to);
                continue;
            }
            let why = match self.options.extra.as_str() {
                "forbid" => {
                    "no field has this name, and the class forbids others: the program does not start"
                }
                _ => "no field has this name",
            };
            let mut path = self.start();
            path.push(Segment::Name(own[prefix.len()..].to_owned()));
            push(to, path, unused, (Outcome::NeverApplied, why.to_owned()), String::new());
        }
    }

    /// A name of an `env_file` without the prefix. It is meant for a field if the prefix makes it the name
    /// of one.
    fn without_prefix(&self, unused: &Given, to: &mut Collected) {
        let prefixed = self.options.folded(&format!("{}{}", self.options.prefix, unused.name));
        let meant = self.asked().into_keys().find(|name| self.options.folded(name) == prefixed);
        let why = format!("its name does not start with `{}`", self.options.prefix);
        let verdict = match meant {
            Some(name) => {
                (Outcome::NeverApplied, format!("{why}: `{name}` is the variable of the field"))
            }
            None => (Outcome::Unread, why),
        };
        push(to, vec![Segment::Name(unused.name.clone())], unused, verdict, String::new());
    }

    /// Adds what variables set.
    fn take(&self, given: &mut [Given], to: &mut Collected) {
        let given = RefCell::new(given);
        for field in &self.fields {
            let names = self.names(field);
            let mut path = self.start();
            path.push(Segment::Name(field.written.name.clone()));
            for name in &names {
                if self.take_field(field, name, &path, &mut given.borrow_mut(), to) {
                    break;
                }
            }
        }
    }

    /// Adds what variables set of a field; false if none does.
    fn take_field(
        &self,
        field: &Field,
        name: &str,
        path: &[Segment],
        given: &mut [Given],
        to: &mut Collected,
    ) -> bool {
        let wanted = self.options.folded(name);
        let is_group = !field.below.is_empty();
        let mut found = false;
        let same = |given: &&mut Given| {
            self.options.folded(&given.name) == wanted
                && !(self.options.ignore_empty && given.value.expose().is_empty())
        };
        if let Some(own) = given.iter_mut().find(same) {
            own.used = true;
            found = true;
            let is_json = is_group || JSON_KINDS.contains(&field.written.kind.as_str());
            let (kind, is_json) = match is_json && !self.options.decodes {
                true => (UNDECODED, false),
                false => (field.written.kind.as_str(), is_json),
            };
            for (below, value) in
                values_of(kind, &field.written.literals, is_json, own.value.expose())
            {
                let path = path.iter().cloned().chain(below).collect();
                let (verdict, text) = match value {
                    Ok(text) => ((Outcome::Won, String::new()), text),
                    Err(why) => ((Outcome::Unknown, why), String::new()),
                };
                push(to, path, own, verdict, text);
            }
        }
        let Some(delimiter) = self.options.delimiter.as_ref().filter(|_| is_group) else {
            return found;
        };
        for inner in &field.below {
            let name = format!("{name}{delimiter}{}", inner.written.name);
            let mut path = path.to_vec();
            path.push(Segment::Name(inner.written.name.clone()));
            found |= self.take_field(inner, &name, &path, given, to);
        }
        found
    }

    /// The arguments of a default such as `Sub(a=1)` count only where no source sets a part of it.
    fn forget_made(&self, loaded: &mut [Loaded]) {
        let (first, others) = match loaded.split_first_mut() {
            Some(parts) => parts,
            None => return,
        };
        for field in self.fields.iter().filter(|field| !field.written.made.is_empty()) {
            let mut group = self.start();
            group.push(Segment::Name(field.written.name.clone()));
            let sets = |one: &&Loaded| {
                one.source.state == SourceState::Read
                    && one.contents.entries.iter().enumerate().any(|(at, entry)| {
                        let counts = one.verdicts.get(&at).is_none_or(|(outcome, _)| {
                            matches!(outcome, Outcome::Won | Outcome::Unknown)
                        });
                        counts && entry.path.starts_with(&group)
                    })
            };
            let Some(by) = others.iter().find(|one| sets(one)) else { continue };
            let why = format!(
                "{} sets a part of `{}`, so its default is not used",
                by.source.name, field.written.name
            );
            for (at, entry) in first.contents.entries.iter().enumerate() {
                let is_made = first.verdicts.get(&at).is_some_and(|(_, why)| why == MADE);
                if is_made && entry.path.starts_with(&group) {
                    first.verdicts.insert(at, (Outcome::Shadowed, why.clone()));
                }
            }
        }
    }
}

/// What is said of the arguments of a default.
const MADE: &str = "an argument of the default";

fn add_defaults(fields: &[Field], start: &[Segment], to: &mut Collected) {
    for field in fields {
        let mut path = start.to_vec();
        path.push(Segment::Name(field.written.name.clone()));
        add_defaults(&field.below, &path, to);
        let made = field.written.made.iter().flat_map(|(name, value)| {
            value.leaves().into_iter().map(|(below, text)| {
                let below = std::iter::once(Segment::Name(name.clone())).chain(below).collect();
                (below, text, MADE)
            })
        });
        let default = field.written.default.iter().flat_map(Value::leaves);
        let default = default.map(|(below, text)| (below, text, ""));
        if field.written.is_required && field.below.is_empty() {
            push_request(field, &path, to);
        }
        for (below, text, remark) in default.chain(made).collect::<Vec<(Vec<Segment>, _, _)>>() {
            let verdict = match &text {
                Some(_) => (Outcome::Won, remark.to_owned()),
                None => (Outcome::Unknown, BY_CODE.to_owned()),
            };
            let given = given_by_class(field, to);
            let path = path.iter().cloned().chain(below).collect();
            push(to, path, &given, verdict, text.unwrap_or_default());
        }
    }
}

/// What the class itself gives for a field: nothing has a name for it.
fn given_by_class(field: &Field, to: &Collected) -> Given {
    Given {
        name: String::new(),
        value: Raw::default(),
        at: Some((field.written.at, field.written.at.line)),
        source: to.loaded.len() - 1,
        used: true,
        lost: None,
    }
}

/// Notes a field that some source must set.
fn push_request(field: &Field, path: &[Segment], to: &mut Collected) {
    let given = given_by_class(field, to);
    let verdict = (Outcome::Requested, REQUIRED.to_owned());
    push(to, path.to_vec(), &given, verdict, String::new());
    if let Some(entry) = to.loaded.last_mut().and_then(|one| one.contents.entries.last_mut()) {
        (entry.op, entry.null) = (Op::Inherit, true);
    }
}

fn push(
    to: &mut Collected,
    path: Vec<Segment>,
    given: &Given,
    verdict: (Outcome, String),
    text: String,
) {
    let (mut outcome, mut reason) = verdict;
    if let Some(why) = &given.lost {
        (outcome, reason) = (Outcome::Shadowed, why.clone());
    } else if reason.is_empty() && !given.name.is_empty() {
        reason = format!("from `{}`", crate::secret::name(&given.name));
    }
    let (at, end_line) = given.at.unwrap_or((Position::START, 1));
    let one = &mut to.loaded[given.source];
    let entry = one.contents.entries.len();
    if !given.name.is_empty() {
        one.written.insert(entry, given.name.clone());
    }
    one.verdicts.insert(entry, (outcome, reason));
    one.contents.entries.push(Entry {
        path,
        // An empty dictionary: it leaves what weaker sources set below it.
        null: text == "{}",
        retyped: None,
        value: Raw::new(text),
        op: Op::Set,
        template: false,
        at,
        end_line,
        document: 0,
    });
    to.parts.push(Part { loaded: given.source, entries: entry..entry + 1 });
}
