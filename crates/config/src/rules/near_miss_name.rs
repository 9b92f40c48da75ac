//! A name sets a key that no other source knows, and is almost the name of another one.
//!
//! What the code, a compose file or the framework asks for is the right name, and the other one the slip. Of two
//! names that nothing asks for, nothing says which one is right: the finding names both places.
//!
//! Not reported: names that differ only in digits (`server1`, `server2`), and names that the same source sets
//! beside each other, because they are two on purpose.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::Severity;

use super::{blank_interpolation, case_mismatch, near_miss_group, never_applied};
use crate::compose::{BLANK, outside_key};
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Effective, Outcome, SourceKind, Variable};
use crate::resolve::bare;
use crate::spelling::{MOST, slips};

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
        title: format!("`{name}` is set, and nothing asks for it; `{asked}` is almost the same."),
        evidence: [source].into_iter().chain(places).collect(),
        why: OWN_NAME.to_owned(),
        fix: vec![format!("Rename `{name}` to `{asked}`, if this is meant.")],
    })
}

/// A name that is almost another one.
pub(super) struct NearMiss<'a> {
    /// What sets a key that no other source knows.
    pub(super) slip: &'a Assignment,
    /// The key that may be meant.
    pub(super) meant: &'a str,
    /// What sets that key; none if nothing does.
    set_by: Option<&'a Assignment>,
    known_by: KnownBy<'a>,
}

impl NearMiss<'_> {
    /// The name that may be meant: as it is asked for, else the key.
    pub(super) fn meant_name(&self) -> &str {
        match self.known_by {
            KnownBy::Request(request) => request.written.as_str(),
            KnownBy::Framework | KnownBy::Source(_) => self.meant,
        }
    }
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
    /// The sources that give it a value.
    sources: BTreeSet<usize>,
    /// What asks for it, first the code.
    asked_by: Option<KnownBy<'a>>,
    /// How many letters and digits it has.
    length: usize,
    /// Which letters and digits it has, to tell apart at once what is not near.
    letters: u64,
}

/// The requests of a key.
fn requests_of<'a>(
    configuration: &'a Configuration,
    effective: &'a Effective,
) -> impl Iterator<Item = &'a Assignment> {
    let chain = effective.chain.iter().map(|at| &configuration.assignments[*at]);
    // Code that has a default for a key asks for it, too.
    chain.filter(|one| {
        let is_code = configuration.sources[one.source].kind == SourceKind::CodeDefault;
        one.outcome == Outcome::Requested || is_code
    })
}

impl<'a> Name<'a> {
    fn new(configuration: &'a Configuration, effective: &'a Effective) -> Self {
        let chain = effective.chain.iter().map(|at| &configuration.assignments[*at]);
        let sets = |one: &&Assignment| !matches!(one.outcome, Outcome::Unread | Outcome::Requested);
        let setters: Vec<&Assignment> = chain.filter(sets).collect();
        let first = setters.first().copied();
        let key = effective.key.as_str();
        let owner = first.and_then(|first| key.strip_suffix(first.written.as_str()));
        let request = requests_of(configuration, effective).next().map(KnownBy::Request);
        let is_of_framework = configuration.framework_keys.iter().any(|known| known == key);
        let asked_by = request.or(is_of_framework.then_some(KnownBy::Framework));
        let sources = setters.iter().map(|one| one.source).collect();
        Self { owner: owner.unwrap_or_default(), first, sources, asked_by, ..Self::of_key(key) }
    }

    /// A key that nothing sets.
    fn of_key(key: &'a str) -> Self {
        let bare = bare(key);
        Self {
            key,
            owner: "",
            first: None,
            sources: BTreeSet::new(),
            asked_by: Some(KnownBy::Framework),
            length: bare.len(),
            letters: bare.bytes().fold(0, |letters, byte| letters | 1 << (byte % 64)),
        }
    }

