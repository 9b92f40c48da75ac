//! A variable is set, and nothing takes its value.

use culprit_model::Severity;

use super::reason;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Op, Outcome, SourceKind};
use crate::spelling;

pub(super) const ID: &str = "config-never-applied";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let kind = |one: &Assignment| configuration.sources[one.source].kind;
    let of = |one: &Assignment| match one.outcome {
        Outcome::NeverApplied if is_of_builder(configuration, one) => {
            Some(not_taken(configuration, one))
        }
        Outcome::NeverApplied if of_container(configuration, one) => {
            Some(not_in_container(configuration, one))
        }
        Outcome::NeverApplied if is_proxy(one) => None,
        Outcome::NeverApplied if kind(one) == SourceKind::Dotenv => {
            Some(not_asked_for(configuration, one))
        }
        Outcome::NeverApplied => Some(finding(configuration, one)),
        Outcome::WrongPrefix if kind(one) == SourceKind::CodeDefault => {
            Some(without_prefix(configuration, one))
        }
        Outcome::NoKey | Outcome::WrongPrefix | Outcome::WrongCase => {
            Some(not_taken(configuration, one))
        }
        Outcome::UnsupportedSection => Some(unsupported(configuration, one)),
        _ => None,
    };
    configuration.assignments.iter().filter_map(of).collect()
}

fn is_of_builder(configuration: &Configuration, one: &Assignment) -> bool {
    configuration.sources[one.source].layer.starts_with("builder ")
}

/// Whether a name is handed on in case a machine has a proxy, as Docker itself does with these.
fn is_proxy(one: &Assignment) -> bool {
    let names = ["all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy"];
    one.op == Op::Inherit && names.iter().any(|name| one.written.eq_ignore_ascii_case(name))
}

fn of_container(configuration: &Configuration, one: &Assignment) -> bool {
    let kind = configuration.sources[one.source].kind;
    matches!(kind, SourceKind::K8sConfigMap | SourceKind::K8sSecret | SourceKind::K8sWorkload)
}

/// A value of a manifest that its container does not get. One that is optional may be meant.
fn not_in_container(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let optional = one.op == Op::Inherit;
    let fix = match optional {
        true => "Add the key or the object, or remove the line.",
        false => "Use `data` and another name, if the container needs the value.",
    };
    ConfigFinding {
        id: ID,
        severity: if optional { Severity::Low } else { Severity::Medium },
        key: one.written.to_string(),
        concerns: Vec::new(),
        title: format!("`{}` is named, and the container does not get it.", one.written),
        evidence: vec![configuration.place(one)],
        why: reason(&one.reason),
        fix: vec![fix.to_owned()],
    }
}

/// A variable of a file that the program reads, and that sets nothing there.
fn not_asked_for(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let (name, file) = (&one.written, &configuration.sources[one.source].name);
    let near = configuration.asked.keys();
    let near = near.filter_map(|asked| Some((spelling::slips(name, asked)?, asked))).min();
    // The reason may name the variable of the field that is meant.
    let named = configuration.asked.keys();
    let named = named
        .filter(|asked| one.reason.contains(&format!("`{asked}`")))
        .max_by_key(|asked| asked.len());
    let meant = match (named, near) {
        (Some(asked), _) => Some(format!("Rename `{name}` to `{asked}`.")),
        (None, near) => {
            near.map(|(_, asked)| format!("Rename `{name}` to `{asked}`, if this is meant."))
        }
    };
    let remove = format!("Remove `{name}` from `{file}`, if nothing else reads it.");
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: name.to_string(),
        concerns: Vec::new(),
        title: format!("`{name}` is set in `{file}`, and nothing takes it."),
        evidence: vec![configuration.place(one)],
        why: reason(&one.reason),
        fix: meant.into_iter().chain([remove]).collect(),
    }
}

