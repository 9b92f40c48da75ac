//! Options of measuring by timing: `bench cmd` and `verify` take the same.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use culprit_model::Nanos;

use super::disk::DiskArgs;
use super::parse;
use super::probes::{
    BenchCompareArgs, CopyUpArgs, FilesArgs, LogArgs, MemoryArgs, NetArgs, NotifyArgs,
    PressureArgs, QuotaArgs, StartArgs, SyscallArgs,
};

/// Options of timed rounds.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureArgs {
    /// Rounds that are run first and not counted
    #[arg(long, short, value_name = "N", default_value = "1")]
    pub warmup: u32,
    /// Run exactly so many rounds; by default they end when the intervals are narrow enough
    #[arg(long, short, visible_alias = "runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Run at least so many rounds; with fewer than 5 only large effects are believed
    #[arg(long, short, alias = "min-runs", value_name = "N", default_value = "9", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub min: u32,
    /// Run at most so many rounds
    #[arg(long, short = 'M', alias = "max-runs", value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max: u32,
    /// Start no round beyond the least number after this time: `30s`, `5m`
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse::limit)]
    pub budget: Nanos,
    /// What differs by less is the same: `5` is 5 %
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = band)]
    pub band: f64,
    /// Do not run the first command twice a round, so that what identical runs differ by stays unknown
    #[arg(long)]
    pub no_control: bool,
    /// Run this before all runs of a command
    #[arg(
        long,
        short,
        value_name = "CMD",
        long_help = "Run this before all runs of a command\n\nCommands take turns: what is set up for one must leave alone what is set up for the others. {NAME} is replaced as in the command."
    )]
    pub setup: Option<String>,
    /// Run this before every run, outside the measured time; once for all commands, or once for each
    #[arg(long, short, value_name = "CMD")]
    pub prepare: Vec<String>,
    /// Run this after every run, outside the measured time; once for all commands, or once for each
    #[arg(long, short = 'C', value_name = "CMD")]
    pub conclude: Vec<String>,
    /// Run this after all runs of a command, also after Ctrl-C
    #[arg(long, short, value_name = "CMD")]
    pub cleanup: Option<String>,
    /// Measure commands that fail too
    #[arg(long, short)]
    pub ignore_failure: bool,
    /// The shell that runs commands; `none` splits them into words and runs them directly
    #[arg(long, short = 'S', value_name = "SHELL", default_value = "sh", value_parser = shell)]
    pub shell: String,
    /// The same as `--shell none`
    #[arg(long, short = 'N')]
    pub no_shell: bool,
    /// What commands read: `null`, or a file
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: String,
    /// Where the output of commands goes: `null`, `pipe`, `inherit` (to stderr), or a file that each run writes anew
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub output: String,
    /// Exit with 1 when a verdict is one of these
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOnVerdict>,
    /// Clock samples a second of CPU time in the recorded rounds
    #[arg(long, short = 'F', value_name = "HZ", default_value = "999", env = crate::settings::variables::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub frequency: u32,
    /// Rounds that are recorded, after the timed ones
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub record_rounds: u32,
}

/// A verdict that turns the exit code to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnVerdict {
    /// Slower than the first.
    Slower,
    /// The same as the first, within the band.
    Same,
    /// Faster than the first.
    Faster,
    /// Not known.
    Unclear,
}

impl From<culprit_engine::stats::Verdict> for FailOnVerdict {
    fn from(verdict: culprit_engine::stats::Verdict) -> Self {
        use culprit_engine::stats::Verdict;
        match verdict {
            Verdict::Slower => Self::Slower,
            Verdict::Same => Self::Same,
            Verdict::Faster => Self::Faster,
            Verdict::Unclear => Self::Unclear,
        }
    }
}

/// Arguments of `bench`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    pub probe: Probe,
}

