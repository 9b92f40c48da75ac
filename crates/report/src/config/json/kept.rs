//! The member `configuration` of `report --json`. The keys are those of `config show --snapshot REC`.

use culprit_config::Snapshot;
use culprit_model::Label as _;
use serde::Serialize;

use super::show::{FindingOfConfig, ValueJson};
use crate::config::start_variables;

/// The configuration that a recording has kept.
#[derive(Debug, Default, Serialize)]
pub struct KeptJson<'a> {
    /// What it is of; null if it was left out.
    subject: Option<&'a str>,
    /// Why it was left out.
    left_out: Option<&'a str>,
    sources: Vec<KeptSourceJson<'a>>,
    findings: Vec<FindingOfConfig<'a>>,
    /// The variables that the process was started with.
    variables: Vec<StartVariableJson<'a>>,
}

#[derive(Debug, Serialize)]
struct KeptSourceJson<'a> {
    profile: &'a str,
    kind: &'static str,
    name: &'a str,
    layer: &'a str,
    state: &'static str,
    why: &'a str,
}

#[derive(Debug, Serialize)]
struct StartVariableJson<'a> {
    name: &'a str,
    origin: String,
    value: ValueJson<'a>,
}

impl<'a> KeptJson<'a> {
    /// What was kept, or why nothing was.
    pub fn new(kept: &'a Result<Snapshot, String>) -> Self {
        let snapshot = match kept {
            Ok(snapshot) => snapshot,
            Err(why) => return Self { left_out: Some(why), ..Self::default() },
        };
        let found = &snapshot.configurations;
        let sources = found.iter().flat_map(|one| {
            one.sources.iter().map(|source| KeptSourceJson {
                profile: &one.profile,
                kind: source.kind.word(),
                name: &source.name,
                layer: &source.layer,
                state: source.state.word(),
                why: &source.why,
            })
        });
        let variables = start_variables(snapshot).into_iter();
        Self {
            subject: Some(&snapshot.subject),
            left_out: None,
            sources: sources.collect(),
            findings: found.iter().flat_map(|one| &one.findings).map(Into::into).collect(),
            variables: variables
                .map(|variable| StartVariableJson {
                    name: &variable.assignment.written,
                    origin: variable.origin,
                    value: ValueJson::from(&variable.assignment.value),
                })
                .collect(),
        }
    }
}
