//! `config ... --json`.

use std::fmt::Display;
use std::path::PathBuf;

use crate::json::SCHEMA;
use culprit_config::{
    Assignment, ConfigFinding, Configuration, Effective, Profile, Source, ValueFingerprint,
    ValueRef, Variable,
};
use culprit_model::Label as _;
use serde::{Serialize, Serializer};

use super::ObservedDocument;

/// `config show --json`.
#[derive(Debug, Serialize)]
pub struct ConfigShowDocument<'a> {
    schema: u32,
    profiles: Vec<ProfileShown<'a>>,
}

#[derive(Debug, Serialize)]
struct ProfileShown<'a> {
    profile: &'a str,
    title: &'a str,
    leaves_out: &'a [String],
    defines: Vec<DefineJson<'a>>,
    sources: Vec<SourceJson<'a>>,
    #[serde(serialize_with = "keys_of")]
    keys: (&'a Configuration, Option<&'a ObservedDocument>),
    other_variables: usize,
    findings: Vec<FindingOfConfig<'a>>,
}

#[derive(Debug, Serialize)]
struct DefineJson<'a> {
    name: &'a str,
    values: &'a [String],
    from: &'a str,
}

#[derive(Debug, Serialize)]
struct SourceJson<'a> {
    kind: &'static str,
    name: &'a str,
    layer: &'a str,
    state: &'static str,
    why: &'a str,
    sha256: Option<&'a str>,
    size_bytes: u64,
    modified_unix_s: Option<u64>,
}

#[derive(Debug, Serialize)]
struct KeyJson<'a> {
    key: &'a str,
    certainty: &'static str,
    /// The strongest source that was not read and may set the key.
    gap: Option<&'a str>,
    winner: Option<AssignmentJson<'a>>,
    assignments: usize,
    /// What a result given with `--observed` says of the reading of the winner.
    read: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct AssignmentJson<'a> {
    source: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    written: &'a str,
    op: &'static str,
    outcome: &'static str,
    reason: &'a str,
    condition: Option<&'a str>,
    value: ValueJson<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct ValueJson<'a> {
    text: Option<&'a str>,
    class: &'static str,
    size_bytes: usize,
    #[serde(serialize_with = "shown")]
    fingerprint: ValueFingerprint,
}

#[derive(Debug, Serialize)]
pub(super) struct FindingOfConfig<'a> {
    id: &'a str,
    severity: &'static str,
    key: &'a str,
    title: &'a str,
    evidence: &'a [String],
    why: &'a str,
    fix: &'a [String],
}

/// A value as it is shown to people.
fn shown<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// The keys of a configuration that somebody asks for.
#[derive(Debug)]
pub struct Explained<'a> {
    /// The configuration.
    pub of: &'a Configuration,
    /// The keys; at least one.
    pub keys: Vec<&'a Effective>,
}

impl<'a> Explained<'a> {
    /// The keys that a name means; none if it means none.
    pub fn new(of: &'a Configuration, name: &str) -> Option<Self> {
        let keys = of.find(name);
        (!keys.is_empty()).then_some(Self { of, keys })
    }

    /// The findings that concern the keys, each once.
    pub fn findings(&self) -> Vec<&'a ConfigFinding> {
        let mut found: Vec<&ConfigFinding> = Vec::new();
        for finding in self.keys.iter().flat_map(|key| self.of.findings_of(key)) {
            if !found.contains(&finding) {
                found.push(finding);
            }
        }
        found
    }

    /// What makes the files count that do not: the file and `NAME=VALUE`, each once.
    pub fn choices(&self) -> Vec<(&'a str, String)> {
        let mut found: Vec<(&str, String)> = Vec::new();
        for choice in self.keys.iter().flat_map(|key| self.of.choices_of(key)) {
            if !found.contains(&choice) {
                found.push(choice);
            }
        }
        found
    }
}

/// `config explain --json`.
#[derive(Debug, Serialize)]
pub struct ConfigExplainDocument<'a> {
    schema: u32,
    asked: &'a str,
    keys: Vec<ChainJson<'a>>,
    /// The findings that concern the keys.
    findings: Vec<FindingOfConfig<'a>>,
    /// What makes the files count that do not.
    choices: Vec<ChoiceJson<'a>>,
    /// What a result given with `--observed` says of the variables that set the keys.
    observed: Vec<ReadJson<'a>>,
    /// The sources that could not be read, so that they may set the key.
    not_read: Vec<NotReadJson<'a>>,
}