/// What `bench` measures.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Probe {
    /// Time commands against each other, in one place or several
    Cmd(Box<CmdArgs>),
    /// Reads and writes of one file by diskspd's model: requests a second, latencies, CPU time
    Disk(Box<DiskArgs>),
    /// What entering the kernel costs, and what a container's filter on system calls adds
    Syscall(Box<SyscallArgs>),
    /// What many small files cost: create, stat, list, read, rename, remove, and a batch with one fsync
    Files(Box<FilesArgs>),
    /// What the first change of a file costs that lies in a lower layer
    CopyUp(Box<CopyUpArgs>),
    /// How soon a reader learns that a file has grown, and whether it hears of the host's writes
    Notify(Box<NotifyArgs>),
    /// What the way to a server in a place costs: bridge, published port, the host's network
    Net(Box<NetArgs>),
    /// What it takes to begin a child, a program, a place
    Start(Box<StartArgs>),
    /// What a page costs when it is first touched: new memory, cached files, files from the disk
    Memory(Box<MemoryArgs>),
    /// What a limit on memory does to a file that is read again and again
    Pressure(Box<PressureArgs>),
    /// What a limit on CPU time does, with the kernel's counters
    Quota(Box<QuotaArgs>),
    /// What a printed line costs, and what the engine's log driver adds
    Log(Box<LogArgs>),
    /// What changed between results that `--save` has kept
    Compare(BenchCompareArgs),
}

/// Arguments of `bench cmd`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CmdArgs {
    /// Run the commands in this place; may be given several times [default: host]
    #[arg(long, value_name = "P", long_help = format!("Run the commands in this place; may be given several times [default: host]\n\n{}\n\nIn a new container of an engine the measured time has the container's start in it.", super::places::FORMS), env = crate::settings::variables::PLACES, value_delimiter = ' ')]
    pub place: Vec<String>,
    /// Run the commands once for each number from MIN to MAX, which replaces {VAR}
    #[arg(long, short = 'P', num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_negative_numbers = true)]
    pub parameter_scan: Vec<String>,
    /// The step of `--parameter-scan`
    #[arg(
        long,
        short = 'D',
        value_name = "STEP",
        default_value = "1",
        allow_negative_numbers = true
    )]
    pub parameter_step_size: String,
    /// Run the commands once for each of these values, which replaces {VAR}; several lists multiply
    #[arg(long, short = 'L', num_args = 2, value_names = ["VAR", "VALUES"])]
    pub parameter_list: Vec<String>,
    /// What a command is called in the results, in the order of the commands
    #[arg(long, short = 'n', visible_alias = "command-name", value_name = "NAME")]
    pub name: Vec<String>,
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Record rounds of their own after the timed ones, into this folder, and say what differs
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Keep the results as JSON, for `culprit bench compare`
    #[arg(long, value_name = "F")]
    pub save: Option<PathBuf>,
    /// Write the results as hyperfine's JSON; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_json: Option<PathBuf>,
    /// Write the results as comma-separated values; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_csv: Option<PathBuf>,
    /// Write the results as a Markdown table; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_markdown: Option<PathBuf>,
    /// The command lines; the others are compared with the first
    #[arg(value_name = "CMD", required = true)]
    pub command: Vec<String>,
}

/// Arguments of `verify`.
#[derive(Debug, Clone, Args)]
pub(crate) struct VerifyArgs {
    /// The command line as it was
    #[arg(long, value_name = "CMD")]
    pub before: String,
    /// The command line with the fix
    #[arg(long, value_name = "CMD")]
    pub after: String,
    /// Run both in this place
    #[arg(long, value_name = "P", default_value = "host", long_help = format!("Run both in this place\n\n{}", super::places::FORMS))]
    pub place: String,
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// The folder of the recordings; by default `culprit-verify-1` and so on
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Only time; do not record rounds to see which findings went away
    #[arg(long, conflicts_with = "record")]
    pub no_record: bool,
}

/// hyperfine calls the usual shell `default`.
#[expect(clippy::unnecessary_wraps, reason = "a parser of a value may fail")]
fn shell(text: &str) -> Result<String, String> {
    Ok(if text == "default" { "sh" } else { text }.to_owned())
}

/// A band, typed in percent.
pub(super) fn band(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    match number {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is no band; write a number of percent up to 100, as in `5`")),
    }
}

#[cfg(test)]
mod tests {
    use super::{band, shell};

    #[test]
    fn the_default_shell_is_sh() {
        let named =
            ["default", "sh", "none", "bash --norc"].map(|text| shell(text).expect("a shell"));
        assert_eq!(named, ["sh", "sh", "none", "bash --norc"]);
    }

    #[test]
    fn bands_are_typed_in_percent() {
        assert_eq!((band("5"), band("0.5%"), band("100")), (Ok(0.05), Ok(0.005), Ok(1.0)));
        assert!(["0", "-1", "x", "101", "nan"].iter().all(|text| band(text).is_err()));
    }
}
