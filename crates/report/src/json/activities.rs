//! `activities --json`.

use std::collections::BTreeMap;

use culprit_engine::activities::{NameRow, Passed, histogram, quantile};
use culprit_model::{ActivityId, Cause, Nanos};
use serde::Serialize;

use super::SCHEMA;
use crate::views::{ActivitiesView, activity_range};

/// How long activities took, and how that time passed.
#[derive(Debug, Serialize)]
pub struct ActivitiesDocument {
    schema: u32,
    ended: usize,
    open: usize,
    rows: Vec<Row>,
    rows_left_out: usize,
    slowest: Vec<Slow>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    process: Option<String>,
    count: usize,
    per_s: f64,
    open: usize,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    #[serde(flatten)]
    passed: Times,
    causes: BTreeMap<String, u64>,
    histogram: Vec<Bucket>,
}

#[derive(Debug, Serialize)]
struct Bucket {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

#[derive(Debug, Serialize)]
struct Times {
    latency_ns: u64,
    cpu_ns: Option<u64>,
    runnable_ns: Option<u64>,
    blocked_ns: Option<u64>,
    nobody_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Slow {
    name: String,
    key: Option<String>,
    path: Vec<String>,
    source: String,
    thread: String,
    tid: u32,
    end_thread: Option<String>,
    from_ns: u64,
    to_ns: u64,
    range: String,
    #[serde(flatten)]
    passed: Times,
    causes: BTreeMap<String, u64>,
}

impl ActivitiesDocument {
    /// The document of a view.
    #[must_use]
    pub fn new(view: &ActivitiesView<'_>) -> Self {
        Self {
            schema: SCHEMA,
            ended: view.rows.iter().map(|row| row.ended.len()).sum(),
            open: view.rows.iter().map(|row| row.open).sum(),
            rows: view.rows.iter().map(|named| row(view, named)).collect(),
            rows_left_out: view.rows_left_out,
            slowest: view.slowest.iter().map(|id| slow(view, *id)).collect(),
        }
    }
}

fn row(view: &ActivitiesView<'_>, row: &NameRow) -> Row {
    let at = |share| quantile(&row.latencies, share).map(|latency| latency.0);
    let buckets = histogram(&row.latencies).into_iter();
    Row {
        name: row.name.to_string(),
        process: row.process.as_ref().map(ToString::to_string),
        count: row.ended.len(),
        per_s: view.rate(row),
        open: row.open,
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        max_ns: at(1.0),
        passed: times(view, row.passed),
        causes: causes(&row.causes),
        histogram: buckets
            .map(|bucket| Bucket {
                from_ns: bucket.from.0,
                to_ns: bucket.to.0,
                count: bucket.count,
            })
            .collect(),
    }
}

fn times(view: &ActivitiesView<'_>, passed: Passed) -> Times {
    let work = |time: Nanos| view.knows_work().then_some(time.0);
    let time = |time: Nanos| work(time).filter(|_| view.knows_time());
    Times {
        latency_ns: passed.latency.0,
        cpu_ns: time(passed.cpu),
        runnable_ns: time(passed.runnable),
        blocked_ns: time(passed.blocked),
        nobody_ns: work(passed.nobody),
    }
}

fn causes(causes: &[(Cause, Nanos)]) -> BTreeMap<String, u64> {
    causes.iter().map(|(cause, time)| (cause.to_string(), time.0)).collect()
}

fn slow(view: &ActivitiesView<'_>, id: ActivityId) -> Slow {
    let row = view.recording.activity(id);
    Slow {
        name: row.name.to_string(),
        key: row.key.as_ref().map(ToString::to_string),
        path: view.path(id),
        source: row.source.to_string(),
        thread: view.recording.thread_name(row.thread),
        tid: view.recording.thread(row.thread).tid.0,
        end_thread: row.end_thread.map(|thread| view.recording.thread_name(thread)),
        from_ns: row.start.0,
        to_ns: row.end.unwrap_or(row.start).0,
        range: activity_range(row),
        passed: times(view, view.survey.passed(id)),
        causes: causes(&view.survey.causes(id)),
    }
}
