//! What is wrong with a running thing itself: secrets that others can read, and files that are newer than
//! the process.
//!
//! Not reported: values that only look random, because a checksum does too; files of a folder, because
//! there every file of a project is readable.

use std::collections::BTreeMap;

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{SourceKind, SourceState};
use crate::value::{Class, Raw, Redactor, ValueRef};
use crate::variables::ObservedProcess;

/// A secret is in an image, in a file that everybody may read, or on a command line.
pub(crate) const EXPOSED: &str = "config-secret-exposed";
/// A file changed after the process had started.
pub(crate) const NEWER: &str = "config-newer-than-process";

/// The time of a boot is kept in whole seconds, so a process may have started later than it seems.
const TOLERANCE_S: u64 = 2;

fn is_secret(value: &ValueRef) -> bool {
    matches!(value.class, Class::KeyWord | Class::Token | Class::Partial)
}

/// Secrets among the variables of an image: one finding a variable.
#[must_use]
pub fn secrets_of_image(configuration: &Configuration) -> Vec<ConfigFinding> {
    let of_image = configuration.assignments.iter().filter(|one| {
        configuration.sources[one.source].kind == SourceKind::ImageEnvironment
            && is_secret(&one.value)
    });
    let finding = |one: &crate::Assignment| {
        let image = configuration.place(one);
        ConfigFinding {
            id: EXPOSED,
            severity: Severity::High,
            key: one.key.to_string(),
            concerns: Vec::new(),
            title: format!("The secret `{}` is a variable of the {image}.", one.key),
            evidence: vec![image],
            why: "Everybody who can pull the image can read it, also in older layers.".to_owned(),
            fix: vec![
                format!("Give `{}` when the container is created, or as a mounted file.", one.key),
                "Replace the secret: it has been published with the image.".to_owned(),
            ],
        }
    };
    of_image.map(finding).collect()
}

/// Secrets in files that everybody may read: one finding a file. `is_open` says whether that holds for a
/// path below the project's folder.
#[must_use]
pub fn secrets_of_files(
    configuration: &Configuration,
    in_image: bool,
    is_open: &dyn Fn(&str) -> bool,
) -> Vec<ConfigFinding> {
    let mut by_file: BTreeMap<usize, Vec<&crate::Assignment>> = BTreeMap::new();
    for one in configuration.assignments.iter().filter(|one| is_secret(&one.value)) {
        let source = &configuration.sources[one.source];
        if source.sha256.is_some() && one.at.is_some() {
            by_file.entry(one.source).or_default().push(one);
        }
    }
    let mut findings = Vec::new();
    for (source, secrets) in by_file {
        let name = &configuration.sources[source].name;
        if !is_open(name) {
            continue;
        }
        let keys: Vec<&str> = secrets.iter().map(|one| one.key.as_str()).collect();
        let (title, why, fix) = if in_image {
            (
                format!("`{name}` is in a layer of the image, with {} secrets.", keys.len()),
                "Everybody who can pull the image can read it, also if a later layer deletes it.",
                "Leave the file out of the image, and mount it.".to_owned(),
            )
        } else {
            (
                format!("Every user can read `{name}`, which has {} secrets.", keys.len()),
                "Its mode and those of its folders allow it.",
                format!("`chmod o-r {name}`"),
            )
        };
        findings.push(ConfigFinding {
            id: EXPOSED,
            severity: if in_image { Severity::High } else { Severity::Medium },
            key: keys.join(", "),
            concerns: Vec::new(),
            title: title
                .replace("with 1 secrets", "with 1 secret")
                .replace("has 1 secrets", "has 1 secret"),
            evidence: secrets.iter().map(|one| configuration.place(one)).collect(),
            why: why.to_owned(),
            fix: vec![fix],
        });
    }
    findings
}

/// The arguments of a process as they may be shown: `--password=•••`.
#[must_use]
pub fn shown_arguments(arguments: &[Raw], redactor: &Redactor) -> Vec<ValueRef> {
    let mut shown: Vec<ValueRef> = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let text = argument.expose();
        let before = at.checked_sub(1).and_then(|at| arguments.get(at)).map(Raw::expose);
        let value = match (text.split_once('='), before) {
            (Some((name, value)), _) if !name.is_empty() => {
                let own = redactor.value(name, &Raw::new(value));
                let text = own.text.unwrap_or_else(|| crate::value::HIDDEN.into());
                let name = crate::secret::name(name);
                ValueRef { text: Some(format!("{name}={text}").into()), ..own }
            }
            (_, Some(flag)) if flag.starts_with('-') && !flag.contains('=') => {
                redactor.value(flag, argument)
            }
            _ => redactor.value("", argument),
        };
        shown.push(value);
    }
    shown
}

/// Secrets on the command line of a process.
#[must_use]
pub fn secrets_of_arguments(
    process: &ObservedProcess,
    redactor: &Redactor,
) -> Option<ConfigFinding> {
    let shown = shown_arguments(&process.arguments, redactor);
    let secret = |(at, value): (usize, &ValueRef)| is_secret(value).then_some(at + 1);
    let places: Vec<usize> = shown.iter().enumerate().filter_map(secret).collect();
    if places.is_empty() {
        return None;
    }
    let evidence = places.iter().map(|at| format!("argument {at} of PID {}", process.own_pid));
    Some(ConfigFinding {
        id: EXPOSED,
        severity: Severity::High,
        key: String::new(),
        concerns: Vec::new(),
        title: format!(
            "The command line of PID {} ({}) has a secret.",
            process.own_pid, process.name
        ),
        evidence: evidence.collect(),
        why: "Every user of the machine can read command lines: `ps -ef` shows them.".to_owned(),
        fix: vec!["Give the secret in a file, or in a variable.".to_owned()],
    })
}

/// Files of a configuration that changed after a process had started: one finding a file.
#[must_use]
pub fn newer_files(configuration: &Configuration, process: &ObservedProcess) -> Vec<ConfigFinding> {
    let newer = configuration.sources.iter().filter_map(|source| {
        let later = source.modified?.checked_sub(process.started_unix_s + TOLERANCE_S)?;
        let counts = source.state == SourceState::Read && later > 0;
        counts.then_some((source, later + TOLERANCE_S))
    });
    let finding = |(source, later): (&crate::Source, u64)| ConfigFinding {
        id: NEWER,
        severity: Severity::Medium,
        key: String::new(),
        concerns: Vec::new(),
        title: format!(
            "`{}` changed {} after PID {} ({}) had started.",
            source.name,
            time(later),
            process.own_pid,
            process.name
        ),
        evidence: vec![source.name.clone()],
        why: "A program that reads the file at its start still works with the older one."
            .to_owned(),
        fix: vec!["Restart the program, unless it watches the file.".to_owned()],
    };
    newer.map(finding).collect()
}

/// A time in words of one unit or two: `3 min`, `2 h 5 min`.
fn time(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_arguments_are_hidden_and_names_are_shown() {
        let arguments =
            ["app", "--password=hunter2", "--token", "hunter3", "-v", "url", "a=b"].map(Raw::new);
        let shown = shown_arguments(&arguments, &Redactor::new([1; 32]));
        let text: Vec<&str> =
            shown.iter().map(|one| one.text.as_deref().unwrap_or("•••")).collect();
        assert_eq!(text, ["app", "--password=•••", "--token", "•••", "-v", "url", "a=b"]);
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let times = [5, 60, 7500, 200_000].map(time);
        assert_eq!(times, ["5 s", "1 min", "2 h 5 min", "2 days"]);
    }
}
