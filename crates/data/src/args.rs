//! What can be typed. `culprit sql --help` is where people read about it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::audit_args::AuditArgs;
use crate::engine_args::EngineArgs;
use crate::fleet::FleetArgs;

/// Answers SQL about recordings and questions about analytics data; `culprit sql` and `culprit
/// audit` run this program.
#[derive(Debug, Parser)]
#[command(name = "culprit-data", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What it can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer one question about recordings
    Sql(SqlArgs),
    /// Import analytics data and ask what is in it
    Audit(AuditCommand),
    /// Add up the tables of a folder of recordings, for views of `culprit`
    #[command(hide = true)]
    Fleet(FleetArgs),
}

/// Arguments of `audit`, with the options that `culprit` has for every subcommand.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditCommand {
    /// What to do.
    #[command(flatten)]
    pub(crate) args: AuditArgs,
    /// Print one JSON document on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print no progress and no summaries on stderr. Errors and warnings are still printed
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// Arguments of `sql`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SqlArgs {
    /// Recordings or folders of recordings, or a folder of tables; then the question. `-` reads the question from stdin
    #[arg(value_name = "REC... QUESTION")]
    pub(crate) words: Vec<String>,
    /// Read the question from a file; `-` is stdin. All arguments are then recordings
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print CSV with a header line
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Rows to print; 0 prints all. By default, 100 as a table, and all with `--json` or `--csv`
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Memory limit for the tables and the computation, in MiB. By default, half of the machine's
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// Who answers.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Print no summaries on stderr. Errors and warnings are still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
