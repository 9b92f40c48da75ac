//! A job becomes what is done here, with notes on where that is something else than fio would do.

use std::time::Duration;

use super::super::definition::Definition;
use super::super::spec::{Access, Cache, Engine, Spec, size};
use super::Job;
use crate::inside::Fault;

impl Job {
    pub(super) fn define(mut self) -> Result<Definition, Fault> {
        let mut spec = Spec {
            block: self.block,
            threads: self.jobs,
            warmup: self.ramp,
            cooldown: Duration::ZERO,
            hot: std::mem::take(&mut self.hot),
            ..Spec::default()
        };
        spec.seed = self.seed.unwrap_or(spec.seed);
        self.order(&mut spec);
        self.shares(&mut spec);
        self.path(&mut spec)?;
        self.place(&mut spec);
        self.threads(&mut spec);
        self.pace(&mut spec)?;
        self.duration(&mut spec);
        spec.check()?;
        let target = match (self.directory, self.file) {
            (Some(directory), Some(file)) => Some(format!("{directory}/{file}")),
            (directory, file) => file.or(directory),
        };
        if target.as_ref().is_some_and(|target| target.contains(':')) {
            self.notes.push("a colon parts several files in fio; only one is used here".to_owned());
        }
        Ok(Definition { spec, target, claims: self.claims, notes: self.notes })
    }

    fn order(&mut self, spec: &mut Spec) {
        if !self.random {
            spec.access = Access::Sequential;
            if !spec.hot.is_empty() {
                spec.hot.clear();
                self.note("`random_distribution` has no effect on sequential requests");
            }
            return;
        }
        spec.align = self.align.filter(|align| *align != self.block);
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        let random = self.random_percent as f64 / 100.0;
        spec.access = match self.random_percent {
            0 => Access::Sequential,
            100 => Access::Random,
            _ => Access::Mixed { random },
        };
        if self.random_map && spec.hot.is_empty() {
            self.note(
                "fio covers each block once before it repeats one, unless `norandommap` is \
                set; here a block may come twice",
            );
        }
    }

    fn shares(&mut self, spec: &mut Spec) {
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        let mixed = (100 - self.read_percent) as f64 / 100.0;
        spec.write_share = match (self.reads, self.writes) {
            (true, true) => mixed,
            (_, writes) => f64::from(u8::from(writes)),
        };
        if self.read_percent != 50 && !(self.reads && self.writes) {
            self.note(
                "`rwmixread` and `rwmixwrite` have no effect: `rw` asks for one direction only",
            );
        }
    }

    /// Engine, depth and cache.
    fn path(&mut self, spec: &mut Spec) -> Result<(), Fault> {
        spec.cache = match (self.direct, self.through) {
            (false, false) => Cache::Cached,
            (false, true) => Cache::WriteThrough,
            (true, false) => Cache::Direct,
            (true, true) => Cache::DirectWriteThrough,
        };
        let engine = std::mem::take(&mut self.engine);
        let queued = match engine.as_str() {
            "libaio" | "io_uring" | "posixaio" => true,
            "psync" | "sync" | "pvsync" | "pvsync2" | "mmap" => false,
            _ => {
                return Err(Fault::new(format!("the engine `{engine}` is not known here")).hint(
                    "set `ioengine` to io_uring, libaio, psync or mmap if the workload allows it",
                ));
            }
        };
        spec.depth = if queued { self.depth } else { 1 };
        spec.engine = match engine.as_str() {
            "mmap" => Engine::Mmap,
            _ if spec.depth > 1 => Engine::IoUring,
            _ => Engine::Psync,
        };
        if self.depth > 1 && !queued {
            self.note(format!(
                "`{engine}` waits for each request: `iodepth` has no effect, in fio neither"
            ));
        } else if engine == "libaio" && !self.direct && self.depth > 1 {
            self.note(
                "libaio without `direct=1` is not asynchronous in fio: its iodepth has no \
                effect there; here as many requests are in flight",
            );
        } else if engine != "io_uring" && self.depth > 1 {
            self.note(format!("`{engine}` is done with io_uring here"));
        }
        self.dropping(spec);
        Ok(())
    }

    fn dropping(&mut self, spec: &mut Spec) {
        if spec.cache.is_direct() {
            return;
        }
        spec.drop_cache = self.invalidate && !self.pre_read;
        if self.pre_read {
            self.note(
                "`pre_read` reads the file before; here the page cache is left as it is, which \
                holds it if it fits",
            );
        } else if spec.drop_cache {
            self.note(
                "fio drops the file from the page cache before a job unless `invalidate=0` is \
                set; here before each round",
            );
        }
        self.note("no `direct=1`: everything goes through the page cache");
    }

    /// Size of the file and of the part that is used.
    fn place(&mut self, spec: &mut Spec) {
        if let Some(size) = self.file_size.or(self.size) {
            spec.size = size;
        } else {
            spec.size = spec.size.max(spec.block.saturating_mul(16));
            self.note(format!(
                "there is no `size`: {} are used here, `--size` sets another",
                size(spec.size)
            ));
        }
        spec.working_set = self.size.filter(|part| *part < spec.size);
    }

    fn threads(&mut self, spec: &mut Spec) {
        if self.jobs < 2 {
            return;
        }
        if self.file.is_none() {
            self.note("each of `numjobs` has a file of its own in fio; here all threads share one");
        }
        if spec.depth > 1 {
            self.note(format!(
                "`iodepth` counts for each of `numjobs`: {} requests are in flight",
                spec.in_flight()
            ));
        }
        match self.stride {
            Some(stride) if !self.random => spec.thread_stride = stride,
            Some(_) => self.note("`offset_increment` is left out: threads share all of the file"),
            None if self.random => {}
            None => self.note("each thread begins at the file's start, so all use the same blocks"),
        }
    }

    fn pace(&mut self, spec: &mut Spec) -> Result<(), Fault> {
        if let Some(bytes) = self.bytes_rate {
            // `check` would name it, but comes after this division.
            let block = spec.block.max(1);
            let rate = bytes / block;
            if rate == 0 {
                return Err(Fault::new("`rate` is less than one request a second")
                    .hint("`rate` counts bytes a second: make it larger, or `bs` smaller"));
            }
            if !bytes.is_multiple_of(block) {
                self.note("`rate` is no whole number of requests a second: it is rounded down");
            }
            self.rate = Some(self.rate.map_or(rate, |other| other.min(rate)));
        }
        spec.rate = self.rate;
        if spec.rate.is_some() && self.reads && self.writes {
            self.note(
                "fio limits reads and writes each to the rate; here it is the rate of both \
                together",
            );
        }
        Ok(())
    }

    fn duration(&mut self, spec: &mut Spec) {
        match self.runtime {
            Some(runtime) => spec.duration = runtime,
            None => self.note(format!(
                "there is no `runtime`: {} s are measured here, `--duration` sets another time",
                spec.duration.as_secs_f64()
            )),
        }
        if !self.time_based {
            self.note(
                "without `time_based`, fio ends when `size` is transferred; here it begins \
                again until the time is over",
            );
        }
    }
}
