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
    /// All cases: what is slow, the finding that tells it, and whether this machine can run it
    List(ListArgs),
    /// A case's story, its fix and its commands
    Show(ShowArgs),
    /// Measure cases here: is what is found what each case expects, and does its fix help?
    Run(RunArgs),
}

/// Arguments of `casebook list`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ListArgs {
    /// Cases of your own: a folder of folders with a case.toml each
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `casebook show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// The case
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Cases of your own: a folder of folders with a case.toml each
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `casebook run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The cases
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub name: Vec<String>,
    /// Run every case that this machine can run; the others are named
    #[arg(long)]
    pub all: bool,
    /// Few rounds, and only in the place where the case is slow
    #[arg(long)]
    pub short: bool,
    /// Cases of your own: a folder of folders with a case.toml each
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Leave each case's files, programs and recordings in a folder of its name in DIR
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}
