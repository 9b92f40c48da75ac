//! Robots among the visits: which groups of interactions are no people, and why.
//!
//! ```text
//! counts of each group      questions/robot_*.sql
//! the rate of people        baseline.rs
//! signals R1 to R11         signals.rs, by the formulas of formulas.rs
//! verdicts in bands         verdict.rs
//! ```

mod baseline;
mod counts;
pub mod formulas;
mod identity;
mod presets;
mod signals;
mod verdict;

pub use baseline::Baseline;
pub use counts::{Gaps, GroupCounts, Network, Traffic};
pub use identity::implausible;
pub use presets::{Preset, Thresholds};
pub use signals::{Family, Fired, Group, PRIOR, PageEvidence};
pub use verdict::{Band, Verdict, judge};
