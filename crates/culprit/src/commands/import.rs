//! `culprit import FILE`: a recording from another profiler's file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use culprit_exchange::{Error, Imported};
use culprit_experiment::stem;
use culprit_model::Recording;
use culprit_report::json::SCHEMA;
use serde::Serialize;

use crate::args::ImportArgs;
use crate::failure::{Failure, Outcome, chain};
use crate::files;
use crate::output::{Output, clean};
use crate::pool;

/// Runs it.
///
/// # Errors
/// When the file is of no known format or unreadable, or when the recording cannot be written.
pub(crate) fn run(args: &ImportArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let target = args.output.clone().unwrap_or_else(|| unused(&args.file));
    files::replaceable(&target, args.force)?;
    pool::ready();
    let Imported { format, mut recording } = read(args, output)?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let facts = [("imported from", name), ("format", format.to_string())];
    recording.meta.place_facts.extend(facts.map(|(fact, value)| (fact.to_owned(), value)));
    if recording.intervals.is_empty() && !recording.switches.is_empty() {
        culprit_engine::threads::build(&mut recording);
    }
    culprit_engine::activities::build(&mut recording);
    culprit_recording::write(&target, &recording)
        .map_err(|error| Failure::refused(chain(&error)))?;
    if output.wants_json() {
        output.document(&Document::new(&target, &format.to_string(), &recording))?;
    } else {
        output.say(&summary(&target, &format.to_string(), &recording));
    }
    Ok(Outcome::Done)
}

/// `a.culprit` of `a.folded`; `a-1.culprit` where that is taken.
fn unused(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = stem(name.split('.').find(|part| !part.is_empty()).unwrap_or("import"));
    let first = PathBuf::from(format!("{stem}.culprit"));
    if first.exists() { files::unused(&stem, ".culprit") } else { first }
}

fn read(args: &ImportArgs, output: &Output) -> Result<Imported, Failure> {
    let progress = output.progress();
    let mut tell = |done: u64, of: u64| {
        progress.doing(format!("reading: {} of {} MiB", done >> 20, of >> 20));
    };
    let read = culprit_exchange::read(&args.file, args.format, &mut tell);
    progress.clear();
    read.map_err(|error| not_read(&args.file, &error))
}

fn not_read(file: &Path, error: &Error) -> Failure {
    if matches!(error, Error::Unrecognised { .. }) && culprit_recording::open(file).is_ok() {
        let file = file.display();
        return Failure::bad_input(format!(
            "cannot import `{file}`: it is already a Culprit recording"
        ))
        .hint(format!("open it with `culprit report {file}`"));
    }
    Failure::bad_input(chain(error)).hints(error.hint())
}

fn metrics(recording: &Recording) -> Vec<String> {
    let found: BTreeSet<_> = recording.costs.iter().map(|cost| cost.metric).collect();
    let timed = if recording.intervals.is_empty() { &[][..] } else { &["run", "wall"] };
    let mut words: Vec<String> = timed.iter().map(|word| (*word).to_owned()).collect();
    words.extend(found.into_iter().map(|metric| metric.to_string()));
    words.dedup();
    words
}

/// How many samples the rows of the main metric stand for: a line of folded stacks may be thousands.
fn samples(recording: &Recording) -> u64 {
    let main = recording.main_metric();
    let rows = recording.costs.iter().filter(|cost| cost.metric == main);
    rows.fold(recording.samples.len() as u64, |sum, cost| sum.saturating_add(cost.count))
}

/// What came of it, for people.
fn summary(path: &Path, format: &str, recording: &Recording) -> String {
    let mut text = format!(
        "{}: {} samples and {} intervals, {} threads, {} stacks, {} long, read as {format}; \
         metrics: {}{}",
        clean(&path.display().to_string()),
        samples(recording),
        recording.intervals.len(),
        recording.threads.len(),
        recording.stacks.len(),
        recording.meta.wall,
        metrics(recording).join(", "),
        match recording.activities.len() {
            0 => String::new(),
            count => format!("; {count} activities"),
        },
    );
    for loss in &recording.losses {
        let (kind, detail) = (loss.kind, clean(&loss.detail));
        text.push_str(&format!("\n{kind}: {} ({detail}); {}", loss.count, kind.advice()));
    }
    text
}

/// What came of it, for programs.
#[derive(Debug, Serialize)]
struct Document {
    schema: u32,
    recording: String,
    format: String,
    wall_ns: u64,
    threads: usize,
    stacks: usize,
    samples: u64,
    activities: usize,
    intervals: usize,
    metrics: Vec<String>,
    losses: Vec<LossRow>,
}

#[derive(Debug, Serialize)]
struct LossRow {
    kind: String,
    count: u64,
    detail: String,
}

impl Document {
    fn new(path: &Path, format: &str, recording: &Recording) -> Self {
        let losses = recording.losses.iter().map(|loss| LossRow {
            kind: loss.kind.to_string(),
            count: loss.count,
            detail: loss.detail.to_string(),
        });
        Self {
            schema: SCHEMA,
            recording: path.display().to_string(),
            format: format.to_owned(),
            wall_ns: recording.meta.wall.0,
            threads: recording.threads.len(),
            stacks: recording.stacks.len(),
            samples: samples(recording),
            activities: recording.activities.len(),
            intervals: recording.intervals.len(),
            metrics: metrics(recording),
            losses: losses.collect(),
        }
    }
}
