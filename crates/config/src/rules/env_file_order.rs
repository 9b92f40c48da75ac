//! Two files of variables under `env_file` of one service set the same variable: the later file wins.
//!
//! A file that more services share than the other is meant to be the base of both. It is a mistake if it
//! stands later, and usual if it stands first: then the finding is information.
//!
//! Not reported: equal values; a variable that `environment` of the service sets, because that is stronger
//! than both files.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Outcome, SourceKind};

pub(super) const ID: &str = "config-env-file-order";

/// The weaker and the stronger assignment of one variable.
type Pair<'a> = (&'a Assignment, &'a Assignment);

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let is_of_file =
        |one: &Assignment| configuration.sources[one.source].kind == SourceKind::ComposeEnvFile;
    // By service and the two files, so that files with many common variables are one finding.
    let mut found: BTreeMap<(&str, usize, usize), Vec<Pair<'_>>> = BTreeMap::new();
    for effective in &configuration.effective {
        let winner = effective.winner.map(|at| &configuration.assignments[at]);
        let Some(winner) = winner.filter(|winner| is_of_file(winner)) else { continue };
        let others = effective.chain.iter().map(|at| &configuration.assignments[*at]);
        let weaker = others
            .filter(|one| is_of_file(one) && one.source != winner.source)
            .rfind(|one| one.outcome == Outcome::Shadowed);
        let service = effective.key.split('.').next().unwrap_or_default();
        if let Some(weaker) = weaker {
            found
                .entry((service, weaker.source, winner.source))
                .or_default()
                .push((weaker, winner));
        }
    }
    let services = services_of_files(configuration);
    let users = |source: usize| services.get(&source).map_or(0, BTreeSet::len);
    let mut findings = Vec::new();
    for ((service, earlier, later), pairs) in found {
        let is_shared = users(later) > users(earlier);
        findings.push(finding(configuration, (service, earlier, later), &pairs, is_shared));
    }
    findings
}

/// The services that take variables of each source.
fn services_of_files(configuration: &Configuration) -> BTreeMap<usize, BTreeSet<&str>> {
    let mut services: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for effective in &configuration.effective {
        let service = effective.key.split('.').next().unwrap_or_default();
        for at in &effective.chain {
            services.entry(configuration.assignments[*at].source).or_default().insert(service);
        }
    }
    services
}

fn finding(
    configuration: &Configuration,
    (service, earlier, later): (&str, usize, usize),
    pairs: &[Pair<'_>],
    is_shared: bool,
) -> ConfigFinding {
    let names: Vec<String> = pairs.iter().map(|(_, one)| format!("`{}`", one.written)).collect();
    let [earlier, later] = [earlier, later].map(|at| configuration.sources[at].name.clone());
    let places = pairs.iter().flat_map(|(weaker, winner)| [*weaker, *winner]);
    let service = crate::secret::name(service);
    ConfigFinding {
        id: ID,
        severity: if is_shared { Severity::Medium } else { Severity::Info },
        key: pairs.first().map_or_else(String::new, |(_, winner)| winner.key.to_string()),
        concerns: pairs.iter().map(|(_, winner)| winner.key.to_string()).collect(),
        title: format!(
            "For `{service}`, `{later}` beats `{earlier}`, which has other values of {}.",
            names.join(", ")
        ),
        evidence: places.map(|one| configuration.place(one)).collect(),
        why: if is_shared {
            format!(
                "Of the files under `env_file`, a later one is stronger. `{later}` is shared by more \
                 services than `{earlier}`."
            )
        } else {
            "Of the files under `env_file`, a later one is stronger.".to_owned()
        },
        fix: vec![
            format!("If `{earlier}` is right: name it behind `{later}` under `env_file`."),
            format!("If `{later}` is right, nothing is to be done."),
        ],
    }
}
