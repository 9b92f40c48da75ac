//! `critical-path --json`.

use serde::Serialize;

use super::SCHEMA;
use crate::views::PathView;

/// A critical path: its links tile the range, so their lengths sum to it.
#[derive(Debug, Serialize)]
pub struct PathDocument {
    schema: u32,
    thread: String,
    from_ns: u64,
    to_ns: u64,
    total_ns: u64,
    sums: Vec<SumRow>,
    links: Vec<LinkRow>,
    links_left_out: usize,
}

#[derive(Debug, Serialize)]
struct SumRow {
    process: String,
    thread: String,
    cause: Option<String>,
    function: String,
    time_ns: u64,
    share: f64,
    links: usize,
}

#[derive(Debug, Serialize)]
struct LinkRow {
    from_ns: u64,
    time_ns: u64,
    share: f64,
    process: String,
    thread: String,
    cause: Option<String>,
    function: String,
    waiting: Vec<String>,
}

impl PathDocument {
    /// All sums, and the first `limit` links unless that is 0.
    #[must_use]
    pub fn new(view: &PathView, limit: usize) -> Self {
        let whole = view.length();
        let kept = if limit == 0 { view.links.len() } else { limit.min(view.links.len()) };
        let sums = view.sums().into_iter().map(|(link, time, links)| SumRow {
            process: link.process.clone(),
            thread: link.thread.clone(),
            cause: link.cause.map(|cause| cause.to_string()),
            function: link.function.clone(),
            time_ns: time.0,
            share: time.share_of(whole),
            links,
        });
        let links = view.links[..kept].iter().map(|link| LinkRow {
            from_ns: link.from.0,
            time_ns: link.length().0,
            share: link.length().share_of(whole),
            process: link.process.clone(),
            thread: link.thread.clone(),
            cause: link.cause.map(|cause| cause.to_string()),
            function: link.function.clone(),
            waiting: link.waiting.clone(),
        });
        Self {
            schema: SCHEMA,
            thread: view.thread.clone(),
            from_ns: view.from.0,
            to_ns: view.to.0,
            total_ns: whole.0,
            sums: sums.collect(),
            links: links.collect(),
            links_left_out: view.links.len() - kept,
        }
    }
}
