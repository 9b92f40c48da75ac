//! Effective values of layered sources: pure, from what was collected and the profile.
//!
//! ```text
//! sources, weakest first      key A                     outcome
//!   appsettings.json          A = 1                     shadowed by the environment
//!   appsettings.Prod.json     A = 2                     no_op: the same value as the winner's
//!   environment               A = 2                     won
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::condition;
use crate::configuration::Configuration;
use crate::profile::{Case, FromEnvironment, Layer, ListStyle, Profile};
use crate::provenance::{
    Assignment, Certainty, Condition, ConditionResult, Effective, Op, Outcome, Source, SourceKind,
    SourceState, Variable,
};
use crate::readers::{Entry, Segment};
use crate::replace::{self, Written};
use crate::secret;
use crate::sources::{Collected, Defined, Loaded, NO_LAYER, Part};
use crate::value::{Raw, Redactor};

/// The key of a path, as the profile writes it.
pub(crate) fn key_of(profile: &Profile, path: &[Segment]) -> String {
    let mut key = String::new();
    for segment in path {
        let name = match segment {
            Segment::Index(at) if profile.keys.lists == ListStyle::Brackets => {
                key.push_str(&format!("[{at}]"));
                continue;
            }
            Segment::Index(at) => at.to_string(),
            Segment::Name(name) => name.clone(),
        };
        if !key.is_empty() && !name.starts_with('[') {
            key.push_str(&profile.keys.separator);
        }
        key.push_str(&name);
    }
    key
}

/// What two spellings of one key have in common.
pub(crate) fn identity(profile: &Profile, key: &str) -> String {
    match profile.keys.case {
        Case::Sensitive => key.to_owned(),
        Case::Insensitive => key.to_lowercase(),
        Case::Relaxed => relaxed(key),
    }
}

/// Spring's uniform form: letters and digits of each element in lower case; what stands in brackets is
/// kept.
fn relaxed(key: &str) -> String {
    let mut uniform = String::with_capacity(key.len());
    let mut in_brackets = false;
    for c in key.chars() {
        match c {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ if in_brackets => {}
            '.' => {}
            c if c.is_alphanumeric() => {
                uniform.extend(c.to_lowercase());
                continue;
            }
            _ => continue,
        }
        uniform.push(c);
    }
    uniform
}

/// The letters and digits of a key in lower case.
pub(crate) fn bare(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The names of variables that set a key by relaxed binding, in lower case: dashes left out, as
/// `SystemEnvironmentPropertyMapper` documents it, or as underscores, its form of earlier versions.
pub(crate) fn relaxed_variables(key: &str) -> [String; 2] {
    let mut dashed = String::new();
    let mut small = false;
    for c in key.chars() {
        // `maxSize` in a file binds to the property that is written `max-size`.
        if c.is_uppercase() && small {
            dashed.push('-');
        }
        small = c.is_lowercase() || c.is_ascii_digit();
        dashed.extend(c.to_lowercase());
    }
    let joined = |dash: &str| dashed.replace('-', dash).replace(['.', '['], "_").replace(']', "");
    [joined(""), joined("_")]
}

/// The list of which a key is an element: `a.b` of `a.b[0]`; none of other keys.
fn list_of(key: &str) -> Option<&str> {
    let (list, number) = key.strip_suffix(']')?.rsplit_once('[')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(list)
}

/// Sources, assignments and effective values of a layered profile.
#[must_use]
pub(crate) fn resolve(
    profile: &Profile,
    collected: Collected,
    all_variables: bool,
    mut redactor: Redactor,
) -> Configuration {
    let known = Known::new(profile, &collected.loaded);
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
    let effective = effective(assumed, &sources, &mut assignments, keys);
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
        ..Configuration::from_profile(profile, sources, assignments, effective)
    };
    configuration.variables = variables(&configuration);
    configuration
}

