//! The recording file while the recorder runs: parts of tables, appended as they come.
//!
//! ```text
//! meta.json                        what is known at the start
//! parts/stacks.000001.parquet      rows that others point to: kept for ever
//! events/switches.000001.parquet   rows that happened: the oldest are released at the size bound
//! latest/threads.000003.parquet    a small table as a whole; the newest supersedes the others
//! latest/meta.000002.json          the same for meta.json
//! ```
//!
//! Each entry goes to the file in one write, header first, so a recorder killed at any instant
//! leaves whole entries and at most one cut one at the end. There is no directory; a reader walks
//! from header to header ([`scan`]). Releasing an entry marks its header, then punches a hole where
//! its bytes were; neighbours that are both released become one entry, so a flight recorder that
//! runs for weeks has few headers.

mod names;
mod reader;
mod released;
mod scan;
#[cfg(not(target_family = "wasm"))]
mod writer;

pub(crate) use names::{Folder, META_LATEST, PartName};
pub use reader::{Parts, Spool};
pub(crate) use scan::scan;
#[cfg(not(target_family = "wasm"))]
pub use writer::{SpoolOptions, SpoolWriter};
