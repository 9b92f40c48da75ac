//! Statistics of few, noisy runs: medians, exact intervals, verdicts.
//!
//! Runs of a command are few (3 to 60), skewed and now and then disturbed, so nothing here assumes
//! a distribution: the effect is the median of paired ratios, its interval comes from the order of
//! the values alone. A percentile bootstrap of so few rounds promises 95 % and holds 84 % (n = 7)
//! to 91 % (n = 9) in simulated sessions; the order-statistic interval holds 96 to 98 %.
//!
//! ```text
//!   order of a round ─> rounds ─> ratio and interval ─┬─> enough rounds?
//!      schedule                        ratio          │      stopping
//!   the same arm twice ──> noise floor ──> band ──────┴─> verdict ──> of a family
//!                             noise                        ratio         Holm
//! ```
//!
//! What these rules do to known differences and known noise is simulated; docs/statistics.md has
//! the rules in words and the table.

mod bootstrap;
mod coins;
mod judge;
mod noise;
mod normal;
mod order;
mod outliers;
mod percentile;
mod random;
mod ratio;
mod schedule;
mod significance;
mod stopping;
mod unpaired;

#[cfg(test)]
mod laws;

pub use bootstrap::bootstrap_interval;
pub use judge::{Judged, judge};
pub use noise::{Conditions, Disturbance, NoiseFloor, disturbances, noise_floor, prefers_cpu_time};
pub use order::{Interval, median, median_interval};
pub use outliers::Outliers;
pub use percentile::{Summary, percentile};
pub use random::Random;
pub use ratio::{Bands, Ratio, Verdict, compare_paired, settle_family};
pub use schedule::order;
pub use significance::{holm, sign_test, signed_ranks};
pub use stopping::{Stop, Stopping};
pub use unpaired::{UnpairedRatio, compare_unpaired, settle_unpaired};