/// The variables that a profile and its sources ask for: those of defines, those that set a key of a file,
/// and those that a source names.
fn asked(profile: &Profile, loaded: &[Loaded]) -> BTreeMap<String, String> {
    let defines = profile.defines.iter().flat_map(|define| &define.variables);
    let documents =
        profile.layers.iter().filter_map(|layer| Some(&layer.document.as_ref()?.variable));
    let mut asked: BTreeMap<String, String> =
        defines.chain(documents).map(|name| (name.clone(), String::new())).collect();
    for (name, key) in loaded.iter().flat_map(|loaded| &loaded.asked) {
        asked.insert(name.clone(), secret::name(key));
    }
    let mut layers = profile.layers.iter().rev();
    let Some(environment) = layers.find_map(|layer| layer.environment.as_ref()) else {
        return asked;
    };
    for entry in of_files(loaded).flat_map(|loaded| &loaded.contents.entries) {
        let key = key_of(profile, &entry.path);
        let name = match (&environment.separator, profile.keys.case) {
            (_, Case::Relaxed) => relaxed_variables(&key)[0].to_uppercase(),
            (Some(separator), _) => key.replace(&profile.keys.separator, separator),
            (None, _) => key.clone(),
        };
        asked.entry(secret::name(&name)).or_insert_with(|| secret::name(&key));
        if let Some(list) = list_of(&key).filter(|_| profile.keys.case == Case::Relaxed) {
            let name = relaxed_variables(list)[0].to_uppercase();
            asked.entry(secret::name(&name)).or_insert_with(|| secret::name(list));
        }
    }
    asked
}

/// The files whose keys the program may know: not those of variables that it does not read.
fn of_files(loaded: &[Loaded]) -> impl Iterator<Item = &Loaded> {
    loaded.iter().filter(|one| {
        let is_ignored = one.layer == NO_LAYER && one.source.kind == SourceKind::Dotenv;
        one.source.kind != SourceKind::ProcessEnvironment && !is_ignored
    })
}

/// The keys that files know, whether the files count or not.
struct Known {
    /// Identity to the first spelling.
    keys: BTreeMap<String, String>,
    /// A variable's name in lower case to the key that it sets by relaxed binding.
    by_variable: BTreeMap<String, String>,
    /// First elements of keys, in the form of variables' names.
    first: BTreeSet<String>,
    /// Keys without what separates their parts: a variable with such letters is the project's, also
    /// where its separators are wrong.
    bare: BTreeSet<String>,
}

/// Keys that are shorter have the letters of other programs' variables too.
const SHORTEST_BARE: usize = 8;

impl Known {
    fn new(profile: &Profile, loaded: &[Loaded]) -> Self {
        let mut known = Self {
            keys: BTreeMap::new(),
            by_variable: BTreeMap::new(),
            first: BTreeSet::new(),
            bare: BTreeSet::new(),
        };
        known.first.extend(profile.keys.first.iter().cloned());
        for entry in of_files(loaded).flat_map(|loaded| &loaded.contents.entries) {
            let key = key_of(profile, &entry.path);
            if profile.keys.case == Case::Relaxed {
                for name in relaxed_variables(&key) {
                    let first = name.split('_').next().unwrap_or_default();
                    known.first.insert(first.to_owned());
                    known.by_variable.entry(name).or_insert_with(|| key.clone());
                }
                // One variable may hold the whole list.
                for name in list_of(&key).map(relaxed_variables).into_iter().flatten() {
                    let list = || list_of(&key).unwrap_or_default().to_owned();
                    known.by_variable.entry(name).or_insert_with(list);
                }
            }
            known.bare.insert(bare(&key));
            known.keys.entry(identity(profile, &key)).or_insert(key);
        }
        known
    }

