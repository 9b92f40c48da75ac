//! As much of the zip format as a recording needs: stored entries, 64-bit sizes.
//!
//! Written by hand because the spool works below the level of an archive library: it has entries
//! but no directory, and it releases and merges entries in place. Source: PKWARE APPNOTE.TXT 6.3.10,
//! sections 4.3.7 (local header), 4.3.12 to 4.3.16 (directory), 4.5.3 (zip64).
//!
//! ```text
//! finished   [header meta.json][..][header TABLE.parquet][..]...[central directory][end]
//! spool      [header meta.json][..][header events/TABLE.000001.parquet][..]...
//! ```
//!
//! Times are all zero (1980-01-01), so that the same recording gives the same bytes.

mod directory;
mod header;
mod source;

pub(crate) use directory::{DirectoryWriter, read_directory};
pub(crate) use header::{Entry, LOCAL, Note, local_header, parse_local};
pub(crate) use source::Source;
