//! `config prove --json`.

use crate::json::SCHEMA;
use culprit_config::{ConfigFinding, FileObservation, Observation, Proof, VariableProof};
use serde::Serialize;

/// `config prove --json`.
#[derive(Debug, Serialize)]
pub struct ProofDocument<'a> {
    schema: u32,
    subject: &'a str,
    rounds: usize,
    armed: &'a [String],
    not_armed: &'a [String],
    variables: Vec<VariableJson<'a>>,
    hidden: Vec<VariableJson<'a>>,
    processes: Vec<ProcessJson<'a>>,
    files: Vec<FileJson<'a>>,
    gaps: Vec<GapJson<'a>>,
    findings: Vec<FindingJson<'a>>,
}

#[derive(Debug, Serialize)]
struct VariableJson<'a> {
    name: &'a str,
    grade: String,
    count: u64,
    observations: Vec<ObservationJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ObservationJson<'a> {
    pid: u32,
    program: usize,
    grade: String,
    count: u64,
    through: &'a str,
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
}

#[derive(Debug, Serialize)]
struct ProcessJson<'a> {
    pid: u32,
    parent: Option<u32>,
    command: &'a str,
    late_attach: bool,
    forked: bool,
    whole_life: bool,
    decoy: bool,
    copies_block: bool,
}

#[derive(Debug, Serialize)]
struct FileJson<'a> {
    path: &'a str,
    program: usize,
    opened: u64,
    missing: u64,
    refused: u64,
    read_bytes: u64,
}

#[derive(Debug, Serialize)]
struct GapJson<'a> {
    kind: &'a str,
    why: &'a str,
    next: &'a str,
}

#[derive(Debug, Serialize)]
struct FindingJson<'a> {
    id: &'a str,
    severity: String,
    key: &'a str,
    title: &'a str,
    evidence: &'a [String],
    why: &'a str,
    fix: &'a [String],
}

impl<'a> ProofDocument<'a> {
    /// The document of a proof.
    pub fn new(proof: &'a Proof) -> Self {
        let variables = |all: &'a [VariableProof]| {
            all.iter().map(|one| VariableJson::new(proof, one)).collect()
        };
        Self {
            schema: SCHEMA,
            subject: &proof.subject,
            rounds: proof.rounds,
            armed: &proof.armed,
            not_armed: &proof.not_armed,
            variables: variables(&proof.variables),
            hidden: variables(&proof.hidden),
            processes: proof
                .programs
                .iter()
                .map(|one| ProcessJson {
                    pid: one.pid,
                    parent: one.parent,
                    command: &one.command,
                    late_attach: one.late,
                    forked: one.forked,
                    whole_life: one.watch.whole_life,
                    decoy: one.watch.has_decoy,
                    copies_block: one.watch.copies_block,
                })
                .collect(),
            files: proof.files.iter().map(FileJson::new).collect(),
            gaps: proof
                .gaps
                .iter()
                .map(|gap| GapJson { kind: &gap.kind, why: &gap.why, next: &gap.next })
                .collect(),
            findings: proof.findings.iter().map(FindingJson::new).collect(),
        }
    }
}

impl<'a> VariableJson<'a> {
    fn new(proof: &'a Proof, one: &'a VariableProof) -> Self {
        let rows = one.observations.iter().filter_map(|at| proof.observations.get(*at));
        Self {
            name: &one.name,
            grade: one.grade.to_string(),
            count: one.count,
            observations: rows.map(|row| ObservationJson::new(proof, row)).collect(),
        }
    }
}

impl<'a> ObservationJson<'a> {
    fn new(proof: &Proof, row: &'a Observation) -> Self {
        let first = row.first.as_ref();
        Self {
            pid: proof.programs.get(row.program).map_or(0, |program| program.pid),
            program: row.program,
            grade: row.grade.to_string(),
            count: row.count,
            through: &row.through,
            function: first.map(|place| place.function.as_str()),
            file: first.map(|place| place.file.as_str()).filter(|file| !file.is_empty()),
            line: first.map(|place| place.line).filter(|line| *line > 0),
        }
    }
}

impl<'a> FileJson<'a> {
    fn new(one: &'a FileObservation) -> Self {
        Self {
            path: &one.path,
            program: one.program,
            opened: one.opened,
            missing: one.missing,
            refused: one.refused,
            read_bytes: one.bytes_read,
        }
    }
}

impl<'a> FindingJson<'a> {
    fn new(one: &'a ConfigFinding) -> Self {
        Self {
            id: one.id,
            severity: one.severity.to_string(),
            key: &one.key,
            title: &one.title,
            evidence: &one.evidence,
            why: &one.why,
            fix: &one.fix,
        }
    }
}
