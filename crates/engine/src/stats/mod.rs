//! Statistics of few, noisy runs: medians, exact intervals, verdicts.
//!
//! Runs of a command are few (3 to 30), skewed and now and then disturbed, so nothing here assumes
//! a distribution: the effect is the median of paired ratios, its interval comes from the order of
//! the values alone. A percentile bootstrap of so few rounds promises 95 % and holds 84 % (n = 7)
//! to 91 % (n = 9) in simulated sessions; the order-statistic interval holds 96 to 98 %.

mod order;
mod ratio;

pub use order::{Interval, median, median_interval};
pub use ratio::{Ratio, Verdict, compare_paired};
