//! Options become what is done here, with notes on where that is something else than diskspd would do.

use std::time::Duration;

use super::super::Definition;
use super::super::spec::{Access, Cache, Engine, HotSpot, Spec, percent, size};
use super::{DEPTH, DURATION, Options, Rate, Spots, WARMUP};
use crate::inside::Fault;

impl Options {
    pub(super) fn define(mut self, targets: &[String]) -> Result<Definition, Fault> {
        self.refuse()?;
        let mut spec = Spec {
            block: self.block(),
            threads: self.threads.or(self.pool).unwrap_or(1),
            align: self.align.filter(|align| *align != self.block()),
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            write_share: self.write_percent as f64 / 100.0,
            warmup: Duration::from_secs(self.warmup.unwrap_or(WARMUP)),
            duration: Duration::from_secs(self.duration.unwrap_or(DURATION)),
            cooldown: Duration::from_secs(self.cooldown),
            access: self.access(),
            ..Spec::default()
        };
        spec.seed = self.seed.unwrap_or(spec.seed);
        self.place(&mut spec)?;
        self.path(&mut spec);
        self.stream(&mut spec);
        self.pace(&mut spec);
        self.explain(&spec);
        self.spread(&mut spec)?;
        if targets.len() > 1 {
            self.note(format!(
                "the line has {} targets, each with its own requests in flight: Culprit uses one \
                 file",
                targets.len()
            ));
        }
        spec.check()?;
        let target = targets.first().cloned();
        Ok(Definition { spec, target, notes: self.notes })
    }

    /// What diskspd refuses, and bursts, which would be another workload without their pauses.
    fn refuse(&self) -> Result<(), Fault> {
        let refusals = [
            (
                self.block() >= u64::from(u32::MAX),
                "the block is too large for diskspd",
                "use a block below 4G",
            ),
            (
                self.threads.is_some() && self.pool.is_some(),
                "`-t` and `-F` cannot be used together",
                "remove one of them: `-t` counts the threads of each target, `-F` the threads of \
                 all targets",
            ),
            (
                self.pool_depth.is_some() && (self.pool.is_none() || self.depth.is_some()),
                "`-O` needs `-F`, and cannot be used with `-o`",
                "use `-o` with `-t`",
            ),
            (
                self.spots.is_some() && !self.random && self.random_share.is_none(),
                "`-rd` needs random requests, but the requests are sequential",
                "add `-r`",
            ),
            (
                self.shared_offset && self.thread_stride.is_some(),
                "`-si` and `-T` cannot be used together",
                "remove one of them",
            ),
            (
                self.seen.contains(&'i') && self.seen.contains(&'j'),
                "Culprit cannot run bursts with pauses (`-i`, `-j`)",
                "remove both, or limit the rate with `-g`, such as `-g100i`",
            ),
        ];
        match refusals.into_iter().find(|(refused, ..)| *refused) {
            Some((_, what, hint)) => Err(Fault::new(what).hint(hint)),
            None => Ok(()),
        }
    }

    fn access(&self) -> Access {
        match self.random_share {
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            Some(share) if share < 100 => Access::Mixed { random: share as f64 / 100.0 },
            Some(_) => Access::Random,
            None if self.random => Access::Random,
            None => Access::Sequential,
        }
    }

    /// Size of the file and of the part that is used.
    fn place(&mut self, spec: &mut Spec) -> Result<(), Fault> {
        if let Some(size) = self.size {
            spec.size = size;
            self.note(
                "diskspd may declare the content of a new file valid without writing it; Culprit \
                 writes the whole file",
            );
        } else {
            let spots = match &self.spots {
                Some(Spots::Absolute(spots)) => {
                    spots.iter().try_fold(0_u64, |sum, (_, part)| sum.checked_add(*part))
                }
                _ => Some(0),
            };
            let spots = spots.ok_or_else(|| Fault::new("the sizes of `-rdabs` are too large"))?;
            // The file has at least what the line uses of it.
            let room = spec.size.max(spec.block.saturating_mul(16)).max(spots);
            spec.size = self.limit.unwrap_or(room.saturating_add(self.base));
            self.note(format!(
                "no `-c`, so the line has no file size: Culprit uses {}; `--size` sets another \
                 size",
                size(spec.size)
            ));
        }
        let end = self.limit.unwrap_or(spec.size).min(spec.size);
        let used = end.checked_sub(self.base).filter(|used| *used > 0).ok_or_else(|| {
            Fault::new(format!("`-B` leaves no part of the {} of the file", size(end)))
                .hint("give a larger file or `-f`, or a smaller `-B`")
        })?;
        spec.working_set = (used < spec.size).then_some(used);
        if self.base > 0 {
            self.note(format!(
                "`-B` starts {} into the file; Culprit uses a part of the same size at the start \
                 of the file",
                size(self.base)
            ));
        }
        Ok(())
    }

