//! Opening a recording: read it, and build the intervals of one whose recorder never finished it.
//!
//! A recorder writes its rows with their names as it goes, so what a killed one left shows in the
//! same way as a whole recording; its loss ledger says where it ends.

use std::path::Path;

use culprit_engine::calls::{CallTree, Query};
use culprit_findings::Report;
use culprit_model::{Filter, Metric, Recording};

use crate::digest::{Digest, functions};
use crate::failure::{Context as _, Failure};

/// The recording at `path`, with its intervals.
///
/// # Errors
/// When the file is none, is of a later version, or cannot be read.
pub(crate) fn recording(path: &Path) -> Result<Recording, Failure> {
    let opened = culprit_recording::open(path).map_err(|error| not_opened(path, &error))?;
    let mut recording = opened.recording;
    if recording.intervals.is_empty() {
        culprit_engine::threads::build(&mut recording);
    }
    Ok(recording)
}

fn not_opened(path: &Path, error: &culprit_recording::Error) -> Failure {
    let failure = Failure::bad_input(crate::failure::chain(error));
    if path.exists() { failure } else { failure.hint("`culprit record -- CMD` makes a recording") }
}

/// The call tree of what a filter keeps.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn tree(recording: &Recording, filter: &Filter) -> Result<CallTree, Failure> {
    Ok(CallTree::of(recording, &query(&fitted(recording, filter))?))
}

/// The filter with a metric that the recording has: an import without thread time is shown in its
/// own metric when none other is asked for.
fn fitted(recording: &Recording, filter: &Filter) -> Filter {
    let metric = match filter.metric {
        Metric::Wall => recording.main_metric(),
        asked => asked,
    };
    Filter { metric, ..filter.clone() }
}

/// A compiled filter.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn query(filter: &Filter) -> Result<Query, Failure> {
    Query::compile(filter).or_bad_input(|| "read the filter".to_owned())
}

/// The findings in the time range that a filter selects.
pub(crate) fn findings(recording: &Recording, filter: &Filter, all: bool) -> Report {
    let options = culprit_findings::Options { all, from: filter.from, to: filter.to };
    culprit_findings::find(recording, &options)
}

/// Everything a report says about a recording.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn digest(recording: Recording, filter: &Filter, all: bool) -> Result<Digest, Failure> {
    // The two have nothing to do with each other, and findings take most of the time.
    let (report, top) = std::thread::scope(|scope| {
        let top = scope.spawn(|| tree(&recording, filter).map(|tree| functions(&tree)));
        (findings(&recording, filter, all), top.join())
    });
    let top = top.map_err(|_| Failure::refused("add up functions: the thread panicked"))??;
    Ok(Digest::new(recording, report, top))
}
