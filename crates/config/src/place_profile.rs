//! The variables of a running thing as a [`Configuration`]: image, creation, start and memory are its
//! sources, weakest first.
//!
//! ```text
//! LOG_LEVEL = debug
//!   won        PID 1 (node) now       debug   changed by the program since its start
//!   shadowed   PID 1 (node) at start  info    given when the container was created
//!   shadowed   image app:1            warn
//! ```
//!
//! The sets are not layers that fall through: what a later set lacks is gone there.

use std::collections::BTreeSet;

use crate::configuration::Configuration;
use crate::position::Position;
use crate::provenance::{
    Assignment, Certainty, Op, Outcome, Source, SourceKind, SourceState, Variable,
};
use crate::resolve::{by_order, effective};
use crate::secret;
use crate::value::{Raw, Redactor};
use crate::variables::VariableSet;

/// The name of the profile.
pub const PROCESS_PROFILE: &str = "process";

/// The variables of a running thing, from the image to the memory of its process.
#[must_use]
pub fn process_configuration(
    title: &str,
    sets: &[VariableSet],
    redactor: &Redactor,
) -> Configuration {
    let sources: Vec<Source> = sets.iter().map(source).collect();
    let (mut assignments, keys) = assignments(sets, redactor);
    let mut effective = effective(false, &sources, &mut assignments, keys, &by_order);
    let is_assumed = sets.last().is_some_and(|set| set.state == SourceState::Unread);
    for one in effective.iter_mut().filter(|one| one.certainty == Certainty::Exact && is_assumed) {
        one.certainty = Certainty::Assumed;
    }
    for assignment in &mut assignments {
        let origin = origin(sets, assignment);
        if !origin.is_empty() {
            let reason = std::mem::take(&mut assignment.reason);
            let parts = [origin, reason];
            assignment.reason = parts
                .iter()
                .filter(|part| !part.is_empty())
                .cloned()
                .collect::<Vec<_>>()
                .join("; ");
        }
    }
    let variables = assignments.iter().map(Variable::of).collect();
    Configuration {
        leaves_out: leaves_out(sets),
        variables,
        ..Configuration::new((PROCESS_PROFILE, title), sources, assignments, effective)
    }
}

/// A source of options, with what it sets: key, value, and where.
#[derive(Debug, Clone)]
pub struct OptionSource {
    /// The source.
    pub source: Source,
    /// The name that it writes, the key that this sets, the value, and where it stands.
    pub options: Vec<(String, String, Raw, Option<Position>)>,
}

