//! What is done to a file: the model of diskspd, which has all that fio's common options say.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::inside::Fault;

/// How requests reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// `io_uring`: a thread keeps many requests in flight.
    IoUring,
    /// `pread` and `pwrite`: a thread waits for each.
    Psync,
    /// Loads from and stores to mapped pages: a thread waits in page faults.
    Mmap,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 3] = [Self::IoUring, Self::Psync, Self::Mmap];

    /// As options and documents have it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Psync => "psync",
            Self::Mmap => "mmap",
        }
    }
}

/// Where the next request goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Block after block, then from the beginning again.
    Sequential,
    /// Anywhere, with replacement: a block may come twice and another never.
    Random,
    /// This share of requests goes anywhere; the others follow the one before.
    Mixed {
        /// Share of random requests, 0 to 1.
        random: f64,
    },
}

/// A share of the requests goes to a share of the file. Spots follow each other from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HotSpot {
    /// Share of the requests, 0 to 1.
    pub requests: f64,
    /// Share of the file, 0 to 1.
    pub bytes: f64,
}

/// What lies between a request and the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// The page cache; writes return before they are on the disk.
    Cached,
    /// The page cache; a write returns when it is on the disk (`O_DSYNC`).
    WriteThrough,
    /// No page cache (`O_DIRECT`).
    Direct,
    /// No page cache, and a write returns when it is on the disk (`O_DIRECT`, `O_DSYNC`).
    DirectWriteThrough,
}

impl Cache {
    /// Every mode.
    pub const ALL: [Self; 4] =
        [Self::Cached, Self::WriteThrough, Self::Direct, Self::DirectWriteThrough];

    /// As options and documents have it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Cached => "cached",
            Self::WriteThrough => "write-through",
            Self::Direct => "direct",
            Self::DirectWriteThrough => "direct-write-through",
        }
    }

    /// Whether requests go around the page cache.
    #[must_use]
    pub const fn is_direct(self) -> bool {
        matches!(self, Self::Direct | Self::DirectWriteThrough)
    }

    /// Whether a write waits for the disk.
    #[must_use]
    pub const fn writes_through(self) -> bool {
        matches!(self, Self::WriteThrough | Self::DirectWriteThrough)
    }
}

/// A workload on one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// How requests reach the kernel.
    pub engine: Engine,
    /// Bytes of a request.
    pub block: u64,
    /// Threads.
    pub threads: u32,
    /// Requests that each thread keeps in flight; 1 of engines that wait for each.
    pub depth: u32,
    /// Requests that are submitted together, of `io_uring`: more make fewer system calls and longer
    /// latencies.
    pub batch: u32,
    /// Where the next request goes.
    pub access: Access,
    /// Random requests begin at multiples of this, sequential ones follow at this distance; the
    /// block by default.
    pub align: Option<u64>,
    /// How far behind the thread before it each thread begins, of sequential requests; 0 where all
    /// begin at the start.
    pub thread_stride: u64,
    /// Share of the requests that write, 0 to 1, by a throw for each.
    pub write_share: f64,
    /// Bytes of the file, all of them really written before.
    pub size: u64,
    /// Only so many bytes from its beginning are used: the working set.
    pub working_set: Option<u64>,
    /// Parts of the file that get more than their share; what is left goes to the rest of the file.
    pub hot: Vec<HotSpot>,
    /// What lies between a request and the disk.
    pub cache: Cache,
    /// Requests a second that each thread begins at most.
    pub rate: Option<u64>,
    /// Load before the measured time.
    #[serde(with = "seconds")]
    pub warmup: Duration,
    /// The measured time.
    #[serde(with = "seconds")]
    pub duration: Duration,
    /// Load after the measured time, so that no thread runs alone in it.
    #[serde(with = "seconds")]
    pub cooldown: Duration,
    /// Whether the page cache drops the file before each round.
    pub drop_cache: bool,
    /// What the offsets are thrown with.
    pub seed: u64,
}

