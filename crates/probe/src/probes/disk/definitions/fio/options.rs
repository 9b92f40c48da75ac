//! What each option of a job means: it sets a part of the [`Job`], has no effect here, or is refused with
//! the line's number.

use std::time::Duration;

use super::super::spec::HotSpot;
use super::not_done::{HARMLESS, left_out, refuse};
use super::{Job, Line, Zones};
use crate::inside::Fault;

impl Job {
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds an option to those that are left out for a reason.
    pub(super) fn leave_out(&mut self, option: &str, reason: &'static str) {
        let known = self.left_out.iter().position(|(other, _)| *other == reason);
        let at = known.unwrap_or_else(|| {
            self.left_out.push((reason, Vec::new()));
            self.left_out.len() - 1
        });
        let options = &mut self.left_out[at].1;
        if !options.iter().any(|other| other == option) {
            options.push(option.to_owned());
        }
    }

    pub(super) fn take(&mut self, line: Line<'_>) -> Result<(), Fault> {
        // The values of these do not matter.
        match line.option {
            "name" | "description" => return Ok(()),
            "filename" => self.file = Some(line.value.to_owned()),
            "directory" => self.directory = Some(line.value.to_owned()),
            option if HARMLESS.contains(&option) => {}
            option => match left_out(option).or_else(|| self.of_engine(line)) {
                Some(reason) => self.leave_out(option, reason),
                None => {
                    line.needs_no_environment()?;
                    return self.set(line);
                }
            },
        }
        Ok(())
    }

    fn set(&mut self, line: Line<'_>) -> Result<(), Fault> {
        match line.option {
            // They were read before the others.
            "rw" | "readwrite" | "ioengine" => {}
            "rw_sequencer" => self.sequencer(line)?,
            "rwmixread" => self.read_percent = self.percentage(line)?,
            "rwmixwrite" => self.read_percent = 100 - self.percentage(line)?,
            "percentage_random" => self.random_percent = self.percentage(line)?,
            "random_distribution" => self.distribution(line)?,
            "norandommap" => self.random_map = !flag(line)?,
            "bs" | "blocksize" => self.block = self.bytes(line)?,
            "bsrange" | "blocksize_range" => self.block = self.only_size(line, '-')?,
            "bssplit" => self.block = self.only_size(line, ':')?,
            "ba" | "blockalign" => self.align = Some(self.bytes(line)?),
            "size" if line.value == "100%" => self.size = None,
            "size" => self.size = Some(self.bytes(line)?),
            "filesize" => self.file_size = Some(self.bytes(line)?),
            "offset_increment" => self.stride = Some(self.bytes(line)?),
            "iodepth" => self.depth = self.count(line)?,
            "numjobs" => self.jobs = self.count(line)?,
            "direct" => self.direct = flag(line)?,
            "buffered" => self.direct = !flag(line)?,
            "sync" => self.sync(line)?,
            "fsync" | "fdatasync" | "write_barrier" | "sync_file_range" => self.flush(line)?,
            "runtime" | "timeout" => self.runtime = Some(time(line)?).filter(|t| !t.is_zero()),
            "time_based" => self.time_based = flag(line)?,
            "ramp_time" => self.ramp = time(line)?,
            "rate_iops" => self.rate = Some(u64::from(self.count(line)?)),
            "rate" => self.bytes_rate = Some(self.bytes(line)?),
            "rate_process" if line.value == "linear" => {}
            "rate_process" => {
                return Err(line.fault(
                    "starts requests at random times, which Culprit cannot do",
                    "use `linear`; latencies count from the planned time",
                ));
            }
            "invalidate" => self.invalidate = flag(line)?,
            "pre_read" => self.pre_read = flag(line)?,
            "randseed" => self.seed = Some(number(line, line.value)?),
            "nrfiles" | "nr_files" => self.number_of_files(line)?,
            "verify" => self.verify = !matches!(line.value, "0" | "none"),
            "do_verify" => self.reads_back = flag(line)?,
            "verify_backlog" => {
                let between = line.fault(
                    "reads back the written data between the writes: Culprit does not check data",
                    "remove it, or mix reads and writes with `rw=randrw`",
                );
                self.reads_between_writes = (line.value != "0").then_some(between);
            }
            "zonemode" => self.zonemode(line)?,
            _ => return refuse(line),
        }
        Ok(())
    }

