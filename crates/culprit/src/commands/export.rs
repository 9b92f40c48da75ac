//! `culprit export REC --to FMT`: what a filter keeps of a recording, as another profiler's file.

use std::path::Path;

use culprit_engine::calls::{Selection, Source, select};
use culprit_exchange::{NodeKind, Profile, Row, Tree};
use culprit_model::{Drill, Metric, Recording};
use serde::Serialize;

use crate::args::ExportArgs;
use crate::failure::{Failure, Outcome, chain};
use crate::json::SCHEMA;
use crate::output::Output;
use crate::{files, load};

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or the file cannot be written.
pub(crate) fn run(args: &ExportArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let mut filter = args.filter.filter()?;
    if output.wants_json() && args.output.is_none() {
        return Err(Failure::bad_input("export with `--json`: stdout is the file's")
            .hint("`-o FILE` writes it to a file"));
    }
    if filter.drill != Drill::No {
        return Err(Failure::bad_input("export: `--drill` narrows views, not rows")
            .hint("`--inc PATTERN` keeps the stacks in which a frame stands"));
    }
    if filter.fold_pct.take().is_some() {
        output.say("`--fold-pct` folds trees; what is exported has all its stacks");
    }
    // Wrong patterns are told before a long recording is read.
    load::query(&filter)?;
    let recording = load::recording(&args.recording.recording, output)?;
    let query = load::query_for(&recording, &filter)?;
    let profile = profile(&recording, query.metric(), &select(&recording, &query));
    if profile.rows.is_empty() {
        output.say("nothing is left to export: `culprit top` with the same options says why");
    }
    write(args, &profile, output)?;
    Ok(Outcome::Done)
}

fn write(args: &ExportArgs, profile: &Profile<'_>, output: &mut Output) -> Result<(), Failure> {
    let Some(path) = &args.output else {
        let mut bytes = Vec::new();
        culprit_exchange::write(profile, args.to, &mut bytes)
            .map_err(|error| Failure::refused(chain(&error)))?;
        return output.print_bytes(&bytes);
    };
    let progress = output.progress();
    progress.doing(format!("writing {}", path.display()));
    let written = files::write_by(path, |out| {
        culprit_exchange::write(profile, args.to, out).map_err(std::io::Error::other)
    });
    progress.clear();
    written?;
    if output.wants_json() {
        return output.document(&Document::new(path, args, profile));
    }
    output.say(&format!("{}: {} rows as {}", path.display(), profile.rows.len(), args.to));
    Ok(())
}

fn profile<'a>(recording: &'a Recording, metric: Metric, selection: &Selection) -> Profile<'a> {
    let mut tree = Tree::default();
    let mut nodes = Vec::with_capacity(selection.steps.len());
    for step in &selection.steps {
        let parent = step.parent.and_then(|at| nodes.get(at as usize).copied());
        nodes.push(tree.child(parent, &step.name, kind(step.source)));
    }
    let rows = selection.rows.iter().map(|row| Row {
        time: row.time,
        duration: row.duration,
        thread: row.thread,
        leaf: row.leaf.and_then(|at| nodes.get(at as usize).copied()),
        value: row.value,
        count: row.count,
    });
    let rows = rows.collect();
    Profile { recording, metric, tree, rows }
}

fn kind(source: Source) -> NodeKind {
    match source {
        Source::Process(id) => NodeKind::Process(id),
        Source::Thread(id) => NodeKind::Thread(id),
        Source::Frame(id) => NodeKind::Frame(id),
        Source::Cause(cause) => NodeKind::Cause(cause),
        Source::Activities(_) | Source::Activity(_) | Source::Other => NodeKind::Other,
    }
}

/// What came of it, for programs.
#[derive(Debug, Serialize)]
struct Document {
    schema: u32,
    file: String,
    format: String,
    metric: String,
    unit: &'static str,
    total: u64,
    rows: usize,
    stacks: usize,
}

impl Document {
    fn new(path: &Path, args: &ExportArgs, profile: &Profile<'_>) -> Self {
        Self {
            schema: SCHEMA,
            file: path.display().to_string(),
            format: args.to.to_string(),
            metric: profile.metric.to_string(),
            unit: profile.metric.unit(),
            total: profile.rows.iter().fold(0, |sum, row| sum.saturating_add(row.value)),
            rows: profile.rows.len(),
            stacks: profile.sums().len(),
        }
    }
}
