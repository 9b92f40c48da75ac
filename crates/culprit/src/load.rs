//! Opening a recording: read it, and build the intervals of one whose recorder never finished it.
//!
//! A recorder writes its rows with their names as it goes, so what a killed one left shows in the
//! same way as a whole recording; its loss ledger says where it ends.

use std::path::Path;
use std::sync::Arc;

use culprit_engine::calls::{CallTree, Index};
use culprit_engine::losses;
use culprit_findings::Report;
use culprit_model::{CostColumns, Filter, Metric, Recording, main_metric};
use culprit_recording::Opened;
use culprit_report::filters::{self, narrows, query};
use culprit_report::shown::{self, basis, run_time};
use culprit_report::views::{
    Basis, FleetFacts, NothingToShow, Variances, no_run_time, nothing_to_show,
};
use culprit_report::{Digest, View};

use crate::args::{FilterArgs, RecordingsArg};
use crate::failure::Failure;
use crate::output::Output;
use crate::{fleet, pool, presets};

/// The recording at `path`, with its intervals; what is missing of it is said on stderr first.
///
/// # Errors
/// When the file is none, is of a later version, or cannot be read.
pub(crate) fn recording(path: &Path, output: &Output) -> Result<Recording, Failure> {
    pool::ready();
    let opened = culprit_recording::open(path).map_err(|error| not_opened(path, &error))?;
    Ok(built(path, opened, output))
}

/// An opened recording with its intervals; what is missing of it is said on stderr.
fn built(path: &Path, opened: Opened, output: &Output) -> Recording {
    let recording = with_intervals(opened);
    if let Some(warning) = losses::warning(path, &losses::lines(&recording.losses)) {
        output.warn(&warning);
    }
    recording
}

/// An opened recording with its intervals.
pub(crate) fn with_intervals(opened: Opened) -> Recording {
    let mut recording = opened.recording;
    culprit_engine::threads::build_missing(&mut recording, opened.unfinished.is_some());
    recording
}

/// A recording that was read for a view.
struct LoadedRecording {
    /// What views do not look at need not be in it.
    recording: Recording,
    /// Its index, where its rows were read by column.
    index: Option<Arc<Index>>,
    main: Metric,
    /// The variances of values that were estimated.
    variances: Option<Variances>,
    /// Of a folder of recordings, what the sum is made of.
    fleet: Option<FleetFacts>,
}

/// All of the recording at `path`.
fn whole(path: &Path, given: &Filter, output: &Output) -> Result<LoadedRecording, Failure> {
    Ok(LoadedRecording::of_rows(recording(path, output)?, given))
}

impl LoadedRecording {
    fn of_rows(recording: Recording, given: &Filter) -> Self {
        let main = recording.main_metric();
        let variances = if recording.costs.iter().any(|row| row.variance.is_some()) {
            let costs = CostColumns::of(&recording.costs);
            Variances::of(&recording, &costs, (shown_metric(given, main), given.root))
        } else {
            None
        };
        Self { recording, index: None, main, variances, fleet: None }
    }
}

/// The metric that a filter shows of a recording with this one of its own.
fn shown_metric(given: &Filter, main: Metric) -> Metric {
    if given.metric == Metric::Wall { main } else { given.metric }
}

/// What views look at of the recording at `path`.
fn indexed(path: &Path, given: &Filter, output: &Output) -> Result<LoadedRecording, Failure> {
    pool::ready();
    let opened = culprit_recording::open_for_views(path);
    let opened = opened.map_err(|error| not_opened(path, &error))?;
    let recording = built(path, opened.opened, output);
    // A recorder that was killed has stored switches, and no intervals: these are built from them.
    let stored = opened.columns.filter(|c| !c.0.is_empty() || recording.switches.is_empty());
    let Some((intervals, costs)) = stored else {
        return Ok(LoadedRecording::of_rows(recording, given));
    };
    let timed = !(intervals.is_empty() && recording.switches.is_empty());
    let main = main_metric(timed, costs.metric.iter().copied());
    let variances = Variances::of(&recording, &costs, (shown_metric(given, main), given.root));
    let index = Some(Index::of_columns(&recording, intervals, costs, given.root));
    Ok(LoadedRecording { recording, index, main, variances, fleet: None })
}

