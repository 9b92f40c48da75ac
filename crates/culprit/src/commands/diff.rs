//! `culprit diff BEFORE AFTER`: what changed between two recordings or two sets of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use culprit_engine::calls::{CallTree, Change, Diff, Index, NodeId, Side, changes};
use culprit_engine::own::OwnCode;
use culprit_model::{Cause, Filter, Label as _, Text};

use crate::args::{By, DiffArgs};
use crate::failure::{Context as _, Failure, Outcome};
use crate::json::DiffDocument;
use crate::output::Output;
use crate::views::{Basis, DiffView, Kind, Section, Sides, diff_text, functions, own_code_times};
use crate::{files, load, svg};

/// Rows of a table unless the user says otherwise.
const ROWS: usize = 15;

/// Values of one run by what is compared.
type Values = BTreeMap<Text, u64>;

/// One side's runs.
#[derive(Default)]
struct Runs {
    files: Vec<PathBuf>,
    trees: Vec<CallTree>,
    /// What the last run's values are shares of.
    basis: Basis,
    sections: BTreeMap<By, Vec<Values>>,
}

/// Runs it.
///
/// # Errors
/// When a recording or an option cannot be read, or the picture cannot be written.
pub(crate) fn run(args: &DiffArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (before, after) = sets(args)?;
    let filter = Filter { erase_ids: true, ..args.filter.filter()? };
    let (before, after) =
        (read(before, &filter, args, output)?, read(after, &filter, args, output)?);
    let view = view(args, &filter, before, after);
    if let Some(path) = &args.output {
        files::write_whole(path, svg::diff_svg(&view).as_bytes())?;
        output.say(&format!("wrote {}", path.display()));
    } else if output.wants_json() {
        output.document(&DiffDocument::new(&view, filter.limit.unwrap_or(0)))?;
    } else {
        let text = diff_text(&view, filter.limit.unwrap_or(ROWS), output);
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}

/// The recordings of both sides.
fn sets(args: &DiffArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
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
    Ok((expanded(before)?, expanded(after)?))
}

/// Folders stand for the recordings in them, in the order of their names.
fn expanded(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path);
            continue;
        }
        let entries = std::fs::read_dir(&path)
            .or_bad_input(|| format!("cannot read the folder `{}`", path.display()))?;
        let mut inside: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|file| file.extension().is_some_and(|ending| ending == "culprit"))
            .collect();
        if inside.is_empty() {
            return Err(Failure::bad_input(format!(
                "cannot compare the folder `{}`: it contains no recording (`*.culprit`)",
                path.display()
            )));
        }
        inside.sort();
        found.append(&mut inside);
    }
    Ok(found)
}

fn read(
    files: Vec<PathBuf>,
    filter: &Filter,
    args: &DiffArgs,
    output: &Output,
) -> Result<Runs, Failure> {
    let mut runs = Runs::default();
    for file in &files {
        let ComparedRun { tree, basis, values } = one(file, filter, args, output)?;
        runs.trees.push(tree);
        runs.basis = basis;
        for (by, values) in values {
            runs.sections.entry(by).or_default().push(values);
        }
    }
    Ok(Runs { files, ..runs })
}

/// One run's tree, and its values by everything that is compared.
struct ComparedRun {
    tree: CallTree,
    basis: Basis,
    values: Vec<(By, Values)>,
}

fn one(
    file: &Path,
    filter: &Filter,
    args: &DiffArgs,
    output: &Output,
) -> Result<ComparedRun, Failure> {
    let recording = load::recording(file, output)?;
    load::check_metric(&args.filter, &recording)?;
    let filter = load::fitted(&recording, filter)?;
    let run = load::run_time(&recording, &filter)?;
    let index = Index::rooted(run.as_ref().map_or(&recording, |run| &run.recording), filter.root);
    // Folding by percentage is the difference's own, after both sides are put together.
    let whole = Filter { fold_pct: None, ..filter };
    let query = load::query(&whole)?;
    let (tree, basis) = (index.tree(&query), load::basis(&recording, run.as_ref(), &query));
    let own = OwnCode::new(&recording, &load::patterns(&whole.own)?);
    let origins = own.by_name(&recording);
    let mut values = Vec::new();
    for by in &args.by {
        let found = match by {
            By::Function => own_code_times(&tree, &origins),
            By::Cause => causes(&tree),
            By::Module => {
                let group = format!("{};{{%}}!->$1", whole.group);
                let modules = Filter { group, ..whole.clone() };
                own_times(&index.tree(&load::query(&modules)?))
            }
            By::Thread => starting(&tree, "Thread "),
            By::Process => starting(&tree, "Process "),
        };
        values.push((*by, found));
    }
    Ok(ComparedRun { tree, basis, values })
}

fn own_times(tree: &CallTree) -> Values {
    let rows = functions(tree).into_iter();
    let places = rows.filter(|row| row.own > 0 && row.kind == Kind::Function);
    places.map(|row| (Text::from(row.name), row.own)).collect()
}

fn causes(tree: &CallTree) -> Values {
    let named = |(cause, value): (Cause, u64)| (Text::from(cause.word()), value);
    tree.causes(NodeId::ROOT).into_iter().map(named).collect()
}

fn starting(tree: &CallTree, kind: &str) -> Values {
    let rows = culprit_engine::calls::by_name(tree).into_iter();
    rows.filter_map(|row| row.name.strip_prefix(kind).map(|name| (Text::from(name), row.inc)))
        .collect()
}

fn view(args: &DiffArgs, filter: &Filter, before: Runs, after: Runs) -> DiffView {
    let work = |at: usize| args.work.get(at).or(args.work.first());
    #[expect(clippy::cast_precision_loss, reason = "counts of runs are small")]
    let units =
        |runs: &Runs, at: usize| runs.trees.len() as f64 * work(at).map_or(1.0, |work| work.amount);
    let units = (units(&before, 0), units(&after, 1));
    let section = |by: &By| {
        let of = |runs: &Runs| runs.sections.get(by).cloned().unwrap_or_default();
        let rows: Vec<Change> = changes(&of(&before), &of(&after), units);
        Section { by: *by, rows }
    };
    let sections = args.by.iter().map(section).collect();
    let basis = after.basis;
    let side = |trees: Vec<CallTree>, units| Side { runs: trees, units };
    let diff = Diff::of(&side(before.trees, units.0), &side(after.trees, units.1));
    let diff = match filter.fold_pct {
        Some(pct) if pct > 0.0 => diff.fold_small(pct),
        _ => diff,
    };
    let unit_of_work = work(0).map_or("run".to_owned(), |work| work.unit.clone());
    DiffView {
        heading: basis.heading_per(diff.metric(), &unit_of_work),
        diff,
        sections,
        unit_of_work,
        sides: Sides { before: before.files, after: after.files, units },
    }
}
