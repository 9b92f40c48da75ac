//! Options of measuring by timing: `bench cmd` and `verify` take the same.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use culprit_model::Nanos;

use super::disk::DiskArgs;
use super::keep::KeepArgs;
use super::parse;
use super::probes::{
    BenchCompareArgs, CopyUpArgs, FilesArgs, LogArgs, MemoryArgs, NetArgs, NotifyArgs,
    PressureArgs, QuotaArgs, StartArgs, SyscallArgs,
};
use super::runtimes::RuntimeArgs;

/// Options of timed rounds.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureArgs {
    /// Rounds to run first, without counting them
    #[arg(long, short, value_name = "N", default_value = "1")]
    pub warmup: u32,
    /// Run exactly this many rounds. By default, rounds end when the intervals are narrow enough
    #[arg(long, short, visible_alias = "runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Run at least this many rounds. With fewer than 5, only large effects give a verdict
    #[arg(long, short, alias = "min-runs", value_name = "N", default_value = "9", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub min: u32,
    /// Run at most this many rounds
    #[arg(long, short = 'M', alias = "max-runs", value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max: u32,
    /// Start no new round after this time, once the minimum number of rounds is done: `30s`, `5m`
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse::limit)]
    pub budget: Nanos,
    /// Differences below this percentage count as the same: `5` is 5 %
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = band)]
    pub band: f64,
    /// Do not run the first command twice per round. The noise between identical runs is then unknown
    #[arg(long)]
    pub no_control: bool,
    /// Run this before all runs of a command
    #[arg(
        long,
        short,
        value_name = "CMD",
        long_help = "Run this before all runs of a command\n\nThe commands take turns, so the setup of one command must not change the setup of the others. {NAME} is replaced as in the command."
    )]
    pub setup: Option<String>,
    /// Run this before every run, outside the measured time. Give it once for all commands, or once for each
    #[arg(long, short, value_name = "CMD")]
    pub prepare: Vec<String>,
    /// Run this after every run, outside the measured time. Give it once for all commands, or once for each
    #[arg(long, short = 'C', value_name = "CMD")]
    pub conclude: Vec<String>,
    /// Run this after all runs of a command, also after Ctrl-C
    #[arg(long, short, value_name = "CMD")]
    pub cleanup: Option<String>,
    /// Also measure commands that fail
    #[arg(long, short)]
    pub ignore_failure: bool,
    /// The shell that runs the commands. `none` splits each command into words and runs it directly
    #[arg(long, short = 'S', value_name = "SHELL", default_value = "sh", value_parser = shell)]
    pub shell: String,
    /// Same as `--shell none`
    #[arg(long, short = 'N')]
    pub no_shell: bool,
    /// Standard input of the commands: `null`, or a file
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: String,
    /// Where the output of the commands goes: `null`, `pipe`, `inherit` (to stderr), or a file that each run overwrites
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub output: String,
    /// Exit with 1 if a verdict is one of these
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOnVerdict>,
    /// Clock samples per second of CPU time in the recorded rounds. By default 499, after 2 s 199
    #[arg(long, short = 'F', value_name = "HZ", env = crate::settings::variables::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub frequency: Option<u32>,
    /// What is set for language runtimes
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
    /// What a recording keeps of configuration
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Rounds to record after the timed rounds
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
    /// Shown neither to differ nor to be the same.
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
    /// Compare the times of commands, in one place or several
    Cmd(Box<CmdArgs>),
    /// Reads and writes of one file, as diskspd does them: requests per second, latencies, CPU time
    Disk(Box<DiskArgs>),
    /// Cost of a system call, and of a container's system call filter
    Syscall(Box<SyscallArgs>),
    /// Cost of many small files: create, stat, list, read, rename, remove, and a batch with one fsync
    Files(Box<FilesArgs>),
    /// Cost of the first change to a file in a lower layer
    CopyUp(Box<CopyUpArgs>),
    /// How soon a reader notices that a file has grown, and whether it notices writes of the host
    Notify(Box<NotifyArgs>),
    /// Cost of the network path to a server in a place: bridge, published port, host network
    Net(Box<NetArgs>),
    /// Cost of starting a child process, a program and a place
    Start(Box<StartArgs>),
    /// Cost of the first access to a page: new memory, cached files, files from the disk
    Memory(Box<MemoryArgs>),
    /// Effect of a memory limit on a file that is read repeatedly
    Pressure(Box<PressureArgs>),
    /// Effect of a CPU quota, with the kernel's counters
    Quota(Box<QuotaArgs>),
    /// Cost of a printed line, and of the engine's log driver
    Log(Box<LogArgs>),
    /// Show what changed between results saved with `--save`
    Compare(BenchCompareArgs),
}

/// Arguments of `bench cmd`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CmdArgs {
    /// Run the commands in this place. Repeat for several places [default: host]
    #[arg(long, value_name = "P", long_help = format!("Run the commands in this place. Repeat for several places [default: host]\n\n{}\n\nIn a new container, the measured time includes the start of the container.", super::places::FORMS), env = crate::settings::variables::PLACES, value_delimiter = ' ')]
    pub place: Vec<String>,
    /// Run the commands once for each number from MIN to MAX; the number replaces {VAR}
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
    /// Run the commands once for each of these values; the value replaces {VAR}. Several lists give all combinations
    #[arg(long, short = 'L', num_args = 2, value_names = ["VAR", "VALUES"])]
    pub parameter_list: Vec<String>,
    /// Name of a command in the results, in the order of the commands
    #[arg(long, short = 'n', visible_alias = "command-name", value_name = "NAME")]
    pub name: Vec<String>,
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// After the timed rounds, record separate rounds into this folder and show what differs
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Save the results as JSON, for `culprit bench compare`
    #[arg(long, value_name = "F")]
    pub save: Option<PathBuf>,
    /// Write the results as hyperfine's JSON; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_json: Option<PathBuf>,
    /// Write the results as CSV; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_csv: Option<PathBuf>,
    /// Write the results as a Markdown table; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_markdown: Option<PathBuf>,
    /// The command lines. The first is the baseline
    #[arg(value_name = "CMD", required = true)]
    pub command: Vec<String>,
}

/// Arguments of `verify`.
#[derive(Debug, Clone, Args)]
pub(crate) struct VerifyArgs {
    /// The command line without the fix
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
    /// Folder for the recordings. By default, `culprit-verify-1` and so on
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Only time the commands; record no rounds to compare their findings
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
        _ => Err(format!("`{text}` is not a percentage above 0 and up to 100, as in `5`")),
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
