//! Arguments of `casebook`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `casebook`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CasebookArgs {
    /// What to do [default: list]
    #[command(subcommand)]
    pub action: Option<CasebookAction>,
}

/// What `casebook` does.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum CasebookAction {
    /// List all cases: what is slow, what detects it, and whether this machine can run the case
    List(ListArgs),
    /// Show the story of a case, its fix and its commands
    Show(ShowArgs),
    /// Measure cases on this machine: check that Culprit finds the cause and that the fix helps
    Run(RunArgs),
}

/// Arguments of `casebook list`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ListArgs {
    /// Use your own cases: a folder with one subfolder per case, each with a case.toml
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `casebook show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Name of the case
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Use your own cases: a folder with one subfolder per case, each with a case.toml
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `casebook run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// Names of the cases
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub name: Vec<String>,
    /// Run every case that this machine can run, and name the others
    #[arg(long)]
    pub all: bool,
    /// Run few rounds, and only in the place where the case is slow
    #[arg(long)]
    pub short: bool,
    /// Use your own cases: a folder with one subfolder per case, each with a case.toml
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Keep the files, programs and recordings of each case in DIR, in a folder with the case's name
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}
