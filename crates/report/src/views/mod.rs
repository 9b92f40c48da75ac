//! Call trees turned into what commands show: rows of functions, trees, flames. Pure: a tree in,
//! text or rows out.

mod activities;
mod basis;
mod butterfly;
mod columns;
mod compared;
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
mod source;
mod tree;
mod wakers;

pub use activities::{
    ActivitiesView, ActivityChoice, activities_text, options as range_options,
    range as activity_range, why_no_activities,
};
pub use basis::{Basis, sleeping_line};
pub use butterfly::butterfly_text;
pub use columns::Column;
pub use compared::{DiffRun, DiffRuns, DiffScale, common_metric};
pub use cpi::Cpi;
pub use diff::{DiffGroup, DiffView, Section, Sides, change, diff_text, one_sided, scaled};
pub use empty::{NothingToShow, no_run_time, nothing_to_show};
pub use errors::{StandardErrors, Variances};
pub use flame::{box_name, flame_text, guess_mark, root_name};
pub use fleet::{
    FleetFacts, FleetFinding, FleetFindings, GroupTotal, LeftOut, fleet_findings_text, groups_text,
};
pub use focus::focus;
pub use functions::{
    Beside, CalledFrom, Function, Kind, SAMPLER_MODULE, columns_text, functions, is_kernel,
    own_code_times, top_text,
};
pub use path::{PathView, function_at, path_text};
pub use phases::{PhasesView, first_findings, phases_text};
pub use places::FunctionPlaces;
pub use source::source_text;
pub use tree::{TreeText, tree_text};
pub use wakers::{WakerLink, WakerRow, waits_of, waker_rows, wakers_text};

use culprit_model::{Metric, Nanos};

/// A value of a metric in words.
#[must_use]
pub fn value(metric: Metric, value: u64) -> String {
    match metric.unit() {
        "ns" => Nanos(value).to_string(),
        _ => value.to_string(),
    }
}

/// An error as a part of its value, 0 when there is no value.
#[expect(clippy::cast_precision_loss, reason = "a figure of two digits")]
#[must_use]
pub fn relative(error: f64, value: u64) -> f64 {
    if value == 0 { 0.0 } else { error / value as f64 }
}

/// A part of a whole, 0 when there is no whole.
#[must_use]
pub fn share(part: u64, whole: u64) -> f64 {
    Nanos(part).share_of(Nanos(whole))
}