    /// The key without what it belongs to.
    fn own(&self) -> &'a str {
        &self.key[self.owner.len()..]
    }

    /// The assignment that may be a slip: of the one source that sets the key, where nothing asks for it.
    fn slip(&self) -> Option<&'a Assignment> {
        let is_lone = self.sources.len() == 1 && self.asked_by.is_none();
        let counts =
            |one: &&Assignment| matches!(one.outcome, Outcome::Won | Outcome::NeverApplied);
        self.first.filter(|_| is_lone).filter(counts)
    }

    /// What knows this key, if another name may be a slip of it.
    fn known_to(&self, slip: &Assignment) -> Option<KnownBy<'a>> {
        if self.sources.contains(&slip.source) {
            return None;
        }
        let is_weaker =
            |first: &&Assignment| first.source < slip.source && slip.outcome == Outcome::Won;
        self.asked_by.or_else(|| self.first.filter(is_weaker).map(KnownBy::Source))
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
    let set: Vec<Name<'_>> = set.map(|one| Name::new(configuration, one)).collect();
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
                let known_by = other.known_to(slip)?;
                let is_guess = matches!(known_by, KnownBy::Source(_));
                Some(((is_guess, other.slips(one)?, other.key), (known_by, other.first)))
            });
            let nearest = near.min_by_key(|(rank, _)| *rank);
            let Some(((.., meant), (known_by, set_by))) = nearest else { continue };
            found.push(NearMiss { slip, meant, set_by, known_by });
        }
    }
    found
}

fn finding(configuration: &Configuration, one: &NearMiss<'_>) -> ConfigFinding {
    let (slip, meant) = (one.slip, one.meant);
    let (name, place) = (&slip.written, configuration.place(slip));
    let is_variable = slip.at.is_none();
    let rename = match is_variable {
        true => format!("Rename `{name}`, so that it sets `{meant}`."),
        false => format!("Write `{meant}` instead of `{name}` in `{place}`."),
    };
    let unused = format!("`{name}` is set, and nothing asks for it");
    let framework = configuration.title.split(':').next().unwrap_or_default();
    let (title, known_at, fix) = match one.known_by {
        KnownBy::Request(request) => {
            let (at, meant) = (configuration.place(request), &request.written);
            let title = format!("{unused}; `{at}` asks for `{meant}`, which is almost the same.");
            // A variable can be written in another way than the key that it sets.
            let rename = match is_variable && slip.written != slip.key {
                true => rename,
                false => format!("Rename `{name}` to `{meant}`."),
            };
            let other = format!("Or write `{name}` in `{at}`, if that is the slip.");
            (title, Some(at), vec![rename, other])
        }
        KnownBy::Framework => {
            let title =
                format!("{unused}; `{meant}` is a key of {framework}, and almost the same.");
            (title, one.set_by.map(|set| configuration.place(set)), vec![rename])
        }
        KnownBy::Source(known) => {
            let at = configuration.place(known);
            let title = format!(
                "`{name}` sets a key that no other source knows; `{meant}` is almost the same."
            );
            let other = format!("Or correct `{meant}` in `{at}`, if the program reads `{name}`.");
            (title, Some(at), vec![rename, other])
        }
    };
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: slip.key.to_string(),
        concerns: vec![meant.to_owned()],
        title,
        evidence: [place].into_iter().chain(known_at).collect(),
        why: OWN_NAME.to_owned(),
        fix,
    }
}

/// Puts what follows from a misspelled name into its finding: the other name has no value, and nothing takes this
/// one. So the reader has one finding, with the cause.
pub(super) fn merge_effects(findings: &mut Vec<ConfigFinding>) {
    let is_effect =
        |one: &ConfigFinding| matches!(one.id, never_applied::ID | blank_interpolation::ID);
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
    effect.id == blank_interpolation::ID || is_same_place()
}

fn add_effect(cause: &mut ConfigFinding, effect: ConfigFinding) {
    cause.severity = cause.severity.max(effect.severity);
    if effect.id == blank_interpolation::ID {
        cause.why = effect.why;
    }
    for place in effect.evidence {
        if !cause.evidence.contains(&place) {
            cause.evidence.push(place);
        }
    }
    cause.concerns.extend(effect.concerns);
}
