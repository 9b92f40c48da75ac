//! Results as people and programs read them: view models, and their text, JSON, HTML and SVG.
//!
//! Pure: it reads no file and no clock, and prints nothing. Who calls it says how wide a text may be and
//! whether it has colours ([`layout::Layout`]).
//!
//! ```text
//! recording + filter ─> filters ─> shown   View: the tree that a filter keeps, and what it is a share of
//!                               ─> digest  Digest: threads, functions, findings, checks, losses
//!                                    │
//!                                    ▼
//!           views   rows and texts of trees, functions, wakers, phases, activities, differences
//!           text    reports and findings      json    the documents      svg, html   pictures and pages
//!
//! config    configurations: what `culprit config` prints, what a recording has kept (a feature)
//! probe     answers of probes (a feature)
//! experiment  results of `bench cmd`, `verify`, `why` and the casebook (a feature)
//! saved     kept results of measurements against each other
//! layout    tables, bars, colours, lines of a width
//! ```

#[cfg(feature = "config")]
pub mod config;
mod digest;
mod error;
#[cfg(feature = "experiment")]
pub mod experiment;
pub mod filters;
mod findings;
pub mod html;
pub mod json;
pub mod layout;
mod palette;
#[cfg(feature = "probe")]
pub mod probe;
pub mod saved;
pub mod shown;
pub mod svg;
#[cfg(test)]
mod testing;
pub mod text;
mod thread_time;
pub mod views;
mod weighed;

use culprit_model::{seen_runtime as runtimes, values as units};

pub use culprit_model::{SeenRuntime, chain};
pub use digest::{Check, Digest, Excuse, Tops, answers, command_path};
pub use error::Error;
pub use findings::{findings, findings_with_grounds};
pub use shown::{Indexes, Shown, View};
pub use thread_time::{ThreadTime, thread_times};
pub use units::{
    bytes, evidence_value, measured, number, percent, signed_duration, size, unit_value,
};
pub use weighed::{LIMITS, Path, Weighed};
