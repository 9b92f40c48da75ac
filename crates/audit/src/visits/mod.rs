//! How often a site is visited from a place.
//!
//! ```text
//! the place as keys of the store        place.rs
//! days of a time zone                   zone.rs, calendar.rs
//! sums, medians                         report.rs with questions/visit_*.sql, order.rs
//! what the published query would say    published.rs
//! what missing shards would add         extrapolate.rs
//! where visits come from                origins.rs
//! ```

mod calendar;
mod extrapolate;
mod order;
mod origins;
mod place;
mod published;
mod report;
mod zone;

pub use calendar::{Bucket, day_text};
pub use extrapolate::{Extrapolated, NoExtrapolation};
pub use origins::{Origin, origins};
pub use place::PlaceSpec;
pub use published::Published;
pub use report::{Attribute, RobotVisits, VisitOptions, VisitReport, VisitRow, VisitStep, visits};
pub use zone::Zone;

pub(crate) use order::Histogram;
