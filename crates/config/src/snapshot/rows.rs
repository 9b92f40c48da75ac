//! The lines of a snapshot, and their conversions. Words of enums are those of the JSON documents.

use std::borrow::Cow;
use std::str::FromStr;

use culprit_model::{Label as _, Severity, Text};
use serde::{Deserialize, Serialize};

use super::{SNAPSHOT_VERSION, Snapshot};
use crate::configuration::{ConfigFinding, Configuration};
use crate::position::Position;
use crate::provenance::{Assignment, Condition, Effective, Source, Variable};
use crate::rules::RULES;
use crate::sources::Defined;
use crate::value::{ValueRef, bytes, hex};
use crate::{condition, sitecore};

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) culprit_config_snapshot: u32,
    pub(super) profiles: usize,
    subject: String,
    /// 64 hexadecimal digits; null without a key.
    key: Option<String>,
}

impl Header {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self {
            culprit_config_snapshot: SNAPSHOT_VERSION,
            profiles: snapshot.configurations.len(),
            subject: snapshot.subject.clone(),
            key: snapshot.key.map(|key| hex(&key)),
        }
    }

    /// The snapshot without configurations; none if the key is malformed.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let key = match &self.key {
            Some(digits) => Some(bytes(digits)?),
            None => None,
        };
        Some(Snapshot { subject: self.subject.clone(), key, configurations: Vec::new() })
    }
}

