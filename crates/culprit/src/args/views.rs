//! Arguments of the commands that show a recording, and of the small ones.

use std::path::PathBuf;

use clap::Args;

use super::filter::{FilterArgs, RecordingArg};
use super::places::FORMS;
use crate::settings::variables;

/// Arguments of `top` and `tree`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `callers`, `callees` and `butterfly`.
#[derive(Debug, Clone, Args)]
pub(crate) struct NameArgs {
    /// The function: `module!function`, or a pattern that finds it
    #[arg(value_name = "F")]
    pub function: String,
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `flame`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FlameArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// Write a picture: `x.svg`, or an interactive page: `x.html`; else text on stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// Write one self-contained HTML page instead of text
    #[arg(long, short, value_name = "F.html")]
    pub output: Option<PathBuf>,
    /// Exit with 1 when a finding of this severity or above, or of this id, is listed
    #[arg(long, value_name = "SEVERITY|ID", env = variables::FAIL_ON)]
    pub fail_on: Option<String>,
    /// List findings below 1 % of the wall time too
    #[arg(long)]
    pub all: bool,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `findings`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FindingsArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// Exit with 1 when a finding of this severity or above, or of this id, is listed
    #[arg(long, value_name = "SEVERITY|ID", env = variables::FAIL_ON)]
    pub fail_on: Option<String>,
    /// List findings below 1 % of the wall time too
    #[arg(long)]
    pub all: bool,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArgs {
    /// A finding's id, as `culprit findings` prints it; without one, all ids are listed
    #[arg(value_name = "FINDING")]
    pub finding: Option<String>,
}

/// Arguments of `doctor`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// Also look at this place: host, sandbox, docker:IMAGE, container:NAME, ...
    #[arg(long, value_name = "P", long_help = format!("Also look at this place\n\n{FORMS}"))]
    pub place: Option<String>,
}

/// Arguments of `completions`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// The folder, made when it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
