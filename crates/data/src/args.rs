//! What can be typed. `culprit sql --help` is where people read about it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The companion of culprit for questions in SQL; `culprit sql` runs it.
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
    /// Answer one question over recordings
    Sql(SqlArgs),
}

/// Arguments of `sql`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SqlArgs {
    /// Recordings and folders of them, then the question; `-` reads it from stdin
    #[arg(value_name = "REC... QUESTION")]
    pub(crate) words: Vec<String>,
    /// Read the question from a file, `-` is stdin; then all words are recordings
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print comma-separated values with a line of names
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Rows to print; 0 prints all. 100 as a table, else all
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// MiB of memory for the tables and what is computed from them; half of the machine's
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// No summaries on stderr; errors and warnings stay
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
