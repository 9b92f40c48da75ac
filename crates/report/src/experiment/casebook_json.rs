//! `casebook list`, `show` and `run` as JSON.

use culprit_engine::stats::Ratio;
use culprit_experiment::casebook::{
    Case, CaseCheck, CaseOutcome, CaseResult, Course, Pair, Question,
};
use serde::Serialize;

use crate::json::{FindingJson, SCHEMA};

/// All cases.
#[derive(Debug, Serialize)]
pub struct CasesDocument {
    schema: u32,
    cases: Vec<EntryJson>,
}

#[derive(Debug, Serialize)]
struct EntryJson {
    name: String,
    title: String,
    finding: Option<String>,
    function: Option<String>,
    places: Vec<String>,
    engines: Vec<String>,
    needs: Vec<String>,
    missing: Vec<String>,
}

/// One case.
#[derive(Debug, Serialize)]
pub struct CaseDocument {
    schema: u32,
    #[serde(flatten)]
    entry: EntryJson,
    story: String,
    fix: String,
    build: Vec<String>,
    guilty: Option<String>,
    fixed: Option<String>,
    questions: Vec<QuestionJson>,
    clean: Vec<String>,
}

#[derive(Debug, Serialize)]
struct QuestionJson {
    before: Vec<String>,
    command: String,
    expect: Vec<String>,
}

/// Cases that were run.
#[derive(Debug, Serialize)]
pub struct CaseRunDocument {
    schema: u32,
    interrupted: bool,
    cases: Vec<CaseJson>,
}

/// A case that was run, or why it was not.
#[derive(Debug, Serialize)]
pub struct CaseJson {
    name: String,
    title: String,
    state: &'static str,
    missing: Vec<String>,
    problem: Option<String>,
    checks: Vec<CheckJson>,
    verdict: Option<String>,
    times_as_fast: Option<FasterJson>,
    guilty_ns: Option<u64>,
    fixed_ns: Option<u64>,
    explained_share: Option<f64>,
    findings: Vec<FindingJson>,
    recordings: Option<String>,
    answers: Vec<AnswerJson>,
}

#[derive(Debug, Serialize)]
struct AnswerJson {
    command: String,
    document: serde_json::Value,
}

#[derive(Debug, Serialize)]
struct CheckJson {
    id: &'static str,
    held: bool,
    told: String,
}

#[derive(Debug, Serialize)]
struct FasterJson {
    value: f64,
    low: f64,
    high: f64,
    rounds: usize,
}

impl CasesDocument {
    /// The document of cases with what is missing for each.
    #[must_use]
    pub fn new(cases: &[(Case, Vec<String>)]) -> Self {
        let cases = cases.iter().map(|(case, missing)| EntryJson::new(case, missing)).collect();
        Self { schema: SCHEMA, cases }
    }
}

impl EntryJson {
    fn new(case: &Case, missing: &[String]) -> Self {
        let pair = pair(case);
        Self {
            name: case.name.clone(),
            title: case.title.clone(),
            finding: pair.map(|pair| pair.guilty.finding.clone()),
            function: pair.and_then(|pair| pair.guilty.function.clone()),
            places: pair.map(|pair| pair.places.clone()).unwrap_or_default(),
            engines: case.engines.iter().map(ToString::to_string).collect(),
            needs: case.needs.clone(),
            missing: missing.to_vec(),
        }
    }
}

impl CaseDocument {
    /// The document of a case and what is missing for it.
    #[must_use]
    pub fn new(case: &Case, missing: &[String]) -> Self {
        Self {
            schema: SCHEMA,
            entry: EntryJson::new(case, missing),
            story: case.story.trim().to_owned(),
            fix: case.fix.trim().to_owned(),
            build: case.build.iter().map(|argv| argv.join(" ")).collect(),
            guilty: pair(case).map(|pair| pair.guilty.command.join(" ")),
            fixed: pair(case).map(|pair| pair.fixed.command.join(" ")),
            questions: match &case.course {
                Course::Pair(_) => Vec::new(),
                Course::Questions(questions) => questions.iter().map(QuestionJson::from).collect(),
            },
            clean: case.clean.iter().map(|argv| argv.join(" ")).collect(),
        }
    }
}

/// The variants of a case that has them.
fn pair(case: &Case) -> Option<&Pair> {
    match &case.course {
        Course::Pair(pair) => Some(pair),
        Course::Questions(_) => None,
    }
}

impl From<&Question> for QuestionJson {
    fn from(question: &Question) -> Self {
        Self {
            before: question.before.iter().map(|argv| argv.join(" ")).collect(),
            command: question.line(),
            expect: question.expect.iter().map(|expectation| expectation.says.clone()).collect(),
        }
    }
}

impl CaseRunDocument {
    /// The document of cases that were run.
    #[must_use]
    pub fn new(cases: Vec<CaseJson>, interrupted: bool) -> Self {
        Self { schema: SCHEMA, interrupted, cases }
    }
}

impl CaseJson {
    /// What became of a case.
    #[must_use]
    pub fn new(case: &Case, outcome: &CaseOutcome) -> Self {
        let empty = Self {
            name: case.name.clone(),
            title: case.title.clone(),
            state: "skipped",
            missing: Vec::new(),
            problem: None,
            checks: Vec::new(),
            verdict: None,
            times_as_fast: None,
            guilty_ns: None,
            fixed_ns: None,
            explained_share: None,
            findings: Vec::new(),
            recordings: None,
            answers: Vec::new(),
        };
        match outcome {
            CaseOutcome::Skipped(missing) => Self { missing: missing.clone(), ..empty },
            CaseOutcome::Failed(error) => {
                Self { state: "failed", problem: Some(error.to_string()), ..empty }
            }
            CaseOutcome::Measured(result) => empty.with(result),
        }
    }

    fn with(self, result: &CaseResult) -> Self {
        let check = |check: &CaseCheck| CheckJson {
            id: check.id,
            held: check.held,
            told: check.seen.clone(),
        };
        let answer = |(command, document): &(String, serde_json::Value)| AnswerJson {
            command: command.clone(),
            document: document.clone(),
        };
        Self {
            answers: result.answers.iter().map(answer).collect(),
            state: if result.as_expected() { "as-expected" } else { "otherwise" },
            checks: result.checks.iter().map(check).collect(),
            verdict: result.ratio.as_ref().map(|ratio| ratio.verdict.to_string()),
            times_as_fast: result.ratio.as_ref().map(FasterJson::new),
            guilty_ns: result.medians.0.map(|wall| wall.0),
            fixed_ns: result.medians.1.map(|wall| wall.0),
            explained_share: result.explained_share,
            findings: result.findings.iter().map(FindingJson::from).collect(),
            recordings: result.recordings.as_ref().map(|path| path.display().to_string()),
            ..self
        }
    }
}

impl FasterJson {
    fn new(ratio: &Ratio) -> Self {
        Self {
            value: 1.0 / ratio.value,
            low: 1.0 / ratio.interval.high,
            high: 1.0 / ratio.interval.low,
            rounds: ratio.rounds,
        }
    }
}
