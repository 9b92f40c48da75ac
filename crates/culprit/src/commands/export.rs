//! `culprit export REC --to FMT`: what a filter keeps of a recording, as another profiler's file or
//! as a picture.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use culprit_engine::calls::{NodeId, select};
use culprit_exchange::{Error, Format, Profile};
use culprit_model::{Drill, Filter, Metric};
use culprit_report::json::{LeftOutJson, SCHEMA};
use culprit_report::views::Basis;
use culprit_report::{filters, shown, svg};
use serde::Serialize;

use crate::args::{ExportArgs, FilterArgs, Target};
use crate::failure::{Failure, Outcome};
use crate::fleet::StoreCounts;
use crate::output::Output;
use crate::{files, fleet, load};

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or the file cannot be written.
pub(crate) fn run(args: &ExportArgs, output: &mut Output) -> Result<Outcome, Failure> {
    if output.wants_json() && args.output.is_none() {
        return Err(Failure::bad_input("cannot print the export and the JSON: both need stdout")
            .hint("write the export to a file with `-o FILE`"));
    }
    match args.to {
        Target::Profile(format) => rows(args, format, output),
        Target::Svg => picture(args, output),
        Target::Tables => tables(args, output),
    }
}

/// A picture of the tree that `flame` shows.
fn picture(args: &ExportArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let view = load::view(&args.recording, &args.filter, output)?;
    let tree = &view.tree;
    let svg = svg::flame_svg(tree, &super::flame::title(&view));
    let metric = tree.metric();
    let rows = tree.node(NodeId::ROOT).count;
    let ends = tree.ended_below(NodeId::ROOT).map(|(node, ..)| node);
    let stacks = ends.collect::<BTreeSet<_>>().len();
    let counts = Counts { metric, of: view.heading(), total: tree.total(), rows, stacks };
    write(args, &counts, output, |out| out.write_all(svg.as_bytes()))?;
    Ok(Outcome::Done)
}

/// The tables of a folder's recordings.
fn tables(args: &ExportArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let Some(store) = &args.output else {
        return Err(Failure::bad_input("cannot print tables: they are a folder of files")
            .hint("name the folder to write with `-o STORE`"));
    };
    if !args.recording.is_folder()? || args.recording.by.is_some() {
        return Err(Failure::bad_input(
            "cannot export to tables: give a folder of recordings, without `--by`",
        )
        .hint("the tables have columns for host, image, version and day"));
    }
    let filter = args.filter.filter()?;
    let counts = fleet::write_store(&args.recording.recording, &filter, store, output)?;
    if output.wants_json() {
        output.document(&StoreDocument::new(store, &counts))?;
    } else {
        output.say(&format!(
            "{}: {}, {} rows of {} stacks",
            store.display(),
            culprit_model::counted(counts.recordings as u64, "recording"),
            counts.samples,
            counts.stacks
        ));
    }
    Ok(Outcome::Done)
}

/// What came of an export to tables, for programs.
#[derive(Debug, Serialize)]
struct StoreDocument {
    schema: u32,
    folder: String,
    recordings: usize,
    samples: usize,
    stacks: usize,
    left_out: Vec<LeftOutJson>,
}

impl StoreDocument {
    fn new(store: &Path, counts: &StoreCounts) -> Self {
        Self {
            schema: SCHEMA,
            folder: store.display().to_string(),
            recordings: counts.recordings,
            samples: counts.samples,
            stacks: counts.stacks,
            left_out: counts.left_out.iter().map(LeftOutJson::from).collect(),
        }
    }
}

