//! Reads fio's job files, with its meanings and defaults (its `HOWTO`).
//!
//! Three steps: the text becomes the lines of one job, after what `[global]` says (here); lines become
//! a job (`options`); the job becomes a [`Definition`] (`plan`, with the engines of `engines`). An option
//! that would change the result is refused. An option that changes only details is named in a note.

#[cfg(test)]
mod corpus;
mod engines;
mod not_done;
mod options;
mod plan;

use std::time::Duration;

use super::Definition;
use super::spec::HotSpot;
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

    /// fio would put a variable's value in.
    fn needs_no_environment(&self) -> Result<(), Fault> {
        if self.value.contains("${") {
            return Err(
                self.fault("needs an environment variable", "replace the variable with its value")
            );
        }
        Ok(())
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
            .hint("start a job with its name in brackets, such as `[job]`, below `[global]`"));
    };
    let mut job = Job::default();
    let mut engine = None;
    // Sizes depend on `kb_base`, values for reads and writes on `rw`, and some options on the engine,
    // wherever they stand.
    for line in &sections.lines {
        match (line.option, line.value) {
            ("kb_base", "1000") => job.kilo = 1000,
            ("kb_base", "1024") => job.kilo = 1024,
            ("kb_base", _) => {
                return Err(line.fault("is not understood", "give 1000 or 1024"));
            }
            ("rw" | "readwrite", _) => {
                line.needs_no_environment()?;
                job.direction(*line)?;
            }
            ("ioengine", _) => engine = Some(*line),
            _ => {}
        }
    }
    // The last one counts. Where it is refused, its options are no mistakes.
    if let Some(line) = engine {
        job.choose_engine(line)?;
    }
    for line in &sections.lines {
        job.take(*line)?;
    }
    if !sections.others.is_empty() {
        job.note(format!(
            "Culprit runs only the first job, `{name}`: `{}` ignored",
            sections.others.join("`, `")
        ));
    }
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
                return Err(Fault::new(format!(
                    "line {number}: the bracket of `{line}` is not closed, or it has no name"
                ))
                .hint("write a name in brackets, such as `[job]`"));
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
            return Err(Fault::new(format!(
                "line {number}: `{line}` comes before the first section"
            ))
            .hint("put `[global]` or the name of a job in brackets above it"));
        }
        let (option, value) = line.split_once('=').unwrap_or((line, ""));
        let line = Line { number, option: option.trim(), value: value.trim() };
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
    notes: Vec<String>,
    /// What is left out, by the reason: see [`not_done::left_out`].
    left_out: Vec<(&'static str, Vec<String>)>,
    random: bool,
    /// Of random requests only one in so many goes somewhere new.
    new_offset_every: u64,
    /// Bytes that sequential requests skip between each other.
    skip: u64,
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
    /// The engine, and the number of its line.
    engine: Option<(String, usize)>,
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
    /// Whether what is written gets a checksum, and what is read is checked.
    verify: bool,
    /// Whether all that was written is read back at the end.
    reads_back: bool,
    zones: Zones,
    files: u32,
    /// Refused where the job writes.
    writes_flushed: Option<Fault>,
    /// Refused where the job writes and checks.
    reads_between_writes: Option<Fault>,
    /// Refused where the job does not go to random places.
    several_files: Option<Fault>,
    /// Refused where random writes go to zones.
    zoned: Option<Fault>,
}

/// What `zonemode` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zones {
    None,
    /// Those of the device.
    Device,
}

impl Default for Job {
    /// fio's defaults on Linux.
    fn default() -> Self {
        Self {
            kilo: 1024,
            notes: Vec::new(),
            left_out: Vec::new(),
            random: false,
            new_offset_every: 1,
            skip: 0,
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
            engine: None,
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
            verify: false,
            reads_back: true,
            zones: Zones::None,
            files: 1,
            writes_flushed: None,
            reads_between_writes: None,
            several_files: None,
            zoned: None,
        }
    }
}

#[cfg(test)]
mod tests;