/// Everything of a configuration but its keys.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProfileRow {
    profile: String,
    title: String,
    leaves_out: Vec<String>,
    separator: String,
    defines: Vec<(String, Vec<String>, String)>,
    sources: Vec<SourceRow>,
    conditions: Vec<ConditionRow>,
    variables: Vec<VariableRow>,
    other_variables: usize,
    findings: Vec<FindingRow>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SourceRow {
    kind: String,
    name: String,
    layer: String,
    state: String,
    why: String,
    /// Line and column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<(u32, u32)>,
    sha256: Option<String>,
    size_bytes: u64,
    modified_unix_s: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ConditionRow {
    dialect: String,
    text: String,
    inputs: (String, Vec<String>),
    result: String,
    /// Its source, line and column.
    at: Option<(usize, u32, u32)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct VariableRow {
    name: String,
    source: usize,
    key: Option<String>,
    outcome: String,
    reason: String,
    nearest: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FindingRow {
    id: String,
    severity: String,
    key: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    concerns: Vec<String>,
    title: String,
    evidence: Vec<String>,
    why: String,
    fix: Vec<String>,
}

fn parsed<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{}` is not a word of this version", word.escape_debug()))
}

/// The one of these words that a text is.
fn known(words: impl Iterator<Item = &'static str>, text: &str) -> Option<&'static str> {
    words.into_iter().find(|word| *word == text)
}

impl ProfileRow {
    pub(super) fn new(one: &Configuration) -> Self {
        let define =
            |define: &Defined| (define.name.clone(), define.values.clone(), define.from.clone());
        let condition = |condition: &Condition| ConditionRow {
            dialect: condition.dialect.to_owned(),
            text: condition.text.clone(),
            inputs: condition.inputs.clone(),
            result: condition.result.to_string(),
            at: condition.at.map(|(source, at)| (source, at.line, at.column)),
        };
        let variable = |variable: &Variable| VariableRow {
            name: variable.name.clone(),
            source: variable.source,
            key: variable.key.clone(),
            outcome: variable.outcome.to_string(),
            reason: variable.reason.clone(),
            nearest: variable.nearest.clone(),
        };
        let finding = |finding: &ConfigFinding| FindingRow {
            id: finding.id.to_owned(),
            severity: finding.severity.to_string(),
            key: finding.key.clone(),
            concerns: finding.concerns.clone(),
            title: finding.title.clone(),
            evidence: finding.evidence.clone(),
            why: finding.why.clone(),
            fix: finding.fix.clone(),
        };
        Self {
            profile: one.profile.clone(),
            title: one.title.clone(),
            leaves_out: one.leaves_out.clone(),
            separator: one.separator.clone(),
            defines: one.defines.iter().map(define).collect(),
            sources: one.sources.iter().map(SourceRow::new).collect(),
            conditions: one.conditions.iter().map(condition).collect(),
            variables: one.variables.iter().map(variable).collect(),
            other_variables: one.other_variables,
            findings: one.findings.iter().map(finding).collect(),
        }
    }

    /// The configuration without keys.
    pub(super) fn configuration(self) -> Result<Configuration, String> {
        let sources: Vec<Source> =
            self.sources.into_iter().map(SourceRow::source).collect::<Result<_, _>>()?;
        let count = sources.len();
        let variables = self.variables.into_iter().map(|row| row.variable(count));
        let defined = |(name, values, from)| Defined { name, values, from };
        Ok(Configuration {
            profile: self.profile,
            title: self.title,
            leaves_out: self.leaves_out,
            separator: self.separator,
            defines: self.defines.into_iter().map(defined).collect(),
            variables: variables.collect::<Result<_, _>>()?,
            conditions: self
                .conditions
                .into_iter()
                .map(|row| row.condition(count))
                .collect::<Result<_, _>>()?,
            findings: self
                .findings
                .into_iter()
                .map(FindingRow::finding)
                .collect::<Result<_, _>>()?,
            sources,
            // Findings were made of them.
            oddities: Vec::new(),
            assignments: Vec::new(),
            effective: Vec::new(),
            other_variables: self.other_variables,
            asked: std::collections::BTreeMap::new(),
            choices: Vec::new(),
            refused_by: None,
            framework_keys: Vec::new(),
            is_relaxed: false,
            invariant_culture: false,
            never_true: Vec::new(),
        })
    }
}

impl SourceRow {
    fn new(source: &Source) -> Self {
        Self {
            kind: source.kind.to_string(),
            name: source.name.clone(),
            layer: source.layer.clone(),
            state: source.state.to_string(),
            why: source.why.clone(),
            at: source.at.map(|at| (at.line, at.column)),
            sha256: source.sha256.clone(),
            size_bytes: source.bytes,
            modified_unix_s: source.modified,
        }
    }

    fn source(self) -> Result<Source, String> {
        Ok(Source {
            kind: parsed(&self.kind)?,
            name: self.name,
            layer: self.layer,
            state: parsed(&self.state)?,
            why: self.why,
            at: self.at.map(|(line, column)| Position { line, column }),
            sha256: self.sha256,
            bytes: self.size_bytes,
            modified: self.modified_unix_s,
        })
    }
}

impl ConditionRow {
    fn condition(self, sources: usize) -> Result<Condition, String> {
        if self.at.is_some_and(|(source, ..)| source >= sources) {
            return Err("a condition names a source that is not there".to_owned());
        }
        let dialects = [condition::DIALECT, sitecore::DIALECT];
        Ok(Condition {
            dialect: known(dialects.into_iter(), &self.dialect).unwrap_or("other"),
            text: self.text,
            inputs: self.inputs,
            result: parsed(&self.result)?,
            at: self.at.map(|(source, line, column)| (source, Position { line, column })),
        })
    }
}

impl VariableRow {
    fn variable(self, sources: usize) -> Result<Variable, String> {
        if self.source >= sources {
            return Err("a variable names a source that is not there".to_owned());
        }
        Ok(Variable {
            name: self.name,
            source: self.source,
            key: self.key,
            outcome: parsed(&self.outcome)?,
            reason: self.reason,
            nearest: self.nearest,
        })
    }
}

impl FindingRow {
    fn finding(self) -> Result<ConfigFinding, String> {
        let id = known(RULES.iter().map(|(id, _)| *id), &self.id);
        Ok(ConfigFinding {
            id: id.ok_or_else(|| format!("unknown finding `{}`", self.id.escape_debug()))?,
            severity: parsed::<Severity>(&self.severity)?,
            key: self.key,
            concerns: self.concerns,
            title: self.title,
            evidence: self.evidence,
            why: self.why,
            fix: self.fix,
        })
    }
}

/// A key with its assignments, weakest first. Text that needs no escapes is borrowed from the line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeyRow<'a> {
    /// Index of its profile.
    of: usize,
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    certainty: Cow<'a, str>,
    /// Index in `chain` of the winner.
    winner: Option<usize>,
    #[serde(borrow)]
    chain: Vec<AssignmentRow<'a>>,
    /// The strongest source that was not read and may set the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AssignmentRow<'a> {
    source: usize,
    /// The key, where this source spells it in another way.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    /// The name that the source writes, where it is not the key.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    written: Option<Cow<'a, str>>,
    #[serde(borrow)]
    op: Cow<'a, str>,
    /// Line, column, last line.
    at: Option<(u32, u32, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<usize>,
    #[serde(borrow)]
    outcome: Cow<'a, str>,
    /// Index in `chain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    superseded_by: Option<usize>,
    #[serde(borrow, default, skip_serializing_if = "is_empty")]
    reason: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    class: Cow<'a, str>,
    size_bytes: usize,
    #[serde(borrow)]
    fingerprint: Cow<'a, str>,
}

#[expect(clippy::ptr_arg, reason = "serde hands in the field's own type")]
fn is_empty(text: &Cow<'_, str>) -> bool {
    text.is_empty()
}

impl<'a> KeyRow<'a> {
    pub(super) fn new(of: usize, one: &'a Configuration, effective: &'a Effective) -> Self {
        let in_chain = |wanted: usize| effective.chain.iter().position(|at| *at == wanted);
        let row = |at: &usize| {
            let assignment = &one.assignments[*at];
            AssignmentRow::new(assignment, &effective.key, in_chain)
        };
        Self {
            of,
            key: Cow::from(effective.key.as_str()),
            certainty: Cow::from(effective.certainty.word()),
            winner: effective.winner.and_then(in_chain),
            chain: effective.chain.iter().map(row).collect(),
            gap: effective.gap,
        }
    }

    /// Adds the key to its configuration.
    pub(super) fn add_to(self, configurations: &mut [Configuration]) -> Result<(), String> {
        let one = configurations
            .get_mut(self.of)
            .ok_or_else(|| "it names a profile that is not there".to_owned())?;
        let (start, count) = (one.assignments.len(), self.chain.len());
        let in_all = |at: Option<usize>| match at {
            Some(at) if at >= count => Err("it names an assignment that is not there".to_owned()),
            at => Ok(at.map(|at| start + at)),
        };
        let winner = in_all(self.winner)?;
        if self.gap.is_some_and(|gap| gap >= one.sources.len()) {
            return Err("it names a source that is not there".to_owned());
        }
        let key = Text::from(self.key);
        for row in self.chain {
            let superseded_by = in_all(row.superseded_by)?;
            let assignment = row.assignment(&key, superseded_by, one)?;
            one.assignments.push(assignment);
        }
        one.effective.push(Effective {
            key,
            winner,
            chain: (start..start + count).collect(),
            certainty: parsed(&self.certainty)?,
            gap: self.gap,
        });
        Ok(())
    }
}

impl<'a> AssignmentRow<'a> {
    fn new(one: &'a Assignment, key: &str, in_chain: impl Fn(usize) -> Option<usize>) -> Self {
        let other = |text: &'a str, than: &str| (text != than).then(|| Cow::from(text));
        Self {
            source: one.source,
            key: other(&one.key, key),
            written: other(&one.written, &one.key),
            op: Cow::from(one.op.word()),
            at: one.at.map(|at| (at.line, at.column, one.end_line.unwrap_or(at.line))),
            condition: one.condition,
            outcome: Cow::from(one.outcome.word()),
            superseded_by: one.superseded_by.and_then(in_chain),
            reason: Cow::from(one.reason.as_str()),
            text: one.value.text.as_deref().map(Cow::from),
            class: Cow::from(one.value.class.word()),
            size_bytes: one.value.length,
            fingerprint: Cow::from(one.value.fingerprint.to_string()),
        }
    }

    fn assignment(
        self,
        key: &Text,
        superseded_by: Option<usize>,
        one: &Configuration,
    ) -> Result<Assignment, String> {
        if self.source >= one.sources.len() {
            return Err("it names a source that is not there".to_owned());
        }
        if self.condition.is_some_and(|condition| condition >= one.conditions.len()) {
            return Err("it names a condition that is not there".to_owned());
        }
        let key = self.key.map_or_else(|| key.clone(), Text::from);
        Ok(Assignment {
            source: self.source,
            written: self.written.map_or_else(|| key.clone(), Text::from),
            key,
            op: parsed(&self.op)?,
            value: ValueRef {
                length: self.size_bytes,
                class: parsed(&self.class)?,
                fingerprint: parsed(&self.fingerprint)?,
                text: self.text.map(Text::from),
            },
            at: self.at.map(|(line, column, _)| Position { line, column }),
            end_line: self.at.map(|(_, _, end_line)| end_line),
            condition: self.condition,
            outcome: parsed(&self.outcome)?,
            superseded_by,
            reason: self.reason.into_owned(),
        })
    }
}
