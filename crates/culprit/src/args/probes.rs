//! Options that all probes share, and those of the small ones.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use culprit_model::Nanos;
use culprit_place::NanoCpus;
use culprit_probe::probes::copy_up::Size;
use culprit_probe::probes::net::Name;
use culprit_probe::probes::notify::Reader;

use super::{FailOnVerdict, parse};

/// Options of measuring places.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProbeArgs {
    /// Measure this place. Repeat for several places; the first is the baseline [default: host and sandbox]
    #[arg(long, value_name = "P", long_help = format!("Measure this place. Repeat for several places; the first is the baseline [default: host and sandbox]\n\n{}", super::places::FORMS), env = crate::settings::variables::PLACES, value_delimiter = ' ')]
    pub place: Vec<String>,
    /// Where containers keep the work files: `layer`, `volume` or `tmpfs`, each optionally with `:/PATH`. Repeat for several locations [default: layer and volume]
    #[arg(long, value_name = "WHERE", value_parser = location)]
    pub at: Vec<culprit_probe::Location>,
    /// Rounds to run first, without counting them
    #[arg(long, short, value_name = "N", default_value = "1")]
    pub warmup: u32,
    /// Run exactly this many rounds. By default, rounds end when the intervals are narrow enough
    #[arg(long, short, visible_alias = "runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Run at least this many rounds. With fewer than 5, only large effects give a verdict [default: 9; fewer for probes with long rounds; 1 with `--budget`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub min: Option<u32>,
    /// Run at most this many rounds
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max: u32,
    /// End within this time, but after at least one round: `30s`, `5m`. `--min` and `--rounds` take precedence [default: 1m, but at least the minimum number of rounds]
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub budget: Option<Nanos>,
    /// Differences below this percentage count as the same: `5` is 5 %
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = super::measure::band)]
    pub band: f64,
    /// Leave out the control arms, which show the noise: the first place again, and the host in a cgroup
    #[arg(long)]
    pub no_control: bool,
    /// Exit with 1 if a place has one of these verdicts
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOnVerdict>,
    /// Save the results as JSON, for `culprit bench compare`
    #[arg(long, value_name = "F")]
    pub save: Option<PathBuf>,
    /// Write an HTML page with every round as a point, intervals and latency curves
    #[arg(long, value_name = "F")]
    pub html: Option<PathBuf>,
    /// Write the values of all rounds as CSV; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_csv: Option<PathBuf>,
    /// Write the table as Markdown; `-` is stdout
    #[arg(long, value_name = "F")]
    pub export_markdown: Option<PathBuf>,
}

/// Arguments of `bench compare`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BenchCompareArgs {
    /// Results saved with `culprit bench … --save`
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// Later results of the same work. Each file is compared with BEFORE
    #[arg(value_name = "AFTER", required = true)]
    pub after: Vec<PathBuf>,
    /// Differences below this percentage count as the same: `5` is 5 %
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = super::measure::band)]
    pub band: f64,
    /// Exit with 1 if a verdict is one of these
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOnVerdict>,
}

/// Arguments of `bench syscall`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SyscallArgs {
    /// Calls per batch
    #[arg(long, value_name = "N", default_value = "30000", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub calls: u32,
    /// Batches of each call per round
    #[arg(long, value_name = "N", default_value = "9", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub batches: u32,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench files`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FilesArgs {
    /// Files in the folder of a round
    #[arg(long, value_name = "N", default_value = "1500", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub files: u32,
    /// Size of each file: `1k`, `64k`
    #[arg(long, value_name = "SIZE", default_value = "1k", value_parser = file_size)]
    pub size: u32,
    /// Records in the batch that ends with one fsync
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub records: u32,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench copy-up`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CopyUpArgs {
    /// File sizes: 64k, 1m, 64m, 1g
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "64k,1m,64m", value_parser = copied_size)]
    pub size: Vec<Size>,
    /// Also change the mode of this many small files, as `chmod -R` does; 0 for none
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub tree: u32,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench notify`.
#[derive(Debug, Clone, Args)]
pub(crate) struct NotifyArgs {
    /// How the reader notices new rows: tail, tail-exhausted, inotify, poll-1ms, poll-10ms, poll-50ms, poll-1s, fifo, pipe; or a program of the place: tail-F, tail-f, busybox-tail, cat-fifo
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "tail,inotify,fifo", value_parser = reader)]
    pub reader: Vec<Reader>,
    /// Pause of the writer between a row's arrival and the next row: `50ms`
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = parse::limit)]
    pub think: Nanos,
    /// Length of the closed loop in each round: write a row, wait for its arrival, pause: `1.5s`
    #[arg(long, value_name = "TIME", default_value = "1.5s", value_parser = parse::limit)]
    pub duration: Nanos,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench net`.
#[derive(Debug, Clone, Args)]
pub(crate) struct NetArgs {
    /// Round trips of one byte on one connection
    #[arg(long, value_name = "N", default_value = "4000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub trips: u32,
    /// Connections to open, each with a round trip of one byte
    #[arg(long, value_name = "N", default_value = "300", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub connects: u32,
    /// Length of each of three tests: throughput, HTTP requests, requests at a fixed rate
    #[arg(long, value_name = "TIME", default_value = "400ms", value_parser = parse::limit)]
    pub duration: Nanos,
    /// Requests per second in the fixed-rate test
    #[arg(long, value_name = "N", default_value = "500", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// Also look up this name in each place, with the name servers of its `/etc/resolv.conf`. Without this option, nothing is looked up
    #[arg(long, value_name = "NAME")]
    pub dns: Option<Name>,
    /// Use this name server instead: `127.0.0.1`, `10.0.0.2:5353`
    #[arg(long, value_name = "ADDRESS", value_parser = name_server, requires = "dns")]
    pub dns_server: Option<SocketAddr>,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench start`.