impl Default for Spec {
    /// A short random read through the page cache, one request at a time.
    fn default() -> Self {
        Self {
            engine: Engine::Psync,
            block: 4 << 10,
            threads: 1,
            depth: 1,
            batch: 1,
            access: Access::Random,
            align: None,
            thread_stride: 0,
            write_share: 0.0,
            size: 64 << 20,
            working_set: None,
            hot: Vec::new(),
            cache: Cache::Cached,
            rate: None,
            // Nine rounds of four arms, with a file written for each, are then over in half a minute,
            // and each has some hundred thousand requests of the page cache or thousands of a disk.
            warmup: Duration::from_millis(100),
            duration: Duration::from_millis(400),
            cooldown: Duration::from_millis(50),
            drop_cache: false,
            seed: 1,
        }
    }
}

/// `O_DIRECT` moves whole sectors; 512 is the smallest there is.
const SECTOR: u64 = 512;

impl Spec {
    /// Bytes that are used.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.working_set.unwrap_or(self.size).min(self.size)
    }

    /// The distance of neighbouring offsets.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.align.unwrap_or(self.block)
    }

    /// Requests in flight, of all threads.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.threads as u64 * self.depth as u64
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// What does not fit together, and what to change.
    pub fn check(&self) -> Result<(), Fault> {
        let fault = |what: String, hint: &str| Err(Fault::new(what).hint(hint));
        let bytes = |n| format!("{n} bytes");
        if self.working_set.is_some_and(|part| part > self.size) {
            return fault(
                format!("the working set is larger than the file of {}", bytes(self.size)),
                "make the file larger (`--size`) or the working set smaller (`--working-set`)",
            );
        }
        if self.block == 0 {
            return fault("a block must have at least 1 byte".into(), "give a larger `--block`");
        }
        if self.block > self.used() {
            return fault(
                format!(
                    "a block of {} does not fit into the {} in use",
                    bytes(self.block),
                    bytes(self.used())
                ),
                "make the file larger (`--size`) or the block smaller (`--block`)",
            );
        }
        if self.step() == 0 || self.threads == 0 || self.depth == 0 {
            return fault(
                "the number of threads, the queue depth and the alignment must not be 0".into(),
                "give at least 1 for each",
            );
        }
        if self.duration.is_zero() {
            return fault("the measured time must not be 0".into(), "give a longer `--duration`");
        }
        if self.engine != Engine::IoUring && self.depth > 1 {
            return fault(
                format!(
                    "`{}` waits for each request, so {} requests cannot be in flight",
                    self.engine.id(),
                    self.depth
                ),
                "use `--engine io_uring`, or more threads",
            );
        }
        let direct = self.cache.is_direct();
        if direct && (!self.block.is_multiple_of(SECTOR) || !self.step().is_multiple_of(SECTOR)) {
            return fault(
                format!("without the page cache, blocks and offsets must be multiples of {SECTOR}"),
                "change `--block` and `--align`, or use `--cache cached`",
            );
        }
        if self.engine == Engine::Mmap && direct {
            return fault(
                "the engine `mmap` needs the page cache".into(),
                "use another `--engine`, or `--cache cached`",
            );
        }
        let sum = |of: fn(&HotSpot) -> f64| self.hot.iter().map(of).sum::<f64>();
        let share = |share: f64| (0.0..=1.0 + 1e-9).contains(&share);
        if !share(self.write_share) || !share(sum(|s| s.requests)) || !share(sum(|s| s.bytes)) {
            return fault(
                "each share, and the sum of all shares, must be between 0 and 100 %".into(),
                "change the shares",
            );
        }
        Ok(())
    }

    /// What it does, in sentences for people: no number is left to be known from elsewhere.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![format!(
            "{} of {}, {}, {} of {}",
            self.directions(),
            size(self.block),
            self.order(),
            match self.working_set {
                Some(part) if part < self.size => format!("in the first {}", size(part)),
                _ => "in a file".to_owned(),
            },
            size(self.size),
        )];
        words[0].push_str(", which Culprit writes first");
        words.push(self.flight());
        words.push(self.path_to_disk());
        for spot in &self.hot {
            words.push(format!(
                "{} of the requests go to {} of the file",
                percent(spot.requests),
                percent(spot.bytes)
            ));
        }
        if let Some(rate) = self.rate {
            words.push(format!(
                "each thread starts at most {rate} requests per second; latencies count from the \
                 planned time"
            ));
        }
        words.push(format!(
            "{} s of load before, {} s measured, {} s of load after; a request counts if it \
             completes in the measured time",
            self.warmup.as_secs_f64(),
            self.duration.as_secs_f64(),
            self.cooldown.as_secs_f64()
        ));
        words
    }

    fn directions(&self) -> String {
        match self.write_share {
            0.0 => "reads".to_owned(),
            share if share >= 1.0 => "writes".to_owned(),
            share => format!("{} reads and {} writes", percent(1.0 - share), percent(share)),
        }
    }

    fn order(&self) -> String {
        let step = self.step();
        let at = if step == self.block {
            String::new()
        } else {
            format!(" at multiples of {}", size(step))
        };
        match self.access {
            Access::Random => format!("at random offsets{at} (a block may be used twice)"),
            Access::Sequential if step == self.block => "one after the other".to_owned(),
            Access::Sequential => format!("one block every {}", size(step)),
            Access::Mixed { random } => {
                format!(
                    "{} at random offsets{at}, the others directly after the previous one (a \
                     block may be used twice)",
                    percent(random)
                )
            }
        }
    }

    fn flight(&self) -> String {
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        let engine = self.engine.id();
        match self.depth {
            1 => format!("{} {threads}, each waiting for its request ({engine})", self.threads),
            depth => format!(
                "{} {threads} with {depth} requests in flight{}: {} in flight ({engine}{})",
                self.threads,
                if self.threads == 1 { "" } else { " each" },
                self.in_flight(),
                match self.batch {
                    0 | 1 => String::new(),
                    batch => format!(", up to {batch} submitted together"),
                }
            ),
        }
    }

    fn path_to_disk(&self) -> String {
        let dropped =
            if self.drop_cache { ", from which the file is dropped before each round" } else { "" };
        match self.cache {
            Cache::Cached if self.write_share > 0.0 => format!(
                "through the page cache{dropped}: writes return before they are on the disk"
            ),
            Cache::Cached if self.drop_cache => {
                format!("through the page cache{dropped}: first reads come from the disk")
            }
            Cache::Cached => {
                format!("through the page cache{dropped}: reads of cached pages come from memory")
            }
            Cache::WriteThrough => format!(
                "through the page cache{dropped}; a write returns when it is on the disk (O_DSYNC)"
            ),
            Cache::Direct => "without the page cache (O_DIRECT)".to_owned(),
            Cache::DirectWriteThrough => {
                "without the page cache, a write returns when it is on the disk (O_DIRECT, O_DSYNC)"
                    .to_owned()
            }
        }
    }
}

