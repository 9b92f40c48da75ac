//! What each option of a job means: it sets a part of the [`Job`], or is refused with the line's number.

use std::time::Duration;

use super::super::spec::HotSpot;
use super::{Job, Line};
use crate::inside::Fault;

/// Options about output, order of jobs, file making and other things that are no part of the load.
const HARMLESS: &[&str] = &[
    "allrandrepeat",
    "bwavgtime",
    "clat_percentiles",
    "continue_on_error",
    "create_fsync",
    "create_on_open",
    "create_serialize",
    "disable_bw",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "exitall",
    "fallocate",
    "file_service_type",
    "filename_format",
    "group_reporting",
    "gtod_reduce",
    "iopsavgtime",
    "kb_base",
    "lat_percentiles",
    "log_avg_msec",
    "log_hist_msec",
    "loops",
    "new_group",
    "overwrite",
    "percentile_list",
    "per_job_logs",
    "randrepeat",
    "slat_percentiles",
    "stonewall",
    "thread",
    "unified_rw_reporting",
    "unit_base",
    "unlink",
    "wait_for_previous",
    "write_bw_log",
    "write_hist_log",
    "write_iops_log",
    "write_lat_log",
];

/// Options that change how a request is made, but hardly the workload.
const LEFT_OUT: &[&str] = &[
    "buffer_compress_percentage",
    "buffer_pattern",
    "cpus_allowed",
    "cpus_allowed_policy",
    "dedupe_percentage",
    "end_fsync",
    "fadvise_hint",
    "fixedbufs",
    "fsync_on_close",
    "hipri",
    "io_limit",
    "io_size",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_batch_submit",
    "iodepth_low",
    "iomem",
    "iomem_align",
    "mem",
    "nice",
    "nonvectored",
    "number_ios",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "offset",
    "prio",
    "prioclass",
    "random_generator",
    "refill_buffers",
    "registerfiles",
    "scramble_buffers",
    "softrandommap",
    "sqthread_poll",
    "startdelay",
    "zero_buffers",
];

impl Job {
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn take(&mut self, line: Line<'_>) -> Result<(), Fault> {
        match line.option {
            "rw" | "readwrite" => self.direction(line)?,
            "rwmixread" => self.read_percent = percentage(line)?,
            "rwmixwrite" => self.read_percent = 100 - percentage(line)?,
            "percentage_random" => self.random_percent = percentage(line)?,
            "random_distribution" => self.distribution(line)?,
            "norandommap" => self.random_map = !flag(line)?,
            "bs" | "blocksize" => self.block = self.bytes(line)?,
            "ba" | "blockalign" => self.align = Some(self.bytes(line)?),
            "size" => self.size = Some(self.bytes(line)?),
            "filesize" => self.file_size = Some(self.bytes(line)?),
            "offset_increment" => self.stride = Some(self.bytes(line)?),
            "iodepth" => self.depth = count(line)?,
            "ioengine" => line.value.clone_into(&mut self.engine),
            "numjobs" => self.jobs = count(line)?,
            "direct" => self.direct = flag(line)?,
            "buffered" => self.direct = !flag(line)?,
            "sync" => self.sync(line)?,
            "fsync" | "fdatasync" => self.flush(line)?,
            "runtime" | "timeout" => self.runtime = Some(time(line)?).filter(|t| !t.is_zero()),
            "time_based" => self.time_based = flag(line)?,
            "ramp_time" => self.ramp = time(line)?,
            "rate_iops" => self.rate = Some(u64::from(count(line)?)),
            "rate" => self.bytes_rate = Some(self.bytes(line)?),
            "name" | "description" => self.claims.push(line.value.to_owned()),
            "filename" => self.file = Some(line.value.to_owned()),
            "directory" => self.directory = Some(line.value.to_owned()),
            "invalidate" => self.invalidate = flag(line)?,
            "pre_read" => self.pre_read = flag(line)?,
            "randseed" => self.seed = Some(number(line, line.value)?),
            "nrfiles" if line.value == "1" => {}
            option if HARMLESS.contains(&option) => {}
            option if LEFT_OUT.contains(&option) => {
                self.note(format!("`{option}` is left out here"));
            }
            _ => return Err(unknown(line)),
        }
        Ok(())
    }

    fn direction(&mut self, line: Line<'_>) -> Result<(), Fault> {
        (self.random, self.reads, self.writes) = match line.value {
            "read" => (false, true, false),
            "write" => (false, false, true),
            "rw" | "readwrite" => (false, true, true),
            "randread" => (true, true, false),
            "randwrite" => (true, false, true),
            "randrw" => (true, true, true),
            other if other.contains("trim") => {
                return Err(line.fault("cannot be done: nothing is trimmed here", "read or write"));
            }
            other if other.contains(':') => {
                return Err(line.fault(
                    "has a number of its own, which cannot be done here",
                    "leave the colon and what follows out",
                ));
            }
            _ => {
                return Err(line.fault(
                    "is not understood",
                    "it is one of read, write, rw, randread, randwrite, randrw",
                ));
            }
        };
        Ok(())
    }

    fn sync(&mut self, line: Line<'_>) -> Result<(), Fault> {
        self.through = match line.value {
            "0" | "none" => false,
            "dsync" => true,
            "" | "1" | "sync" => {
                self.note(
                    "`sync=1` is O_SYNC in fio, which also waits for all of the file's \
                    metadata; here it is O_DSYNC",
                );
                true
            }
            _ => return Err(line.fault("is not understood", "it is one of none, sync, dsync")),
        };
        Ok(())
    }

