//! Arguments of `sql`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::EngineArgs;

/// Arguments of `sql`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER)]
pub(crate) struct SqlArgs {
    /// Recordings or folders of recordings, or a folder of tables; then the question. `-` reads the question from stdin
    #[arg(value_name = "REC... QUESTION", required_unless_present = "file")]
    pub words: Vec<OsString>,
    /// Read the question from a file; `-` is stdin. All arguments are then recordings
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print CSV with a header line
    #[arg(long)]
    pub csv: bool,
    /// Rows to print; 0 prints all. By default, 100 as a table, and all with `--json` or `--csv`
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Memory limit for the tables and the computation, in MiB. By default, half of the machine's
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
    /// Who answers.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// What stands below the options.
const AFTER: &str = "\
docs/format.md describes the tables. Each table also has a column `recording`. A table has an `id` \
if other tables refer to its rows: join on both. Times and durations are whole nanoseconds. \
Views such as thread_states, top_functions, blocked_by_cause and wakers have names instead of \
numbers. docs/sql.md describes all views and has worked questions. Questions only read. A folder of \
tables is an analytics store, or what `culprit export --to tables` writes; docs/spark.md shows how an \
engine reads it. The \
program `culprit-data` answers SQL; `make build` puts it next to this program.";
