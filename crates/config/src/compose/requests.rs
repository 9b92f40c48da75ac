//! What compose files ask for outside: each `${NAME}`, and each name without a value, whether it is set or not.

use std::collections::BTreeSet;

use super::Project;
use super::declared::Declared;
use super::found::{Found, outside_key};
use crate::Position;
use crate::provenance::{Op, Outcome, SourceState};
use crate::readers::Entry;
use crate::template::Use;
use crate::value::Raw;

/// Notes who asks for the values of `.env` and the shell, each name once a line.
pub(super) fn add(
    found: &mut Found,
    project: &Project,
    declared: &[(usize, Declared<'_>)],
    start: usize,
) {
    let mut noted: BTreeSet<(usize, Position, String)> = BTreeSet::new();
    let mut note = |file: usize, entry: &Entry, name: &str, why: String| {
        if noted.insert((file, entry.at, name.to_owned())) {
            let entry = Entry { op: Op::Inherit, ..entry.clone() };
            let key = (outside_key(name), name);
            let at = found.add(start + file, key, (&entry, false), &Raw::default(), &[]);
            found.note(at, Outcome::Requested, why);
        }
    };
    for (file, (source, contents)) in project.compose.iter().enumerate() {
        if source.state != SourceState::Read {
            continue;
        }
        let outside = project.outside_of(file);
        for entry in &contents.entries {
            for one in outside.expand(entry.value.expose()).uses {
                note(file, entry, &one.name, describe(&one).to_owned());
            }
        }
    }
    let inherits =
        |one: &&(usize, Declared<'_>)| one.1.template.is_none() && one.1.removed.is_none();
    for (file, one) in declared.iter().filter(inherits) {
        let service = crate::secret::name(one.service);
        note(*file, one.entry, &one.name, format!("the service `{service}` takes it from outside"));
    }
}

fn describe(one: &Use) -> &'static str {
    match one {
        Use { refused: true, .. } => "Compose does not start without it",
        Use { is_set: false, blank: false, .. } => {
            "the compose file asks for it, and has a value for the case that it is not set"
        }
        _ => "the compose file asks for it",
    }
}
