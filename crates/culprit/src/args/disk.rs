//! Options of `bench disk`.

use std::path::PathBuf;

use clap::Args;
use culprit_model::Nanos;
use culprit_probe::probes::disk::{Access, Cache, Engine, HotSpot};

use super::parse;
use super::probes::{ProbeArgs, one_of};

/// Arguments of `bench disk`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiskArgs {
    /// Bytes of a request: `4k`, `128k` [default: 4k]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub block: Option<u64>,
    /// Threads [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Requests that each thread keeps in flight; more than 1 needs `--engine io_uring` [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: Option<u32>,
    /// Requests that are submitted together; more make fewer system calls and longer latencies [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: Option<u32>,
    /// Where requests go: `random`, `sequential`, or `mixed:30` for 30 % at random [default: random]
    #[arg(long, value_name = "HOW", value_parser = access)]
    pub pattern: Option<Access>,
    /// Requests begin at multiples of this, and follow each other at this distance [default: the block]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub align: Option<u64>,
    /// Of the requests so many percent write [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub write: Option<f64>,
    /// So many percent of the requests go to so many percent of the file: `90/10`; may be given several times
    #[arg(long, value_name = "REQUESTS/FILE", value_delimiter = ',', value_parser = hot_spot)]
    pub hot: Vec<HotSpot>,
    /// Bytes of the file, which is really written before [default: 64m]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub size: Option<u64>,
    /// Use only so much of the file
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub working_set: Option<u64>,
    /// What lies between a request and the disk: cached, write-through (O_DSYNC), direct (O_DIRECT), direct-write-through [default: cached]
    #[arg(long, value_name = "MODE", value_parser = cache)]
    pub cache: Option<Cache>,
    /// How requests reach the kernel: psync, io_uring, mmap [default: psync, and io_uring with a depth]
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    pub engine: Option<Engine>,
    /// Begin at most so many requests a second in each thread; latencies count from the planned time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rate: Option<u64>,
    /// Load before the measured time of each round [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub ramp: Option<Nanos>,
    /// The measured time of each round [default: 400ms]
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub duration: Option<Nanos>,
    /// Load after the measured time, so that no thread runs alone in it [default: 50ms]
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub cool_down: Option<Nanos>,
    /// Have the page cache drop the file before each round
    #[arg(long)]
    pub drop_cache: bool,
    /// Have places that see the first one's folder work on the very same file, so that where a file lies makes no difference
    #[arg(long)]
    pub same_file: bool,
    /// What offsets are thrown with; the same for all places
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Do what this command line of diskspd says; other options change it
    #[arg(long, value_name = "LINE", conflicts_with = "fio", allow_hyphen_values = true)]
    pub diskspd: Option<String>,
    /// Do what the first job of this fio job file says; other options change it
    #[arg(long, value_name = "FILE")]
    pub fio: Option<PathBuf>,
    /// What the work is said to be, as in a report: `random reads`; differences from what it is are told. It may name reads or writes and their share, the order, the cache, a queue depth, threads, a block's size
    #[arg(long, value_name = "TEXT")]
    pub claim: Vec<String>,
    /// Only say in words what would be done
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

fn engine(text: &str) -> Result<Engine, String> {
    one_of(text, Engine::ALL, Engine::id)
}

fn cache(text: &str) -> Result<Cache, String> {
    one_of(text, Cache::ALL, Cache::id)
}

fn access(text: &str) -> Result<Access, String> {
    match text.split_once(':') {
        None if text == "random" => Ok(Access::Random),
        None if text == "sequential" => Ok(Access::Sequential),
        Some(("mixed", random)) => Ok(Access::Mixed { random: share(random)? }),
        _ => Err("known: random, sequential, mixed:PERCENT".to_owned()),
    }
}

/// A share, typed in percent.
fn share(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is no number of percent from 0 to 100")),
    }
}

fn hot_spot(text: &str) -> Result<HotSpot, String> {
    let (requests, bytes) = text
        .split_once('/')
        .ok_or("percent of the requests, a slash, percent of the file: `90/10`")?;
    Ok(HotSpot { requests: share(requests)?, bytes: share(bytes)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_spots_are_typed_in_percent() {
        assert_eq!(access("mixed:30"), Ok(Access::Mixed { random: 0.3 }));
        assert_eq!(access("sequential"), Ok(Access::Sequential));
        assert_eq!(hot_spot("90/10"), Ok(HotSpot { requests: 0.9, bytes: 0.1 }));
        assert!(access("mixed").is_err() && hot_spot("90").is_err() && share("101").is_err());
    }
}