    /// The key that a variable sets in a layer, and whether it is the project's: none if it sets no key
    /// there.
    fn key_of_variable(
        &self,
        profile: &Profile,
        layer: &FromEnvironment,
        name: &str,
    ) -> Option<(String, bool)> {
        let of_prefix = layer.prefixes.iter().find_map(|prefix| {
            // .NET compares prefixes without case.
            let start = name.get(..prefix.from.len())?;
            let rest = &name[prefix.from.len()..];
            let fits = start.eq_ignore_ascii_case(&prefix.from) && !rest.is_empty();
            fits.then(|| (format!("{}{rest}", prefix.to), !prefix.to.is_empty()))
        });
        let (name, is_ours) = match of_prefix {
            Some(found) => found,
            None if layer.only_prefixes => return None,
            None => (name.to_owned(), false),
        };
        let letters = bare(&name);
        let has_letters = letters.len() >= SHORTEST_BARE && self.bare.contains(&letters);
        if profile.keys.case == Case::Relaxed {
            let lower = name.to_lowercase();
            // `HOSTS_0_` is `HOSTS_0`.
            if let Some(key) = self.by_variable.get(lower.trim_end_matches('_')) {
                return Some((key.clone(), true));
            }
            let first = lower.split('_').next().unwrap_or_default();
            let is_ours = lower.contains('_') && self.first.contains(first) || has_letters;
            return Some((of_elements(&lower), is_ours));
        }
        // `__NAME` has no part before its separator.
        let at = layer.separator.as_ref().and_then(|separator| name.find(separator.as_str()));
        let separated = at.is_some_and(|at| at > 0);
        let key = match &layer.separator {
            Some(separator) => name.replace(separator, &profile.keys.separator),
            None => name,
        };
        match self.keys.get(&identity(profile, &key)) {
            Some(known) => Some((known.clone(), true)),
            None => Some((key, is_ours || separated || has_letters)),
        }
    }
}

/// `a_b_0` as `a.b[0]`.
fn of_elements(name: &str) -> String {
    let mut key = String::new();
    for element in name.split('_').filter(|element| !element.is_empty()) {
        if element.chars().all(|c| c.is_ascii_digit()) {
            key.push_str(&format!("[{element}]"));
        } else {
            key.push_str(if key.is_empty() { "" } else { "." });
            key.push_str(element);
        }
    }
    key
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
    redactor: Redactor,
    all_variables: bool,
    defines: &'a [Defined],
    found: Found,
}

