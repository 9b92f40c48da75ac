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
    /// Size of a request: `4k`, `128k` [default: 4k]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub block: Option<u64>,
    /// Threads [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Requests that each thread keeps in flight. More than 1 needs the engine `io_uring` [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: Option<u32>,
    /// Requests that are submitted together. A larger batch needs fewer system calls, but latencies are longer [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: Option<u32>,
    /// Order of the requests: `random`, `sequential`, or `mixed:30` for 30 % at random [default: random]
    #[arg(long, value_name = "HOW", value_parser = access)]
    pub pattern: Option<Access>,
    /// Requests start at multiples of this size, and follow each other at this distance [default: the block size]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub align: Option<u64>,
    /// Percentage of the requests that write [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub write: Option<f64>,
    /// Send this percentage of the requests to this percentage of the file: `90/10`. Repeat for several parts of the file
    #[arg(long, value_name = "REQUESTS/FILE", value_delimiter = ',', value_parser = hot_spot)]
    pub hot: Vec<HotSpot>,
    /// Size of the file. The probe writes the whole file before it measures [default: 64m]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub size: Option<u64>,
    /// Use only this much of the file
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub working_set: Option<u64>,
    /// Cache mode: cached, write-through (O_DSYNC), direct (O_DIRECT), direct-write-through [default: cached]
    #[arg(long, value_name = "MODE", value_parser = cache)]
    pub cache: Option<Cache>,
    /// How requests reach the kernel: psync, io_uring, mmap [default: psync; io_uring with `--depth` above 1]
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    pub engine: Option<Engine>,
    /// Start at most this many requests per second in each thread. Latencies count from the planned start
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rate: Option<u64>,
    /// Time with load before the measured time of each round [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub ramp: Option<Nanos>,
    /// Measured time of each round [default: 400ms]
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub duration: Option<Nanos>,
    /// Time with load after the measured time, so that no thread is measured alone [default: 50ms]
    #[arg(long, value_name = "TIME", value_parser = parse::limit)]
    pub cool_down: Option<Nanos>,
    /// Drop the file from the page cache before each round
    #[arg(long)]
    pub drop_cache: bool,
    /// Use the same file in all places that see the first place's folder. The location of a file then makes no difference
    #[arg(long)]
    pub same_file: bool,
    /// Seed of the random offsets; the same for all places
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Do the work of this diskspd command line; other options override it
    #[arg(long, value_name = "LINE", conflicts_with = "fio", allow_hyphen_values = true)]
    pub diskspd: Option<String>,
    /// Do the work of the first job in this fio job file; other options override it
    #[arg(long, value_name = "FILE")]
    pub fio: Option<PathBuf>,
    /// Only describe the work; measure nothing
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
        _ => Err("known values: random, sequential, mixed:PERCENT".to_owned()),
    }
}

/// A share, typed in percent.
fn share(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a percentage from 0 to 100")),
    }
}

fn hot_spot(text: &str) -> Result<HotSpot, String> {
    let (requests, bytes) = text
        .split_once('/')
        .ok_or("write the percentages of requests and of the file, as in `90/10`")?;
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