#[derive(Debug, Serialize)]
struct NotReadJson<'a> {
    source: &'a str,
    state: &'static str,
    why: &'a str,
}

#[derive(Debug, Serialize)]
struct ChoiceJson<'a> {
    file: &'a str,
    start_with: String,
}

#[derive(Debug, Serialize)]
struct ReadJson<'a> {
    variable: &'a str,
    grade: &'a str,
    count: u64,
}

#[derive(Debug, Serialize)]
struct ChainJson<'a> {
    profile: &'a str,
    key: &'a str,
    certainty: &'static str,
    gap: Option<&'a str>,
    chain: Vec<AssignmentJson<'a>>,
}

/// `config vars --json`.
#[derive(Debug, Serialize)]
pub struct ConfigVarsDocument<'a> {
    schema: u32,
    profiles: Vec<VariablesJson<'a>>,
}

#[derive(Debug, Serialize)]
struct VariablesJson<'a> {
    profile: &'a str,
    variables: Vec<VariableJson<'a>>,
    other_variables: usize,
}

#[derive(Debug, Serialize)]
struct VariableJson<'a> {
    name: &'a str,
    source: &'a str,
    key: Option<&'a str>,
    outcome: &'static str,
    reason: &'a str,
    nearest: Option<&'a str>,
    /// The evidence grade of a result given with `--observed`.
    read: Option<&'a str>,
    reads: Option<u64>,
}

/// `config profiles --json`.
#[derive(Debug, Serialize)]
pub struct ConfigProfilesDocument<'a> {
    schema: u32,
    profiles: Vec<ProfileListed<'a>>,
}

#[derive(Debug, Serialize)]
struct ProfileListed<'a> {
    name: &'a str,
    title: &'a str,
    source: &'a str,
    assumed: bool,
    detect: &'a [String],
    leaves_out: &'a [String],
    file: Option<String>,
}

impl<'a> ConfigShowDocument<'a> {
    /// The document of what each profile says.
    pub fn new(found: &'a [Configuration], observed: Option<&'a ObservedDocument>) -> Self {
        let profiles = found.iter().map(|one| ProfileShown::new(one, observed));
        Self { schema: SCHEMA, profiles: profiles.collect() }
    }
}

impl<'a> ProfileShown<'a> {
    fn new(one: &'a Configuration, observed: Option<&'a ObservedDocument>) -> Self {
        let defines = one.defines.iter();
        let define = |define: &'a culprit_config::Defined| DefineJson {
            name: &define.name,
            values: &define.values,
            from: &define.from,
        };
        Self {
            profile: &one.profile,
            title: &one.title,
            leaves_out: &one.leaves_out,
            defines: defines.map(define).collect(),
            sources: one.sources.iter().map(SourceJson::from).collect(),
            keys: (one, observed),
            other_variables: one.other_variables,
            findings: one.findings.iter().map(FindingOfConfig::from).collect(),
        }
    }
}

/// The keys of a configuration, each made when it is written: there can be a million.
fn keys_of<S: Serializer>(
    (one, observed): &(&Configuration, Option<&ObservedDocument>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(one.effective.iter().map(|effective| {
        let winner = effective.winner.map(|at| &one.assignments[at]);
        KeyJson {
            key: &effective.key,
            certainty: effective.certainty.word(),
            gap: gap_of(one, effective),
            winner: winner.map(|winner| AssignmentJson::new(one, winner)),
            assignments: effective.chain.len(),
            read: observed.and_then(|observed| observed.read_of(one, winner?)),
        }
    }))
}

fn gap_of<'a>(one: &'a Configuration, effective: &Effective) -> Option<&'a str> {
    effective.gap.map(|gap| one.sources[gap].name.as_str())
}

impl<'a> From<&'a Source> for SourceJson<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            kind: source.kind.word(),
            name: &source.name,
            layer: &source.layer,
            state: source.state.word(),
            why: &source.why,
            sha256: source.sha256.as_deref(),
            size_bytes: source.bytes,
            modified_unix_s: source.modified,
        }
    }
}

impl<'a> AssignmentJson<'a> {
    fn new(of: &'a Configuration, one: &'a Assignment) -> Self {
        Self {
            source: &of.sources[one.source].name,
            line: one.at.map(|at| at.line),
            column: one.at.map(|at| at.column),
            end_line: one.end_line,
            written: &one.written,
            op: one.op.word(),
            outcome: one.outcome.word(),
            reason: &one.reason,
            condition: one.condition.map(|at| of.conditions[at].text.as_str()),
            value: ValueJson::from(&one.value),
        }
    }
}

