//! Reads fio's job files, with its meanings and defaults (its `HOWTO`).
//!
//! Three steps: the text becomes the lines of one job, after what `[global]` says; lines become a
//! job; the job becomes a [`Definition`]. What cannot be done here is refused where it would
//! be another workload, and noted where it only changes details.

use std::time::Duration;

use super::definition::Definition;
use super::spec::{Access, Cache, Engine, HotSpot, Spec, size};
use crate::inside::Fault;

/// An option and its value, empty where there is none.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: usize,
    option: &'a str,
    value: &'a str,
}

impl Line<'_> {
    fn fault(&self, why: &str, hint: &str) -> Fault {
        let Line { number, option, value } = self;
        let equals = if value.is_empty() { "" } else { "=" };
        Fault::new(format!("line {number}: `{option}{equals}{value}` {why}")).hint(hint)
    }
}

/// Lines of the first job, after those of `[global]` that are valid for it.
#[derive(Debug, Default)]
struct Sections<'a> {
    lines: Vec<Line<'a>>,
    job: Option<&'a str>,
    others: Vec<&'a str>,
}

/// What a job file of fio does; the first job of it.
///
/// # Errors
/// When fio would refuse it, too, or it cannot be done here; the fault names the line.
pub fn parse(text: &str) -> Result<Definition, Fault> {
    let sections = sections(text)?;
    let Some(name) = sections.job else {
        return Err(Fault::new("the job file has no job")
            .hint("begin one with its name in brackets, such as `[job]`, below `[global]`"));
    };
    let mut job = Job::default();
    // Sizes depend on it, wherever it stands.
    for line in sections.lines.iter().filter(|line| line.option == "kb_base") {
        job.kilo = match line.value {
            "1000" => 1000,
            "1024" => 1024,
            _ => return Err(line.fault("is not understood", "it is 1000 or 1024")),
        };
    }
    for line in &sections.lines {
        job.take(*line)?;
    }
    if !sections.others.is_empty() {
        job.note(format!(
            "only the first job, `{name}`, is done: `{}` left out",
            sections.others.join("`, `")
        ));
    }
    job.claims.insert(0, name.to_owned());
    job.define()
}

fn sections(text: &str) -> Result<Sections<'_>, Fault> {
    let mut found = Sections::default();
    let mut global = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        // fio ends a line at either sign, also behind a value.
        let line = line.split(['#', ';']).next().unwrap_or_default().trim();
        let number = index + 1;
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let Some(name) = name.strip_suffix(']').filter(|name| !name.is_empty()) else {
                return Err(Fault::new(format!("line {number}: `{line}` is no name in brackets"))
                    .hint("close the bracket, such as `[job]`"));
            };
            global = name == "global";
            match found.job {
                _ if global => {}
                None => found.job = Some(name),
                Some(_) => found.others.push(name),
            }
            continue;
        }
        if found.job.is_none() && !global {
            return Err(Fault::new(format!("line {number}: `{line}` stands before any section"))
                .hint("put `[global]` or the name of a job in brackets above it"));
        }
        let (option, value) = line.split_once('=').unwrap_or((line, ""));
        let line = Line { number, option: option.trim(), value: value.trim() };
        if value.contains("${") {
            return Err(line.fault("needs an environment variable", "write the value itself"));
        }
        // What comes after the first job, also a later `[global]`, is not for it.
        if found.others.is_empty() && (!global || found.job.is_none()) {
            found.lines.push(line);
        }
    }
    Ok(found)
}

/// What the lines say, `None` where they say nothing.
#[derive(Debug)]
struct Job {
    kilo: u64,
    claims: Vec<String>,
    notes: Vec<String>,
    random: bool,
    /// Reads and writes, or only one of both.
    reads: bool,
    writes: bool,
    read_percent: u64,
    random_percent: u64,
    random_map: bool,
    block: u64,
    align: Option<u64>,
    size: Option<u64>,
    file_size: Option<u64>,
    stride: Option<u64>,
    depth: u32,
    engine: String,
    jobs: u32,
    direct: bool,
    through: bool,
    runtime: Option<Duration>,
    time_based: bool,
    ramp: Duration,
    rate: Option<u64>,
    bytes_rate: Option<u64>,
    hot: Vec<HotSpot>,
    file: Option<String>,
    directory: Option<String>,
    invalidate: bool,
    pre_read: bool,
    seed: Option<u64>,
}

