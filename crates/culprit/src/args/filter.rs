//! The filter options that every view takes; the same names in the web UI and its address.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use culprit_model::{Drill, Filter, Label as _, Metric, Nanos, Root, Time};

use super::{EngineArgs, parse};
use crate::failure::Failure;
use crate::fleet::{FleetKey, fleet_key, is_tables};
use crate::settings::variables;

/// What help calls the filter options.
pub(super) const HEADING: &str = "Filter";

/// The filter options as typed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct FilterArgs {
    /// What to measure. `run`: the elapsed time of the run, each moment given to what the run was
    /// waiting for. `wall`: the time of all threads. `cpu`, `blocked`, `runnable` or a cause such as
    /// `blocked.disk`: parts of that time. `waits`, `faults`: counts. Imported recordings have other
    /// metrics. The default is `run`; without thread time it is the recording's first metric, and so
    /// is `wall`
    #[arg(long, value_name = "M", env = variables::METRIC, value_parser = metric())]
    pub metric: Option<Metric>,
    /// Keep time from this point on, counted from the start of the recording: `12.5ms`, `3s`
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub from: Option<Time>,
    /// Keep time up to this point
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub to: Option<Time>,
    /// Keep processes whose `NAME (PID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub process: String,
    /// Keep threads whose `NAME (TID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub thread: String,
    /// Keep the work of threads on activities whose name matches, and on parts of these activities
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub activity: String,
    /// Root of the stacks: `threads`, or `activities` with the threads below them
    #[arg(long, value_name = "WHAT", default_value = "threads", value_parser = root())]
    pub root: Root,
    /// Group frames: `PAT->NAME` or `PAT=>NAME`, separated by `;`
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true, env = variables::GROUP)]
    pub group: String,
    /// Remove matching frames and add their cost to their callers
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true, env = variables::FOLD)]
    pub fold: String,
    /// Fold nodes below N percent of the total
    #[arg(long, value_name = "N", value_parser = percent)]
    pub fold_pct: Option<f64>,
    /// Keep stacks in which every pattern matches at least one frame
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub inc: String,
    /// Drop stacks in which any pattern matches a frame
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub exc: String,
    /// Use these presets (named groups and folds), separated by commas; `culprit presets` lists them
    #[arg(long = "preset", value_name = "NAME", value_delimiter = ',')]
    pub presets: Vec<String>,
    /// Count matching frames as the program's own code, and no others. Findings and `diff` name the
    /// nearest of them, and the preset `my-app` shows them in full
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true, env = variables::OWN)]
    pub own: String,
    /// Show all processes of one program as one process, and all threads of one name as one thread
    #[arg(long)]
    pub erase_ids: bool,
    /// Keep the samples whose stack contains this name, as a view shows it; show them without groups
    /// and folds
    #[arg(long, value_name = "NAME", conflicts_with = "drill_own")]
    pub drill: Option<String>,
    /// As `--drill`, but keep only the samples whose stack ends at this name
    #[arg(long, value_name = "NAME")]
    pub drill_own: Option<String>,
    /// Show only the last frame of each sample
    #[arg(long)]
    pub flat: bool,
    /// Rows to show; 0 shows all
    #[arg(long, value_name = "N", env = variables::LIMIT)]
    pub limit: Option<usize>,
}

fn metric() -> impl clap::builder::TypedValueParser<Value = Metric> {
    use clap::builder::TypedValueParser as _;
    clap::builder::PossibleValuesParser::new(Metric::WORDS).try_map(|word| word.parse::<Metric>())
}

fn root() -> impl clap::builder::TypedValueParser<Value = Root> {
    use clap::builder::TypedValueParser as _;
    clap::builder::PossibleValuesParser::new(Root::WORDS).try_map(|word| word.parse::<Root>())
}

pub(super) fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a percentage from 0 to 100")),
    }
}

impl FilterArgs {
    /// The filter as the engine takes it.
    ///
    /// # Errors
    /// When the time range is empty.
    pub(crate) fn filter(&self) -> Result<Filter, Failure> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from >= to
        {
            let (from, to) = (Nanos(from.0), Nanos(to.0));
            return Err(Failure::bad_input(format!(
                "cannot use the filter: `--from` at {from} is not before `--to` at {to}"
            ))
            .hint(
                "both times count from the start of the recording, as in `--from 2s --to 3.5s`",
            ));
        }
        Ok(Filter {
            metric: self.metric.unwrap_or(Metric::Run),
            from: self.from,
            to: self.to,
            process: self.process.clone(),
            thread: self.thread.clone(),
            activity: self.activity.clone(),
            root: self.root,
            group: self.group.clone(),
            fold: self.fold.clone(),
            fold_pct: self.fold_pct,
            include: self.inc.clone(),
            exclude: self.exc.clone(),
            presets: self.presets.clone(),
            own: self.own.clone(),
            erase_ids: self.erase_ids,
            drill: match (&self.drill, &self.drill_own) {
                (Some(name), _) => Drill::Through(name.clone()),
                (None, Some(name)) => Drill::At(name.clone()),
                (None, None) => Drill::No,
            },
            flat: self.flat,
            limit: self.limit,
        })
    }
}

/// A recording, or a folder of them, to look at.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordingsArg {
    /// The recording, a `*.culprit` file; or a folder of recordings or of their tables, which are added up
    #[arg(value_name = "REC")]
    pub recording: PathBuf,
    /// Group a folder's recordings by `host`, `image`, `version`, `day` (UTC), or the name of a label
    #[arg(long, value_name = "KEY", value_parser = fleet_key, long_help = BY)]
    pub by: Option<FleetKey>,
    /// Who adds up a folder of tables.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// The groups of `--by`.
const BY: &str = "\
Group the recordings of a folder

host: the machine that recorded. image: the image of the container. version: the label `version`, else the \
build id of the recorded program. day: the day on which the recording began, in UTC. Any other word is the \
name of a label that `culprit record --label NAME=VALUE` has set. Recordings without the fact are the group \
`(unknown)`.";

impl RecordingsArg {
    /// True for a folder.
    ///
    /// # Errors
    /// When groups are asked for and it is none.
    pub(crate) fn is_folder(&self) -> Result<bool, Failure> {
        let folder = self.recording.is_dir();
        match &self.by {
            Some(by) if !folder => Err(Failure::bad_input(format!(
                "cannot group by {by}: `{}` is not a folder of recordings",
                self.recording.display()
            ))),
            _ => {
                self.engine.check(&self.recording)?;
                Ok(folder)
            }
        }
    }
}

impl EngineArgs {
    /// Refuses an engine that is to read anything but a folder of tables.
    ///
    /// # Errors
    /// When there is an engine and `path` is no such folder.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Failure> {
        if self.engine.is_none() || is_tables(path) {
            return Ok(());
        }
        let what =
            format!("cannot use `--engine`: `{}` has no tables of recordings", path.display());
        Err(Failure::bad_input(what)
            .hint("`culprit export FOLDER --to tables -o TABLES` makes tables of recordings"))
    }

    /// The same options for the companion.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for (option, text) in [("--engine", &self.engine), ("--engine-path", &self.engine_path)] {
            words.extend(text.iter().map(|text| OsString::from(format!("{option}={text}"))));
        }
        if let Some(file) = &self.engine_token_file {
            words.extend([OsString::from("--engine-token-file"), file.into()]);
        }
        words
    }
}

/// A recording to look at.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordingArg {
    /// The recording, a `*.culprit` file
    #[arg(value_name = "REC")]
    pub recording: PathBuf,
}
