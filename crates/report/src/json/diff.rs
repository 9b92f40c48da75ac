//! `diff --json`.

use culprit_engine::calls::Change;
use culprit_model::Label as _;
use serde::Serialize;

use super::SCHEMA;
use crate::views::{DiffView, one_sided};

/// What changed. Values are of one unit of work (`per`), in the metric's unit.
#[derive(Debug, Serialize)]
pub struct DiffDocument {
    schema: u32,
    metric: String,
    unit: &'static str,
    per: String,
    of: String,
    before: SideRow,
    after: SideRow,
    change: f64,
    sections: Vec<SectionRow>,
    overweight: Vec<OverweightRow>,
    nodes: Vec<NodeRow>,
    nodes_left_out: usize,
}

#[derive(Debug, Serialize)]
struct SideRow {
    recordings: Vec<String>,
    units: f64,
    total: f64,
}

#[derive(Debug, Serialize)]
struct SectionRow {
    by: &'static str,
    rows: Vec<ChangeRow>,
    rows_left_out: usize,
}

#[derive(Debug, Serialize)]
struct ChangeRow {
    name: String,
    before: f64,
    after: f64,
    change: f64,
    only: Option<&'static str>,
    interval: Option<IntervalRow>,
}

#[derive(Debug, Serialize)]
struct IntervalRow {
    low: f64,
    high: f64,
    coverage: f64,
}

#[derive(Debug, Serialize)]
struct OverweightRow {
    name: String,
    before: f64,
    after: f64,
    overweight: f64,
    responsibility: f64,
    interest: u32,
}

#[derive(Debug, Serialize)]
struct NodeRow {
    depth: u32,
    name: String,
    before_inc: f64,
    after_inc: f64,
    before_exc: f64,
    after_exc: f64,
}

impl DiffDocument {
    /// The comparison, at most `limit` rows a list unless that is 0.
    #[must_use]
    pub fn new(view: &DiffView, limit: usize) -> Self {
        let kept = |all: usize| if limit == 0 { all } else { limit.min(all) };
        let (before, after) = view.totals();
        let files = |files: &[std::path::PathBuf]| {
            files.iter().map(|file| file.display().to_string()).collect()
        };
        let metric = view.diff.metric();
        let sections = view.sections.iter().map(|section| SectionRow {
            by: section.by.word(),
            rows: section.rows.iter().take(kept(section.rows.len())).map(change).collect(),
            rows_left_out: section.rows.len() - kept(section.rows.len()),
        });
        let nodes = view.diff.nodes();
        let overweight = view.diff.overweight();
        Self {
            schema: SCHEMA,
            metric: metric.to_string(),
            unit: metric.unit(),
            per: view.unit_of_work.clone(),
            of: view.heading.clone(),
            before: SideRow {
                recordings: files(&view.sides.before),
                units: view.sides.units.0,
                total: before,
            },
            after: SideRow {
                recordings: files(&view.sides.after),
                units: view.sides.units.1,
                total: after,
            },
            change: after - before,
            sections: sections.collect(),
            overweight: overweight
                .iter()
                .take(kept(overweight.len()))
                .map(|row| OverweightRow {
                    name: row.name.to_string(),
                    before: row.before,
                    after: row.after,
                    overweight: row.overweight,
                    responsibility: row.responsibility,
                    interest: row.interest,
                })
                .collect(),
            nodes: nodes
                .iter()
                .take(kept(nodes.len()))
                .map(|node| NodeRow {
                    depth: node.depth,
                    name: view.diff.name(node).to_string(),
                    before_inc: view.diff.before(node.before.total),
                    after_inc: view.diff.after(node.after.total),
                    before_exc: view.diff.before(node.before.own),
                    after_exc: view.diff.after(node.after.own),
                })
                .collect(),
            nodes_left_out: nodes.len() - kept(nodes.len()),
        }
    }
}

fn change(row: &Change) -> ChangeRow {
    ChangeRow {
        name: row.name.to_string(),
        before: row.before,
        after: row.after,
        change: row.delta(),
        only: one_sided(row),
        interval: row.interval.map(|found| IntervalRow {
            low: found.low,
            high: found.high,
            coverage: found.coverage,
        }),
    }
}
