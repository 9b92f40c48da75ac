//! The filter options that every view takes; the same names in the web UI and its address.

use std::path::PathBuf;

use clap::Args;
use culprit_model::{Drill, Filter, Label as _, Metric, Nanos, Root, Time};

use super::parse;
use crate::failure::Failure;
use crate::settings::variables;

/// What help calls the filter options.
pub(super) const HEADING: &str = "Filter";

/// The filter options as typed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct FilterArgs {
    /// What stacks weigh: wall, cpu, blocked, runnable or a cause such as `blocked.disk` (ns);
    /// waits, faults (count); imports have others. Where a recording has no thread time, `wall`
    /// stands for the first metric that it has
    #[arg(long, value_name = "M", default_value = "wall", env = variables::METRIC, value_parser = metric())]
    pub metric: Metric,
    /// Keep time from here on, from the recording's start: `12.5ms`, `3s`
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub from: Option<Time>,
    /// Keep time up to here
    #[arg(long, value_name = "T", value_parser = parse::time)]
    pub to: Option<Time>,
    /// Keep processes whose `NAME (PID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub process: String,
    /// Keep threads whose `NAME (TID)` matches
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub thread: String,
    /// Keep what threads did for activities whose name matches, and for their parts
    #[arg(long, value_name = "PAT", default_value = "", hide_default_value = true)]
    pub activity: String,
    /// What stands at the root end of stacks: `threads`, or `activities` and below them threads
    #[arg(long, value_name = "WHAT", default_value = "threads", value_parser = root())]
    pub root: Root,
    /// Group frames: `PAT->NAME` or `PAT=>NAME`, separated by `;`
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true, env = variables::GROUP)]
    pub group: String,
    /// Give the cost of matching frames to their callers
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true, env = variables::FOLD)]
    pub fold: String,
    /// Fold what is below N percent of the total
    #[arg(long, value_name = "N", value_parser = percent)]
    pub fold_pct: Option<f64>,
    /// Keep stacks in which every pattern matches some frame
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub inc: String,
    /// Drop stacks in which any pattern matches any frame
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true)]
    pub exc: String,
    /// Named groups and folds, as `culprit presets` lists them; separated by commas
    #[arg(long = "preset", value_name = "NAME", value_delimiter = ',')]
    pub presets: Vec<String>,
    /// Show processes of one program, and threads of one name, as one
    #[arg(long)]
    pub erase_ids: bool,
    /// Keep the samples that pass through a name as it is shown, and show them without groups and
    /// folds
    #[arg(long, value_name = "NAME", conflicts_with = "drill_own")]
    pub drill: Option<String>,
    /// As `--drill`, for the samples that end at the name
    #[arg(long, value_name = "NAME")]
    pub drill_own: Option<String>,
    /// Show each sample as its last frame alone
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
        _ => Err(format!("`{text}` is no percentage from 0 to 100")),
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
                "read the filter: `--from` at {from} is not before `--to` at {to}"
            ))
            .hint("both count from the recording's start, as in `--from 2s --to 3.5s`"));
        }
        Ok(Filter {
            metric: self.metric,
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

/// A recording to look at.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordingArg {
    /// The recording, a `*.culprit` file
    #[arg(value_name = "REC")]
    pub recording: PathBuf,
}
