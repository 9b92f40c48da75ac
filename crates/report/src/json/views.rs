//! `top --json`, `tree --json` and its relatives.

use std::collections::BTreeMap;

use culprit_engine::calls::{CallTree, NameId, Neighbour, NodeId};
use serde::Serialize;

use super::SCHEMA;
use crate::views::{Beside, Function, functions, share};

/// Functions by time.
#[derive(Debug, Serialize)]
pub struct TopDocument {
    schema: u32,
    metric: String,
    unit: &'static str,
    total: u64,
    total_error: Option<f64>,
    rows: Vec<TopRow>,
    rows_left_out: usize,
}

/// One name. `own` is where threads were; `exc` is what ended at the name as a frame, which in a
/// wall-clock stack is the cause.
#[derive(Debug, Serialize)]
struct TopRow {
    name: String,
    file: Option<String>,
    line: Option<u32>,
    called_from: Option<String>,
    exc: u64,
    exc_share: f64,
    inc: u64,
    inc_share: f64,
    inc_error: Option<f64>,
    own: u64,
    own_share: f64,
    own_error: Option<f64>,
    causes: BTreeMap<String, u64>,
    count: u64,
    exc_count: u64,
    fold: u64,
    fold_count: u64,
    cpi: Option<f64>,
    when: String,
    first_ns: u64,
    last_ns: u64,
}

impl TopDocument {
    /// The rows of a tree, at most `limit` unless that is 0.
    #[must_use]
    pub fn new(tree: &CallTree, beside: Beside<'_>, limit: usize) -> Self {
        let mut rows = functions(tree);
        let all = rows.len();
        rows.sort_by_key(|row| std::cmp::Reverse(row.own.max(row.exc)));
        if limit > 0 {
            rows.truncate(limit);
        }
        Self {
            schema: SCHEMA,
            metric: tree.metric().to_string(),
            unit: tree.metric().unit(),
            total: tree.total(),
            total_error: beside.errors.map(|errors| errors.whole(tree.total())),
            rows_left_out: all - rows.len(),
            rows: top_rows(tree, beside, rows),
        }
    }
}

/// Rows with their values over time, which are gathered for all names in one pass.
fn top_rows(tree: &CallTree, beside: Beside<'_>, rows: Vec<Function>) -> Vec<TopRow> {
    let names: Vec<NameId> = rows.iter().map(|row| row.id).collect();
    let full = tree.full();
    let whens = tree.whens_named(&names);
    let made = rows.into_iter().zip(whens);
    let place = |row: &Function| beside.places.and_then(|places| places.get(&row.name));
    made.map(|(row, when)| TopRow {
        file: place(&row).map(|place| place.file.clone()),
        line: place(&row).map(|place| place.line),
        called_from: beside.called_from.and_then(|from| from.own_code(row.id)).map(str::to_owned),
        cpi: beside.cpi.and_then(|cpi| cpi.own(&row.name)),
        inc_error: beside.errors.and_then(|errors| errors.total(&row.name, row.total)),
        own_error: beside.errors.and_then(|errors| errors.own(&row.name, row.own)),
        ..TopRow::new(when.text(full), row)
    })
    .collect()
}

impl TopRow {
    fn new(when: String, row: Function) -> Self {
        Self {
            name: row.name,
            file: None,
            line: None,
            called_from: None,
            exc: row.exc,
            exc_share: row.exc_share,
            inc: row.total,
            inc_share: row.total_share,
            inc_error: None,
            own: row.own,
            own_share: row.own_share,
            own_error: None,
            causes: row
                .causes
                .into_iter()
                .map(|(cause, value)| (cause.to_string(), value))
                .collect(),
            count: row.count,
            exc_count: row.exc_count,
            fold: row.fold,
            fold_count: row.fold_count,
            cpi: None,
            when,
            first_ns: row.first.0,
            last_ns: row.last.0,
        }
    }
}

/// A call tree as rows in preorder: a row's children follow it, one deeper.
#[derive(Debug, Serialize)]
pub struct TreeDocument {
    schema: u32,
    metric: String,
    unit: &'static str,
    total: u64,
    nodes: Vec<NodeRow>,
    nodes_left_out: usize,
}

#[derive(Debug, Serialize)]
struct NodeRow {
    depth: u32,
    name: String,
    /// True, or not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    guessed: Option<bool>,
    inc: u64,
    inc_share: f64,
    exc: u64,
    exc_share: f64,
    count: u64,
    first_ns: u64,
    last_ns: u64,
}

impl TreeDocument {
    /// The nodes of a tree in preorder, the largest `limit` of them unless that is 0.
    #[must_use]
    pub fn new(tree: &CallTree, limit: usize) -> Self {
        let smallest = smallest_shown(tree, limit);
        let mut nodes = Vec::new();
        let mut open = vec![NodeId::ROOT];
        while let Some(at) = open.pop() {
            let node = tree.node(at);
            if node.total < smallest {
                continue;
            }
            let exc = tree.own(at).map_or(0, |own| own.value);
            nodes.push(NodeRow {
                depth: node.depth,
                name: tree.name(at).to_string(),
                guessed: tree.is_guessed(at).then_some(true),
                inc: node.total,
                inc_share: share(node.total, tree.total()),
                exc,
                exc_share: share(exc, tree.total()),
                count: node.count,
                first_ns: node.first.0,
                last_ns: node.last.0,
            });
            let children: Vec<NodeId> = tree.children(at).collect();
            open.extend(children.into_iter().rev());
        }
        Self {
            schema: SCHEMA,
            metric: tree.metric().to_string(),
            unit: tree.metric().unit(),
            total: tree.total(),
            nodes_left_out: tree.nodes().len() - nodes.len(),
            nodes,
        }
    }
}

/// The total of the smallest of the largest `limit` nodes; equal ones are all shown.
fn smallest_shown(tree: &CallTree, limit: usize) -> u64 {
    let mut totals: Vec<u64> = tree.nodes().iter().map(|node| node.total).collect();
    if limit == 0 || limit > totals.len() {
        return 0;
    }
    *totals.select_nth_unstable_by(limit - 1, |a, b| b.cmp(a)).1
}

/// A function between its callers and its callees.
#[derive(Debug, Serialize)]
pub struct ButterflyDocument {
    schema: u32,
    metric: String,
    unit: &'static str,
    name: String,
    inc: u64,
    exc: u64,
    callers: Vec<NeighbourRow>,
    callees: Vec<NeighbourRow>,
}

#[derive(Debug, Serialize)]
struct NeighbourRow {
    name: String,
    value: u64,
    share: f64,
    count: f64,
}

impl ButterflyDocument {
    /// The neighbours of a name.
    #[must_use]
    pub fn new(tree: &CallTree, focus: NameId) -> Self {
        let found = tree.butterfly(focus);
        let row = |neighbour: &Neighbour| NeighbourRow {
            name: tree.names().text(neighbour.name).to_string(),
            value: neighbour.value,
            share: share(neighbour.value, found.total),
            count: neighbour.count,
        };
        Self {
            schema: SCHEMA,
            metric: tree.metric().to_string(),
            unit: tree.metric().unit(),
            name: tree.names().text(focus).to_string(),
            inc: found.total,
            exc: found.own,
            callers: found.callers.iter().map(row).collect(),
            callees: found.callees.iter().map(row).collect(),
        }
    }
}
