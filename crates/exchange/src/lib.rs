//! Other profilers' files: told apart by their bytes, read into recordings, written from them.
//!
//! ```text
//! file -> Input (gzip, zstd, zip undone) -> detect -> one reader a format -> Builder -> Recording
//! Profile (what a filter keeps of a recording)     -> one writer a format -> bytes
//! ```
//!
//! One file or folder a format, each with a `SPEC` that `Format` lists: its words, how it is told
//! apart, its reader and its writer. Readers take whatever bytes they are given for hostile: sizes
//! are bounded, nothing panics, and what cannot be read is a row of the `losses` table.
//!
//! ```
//! use culprit_exchange::{Format, detect, read_bytes};
//!
//! let folded = b"main;parse;memcpy 12\nmain;write 3\n";
//! assert_eq!(detect(folded), Some(Format::Collapsed));
//! let imported = read_bytes("folded.txt", folded.to_vec(), None)?;
//! let sum: u64 = imported.recording.costs.iter().map(|cost| cost.value).sum();
//! assert_eq!(sum, 15);
//! # Ok::<(), culprit_exchange::Error>(())
//! ```

mod builder;
mod chrome;
mod collapsed;
mod decimal;
mod door;
mod error;
mod firefox;
mod format;
mod input;
mod jfr;
mod json;
mod nested;
mod nettrace;
mod perf;
mod perfview;
mod pprof;
mod profile;
mod read;
mod rows;
mod speedscope;
mod strace;
mod threads;
mod unpack;
mod weights;

pub use builder::{Amount, Builder};
pub use error::Error;
pub use format::Format;
pub use input::{Input, Progress};
pub use profile::Profile;
pub use read::{Imported, detect, format_of, read, read_bytes, write};
