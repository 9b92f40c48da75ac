//! A name sets a key that no other source knows, and is almost the name of another one.
//!
//! What the code, a compose file or the framework asks for is the right name, and the other one the slip. Of two
//! names that nothing asks for, nothing says which one is right: the finding names both places.
//!
//! Not reported: keys of a group that the code takes as a whole, names that differ only in digits (`server1`, `server2`), and names that the same source sets
//! beside each other, because they are two on purpose.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::Severity;

use super::{blank_interpolation, case_mismatch, near_miss_group, never_applied, start_fails};
use crate::asks::ANY;
use crate::compose::{BLANK, outside_key};
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Effective, Op, Outcome, SourceKind, Variable};
use crate::resolve::bare;
use crate::spelling::{MOST, is_substitution, slips};

pub(super) const ID: &str = "config-near-miss-name";

/// What follows where both names have a value.
const OWN_NAME: &str = "A program takes every spelling for a name of its own.";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let near = near_misses(configuration);
    let mut findings: Vec<ConfigFinding> =
        near.iter().map(|one| finding(configuration, one)).collect();
    let slips: BTreeSet<&str> = near.iter().map(|one| one.slip.written.as_str()).collect();
    let is_open = |one: &&Variable| !slips.contains(one.name.as_str());
    let variables = configuration.variables.iter().filter(is_open);
    findings.extend(variables.filter_map(|one| misspelled(configuration, one)));
    findings.extend(near_miss_group::find(configuration));
    findings.extend(longer_names(configuration));
    findings
}

/// A value for `${...}` that nothing takes, and a `${...}` that has none, where one name is the start of the other:
/// `PUBLIC_HOSTNAME` and `PUBLIC_HOST`.
fn longer_names(configuration: &Configuration) -> Vec<ConfigFinding> {
    let blank: BTreeMap<&str, String> = configuration
        .oddities
        .iter()
        .filter(|(_, one)| one.what == BLANK)
        .map(|(at, one)| {
            (one.name.as_str(), format!("{}:{}", configuration.sources[*at].name, one.at.line))
        })
        .collect();
    let unused = configuration.assignments.iter().filter(|one| {
        let kind = configuration.sources[one.source].kind;
        one.outcome == Outcome::NeverApplied && kind == SourceKind::DotenvInterpolation
    });
    let of = |one: &Assignment| {
        let name = one.written.as_str();
        let mut near = blank.iter().filter(|(asked, _)| is_start_of_other(asked, name));
        let (Some((asked, at)), None) = (near.next(), near.next()) else { return None };
        slips(name, asked).is_none().then(|| ConfigFinding {
            id: ID,
            severity: Severity::Medium,
            key: one.key.to_string(),
            concerns: vec![name.to_owned(), (*asked).to_owned(), outside_key(asked)],
            title: format!(
                "`{name}` is set, and nothing asks for it; `{at}` asks for `{asked}`, which is not set."
            ),
            evidence: vec![configuration.place(one), at.clone()],
            why: OWN_NAME.to_owned(),
            fix: vec![format!("Rename `{name}` to `{asked}`, if this is meant.")],
        })
    };
    unused.filter_map(of).collect()
}

/// Whether two names of several words differ in the last, of which one is the start of the other.
fn is_start_of_other(one: &str, other: &str) -> bool {
    let (Some((start, last)), Some((other_start, other_last))) =
        (one.rsplit_once('_'), other.rsplit_once('_'))
    else {
        return false;
    };
    let is_start = last.starts_with(other_last) || other_last.starts_with(last);
    start == other_start && last != other_last && is_start && last.len().min(other_last.len()) > 2
}

/// A variable whose name is almost one that the profile or a source asks for.
fn misspelled(configuration: &Configuration, one: &Variable) -> Option<ConfigFinding> {
    let near = one.nearest.as_ref()?;
    let (asked, key) = configuration.asked.get_key_value(near)?;
    let name = &one.name;
    let requests = configuration.effective.iter().filter(|other| *other.key == *key);
    let requests = requests.flat_map(|other| requests_of(configuration, other));
    let places = requests.map(|request| configuration.place(request));
    let source = configuration.sources[one.source].name.clone();
    Some(ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: name.clone(),
        concerns: vec![key.clone(), asked.clone()],
        title: format!("{}; `{asked}` is almost the same.", unused(configuration, name)),
        evidence: [source].into_iter().chain(places).collect(),
        why: OWN_NAME.to_owned(),
        fix: vec![format!("Rename `{name}` to `{asked}`, if this is meant.")],
    })
}

