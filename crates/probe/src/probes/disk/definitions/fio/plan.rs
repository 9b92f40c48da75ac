//! A job becomes what is done here, with notes on where that is something else than fio would do.

use std::time::Duration;

use super::super::Definition;
use super::super::spec::{Access, Spec, size};
use super::{Job, Zones};
use crate::inside::Fault;

impl Job {
    pub(super) fn define(mut self) -> Result<Definition, Fault> {
        self.refuse()?;
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
        self.checks();
        for (reason, options) in std::mem::take(&mut self.left_out) {
            let are = if options.len() == 1 { "is" } else { "are" };
            self.notes.push(format!("`{}` {are} ignored: {reason}", options.join("`, `")));
        }
        let target = match (self.directory, self.file) {
            (Some(directory), Some(file)) => Some(format!("{directory}/{file}")),
            (directory, file) => file.or(directory),
        };
        if target.as_ref().is_some_and(|target| target.replace("\\:", "").contains(':')) {
            self.notes
                .push("in fio a colon separates several files; Culprit uses one file".to_owned());
        }
        Ok(Definition { spec, target, notes: self.notes })
    }

    /// What the job asks for that would change the result.
    fn refuse(&mut self) -> Result<(), Fault> {
        let faults = [
            self.writes_flushed.take().filter(|_| self.writes),
            self.reads_between_writes.take().filter(|_| self.writes && self.verify),
            self.several_files.take().filter(|_| !self.random),
            self.zoned.take().filter(|_| self.zones == Zones::Device && self.random && self.writes),
        ];
        faults.into_iter().flatten().next().map_or(Ok(()), Err)
    }

    /// What fio checks of the bytes, and what the target is like.
    fn checks(&mut self) {
        if self.verify && self.writes {
            let back = if self.reads_back { ", and reads all of it back at the end" } else { "" };
            self.note(format!(
                "`verify`: fio puts a checksum into each block that it writes{back}. Culprit does \
                 not check data"
            ));
        } else if self.verify {
            self.note(
                "`verify`: fio checks each block that it reads, which takes CPU time. Culprit \
                 does not check data",
            );
        }
        if self.zones == Zones::Device {
            self.note("`zonemode=zbd`: the file has no zones");
        }
        if self.files > 1 {
            self.note(format!(
                "fio uses {} files; Culprit uses one file of the same size",
                self.files
            ));
        }
    }

    fn order(&mut self, spec: &mut Spec) {
        if !self.random {
            spec.access = Access::Sequential;
            if self.skip > 0 {
                spec.align = Some(self.block.saturating_add(self.skip));
            }
            if !spec.hot.is_empty() {
                spec.hot.clear();
                self.note("`random_distribution` has no effect on sequential requests");
            }
            return;
        }
        spec.align = self.align.filter(|align| *align != self.block);
        #[expect(clippy::cast_precision_loss, reason = "a percentage and a small number")]
        let random = self.random_percent as f64 / 100.0 / self.new_offset_every as f64;
        spec.access = match self.random_percent {
            0 => Access::Sequential,
            100 if self.new_offset_every == 1 => Access::Random,
            _ => Access::Mixed { random },
        };
        if self.new_offset_every > 1 {
            self.note(format!(
                "one request in {} goes to a random offset: in fio exactly, in Culprit on average",
                self.new_offset_every
            ));
        }
        if self.random_map && spec.hot.is_empty() {
            self.note(
                "fio covers each block once before it repeats one, unless `norandommap` is set; \
                 Culprit may use a block twice",
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

    /// Size of the file and of the part that is used.
    fn place(&mut self, spec: &mut Spec) {
        if let Some(size) = self.file_size.or(self.size) {
            spec.size = size;
        } else {
            spec.size = spec.size.max(spec.block.saturating_mul(16));
            self.note(format!(
                "no `size`: Culprit uses {}; `--size` sets another size",
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
            self.note(
                "in fio each of `numjobs` has its own file; in Culprit all threads share one file",
            );
        }
        if spec.depth > 1 {
            self.note(format!(
                "`iodepth` counts for each of `numjobs`: {} requests are in flight",
                spec.in_flight()
            ));
        }
        match self.stride {
            Some(stride) if !self.random => spec.thread_stride = stride,
            Some(_) => self.note("`offset_increment` is ignored: all threads use the whole file"),
            None if self.random => {}
            None => {
                self.note("each thread starts at the start of the file, so all use the same blocks")
            }
        }
    }

    fn pace(&mut self, spec: &mut Spec) -> Result<(), Fault> {
        if let Some(bytes) = self.bytes_rate {
            // `check` would name it, but comes after this division.
            let block = spec.block.max(1);
            let rate = bytes / block;
            if rate == 0 {
                return Err(Fault::new("`rate` is less than one request per second").hint(
                    "`rate` counts bytes per second: give a larger `rate`, or a smaller `bs`",
                ));
            }
            if !bytes.is_multiple_of(block) {
                self.note("`rate` is rounded down to a whole number of requests per second");
            }
            self.rate = Some(self.rate.map_or(rate, |other| other.min(rate)));
        }
        spec.rate = self.rate;
        if spec.rate.is_some() && self.reads && self.writes {
            self.note(
                "fio limits reads to the rate and writes to the rate; Culprit limits both \
                 together to the rate",
            );
        }
        Ok(())
    }

    fn duration(&mut self, spec: &mut Spec) {
        match self.runtime {
            Some(runtime) => spec.duration = runtime,
            None => self.note(format!(
                "no `runtime`: Culprit measures {} s; `--duration` sets another time",
                spec.duration.as_secs_f64()
            )),
        }
        if !self.time_based {
            self.note(
                "without `time_based`, fio ends when `size` is transferred; Culprit starts again \
                 until the time is over",
            );
        }
    }
}
