//! Kubernetes: the variables of each container, from the manifests below a folder.
//!
//! ```text
//! strongest   env:       of the container; of two lines with one name the later one
//!             envFrom:   ConfigMaps and Secrets, the last of the list first
//!             (the image, and variables of services: not read)
//!
//! `$(NAME)`   what envFrom and the lines above have set; else the text stays
//! ```
//!
//! The rules are those of the kubelet (`makeEnvironmentVariables` in `pkg/kubelet/kubelet_pods.go`).
//! Nothing asks a cluster: what `kubectl get -o json` has written is a manifest like others.

mod container;
mod expansion;
mod kustomize;
mod manifests;
mod mentions;
mod names;
mod object;
mod refused;
mod view;

use std::collections::BTreeMap;

use self::container::Resolver;
use self::manifests::{Collection, collect};
use self::object::{Id, Object};
use crate::configuration::Configuration;
use crate::profile::Profile;
use crate::provenance::{Certainty, Source, SourceKind, SourceState, Variable};
use crate::resolve::effective;
use crate::sources::{Defined, Request, Root};
use crate::value::Redactor;

pub(crate) use container::{ENDS_IN_BREAK, NO_REFERENCE, NOT_BEFORE};
pub(crate) use manifests::has_objects;

/// The define that chooses containers by their names.
const CONTAINER: &str = "container";

/// Reads and resolves the manifests of a folder.
pub(crate) fn inspect(profile: &Profile, request: &Request, redactor: Redactor) -> Configuration {
    let mut collection = collect(&Root::from_request(request));
    let replaced = replaced(&mut collection);
    let chosen = request.defines.iter().find(|(name, _)| name == CONTAINER);
    let defines: Vec<Defined> = chosen
        .map(|(name, values)| Defined {
            name: name.clone(),
            values: values.clone(),
            from: "--define".to_owned(),
        })
        .into_iter()
        .collect();
    let chosen = chosen.map(|(_, values)| values.as_slice());
    let mut resolver = Resolver::new(redactor, &collection, &replaced);
    for workload in collection.objects.iter().filter(|one| !one.containers.is_empty()) {
        let containers = workload.containers.iter();
        let is_chosen = |name: &String| chosen.is_none_or(|chosen| chosen.contains(name));
        for container in containers.filter(|container| is_chosen(&container.name)) {
            resolver.container(workload, container);
        }
    }
    resolver.values_of_no_container(chosen.is_none());
    resolver.line_breaks();
    let mut found = resolver.found;
    let blocked = std::mem::take(&mut found.blocked);
    let stops = std::mem::take(&mut found.stops);
    let assumed = std::mem::take(&mut found.assumed);
    let mut sources: Vec<Source> = collection.sources;
    for at in std::mem::take(&mut found.unused) {
        let source = &mut sources[at];
        (source.state, source.why) = (
            SourceState::OffLoadPath,
            "no pod of these manifests takes a value of it or mounts it".to_owned(),
        );
    }
    sources.append(&mut found.missing);
    let order = weakest_first(&mut sources);
    for assignment in &mut found.assignments {
        assignment.source = order[&assignment.source];
    }
    let oddities = found.oddities.into_iter().map(|(source, oddity)| (order[&source], oddity));
    let oddities = oddities.collect();
    // A missing object takes nothing from other containers.
    let may_set = |gap: usize, _, key: &str| {
        let mut containers = blocked.iter().filter(|(start, _)| key.starts_with(start.as_str()));
        containers.any(|(_, missing)| missing.contains(&sources[gap].name))
    };
    let mut effective = effective(false, &sources, &mut found.assignments, found.keys, &may_set);
    for one in &mut effective {
        let is_of = |container: &String| one.key.starts_with(container.as_str());
        if blocked.keys().any(is_of) {
            one.certainty = Certainty::Unknown;
            let why = stops.iter().find(|(start, _)| is_of(start)).map(|(_, why)| why);
            if let Some((winner, why)) = one.winner.zip(why) {
                let reason = &mut found.assignments[winner].reason;
                let parted = if reason.is_empty() { "" } else { "; " };
                *reason = format!("{reason}{parted}the container does not start: {why}");
            }
        } else if one.certainty == Certainty::Exact && assumed.contains(one.key.as_str()) {
            one.certainty = Certainty::Assumed;
        }
    }
    let variables =
        found.assignments.iter().filter(|one| found.variables.contains(one.key.as_str()));
    let variable = |one| {
        let mut variable = Variable::of(one);
        variable.key = variable.key.filter(|_| !one.outcome.is_never_applied());
        variable
    };
    let variables = variables.map(variable).collect();
    Configuration {
        defines,
        variables,
        oddities,
        ..Configuration::from_profile(profile, sources, found.assignments, effective)
    }
}

/// Objects of which a later file has another one of the same name, with that file: applying the folder
/// leaves the later one.
fn replaced(collection: &mut Collection) -> BTreeMap<usize, String> {
    let mut last: BTreeMap<Id, usize> = BTreeMap::new();
    let mut replaced = BTreeMap::new();
    for (at, object) in collection.objects.iter().enumerate().filter(|(_, one)| !one.merges) {
        if let Some(earlier) = last.insert(object.id.clone(), at) {
            let by = collection.sources[object.source].name.clone();
            replaced.insert(earlier, by);
        }
    }
    for (at, by) in &replaced {
        let object: &Object = &collection.objects[*at];
        let path = object.id.path();
        let source = &mut collection.sources[object.source];
        (source.state, source.why) =
            (SourceState::Unread, format!("{by} has {path}, too, and is applied later"));
    }
    replaced
}

/// Sorts sources by their strength; returns where each one is now.
fn weakest_first(sources: &mut Vec<Source>) -> BTreeMap<usize, usize> {
    let rank = |source: &Source| match source.kind {
        SourceKind::K8sConfigMap => 1,
        SourceKind::K8sSecret => 2,
        SourceKind::K8sWorkload => 3,
        _ => 0,
    };
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|at| rank(&sources[*at]));
    let old = std::mem::take(sources);
    *sources = order.iter().map(|at| old[*at].clone()).collect();
    order.into_iter().enumerate().map(|(now, before)| (before, now)).collect()
}