/// A name that is set, and what was read for the name in vain.
pub(super) fn unused(configuration: &Configuration, name: &str) -> String {
    let mut kinds = configuration.sources.iter().map(|source| source.kind);
    let read =
        if kinds.any(|kind| kind == SourceKind::CodeDefault) { "no code" } else { "nothing" };
    format!("`{name}` is set, and {read} that was read asks for it")
}

/// A name that is almost another one.
pub(super) struct NearMiss<'a> {
    /// What sets a key that no other source knows.
    pub(super) slip: &'a Assignment,
    /// Weaker assignments of the same key.
    others: Vec<&'a Assignment>,
    /// The key that may be meant.
    pub(super) meant: &'a str,
    /// The same as it is asked for, else the key.
    pub(super) meant_name: &'a str,
    /// What sets that key; none if nothing does.
    set_by: Option<&'a Assignment>,
    known_by: KnownBy<'a>,
}

/// What knows the key that may be meant.
#[derive(Clone, Copy)]
enum KnownBy<'a> {
    /// The code or a compose file asks for it here.
    Request(&'a Assignment),
    /// It is a key of the framework itself.
    Framework,
    /// A weaker source sets it, and nothing is known to ask for it.
    Source(&'a Assignment),
}

/// A key with what is known of it.
struct Name<'a> {
    key: &'a str,
    /// The part of the key that belongs to a service or container, whose keys are no slips of another's.
    owner: &'a str,
    /// The weakest assignment that gives it a value.
    first: Option<&'a Assignment>,
    /// The assignments that give it a value, the weakest first.
    setters: Vec<&'a Assignment>,
    /// The sources that give it a value.
    sources: BTreeSet<usize>,
    /// Whether the code takes a group as a whole that has it.
    is_of_group: bool,
    /// What asks for it, first the code.
    asked_by: Option<KnownBy<'a>>,
    /// How many letters and digits it has.
    length: usize,
    /// Which letters and digits it has, to tell apart at once what is not near.
    letters: u64,
}

pub(super) fn is_code(configuration: &Configuration, one: &Assignment) -> bool {
    configuration.sources[one.source].kind == SourceKind::CodeDefault
}

/// The requests of a key.
fn requests_of<'a>(
    configuration: &'a Configuration,
    effective: &'a Effective,
) -> impl Iterator<Item = &'a Assignment> {
    let chain = effective.chain.iter().map(|at| &configuration.assignments[*at]);
    // Code that has a default for a key asks for it, too.
    chain.filter(|one| one.outcome == Outcome::Requested || is_code(configuration, one))
}

impl<'a> Name<'a> {
    fn new(configuration: &'a Configuration, groups: &[String], effective: &'a Effective) -> Self {
        let chain = effective.chain.iter().map(|at| &configuration.assignments[*at]);
        let sets = |one: &&Assignment| {
            let is_request = is_code(configuration, one) && one.op != Op::Set;
            !is_request && !matches!(one.outcome, Outcome::Unread | Outcome::Requested)
        };
        let setters: Vec<&Assignment> = chain.filter(sets).collect();
        let first = setters.first().copied();
        let key = effective.key.as_str();
        let owner = first.and_then(|first| key.strip_suffix(first.written.as_str()));
        let request = requests_of(configuration, effective).next().map(KnownBy::Request);
        let is_of_framework = configuration.framework_keys.iter().any(|known| known == key);
        let asked_by = request.or(is_of_framework.then_some(KnownBy::Framework));
        let sources = setters.iter().map(|one| one.source).collect();
        let lower = key.to_lowercase();
        let is_of_group = groups.iter().any(|group| lower.starts_with(group.as_str()));
        let owner = owner.unwrap_or_default();
        Self { owner, first, setters, sources, is_of_group, asked_by, ..Self::of_key(key) }
    }

    /// A key that nothing sets.
    fn of_key(key: &'a str) -> Self {
        let bare = bare(key);
        Self {
            key,
            owner: "",
            first: None,
            setters: Vec::new(),
            sources: BTreeSet::new(),
            is_of_group: false,
            asked_by: Some(KnownBy::Framework),
            length: bare.len(),
            letters: bare.bytes().fold(0, |letters, byte| letters | 1 << (byte % 64)),
        }
    }

