//! Functions by their own and total time.
//!
//! The last frame of every wall-clock stack is its cause, so a function ends no stack itself. What
//! people want to know is where threads *were*: the own time of a function is that of the causes
//! right below it, and is told beside the exclusive value of the tree's rows.

use std::collections::BTreeMap;

use culprit_engine::calls::{CallTree, NameId, NodeId, by_name};
use culprit_model::{Cause, Label as _, Time};

use super::{share, value};
use crate::output::{Align, Output, Table, bar, clean, percent, shares};

/// One function's time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    /// `module!function`, or a cause.
    pub name: String,
    /// True when the name is a cause and not a function.
    pub is_cause: bool,
    /// Value in itself, by the causes right below it.
    pub own: u64,
    /// The same as a share of the total.
    pub own_share: f64,
    /// The own value by cause, ordered by cause.
    pub causes: Vec<(Cause, u64)>,
    /// Value that ended at the name as a frame: for causes, and where folding moved it.
    pub exc: u64,
    /// The same as a share of the total.
    pub exc_share: f64,
    /// Value in itself and what it calls.
    pub total: u64,
    /// The same as a share of the total.
    pub total_share: f64,
    /// Rows of the recording behind the total.
    pub count: u64,
    /// The part of the exclusive value that folding moved here.
    pub fold: u64,
    /// The total over time, a character a 32nd of the range.
    pub when: String,
    /// Start of the first row.
    pub first: Time,
    /// End of the last row.
    pub last: Time,
}

/// One row a name in the tree: functions by falling own value, then by falling total.
pub(crate) fn functions(tree: &CallTree) -> Vec<Function> {
    let whole = tree.total();
    let mut own = own_by_name(tree);
    let mut rows: Vec<Function> = by_name(tree)
        .into_iter()
        .map(|row| {
            let causes: Vec<_> = own.remove(&row.id).unwrap_or_default().into_iter().collect();
            let is_cause = Cause::from_word(&row.name).is_some();
            let moved: u64 = causes.iter().map(|(_, value)| value).sum();
            let own = if is_cause { 0 } else { moved + uncaused(tree, &row) };
            Function {
                name: row.name.to_string(),
                is_cause,
                own,
                own_share: share(own, whole),
                causes,
                exc: row.exc,
                exc_share: share(row.exc, whole),
                total: row.inc,
                total_share: share(row.inc, whole),
                count: row.count,
                fold: row.fold,
                when: tree.when_named(row.id).text(tree.full()),
                first: row.first,
                last: row.last,
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.own.cmp(&a.own)).then(b.total.cmp(&a.total)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

/// Exclusive value of a metric that has no causes, such as faults.
fn uncaused(tree: &CallTree, row: &culprit_engine::calls::NameRow) -> u64 {
    if tree.metric().unit() == "ns" { 0 } else { row.exc }
}

/// For each name the value of the causes right below it, and of causes folded into it.
fn own_by_name(tree: &CallTree) -> BTreeMap<NameId, BTreeMap<Cause, u64>> {
    let mut own: BTreeMap<NameId, BTreeMap<Cause, u64>> = BTreeMap::new();
    for (at, ended) in tree.owns_below(NodeId::ROOT) {
        let node = tree.node(*at);
        let cause = Cause::from_word(tree.name(*at));
        let holder = match (cause, node.parent) {
            (Some(_), Some(parent)) => tree.node(parent).name,
            _ => node.name,
        };
        let sums = own.entry(holder).or_default();
        for (cause, value) in ended.causes.iter().filter_map(|(c, v)| c.map(|c| (c, v))) {
            *sums.entry(cause).or_default() += value;
        }
    }
    own
}

/// `top` as text: where threads were, the sums by cause above it.
pub(crate) fn top_text(tree: &CallTree, limit: usize, output: &Output) -> String {
    let rows = functions(tree);
    let metric = tree.metric();
    let whole = tree.total();
    let functions: Vec<_> = rows.iter().filter(|row| !row.is_cause).collect();
    let shown = if limit == 0 { functions.len() } else { limit.min(functions.len()) };
    let mut table = Table::new(&[
        ("own", Align::Right),
        ("", Align::Right),
        ("total", Align::Right),
        ("", Align::Right),
        ("mostly", Align::Left),
        ("function", Align::Left),
    ]);
    for row in &functions[..shown] {
        let mostly = row.causes.iter().max_by_key(|(_, value)| *value);
        table.row([
            value(metric, row.own),
            percent(row.own_share),
            value(metric, row.total),
            percent(row.total_share),
            mostly.map_or_else(String::new, |(cause, _)| cause.to_string()),
            clean(&row.name).into_owned(),
        ]);
    }
    let mut text = summary(tree, output);
    text.push_str(&table.render(output.width()));
    if shown < functions.len() {
        text.push_str(&format!(
            "{} more functions; `--limit 0` shows all. The total is {}.\n",
            functions.len() - shown,
            value(metric, whole)
        ));
    }
    text
}

/// The whole and its causes in one line with a bar.
fn summary(tree: &CallTree, output: &Output) -> String {
    let causes: Vec<_> = tree
        .causes(NodeId::ROOT)
        .into_iter()
        .filter_map(|(cause, value)| cause.map(|cause| (cause, culprit_model::Nanos(value))))
        .collect();
    let whole = value(tree.metric(), tree.total());
    let head = format!("{} {}", tree.metric(), output.paint().strong(&whole));
    if causes.is_empty() {
        return format!("{head}\n\n");
    }
    let sum = culprit_model::Nanos(tree.total());
    format!("{head}  {}  {}\n\n", bar(&causes, sum, 30, output.paint()), shares(&causes, sum, 5))
}
