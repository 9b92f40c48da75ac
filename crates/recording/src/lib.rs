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
//! ```
//! use culprit_model::{Meta, Recording, Thread};
//! use culprit_recording::{SpoolOptions, SpoolWriter, open, write};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.culprit");
//!
//! let meta = Meta { complete: false, ..Meta::default() };
//! let mut spool = SpoolWriter::create(&path, &meta, SpoolOptions::default())?;
//! spool.replace::<Thread>(&[])?;
//! let opened = open(&path)?;
//! assert!(opened.unfinished.is_some());
//!
//! write(&path, &Recording::default())?;
//! assert_eq!(open(&path)?.recording, Recording::default());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cost, measured with `examples/speed.rs` on a two-core virtual machine: 1 million intervals take
//! 7 MB, are written in 0.3 s and opened in 0.11 s; 4 million are opened in 0.45 s. One thread does
//! it: decoding columns is 42 % of opening (as much goes into building rows from them), so two
//! threads would save a fifth at best.
//!
//! The tables themselves are declared in `culprit_model`; docs/format.md is generated from the
//! same declaration.

// A browser has no files: there recordings are read from bytes and not written, and what writing needs
// has no caller.
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

mod disk;
mod error;
mod lone;
mod projected;
mod read;
mod spool;
mod table;
#[cfg(not(target_family = "wasm"))]
mod write;
mod zip;

pub use disk::SCHEMA;
pub use error::{Error, Kind};
pub use lone::{columns_from_parquet, rows_from_parquet};
#[cfg(not(target_family = "wasm"))]
pub use lone::{rows_to_parquet, rows_to_passing_parquet};
pub use projected::{LoneColumns, read_columns};
pub use read::{Opened, OpenedForViews, open, open_for_views, open_tables, parse, peek};
pub use spool::{Parts, Spool};
#[cfg(not(target_family = "wasm"))]
pub use spool::{SpoolOptions, SpoolWriter};
#[cfg(not(target_family = "wasm"))]
pub use write::{to_bytes, write, write_unpacked};