    /// The key without what it belongs to.
    fn own(&self) -> &'a str {
        &self.key[self.owner.len()..]
    }

    /// The assignment that may be a slip: the one that counts, where nothing asks for the key.
    fn slip(&self) -> Option<&'a Assignment> {
        let counts =
            |one: &&&Assignment| matches!(one.outcome, Outcome::Won | Outcome::NeverApplied);
        self.setters.iter().rev().find(counts).copied().filter(|_| self.asked_by.is_none())
    }

    /// What knows this key, if another name may be a slip of it.
    fn known_to(&self, other: &Self, slip: &Assignment) -> Option<KnownBy<'a>> {
        if !self.sources.is_disjoint(&other.sources) {
            return None;
        }
        // What takes the whole group may ask for the other name, too.
        if other.is_of_group && self.asked_by.is_some() {
            return None;
        }
        let is_weaker = |first: &&Assignment| {
            let is_lone = other.sources.len() == 1;
            is_lone && first.source < slip.source && slip.outcome == Outcome::Won
        };
        self.asked_by.or_else(|| self.first.filter(is_weaker).map(KnownBy::Source))
    }

    /// Whether a name is in the place of this one, which nothing sets: one letter is another one, in short words, too.
    fn is_replaced_by(&self, other: &Self, configuration: &Configuration) -> bool {
        // A default of the code is no value of a source.
        let is_asked = matches!(self.asked_by, Some(KnownBy::Request(_) | KnownBy::Framework));
        let is_open = is_asked && self.setters.iter().all(|one| is_code(configuration, one));
        let mut kinds = other.sources.iter().map(|at| configuration.sources[*at].kind);
        // A shell has names of other programs.
        let is_own = kinds.all(|kind| kind != SourceKind::ProcessEnvironment);
        let is_set = other.asked_by.is_none() && !other.is_of_group && other.slip().is_some();
        is_open && is_own && is_set && is_substitution(self.own(), other.own())
    }

    /// How many slips make the other name of this one, as [`slips`].
    fn slips(&self, other: &Self) -> Option<usize> {
        // A slip changes which characters there are by at most two.
        let differing = (self.letters ^ other.letters).count_ones() as usize;
        let may_be = differing <= 2 * MOST && self.owner == other.owner;
        may_be.then(|| slips(self.own(), other.own())).flatten()
    }
}

/// The names that are almost another one, each with that one.
pub(super) fn near_misses(configuration: &Configuration) -> Vec<NearMiss<'_>> {
    // Only names of the same first letter are compared: a slip there is rare.
    let mut by_letter: BTreeMap<Option<char>, Vec<Name<'_>>> = BTreeMap::new();
    // A path in a tree of XML: a patch may add what it likes, and is judged by what it matches.
    let is_path = |key: &str| configuration.separator == "/" && key.contains('/');
    let set = configuration.effective.iter().filter(|one| !is_path(&one.key));
    let groups = groups_asked_for(configuration);
    let set: Vec<Name<'_>> = set.map(|one| Name::new(configuration, &groups, one)).collect();
    let keys: BTreeSet<&str> = set.iter().map(|name| name.key).collect();
    let open = configuration.framework_keys.iter().filter(|key| !keys.contains(key.as_str()));
    let open: Vec<Name<'_>> = open.map(|key| Name::of_key(key)).collect();
    for name in set.into_iter().chain(open) {
        let first = name.own().chars().find(|c| c.is_alphanumeric());
        by_letter.entry(first.map(|c| c.to_ascii_lowercase())).or_default().push(name);
    }
    let mut found = Vec::new();
    for names in by_letter.values_mut() {
        names.sort_by_key(|name| name.length);
        for (at, one) in names.iter().enumerate() {
            let Some(slip) = one.slip() else { continue };
            let is_close = |other: &&Name<'_>| other.length.abs_diff(one.length) <= MOST;
            let shorter = names[..at].iter().rev().take_while(is_close);
            let longer = names[at + 1..].iter().take_while(is_close);
            let near = shorter.chain(longer).filter_map(|other| {
                let known_by = other.known_to(one, slip)?;
                let is_guess = matches!(known_by, KnownBy::Source(_));
                Some(((is_guess, other.slips(one)?, other.key), (known_by, other.first)))
            });
            let nearest = near.min_by_key(|(rank, _)| *rank);
            let nearest =
                nearest.map(|((.., meant), (known_by, set_by))| (meant, known_by, set_by));
            let nearest = nearest.or_else(|| replaced(configuration, names, one));
            let Some((meant, known_by, set_by)) = nearest else { continue };
            let others = one.setters.iter().copied().filter(|other| !std::ptr::eq(*other, slip));
            let meant_name = match known_by {
                // Code may write a part of the key alone: `GetConnectionString("Main")`.
                KnownBy::Request(request) if !is_code(configuration, request) => &request.written,
                _ => meant,
            };
            let others = others.collect();
            found.push(NearMiss { slip, others, meant, meant_name, set_by, known_by });
        }
    }
    found
}