/// What a filter keeps, row by row.
fn rows(args: &ExportArgs, format: Format, output: &mut Output) -> Result<Outcome, Failure> {
    let mut filter = row_filter(&args.filter, format)?;
    if filter.drill != Drill::No {
        return Err(Failure::bad_input(
            "cannot export with `--drill`: it limits views, not exported rows",
        )
        .hint("use `--inc PATTERN`: it keeps the stacks that contain a matching frame"));
    }
    if filter.fold_pct.take().is_some() {
        output.say("`--fold-pct` has no effect: the export contains complete stacks");
    }
    // Wrong patterns are told before a long recording is read.
    filters::query(&filter)?;
    let (recording, filter, sum) = if args.recording.is_folder()? {
        let (recording, facts) = load::folder_sum(&args.recording, &filter, output)?;
        (recording, fleet::without_selection(filter), Some(Basis::of_fleet(&facts)))
    } else {
        (load::recording(&args.recording.recording, output)?, filter, None)
    };
    load::check_metric(&args.filter, &recording)?;
    let filter = load::fitted(&recording, &filter)?;
    let query = filters::query(&filter)?;
    let run = shown::run_time(&recording, &filter)?;
    let basis = sum.unwrap_or_else(|| shown::basis(&recording, run.as_ref(), &query));
    let rows_of = run.as_ref().map_or(&recording, |run| &run.recording);
    let selection = select(rows_of, &query);
    let profile = Profile { recording: rows_of, metric: query.metric(), selection: &selection };
    if selection.rows.is_empty() {
        output.say(
            "the export is empty: the filter keeps no rows; `culprit top` with the same options \
             says why",
        );
    }
    let total = selection.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.value));
    let (rows, stacks) = (selection.rows.len() as u64, profile.sums().len());
    let threads: BTreeSet<_> = selection.rows.iter().filter_map(|row| row.thread).collect();
    let of = basis.heading_of(profile.metric, total, threads.len());
    let counts = Counts { metric: profile.metric, of, total, rows, stacks };
    write(args, &counts, output, |out| {
        culprit_exchange::write(&profile, format, out).map_err(|error| match error {
            // As it is, so that a reader who went away is known for that.
            Error::Write { source, .. } => source,
            error => io::Error::other(error),
        })
    })?;
    Ok(Outcome::Done)
}

/// What to keep: where nobody asks for a metric, the time of all threads if other profilers show each by
/// itself. Run time would be one thread there.
///
/// # Errors
/// When the time range is empty.
fn row_filter(args: &FilterArgs, format: Format) -> Result<Filter, Failure> {
    let usual = if format.keeps_threads() { Metric::Wall } else { Metric::Run };
    Ok(Filter { metric: args.metric.unwrap_or(usual), ..args.filter()? })
}

/// What is in the file.
struct Counts {
    metric: Metric,
    /// What the total is.
    of: String,
    total: u64,
    rows: u64,
    stacks: usize,
}

fn write(
    args: &ExportArgs,
    counts: &Counts,
    output: &mut Output,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let Some(path) = &args.output else {
        return output.print_by(write);
    };
    let progress = output.progress();
    progress.doing(format!("writing {}", path.display()));
    let written = files::write_by(path, write);
    progress.clear();
    written?;
    if output.wants_json() {
        return output.document(&Document::new(path, args, counts));
    }
    output.say(&format!("{}: {} rows as {}; {}", path.display(), counts.rows, args.to, counts.of));
    Ok(())
}

/// What came of it, for programs.
#[derive(Debug, Serialize)]
struct Document {
    schema: u32,
    file: String,
    format: String,
    metric: String,
    unit: &'static str,
    of: String,
    total: u64,
    rows: u64,
    stacks: usize,
}

impl Document {
    fn new(path: &Path, args: &ExportArgs, counts: &Counts) -> Self {
        let Counts { metric, total, rows, stacks, .. } = *counts;
        Self {
            schema: SCHEMA,
            file: path.display().to_string(),
            format: args.to.to_string(),
            metric: metric.to_string(),
            unit: metric.unit(),
            of: counts.of.clone(),
            total,
            rows,
            stacks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Command};
    use crate::settings::Settings;
    use crate::testing;

    /// The time in an export with these options, in ms.
    fn time(options: &str) -> u64 {
        let line = format!("culprit export x --to {options}");
        let cli = args::parse(&Settings::none(), line.split_whitespace()).unwrap();
        let Command::Export(args) = cli.command else { panic!("{line}") };
        let Target::Profile(format) = args.to else { panic!("{line}") };
        let recording = testing::recording();
        let filter = load::fitted(&recording, &row_filter(&args.filter, format).unwrap()).unwrap();
        let run = shown::run_time(&recording, &filter).unwrap();
        let rows_of = run.as_ref().map_or(&recording, |run| &run.recording);
        let rows = select(rows_of, &filters::query(&filter).unwrap()).rows;
        rows.iter().map(|row| row.value).sum::<u64>() / 1_000_000
    }

    #[test]
    fn an_export_has_all_threads_unless_run_time_is_asked_for() {
        for format in ["firefox", "chrome", "speedscope", "pprof", "perfview-xml"] {
            assert_eq!(time(format), 210, "{format}");
        }
        assert_eq!(time("firefox --metric cpu"), 70);
        assert_eq!(time("firefox --metric run"), 110);
        assert_eq!(time("collapsed"), 110);
    }
}