impl<'a> From<&'a ValueRef> for ValueJson<'a> {
    fn from(value: &'a ValueRef) -> Self {
        Self {
            text: value.text.as_deref(),
            class: value.class.word(),
            size_bytes: value.length,
            fingerprint: value.fingerprint,
        }
    }
}

impl<'a> From<&'a ConfigFinding> for FindingOfConfig<'a> {
    fn from(finding: &'a ConfigFinding) -> Self {
        Self {
            id: finding.id,
            severity: finding.severity.word(),
            key: &finding.key,
            title: &finding.title,
            evidence: &finding.evidence,
            why: &finding.why,
            fix: &finding.fix,
        }
    }
}

impl<'a> ConfigExplainDocument<'a> {
    /// The document of the keys that are meant.
    pub fn new(
        asked: &'a str,
        found: &[Explained<'a>],
        observed: Option<&'a ObservedDocument>,
        all: &'a [Configuration],
    ) -> Self {
        let chains = found.iter().flat_map(|Explained { of, keys }| {
            keys.iter().map(|effective| ChainJson {
                profile: &of.profile,
                key: &effective.key,
                certainty: effective.certainty.word(),
                gap: gap_of(of, effective),
                chain: effective
                    .chain
                    .iter()
                    .map(|at| AssignmentJson::new(of, &of.assignments[*at]))
                    .collect(),
            })
        });
        let keys: Vec<ChainJson<'a>> = chains.collect();
        let written = keys.iter().flat_map(|key| key.chain.iter().map(|one| one.written));
        let mut read: Vec<ReadJson<'a>> = written
            .filter_map(|written| observed?.find(written))
            .map(|one| ReadJson { variable: &one.name, grade: &one.grade, count: one.count })
            .collect();
        read.dedup_by_key(|one| one.variable);
        let findings = found.iter().flat_map(Explained::findings).map(FindingOfConfig::from);
        let choices = found.iter().flat_map(Explained::choices);
        let choices = choices.map(|(file, start_with)| ChoiceJson { file, start_with });
        let (findings, choices) = (findings.collect(), choices.collect());
        let sources = all.iter().flat_map(|one| &one.sources).filter(|one| one.state.is_gap());
        let not_read = sources
            .map(|one| NotReadJson { source: &one.name, state: one.state.word(), why: &one.why })
            .collect();
        Self { schema: SCHEMA, asked, keys, findings, choices, observed: read, not_read }
    }
}

impl<'a> ConfigVarsDocument<'a> {
    /// The document of the variables.
    pub fn new(found: &'a [Configuration], observed: Option<&'a ObservedDocument>) -> Self {
        let profile = |one: &'a Configuration| VariablesJson {
            profile: &one.profile,
            variables: one
                .variables
                .iter()
                .map(|variable| VariableJson::new(one, variable, observed))
                .collect(),
            other_variables: one.other_variables,
        };
        Self { schema: SCHEMA, profiles: found.iter().map(profile).collect() }
    }
}

impl<'a> VariableJson<'a> {
    fn new(
        of: &'a Configuration,
        variable: &'a Variable,
        observed: Option<&'a ObservedDocument>,
    ) -> Self {
        let read = observed.and_then(|observed| observed.find(&variable.name));
        Self {
            read: read.map(|read| read.grade.as_str()),
            reads: read.map(|read| read.count),
            name: &variable.name,
            source: &of.sources[variable.source].name,
            key: variable.key.as_deref(),
            outcome: variable.outcome.word(),
            reason: &variable.reason,
            nearest: variable.nearest.as_deref(),
        }
    }
}

impl<'a> ConfigProfilesDocument<'a> {
    /// The document of profiles, each with its file.
    pub fn new(listed: &'a [(Profile, Option<PathBuf>)]) -> Self {
        let profile = |(profile, file): &'a (Profile, Option<PathBuf>)| ProfileListed {
            name: &profile.name,
            title: &profile.title,
            source: &profile.source,
            assumed: profile.assumed,
            detect: &profile.detect,
            leaves_out: &profile.leaves_out,
            file: file.as_ref().map(|file| file.display().to_string()),
        };
        Self { schema: SCHEMA, profiles: listed.iter().map(profile).collect() }
    }
}