/// The name in whose place another one is set, where each is the only one that may be the other's.
fn replaced<'a>(
    configuration: &Configuration,
    names: &[Name<'a>],
    one: &Name<'a>,
) -> Option<(&'a str, KnownBy<'a>, Option<&'a Assignment>)> {
    let mut open = names.iter().filter(|other| other.is_replaced_by(one, configuration));
    let (Some(meant), None) = (open.next(), open.next()) else { return None };
    let others = names.iter().filter(|other| meant.is_replaced_by(other, configuration));
    let known_by = meant.asked_by.filter(|_| others.count() == 1)?;
    Some((meant.key, known_by, None))
}

/// How the keys start of the groups that the code takes as a whole, in lower case.
fn groups_asked_for(configuration: &Configuration) -> Vec<String> {
    let requests = configuration.assignments.iter();
    let groups = requests.filter(|one| one.outcome == Outcome::Requested);
    let groups = groups.filter_map(|one| one.key.strip_suffix(ANY));
    groups.map(str::to_lowercase).collect()
}

/// The variable that sets a key: `ConnectionStrings__Main`.
fn variable_of<'a>(configuration: &'a Configuration, key: &str) -> Option<&'a str> {
    let mut asked = configuration.asked.iter();
    asked.find(|(_, own)| *own == key).map(|(name, _)| name.as_str())
}

/// The variable that may be meant by a name of a file of variables, where such a name is no key.
fn meant_variable<'a>(configuration: &'a Configuration, one: &NearMiss<'a>) -> Option<&'a str> {
    let is_of_variables = configuration.sources[one.slip.source].kind == SourceKind::Dotenv;
    let is_no_key = is_of_variables && one.slip.written != one.slip.key;
    variable_of(configuration, one.meant).filter(|_| is_no_key)
}

/// What may be meant by a slip.
pub(super) fn meant<'a>(configuration: &'a Configuration, one: &NearMiss<'a>) -> &'a str {
    meant_variable(configuration, one).unwrap_or(one.meant_name)
}

/// How to rename a slip, where it is written.
fn rename(configuration: &Configuration, one: &NearMiss<'_>) -> String {
    let (name, meant) = (&one.slip.written, one.meant_name);
    if one.slip.at.is_none() || meant_variable(configuration, one).is_some() {
        // A variable can be written in another way than the key that it sets.
        let separator = configuration.separator.as_str();
        return match variable_of(configuration, one.meant) {
            Some(variable) => format!("Rename `{name}` to `{variable}`."),
            None if one.meant.contains(separator) => {
                format!("Rename `{name}`, so that it sets `{meant}`.")
            }
            None => format!("Rename `{name}` to `{meant}`."),
        };
    }
    let places: Vec<String> = one.others.iter().map(|other| configuration.place(other)).collect();
    match places.as_slice() {
        [] => format!("Rename `{name}` to `{meant}`."),
        others => {
            let others = others.join("`, `");
            format!("Rename `{name}` to `{meant}`, also in `{others}`.")
        }
    }
}

/// What to do about a name that the code or a compose file writes in another way.
fn fixes_of_request(
    configuration: &Configuration,
    one: &NearMiss<'_>,
    request: &Assignment,
) -> Vec<String> {
    let (name, at) = (&one.slip.written, configuration.place(request));
    let rename = rename(configuration, one);
    // Spring takes `max-size` for `maxSize`, and not the other way round.
    if configuration.is_relaxed && bare(&one.slip.key) == bare(one.meant) {
        let write = format!(
            "Write `{}` in `{at}`: Spring takes other spellings only for names in lower case with dashes.",
            one.slip.key
        );
        return vec![write, format!("Or {}{}", rename[..1].to_lowercase(), &rename[1..])];
    }
    if request.written != request.key && is_code(configuration, request) {
        return vec![rename];
    }
    // `Api.Url` where keys have `:`: the code is the slip.
    let separator = configuration.separator.as_str();
    let has_parts = |key: &str| key.contains(separator);
    if has_parts(&one.slip.key) && !has_parts(one.meant) && bare(&one.slip.key) == bare(one.meant) {
        let write =
            format!("Write `{}` in `{at}`: `{separator}` stands between names.", one.slip.key);
        return vec![write, format!("Or {}{}", rename[..1].to_lowercase(), &rename[1..])];
    }
    // Code that asks for the key of a variable cannot ask for its name.
    if meant_variable(configuration, one).is_some() {
        return vec![rename];
    }
    vec![rename, format!("Or write `{name}` in `{at}`, if that is the slip.")]
}