impl Resolver<'_> {
    fn part(&mut self, part: &Part, loaded: &Loaded) {
        let layer = self.profile.layers.get(loaded.layer);
        let index = part.loaded;
        // A file of variables that the program does not read is no layer: its names are variables' names.
        let of_ignored = || {
            let mut layers = self.profile.layers.iter().rev();
            let is_file = layer.is_none() && loaded.source.kind == SourceKind::Dotenv;
            layers.find_map(|layer| layer.environment.as_ref()).filter(|_| is_file)
        };
        let environment = layer.and_then(|layer| layer.environment.as_ref());
        if let Some(environment) = environment.or_else(of_ignored) {
            loaded.contents.entries.iter().enumerate().for_each(|(at, entry)| {
                let layer = (environment, &loaded.source);
                self.variable(index, layer, entry, loaded.made(at));
            });
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
            // What stands on a command line has no place in a text.
            let is_placed = loaded.source.kind != SourceKind::Arguments;
            let place = is_placed.then_some((entry.at, entry.end_line));
            let counts = (condition, outcome, reason);
            let source = (index, loaded.source.kind.is_secret());
            let written = loaded.written.get(&at).unwrap_or(&key);
            self.assign(source, (&key, written), (entry, loaded.made(at)), place, counts);
        }
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
            Some((key, is_ours))
                if is_ours || self.all_variables || source.kind == SourceKind::Dotenv =>
            {
                let (outcome, reason) = self.outcome_of(source, None);
                let is_file = matches!(source.kind, SourceKind::File | SourceKind::Dotenv);
                let place = is_file.then_some((entry.at, entry.end_line));
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

    fn assign(
        &mut self,
        (source, is_secret): (usize, bool),
        (key, written): (&str, &str),
        (entry, made): (&Entry, &[(String, Raw)]),
        place: Option<(crate::Position, u32)>,
        (condition, outcome, reason): (Option<usize>, Outcome, String),
    ) {
        // Either name may say that the value is secret.
        let named = format!("{key} {written}");
        self.found.keys.push(identity(self.profile, key));
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

/// Groups assignments by key, weakest first, and says of each what became of it. `Won` marks those that
/// compete; the last of them wins.
pub(crate) fn effective(
    assumed: bool,
    sources: &[Source],
    assignments: &mut [Assignment],
    keys: Vec<String>,
) -> Vec<Effective> {
    let mut chains: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, key) in keys.into_iter().enumerate() {
        chains.entry(key).or_default().push(index);
    }
    let last_gap = sources.iter().rposition(|source| source.state.is_gap());
    let mut effective: Vec<Effective> = Vec::new();
    for chain in chains.into_values() {
        let winner =
            chain.iter().rev().find(|at| assignments[**at].outcome == Outcome::Won).copied();
        if let Some(winner) = winner {
            chain.iter().for_each(|at| lose(assignments, *at, winner, sources));
        }
        let source = winner.map(|at| assignments[at].source);
        let unknown = last_gap.is_some_and(|gap| source.is_none_or(|source| gap > source))
            || chain.iter().any(|at| {
                assignments[*at].outcome == Outcome::Unknown
                    && winner.is_none_or(|winner| *at > winner)
            });
        let certainty = match (unknown, assumed) {
            (true, _) => Certainty::Unknown,
            (false, true) => Certainty::Assumed,
            (false, false) => Certainty::Exact,
        };
        let key = chain.first().map(|at| assignments[*at].key.clone()).unwrap_or_default();
        effective.push(Effective { key, winner, chain, certainty });
    }
    effective.sort_by(|a, b| a.key.cmp(&b.key));
    effective
}

/// Says why a candidate did not win.
fn lose(assignments: &mut [Assignment], at: usize, winner: usize, sources: &[Source]) {
    if at == winner || assignments[at].outcome != Outcome::Won {
        return;
    }
    let (loser, stronger) = (&assignments[at], &assignments[winner]);
    let is_same = sources[loser.source].name == sources[stronger.source].name;
    let by = if loser.source == stronger.source || is_same && stronger.at.is_some() {
        match stronger.at {
            Some(position) => format!("line {} of the same source sets it again", position.line),
            None => "the same source sets it again".to_owned(),
        }
    } else {
        is_stronger(&sources[stronger.source].name)
    };
    let equal = loser.value.equals(&stronger.value);
    lost_to(&mut assignments[at], winner, by, equal);
}

/// Why a value loses to one of a source.
pub(crate) fn is_stronger(name: &str) -> String {
    format!("{name} is stronger")
}

/// Says of an assignment that another one won, and by what; with an equal value nothing changes.
pub(crate) fn lost_to(loser: &mut Assignment, winner: usize, by: String, equal: bool) {
    loser.superseded_by = Some(winner);
    loser.outcome = if equal { Outcome::NoOp } else { Outcome::Shadowed };
    loser.reason = if equal { format!("{by}, with the same value") } else { by };
}

/// One row a variable that counts, in the order of sources.
fn variables(configuration: &Configuration) -> Vec<Variable> {
    let is_variable = |kind| matches!(kind, SourceKind::ProcessEnvironment | SourceKind::Dotenv);
    let of_variables = configuration.assignments.iter().filter(|assignment| {
        is_variable(configuration.sources[assignment.source].kind) && assignment.op == Op::Set
    });
    of_variables.map(Variable::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_spring_key_are_one() {
        for key in ["my.main-project.person[0].first-name", "my.mainProject.person[0].firstName"] {
            assert_eq!(relaxed(key), "my.mainproject.person[0].firstname");
        }
        assert_eq!(relaxed("map[a.B-c]"), "map[a.B-c]");
    }

    #[test]
    fn variables_of_a_spring_key_are_as_documented() {
        // https://docs.spring.io/spring-boot/reference/features/external-config.html, "Binding From
        // Environment Variables".
        assert_eq!(
            relaxed_variables("spring.main.log-startup-info")[0],
            "spring_main_logstartupinfo"
        );
        assert_eq!(relaxed_variables("my.service[0].other")[0], "my_service_0_other");
        assert_eq!(relaxed_variables("server.maxHttpSize")[1], "server_max_http_size");
        assert_eq!(of_elements("my_service_0_other"), "my.service[0].other");
    }
}
