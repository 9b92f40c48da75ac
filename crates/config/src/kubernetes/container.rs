//! The variables of one container, in the order in which the kubelet sets them.

mod unused;

use std::collections::{BTreeMap, BTreeSet};

use super::expansion::expand;
use super::manifests::Collection;
use super::names::{is_of_service, meant, of_shell};
use super::object::{Container, EnvFrom, EnvVar, From, Kind, Object, Value};
use crate::position::Position;
use crate::provenance::{Assignment, Op, Outcome, Source, SourceState};
use crate::readers::Oddity;
use crate::secret;
use crate::value::{Raw, Redactor, ValueRef};

/// What an [`Oddity`] says about a reference to a variable that the container sets further below, or
/// not at all: its text stays.
pub(crate) const NOT_BEFORE: &str = "is not set before it is used";
/// About `${NAME}`, which shells replace and Kubernetes does not.
pub(crate) const NO_REFERENCE: &str =
    "is referred to as in a shell, which Kubernetes does not replace";
/// About a value of a Secret.
pub(crate) const ENDS_IN_BREAK: &str = "ends in a line break, which is part of the secret";

/// What was found so far.
pub(super) struct Found {
    /// The assignments.
    pub(super) assignments: Vec<Assignment>,
    /// The key of each.
    pub(super) keys: Vec<String>,
    /// Keys that are variables of containers.
    pub(super) variables: BTreeSet<String>,
    /// Sources that the manifests refer to and no file has; their indexes follow those of the collection.
    pub(super) missing: Vec<Source>,
    /// Starts of the keys of containers that do not start, each with the objects that no file has.
    pub(super) blocked: BTreeMap<String, BTreeSet<String>>,
    /// Of such containers: why, where no missing object says it.
    pub(super) stops: BTreeMap<String, String>,
    /// Keys whose value depends on which of two objects of one name is applied.
    pub(super) assumed: BTreeSet<String>,
    /// Sources of ConfigMaps and Secrets that nothing uses.
    pub(super) unused: Vec<usize>,
    /// What is odd about lines of sources.
    pub(super) oddities: Vec<(usize, Oddity)>,
}

/// The value that a variable has so far.
#[derive(Clone)]
enum Known {
    /// A text; whether it came from a Secret.
    Text(String, bool),
    /// Only the cluster knows it.
    Cluster,
}

/// Resolves the containers of a collection.
pub(super) struct Resolver<'a> {
    redactor: Redactor,
    pub(super) collection: &'a Collection,
    /// Objects that a later file replaces.
    replaced: &'a BTreeMap<usize, String>,
    /// The values that containers take: object and key.
    taken: BTreeSet<(usize, String)>,
    /// The objects that containers refer to.
    referred: BTreeSet<usize>,
    /// What was found.
    pub(super) found: Found,
}

/// What an assignment says, beside its key.
struct Row<'a> {
    source: usize,
    written: &'a str,
    op: Op,
    value: ValueRef,
    at: (Position, u32),
    outcome: Outcome,
    reason: String,
}