fn finding(configuration: &Configuration, one: &NearMiss<'_>) -> ConfigFinding {
    let (slip, meant) = (one.slip, one.meant);
    let (name, place) = (&slip.written, configuration.place(slip));
    let write = match slip.at {
        None => rename(configuration, one),
        Some(_) => format!("Write `{meant}` instead of `{name}` in `{place}`."),
    };
    let unused = unused(configuration, name);
    let framework = configuration.framework();
    let (title, known_at, fix) = match one.known_by {
        KnownBy::Request(request) => {
            let (at, meant) = (configuration.place(request), one.meant_name);
            let title = format!("{unused}; `{at}` asks for `{meant}`, which is almost the same.");
            (title, Some(at), fixes_of_request(configuration, one, request))
        }
        KnownBy::Framework => {
            let title =
                format!("{unused}; `{meant}` is a key of {framework}, and almost the same.");
            (title, one.set_by.map(|set| configuration.place(set)), vec![write])
        }
        KnownBy::Source(known) => {
            let at = configuration.place(known);
            let title = format!(
                "`{name}` sets a key that no other source knows; `{meant}` is almost the same."
            );
            let other = format!("Or correct `{meant}` in `{at}`, if the program reads `{name}`.");
            (title, Some(at), vec![write, other])
        }
    };
    let others = one.others.iter().map(|other| configuration.place(other));
    let own_name = meant_variable(configuration, one).map(|_| name.to_string());
    let concerns = [meant.to_owned()].into_iter().chain(own_name).collect();
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: slip.key.to_string(),
        concerns,
        title,
        evidence: [place].into_iter().chain(others).chain(known_at).collect(),
        why: OWN_NAME.to_owned(),
        fix,
    }
}

/// Puts what follows from a misspelled name into its finding: the other name has no value, and nothing takes this
/// one. So the reader has one finding, with the cause.
pub(super) fn merge_effects(findings: &mut Vec<ConfigFinding>) {
    let is_effect = |one: &ConfigFinding| match one.id {
        never_applied::ID | blank_interpolation::ID => true,
        start_fails::ID => !one.key.is_empty(),
        _ => false,
    };
    let (effects, mut others): (Vec<_>, Vec<_>) =
        std::mem::take(findings).into_iter().partition(is_effect);
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for (at, one) in others.iter().enumerate() {
        if matches!(one.id, ID | case_mismatch::ID) {
            let names = one.concerns.iter().chain([&one.key]).cloned();
            for name in names {
                causes.entry(name).or_insert(at);
            }
        }
    }
    for effect in effects {
        let cause = causes.get(&effect.key).or_else(|| causes.get(&outside_key(&effect.key)));
        match cause.map(|at| &mut others[*at]).filter(|cause| explains(cause, &effect)) {
            Some(cause) => add_effect(cause, effect),
            None => others.push(effect),
        }
    }
    *findings = others;
}

/// Whether a misspelled name, which another finding is about, is why that one was made: a variable of this name may
/// be set in several places.
fn explains(near: &ConfigFinding, effect: &ConfigFinding) -> bool {
    let is_same_place = || effect.evidence.first().is_some_and(|at| near.evidence.contains(at));
    matches!(effect.id, blank_interpolation::ID | start_fails::ID) || is_same_place()
}

fn add_effect(cause: &mut ConfigFinding, effect: ConfigFinding) {
    cause.severity = cause.severity.max(effect.severity);
    match effect.id {
        blank_interpolation::ID => cause.why = effect.why,
        start_fails::ID => cause.why = effect.title,
        _ => {}
    }
    for place in effect.evidence {
        if !cause.evidence.contains(&place) {
            cause.evidence.push(place);
        }
    }
    cause.concerns.extend(effect.concerns);
}
