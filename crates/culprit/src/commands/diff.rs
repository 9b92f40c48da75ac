//! `culprit diff BEFORE AFTER`: what changed between two recordings or two sets of them.

use std::path::{Path, PathBuf};

use culprit_model::{Filter, Recording};
use culprit_report::json::DiffDocument;
use culprit_report::svg;
use culprit_report::views::{DiffRun, DiffRuns, DiffScale, DiffView, common_metric, diff_text};

use crate::args::DiffArgs;
use crate::failure::{Failure, Outcome};
use crate::output::{Layout, Output};
use crate::{files, fleet, load, presets};

/// Rows of a table unless the user says otherwise.
const ROWS: usize = 15;

/// Runs it.
///
/// # Errors
/// When a recording or an option cannot be read, or the picture cannot be written.
pub(crate) fn run(args: &DiffArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (before, after) = sets(args, output)?;
    let mut filter = Filter { erase_ids: true, ..args.filter.filter()? };
    let read = |files: &[PathBuf], filter: &Filter| read(files, filter, args, output);
    let mut sides = (read(&before, &filter)?, read(&after, &filter)?);
    let mut why = String::new();
    if let Some((metric, because)) = common_metric(args.filter.metric, &sides)? {
        filter.metric = metric;
        why = because;
        sides = (read(&before, &filter)?, read(&after, &filter)?);
    }
    let mut view = DiffView::new(&args.by, scale(args, &filter), sides);
    view.heading.push_str(&why);
    if let Some(path) = &args.output {
        files::write_whole(path, svg::diff_svg(&view).as_bytes())?;
        output.say(&format!("wrote {}", path.display()));
    } else {
        let document = || DiffDocument::new(&view, filter.limit.unwrap_or(0));
        let text = |layout: &Layout| diff_text(&view, filter.limit.unwrap_or(ROWS), layout);
        output.show(document, text)?;
    }
    Ok(Outcome::Done)
}

/// The recordings of both sides.
fn sets(args: &DiffArgs, output: &Output) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    let (before, after) = match (&args.recordings[..], &args.before[..], &args.after[..]) {
        ([before, after], [], []) => (vec![before.clone()], vec![after.clone()]),
        ([], before, after) if !before.is_empty() && !after.is_empty() => {
            (before.to_vec(), after.to_vec())
        }
        _ => {
            return Err(Failure::bad_input(
                "cannot compare: give two sides, each with at least one recording",
            )
            .hint("type `culprit diff BEFORE AFTER`, or `culprit diff --before A B --after C D`"));
        }
    };
    if args.engine.engine.is_some() {
        before.iter().chain(&after).try_for_each(|path| args.engine.check(path))?;
    }
    Ok((expanded(before, output)?, expanded(after, output)?))
}

/// Folders stand for the recordings in them, in the order of their names. Those that cannot be opened
/// are left out with a warning. A folder of tables stands for itself.
fn expanded(paths: Vec<PathBuf>, output: &Output) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() && !fleet::is_tables(&path) {
            true => found.append(&mut fleet::readable(&path, output)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

fn read(
    files: &[PathBuf],
    filter: &Filter,
    args: &DiffArgs,
    output: &Output,
) -> Result<DiffRuns, Failure> {
    let mut runs = DiffRuns::default();
    for file in files {
        let (recording, recordings) = compared(file, filter, args, output)?;
        load::check_metric(&args.filter, &recording)?;
        let filter = presets::applied(&recording, filter)?;
        runs.add(file.clone(), DiffRun::new(&recording, recordings, &filter, &args.by)?);
    }
    Ok(runs)
}

/// A recording, or the sum of a folder of tables with the number of its recordings.
fn compared(
    file: &Path,
    filter: &Filter,
    args: &DiffArgs,
    output: &Output,
) -> Result<(Recording, usize), Failure> {
    if !fleet::is_tables(file) {
        return Ok((load::recording(file, output)?, 1));
    }
    let (recording, facts) = fleet::add_up_tables(file, None, (filter, &args.engine), output)?;
    Ok((recording, facts.recordings))
}

/// How the sides are put side by side: the first amount of work stands for both where it is the only one.
fn scale(args: &DiffArgs, filter: &Filter) -> DiffScale {
    let work = |at: usize| args.work.get(at).or(args.work.first());
    let amount = |at: usize| work(at).map_or(1.0, |work| work.amount);
    DiffScale {
        work: (amount(0), amount(1)),
        unit_of_work: work(0).map_or("run".to_owned(), |work| work.unit.clone()),
        fold_pct: filter.fold_pct,
    }
}
