//! Arguments of `why`.

use std::path::PathBuf;

use clap::Args;
use culprit_experiment::why::Work;
use culprit_model::Nanos;

use super::keep::KeepArgs;
use super::parse;
use super::places::FORMS;
use super::record::Stacks;
use super::runtimes::RuntimeArgs;
use crate::settings::variables;

/// Arguments of `why`.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhyArgs {
    /// Run the command in this place. Give at least two places; the first is the baseline
    /// [default: host and sandbox]
    #[arg(long, value_name = "P", long_help = format!("Run the command in this place. Give at least two places; the first is the baseline [default: host and sandbox]\n\n{FORMS}"), env = variables::PLACES, value_delimiter = ' ')]
    pub place: Vec<String>,
    /// Compare with this earlier recording of the same command instead of with another place. Repeat
    /// it to show how much the earlier runs varied. Without `--place`, the command runs in the place
    /// of the recording
    #[arg(long, value_name = "RECORDING", conflicts_with = "instead")]
    pub against: Vec<PathBuf>,
    /// Runs in each place; the places take turns
    #[arg(long, value_name = "N", default_value = "5", env = variables::RUNS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Folder for the report and the recordings. By default, `culprit-why-1` and so on
    #[arg(long, short, value_name = "DIR", env = variables::WHY_OUTPUT)]
    pub output: Option<PathBuf>,
    /// The work of one run, such as `8:rows`, to show rates
    #[arg(long, value_name = "N:UNIT", value_parser = parse::work)]
    pub work: Option<Work>,
    /// Also measure another command line, such as a possible fix, in the same places and rounds. It
    /// runs in a shell
    #[arg(long, value_name = "CMD")]
    pub instead: Option<String>,
    /// End a run after this time: `10`, `500ms`. For commands that do not end by themselves
    #[arg(long, short, value_name = "SECS", value_parser = parse::limit)]
    pub duration: Option<Nanos>,
    /// Clock samples per second of CPU time. By default 499, after 2 s 199
    #[arg(long, short = 'F', value_name = "HZ", env = variables::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub frequency: Option<u32>,
    /// How to unwind user stacks
    #[arg(long, value_name = "HOW", default_value = "auto", env = variables::STACKS)]
    pub stacks: Stacks,
    /// What is set for language runtimes
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
    /// What a recording keeps of configuration
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Run the command again in each place to see which variables and files that differ it reads
    #[arg(
        long,
        conflicts_with = "no_config",
        long_help = "Run the command again in each place to see which variables and files that differ it reads\n\nThese runs are observed as by `culprit config prove`, after all others, and are not compared. They are left out where no configuration differs. The processor watches three variables at a time, so that more of them need more runs, three in each place at most."
    )]
    pub prove: bool,
    /// Count matching frames as the program's own code, and no others. Findings and differences name
    /// the nearest of them
    #[arg(long, value_name = "PATS", default_value = "", hide_default_value = true, env = variables::OWN)]
    pub own: String,
    /// Exit with 1 if a listed finding has this id, or has this severity or a higher one
    #[arg(long, value_name = "SEVERITY|ID", env = variables::FAIL_ON)]
    pub fail_on: Option<String>,
    /// Also list findings below 1 % of the wall time
    #[arg(long)]
    pub all: bool,
    /// The command and its arguments
    #[arg(last = true, value_name = "CMD", required = true)]
    pub command: Vec<String>,
}
