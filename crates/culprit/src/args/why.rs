//! Arguments of `why`.

use std::path::PathBuf;

use clap::Args;
use culprit_model::Nanos;

use super::parse::{self, Work};
use super::places::FORMS;
use super::record::Stacks;
use crate::settings::variables;

/// Arguments of `why`.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhyArgs {
    /// Run the command in this place; give it twice or more. The first is what the others are
    /// compared with [default: host and sandbox]
    #[arg(long, value_name = "P", long_help = format!("Run the command in this place; give it twice or more. The first is what the others are compared with [default: host and sandbox]\n\n{FORMS}"), env = variables::PLACES, value_delimiter = ' ')]
    pub place: Vec<String>,
    /// Compare with this earlier recording of the same command instead of with another place; may be
    /// given several times, which tells how much runs varied then. Without `--place` the runs are in
    /// the recording's place
    #[arg(long, value_name = "RECORDING", conflicts_with = "instead")]
    pub against: Vec<PathBuf>,
    /// Runs in each place, alternating
    #[arg(long, value_name = "N", default_value = "5", env = variables::RUNS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Folder for the report and the recordings; by default `culprit-why-1` and so on
    #[arg(long, short, value_name = "DIR", env = variables::WHY_OUTPUT)]
    pub output: Option<PathBuf>,
    /// What one run does, as in `8:rows`, so that rates can be told
    #[arg(long, value_name = "N:UNIT", value_parser = parse::work)]
    pub work: Option<Work>,
    /// Measure another command line too, in the same places and rounds: the fix that you have in
    /// mind. It runs in a shell
    #[arg(long, value_name = "CMD")]
    pub instead: Option<String>,
    /// End a run after this time: `10`, `500ms`; for commands that do not end by themselves
    #[arg(long, short, value_name = "SECS", value_parser = parse::limit)]
    pub duration: Option<Nanos>,
    /// Clock samples a second of CPU time
    #[arg(long, short = 'F', value_name = "HZ", default_value = "999", env = variables::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub frequency: u32,
    /// How user stacks are walked
    #[arg(long, value_name = "HOW", default_value = "auto", env = variables::STACKS)]
    pub stacks: Stacks,
    /// Exit with 1 when a finding of this severity or above, or of this id, is listed
    #[arg(long, value_name = "SEVERITY|ID", env = variables::FAIL_ON)]
    pub fail_on: Option<String>,
    /// List findings below 1 % of the wall time too
    #[arg(long)]
    pub all: bool,
    /// The command and its arguments
    #[arg(last = true, value_name = "CMD", required = true)]
    pub command: Vec<String>,
}
