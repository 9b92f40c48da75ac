//! A file that must be read is malformed or missing, and the program does not start.
//!
//! Not reported: programs that go on without the file, and files that Culprit may not read.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Source, SourceState};

pub(super) const ID: &str = "config-start-fails";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let program = configuration.refused_by.as_deref();
    let of = |source| finding(program, source);
    configuration.sources.iter().filter_map(of).collect()
}

fn finding(program: Option<&str>, source: &Source) -> Option<ConfigFinding> {
    let file = &source.name;
    let is_object = source.kind.is_of_kubernetes();
    let program = program.or(is_object.then_some("Kubernetes"))?;
    let (what, fix) = match (source.state, source.at) {
        (SourceState::Unparsable, Some(at)) => {
            ("is malformed", vec![format!("Correct `{file}` in line {}.", at.line)])
        }
        (SourceState::Unparsable, None) => ("is refused", vec![format!("Correct `{file}`.")]),
        // The cluster may have it: a finding of its own says so.
        (SourceState::MissingRequired, _) if is_object => return None,
        (SourceState::MissingRequired, _) => (
            "does not exist",
            vec![
                format!("Create `{file}`, or correct its path where it is named."),
                "Mark it there as optional, if the program may start without it.".to_owned(),
            ],
        ),
        _ => return None,
    };
    let place = match source.at {
        Some(at) => format!("{file}:{}:{}", at.line, at.column),
        None => file.clone(),
    };
    Some(ConfigFinding {
        id: ID,
        severity: Severity::High,
        key: String::new(),
        concerns: Vec::new(),
        title: match is_object {
            true => format!("Kubernetes refuses `{}` of `{file}`.", source.layer),
            false => format!("{program} does not start: `{file}` {what}."),
        },
        evidence: vec![place],
        why: format!("Reason: {}.", source.why),
        fix,
    })
}
