//! What is wrong with a matrix: one finding a variable and a step on which it changed.
//!
//! ```text
//! compose ──> created-with ──> PID 1 at start ──> PID 1 now
//!                                    └──> worker at start ──> worker now       dump
//! ```
//!
//! Not reported: variables that a shell or an engine sets by itself; variables that an entry point or
//! a program adds; processes that somebody started in the container from outside.

use std::cmp::Reverse;

use culprit_model::Severity;

use super::{Drift, DriftColumn, HashState};
use crate::configuration::ConfigFinding;
use crate::provenance::SourceKind;
use crate::variables::ProcessRole;

/// A variable has another value in a later place.
pub(crate) const DRIFT: &str = "config-drift";
/// The main process has a variable, and a worker does not.
pub(crate) const WORKER_MISSES: &str = "config-worker-misses-variable";

/// What shells (`bash(1)`, "Shell Variables"), `login(1)` and engines set by themselves.
const SET_BY_ITSELF: &[&str] =
    &["_", "HOME", "HOSTNAME", "LINES", "COLUMNS", "OLDPWD", "PATH", "PWD", "SHLVL", "TERM"];

/// The findings, the worst first.
pub(super) fn find(drift: &Drift) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    if drift.hash == HashState::Differs {
        findings.push(other_hash(drift));
    }
    for (from, to) in steps(drift) {
        let changed = drift.rows.iter().filter_map(|row| {
            let change = change(drift, (from, to), &row.name)?;
            Some(finding(drift, (from, to), &row.name, change))
        });
        findings.extend(changed);
    }
    findings.sort_by(|a, b| {
        let rank = |finding: &ConfigFinding| (Reverse(finding.severity), finding.id);
        rank(a).cmp(&rank(b)).then_with(|| (&a.key, &a.evidence).cmp(&(&b.key, &b.evidence)))
    });
    findings
}

fn position(drift: &Drift, wanted: impl Fn(&DriftColumn) -> bool) -> Option<usize> {
    drift.columns.iter().position(|column| column.is_read() && wanted(column))
}

/// The steps between columns that were read: from, to.
fn steps(drift: &Drift) -> Vec<(usize, usize)> {
    let of_kind = |kind: SourceKind| position(drift, |column| column.kind == kind);
    let of_main = |kind: SourceKind| {
        position(drift, |one| one.kind == kind && one.role == Some(ProcessRole::Main))
    };
    let compose = of_kind(SourceKind::ComposeEnvironment);
    let created = of_kind(SourceKind::ContainerEnvironment);
    let (start, now) =
        (of_main(SourceKind::InitialEnvironment), of_main(SourceKind::ProcessMemory));
    let mut steps = vec![compose.zip(created), created.or(compose).zip(start), start.zip(now)];
    for (at, column) in drift.columns.iter().enumerate().filter(|(_, column)| column.is_read()) {
        if column.role == Some(ProcessRole::Worker) {
            match column.kind {
                SourceKind::InitialEnvironment => steps.push(now.or(start).map(|from| (from, at))),
                _ => {
                    let own = position(drift, |one| {
                        one.kind == SourceKind::InitialEnvironment && one.pid == column.pid
                    });
                    steps.push(own.map(|from| (from, at)));
                }
            }
        }
        if column.kind == SourceKind::ApplicationDump {
            steps.push(now.or(start).or(created).or(compose).map(|from| (from, at)));
        }
    }
    steps.into_iter().flatten().collect()
}

/// How a variable changes on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Differs,
    Missing,
    Extra,
}

fn change(drift: &Drift, (from, to): (usize, usize), name: &str) -> Option<Change> {
    if SET_BY_ITSELF.contains(&name) {
        return None;
    }
    let (before, after) = (&drift.columns[from], &drift.columns[to]);
    let from_compose = before.kind == SourceKind::ComposeEnvironment;
    let image = position(drift, |column| column.kind == SourceKind::ImageEnvironment);
    let of_image = image.and_then(|image| drift.columns[image].get(name));
    let expected = before.get(name).or(if from_compose { of_image } else { None });
    match (expected, after.get(name)) {
        (Some(expected), Some(found)) if !expected.equals(found) => Some(Change::Differs),
        (Some(_), None) if after.is_whole => Some(Change::Missing),
        // Without the image nobody knows whether it is the image's.
        (None, Some(_)) if from_compose && image.is_some() => Some(Change::Extra),
        _ => None,
    }
}

fn finding(drift: &Drift, (from, to): (usize, usize), name: &str, change: Change) -> ConfigFinding {
    let (before, after) = (&drift.columns[from], &drift.columns[to]);
    let is_worker = after.role == Some(ProcessRole::Worker);
    let misses = is_worker && change == Change::Missing && before.pid != after.pid;
    let (here, there) = (&after.name, &before.name);
    let title = match change {
        Change::Differs => format!("`{name}` has another value in {here} than in {there}."),
        Change::Missing => format!("`{name}` is set in {there}, and not in {here}."),
        Change::Extra => format!("`{name}` is set in {here}, and no longer in {there}."),
    };
    let (severity, why, fix) = advice(before, after, (name, drift.service.as_deref()));
    ConfigFinding {
        id: if misses { WORKER_MISSES } else { DRIFT },
        severity,
        key: name.to_owned(),
        concerns: Vec::new(),
        title,
        evidence: vec![before.name.clone(), after.name.clone()],
        why,
        fix,
    }
}

/// Severity, reason and advice of a step.
fn advice(
    before: &DriftColumn,
    after: &DriftColumn,
    (name, service): (&str, Option<&str>),
) -> (Severity, String, Vec<String>) {
    let is_worker = after.role == Some(ProcessRole::Worker);
    match after.kind {
        SourceKind::ContainerEnvironment => (
            Severity::Medium,
            "A container keeps the variables that it was created with; a restart does not change them."
                .to_owned(),
            vec![format!("Create it anew: `docker compose up -d {}`.", service.unwrap_or("SERVICE"))],
        ),
        SourceKind::ApplicationDump => (
            Severity::Medium,
            "The application works with what it says of itself.".to_owned(),
            vec![format!("`culprit config explain {name}` says which source beats the variable.")],
        ),
        SourceKind::InitialEnvironment if is_worker => (
            Severity::Medium,
            "The process that started the worker did not hand its variables on.".to_owned(),
            vec![
                format!("Hand `{name}` on where the worker is started."),
                "Services that clear the environment have a list of what they keep: `clear_env` of \
                 php-fpm, `PassEnvironment` of systemd, `env_keep` of sudo."
                    .to_owned(),
            ],
        ),
        SourceKind::InitialEnvironment => (
            Severity::Medium,
            "Something between the engine and the program changed it: an entry point, or a script."
                .to_owned(),
            vec![format!("Look for `{name}` in the entry point of {}.", before.name)],
        ),
        _ => (
            Severity::Low,
            "The program itself changed its variables after it had started.".to_owned(),
            vec![format!("Look for `setenv` or `putenv` of `{name}` in the program.")],
        ),
    }
}

fn other_hash(drift: &Drift) -> ConfigFinding {
    let service = drift.service.as_deref().unwrap_or("SERVICE");
    ConfigFinding {
        id: DRIFT,
        severity: Severity::Medium,
        key: String::new(),
        concerns: Vec::new(),
        title: format!("The {} was made from another configuration than the compose file has now.", drift.subject),
        evidence: vec![super::CONFIG_HASH_LABEL.to_owned()],
        why: "Compose keeps a hash of a service's configuration in a label, and it is another one now."
            .to_owned(),
        fix: vec![format!("Create it anew: `docker compose up -d {service}`.")],
    }
}
