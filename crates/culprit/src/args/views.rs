//! Arguments of the commands that show a recording, and of the small ones.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use culprit_experiment::why::Work;
use culprit_model::Time;
use culprit_report::views::{Column, DiffGroup};

use super::EngineArgs;
use super::filter::{FilterArgs, RecordingArg, RecordingsArg, percent};
use super::parse;
use super::places::FORMS;
use crate::settings::variables;

/// Arguments of `top`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TopArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingsArg,
    /// Show these columns of every name instead of the usual table, separated by commas
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = parse::words(Column::meaning))]
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
    /// Groups of the preset
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub group: String,
    /// Folds of the preset
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub fold: String,
    /// The preset folds nodes below this percentage
    #[arg(long, value_name = "N", value_parser = percent)]
    pub fold_pct: Option<f64>,
    /// Description for the list of presets
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub meaning: String,
}

/// What `presets` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetsAction {
    /// Show all presets.
    List,
    /// Save a preset; a preset with the same name is replaced.
    Save,
    /// Delete a saved preset.
    Delete,
}

/// Arguments of `diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// The recording, or the folder of recordings or of their tables, before and after the change
    #[arg(value_name = "BEFORE AFTER", num_args = 2)]
    pub recordings: Vec<PathBuf>,
    /// Recordings or folders of the side before, if there are several
    #[arg(long, value_name = "REC", num_args = 1.., requires = "after")]
    pub before: Vec<PathBuf>,
    /// Recordings or folders of the side after
    #[arg(long, value_name = "REC", num_args = 1.., requires = "before")]
    pub after: Vec<PathBuf>,
    /// The work of one run, such as `8:rows`; values are then per unit. Give it twice if the sides differ
    #[arg(long, value_name = "N:UNIT", value_parser = parse::work)]
    pub work: Vec<Work>,
    /// What to compare, separated by commas
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        value_parser = parse::words(DiffGroup::meaning),
        default_value = "cause,function,module,thread"
    )]
    pub by: Vec<DiffGroup>,
    /// Write a differential flame graph: `x.svg`
    #[arg(long, short, value_name = "FILE", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// Who adds up folders of tables.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// What to keep of both sides.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `critical-path` and `phases`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PathArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// The thread: `NAME (TID)` or a part of it. By default, the thread of the recorded command
    #[arg(long, value_name = "T")]
    pub thread: Option<String>,
    /// Start of the time range, counted from the start of the recording: `12.5ms`, `3s`
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub from: Option<Time>,
    /// End of the time range
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub to: Option<Time>,
    /// Links, or places of a phase, to show; 0 shows all
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Arguments of `activities`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ActivitiesArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// Keep activities whose name matches, and show the distribution of their latencies
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub name: String,
    /// Keep activities that began in processes whose `NAME (PID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub process: String,
    /// Keep activities that began on threads whose `NAME (TID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub thread: String,
    /// Keep activities that began from this point on, counted from the start of the recording:
    /// `12.5ms`, `3s`
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub from: Option<Time>,
    /// Keep activities that began up to this point
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub to: Option<Time>,
    /// Divide each name by the process that began the activity: a row for each instance of a service
    #[arg(long, value_name = "BY")]
    pub by: Option<ActivitiesBy>,
    /// Names to show; 0 shows all
    #[arg(long, value_name = "N", env = variables::LIMIT)]
    pub limit: Option<usize>,
}

/// What activities are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ActivitiesBy {
    /// The process that began them
    Process,
}

/// Arguments of `tree`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TreeArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingsArg,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `wakers`.
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
    /// The function: `module!function`, a name from a finding's title such as `load app.py:31`, or a
    /// pattern that matches the function
    #[arg(value_name = "F")]
    pub function: String,
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingsArg,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `flame`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FlameArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingsArg,
    /// Write a picture (`x.svg`) or an interactive page (`x.html`) instead of text on stdout
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
    /// Also list idle threads: nothing waited for them, and they hardly ran
    #[arg(long)]
    pub idle: bool,
    /// Show the configuration of this snapshot, or of another recording, instead of the recording's own
    #[arg(long, value_name = "SNAPSHOT")]
    pub config: Option<PathBuf>,
    /// What to look at, and when to fail.
    #[command(flatten)]
    pub findings: FindingsArgs,
}

/// Arguments of `findings`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FindingsArgs {
    /// What to look at.
    #[command(flatten)]
    pub recording: RecordingsArg,
    /// Exit with 1 if a listed finding has this id, or has this severity or a higher one
    #[arg(long, value_name = "SEVERITY|ID", env = variables::FAIL_ON)]
    pub fail_on: Option<String>,
    /// Also list findings below 1 % of the wall time
    #[arg(long)]
    pub all: bool,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Arguments of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArgs {
    /// The id of a finding, as `culprit findings` prints it. Without an id, all ids are listed
    #[arg(value_name = "FINDING")]
    pub finding: Option<String>,
}

/// Arguments of `doctor`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// Also check this place, and measure its unusual properties against the host: host, sandbox, docker:IMAGE (with the image's layers), container:NAME, ...
    #[arg(long, value_name = "P", long_help = format!("Also check this place, and measure its unusual properties against the host. This takes up to 20 seconds. Of an image, all layers are read: files that a later layer deletes or replaces waste space\n\n{FORMS}"))]
    pub place: Option<String>,
    /// Only check; measure nothing
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
    /// The folder; it is created if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
