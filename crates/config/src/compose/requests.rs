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
    let mut note = |file: usize, entry: &Entry, name: &str, (op, why): (Op, String)| {
        if noted.insert((file, entry.at, name.to_owned())) {
            let entry = Entry { op, ..entry.clone() };
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
                note(file, entry, &one.name, describe(&one));
            }
        }
    }
    let inherits =
        |one: &&(usize, Declared<'_>)| one.1.template.is_none() && one.1.removed.is_none();
    for (file, one) in declared.iter().filter(inherits) {
        let service = crate::secret::name(one.service);
        let why = format!("the service `{service}` takes it from outside");
        note(*file, one.entry, &one.name, (Op::Inherit, why));
    }
}

/// How a reference asks for its variable: [`Op::Set`] where it has a default for one that is not set.
fn describe(one: &Use) -> (Op, String) {
    let (op, why) = match one {
        Use { refused: true, .. } => (Op::Inherit, "Compose does not start without it"),
        Use { blank: true, .. } => {
            (Op::Inherit, "the compose file asks for it, and nothing sets it")
        }
        Use { is_set: true, .. } => (Op::Inherit, "the compose file asks for it"),
        _ => (Op::Set, "the compose file asks for it, and has a default"),
    };
    (op, why.to_owned())
}