/// A container with its values so far.
struct Environment<'a> {
    workload: &'a Object,
    is_replaced: bool,
    /// `deployment/web/app.`
    start: String,
    values: BTreeMap<String, Known>,
    /// The names that `env` has, in any order.
    names: Vec<&'a str>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        mut redactor: Redactor,
        collection: &'a Collection,
        replaced: &'a BTreeMap<usize, String>,
    ) -> Self {
        for object in &collection.objects {
            for value in &object.values {
                match object.id.kind {
                    Kind::Secret => redactor.learn_secret(&value.raw),
                    _ => redactor.learn(&value.key, &value.raw),
                }
            }
            for one in object.containers.iter().flat_map(|container| &container.env) {
                if let From::Text(text) = &one.from {
                    redactor.learn(&one.name, &Raw::new(text.as_str()));
                }
            }
        }
        let found = Found {
            assignments: Vec::new(),
            keys: Vec::new(),
            variables: BTreeSet::new(),
            missing: Vec::new(),
            blocked: BTreeMap::new(),
            stops: BTreeMap::new(),
            assumed: BTreeSet::new(),
            unused: Vec::new(),
            oddities: Vec::new(),
        };
        let (taken, referred) = (BTreeSet::new(), BTreeSet::new());
        Self { redactor, collection, replaced, taken, referred, found }
    }

    /// Adds the variables of a container.
    pub(super) fn container(&mut self, workload: &'a Object, container: &'a Container) {
        let at = self.collection.objects.iter().position(|one| std::ptr::eq(one, workload));
        let mut environment = Environment {
            workload,
            is_replaced: at.is_some_and(|at| self.replaced.contains_key(&at)),
            start: format!("{}/{}.", workload.id.path(), container.name),
            values: BTreeMap::new(),
            names: container.env.iter().map(|one| one.name.as_str()).collect(),
        };
        // Kubernetes makes no such container.
        if !workload.refused.is_empty() {
            self.stop(&environment.start, "the API refuses the object of the container".to_owned());
        }
        for one in &container.env_from {
            self.whole_object(&mut environment, one);
        }
        for one in &container.env {
            self.variable(&mut environment, one);
        }
    }

    /// Takes all values of an object.
    fn whole_object(&mut self, environment: &mut Environment<'_>, from: &EnvFrom) {
        let objects = self.objects(&from.kind, &from.name, &environment.workload.id.namespace);
        if objects.is_empty() {
            self.missing(environment, (&from.kind, &from.name), (from.at, from.optional));
        }
        self.referred.extend(&objects);
        self.block_refused(environment, &objects);
        let is_assumed = self.is_assumed(&objects);
        for at in objects {
            let object = &self.collection.objects[at];
            for value in &object.values {
                self.taken.insert((at, value.key.clone()));
                let name = format!("{}{}", from.prefix, value.key);
                let (outcome, reason) = self.judged(environment, at, &name, value);
                if outcome == Outcome::Won {
                    let known =
                        Known::Text(value.raw.expose().to_owned(), object.id.kind == Kind::Secret);
                    environment.values.insert(name.clone(), known);
                }
                let key = format!("{}{name}", environment.start);
                if is_assumed {
                    self.found.assumed.insert(key.clone());
                }
                self.add(
                    &key,
                    Row {
                        source: value.source,
                        written: &name,
                        op: Op::Set,
                        value: self.shown(&object.id.kind, &name, &value.raw),
                        at: value.at,
                        outcome,
                        reason,
                    },
                );
                self.found.variables.insert(key);
            }
        }
    }

    /// What becomes of a value that `envFrom` takes.
    fn judged(
        &self,
        environment: &Environment<'_>,
        object: usize,
        name: &str,
        value: &Value,
    ) -> (Outcome, String) {
        if let Some(why) = self.why_unread(environment, object) {
            return (Outcome::Unread, why);
        }
        if value.malformed {
            return (Outcome::Unknown, self.malformed(value));
        }
        if value.binary {
            let why = "`binaryData` sets no variable, only files of a volume";
            return (Outcome::NeverApplied, why.to_owned());
        }
        let is_legal = |c: char| (' '..='~').contains(&c) && c != '=';
        if name.is_empty() || !name.chars().all(is_legal) {
            return (
                Outcome::NeverApplied,
                "Kubernetes skips a name with such characters".to_owned(),
            );
        }
        let why = if name.starts_with(|c: char| c.is_ascii_digit()) {
            "Kubernetes before 1.32 skips a name that starts with a digit"
        } else {
            ""
        };
        (Outcome::Won, why.to_owned())
    }

    /// Of objects that the API refuses the cluster has none, or an older one.
    fn block_refused(&mut self, environment: &Environment<'_>, objects: &[usize]) {
        let collection = self.collection;
        let mut objects = objects.iter().map(|at| &collection.objects[*at]);
        if let Some(one) = objects.find(|one| !one.refused.is_empty()) {
            self.stop(&environment.start, format!("the API refuses {}", one.id.path()));
        }
    }

    /// Says of a container that it does not start.
    fn stop(&mut self, start: &str, why: String) {
        self.found.blocked.entry(start.to_owned()).or_default();
        self.found.stops.entry(start.to_owned()).or_insert(why);
    }

    fn malformed(&self, value: &Value) -> String {
        let source = &self.collection.sources[value.source].name;
        format!("{source}:{}: no base64, and the API refuses the object", value.at.0.line)
    }

    fn why_unread(&self, environment: &Environment<'_>, object: usize) -> Option<String> {
        if environment.is_replaced {
            let source = &self.collection.sources[environment.workload.source];
            return Some(source.why.clone());
        }
        let source = &self.collection.sources[self.collection.objects[object].source];
        self.replaced.contains_key(&object).then(|| source.why.clone())
    }

    /// A variable of the list `env`.
    fn variable(&mut self, environment: &mut Environment<'_>, one: &EnvVar) {
        let (workload, is_replaced) = (environment.workload, environment.is_replaced);
        let unread = || self.collection.sources[workload.source].why.clone();
        let (mut row, known) = match &one.from {
            From::Text(text) => self.expanded(environment, one, text),
            From::Key { kind, name, key, optional } => {
                self.of_key(environment, one, (kind, name, key), *optional)
            }
            From::Field(field) => match workload.fields.get(field) {
                Some(value) => {
                    let shown = self.redactor.value(&one.name, &Raw::new(value.as_str()));
                    let row =
                        row(workload, one, Op::Inherit, shown, format!("the field `{field}`"));
                    (row, Some(Known::Text(value.clone(), false)))
                }
                None => self.of_cluster(workload, one, format!("the cluster knows `{field}`")),
            },
            From::Cluster(why) => self.of_cluster(workload, one, why.clone()),
        };
        if is_replaced {
            (row.outcome, row.reason) = (Outcome::Unread, unread());
        }
        if let Some(known) = known {
            environment.values.insert(one.name.clone(), known);
        }
        let key = format!("{}{}", environment.start, one.name);
        self.add(&key, row);
        self.found.variables.insert(key);
    }

    fn of_cluster<'r>(
        &self,
        workload: &Object,
        one: &'r EnvVar,
        why: String,
    ) -> (Row<'r>, Option<Known>) {
        let shown = self.redactor.value(&one.name, &Raw::default());
        let row = Row { outcome: Outcome::Unknown, ..row(workload, one, Op::Inherit, shown, why) };
        (row, Some(Known::Cluster))
    }

    /// A text with its references replaced.
    fn expanded<'r>(
        &mut self,
        environment: &Environment<'_>,
        one: &'r EnvVar,
        text: &str,
    ) -> (Row<'r>, Option<Known>) {
        let values = &environment.values;
        let of_cluster = |name: &str| match values.get(name) {
            Some(known) => matches!(known, Known::Cluster),
            None => is_of_service(name),
        };
        let expanded = expand(text, &|name| match values.get(name) {
            Some(Known::Text(text, _)) => Some(text.clone()),
            Some(Known::Cluster) => Some(String::new()),
            None => is_of_service(name).then(String::new),
        });
        let workload = environment.workload;
        if let Some(name) = expanded.used.iter().find(|name| of_cluster(name)) {
            return self.of_cluster(workload, one, format!("the cluster knows `$({name})`"));
        }
        let made: Vec<(String, Raw)> = expanded
            .used
            .iter()
            .filter_map(|name| match values.get(name)? {
                Known::Text(text, is_secret) => {
                    let word = if *is_secret { " secret" } else { "" };
                    Some((format!("{name}{word}"), Raw::new(text.as_str())))
                }
                Known::Cluster => None,
            })
            .collect();
        for name in &expanded.left {
            let what = NOT_BEFORE;
            let oddity = Oddity { at: one.at.0, name: secret::name(name), what };
            self.found.oddities.push((workload.source, oddity));
        }
        let mut reasons = Vec::new();
        if !expanded.used.is_empty() {
            let names: Vec<_> = expanded.used.iter().map(|name| format!("`$({name})`")).collect();
            reasons.push(format!("made from {}", names.join(", ")));
        }
        for name in of_shell(&expanded.text, &environment.names) {
            let oddity = Oddity { at: one.at.0, name: secret::name(name), what: NO_REFERENCE };
            self.found.oddities.push((workload.source, oddity));
            reasons.push(format!(
                "`${{{}}}` stays as it is: Kubernetes replaces `$(NAME)` alone",
                secret::name(name)
            ));
        }
        reasons.extend(expanded.left.iter().map(|name| {
            let name = secret::name(name);
            let is_below = environment.names.contains(&name.as_str());
            let why = if is_below { "is set further below" } else { "is not set" };
            format!("`$({name})` stays as it is: `{name}` {why}")
        }));
        let raw = Raw::new(expanded.text.as_str());
        let shown = self.redactor.made_from(&one.name, &raw, &made);
        let op = if expanded.used.is_empty() { Op::Set } else { Op::TokenExpand };
        let is_secret = made.iter().any(|(name, _)| name.ends_with(" secret"));
        let known = Known::Text(expanded.text, is_secret);
        (row(workload, one, op, shown, reasons.join("; ")), Some(known))
    }

    /// The value of one key of an object.
    fn of_key<'r>(
        &mut self,
        environment: &Environment<'_>,
        one: &'r EnvVar,
        (kind, name, key): (&Kind, &str, &str),
        optional: bool,
    ) -> (Row<'r>, Option<Known>) {
        let workload = environment.workload;
        let objects = self.objects(kind, name, &workload.id.namespace);
        if objects.is_empty() {
            self.missing(environment, (kind, name), (one.at.0, optional));
        }
        self.referred.extend(&objects);
        self.block_refused(environment, &objects);
        let last = objects.iter().rev().filter(|at| !self.replaced.contains_key(at));
        let found = last.flat_map(|at| {
            let values = self.collection.objects[*at].values.iter().rev();
            values.filter(|value| !value.binary && value.key == key).map(move |value| (*at, value))
        });
        let Some((at, value)) = found.into_iter().next() else {
            let path = format!("{}/{}", kind.word(), secret::name(name));
            let mut why = match objects.is_empty() {
                true => format!("no file has {path}"),
                false => format!("{path} has no key `{}`", secret::name(key)),
            };
            let near = match objects.is_empty() {
                true => self.nearest_object(kind, name, &workload.id.namespace),
                false => self.nearest(&objects, key),
            };
            let outcome = if optional {
                why.push_str(&near);
                why.push_str("; it is optional");
                Outcome::NeverApplied
            } else if objects.is_empty() {
                why.push_str(&near);
                Outcome::Unknown
            } else {
                self.stop(&environment.start, why.clone());
                why.push_str(", without which the container does not start");
                why.push_str(&near);
                Outcome::NoTarget
            };
            let shown = self.redactor.value(&one.name, &Raw::default());
            return (Row { outcome, ..row(workload, one, Op::Inherit, shown, why) }, None);
        };
        self.taken.insert((at, key.to_owned()));
        if self.is_assumed(&objects) {
            self.found.assumed.insert(format!("{}{}", environment.start, one.name));
        }
        let place = format!("{}:{}", self.collection.sources[value.source].name, value.at.0.line);
        if value.malformed {
            let shown = self.shown(kind, key, &value.raw);
            let why = self.malformed(value);
            let row =
                Row { outcome: Outcome::Unknown, ..row(workload, one, Op::Inherit, shown, why) };
            return (row, Some(Known::Cluster));
        }
        let reason = format!("the value of `{}` at {place}", secret::name(key));
        let is_secret = *kind == Kind::Secret;
        let named = format!("{key} {}", one.name);
        let shown = self.shown(kind, &named, &value.raw);
        let known = Known::Text(value.raw.expose().to_owned(), is_secret);
        (row(workload, one, Op::Inherit, shown, reason), Some(known))
    }

    /// Which key of the objects may be meant, in words.
    fn nearest(&self, objects: &[usize], key: &str) -> String {
        let keys = objects.iter().flat_map(|at| &self.collection.objects[*at].values);
        meant(keys.map(|value| value.key.as_str()), key)
    }

    /// Which object of a kind may be meant, in words: one of the name in another namespace first.
    fn nearest_object(&self, kind: &Kind, name: &str, namespace: &str) -> String {
        let mut objects = self.collection.objects.iter().filter(|one| one.id.kind == *kind);
        if let Some(other) = objects.clone().find(|one| one.id.name == name) {
            let file = &self.collection.sources[other.source].name;
            let line = other.namespace_at.map(|at| format!(":{}", at.line)).unwrap_or_default();
            let (own, other) = (secret::name(namespace), secret::name(&other.id.namespace));
            return format!(
                "; {file}{line} has one of this name in the namespace `{other}`, and this is `{own}`"
            );
        }
        meant(objects.by_ref().map(|one| one.id.name.as_str()), name)
    }

    /// The objects that a reference means: what generators merge into one stands behind it.
    fn objects(&self, kind: &Kind, name: &str, namespace: &str) -> Vec<usize> {
        let all = self.collection.objects.iter().enumerate();
        let meant: Vec<usize> = all
            .filter(|(_, one)| one.id.is_meant(kind, name, namespace))
            .map(|(at, _)| at)
            .collect();
        // One of the very namespace hides those that name none.
        let same = |at: &usize| self.collection.objects[*at].id.namespace == namespace;
        let exact = meant.iter().any(same);
        let mut meant: Vec<usize> = meant.into_iter().filter(|at| !exact || same(at)).collect();
        meant.sort_by_key(|at| self.collection.objects[*at].merges);
        meant
    }

    /// Whether several objects of one name stand there, of which one is chosen by the order of files.
    fn is_assumed(&self, objects: &[usize]) -> bool {
        let merging = objects.iter().filter(|at| self.collection.objects[**at].merges).count();
        objects.len() - merging > 1 || merging > 1
    }

    /// Notes an object that no file has.
    fn missing(
        &mut self,
        environment: &Environment<'_>,
        (kind, name): (&Kind, &str),
        (at, optional): (Position, bool),
    ) {
        let path = format!("{}/{}", kind.word(), secret::name(name));
        if !optional {
            let missing = self.found.blocked.entry(environment.start.clone()).or_default();
            missing.insert(path.clone());
        }
        let file = &self.collection.sources[environment.workload.source].name;
        let user = format!("{} ({file}:{})", environment.workload.id.path(), at.line);
        let near = self.nearest_object(kind, name, &environment.workload.id.namespace);
        let (state, why) = match optional {
            true => (SourceState::Missing, format!("no file has it; optional for {user}{near}")),
            false => {
                (SourceState::MissingRequired, format!("no file has it; {user} needs it{near}"))
            }
        };
        let known = self.found.missing.iter_mut().find(|source| source.name == path);
        match known {
            Some(known) if known.state == SourceState::Missing && !optional => {
                (known.state, known.why) = (state, why);
            }
            Some(_) => {}
            None => self.found.missing.push(Source {
                kind: kind.source_kind(),
                layer: path.clone(),
                name: path,
                state,
                why,
                at: None,
                sha256: None,
                bytes: 0,
                modified: None,
            }),
        }
    }

    fn shown(&self, kind: &Kind, named: &str, raw: &Raw) -> ValueRef {
        match kind {
            Kind::Secret => self.redactor.secret(named, raw),
            _ => self.redactor.value(named, raw),
        }
    }

    fn add(&mut self, key: &str, row: Row<'_>) {
        self.found.keys.push(key.to_owned());
        self.found.assignments.push(Assignment {
            source: row.source,
            key: secret::name(key).into(),
            written: secret::name(row.written).into(),
            op: row.op,
            value: row.value,
            at: Some(row.at.0),
            end_line: Some(row.at.1),
            condition: None,
            outcome: row.outcome,
            superseded_by: None,
            reason: row.reason,
        });
    }
}

/// A row of the list `env` that counts.
fn row<'r>(workload: &Object, one: &'r EnvVar, op: Op, value: ValueRef, reason: String) -> Row<'r> {
    let (source, written, outcome) = (workload.source, one.name.as_str(), Outcome::Won);
    Row { source, written, op, value, at: one.at, outcome, reason }
}
