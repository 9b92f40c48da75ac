//! The browser's door to the engine: a recording's bytes become a [`Session`], which answers what a page
//! asks. Numbers leave as columns, everything short as JSON.
//!
//! ```text
//! page (TypeScript) <-> worker <-> browser.rs <-> Session <-> recording, engine, findings, report
//!                                  typed arrays   columns
//! ```
//!
//! It has no logic of its own: what an answer holds is decided in the crates below, for the command line
//! and the page alike. There are no threads in a browser, so one does all.

#[cfg(target_family = "wasm")]
mod browser;
mod columns;
mod comparison;
mod session;

pub use columns::{DiffColumns, FunctionColumns, RunColumns, TreeColumns};
pub use session::{Refused, Session, prepare};