fn not_opened(path: &Path, error: &culprit_recording::Error) -> Failure {
    let failure = Failure::bad_input(crate::failure::chain(error));
    if path.is_dir() {
        return failure.hint(
            "this command takes one recording; `top`, `tree`, `callers`, `callees`, `butterfly`, `flame`, \
             `source`, `export`, `findings` and `diff` also take folders of recordings",
        );
    }
    if !path.exists() {
        return failure.hint("make a recording with `culprit record -- CMD`");
    }
    let foreign = culprit_exchange::format_of(path);
    let hint = |format| format!("`culprit import {}` imports it as {format}", path.display());
    failure.hints(foreign.map(hint))
}

/// The call tree of what a filter keeps of a recording's own rows; with the metric `run`, of all
/// thread time.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn tree(recording: &Recording, filter: &Filter) -> Result<CallTree, Failure> {
    Ok(shown::tree(recording, &presets::applied(recording, filter)?)?)
}

/// The filter with its presets written out and with a metric that the recording has.
///
/// # Errors
/// When a preset is unknown.
pub(crate) fn fitted(recording: &Recording, filter: &Filter) -> Result<Filter, Failure> {
    fitted_to(recording, recording.main_metric(), filter)
}

fn fitted_to(recording: &Recording, main: Metric, filter: &Filter) -> Result<Filter, Failure> {
    Ok(filters::fitted(recording, main, &presets::applied(recording, filter)?))
}

/// The findings that a filter keeps.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn findings(
    recording: &Recording,
    filter: &Filter,
    all: bool,
) -> Result<Report, Failure> {
    Ok(culprit_report::findings(recording, filter, all, None)?)
}

/// Refuses `--metric run` for a recording that does not say what its run waited for. As a default
/// the recording's own metric takes its place.
///
/// # Errors
/// When it was asked for and there is none.
pub(crate) fn check_metric(filter: &FilterArgs, recording: &Recording) -> Result<(), Failure> {
    let asked = filter.metric == Some(Metric::Run);
    let known = !recording.intervals.is_empty() || recording.main_metric() == Metric::Run;
    if !asked || known {
        return Ok(());
    }
    let main = recording.main_metric();
    Err(Failure::bad_input("cannot show run time: the recording has no thread time")
        .hint(format!("leave out `--metric run`: the metric of this recording is `{main}`")))
}

/// What a view shows.
///
/// # Errors
/// When the recording or the filter cannot be read.
pub(crate) fn view(
    recordings: &RecordingsArg,
    filter: &FilterArgs,
    output: &Output,
) -> Result<View, Failure> {
    let path = &recordings.recording;
    view_of(filter, output, |given| match given.metric {
        _ if recordings.is_folder()? => folder(recordings, given, output),
        // Who waited for whom is in all of the rows.
        Metric::Run => whole(path, given, output),
        _ => indexed(path, given, output),
    })
}

/// As [`view`], with all of the recording.
///
/// # Errors
/// As [`view`].
pub(crate) fn whole_view(
    recordings: &RecordingsArg,
    filter: &FilterArgs,
    output: &Output,
) -> Result<View, Failure> {
    view_of(filter, output, |given| match recordings.is_folder()? {
        true => folder(recordings, given, output),
        false => whole(&recordings.recording, given, output),
    })
}

