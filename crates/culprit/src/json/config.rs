//! `config ... --json`.

use std::path::PathBuf;

use culprit_config::{
    Assignment, ConfigFinding, Configuration, Effective, Profile, Source, ValueRef, Variable,
};
use serde::Serialize;

use super::{ObservedDocument, SCHEMA};

/// `config show --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigShowDocument<'a> {
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
    keys: Vec<KeyJson<'a>>,
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
    kind: String,
    name: &'a str,
    layer: &'a str,
    state: String,
    why: &'a str,
    sha256: Option<&'a str>,
    size_bytes: u64,
    modified_unix_s: Option<u64>,
}

#[derive(Debug, Serialize)]
struct KeyJson<'a> {
    key: &'a str,
    certainty: String,
    winner: Option<AssignmentJson<'a>>,
    assignments: usize,
}

#[derive(Debug, Serialize)]
struct AssignmentJson<'a> {
    source: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    written: &'a str,
    op: String,
    outcome: String,
    reason: &'a str,
    condition: Option<&'a str>,
    value: ValueJson<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct ValueJson<'a> {
    text: Option<&'a str>,
    class: String,
    size_bytes: usize,
    fingerprint: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct FindingOfConfig<'a> {
    id: &'a str,
    severity: String,
    key: &'a str,
    title: &'a str,
    evidence: &'a [String],
    why: &'a str,
    fix: &'a [String],
}

/// `config explain --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigExplainDocument<'a> {
    schema: u32,
    asked: &'a str,
    keys: Vec<ChainJson<'a>>,
    /// What a result given with `--observed` says of the variables that set the keys.
    observed: Vec<ReadJson<'a>>,
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
    certainty: String,
    chain: Vec<AssignmentJson<'a>>,
}

/// `config vars --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigVarsDocument<'a> {
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
    outcome: String,
    reason: &'a str,
    nearest: Option<&'a str>,
    /// The evidence grade of a result given with `--observed`.
    read: Option<&'a str>,
    reads: Option<u64>,
}

/// `config profiles --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigProfilesDocument<'a> {
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
    pub(crate) fn new(found: &'a [Configuration]) -> Self {
        Self { schema: SCHEMA, profiles: found.iter().map(ProfileShown::new).collect() }
    }
}

impl<'a> ProfileShown<'a> {
    fn new(one: &'a Configuration) -> Self {
        let defines = one.defines.iter();
        let define = |define: &'a culprit_config::Defined| DefineJson {
            name: &define.name,
            values: &define.values,
            from: &define.from,
        };
        let key = |effective: &'a Effective| KeyJson {
            key: &effective.key,
            certainty: effective.certainty.to_string(),
            winner: effective.winner.map(|at| AssignmentJson::new(one, &one.assignments[at])),
            assignments: effective.chain.len(),
        };
        Self {
            profile: &one.profile,
            title: &one.title,
            leaves_out: &one.leaves_out,
            defines: defines.map(define).collect(),
            sources: one.sources.iter().map(SourceJson::from).collect(),
            keys: one.effective.iter().map(key).collect(),
            other_variables: one.other_variables,
            findings: one.findings.iter().map(FindingOfConfig::from).collect(),
        }
    }
}

impl<'a> From<&'a Source> for SourceJson<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            kind: source.kind.to_string(),
            name: &source.name,
            layer: &source.layer,
            state: source.state.to_string(),
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
            op: one.op.to_string(),
            outcome: one.outcome.to_string(),
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
            class: value.class.to_string(),
            size_bytes: value.length,
            fingerprint: &value.fingerprint,
        }
    }
}

impl<'a> From<&'a ConfigFinding> for FindingOfConfig<'a> {
    fn from(finding: &'a ConfigFinding) -> Self {
        Self {
            id: finding.id,
            severity: finding.severity.to_string(),
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
    pub(crate) fn new(
        asked: &'a str,
        found: &'a [Configuration],
        observed: Option<&'a ObservedDocument>,
    ) -> Self {
        let chains = found.iter().flat_map(|one| {
            one.find(asked).into_iter().map(move |effective| ChainJson {
                profile: &one.profile,
                key: &effective.key,
                certainty: effective.certainty.to_string(),
                chain: effective
                    .chain
                    .iter()
                    .map(|at| AssignmentJson::new(one, &one.assignments[*at]))
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
        Self { schema: SCHEMA, asked, keys, observed: read }
    }
}

impl<'a> ConfigVarsDocument<'a> {
    /// The document of the variables.
    pub(crate) fn new(found: &'a [Configuration], observed: Option<&'a ObservedDocument>) -> Self {
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
            outcome: variable.outcome.to_string(),
            reason: &variable.reason,
            nearest: variable.nearest.as_deref(),
        }
    }
}

impl<'a> ConfigProfilesDocument<'a> {
    /// The document of profiles, each with its file.
    pub(crate) fn new(listed: &'a [(Profile, Option<PathBuf>)]) -> Self {
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