/// Bytes in the largest unit that they are a multiple of.
pub(super) fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(name, shift)| format!("{} {name}", bytes >> shift),
    )
}

pub(super) fn percent(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// Durations as seconds, as people read them in documents.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_together_is_told() {
        let good = Spec::default();
        assert!(good.check().is_ok());
        let bad = [
            Spec { block: 65 << 20, ..good.clone() },
            Spec { depth: 2, ..good.clone() },
            Spec { threads: 0, ..good.clone() },
            Spec { block: 1000, cache: Cache::Direct, ..good.clone() },
            Spec { engine: Engine::Mmap, cache: Cache::Direct, ..good.clone() },
            Spec { write_share: 1.5, ..good.clone() },
            Spec { duration: Duration::ZERO, ..good },
        ];
        for spec in bad {
            assert!(spec.check().is_err_and(|fault| fault.hint.is_some()), "{spec:?}");
        }
    }

    #[test]
    fn words_say_what_is_done() {
        let spec = Spec {
            engine: Engine::IoUring,
            block: 128 << 10,
            threads: 4,
            depth: 16,
            write_share: 0.6,
            size: 2 << 30,
            ..Spec::default()
        };
        let words = spec.words().join("; ");
        for part in ["40 % reads and 60 % writes of 128 KiB", "2 GiB", "64 in flight", "page cache"]
        {
            assert!(words.contains(part), "{words}");
        }
        let there_and_back: Spec =
            serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
        assert_eq!(there_and_back, spec);
    }
}
