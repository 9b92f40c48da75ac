//! One JSON document, as docs/json.md has it: a row a line, printed as rows come.

use std::io::{self, Write};

use culprit_engine::losses;
use culprit_query::{Answer, Checked, Opened, Value};
use serde::Serialize;

use super::{Print, Told};
use crate::failure::Failure;

/// The version of every JSON document of culprit.
const SCHEMA: u32 = 1;

/// Answers as a JSON document.
#[derive(Debug, Default)]
pub(crate) struct Json {
    rows: u64,
    checked: Option<Checked>,
}

impl Json {
    /// With what was compared with an engine's answer.
    pub(crate) fn new(checked: Option<Checked>) -> Self {
        Self { rows: 0, checked }
    }
}

#[derive(Debug, Serialize)]
struct ColumnJson<'a> {
    name: &'a str,
    r#type: &'a str,
    unit: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct RecordingJson {
    name: String,
    path: String,
    missing: Vec<MissingJson>,
}

#[derive(Debug, Serialize)]
struct MissingJson {
    id: String,
    count: u64,
    what: String,
    advice: String,
}

#[derive(Debug, Serialize)]
struct CutJson {
    shown: u64,
    rows: u64,
    exact: bool,
}

#[derive(Debug, Serialize)]
struct ErrorJson {
    message: String,
    hint: Option<String>,
    exit_code: u8,
}

#[derive(Debug, Serialize)]
struct ErrorDocument {
    schema: u32,
    error: ErrorJson,
}

impl Print for Json {
    fn begin(&mut self, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{{\n  \"schema\": {SCHEMA},")?;
        if let Some(checked) = &self.checked {
            writeln!(out, "  \"engine\": {},", engine_json(checked))?;
        }
        list("recordings", answer.opened().iter().map(RecordingJson::new), out)?;
        let columns = answer.columns().iter().map(|column| ColumnJson {
            name: &column.name,
            r#type: &column.ty,
            unit: (!column.unit.is_empty()).then_some(&column.unit),
        });
        list("columns", columns, out)?;
        write!(out, "  \"rows\": [")
    }

    fn rows(&mut self, rows: &[Vec<Value>], out: &mut dyn Write) -> io::Result<()> {
        for row in rows {
            let comma = if self.rows == 0 { "" } else { "," };
            let row = serde_json::Value::Array(row.iter().map(value_json).collect());
            write!(out, "{comma}\n    {row}")?;
            self.rows += 1;
        }
        Ok(())
    }

    fn end(&mut self, told: Told, failed: Option<&Failure>, out: &mut dyn Write) -> io::Result<()> {
        let end = if self.rows == 0 { "" } else { "\n  " };
        let cut = told.is_cut().then_some(CutJson {
            shown: told.shown,
            rows: told.rows,
            exact: told.exact,
        });
        let failed = failed.map(ErrorJson::new);
        let failed = match failed {
            Some(error) => format!(",\n  \"error\": {}", serde_json::to_string(&error)?),
            None => String::new(),
        };
        writeln!(out, "{end}],\n  \"cut\": {}{failed}\n}}", serde_json::to_string(&cut)?)
    }

    fn tells_failures(&self) -> bool {
        true
    }
}

/// Who answered, and what this machine computed as well.
pub(crate) fn engine_json(checked: &Checked) -> serde_json::Value {
    serde_json::json!({
        "address": checked.address,
        "version": checked.version,
        "slice": checked.slice,
        "questions": checked.questions,
        "rows": checked.rows,
    })
}

/// A member of the document that is a list, an entry a line.
fn list(
    name: &str,
    entries: impl Iterator<Item = impl Serialize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = entries.map(|entry| Ok(format!("\n    {}", serde_json::to_string(&entry)?)));
    let lines = lines.collect::<io::Result<Vec<_>>>()?;
    let end = if lines.is_empty() { "" } else { "\n  " };
    writeln!(out, "  \"{name}\": [{}{end}],", lines.join(","))
}

/// A value as JSON has it; a number that JSON has not, such as infinity, is null.
pub(crate) fn value_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Int(number) => (*number).into(),
        Value::Unsigned(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(values) => values.iter().map(value_json).collect(),
        Value::Record(values) => {
            values.iter().map(|(name, value)| (name.clone(), value_json(value))).collect()
        }
    }
}

impl RecordingJson {
    fn new(opened: &Opened) -> Self {
        let lines = losses::lines(&opened.losses);
        let missing = losses::holes(&lines).map(|line| MissingJson {
            id: line.id.clone(),
            count: line.count,
            what: line.what(),
            advice: line.advice.clone(),
        });
        Self {
            name: opened.name.clone(),
            path: opened.path.display().to_string(),
            missing: missing.collect(),
        }
    }
}

impl ErrorJson {
    fn new(failure: &Failure) -> Self {
        let hints = failure.hints();
        Self {
            message: failure.what().to_owned(),
            hint: (!hints.is_empty()).then(|| hints.join("\n")),
            exit_code: failure.code(),
        }
    }
}

/// The document of a failure before the first row.
pub(crate) fn failure_document(failure: &Failure) -> String {
    let document = ErrorDocument { schema: SCHEMA, error: ErrorJson::new(failure) };
    serde_json::to_string_pretty(&document).unwrap_or_default()
}
