//! Reads a recording file in either state, without trusting it.
//!
//! ```text
//! bytes -> Archive (which entries are there)      archive.rs
//!       -> columns, table by table                table/decode.rs
//!       -> every promise of the tables checked    check.rs
//!       -> rows, and a loss for what was dropped  loader.rs
//! ```

mod archive;
mod check;
mod kind;
mod loader;
mod open;

pub(crate) use archive::Archive;
pub(crate) use check::Count;
pub(crate) use loader::Loader;
pub use open::{Opened, OpenedForViews, open, open_for_views, open_tables, parse, peek};
