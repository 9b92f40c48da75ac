//! Effective values of layered sources: pure, from what was collected and the profile.
//!
//! ```text
//! sources, weakest first      key A                     outcome
//!   appsettings.json          A = 1                     shadowed by the environment
//!   appsettings.Prod.json     A = 2                     no_op: the same value as the winner's
//!   environment               A = 2                     won
//! ```

mod effective;
mod exact;
mod keys;
mod known;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use crate::condition;
use crate::configuration::Configuration;
use crate::profile::{Case, FromEnvironment, Layer, Profile};
use crate::provenance::{
    Assignment, Condition, ConditionResult, Op, Outcome, Source, SourceKind, SourceState, Variable,
};
use crate::readers::{Entry, Segment};
use crate::replace::{self, Written};
use crate::secret;
use crate::sources::{Collected, Defined, Loaded, Part};
use crate::value::{Raw, Redactor};
use exact::exact_keys;
use known::Known;
use requests::{asked, framework_keys, without_set_groups};

pub(crate) use effective::{by_order, effective, is_stronger, lost_to};
pub(crate) use keys::{bare, identity, key_of, relaxed_rank, relaxed_variables};

/// Sources, assignments and effective values of a layered profile.
#[must_use]
pub(crate) fn resolve(
    profile: &Profile,
    collected: Collected,
    all_variables: bool,
    mut redactor: Redactor,
) -> Configuration {
    let exact = exact_keys(profile, &collected.loaded);
    let known = Known::new(profile, &collected.loaded, &exact);
    for loaded in &collected.loaded {
        for entry in &loaded.contents.entries {
            match loaded.source.kind.is_secret() {
                true => redactor.learn_secret(&entry.value),
                false => redactor.learn(&key_of(profile, &entry.path), &entry.value),
            }
        }
    }
    let mut resolver = Resolver {
        profile,
        known,
        exact,
        is_code: false,
        redactor,
        all_variables,
        defines: &collected.defines,
        found: Found::default(),
    };
    for part in &collected.parts {
        resolver.part(part, &collected.loaded[part.loaded]);
    }
    let Found { mut assignments, conditions, mut others, keys, written } = resolver.found;
    // What one layer leaves out can set a key in another.
    assignments.iter().for_each(|one| {
        others.remove(one.written.as_str());
    });
    replace::apply(profile, &keys, &written, &mut assignments);
    let sources: Vec<Source> =
        collected.loaded.iter().map(|loaded| loaded.source.clone()).collect();
    let assumed = profile.assumed || collected.loaded.iter().any(|one| one.is_doubtful);
    let effective = requests::with_defaults(&mut assignments, |assignments| {
        effective(assumed, &sources, assignments, keys, &by_order)
    });
    let effective = without_set_groups(effective, &assignments);
    let framework_keys = framework_keys(profile, &effective);
    let asked = asked(profile, &collected.loaded);
    let choices = collected.loaded.iter().enumerate();
    let choices = choices.filter_map(|(at, one)| Some((at, one.choice.clone()?))).collect();
    let oddities = collected.loaded.into_iter().enumerate().flat_map(|(index, loaded)| {
        loaded.contents.oddities.into_iter().map(move |oddity| (index, oddity.with_shown_name()))
    });
    let oddities = oddities.collect();
    let mut configuration = Configuration {
        defines: collected.defines,
        oddities,
        conditions,
        other_variables: others.len(),
        asked,
        choices,
        framework_keys,
        ..Configuration::from_profile(profile, sources, assignments, effective)
    };
    configuration.variables = variables(&configuration);
    configuration
}

#[derive(Default)]
struct Found {
    assignments: Vec<Assignment>,
    conditions: Vec<Condition>,
    /// Variables that are left out because no other source knows them.
    others: BTreeSet<String>,
    /// The identity of each assignment's key.
    keys: Vec<String>,
    /// Where each assignment is written, and in which form.
    written: Vec<Written>,
}

struct Resolver<'a> {
    profile: &'a Profile,
    known: Known,
    /// Names for which code takes no other spelling.
    exact: BTreeSet<String>,
    /// Whether the part that is resolved is code.
    is_code: bool,
    redactor: Redactor,
    all_variables: bool,
    defines: &'a [Defined],
    found: Found,
}