    fn flush(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let every: u32 = number(line, line.value)?;
        if every > 0 {
            return Err(line.fault(
                "is another workload: nothing is flushed between writes here",
                "with `sync=dsync` each write waits for the disk",
            ));
        }
        Ok(())
    }

    /// `zoned:60/10:30/20:10/`: what has no size gets the rest of the file.
    fn distribution(&mut self, line: Line<'_>) -> Result<(), Fault> {
        self.hot.clear();
        if line.value == "random" {
            return Ok(());
        }
        let wrong = || line.fault("is not understood", "zones look like `zoned:60/10:30/20`");
        let Some(zones) = line.value.strip_prefix("zoned:") else {
            return Err(line.fault(
                "cannot be done here",
                "use `random`, or `zoned:` with shares of requests and file",
            ));
        };
        let share = |text: &str| match text.parse::<u8>() {
            Ok(share) if share <= 100 => Ok(f64::from(share) / 100.0),
            _ => Err(wrong()),
        };
        for zone in zones.split(':').filter(|zone| !zone.is_empty()) {
            let (requests, part) = zone.split_once('/').ok_or_else(wrong)?;
            let used: f64 = self.hot.iter().map(|spot| spot.bytes).sum();
            let bytes = if part.is_empty() { (1.0 - used).max(0.0) } else { share(part)? };
            self.hot.push(HotSpot { requests: share(requests)?, bytes });
        }
        if self.hot.is_empty() { Err(wrong()) } else { Ok(()) }
    }

    /// Bytes; `k` and its like depend on `kb_base`, `kib` has the other base of both.
    fn bytes(&mut self, line: Line<'_>) -> Result<u64, Fault> {
        let value = one_value(line)?.to_ascii_lowercase();
        let wrong = || {
            line.fault("is no size", "a size is a number of bytes, such as `4096`, `4k` or `1g`")
        };
        let digits = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
        let (digits, unit) = value.split_at(digits);
        if unit == "%" {
            return Err(line.fault("is a share of an unknown file", "give it in bytes"));
        }
        if unit.starts_with('-') {
            return Err(line.fault("is a range, which cannot be done here", "give one size"));
        }
        let power = match unit.chars().next() {
            None => 0,
            Some('b') if unit == "b" => 0,
            Some(letter) => {
                let powers = "kmgtp".chars().zip(1_u32..);
                powers.clone().find(|(name, _)| *name == letter).ok_or_else(wrong)?.1
            }
        };
        let base = match unit.get(1..).unwrap_or_default() {
            "ib" => 2024 - self.kilo,
            "" | "b" | "i" => self.kilo,
            _ => return Err(wrong()),
        };
        if power > 0 && base == 1000 {
            self.note(format!(
                "fio counts 1000 for each step of the unit in `{}={value}`",
                line.option
            ));
        }
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        base.checked_pow(power).and_then(|unit| number.checked_mul(unit)).ok_or_else(wrong)
    }
}

fn unknown(line: Line<'_>) -> Fault {
    match line.option {
        "bsrange" | "blocksize_range" | "bssplit" => {
            line.fault("asks for requests of several sizes", "give one size with `bs`")
        }
        "thinktime" | "thinktime_blocks" | "rate_process" | "rate_min" | "latency_target" => line
            .fault(
                "cannot be done here",
                "leave it out; `rate_iops` limits how fast requests begin",
            ),
        option if option.starts_with("include ") => {
            line.fault("reads another file", "put its lines here")
        }
        option if option.starts_with("verify") => {
            line.fault("cannot be done: nothing is checked here", "leave it out")
        }
        "nrfiles" | "opendir" | "file_size" => {
            line.fault("asks for several files", "one file is used here: leave it out")
        }
        _ => line.fault("is not known here", "remove the line if the workload does not need it"),
    }
}

/// The value, where it is the same for reads and writes.
fn one_value(line: Line<'_>) -> Result<&str, Fault> {
    let first = line.value.split(',').next().unwrap_or_default();
    if line.value.split(',').any(|value| value != first) {
        return Err(line.fault("has several values, which cannot be done here", "give one value"));
    }
    Ok(first)
}

fn number<T: std::str::FromStr>(line: Line<'_>, value: &str) -> Result<T, Fault> {
    let digits = value.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.then(|| value.parse().ok()).flatten();
    number.ok_or_else(|| line.fault("is no whole number", "give one that is not too large"))
}

fn count(line: Line<'_>) -> Result<u32, Fault> {
    match number(line, one_value(line)?)? {
        0 => Err(line.fault("does nothing", "it is 1 at least")),
        count => Ok(count),
    }
}

fn percentage(line: Line<'_>) -> Result<u64, Fault> {
    match number(line, one_value(line)?)? {
        percent @ 0..=100 => Ok(percent),
        _ => Err(line.fault("is no percentage", "it is between 0 and 100")),
    }
}

/// An option without a value is on.
fn flag(line: Line<'_>) -> Result<bool, Fault> {
    match line.value {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(line.fault("is not understood", "it is 0 or 1")),
    }
}

/// Seconds where there is no unit. fio counts seconds in 32 bits; nobody waits longer.
fn time(line: Line<'_>) -> Result<Duration, Fault> {
    let wrong =
        || line.fault("is no time", "a time is a number of seconds, or such as `2m`, `500ms`");
    let value = line.value.to_ascii_lowercase();
    let digits = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let (digits, unit) = value.split_at(digits);
    let micros: u64 = match unit {
        "us" => 1,
        "ms" => 1_000,
        "" | "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let time = number.checked_mul(micros).map(Duration::from_micros).ok_or_else(wrong)?;
    if time.as_secs() > u64::from(u32::MAX) { Err(wrong()) } else { Ok(time) }
}
