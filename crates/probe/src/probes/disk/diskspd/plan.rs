//! Options become what is done here, with notes on where that is something else than diskspd would do.

use std::time::Duration;

use super::super::definition::Definition;
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
                "{} targets are named, each with its own requests in flight: only one file is \
                    used here",
                targets.len()
            ));
        }
        spec.check()?;
        let target = targets.first().cloned();
        Ok(Definition { spec, target, claims: Vec::new(), notes: self.notes })
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
                "`-t` and `-F` exclude each other",
                "`-t` counts the threads of each target, `-F` all of them: leave one out",
            ),
            (
                self.pool_depth.is_some() && (self.pool.is_none() || self.depth.is_some()),
                "`-O` is only for use with `-F`, and without `-o`",
                "use `-o` with `-t`",
            ),
            (
                self.spots.is_some() && !self.random && self.random_share.is_none(),
                "`-rd` says where random requests go, but requests are sequential",
                "add `-r`",
            ),
            (
                self.shared_offset && self.thread_stride.is_some(),
                "`-si` and `-T` exclude each other",
                "leave one of them out",
            ),
            (
                self.seen.contains(&'i') && self.seen.contains(&'j'),
                "bursts with pauses (`-i`, `-j`) cannot be done here",
                "leave both out, or limit the rate with `-g`, such as `-g100i`",
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
                "diskspd may declare a new file's content valid without writing it; here all \
                of it is written",
            );
        } else {
            let spots = match &self.spots {
                Some(Spots::Absolute(spots)) => {
                    spots.iter().try_fold(0_u64, |sum, (_, part)| sum.checked_add(*part))
                }
                _ => Some(0),
            };
            let spots = spots.ok_or_else(|| Fault::new("the places of `-rdabs` are too large"))?;
            // The file has at least what the line uses of it.
            let room = spec.size.max(spec.block.saturating_mul(16)).max(spots);
            spec.size = self.limit.unwrap_or(room.saturating_add(self.base));
            self.note(format!(
                "there is no `-c`, so the file's size is not in the line: {} are used here, \
                    `--size` sets another size",
                size(spec.size)
            ));
        }
        let end = self.limit.unwrap_or(spec.size).min(spec.size);
        let used = end.checked_sub(self.base).filter(|used| *used > 0).ok_or_else(|| {
            Fault::new(format!("nothing is used of the {} of the file", size(end)))
                .hint("make the file or `-f` larger, or `-B` smaller")
        })?;
        spec.working_set = (used < spec.size).then_some(used);
        if self.base > 0 {
            self.note(format!(
                "`-B` begins {} into the file; here the used part of the same size begins at \
                    the file's start",
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
            "`-Sm` maps the file: each thread waits for its page, so 1 request is in flight \
            for each",
        );
        if self.write_through {
            self.note(
                "`-w` of `-S` is left out: stores to mapped pages do not wait for the disk here",
            );
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
                "`-si` lets threads share one offset; here each thread has its own, so all \
                use the same blocks",
            );
        } else if sequential && spec.threads > 1 {
            self.note(format!(
                "there is no `-T`: each of the {} threads begins at the file's start, so all \
                    use the same blocks",
                spec.threads
            ));
        }
        if matches!(spec.access, Access::Mixed { .. })
            && spec.write_share > 0.0
            && spec.write_share < 1.0
        {
            self.note(
                "a sequential run of `-rs` only reads or only writes in diskspd; here each \
                request is thrown for",
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
                    self.note("`-g` is no whole number of requests a second: it is rounded");
                }
                self.note("`-g` without `i` counts bytes in a millisecond for each thread");
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
            self.note("no -L: diskspd itself would not record latencies; here they always are");
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
            self.note("diskspd binds threads to CPUs in turn; here the kernel chooses");
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
        return Err(Fault::new("the places of `-rd` get no requests").hint("give one a share"));
    }
    if requests < 1.0 {
        for spot in spots {
            spot.requests /= requests;
        }
    }
    Ok(())
}