/// Whether all variables of a source are the project's.
fn is_own_file(kind: SourceKind) -> bool {
    matches!(kind, SourceKind::File | SourceKind::Dotenv)
}

impl Resolver<'_> {
    fn part(&mut self, part: &Part, loaded: &Loaded) {
        let layer = self.profile.layers.get(loaded.layer);
        let index = part.loaded;
        self.is_code = loaded.source.kind == SourceKind::CodeDefault;
        // A file of variables that the program does not read is no layer: its names are variables' names.
        let of_ignored = || {
            let mut layers = self.profile.layers.iter().rev();
            let is_file = layer.is_none() && loaded.source.kind == SourceKind::Dotenv;
            layers.find_map(|layer| layer.environment.as_ref()).filter(|_| is_file)
        };
        let environment = layer.and_then(|layer| layer.environment.as_ref());
        if let Some(environment) = environment.or_else(of_ignored) {
            for (at, entry) in self.by_rank(environment, &loaded.contents.entries) {
                let layer = (environment, &loaded.source);
                self.variable(index, layer, entry, loaded.made(at));
            }
            return;
        }
        let conditions = layer.map(|layer| self.conditions(layer, loaded)).unwrap_or_default();
        for at in part.entries.clone() {
            let Some(entry) = loaded.contents.entries.get(at) else { continue };
            let key = key_of(self.profile, &entry.path);
            if layer.is_some_and(|layer| condition::is_condition(self.profile, layer, &key)) {
                continue;
            }
            let condition = conditions.get(&entry.document).copied();
            let (outcome, reason) =
                match (self.outcome_of(&loaded.source, condition), loaded.verdicts.get(&at)) {
                    ((Outcome::Won, _), Some(verdict)) => verdict.clone(),
                    ((Outcome::Won, _), None) => (Outcome::Won, entry.remark().unwrap_or_default()),
                    (found, _) => found,
                };
            // What stands on a command line or in an environment has no place in a text.
            let is_placed = !matches!(
                loaded.source.kind,
                SourceKind::Arguments | SourceKind::ProcessEnvironment
            );
            let place = is_placed.then_some((entry.at, entry.end_line));
            let counts = (condition, outcome, reason);
            let source = (index, loaded.source.kind.is_secret());
            let written = loaded.written.get(&at).unwrap_or(&key);
            self.assign(source, (&key, written), (entry, loaded.made(at)), place, counts);
        }
    }

    /// The variables of a source with their places in it, the strongest of one key last.
    fn by_rank<'e>(
        &self,
        layer: &FromEnvironment,
        entries: &'e [Entry],
    ) -> Vec<(usize, &'e Entry)> {
        let mut ranked: Vec<(usize, &Entry)> = entries.iter().enumerate().collect();
        if self.profile.keys.case == Case::Relaxed {
            ranked.sort_by_cached_key(|(_, entry)| {
                let [Segment::Name(name)] = entry.path.as_slice() else { return 0 };
                let key = self.known.key_of_variable(self.profile, layer, name);
                key.map_or(0, |(key, _)| relaxed_rank(&key, name))
            });
        }
        ranked
    }

    fn variable(
        &mut self,
        index: usize,
        (layer, source): (&FromEnvironment, &Source),
        entry: &Entry,
        made: &[(String, Raw)],
    ) {
        let [Segment::Name(name)] = entry.path.as_slice() else { return };
        match self.known.key_of_variable(self.profile, layer, name) {
            Some((key, is_ours)) if is_ours || self.all_variables || is_own_file(source.kind) => {
                let (outcome, reason) = self.outcome_of(source, None);
                let place = is_own_file(source.kind).then_some((entry.at, entry.end_line));
                let counts = (None, outcome, reason);
                self.assign(
                    (index, source.kind.is_secret()),
                    (&key, name),
                    (entry, made),
                    place,
                    counts,
                );
            }
            Some(_) => {
                self.found.others.insert(name.clone());
            }
            None => {}
        }
    }

    /// The conditions of a source's documents: document to index.
    fn conditions(&mut self, layer: &Layer, loaded: &Loaded) -> BTreeMap<u32, usize> {
        let Some(by) = &layer.activated_by else { return BTreeMap::new() };
        let defined = self.defines.iter().find(|define| define.name == by.define);
        let values = defined.map(|define| define.values.clone()).unwrap_or_default();
        let guarded = condition::guarded_documents(self.profile, layer, &loaded.contents);
        let add = |(document, text): (u32, String)| {
            let result = condition::evaluate(&text, &values);
            let inputs = (by.define.clone(), values.clone());
            self.found.conditions.push(Condition {
                dialect: condition::DIALECT,
                text,
                inputs,
                result,
                at: None,
            });
            (document, self.found.conditions.len() - 1)
        };
        guarded.into_iter().map(add).collect()
    }

    /// What becomes of an assignment before others are compared with it: `won` is a candidate.
    fn outcome_of(&self, source: &Source, condition: Option<usize>) -> (Outcome, String) {
        if source.state != SourceState::Read {
            return (Outcome::Unread, source.why.clone());
        }
        let condition = condition.and_then(|at| self.found.conditions.get(at));
        let describe = |condition: &Condition| {
            let (name, values) = &condition.inputs;
            format!("needs {name} `{}`; active: {}", condition.text, values.join(", "))
        };
        match condition {
            Some(condition) if condition.result == ConditionResult::False => {
                (Outcome::ConditionFalse, describe(condition))
            }
            Some(condition) if condition.result == ConditionResult::Error => {
                (Outcome::Unknown, format!("its condition `{}` is malformed", condition.text))
            }
            _ => (Outcome::Won, String::new()),
        }
    }

    /// Adds an assignment to its key, and to the names of the same letters that code takes in one spelling alone.
    fn assign(
        &mut self,
        source: (usize, bool),
        (key, written): (&str, &str),
        value: (&Entry, &[(String, Raw)]),
        place: Option<(crate::Position, u32)>,
        counts: (Option<usize>, Outcome, String),
    ) {
        let exact: Vec<String> =
            self.exact.iter().filter(|name| exact::sets(name, key, written)).cloned().collect();
        for name in &exact {
            let names = (exact::identity(name), name.as_str(), written);
            self.assign_to(source, names, value, place, counts.clone());
        }
        if !self.is_code || exact.is_empty() {
            let names = (identity(self.profile, key), key, written);
            self.assign_to(source, names, value, place, counts);
        }
    }

    fn assign_to(
        &mut self,
        (source, is_secret): (usize, bool),
        (identity, key, written): (String, &str, &str),
        (entry, made): (&Entry, &[(String, Raw)]),
        place: Option<(crate::Position, u32)>,
        (condition, outcome, reason): (Option<usize>, Outcome, String),
    ) {
        // Either name may say that the value is secret.
        let named = format!("{key} {written}");
        self.found.keys.push(identity);
        let is_group = entry.null && entry.value.expose() == "{}";
        self.found.written.push(Written { document: (source, entry.document), is_group });
        self.found.assignments.push(Assignment {
            source,
            key: secret::name(key).into(),
            written: secret::name(written).into(),
            op: entry.op,
            value: match made {
                _ if is_secret => self.redactor.secret(&named, &entry.value),
                [] => self.redactor.value(&named, &entry.value),
                made => self.redactor.made_from(&named, &entry.value, made),
            },
            at: place.map(|(at, _)| at),
            end_line: place.map(|(_, line)| line),
            condition,
            outcome,
            superseded_by: None,
            reason,
        });
    }
}

/// One row a variable that counts, in the order of sources.
fn variables(configuration: &Configuration) -> Vec<Variable> {
    let is_variable = |kind| matches!(kind, SourceKind::ProcessEnvironment | SourceKind::Dotenv);
    let of_variables = configuration.assignments.iter().filter(|assignment| {
        is_variable(configuration.sources[assignment.source].kind) && assignment.op == Op::Set
    });
    of_variables.map(Variable::of).collect()
}
