//! Findings: named problems with their cost, evidence, reason, fix and check.
//!
//! [`find`] takes a recording whose intervals are built and returns ranked findings. It goes four
//! steps, each a module: `evidence` computes once what all rules read, above all the *chain* (what
//! the measured thing's time was spent on, followed through whoever ended each wait); `rules` claim
//! parts of the chain; `settle` gives each part to the most specific claim, so that no cost counts
//! twice; `doubt` lowers confidence by what is missing from the evidence. [`find_difference`] does so
//! for two sets of runs and keeps what costs more in one; [`find_changes`] says which findings a change
//! of the program made go away or come. [`find_measured`] reads no recording but a probe's answer, and
//! names what makes a place dearer.
//!
//! Pure: no files, clocks, environment or printing. Rules know mechanisms by the kernel's and the
//! common libraries' own functions, never programs by their names.

mod alike;
mod allocations;
mod callers;
mod catalogue;
mod change;
mod chore;
mod cold;
mod data_pages;
mod difference;
mod disk_reads;
mod doubt;
mod evidence;
mod followed_files;
mod grounds;
mod habits;
mod hit_rates;
mod kernel_calls;
mod kernel_time;
mod losses;
mod mechanism;
mod naming;
#[cfg(test)]
mod own_code;
mod parts;
mod probes;
mod report;
mod rule;
mod rules;
#[cfg(test)]
mod scene;
mod settle;
mod sites;
mod tally;
#[cfg(test)]
mod tests;
mod unnamed_code;

pub use callers::{Caller, callers};
pub use catalogue::{UnknownFinding, catalogue, explain};
pub use change::{Change, FindingChange, find_changes};
pub use cold::{ColdRun, cold_run};
pub use data_pages::DATA_PAGES;
pub use difference::{
    DifferenceReport, MOST_MORE_ROUNDS, RunSummary, SAME_BAND, find_difference,
    find_difference_of_sets, leaning,
};
pub use grounds::{Grounds, LONGEST, STACKS, SameStack, Stretch, WHEN};
pub use hit_rates::{HitRate, POSSIBLE, SURE_ENOUGH, calibrated};
pub use mechanism::Mechanism;
pub use probes::{
    ImageLayer, ImageStored, ImageWaste, Measured, MeasuredArm, MeasuredFindings, MeasuredMetric,
    MeasuredRatio, PlaceKind, WasteKind, find_image, find_measured,
};
pub use report::{Options, Report, find, find_with_grounds};
pub use rule::{Group, RuleDoc, Specificity, Threshold};
pub use settle::{HIGH_SHARE, LOW_SHARE, MEDIUM_SHARE, MIN_CONFIDENCE, MIN_SHARE, severity_of};
