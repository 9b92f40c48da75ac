//! Filters made ready for a recording. Presets are written out before: they come from the user's settings.

use culprit_engine::calls::{Patterns, Query};
use culprit_model::{Filter, Metric, Recording};

use crate::Error;

/// A compiled list of patterns.
///
/// # Errors
/// When one is wrong.
pub fn patterns(list: &str) -> Result<Patterns, Error> {
    Patterns::parse(list).map_err(Error::Filter)
}

/// A compiled filter.
///
/// # Errors
/// When a pattern is wrong.
pub fn query(filter: &Filter) -> Result<Query, Error> {
    Query::compile(filter).map_err(Error::Filter)
}

/// A filter in a metric that a recording with this main metric has: an import without thread time is shown in
/// its own metric when none other is asked for.
#[must_use]
pub fn fitted(recording: &Recording, main: Metric, filter: &Filter) -> Filter {
    let metric = match filter.metric {
        Metric::Wall => main,
        Metric::Run if recording.intervals.is_empty() => main,
        asked => asked,
    };
    Filter { metric, ..filter.clone() }
}

/// The filter of somebody who asks for nothing: the run time of all.
#[must_use]
pub fn run_filter() -> Filter {
    Filter { metric: Metric::Run, ..Filter::default() }
}

/// Whether a filter keeps less than a whole recording, by the user's wish.
#[must_use]
pub fn narrows(filter: &Filter) -> bool {
    let shown_otherwise = Filter {
        metric: if filter.metric == Metric::Run { Metric::Run } else { Metric::Wall },
        root: filter.root,
        group: filter.group.clone(),
        fold: filter.fold.clone(),
        fold_pct: filter.fold_pct,
        presets: filter.presets.clone(),
        own: filter.own.clone(),
        erase_ids: filter.erase_ids,
        flat: filter.flat,
        limit: filter.limit,
        ..Filter::default()
    };
    *filter != shown_otherwise
}
