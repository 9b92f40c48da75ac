//! `culprit diff BEFORE AFTER`: what changed between two recordings or two sets of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use culprit_engine::calls::{CallTree, Change, Diff, Index, NodeId, Side, changes};
use culprit_engine::own::OwnCode;
use culprit_engine::run_time::{RunSubject, RunTime};
use culprit_model::{Cause, Filter, Label as _, Metric, ProcessId, Recording, Text};
use culprit_report::json::DiffDocument;
use culprit_report::views::{
    Basis, DiffGroup, DiffView, Kind, Section, Sides, diff_text, functions, own_code_times,
};
use culprit_report::{filters, shown, svg};

use crate::args::DiffArgs;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::{files, fleet, load};

/// Rows of a table unless the user says otherwise.
const ROWS: usize = 15;

/// Values of one run by what is compared.
type Values = BTreeMap<Text, u64>;

/// What a run's values are: those of different kinds cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SideMetric {
    metric: Metric,
    /// Of run time, whose it is.
    subject: Option<&'static str>,
}

impl SideMetric {
    fn describe(self) -> String {
        let Self { metric, subject } = self;
        subject.map_or_else(|| format!("`{metric}`"), str::to_owned)
    }
}

/// One side's runs.
#[derive(Default)]
struct Runs {
    files: Vec<PathBuf>,
    trees: Vec<CallTree>,
    /// How many recordings the trees are of: a folder of tables has one tree.
    recordings: usize,
    kinds: BTreeSet<SideMetric>,
    /// The metrics that all of them have.
    metrics: Option<BTreeSet<Metric>>,
    /// What the last run's values are shares of.
    basis: Basis,
    sections: BTreeMap<DiffGroup, Vec<Values>>,
}

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
    let mut view = view(args, &filter, sides.0, sides.1);
    view.heading.push_str(&why);
    if let Some(path) = &args.output {
        files::write_whole(path, svg::diff_svg(&view).as_bytes())?;
        output.say(&format!("wrote {}", path.display()));
    } else if output.wants_json() {
        output.document(&DiffDocument::new(&view, filter.limit.unwrap_or(0)))?;
    } else {
        let text = diff_text(&view, filter.limit.unwrap_or(ROWS), output.layout());
        output.print(&text)?;
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

/// The metric to compare by where the sides' values are not of one kind, and why it is that one.
///
/// # Errors
/// When the sides have no metric in common, or the one that was asked for is none.
fn common_metric(
    asked: Option<Metric>,
    (before, after): &(Runs, Runs),
) -> Result<Option<(Metric, String)>, Failure> {
    let kinds: BTreeSet<SideMetric> = before.kinds.union(&after.kinds).copied().collect();
    // A folder of tables does not say whose run time it has.
    let known = kinds.iter().filter(|kind| kind.metric != Metric::Run || kind.subject.is_some());
    if kinds.len() < 2 || (kinds.iter().all(|kind| kind.metric == Metric::Run) && known.count() < 2)
    {
        return Ok(None);
    }
    let of = |runs: &Runs| {
        let kinds: Vec<String> = runs.kinds.iter().map(|kind| kind.describe()).collect();
        kinds.join(" and ")
    };
    let sides = format!("before, {}; after, {}", of(before), of(after));
    let metrics = |runs: &Runs| runs.metrics.clone().unwrap_or_default();
    let common = metrics(before).intersection(&metrics(after)).copied().min();
    match common {
        Some(_) if asked == Some(Metric::Run) => Err(Failure::bad_input(format!(
            "cannot compare run times, because the sides differ: {sides}"
        ))
        .hint("use `--metric wall`, which adds up the time of all threads")),
        Some(metric) => Ok(Some((metric, format!(", because the sides differ: {sides}")))),
        None => Err(Failure::bad_input(format!(
            "cannot compare: the recordings have no metric in common ({sides})"
        ))),
    }
}

/// The metrics that a recording has, the most general first.
fn metrics(recording: &Recording) -> BTreeSet<Metric> {
    let threads: &[Metric] = match recording.intervals.is_empty() {
        true => &[],
        false => &[Metric::Wall, Metric::Cpu, Metric::Blocked, Metric::Runnable],
    };
    let costs = recording.costs.iter().map(|cost| cost.metric);
    threads.iter().copied().chain(costs).filter(|metric| *metric != Metric::Run).collect()
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
) -> Result<Runs, Failure> {
    let mut runs = Runs::default();
    for file in files {
        let ComparedRun { tree, recordings, subject, metrics, basis, values } =
            one(file, filter, args, output)?;
        runs.recordings += recordings;
        runs.kinds.insert(SideMetric { metric: tree.metric(), subject });
        runs.metrics = Some(match runs.metrics {
            Some(known) => known.intersection(&metrics).copied().collect(),
            None => metrics,
        });
        runs.trees.push(tree);
        runs.basis = basis;
        for (by, values) in values {
            runs.sections.entry(by).or_default().push(values);
        }
    }
    Ok(Runs { files: files.to_vec(), ..runs })
}

/// One run's tree, and its values by everything that is compared.
struct ComparedRun {
    tree: CallTree,
    /// How many recordings it is of.
    recordings: usize,
    /// Of run time, whose it is.
    subject: Option<&'static str>,
    metrics: BTreeSet<Metric>,
    basis: Basis,
    values: Vec<(DiffGroup, Values)>,
}

fn one(
    file: &Path,
    filter: &Filter,
    args: &DiffArgs,
    output: &Output,
) -> Result<ComparedRun, Failure> {
    let (recording, recordings) = compared(file, filter, args, output)?;
    load::check_metric(&args.filter, &recording)?;
    let filter = load::fitted(&recording, filter)?;
    let run = shown::run_time(&recording, &filter)?;
    let index = Index::rooted(run.as_ref().map_or(&recording, |run| &run.recording), filter.root);
    // Folding by percentage is the difference's own, after both sides are put together.
    let whole = Filter { fold_pct: None, ..filter };
    let query = filters::query(&whole)?;
    let (tree, basis) = (index.tree(&query), shown::basis(&recording, run.as_ref(), &query));
    let own = OwnCode::new(&recording, &filters::patterns(&whole.own)?);
    let origins = own.by_name(&recording);
    let mut values = Vec::new();
    for by in &args.by {
        let found = match by {
            DiffGroup::Function => own_code_times(&tree, &origins),
            DiffGroup::Cause => causes(&tree),
            DiffGroup::Module => {
                let group = format!("{};{{%}}!->$1", whole.group);
                let modules = Filter { group, ..whole.clone() };
                own_times(&index.tree(&filters::query(&modules)?))
            }
            DiffGroup::Thread => starting(&tree, "Thread "),
            DiffGroup::Process => starting(&tree, "Process "),
            DiffGroup::Instance => {
                let apart = Filter { erase_ids: false, ..whole.clone() };
                instances(&recording, &index.tree(&filters::query(&apart)?))
            }
        };
        values.push((*by, found));
    }
    let subject = run.as_ref().map(subject);
    Ok(ComparedRun { tree, recordings, subject, metrics: metrics(&recording), basis, values })
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

/// Whose time a run time is.
fn subject(run: &RunTime) -> &'static str {
    match run.subject {
        RunSubject::Command => "run time of a command",
        RunSubject::Processes(_) => "run time of processes",
        RunSubject::Threads(_) => "run time of threads",
        RunSubject::Activities(_) => "time for activities",
        RunSubject::Service => "busy time of all threads",
    }
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

/// The time of processes by what tells instances apart in every recording.
fn instances(recording: &Recording, tree: &CallTree) -> Values {
    let labels = instance_labels(recording);
    let mut values: BTreeMap<Text, u64> = BTreeMap::new();
    for (name, value) in starting(tree, "Process ") {
        let label = labels.get(name.as_str()).map_or(name.clone(), |label| label.as_str().into());
        *values.entry(label).or_default() += value;
    }
    values.into_iter().collect()
}

/// For each process its command line, with a number where several processes have the same one.
fn instance_labels(recording: &Recording) -> BTreeMap<String, String> {
    let ids = (0..recording.processes.len()).map(ProcessId::from_index);
    let ids: Vec<ProcessId> = ids.filter(|id| recording.process(*id).recorded).collect();
    let line = |id: ProcessId| {
        let process = recording.process(id);
        match process.command_line.is_empty() {
            true => process.name.to_string(),
            false => process.command_line.to_string(),
        }
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for id in &ids {
        *counts.entry(line(*id)).or_default() += 1;
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let label = |id: &ProcessId| {
        let line = line(*id);
        let number = seen.entry(line.clone()).or_default();
        *number += 1;
        let several = counts.get(&line).is_some_and(|count| *count > 1);
        let label = if several { format!("{line} #{number}") } else { line };
        (recording.process_name(*id), label)
    };
    ids.iter().map(label).collect()
}

fn view(args: &DiffArgs, filter: &Filter, before: Runs, after: Runs) -> DiffView {
    let work = |at: usize| args.work.get(at).or(args.work.first());
    #[expect(clippy::cast_precision_loss, reason = "counts of runs are small")]
    let units =
        |runs: &Runs, at: usize| runs.recordings as f64 * work(at).map_or(1.0, |work| work.amount);
    let units = (units(&before, 0), units(&after, 1));
    let section = |by: &DiffGroup| {
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
