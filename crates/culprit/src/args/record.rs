//! Arguments of `record`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use culprit_model::Nanos;

use super::activity::{self, ActivityArg};
use super::keep::KeepArgs;
use super::parse;
use super::places::FORMS;
use super::runtimes::RuntimeArgs;
use crate::settings::variables;

/// How user stacks are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stacks {
    /// Use frame pointers, and unwind tables for a share of the events.
    Auto,
    /// Use only frame pointers: cheapest, but code without frame pointers lacks frames.
    Fp,
    /// Use unwind tables for every sampled event: complete, but more expensive.
    Dwarf,
}

/// How allocations are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocations {
    /// Some of them, with this mean number of bytes between two samples.
    Sampled(u64),
    /// Each one.
    Every,
}

/// Arguments of `record`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordArgs {
    /// The recording to write. By default, the command's name with a number, such as `make-1.culprit`
    #[arg(long, short, value_name = "F", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// Replace the file at `--output`
    #[arg(long)]
    pub force: bool,
    /// Clock samples per second of CPU time. By default 499, after 2 s 199
    #[arg(long, short = 'F', value_name = "HZ", env = variables::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub frequency: Option<u32>,
    /// End the recording and the command after this time: `10`, `500ms`
    #[arg(long, short, value_name = "SECS", value_parser = parse::limit)]
    pub duration: Option<Nanos>,
    /// How to unwind user stacks
    #[arg(long, value_name = "HOW", default_value = "auto", env = variables::STACKS)]
    pub stacks: Stacks,
    /// Record memory allocations with their stacks: samples (`sampled`, or a size), or `every` one
    #[arg(
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "sampled",
        value_parser = parse::allocations,
        long_help = "Record memory allocations with their stacks\n\nAdds the metrics `allocs`, `alloc-bytes`, `live` and `live-bytes` to every view: the number and bytes of all allocations, and of those that were not freed. They count malloc, calloc, realloc, aligned_alloc and similar functions. Needs CAP_SYS_ADMIN (root).\n\n`--alloc` or `--alloc=sampled`: a library that Culprit adds to LD_PRELOAD samples allocations, one in 512 KiB on average. The numbers are estimates, and the report shows their standard error. The innermost frame of each stack is the size of the blocks, such as `[size]!24 B`. An allocation takes some 1 ns longer, a sample some 10 us. This works for commands that Culprit starts. The report names programs that load no library, such as static ones, and programs whose own allocator comes first.\n\n`--alloc=64KiB`: one sample in 64 KiB on average, for smaller errors.\n\n`--alloc=every`: each allocation takes a trap into the kernel, some microseconds, so the times in such a recording are too long. During the recording, every process on the machine that uses the same library has this overhead. Recording of allocations stops if a program runs more than 10 times slower. This also works for static programs and for processes that run already. It adds only `allocs` and `alloc-bytes`."
    )]
    pub alloc: Option<Allocations>,
    /// Record the bytes that each call reads or writes, with its stack
    #[arg(
        long,
        long_help = "Record the bytes that each call reads or writes, with its stack\n\nAdds the metric `io-bytes` to every view. It counts the bytes of read, write, send, receive and similar calls on files, pipes and sockets. It does not count mapped files and io_uring, which make no such calls.\n\nEach of these calls takes two to three microseconds longer. Every other system call on the machine takes 0.2 microseconds longer during the recording."
    )]
    pub io: bool,
    /// Also sample the processor's counters: cycles, instructions, cache misses
    #[arg(
        long,
        long_help = "Also sample the processor's counters\n\nAdds the metrics `cycles`, `instructions` and `cache-misses` to every view, if the machine has these counters. With the first two, `top` also shows the cycles per instruction. Virtual machines often have no counters; the recording then says so."
    )]
    pub counters: bool,
    /// Record starts and stops of an activity: `NAME=FUNCTION`, `NAME=serve:PORT`, ...
    #[arg(long, value_name = "NAME=WHERE", value_parser = activity::activity, long_help = format!("Record starts and stops of an activity\n\n{}", activity::FORMS))]
    pub activity: Vec<ActivityArg>,
    /// Keep a fact with the recording, such as `version=2.1`; folders of recordings can be grouped by it
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse::label)]
    pub label: Vec<(String, String)>,
    /// What is set for language runtimes
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
    /// What a recording keeps of configuration
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Keep only the newest part of the recording, at most this many MiB (flight recorder)
    #[arg(long, value_name = "N", env = variables::MAX_MIB, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub max_mib: Option<u64>,
    /// Run the command in this place
    #[arg(long, value_name = "P", long_help = format!("Run the command in this place\n\n{FORMS}"), env = variables::RECORD_PLACE, conflicts_with_all = ["pid", "container", "cgroup", "all"])]
    pub place: Option<String>,
    /// Record a running process and the processes that it starts. Repeat for several processes
    #[arg(long, value_name = "N", conflicts_with_all = ["container", "cgroup", "all"])]
    pub pid: Vec<i32>,
    /// Record a running container
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cgroup", "all"])]
    pub container: Option<String>,
    /// Record all processes in a cgroup, given as a folder
    #[arg(long, value_name = "PATH", conflicts_with_all = ["all"])]
    pub cgroup: Option<PathBuf>,
    /// Record the whole machine; with a command, while the command runs
    #[arg(long)]
    pub all: bool,
    /// Also write the recorded rows to F, before intervals are built from them
    #[arg(long, value_name = "F", hide = true)]
    pub raw: Option<PathBuf>,
    /// The command and its arguments. Culprit exits with the exit code of the command
    #[arg(last = true, value_name = "CMD", required_unless_present_any = ["pid", "container", "cgroup", "all"])]
    pub command: Vec<String>,
}
