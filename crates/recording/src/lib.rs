//! The recording file: `*.culprit`, a zip of stored Parquet tables and `meta.json`.
//!
//! One file has two states. While the recorder runs it is a *spool*: parts of tables are appended
//! as they come, and a file cut at any byte opens up to its last whole part ([`SpoolWriter`],
//! [`Spool`]). When the recording has ended it is a *finished* file with one Parquet file a table
//! ([`write()`](write())), readable by DuckDB, pandas and `unzip`. [`open`] reads both and never trusts them:
//! what it gives back keeps the promises of `culprit_model`'s tables (every handle names a row,
//! parents stand before children, intervals tile in order), and whatever had to be left out for
//! that is a row of the `losses` table.
//!
//! The tables themselves are declared in `culprit_model`; docs/format.md is generated from the
//! same declaration.

mod disk;
mod error;
mod read;
mod spool;
mod table;
mod write;
mod zip;

pub use disk::SCHEMA;
pub use error::{Error, Kind};
pub use read::{Opened, open, parse};
pub use spool::{Parts, Spool, SpoolOptions, SpoolWriter};
pub use write::write;
