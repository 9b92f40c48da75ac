//! Arguments of `record`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use culprit_model::Nanos;

use super::activity::{self, ActivityArg};
use super::parse;
use super::places::FORMS;
use crate::settings::variables;

/// How user stacks are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stacks {
    /// Frame pointers everywhere, unwind tables on a share of the events.
    Auto,
    /// Frame pointers only: cheapest; frames are missing where code keeps none.
    Fp,
    /// Unwind tables on every event that is sampled: complete, and dearer.
    Dwarf,
}

/// Arguments of `record`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordArgs {
    /// The recording to write; by default the command's name with a number, as in `make-1.culprit`
    #[arg(long, short, value_name = "F", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// Replace what is at `--output` even if it is no recording
    #[arg(long)]
    pub force: bool,
    /// Clock samples a second of CPU time
    #[arg(long, short = 'F', value_name = "HZ", default_value = "999", env = variables::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub frequency: u32,
    /// End the recording after this time, and the command with it: `10`, `500ms`
    #[arg(long, short, value_name = "SECS", value_parser = parse::limit)]
    pub duration: Option<Nanos>,
    /// How user stacks are walked
    #[arg(long, value_name = "HOW", default_value = "auto", env = variables::STACKS)]
    pub stacks: Stacks,
    /// Record every allocation of memory with its stack, which slows each one down by microseconds
    #[arg(
        long,
        long_help = "Record every allocation of memory with its stack\n\nAdds the metrics `allocs` and `alloc-bytes` to every view: what malloc, calloc, realloc, aligned_alloc and their relatives are asked for, in C libraries, in programs that have their own, and in other allocators by the names of their functions. Each allocation costs the program a trap into the kernel, some microseconds, so times are not true in such a recording; the report says how many there were and what they cost. Every process of the machine that uses the same library pays it while the recording lasts. Takes CAP_SYS_ADMIN (root)."
    )]
    pub alloc: bool,
    /// Record the bytes that every call reads or writes, with its stack
    #[arg(
        long,
        long_help = "Record the bytes that every call reads or writes, with its stack\n\nAdds the metric `io-bytes` to every view: what read, write, send, receive and their relatives moved, whether files, pipes or sockets are behind them. What a program maps, and what io_uring moves, makes no such call. Each one costs the program two to three microseconds, and every other system call of the machine a fifth of one while the recording lasts."
    )]
    pub io: bool,
    /// Sample the processor's counters too: cycles, instructions, cache misses
    #[arg(
        long,
        long_help = "Sample the processor's counters too\n\nAdds the metrics `cycles`, `instructions` and `cache-misses` to every view, as far as the machine has them, and with the first two the cycles an instruction takes to `top`. Virtual machines often have none; then the recording says so."
    )]
    pub counters: bool,
    /// Record starts and stops of an activity: `NAME=FUNCTION`, `NAME=serve:PORT`, ...
    #[arg(long, value_name = "NAME=WHERE", value_parser = activity::activity, long_help = format!("Record starts and stops of an activity\n\n{}", activity::FORMS))]
    pub activity: Vec<ActivityArg>,
    /// Keep only the newest part of the recording, at most this many MiB (flight recorder)
    #[arg(long, value_name = "N", env = variables::MAX_MIB, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub max_mib: Option<u64>,
    /// Run the command in this place
    #[arg(long, value_name = "P", long_help = format!("Run the command in this place\n\n{FORMS}"), env = variables::RECORD_PLACE, conflicts_with_all = ["pid", "container", "cgroup", "all"])]
    pub place: Option<String>,
    /// Record a running process and what it starts; may be given several times
    #[arg(long, value_name = "N", conflicts_with_all = ["container", "cgroup", "all", "command"])]
    pub pid: Vec<i32>,
    /// Record a running container
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cgroup", "all", "command"])]
    pub container: Option<String>,
    /// Record everything in a cgroup, given as a folder
    #[arg(long, value_name = "PATH", conflicts_with_all = ["all", "command"])]
    pub cgroup: Option<PathBuf>,
    /// Record the whole machine, or with a command, everything while it runs
    #[arg(long)]
    pub all: bool,
    /// Also write the rows as they were recorded, before intervals are built from them, to F
    #[arg(long, value_name = "F", hide = true)]
    pub raw: Option<PathBuf>,
    /// The command and its arguments; the exit code is the command's
    #[arg(last = true, value_name = "CMD", required_unless_present_any = ["pid", "container", "cgroup", "all"])]
    pub command: Vec<String>,
}
