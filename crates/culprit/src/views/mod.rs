//! Call trees turned into what commands show: rows of functions, trees, flames. Pure: a tree in,
//! text or rows out.

mod activities;
mod basis;
mod butterfly;
mod columns;
mod cpi;
mod diff;
mod empty;
mod errors;
mod flame;
mod fleet;
mod focus;
mod functions;
mod path;
mod phases;
mod places;
mod tree;
mod wakers;

pub(crate) use activities::{
    ActivitiesView, activities_text, options as range_options, range as activity_range,
};
pub(crate) use basis::{Basis, sleeping_line};
pub(crate) use butterfly::butterfly_text;
pub(crate) use columns::Column;
pub(crate) use cpi::Cpi;
pub(crate) use diff::{DiffView, Section, Sides, change, diff_text, one_sided, scaled};
pub(crate) use empty::why_empty;
pub(crate) use errors::{StandardErrors, Variances};
pub(crate) use flame::{box_name, flame_text, guess_mark, root_name};
pub(crate) use fleet::{fleet_findings_text, groups_text};
pub(crate) use focus::focus;
pub(crate) use functions::{
    Beside, CalledFrom, Function, Kind, columns_text, functions, is_kernel, own_code_times,
    top_text,
};
pub(crate) use path::{PathView, function_at, path_text};
pub(crate) use phases::{PhasesView, phases_text};
pub(crate) use places::FunctionPlaces;
pub(crate) use tree::{TreeText, tree_text};
pub(crate) use wakers::{WakerLink, WakerRow, wakers_text};

use culprit_model::{Metric, Nanos};

/// A value of a metric in words.
pub(crate) fn value(metric: Metric, value: u64) -> String {
    match metric.unit() {
        "ns" => Nanos(value).to_string(),
        _ => value.to_string(),
    }
}

/// An error as a part of its value, 0 when there is no value.
#[expect(clippy::cast_precision_loss, reason = "a figure of two digits")]
pub(crate) fn relative(error: f64, value: u64) -> f64 {
    if value == 0 { 0.0 } else { error / value as f64 }
}

/// A part of a whole, 0 when there is no whole.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    Nanos(part).share_of(Nanos(whole))
}
