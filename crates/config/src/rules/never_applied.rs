//! A variable is set, and nothing takes its value.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Op, Outcome, SourceKind};

pub(super) const ID: &str = "config-never-applied";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let never = configuration.assignments.iter().filter(|one| one.outcome == Outcome::NeverApplied);
    never.map(|one| finding(configuration, one)).collect()
}

fn finding(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let kind = configuration.sources[one.source].kind;
    let name = &one.written;
    // `- NAME` without a value outside may be meant: the variable is optional.
    let (severity, title, fix) = if one.op == Op::Inherit && kind != SourceKind::DotenvInterpolation
    {
        let title = format!("`{name}` is to be taken from outside, and is not set there.");
        let fix = vec![
            format!("Set `{name}` in `.env`, or in the shell that starts Compose."),
            format!("Write a value: `{name}=...`."),
        ];
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
    let why = format!("Reason: {}.", one.reason);
    ConfigFinding { id: ID, severity, key: name.clone(), title, evidence, why, fix }
}