#[derive(Debug, Clone, Args)]
pub(crate) struct StartArgs {
    /// Programs to start per round
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub spawns: u32,
    /// Forks per round
    #[arg(long, value_name = "N", default_value = "300", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub forks: u32,
    /// Leave out the arm in which the runtime (runc, crun) creates a container without the engine
    #[arg(long)]
    pub no_runtime: bool,
    /// Also start containers from a program in their image, with and without the image's files in the page cache
    #[arg(
        long,
        long_help = "Also start containers from a program in their image, with and without the image's files in the page cache\n\nThe probe drops all files of the image from the page cache. The next container of the same image reads them from the disk again."
    )]
    pub cold: bool,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench memory`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MemoryArgs {
    /// Size of the memory and of the file: `32m`
    #[arg(long, value_name = "SIZE", default_value = "32m", value_parser = memory_size)]
    pub size: u64,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench pressure`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PressureArgs {
    /// Size of the file that is read repeatedly
    #[arg(long, value_name = "SIZE", default_value = "128m", value_parser = memory_size)]
    pub size: u64,
    /// How often the file is read per round
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub passes: u32,
    /// Measure containers without a memory limit a second time, with this limit
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = memory_size)]
    pub memory: u64,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench quota`.
#[derive(Debug, Clone, Args)]
pub(crate) struct QuotaArgs {
    /// Measure containers without a CPU quota a second time, with this quota
    #[arg(long, value_name = "CPUS", default_value = "0.5", value_parser = cpus)]
    pub cpus: NanoCpus,
    /// Chunks of 30 ms of CPU time per round
    #[arg(long, value_name = "N", default_value = "25", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub chunks: u32,
    /// Busy threads on the host that compete with busy threads in the place for one CPU; 0 for none
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(0..=64))]
    pub siblings: u32,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

/// Arguments of `bench log`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogArgs {
    /// Lines per round
    #[arg(long, value_name = "N", default_value = "100000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub lines: u32,
    /// Bytes per line, including the line end
    #[arg(long, value_name = "N", default_value = "40", value_parser = clap::value_parser!(u32).range(2..=65_536))]
    pub bytes: u32,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

fn name_server(text: &str) -> Result<SocketAddr, String> {
    let alone = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 53));
    alone.or_else(|_| text.parse()).map_err(|_| {
        format!(
            "`{text}` is not the address of a name server, as in `127.0.0.1` or `127.0.0.1:5353`"
        )
    })
}

fn memory_size(text: &str) -> Result<u64, String> {
    match parse::size(text)? {
        size @ 65_536..=1_099_511_627_776 => Ok(size),
        _ => Err("the size must be from `64k` to `1024g`".to_owned()),
    }
}

fn cpus(text: &str) -> Result<NanoCpus, String> {
    match text.parse::<f64>() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        Ok(cpus) if (0.01..=1024.0).contains(&cpus) => Ok(NanoCpus((cpus * 1e9) as u64)),
        _ => Err(format!("`{text}` is not a number of CPUs from 0.01 to 1024, as in `0.5`")),
    }
}

fn copied_size(text: &str) -> Result<Size, String> {
    one_of(text, Size::ALL, Size::id)
}

fn reader(text: &str) -> Result<Reader, String> {
    one_of(text, Reader::ALL, Reader::id)
}

/// The one whose id was typed.
pub(super) fn one_of<T: Copy, const N: usize>(
    text: &str,
    all: [T; N],
    id: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    let known = || all.map(&id).join(", ");
    all.into_iter().find(|one| id(*one) == text).ok_or_else(|| format!("known values: {}", known()))
}

fn file_size(text: &str) -> Result<u32, String> {
    let bytes = parse::size(text)?;
    u32::try_from(bytes).map_err(|_| "the size must be less than 4 GiB, as in `1k`".to_owned())
}

fn location(text: &str) -> Result<culprit_probe::Location, String> {
    text.parse()
}
