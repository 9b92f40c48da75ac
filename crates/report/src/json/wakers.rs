//! `wakers --json`.

use culprit_engine::calls::CallTree;
use serde::Serialize;

use super::SCHEMA;
use crate::views::{WakerLink, WakerRow, share};

/// Who ended the waits.
#[derive(Debug, Serialize)]
pub struct WakersDocument {
    schema: u32,
    metric: String,
    unit: &'static str,
    total: u64,
    rows: Vec<Row>,
    rows_left_out: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    value: u64,
    share: f64,
    count: u64,
    thread: String,
    cause: String,
    function: String,
    stack: Vec<String>,
    woken_by: String,
    kind: String,
    waker_stack: Vec<String>,
    longest_ns: u64,
    chain: Vec<Link>,
}

#[derive(Debug, Serialize)]
struct Link {
    thread: String,
    cause: String,
    function: String,
    duration_ns: u64,
    woken_by: String,
}

impl WakersDocument {
    /// The rows of a view.
    #[must_use]
    pub fn new(tree: &CallTree, rows: &[WakerRow], rows_left_out: usize) -> Self {
        let row = |row: &WakerRow| Row {
            value: row.value,
            share: share(row.value, tree.total()),
            count: row.count,
            thread: row.thread.clone(),
            cause: row.cause.to_string(),
            function: row.function.clone(),
            stack: row.stack.clone(),
            woken_by: row.woken_by.clone(),
            kind: row.kind.clone(),
            waker_stack: row.waker_stack.clone(),
            longest_ns: row.longest.0,
            chain: row.chain.iter().map(link).collect(),
        };
        Self {
            schema: SCHEMA,
            metric: tree.metric().to_string(),
            unit: tree.metric().unit(),
            total: tree.total(),
            rows: rows.iter().map(row).collect(),
            rows_left_out,
        }
    }
}

fn link(link: &WakerLink) -> Link {
    Link {
        thread: link.thread.clone(),
        cause: link.cause.to_string(),
        function: link.function.clone(),
        duration_ns: link.duration.0,
        woken_by: link.woken_by.clone(),
    }
}
