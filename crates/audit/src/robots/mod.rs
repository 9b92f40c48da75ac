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
mod gather;
mod identity;
mod names;
mod networks;
mod presets;
mod report;
mod signals;
mod verdict;

pub use baseline::Baseline;
pub use counts::{Gaps, GroupCounts, Network, Traffic};
pub use gather::GroupBy;
pub use identity::implausible;
pub(crate) use networks::Cidr;
pub use networks::Networks;
pub use presets::{Preset, Thresholds};
pub use report::{BandSum, RobotGroup, RobotOptions, RobotReport, robots};
pub use signals::{Family, Fired, Group, PRIOR, PageEvidence};
pub use verdict::{Band, Verdict, judge};
