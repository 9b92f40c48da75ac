//! What is added to the settings of a module: what the code asks for, and variables as keys of their own.

use super::dotenv::Variables;
use crate::asks;
use crate::profile::{Asks, Profile};
use crate::provenance::SourceKind;
use crate::readers::Segment;
use crate::sources::{Loaded, Part, Request, Root, environment_source};
use crate::value::Raw;

/// Adds the settings that the code of the project asks for, besides those of Django itself.
pub(super) fn add_requests(
    profile: &Profile,
    root: &Root,
    loaded: &mut Vec<Loaded>,
    parts: &mut Vec<Part>,
) {
    for (at, layer) in profile.layers.iter().enumerate() {
        let Some(asks) = &layer.asks else { continue };
        let asks = Asks { except: profile.keys.known.clone(), ..asks.clone() };
        for one in asks::sources(&asks, (at, layer), root) {
            // A default of the code is the weakest value.
            let entries = 0..one.contents.entries.len();
            parts.insert(0, Part { loaded: loaded.len(), entries });
            loaded.push(one);
        }
    }
}

/// Adds the variables themselves as keys: those of files that were read, and the same of the environment.
pub(super) fn add_variables(
    request: &Request,
    variables: &Variables<'_>,
    loaded: &mut Vec<Loaded>,
    parts: &mut Vec<Part>,
) {
    let is_file = |one: &Loaded| one.source.kind == SourceKind::Dotenv;
    let of_file =
        |(at, one): (usize, &Loaded)| Part { loaded: at, entries: 0..one.contents.entries.len() };
    let files: Vec<Part> =
        loaded.iter().enumerate().filter(|(_, one)| is_file(one)).map(of_file).collect();
    let asked = variables.asked();
    let own = request.environment.iter().flatten().filter(|(name, _)| {
        let path = [Segment::Name(name.clone())];
        let mut entries = loaded.iter().filter(|one| is_file(one));
        asked.contains_key(name)
            || entries.any(|one| one.contents.entries.iter().any(|entry| entry.path == path))
    });
    let own: Vec<(String, Raw)> = own.cloned().collect();
    let environment = Part { loaded: loaded.len(), entries: 0..own.len() };
    loaded.push(Loaded::new(0, environment_source("environment", &own)));
    match variables.beat_environment() {
        true => parts.extend(std::iter::once(environment).chain(files)),
        false => parts.extend(files.into_iter().chain([environment])),
    }
}