/// The sum of a folder's recordings, or of a folder of tables.
///
/// # Errors
/// When nothing in it can be used.
pub(crate) fn folder_sum(
    recordings: &RecordingsArg,
    given: &Filter,
    output: &Output,
) -> Result<(Recording, FleetFacts), Failure> {
    let RecordingsArg { recording: path, by, engine } = recordings;
    match fleet::is_tables(path) {
        true => fleet::add_up_tables(path, by.as_ref(), (given, engine), output),
        false => fleet::add_up(path, by.as_ref(), given, output),
    }
}

/// The sum of a folder's recordings for a view.
fn folder(
    recordings: &RecordingsArg,
    given: &Filter,
    output: &Output,
) -> Result<LoadedRecording, Failure> {
    let path = &recordings.recording;
    let (recording, facts) = folder_sum(recordings, given, output)?;
    if let Some(warning) = losses::warning(path, &losses::lines(&recording.losses)) {
        output.warn(&warning);
    }
    Ok(LoadedRecording { fleet: Some(facts), ..LoadedRecording::of_rows(recording, given) })
}

fn view_of(
    args: &FilterArgs,
    output: &Output,
    read: impl FnOnce(&Filter) -> Result<LoadedRecording, Failure>,
) -> Result<View, Failure> {
    let given = args.filter()?;
    // Wrong patterns are told before a long recording is read.
    query(&given)?;
    let LoadedRecording { recording, index, main, variances, fleet } = read(&given)?;
    let given = if fleet.is_some() { fleet::without_selection(given) } else { given };
    check_metric(args, &recording)?;
    let filter = fitted_to(&recording, main, &given)?;
    let run = run_time(&recording, &filter)?;
    let index = match (&run, index) {
        (Some(run), _) => Index::rooted(&run.recording, filter.root),
        (None, Some(index)) => index,
        (None, None) => Index::rooted(&recording, filter.root),
    };
    let query = query(&filter)?;
    let tree = index.tree(&query);
    match &run {
        Some(_) => explain_empty_run(&recording, (&tree, &filter, &given), output)?,
        None => explain_if_empty(&tree, &filter, &given, output)?,
    }
    let basis = match &fleet {
        Some(facts) => Basis::of_fleet(facts),
        None => basis(&recording, run.as_ref(), &query),
    };
    let errors = variances.map(|variances| variances.errors(&query));
    let basis = match &errors {
        Some(errors) => basis.with_error(errors.whole(tree.total())),
        None => basis,
    };
    Ok(View { recording, tree, errors, filter, fleet, basis, run })
}

/// As [`explain_if_empty`], for a tree of run time: there is none where there is no thread time, and
/// where the run waited for nothing of what the filter keeps.
fn explain_empty_run(
    recording: &Recording,
    (run, filter, given): (&CallTree, &Filter, &Filter),
    output: &Output,
) -> Result<(), Failure> {
    explain(no_run_time(recording, run, filter)?, given, output)
}

/// Says why a filter leaves nothing; `given` is the filter as the user typed it.
///
/// # Errors
/// When the user's filter is the reason. An empty recording is no error.
pub(crate) fn explain_if_empty(
    tree: &CallTree,
    filter: &Filter,
    given: &Filter,
    output: &Output,
) -> Result<(), Failure> {
    explain(nothing_to_show(tree, filter), given, output)
}

fn explain(nothing: Option<NothingToShow>, given: &Filter, output: &Output) -> Result<(), Failure> {
    let Some(NothingToShow { why, hint, no_rows }) = nothing else { return Ok(()) };
    if narrows(given) && !no_rows {
        return Err(Failure::bad_input(why).hints(hint.map(str::to_owned)));
    }
    output.say(&hint.map_or(why.clone(), |hint| format!("{why}; {hint}")));
    Ok(())
}

/// Everything a report says about a recording.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn digest(recording: Recording, filter: &Filter, all: bool) -> Result<Digest, Failure> {
    let filter = presets::applied(&recording, filter)?;
    let (query, report, tops) = culprit_report::answers(&recording, &filter, all)?;
    Ok(Digest::new(recording, &query, report, tops))
}