    /// Engine, depth and cache.
    fn path(&mut self, spec: &mut Spec) {
        spec.cache = match (self.uncached == Some(true), self.write_through) {
            (true, true) => Cache::DirectWriteThrough,
            (true, false) => Cache::Direct,
            (false, true) if !self.mapped => Cache::WriteThrough,
            (false, _) => Cache::Cached,
        };
        spec.depth = self.depth.or(self.pool_depth).unwrap_or(DEPTH);
        spec.engine = if spec.depth == 1 { Engine::Psync } else { Engine::IoUring };
        if !self.mapped {
            return;
        }
        spec.engine = Engine::Mmap;
        self.note(
            "`-Sm` maps the file: each thread waits for its page, so each has 1 request in flight",
        );
        if self.write_through {
            self.note("`-w` of `-S` is ignored: stores to mapped pages do not wait for the disk");
        }
        spec.depth = 1;
    }

    /// Where threads begin.
    fn stream(&mut self, spec: &mut Spec) {
        let sequential = spec.access == Access::Sequential;
        if let Some(stride) = self.thread_stride.filter(|_| spec.threads > 1) {
            spec.thread_stride = stride;
            if spec.access == Access::Random {
                spec.thread_stride = 0;
                self.note("`-T` has no effect on random requests");
            }
        } else if self.shared_offset && spec.threads > 1 {
            self.note(
                "with `-si` threads share one offset; in Culprit each thread has its own offset, \
                 so all use the same blocks",
            );
        } else if sequential && spec.threads > 1 {
            self.note(format!(
                "no `-T`: each of the {} threads starts at the start of the file, so all use the \
                 same blocks",
                spec.threads
            ));
        }
        if matches!(spec.access, Access::Mixed { .. })
            && spec.write_share > 0.0
            && spec.write_share < 1.0
        {
            self.note(
                "in diskspd a sequential run of `-rs` only reads or only writes; Culprit chooses \
                 for each request",
            );
        }
    }

    fn pace(&mut self, spec: &mut Spec) {
        spec.rate = match self.rate {
            None => return,
            Some(Rate::Requests(rate)) => Some(rate),
            Some(Rate::BytesPerMillisecond(bytes)) => {
                // Both come from 32 bits, so this does not overflow.
                let bytes = bytes * 1000;
                if !bytes.is_multiple_of(spec.block) {
                    self.note("`-g` is rounded to a whole number of requests per second");
                }
                self.note("`-g` without `i` counts bytes per millisecond for each thread");
                Some((bytes / spec.block).max(1))
            }
        };
    }

    /// What people often misread.
    fn explain(&mut self, spec: &Spec) {
        if spec.cache == Cache::Cached && !self.mapped {
            let why = if self.uncached.is_none() { "no -S" } else { "-Sb" };
            self.note(format!("{why}: everything goes through the page cache"));
        }
        if !self.seen.contains(&'L') {
            self.note("no -L: diskspd would not record latencies; Culprit always records them");
        }
        if self.seen.contains(&'w') && self.seen.contains(&'W') {
            self.note(format!(
                "`-w{}` makes {} of the requests writes; capital `-W{}` is the warm-up in seconds",
                self.write_percent,
                percent(spec.write_share),
                self.warmup.unwrap_or(WARMUP)
            ));
        }
        if !self.seen.contains(&'o') && !self.seen.contains(&'O') && !self.mapped {
            self.note(format!("no -o: diskspd keeps {DEPTH} requests in flight for each thread"));
        } else if spec.threads > 1 && spec.depth > 1 {
            self.note(format!(
                "`-o` counts for each thread: {} x {} = {} requests are in flight",
                spec.threads,
                spec.depth,
                spec.in_flight()
            ));
        }
        if !self.seen.contains(&'n') && !self.seen.contains(&'a') {
            self.note("diskspd binds threads to CPUs in turn; in Culprit the kernel chooses");
        }
    }

    /// Hot spots as shares of the used part.
    fn spread(&self, spec: &mut Spec) -> Result<(), Fault> {
        #[expect(clippy::cast_precision_loss, reason = "shares need no more than 53 bits")]
        let spot = |requests: u64, part: u64, all: u64| HotSpot {
            requests: requests as f64 / 100.0,
            bytes: part as f64 / all as f64,
        };
        match &self.spots {
            None => {}
            Some(Spots::Percent(spots)) => {
                spec.hot = spots.iter().map(|(share, part)| spot(*share, *part, 100)).collect();
            }
            Some(Spots::Absolute(spots)) => {
                let all = spec.used();
                let mut left = all;
                for (share, part) in spots.iter().filter(|(_, part)| *part > 0) {
                    let part = left.min(*part);
                    left -= part;
                    if part > 0 {
                        spec.hot.push(spot(*share, part, all));
                    }
                }
            }
        }
        normalise(&mut spec.hot)
    }
}

/// Where spots fill the file, nothing is left for the requests that they leave over: diskspd then
/// takes the shares relative to each other.
fn normalise(spots: &mut [HotSpot]) -> Result<(), Fault> {
    let bytes: f64 = spots.iter().map(|spot| spot.bytes).sum();
    let requests: f64 = spots.iter().map(|spot| spot.requests).sum();
    if spots.is_empty() || bytes < 1.0 - 1e-9 {
        return Ok(());
    }
    if requests <= 0.0 {
        return Err(Fault::new("the parts of `-rd` get no requests")
            .hint("give at least one part a share above 0"));
    }
    if requests < 1.0 {
        for spot in spots {
            spot.requests /= requests;
        }
    }
    Ok(())
}
