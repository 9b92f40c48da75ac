//! `source --json`.

use culprit_engine::calls::{CallTree, LineValue, Lines};
use culprit_model::Text;
use serde::Serialize;

use super::SCHEMA;
use crate::views::share;

/// What the lines of a function weigh.
#[derive(Debug, Serialize)]
pub struct SourceDocument {
    schema: u32,
    metric: String,
    unit: &'static str,
    name: String,
    total: u64,
    lines: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    file: String,
    line: u32,
    inc: u64,
    inc_share: f64,
    exc: u64,
    exc_share: f64,
    count: u64,
}

impl SourceDocument {
    /// The document of a function in a tree.
    #[must_use]
    pub fn new(name: &str, tree: &CallTree, lines: &Lines) -> Self {
        let (metric, whole) = (tree.metric(), tree.total());
        let row = |((file, line), found): (&(Text, u32), &LineValue)| Row {
            file: file.to_string(),
            line: *line,
            inc: found.inc,
            inc_share: share(found.inc, whole),
            exc: found.exc,
            exc_share: share(found.exc, whole),
            count: found.count,
        };
        Self {
            schema: SCHEMA,
            metric: metric.to_string(),
            unit: metric.unit(),
            name: name.to_owned(),
            total: whole,
            lines: lines.iter().map(row).collect(),
        }
    }
}
