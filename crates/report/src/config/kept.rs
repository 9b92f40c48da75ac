//! The configuration that a recording has kept, read back.

use std::collections::BTreeMap;

use culprit_config::{Assignment, Configuration, Effective, PROCESS_PROFILE, Snapshot};
use culprit_model::{KeptConfiguration, Meta};

/// What a recording has kept: a snapshot, or why it has none. None if nothing looked for it.
pub fn kept_by(meta: &Meta) -> Option<Result<Snapshot, String>> {
    Some(match meta.configuration.as_ref()? {
        KeptConfiguration::Snapshot(lines) => {
            Snapshot::read(lines).map_err(|error| format!("cannot be read: {error}"))
        }
        KeptConfiguration::LeftOut(why) => Err(why.clone()),
    })
}

/// A variable that a process was started with.
#[derive(Debug)]
pub struct StartVariable<'a> {
    /// Its assignment.
    pub assignment: &'a Assignment,
    /// Where it comes from, in words.
    pub origin: String,
}

/// The variables that a process was started with, by name; empty without such a process.
pub fn start_variables(snapshot: &Snapshot) -> Vec<StartVariable<'_>> {
    let own = snapshot.configurations.iter().find(|one| one.profile == PROCESS_PROFILE);
    let of = |one| {
        let variable = |effective| start_variable(one, effective);
        one.effective.iter().filter_map(variable).collect()
    };
    own.map(of).unwrap_or_default()
}

fn start_variable<'a>(one: &'a Configuration, effective: &Effective) -> Option<StartVariable<'a>> {
    let assignment = &one.assignments[effective.winner?];
    if !assignment.reason.is_empty() {
        return Some(StartVariable { assignment, origin: assignment.reason.clone() });
    }
    // The first step that has this value.
    let chain = effective.chain.iter().map(|at| &one.assignments[*at]);
    let first = chain
        .filter(|other| other.value.fingerprint == assignment.value.fingerprint)
        .min_by_key(|other| other.source)?;
    let origin = one.sources[first.source].name.clone();
    Some(StartVariable { assignment, origin })
}

/// The names of variables by origin, each list in their order.
pub fn by_origin<'a>(variables: &'a [StartVariable<'_>]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for variable in variables {
        found.entry(&variable.origin).or_default().push(&variable.assignment.written);
    }
    found
}