    pub(super) fn direction(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let (direction, modifier) = match line.value.split_once(':') {
            Some((direction, modifier)) => (direction, Some(modifier)),
            None => (line.value, None),
        };
        (self.random, self.reads, self.writes) = match direction {
            "read" => (false, true, false),
            "write" => (false, false, true),
            "rw" | "readwrite" => (false, true, true),
            "randread" => (true, true, false),
            "randwrite" => (true, false, true),
            "randrw" => (true, true, true),
            other if other.contains("trim") => {
                return Err(line.fault(
                    "is not supported: Culprit does not trim",
                    "use a direction such as `rw=randread` or `rw=randwrite`",
                ));
            }
            _ => {
                return Err(line.fault(
                    "is not understood",
                    "use read, write, rw, randread, randwrite or randrw",
                ));
            }
        };
        (self.new_offset_every, self.skip) = (1, 0);
        match modifier {
            None => {}
            Some(modifier) if self.random => {
                self.new_offset_every = number(line, modifier)?;
                if self.new_offset_every == 0 {
                    return Err(line.fault("is not understood", "give at least 1 after the colon"));
                }
            }
            Some(modifier) if modifier.starts_with('-') => {
                return Err(line.fault(
                    "goes backwards through the file, which Culprit cannot do",
                    "remove the colon and the number after it, to go forwards",
                ));
            }
            Some(modifier) => self.skip = self.size_of(line, modifier)?,
        }
        Ok(())
    }

    fn sequencer(&self, line: Line<'_>) -> Result<(), Fault> {
        match line.value {
            "sequential" => Ok(()),
            "identical" if self.new_offset_every == 1 && self.skip == 0 => Ok(()),
            "identical" => Err(line.fault(
                "repeats the same block again and again, which Culprit cannot do",
                "remove it, or remove the number in `rw`",
            )),
            _ => Err(line.fault("is not understood", "use sequential or identical")),
        }
    }

    fn number_of_files(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let several =
            line.fault("takes turns between several files", "Culprit uses one file: remove it");
        self.files = self.count(line)?;
        self.several_files = (self.files > 1).then_some(several);
        Ok(())
    }

    fn zonemode(&mut self, line: Line<'_>) -> Result<(), Fault> {
        self.zones = match line.value {
            "none" => Zones::None,
            "zbd" => Zones::Device,
            "strided" => {
                return Err(line.fault(
                    "goes through zone after zone, which Culprit cannot do",
                    "remove it; `culprit bench disk --working-set` uses a part of the file",
                ));
            }
            _ => return Err(line.fault("is not understood", "use none or zbd")),
        };
        self.zoned = Some(line.fault(
            "makes random writes sequential within each zone, which Culprit cannot do",
            "use `rw=write`, or leave it out",
        ));
        Ok(())
    }

    /// The size of all requests, where a range or a list has only one.
    fn only_size(&mut self, line: Line<'_>, between: char) -> Result<u64, Fault> {
        let several =
            || line.fault("asks for requests of several sizes", "give one size with `bs`");
        let value = self.one_value(line)?.to_owned();
        let mut sizes = Vec::new();
        for part in value.split(between) {
            let size = part.split('/').next().unwrap_or_default();
            sizes.push(self.size_of(line, size)?);
        }
        let first = sizes.first().copied().ok_or_else(several)?;
        if sizes.iter().any(|size| *size != first) { Err(several()) } else { Ok(first) }
    }