/// A variable that code asks for, and gets no value of, because of its name.
fn without_prefix(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let (name, place) = (&one.written, configuration.place(one));
    let start = one.reason.rsplit('`').nth(1).unwrap_or_default();
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: name.to_string(),
        concerns: Vec::new(),
        title: format!(
            "`{place}` asks for `{name}`, and gets no value: the name does not start with `{start}`."
        ),
        evidence: vec![place.clone()],
        why: reason(&one.reason),
        fix: vec![format!(
            "Rename it to `{start}{name}` in `{place}` and where it is set, if everybody may see the value: it is \
             sent to browsers."
        )],
    }
}

/// A variable that a configuration builder does not take.
fn not_taken(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let (name, key) = (&one.written, &one.key);
    let file = configuration.sources.iter().find(|source| source.kind == SourceKind::File);
    let file = file.map_or("the main file", |source| source.name.as_str());
    let (section, line) = match key.strip_prefix("connectionStrings/") {
        Some(key) => ("connectionStrings", format!("<add name=\"{key}\" connectionString=\"\" />")),
        None => ("appSettings", format!("<add key=\"{key}\" value=\"\" />")),
    };
    let asked = one.reason.split("asks for `").nth(1).and_then(|rest| rest.split('`').next());
    let (title, fix) = match (one.outcome, asked) {
        (Outcome::NoKey, _) => (
            format!("`{name}` is set, and `{file}` has no key for it: it is never applied."),
            vec![
                format!("Add this line to `<{section}>` in `{file}`: `{line}`."),
                "Or set `mode=\"Greedy\"` on the builder, if every variable with the prefix is \
                 meant."
                    .to_owned(),
            ],
        ),
        (_, Some(asked)) => (
            format!("`{name}` is set, and nothing asks for a variable of this name."),
            vec![format!("Rename it to `{asked}`.")],
        ),
        _ => (
            format!("`{name}` is set, and its builder is off."),
            vec!["Remove `enabled=\"false\"` from the builder.".to_owned()],
        ),
    };
    let evidence = vec![configuration.place(one)];
    let why = reason(&one.reason);
    let (severity, key) = (Severity::High, key.clone());
    let (key, concerns) = (key.to_string(), Vec::new());
    ConfigFinding { id: ID, severity, key, concerns, title, evidence, why, fix }
}

/// A section that names builders which cannot fill it.
fn unsupported(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: one.key.to_string(),
        concerns: Vec::new(),
        title: format!("`<{}>` names configuration builders, and none of them fills it.", one.key),
        evidence: vec![configuration.place(one)],
        why: reason(&one.reason),
        fix: vec![format!("Remove `configBuilders` from `<{}>`.", one.key)],
    }
}

fn finding(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let kind = configuration.sources[one.source].kind;
    let name = &one.written;
    // `- NAME` without a value outside may be meant: the variable is optional.
    let (severity, title, fix) = if one.op == Op::Inherit && kind != SourceKind::DotenvInterpolation
    {
        let title = format!("`{name}` is to be taken from outside, and is not set there.");
        let fix = match name.split_once(':') {
            // A mapping has `:` there, and a list has `=`.
            Some((name, value)) => vec![format!("Write `{name}={value}`.")],
            None => vec![
                format!("Set `{name}` in `.env`, or in the shell that starts Compose."),
                format!("Write a value: `{name}=...`."),
            ],
        };
        (Severity::Low, title, fix)
    } else {
        let file = &configuration.sources[one.source].name;
        let title = format!("`{name}` is set in `{file}`, and no service gets it.");
        let fix = vec![
            format!("Add `- {name}` under `environment:` of the service that needs it."),
            format!("Or give the service all of the file: `env_file: {file}`."),
        ];
        (Severity::Medium, title, fix)
    };
    let evidence = vec![configuration.place(one)];
    let why = reason(&one.reason);
    let (key, concerns) = (name.to_string(), Vec::new());
    ConfigFinding { id: ID, severity, key, concerns, title, evidence, why, fix }
}
