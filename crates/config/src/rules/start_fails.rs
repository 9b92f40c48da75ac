//! A file that must be read is malformed or missing, or a value is, and the program does not start.
//!
//! A value that is missing may be set where the program runs, so that its finding is milder.
//!
//! Not reported: programs that go on without the file, files that Culprit may not read, and values that a source may
//! set which could not be read.

use culprit_model::Severity;

use super::reason;
use crate::asks::REQUIRED;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Effective, Outcome, Source, SourceState};
use crate::python::{NO_VARIABLE, REFUSED};
use crate::switch::OF_VARIABLE;

pub(super) const ID: &str = "config-start-fails";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let program = configuration.refused_by.as_deref();
    let files = configuration.sources.iter().filter_map(|source| finding(program, source));
    let values = configuration.effective.iter().filter_map(|one| refused(configuration, one));
    let missing = configuration.effective.iter().filter_map(|one| missing(configuration, one));
    let odd = configuration.oddities.iter().filter(|(_, oddity)| oddity.what == NO_VARIABLE);
    let variables = odd.map(|(at, oddity)| {
        let place = format!("{}:{}", configuration.sources[*at].name, oddity.at.line);
        needed(configuration, (oddity.name.as_str(), oddity.name.as_str()), place)
    });
    files.chain(values).chain(missing).chain(variables).collect()
}

/// What does not start, for a title.
fn program(configuration: &Configuration) -> &str {
    let title = configuration.framework();
    configuration.refused_by.as_deref().unwrap_or(title)
}

/// A value that the program refuses, and that no stronger source replaces.
fn refused(configuration: &Configuration, effective: &Effective) -> Option<ConfigFinding> {
    let is_refused = |at: &&usize| {
        let one: &Assignment = &configuration.assignments[**at];
        let counts = effective.winner.is_none_or(|winner| **at > winner);
        counts && one.outcome == Outcome::Unknown && one.reason.ends_with(REFUSED)
    };
    let one = &configuration.assignments[*effective.chain.iter().rev().find(is_refused)?];
    let (why, place) = (one.reason.strip_suffix(REFUSED)?, configuration.place(one));
    Some(ConfigFinding {
        id: ID,
        severity: Severity::High,
        key: one.key.to_string(),
        concerns: Vec::new(),
        title: format!("The program does not start: {why} (`{}`).", one.written),
        evidence: vec![place.clone()],
        why: "The program checks its settings when it loads them, and refuses the value."
            .to_owned(),
        fix: vec![format!("Correct the value of `{}` in `{place}`.", one.written)],
    })
}

/// A key that the program needs, and that no source sets.
fn missing(configuration: &Configuration, one: &Effective) -> Option<ConfigFinding> {
    let mut chain = one.chain.iter().map(|at| &configuration.assignments[*at]);
    let request = chain.clone().find(|one| one.reason == REQUIRED)?;
    let sets = |one: &Assignment| !matches!(one.outcome, Outcome::Requested | Outcome::Unread);
    if one.winner.is_some() || one.gap.is_some() || chain.any(sets) {
        return None;
    }
    let separator = configuration.separator.as_str();
    let is_group = |other: &Effective| {
        let rest = other.key.strip_prefix(one.key.as_str()).unwrap_or_default();
        rest.starts_with(separator) || rest.starts_with('[')
    };
    if configuration.effective.iter().any(is_group) {
        return None;
    }
    let variable = configuration.asked.iter().find(|(_, key)| **key == *one.key);
    let name = variable.map_or(one.key.as_str(), |(name, _)| name.as_str());
    Some(needed(configuration, (one.key.as_str(), name), configuration.place(request)))
}

fn needed(
    configuration: &Configuration,
    (key, name): (&str, &str),
    place: String,
) -> ConfigFinding {
    let program = program(configuration);
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: key.to_owned(),
        concerns: Vec::new(),
        title: format!(
            "{program} does not start: `{place}` needs `{key}`, and no source that was read sets it."
        ),
        evidence: vec![place],
        why: "The code has no default for it.".to_owned(),
        fix: vec![format!("Set `{name}`, or give the code a default.")],
    }
}

/// What to correct: the file, or the variable whose value the file asks for.
fn correct(source: &Source) -> String {
    let file = &source.name;
    let variable = source.why.strip_prefix(OF_VARIABLE).and_then(|rest| rest.split('`').next());
    match variable {
        Some(name) => format!("Correct the value of `{name}`, or its `__format` in `{file}`."),
        None => format!("Correct `{file}`."),
    }
}

fn finding(program: Option<&str>, source: &Source) -> Option<ConfigFinding> {
    let file = &source.name;
    let is_object = source.kind.is_of_kubernetes();
    let program = program.or(is_object.then_some("Kubernetes"))?;
    let (what, fix) = match (source.state, source.at) {
        (SourceState::Unparsable, Some(at)) => {
            ("is malformed", vec![format!("Correct `{file}` in line {}.", at.line)])
        }
        (SourceState::Unparsable, None) => ("is refused", vec![correct(source)]),
        // The cluster may have it: a finding of its own says so.
        (SourceState::MissingRequired, _) if is_object => return None,
        (SourceState::MissingRequired, _) => (
            "does not exist",
            vec![
                format!("Create `{file}`, or correct its path where it is named."),
                "Mark it there as optional, if the program may start without it.".to_owned(),
            ],
        ),
        _ => return None,
    };
    let place = match source.at {
        Some(at) => format!("{file}:{}:{}", at.line, at.column),
        None => file.clone(),
    };
    Some(ConfigFinding {
        id: ID,
        severity: Severity::High,
        key: String::new(),
        concerns: Vec::new(),
        title: match is_object {
            true => format!("Kubernetes refuses `{}` of `{file}`.", source.layer),
            false => format!("{program} does not start: `{file}` {what}."),
        },
        evidence: vec![place],
        why: reason(&source.why),
        fix,
    })
}
