//! Arguments of the commands that show a recording, and of the small ones.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use culprit_model::Time;

use super::filter::{FilterArgs, RecordingArg, percent};
use super::parse::{self, Work};
use super::places::FORMS;
use crate::settings::variables;
use crate::views::Column;

/// Arguments of `top`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TopArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// List every name with these columns instead, separated by commas
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub columns: Vec<Column>,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `presets`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PresetsArgs {
    /// What to do
    #[arg(value_name = "ACTION", default_value = "list")]
    pub action: PresetsAction,
    /// The preset to save or to delete
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Its groups
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub group: String,
    /// Its folds
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub fold: String,
    /// Its percentage below which nodes are folded
    #[arg(long, value_name = "N", value_parser = percent)]
    pub fold_pct: Option<f64>,
    /// What it shows, for the list
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub meaning: String,
}

/// What `presets` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetsAction {
    /// Show all presets.
    List,
    /// Save one, or replace one of its name.
    Save,
    /// Delete a saved one.
    Delete,
}

/// Arguments of `diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// The recording, or the folder of recordings, before and after
    #[arg(value_name = "BEFORE AFTER", num_args = 2)]
    pub recordings: Vec<PathBuf>,
    /// Recordings or folders of the side before, where there are several
    #[arg(long, value_name = "REC", num_args = 1.., requires = "after")]
    pub before: Vec<PathBuf>,
    /// Recordings or folders of the side after
    #[arg(long, value_name = "REC", num_args = 1.., requires = "before")]
    pub after: Vec<PathBuf>,
    /// What one run does, as in `8:rows`: values are then per unit; twice where the sides differ
    #[arg(long, value_name = "N:UNIT", value_parser = parse::work)]
    pub work: Vec<Work>,
    /// What to compare, separated by commas
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        default_value = "cause,function,module,thread"
    )]
    pub by: Vec<By>,
    /// Write a differential flame graph: `x.svg`
    #[arg(long, short, value_name = "FILE", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// What to keep of both sides.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// What a difference is told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum By {
    /// Why time passed.
    Cause,
    /// Functions by their own time.
    Function,
    /// Modules by their own time.
    Module,
    /// Threads by name.
    Thread,
    /// Processes by name.
    Process,
}

impl By {
    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Cause => "cause",
            Self::Function => "function",
            Self::Module => "module",
            Self::Thread => "thread",
            Self::Process => "process",
        }
    }
}

/// Arguments of `critical-path` and `phases`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PathArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// Whose time: `NAME (TID)` or a part of it; else the recorded command's
    #[arg(long, value_name = "T")]
    pub thread: Option<String>,
    /// From here on, from the recording's start: `12.5ms`, `3s`
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub from: Option<Time>,
    /// Up to here
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub to: Option<Time>,
    /// Links, or a phase's places, to show; 0 shows all
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Arguments of `activities`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ActivitiesArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// Keep activities whose name matches, and show how their latencies are distributed
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub name: String,
    /// Keep those that began in processes whose `NAME (PID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub process: String,
    /// Keep those that began on threads whose `NAME (TID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub thread: String,
    /// Keep those that began from here on, from the recording's start: `12.5ms`, `3s`
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub from: Option<Time>,
    /// Keep those that began up to here
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub to: Option<Time>,
    /// Names to show; 0 shows all
    #[arg(long, value_name = "N", env = variables::LIMIT)]
    pub limit: Option<usize>,
}

/// Arguments of `tree` and `wakers`.
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
    #[arg(long, short, value_name = "FILE", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// Write one self-contained HTML page instead of text
    #[arg(long, short, value_name = "F.html", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// What to look at, and when to fail.
    #[command(flatten)]
    pub findings: FindingsArgs,
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
    /// Also look at this place, and measure against the host what is unusual in it: host, sandbox, docker:IMAGE (with the image's layers), container:NAME, ...
    #[arg(long, value_name = "P", long_help = format!("Also look at this place, and measure against the host what is unusual in it, which takes up to 20 seconds. Of an image all layers are read: what is deleted or replaced in a later layer is stored in vain\n\n{FORMS}"))]
    pub place: Option<String>,
    /// Only look, measure nothing
    #[arg(long)]
    pub no_probes: bool,
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