/// Options from several sources, of which the last that sets one wins.
#[must_use]
pub fn option_configuration(
    (profile, title): (&str, &str),
    layers: Vec<OptionSource>,
    redactor: &Redactor,
) -> Configuration {
    let (mut sources, mut assignments, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for (index, OptionSource { source, options }) in layers.into_iter().enumerate() {
        for (written, key, value, at) in options {
            assignments.push(Assignment {
                source: index,
                key: secret::name(&key).into(),
                written: secret::name(&written).into(),
                op: Op::Set,
                value: redactor.value(&key, &value),
                at,
                end_line: at.map(|at| at.line),
                condition: None,
                outcome: Outcome::Won,
                superseded_by: None,
                reason: String::new(),
            });
            keys.push(key);
        }
        sources.push(source);
    }
    let effective = effective(false, &sources, &mut assignments, keys, &by_order);
    Configuration::new((profile, title), sources, assignments, effective)
}

fn leaves_out(sets: &[VariableSet]) -> Vec<String> {
    let of_process = sets.iter().any(|set| set.kind == SourceKind::ProcessMemory);
    let copies = "Copies of the variables that a runtime keeps for itself, as Go and Java do.";
    if of_process { vec![copies.to_owned()] } else { Vec::new() }
}

fn source(set: &VariableSet) -> Source {
    let layer = match set.kind {
        SourceKind::ProcessEnvironment => "shell",
        SourceKind::ImageEnvironment => "image",
        SourceKind::ContainerEnvironment => "container",
        SourceKind::InitialEnvironment => "process, at start",
        _ => "process, in memory",
    };
    Source {
        kind: set.kind,
        name: set.name.clone(),
        layer: layer.to_owned(),
        state: set.state,
        why: set.why.clone(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    }
}

fn assignments(sets: &[VariableSet], redactor: &Redactor) -> (Vec<Assignment>, Vec<String>) {
    let (mut assignments, mut keys) = (Vec::new(), Vec::new());
    for (index, set) in sets.iter().enumerate() {
        // Of a name that stands there twice, `getenv(3)` finds the first.
        let mut seen = BTreeSet::new();
        for (name, value) in set.variables.iter().filter(|(name, _)| seen.insert(name.clone())) {
            let is_whole = |later: &&VariableSet| later.state == SourceState::Read;
            let without = sets[index + 1..].iter().filter(is_whole).find(|s| s.get(name).is_none());
            let (outcome, reason) = match without {
                Some(later) => (Outcome::NeverApplied, format!("{} does not have it", later.name)),
                None => (Outcome::Won, String::new()),
            };
            keys.push(name.clone());
            assignments.push(Assignment {
                source: index,
                key: secret::name(name).into(),
                written: secret::name(name).into(),
                op: Op::Set,
                value: redactor.value(name, value),
                at: None,
                end_line: None,
                condition: None,
                outcome,
                superseded_by: None,
                reason,
            });
        }
    }
    (assignments, keys)
}

/// Where a set has a variable from, in words; empty if it is the first set.
fn origin(sets: &[VariableSet], assignment: &Assignment) -> String {
    let Some(set) = sets.get(assignment.source) else { return String::new() };
    let name = &assignment.written;
    let before = sets[..assignment.source].iter().rev().find(|set| set.state == SourceState::Read);
    let Some(before) = before else { return String::new() };
    let (own, other) = (set.get(name), before.get(name));
    match (set.kind, other) {
        (SourceKind::ContainerEnvironment, Some(_)) if own == other => {
            created_from(set, before, name)
        }
        (SourceKind::ContainerEnvironment, _) => "given when the container was created".to_owned(),
        // Those of a process have its number; these are what a recorder started its command with.
        (SourceKind::InitialEnvironment, None) if set.pid.is_none() => {
            "added by Culprit for the recording".to_owned()
        }
        (SourceKind::InitialEnvironment, _) if own != other && set.pid.is_none() => {
            "changed by Culprit for the recording".to_owned()
        }
        (SourceKind::InitialEnvironment, None) => {
            "added by the engine or the entry point".to_owned()
        }
        (SourceKind::InitialEnvironment, _) if own != other => {
            "changed by the entry point".to_owned()
        }
        (SourceKind::ProcessMemory, None) => "added by the program since its start".to_owned(),
        (SourceKind::ProcessMemory, _) if own != other => {
            "changed by the program since its start".to_owned()
        }
        _ => String::new(),
    }
}

/// Docker lists what was given first, then what it took from the image, in the image's order. A value
/// that equals the image's and stands before one that does not was given.
fn created_from(created: &VariableSet, image: &VariableSet, name: &str) -> String {
    let from_image = |(name, value): &&(String, Raw)| image.get(name) == Some(value);
    let taken = created.variables.iter().rev().take_while(from_image).any(|(one, _)| one == name);
    if taken {
        "taken from the image (assumed, by the order of the list)".to_owned()
    } else {
        "given when the container was created, with the image's value (assumed)".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(kind: SourceKind, name: &str, variables: &[(&str, &str)]) -> VariableSet {
        let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), Raw::new(*value));
        VariableSet {
            kind,
            name: name.to_owned(),
            state: SourceState::Read,
            why: String::new(),
            variables: variables.iter().map(variable).collect(),
            pid: None,
        }
    }

    fn rows(configuration: &Configuration, key: &str) -> Vec<String> {
        let chain = &configuration.find(key)[0].chain;
        let row = |at: &usize| {
            let one = &configuration.assignments[*at];
            format!("{} {}: {}", configuration.sources[one.source].name, one.outcome, one.reason)
        };
        chain.iter().map(row).collect()
    }

    #[test]
    fn each_step_says_where_it_has_a_variable_from() {
        let sets = [
            set(SourceKind::ImageEnvironment, "image", &[("PATH", "/bin"), ("A", "1"), ("B", "2")]),
            set(
                SourceKind::ContainerEnvironment,
                "created-with",
                &[("A", "1"), ("C", "3"), ("PATH", "/bin"), ("B", "2")],
            ),
            VariableSet {
                pid: Some(culprit_model::Pid(7)),
                ..set(
                    SourceKind::InitialEnvironment,
                    "start",
                    &[("A", "1"), ("PATH", "/bin"), ("B", "9"), ("HOSTNAME", "x")],
                )
            },
            set(SourceKind::ProcessMemory, "now", &[("A", "7"), ("PATH", "/bin"), ("B", "9")]),
        ];
        let found = process_configuration("t", &sets, &Redactor::new([1; 32]));
        let a = rows(&found, "A");
        assert!(a[1].contains("given when the container was created, with the image's value"));
        assert_eq!(a[3], "now won: changed by the program since its start");
        assert!(rows(&found, "PATH")[1].contains("taken from the image (assumed"));
        let c = rows(&found, "C");
        let gone = "created-with never_applied: given when the container was created; start does \
                    not have it";
        assert_eq!(c, [gone]);
        assert_eq!(found.find("C")[0].winner, None);
        assert!(
            rows(&found, "HOSTNAME")[0].starts_with("start never_applied: added by the engine")
        );
        assert!(rows(&found, "B")[2].contains("changed by the entry point"));
    }

    #[test]
    fn without_the_memory_the_winner_is_assumed_or_unknown() {
        let start = set(SourceKind::InitialEnvironment, "start", &[("A", "1")]);
        for (state, certainty) in
            [(SourceState::Unread, Certainty::Assumed), (SourceState::Denied, Certainty::Unknown)]
        {
            let now = VariableSet { state, ..set(SourceKind::ProcessMemory, "now", &[]) };
            let sets = [start.clone(), now];
            let found = process_configuration("t", &sets, &Redactor::new([1; 32]));
            assert_eq!(found.effective[0].certainty, certainty);
            assert_eq!(found.has_gaps(), state == SourceState::Denied);
        }
    }
}
