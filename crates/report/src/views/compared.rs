//! The two sides of a difference: the trees of their runs, and what these come to by cause, function, module, thread
//! and process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use culprit_engine::calls::{CallTree, Change, Diff, Index, NodeId, Side, by_name, changes};
use culprit_engine::own::OwnCode;
use culprit_engine::run_time::{RunSubject, RunTime};
use culprit_model::{Cause, Filter, Label as _, Metric, ProcessId, Recording, Text};

use super::{Basis, DiffGroup, DiffView, Kind, Section, Sides, functions, own_code_times};
use crate::Error;
use crate::filters::{fitted, patterns, query};
use crate::shown::{basis, run_time};

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
#[derive(Debug, Default)]
pub struct DiffRuns {
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

impl DiffRuns {
    /// Adds the run of a file.
    pub fn add(&mut self, file: PathBuf, run: DiffRun) {
        let DiffRun { tree, recordings, subject, metrics, basis, values } = run;
        self.files.push(file);
        self.recordings += recordings;
        self.kinds.insert(SideMetric { metric: tree.metric(), subject });
        self.metrics = Some(match self.metrics.take() {
            Some(known) => known.intersection(&metrics).copied().collect(),
            None => metrics,
        });
        self.trees.push(tree);
        self.basis = basis;
        for (by, values) in values {
            self.sections.entry(by).or_default().push(values);
        }
    }
}

/// One run's tree, and its values by everything that is compared.
#[derive(Debug)]
pub struct DiffRun {
    tree: CallTree,
    /// How many recordings it is of.
    recordings: usize,
    /// Of run time, whose it is.
    subject: Option<&'static str>,
    metrics: BTreeSet<Metric>,
    basis: Basis,
    values: Vec<(DiffGroup, Values)>,
}

impl DiffRun {
    /// What a filter without presets keeps of a recording, which is the sum of `recordings`. Folding by percentage
    /// is left to the difference: there it is after both sides are put together.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn new(
        recording: &Recording,
        recordings: usize,
        filter: &Filter,
        groups: &[DiffGroup],
    ) -> Result<Self, Error> {
        let filter = fitted(recording, recording.main_metric(), filter);
        let run = run_time(recording, &filter)?;
        let index =
            Index::rooted(run.as_ref().map_or(recording, |run| &run.recording), filter.root);
        let whole = Filter { fold_pct: None, ..filter };
        let query = query(&whole)?;
        let (tree, basis) = (index.tree(&query), basis(recording, run.as_ref(), &query));
        let own = OwnCode::new(recording, &patterns(&whole.own)?);
        let origins = own.by_name(recording);
        let of = |by: &DiffGroup| -> Result<(DiffGroup, Values), Error> {
            let values = match by {
                DiffGroup::Function => own_code_times(&tree, &origins),
                _ => values(*by, recording, &index, (&tree, &whole))?,
            };
            Ok((*by, values))
        };
        let values = groups.iter().map(of).collect::<Result<_, _>>()?;
        let subject = run.as_ref().map(subject);
        Ok(Self { tree, recordings, subject, metrics: metrics(recording), basis, values })
    }
}

/// The values of a tree, which a filter has left of an index, by a group.
fn values(
    by: DiffGroup,
    recording: &Recording,
    index: &Arc<Index>,
    (tree, whole): (&CallTree, &Filter),
) -> Result<Values, Error> {
    Ok(match by {
        DiffGroup::Function => own_times(tree),
        DiffGroup::Cause => causes(tree),
        DiffGroup::Module => {
            let group = format!("{};{{%}}!->$1", whole.group);
            let modules = Filter { group, ..whole.clone() };
            own_times(&index.tree(&query(&modules)?))
        }
        DiffGroup::Thread => starting(tree, "Thread "),
        DiffGroup::Process => starting(tree, "Process "),
        DiffGroup::Instance => {
            let apart = Filter { erase_ids: false, ..whole.clone() };
            instances(recording, &index.tree(&query(&apart)?))
        }
    })
}

/// The metric to compare by where the sides' values are not of one kind, and why it is that one; none where they are.
///
/// # Errors
/// When the sides have no metric in common, or the one that was asked for is none.
pub fn common_metric(
    asked: Option<Metric>,
    (before, after): &(DiffRuns, DiffRuns),
) -> Result<Option<(Metric, String)>, Error> {
    let kinds: BTreeSet<SideMetric> = before.kinds.union(&after.kinds).copied().collect();
    // A folder of tables does not say whose run time it has.
    let known = kinds.iter().filter(|kind| kind.metric != Metric::Run || kind.subject.is_some());
    if kinds.len() < 2 || (kinds.iter().all(|kind| kind.metric == Metric::Run) && known.count() < 2)
    {
        return Ok(None);
    }
    let of = |runs: &DiffRuns| {
        let kinds: Vec<String> = runs.kinds.iter().map(|kind| kind.describe()).collect();
        kinds.join(" and ")
    };
    let sides = format!("before, {}; after, {}", of(before), of(after));
    let metrics = |runs: &DiffRuns| runs.metrics.clone().unwrap_or_default();
    let common = metrics(before).intersection(&metrics(after)).copied().min();
    match common {
        Some(_) if asked == Some(Metric::Run) => Err(Error::OtherRunTimes(sides)),
        Some(metric) => Ok(Some((metric, format!(", because the sides differ: {sides}")))),
        None => Err(Error::NoCommonMetric(sides)),
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
    let rows = by_name(tree).into_iter();
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

/// How the sides of a difference are put side by side.
#[derive(Debug)]
pub struct DiffScale {
    /// How many units of work a run of each side does.
    pub work: (f64, f64),
    /// What the unit is called.
    pub unit_of_work: String,
    /// Nodes below this percentage are folded into their callers.
    pub fold_pct: Option<f64>,
}

impl DiffView {
    /// The difference of two sides, with a table for each group.
    #[must_use]
    pub fn new(
        groups: &[DiffGroup],
        scale: DiffScale,
        (before, after): (DiffRuns, DiffRuns),
    ) -> Self {
        let DiffScale { work, unit_of_work, fold_pct } = scale;
        #[expect(clippy::cast_precision_loss, reason = "counts of runs are small")]
        let units = (before.recordings as f64 * work.0, after.recordings as f64 * work.1);
        let section = |by: &DiffGroup| {
            let of = |runs: &DiffRuns| runs.sections.get(by).cloned().unwrap_or_default();
            let rows: Vec<Change> = changes(&of(&before), &of(&after), units);
            Section { by: *by, rows }
        };
        let sections = groups.iter().map(section).collect();
        let basis = after.basis;
        let side = |trees: Vec<CallTree>, units| Side { runs: trees, units };
        let diff = Diff::of(&side(before.trees, units.0), &side(after.trees, units.1));
        let diff = match fold_pct {
            Some(pct) if pct > 0.0 => diff.fold_small(pct),
            _ => diff,
        };
        Self {
            heading: basis.heading_per(diff.metric(), &unit_of_work),
            diff,
            sections,
            unit_of_work,
            sides: Sides { before: before.files, after: after.files, units },
        }
    }
}
