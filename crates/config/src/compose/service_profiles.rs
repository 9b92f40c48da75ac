//! `profiles` of services: a service that has some starts only if one of them is active.

use std::collections::BTreeMap;

use super::{Found, Project, is_name, of_service};
use crate::provenance::Outcome;

/// The variable that names the active profiles, of the shell or of `.env`.
const VARIABLE: &str = "COMPOSE_PROFILES";

/// Marks the variables of services that do not start.
pub(super) fn apply(project: &Project, found: &mut Found) {
    let active = project.outside().get(VARIABLE).unwrap_or_default();
    let active: Vec<&str> =
        active.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let mut profiles: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let files = project.read_files();
    let entries = files.flat_map(|(outside, (_, contents))| {
        contents.entries.iter().map(move |entry| (outside, entry))
    });
    for (outside, entry) in entries {
        if let Some((service, path)) = of_service(entry)
            && is_name(path.first(), "profiles")
        {
            let own = outside.expand(entry.value.expose()).text;
            profiles.entry(service).or_default().push(own);
        }
    }
    let is_active = |own: &Vec<String>| {
        own.iter().any(|name| active.contains(&name.as_str())) || active.contains(&"*")
    };
    profiles.retain(|_, own| !own.is_empty() && !is_active(own));
    for at in 0..found.keys.len() {
        let is_of = |service: &str| {
            found.keys[at].strip_prefix(service).is_some_and(|rest| rest.starts_with('.'))
        };
        let Some((service, own)) = profiles.iter().find(|(service, _)| is_of(service)) else {
            continue;
        };
        if found.assignments[at].outcome == Outcome::Won {
            let own = own.join("`, `");
            let active = if active.is_empty() { "none".to_owned() } else { active.join(",") };
            let why = format!("`{service}` starts with the profile `{own}` only; active: {active}");
            found.note(at, Outcome::ConditionFalse, why);
        }
    }
}
