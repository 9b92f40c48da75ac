//! Activities: units of work with a start and a stop, on one thread or across several.
//!
//! ```text
//! edges       start a     enter handle a    leave     stop a
//! main        |  ...                                  |
//! worker                  |     ...         |
//! request a   |<- nobody ->|<-   worked    ->|<-nobody->|
//! handle a                 |<-------------->|              part of request a
//! ```
//!
//! [`build`] pairs edges into activities and gives each instant of a thread to its innermost one.
//! [`Survey`] says how long they took and how that time passed; [`Owners`] tells views whose a row
//! is.

mod build;
mod histogram;
mod owners;
mod pair;
mod requests;
mod split;
mod survey;
mod worked;

pub use build::build;
pub use histogram::{Bucket, histogram};
pub use owners::Owners;
pub use survey::{NameRow, Passed, Survey, quantile};

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
