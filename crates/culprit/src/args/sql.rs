//! Arguments of `sql`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `sql`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER)]
pub(crate) struct SqlArgs {
    /// Recordings and folders of them, then the question; `-` as the question reads it from stdin
    #[arg(value_name = "REC... QUESTION", required_unless_present = "file")]
    pub words: Vec<OsString>,
    /// Read the question from a file, `-` is stdin; all words are then recordings
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print comma-separated values under a line of names
    #[arg(long)]
    pub csv: bool,
    /// Rows to print; 0 prints all. Else 100 as a table, and all with `--json` and `--csv`
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// MiB that the tables and what is computed from them may take; else half of the machine's
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
}

/// What stands below the options.
const AFTER: &str = "\
Tables are those of docs/format.md with a column `recording` and, where other tables name their \
rows, `id`: join on both. Times and lengths are whole nanoseconds. Views such as thread_states, \
top_functions, blocked_by_cause and wakers have names instead of numbers; docs/sql.md describes \
them all, with worked questions. Questions only read. SQL is answered by the program `culprit-data`, which `make build` \
puts beside this one.";