    fn sync(&mut self, line: Line<'_>) -> Result<(), Fault> {
        self.through = match line.value {
            "0" | "none" => false,
            "dsync" => true,
            "" | "1" | "sync" => {
                self.note(
                    "`sync=1` is O_SYNC in fio, which also waits for all metadata of the file; \
                     Culprit uses O_DSYNC",
                );
                true
            }
            _ => return Err(line.fault("is not understood", "use none, sync or dsync")),
        };
        Ok(())
    }

    fn flush(&mut self, line: Line<'_>) -> Result<(), Fault> {
        if line.option != "sync_file_range" {
            number::<u32>(line, line.value)?;
        }
        if line.value != "0" {
            self.writes_flushed = Some(line.fault(
                "is another workload: Culprit does not flush between writes",
                "use `sync=dsync`: each write waits for the disk",
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
        let wrong = || line.fault("is not understood", "give zones such as `zoned:60/10:30/20`");
        let Some(zones) = line.value.strip_prefix("zoned:") else {
            return Err(line.fault(
                "is not supported",
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
        let value = self.one_value(line)?.to_owned();
        self.size_of(line, &value)
    }

    /// The same, of a part of a line's value.
    fn size_of(&mut self, line: Line<'_>, value: &str) -> Result<u64, Fault> {
        let value = value.to_ascii_lowercase();
        let wrong =
            || line.fault("is not a size", "give a number of bytes, such as `4096`, `4k` or `1g`");
        let digits = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
        let (digits, unit) = value.split_at(digits);
        if unit == "%" {
            return Err(line.fault("is a share of a file of unknown size", "give it in bytes"));
        }
        if unit.starts_with('-') {
            return Err(line.fault("is a range, which Culprit cannot do", "give one size"));
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
            self.note(format!("fio counts 1000 per unit step in `{}={value}`", line.option));
        }
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        base.checked_pow(power).and_then(|unit| number.checked_mul(unit)).ok_or_else(wrong)
    }

    /// The value, where it is the same for reads and writes or only one of them counts.
    fn one_value<'a>(&mut self, line: Line<'a>) -> Result<&'a str, Fault> {
        let mut values = line.value.split(',');
        let reads = values.next().unwrap_or_default();
        let writes = values.next().unwrap_or(reads);
        if reads == writes {
            return Ok(reads);
        }
        let (value, does) = match (self.reads, self.writes) {
            (true, false) => (reads, "reads"),
            (false, true) => (writes, "writes"),
            _ => {
                return Err(
                    line.fault("has several values, which Culprit cannot do", "give one value")
                );
            }
        };
        let Line { option, value: all, .. } = line;
        self.note(format!("of `{option}={all}` only `{value}` counts: the job only {does}"));
        Ok(value)
    }

    fn count(&mut self, line: Line<'_>) -> Result<u32, Fault> {
        match number(line, self.one_value(line)?)? {
            0 => Err(line.fault("does nothing", "give at least 1")),
            count => Ok(count),
        }
    }

    fn percentage(&mut self, line: Line<'_>) -> Result<u64, Fault> {
        match number(line, self.one_value(line)?)? {
            percent @ 0..=100 => Ok(percent),
            _ => Err(line.fault("is not a percentage", "give a number between 0 and 100")),
        }
    }
}

fn number<T: std::str::FromStr>(line: Line<'_>, value: &str) -> Result<T, Fault> {
    let digits = value.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.then(|| value.parse().ok()).flatten();
    number.ok_or_else(|| line.fault("is not a valid whole number", "give a smaller whole number"))
}

/// An option without a value is on.
fn flag(line: Line<'_>) -> Result<bool, Fault> {
    match line.value {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(line.fault("is not understood", "give 0 or 1")),
    }
}

/// Seconds where there is no unit. fio counts seconds in 32 bits; nobody waits longer.
fn time(line: Line<'_>) -> Result<Duration, Fault> {
    let wrong = || {
        line.fault("is not a time", "give a number of seconds, or a time such as `2m` or `500ms`")
    };
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