impl Default for Job {
    /// fio's defaults on Linux.
    fn default() -> Self {
        Self {
            kilo: 1024,
            claims: Vec::new(),
            notes: Vec::new(),
            random: false,
            reads: true,
            writes: false,
            read_percent: 50,
            random_percent: 100,
            random_map: true,
            block: 4096,
            align: None,
            size: None,
            file_size: None,
            stride: None,
            depth: 1,
            engine: "libaio".to_owned(),
            jobs: 1,
            direct: false,
            through: false,
            runtime: None,
            time_based: false,
            ramp: Duration::ZERO,
            rate: None,
            bytes_rate: None,
            hot: Vec::new(),
            file: None,
            directory: None,
            invalidate: true,
            pre_read: false,
            seed: None,
        }
    }
}

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
    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn take(&mut self, line: Line<'_>) -> Result<(), Fault> {
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

impl Job {
    fn define(mut self) -> Result<Definition, Fault> {
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

#[cfg(test)]
mod tests {
    use super::super::definition::differences;
    use super::*;

    /// Lines of one job, parted by spaces.
    fn job(lines: &str) -> Result<Definition, Fault> {
        parse(&format!("[job]\nsize=64m\n{}\n", lines.replace(' ', "\n")))
    }

    fn spec(lines: &str) -> Spec {
        job(lines).unwrap_or_else(|fault| panic!("{lines}: {fault}")).spec
    }

    fn notes(lines: &str) -> String {
        job(lines).unwrap_or_else(|fault| panic!("{lines}: {fault}")).notes.join("; ")
    }

    fn refused(lines: &str) -> String {
        let fault = job(lines).expect_err(lines);
        assert!(fault.hint.is_some(), "{lines}: {fault}");
        fault.what
    }

    const FILE: &str = "; a comment\r\n[global]\r\nioengine=io_uring # inline\r\nbs=128k\r\n\
        iodepth = 16\r\nnumjobs=4\r\nsize=2g\r\nruntime=2m\r\ntime_based\r\nramp_time=2\r\n\
        group_reporting\r\n\r\n[random-reads]\r\nrw=randrw\r\nrwmixwrite=60\r\nfilename=/data/f\r\n\
        description=random reads of a disk\r\n[other]\r\nrw=trim\r\nnonsense=1\r\n[global]\r\nbs=1\r\n";

    #[test]
    fn a_whole_file() {
        let found = parse(FILE).unwrap();
        let expected = Spec {
            engine: Engine::IoUring,
            block: 128 << 10,
            threads: 4,
            depth: 16,
            access: Access::Random,
            write_share: 0.6,
            size: 2 << 30,
            warmup: Duration::from_secs(2),
            duration: Duration::from_secs(120),
            cooldown: Duration::ZERO,
            drop_cache: true,
            ..Spec::default()
        };
        assert_eq!(found.spec, expected);
        assert_eq!(found.target.as_deref(), Some("/data/f"));
        assert_eq!(found.claims, ["random-reads", "random reads of a disk"]);
        let notes = found.notes.join("; ");
        for part in ["`other` left out", "page cache", "covers each block once", "64 requests"] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        assert!(found.notes.iter().all(|note| !note.ends_with('.')));
        let told: Vec<_> =
            found.claims.iter().flat_map(|claim| differences(claim, &found.spec)).collect();
        assert!(told[0].contains("60 % of the requests are writes"), "{told:?}");
    }

    #[test]
    fn defaults_are_those_of_fio() {
        let found = spec("");
        assert_eq!((found.block, found.threads, found.depth), (4096, 1, 1));
        assert_eq!((found.access, found.cache), (Access::Sequential, Cache::Cached));
        assert_eq!((found.duration, found.warmup), (Spec::default().duration, Duration::ZERO));
        assert!(found.drop_cache && found.write_share.abs() < 1e-9);
        assert!(notes("").contains("no `runtime`"));
        assert!(notes("").contains("without `time_based`"));
        assert!(!notes("runtime=1 time_based").contains("runtime"));
        let found = parse("[a]").unwrap();
        assert!(found.notes.join(" ").contains("no `size`"));
    }

    #[test]
    fn directions_and_shares() {
        for (line, random, writes) in [
            ("rw=read", false, 0.0),
            ("readwrite=write", false, 1.0),
            ("rw=rw", false, 0.5),
            ("rw=readwrite rwmixread=70", false, 0.3),
            ("rw=randread", true, 0.0),
            ("rw=randwrite", true, 1.0),
            ("rw=randrw rwmixread=10 rwmixwrite=40", true, 0.4),
        ] {
            let found = spec(line);
            assert_eq!(found.access == Access::Random, random, "{line}");
            assert!((found.write_share - writes).abs() < 1e-9, "{line}");
        }
        assert!(notes("rw=randread rwmixread=70").contains("one direction only"));
        assert_eq!(spec("rw=randread percentage_random=30").access, Access::Mixed { random: 0.3 });
        assert_eq!(spec("rw=randread percentage_random=0").access, Access::Sequential);
        assert!(!notes("rw=randread norandommap").contains("twice"));
        for line in ["rw=trim", "rw=randtrim", "rw=randread:8", "rw=scan", "rwmixread=101", "rw="] {
            refused(line);
        }
    }

    #[test]
    fn sizes() {
        for (value, bytes) in [
            ("4096", 4096),
            ("4096b", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4ki", 4096),
            ("4KiB", 4000),
            ("1m", 1 << 20),
            ("4k,4k", 4096),
        ] {
            assert_eq!(spec(&format!("bs={value}")).block, bytes, "{value}");
        }
        assert!(notes("bs=4KiB").contains("counts 1000"));
        assert_eq!(spec("bs=4k kb_base=1000").block, 4000);
        assert_eq!(spec("kb_base=1000 bs=4kib").block, 4096);
        for value in [
            "4k,8k",
            "4k-64k",
            "4q",
            "k",
            "",
            "-1",
            "50%",
            "18446744073709551615k",
            "0x10",
            "4kß",
            "0",
        ] {
            refused(&format!("bs={value}"));
        }
        assert!(refused("bsrange=4k-64k").contains("several sizes"));
        refused("kb_base=7");
    }

    #[test]
    fn places() {
        let found = spec("filesize=1g size=256m");
        assert_eq!((found.size, found.working_set), (1 << 30, Some(256 << 20)));
        assert_eq!(spec("rw=randread ba=512").align, Some(512));
        assert_eq!(spec("rw=read ba=512").align, None);
        assert!(notes("offset=1m io_size=3m").contains("`io_size` is left out"));
        let target = |lines| job(lines).unwrap().target;
        assert_eq!(target("directory=/data filename=f").as_deref(), Some("/data/f"));
        assert_eq!(target("directory=/data").as_deref(), Some("/data"));
        assert_eq!(target(""), None);
        refused("size=1k");
        refused("nrfiles=3");
    }

    #[test]
    fn zones() {
        let spot = |requests, bytes| HotSpot { requests, bytes };
        let hot = spec("rw=randread random_distribution=zoned:60/10:30/20").hot;
        assert_eq!(hot, [spot(0.6, 0.1), spot(0.3, 0.2)]);
        let hot = spec("rw=randread random_distribution=zoned:50/25:50/").hot;
        assert_eq!(hot, [spot(0.5, 0.25), spot(0.5, 0.75)]);
        assert_eq!(spec("rw=randread random_distribution=random").hot, []);
        assert!(notes("rw=read random_distribution=zoned:60/10").contains("no effect"));
        for value in ["zipf:1.2", "pareto", "zoned:", "zoned:60", "zoned:a/b", "zoned:60/10,5/5"] {
            refused(&format!("rw=randread random_distribution={value}"));
        }
        refused("rw=randread random_distribution=zoned:60/10:60/10");
    }

    #[test]
    fn engines_and_caches() {
        for (lines, engine, depth) in [
            ("ioengine=libaio iodepth=8 direct=1", Engine::IoUring, 8),
            ("ioengine=io_uring iodepth=8", Engine::IoUring, 8),
            ("ioengine=posixaio iodepth=8", Engine::IoUring, 8),
            ("ioengine=psync iodepth=8", Engine::Psync, 1),
            ("ioengine=sync", Engine::Psync, 1),
            ("ioengine=pvsync2 iodepth=2", Engine::Psync, 1),
            ("ioengine=mmap iodepth=2", Engine::Mmap, 1),
        ] {
            let found = spec(lines);
            assert_eq!((found.engine, found.depth), (engine, depth), "{lines}");
        }
        assert!(notes("iodepth=8").contains("libaio without `direct=1` is not asynchronous"));
        assert!(!notes("iodepth=8 direct=1").contains("not asynchronous"));
        assert!(notes("ioengine=psync iodepth=8").contains("waits for each request"));
        for (lines, cache) in [
            ("direct=1", Cache::Direct),
            ("buffered=0", Cache::Direct),
            ("direct=1 buffered=1", Cache::Cached),
            ("sync=dsync", Cache::WriteThrough),
            ("sync=1 direct=1", Cache::DirectWriteThrough),
            ("sync=none", Cache::Cached),
        ] {
            assert_eq!(spec(lines).cache, cache, "{lines}");
        }
        assert!(!spec("direct=1").drop_cache && !spec("invalidate=0").drop_cache);
        assert!(!spec("pre_read=1").drop_cache);
        assert!(refused("rw=write fdatasync=1").contains("`fdatasync=1` is another workload"));
        assert!(job("rw=write fsync=0").is_ok());
        for lines in ["ioengine=rbd", "direct=1 ioengine=mmap", "sync=2", "direct=yes", "iodepth=0"]
        {
            refused(lines);
        }
    }

    #[test]
    fn times_and_rates() {
        for (value, time) in [
            ("10", Duration::from_secs(10)),
            ("10s", Duration::from_secs(10)),
            ("1m", Duration::from_mins(1)),
            ("500ms", Duration::from_millis(500)),
            ("7us", Duration::from_micros(7)),
        ] {
            assert_eq!(spec(&format!("runtime={value}")).duration, time, "{value}");
        }
        assert_eq!(spec("runtime=0").duration, Spec::default().duration);
        for value in ["", "s", "1x", "-1", "99999999999999999999", "5000000000", "213503982334602d"]
        {
            refused(&format!("runtime={value}"));
        }
        assert_eq!(spec("rate_iops=100").rate, Some(100));
        assert_eq!(spec("rate=1m bs=4k").rate, Some(256));
        assert_eq!(spec("rate=1m rate_iops=100").rate, Some(100));
        assert!(notes("rate=10000").contains("rounded"));
        assert!(notes("rw=rw rate_iops=9").contains("both together"));
        for lines in ["rate=1", "rate_iops=0", "rate_iops=1,2", "thinktime=5", "rate=9 bs=0"] {
            refused(lines);
        }
    }

    #[test]
    fn threads() {
        assert_eq!(spec("numjobs=4 offset_increment=1m").thread_stride, 1 << 20);
        assert!(notes("numjobs=4").contains("file of its own"));
        assert!(!notes("numjobs=4 filename=f").contains("file of its own"));
        assert!(notes("numjobs=4 offset_increment=1m rw=randread").contains("left out"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refused("frobnicate=1").contains("line 3: `frobnicate=1`"));
        assert!(refused("size=${SIZE}").contains("environment"));
        assert!(refused("verify=crc32c").contains("checked"));
        assert!(refused("numjobs=99999999999").contains("numjobs"));
        for text in ["", "\r\n", "# only a comment", "[global]\nbs=4k", "bs=4k\n[a]", "[a", "[]"] {
            assert!(parse(text).expect_err(text).hint.is_some(), "{text}");
        }
        assert!(parse("[a]\ninclude other.fio").unwrap_err().what.contains("another file"));
        // The last of several counts, and a job's own over the global one.
        assert_eq!(parse("[global]\nbs=4k\n[a]\nbs=8k\nbs=16k").unwrap().spec.block, 16 << 10);
        assert_eq!(parse("\u{feff}[a]\nsize=1g").unwrap().spec.size, 1 << 30);
        assert_eq!(spec("stonewall thread loops=3 randrepeat=0 randseed=5").seed, 5);
    }

    #[test]
    fn no_file_is_too_strange() {
        let letters: Vec<char> = "=[]\n\r#;:/,-%0189kmgstib \u{df}\u{130}".chars().collect();
        let mut seed = 1_u64;
        let mut throw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let more = "rate=1m\nrandom_distribution=zoned:60/10:30/20\nba=512\noffset_increment=1m\n";
        for _ in 0..20_000 {
            let mut text: Vec<char> =
                FILE.replace("[other]", more).replace("trim", "rw").chars().collect();
            for _ in 0..=throw(6) {
                let at = throw(text.len());
                match throw(3) {
                    0 => text[at] = letters[throw(letters.len())],
                    1 => drop(text.remove(at)),
                    _ => text.insert(at, letters[throw(letters.len())]),
                }
            }
            text.truncate(throw(text.len()) + 1);
            let text: String = text.into_iter().collect();
            if let Ok(found) = parse(&text) {
                assert!(found.spec.check().is_ok(), "{text}");
            }
        }
    }
}
