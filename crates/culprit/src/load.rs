//! Opening a recording: read it, and build the intervals of one whose recorder never finished it.
//!
//! A recorder writes its rows with their names as it goes, so what a killed one left shows in the
//! same way as a whole recording; its loss ledger says where it ends.

use std::path::Path;
use std::sync::Arc;

use culprit_engine::calls::{CallTree, Index, NodeId, Patterns, Query};
use culprit_engine::losses;
use culprit_engine::run_time::RunTime;
use culprit_engine::wakers::CommandPath;
use culprit_findings::Report;
use culprit_model::{
    CostColumns, Filter, Finding, LossKind, Metric, Nanos, Recording, Where, main_metric,
};
use culprit_recording::Opened;

use crate::args::{FilterArgs, RecordingsArg};
use crate::digest::{Digest, Tops, functions};
use crate::failure::{Context as _, Failure};
use crate::fleet::{self, FleetFacts};
use crate::output::Output;
use crate::views::{Basis, StandardErrors, Variances, groups_text, sleeping_line, why_empty};
use crate::weighed::Weighed;
use crate::{pool, presets};

/// How a pattern is written, for one that is wrong.
const PATTERN_HINT: &str = "a pattern is a part of a name, as in `--inc 'libc*read;^blocked.'`; docs/filters.md has the language";

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
    // A damaged file may have lost its intervals. Built anew from what else is left of it they
    // would claim time that nobody measured. Only a file that never had any still has its switches.
    let never_built = opened.unfinished.is_some() || !recording.switches.is_empty();
    if never_built && recording.intervals.is_empty() {
        culprit_engine::threads::build(&mut recording);
    }
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
    let Some((intervals, costs)) = opened.columns else {
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
    Ok(CallTree::of(recording, &query_for(recording, filter)?))
}

/// A filter compiled for a recording: in the metric that it has.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn query_for(recording: &Recording, filter: &Filter) -> Result<Query, Failure> {
    query(&fitted(recording, filter)?)
}

/// The filter with its presets written out and with a metric that the recording has: an import
/// without thread time is shown in its own metric when none other is asked for.
///
/// # Errors
/// When a preset is unknown.
pub(crate) fn fitted(recording: &Recording, filter: &Filter) -> Result<Filter, Failure> {
    fitted_to(recording, recording.main_metric(), filter)
}

fn fitted_to(recording: &Recording, main: Metric, filter: &Filter) -> Result<Filter, Failure> {
    let metric = match filter.metric {
        Metric::Wall => main,
        Metric::Run if recording.intervals.is_empty() => main,
        asked => asked,
    };
    Ok(Filter { metric, ..presets::applied(recording, filter)? })
}

/// The filter of somebody who asks for nothing: the run time of all.
pub(crate) fn run_filter() -> Filter {
    Filter { metric: Metric::Run, ..Filter::default() }
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

/// The run time that a filter asks for; none when it has another metric, or the recording no thread
/// time.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn run_time(recording: &Recording, filter: &Filter) -> Result<Option<RunTime>, Failure> {
    run_time_on(recording, filter, None)
}

/// As [`run_time`], where the command's path may be known.
fn run_time_on(
    recording: &Recording,
    filter: &Filter,
    path: Option<&CommandPath>,
) -> Result<Option<RunTime>, Failure> {
    if filter.metric != Metric::Run || recording.intervals.is_empty() {
        return Ok(None);
    }
    Ok(Some(RunTime::build_on(recording, &query(filter)?, path)))
}

/// What the numbers of a view of a recording are shares of.
pub(crate) fn basis(recording: &Recording, run: Option<&RunTime>, query: &Query) -> Basis {
    run.map_or_else(Basis::default, |run| Basis::of_run(run, query.range(recording)))
}

/// What a filter keeps of a recording.
pub(crate) struct Shown {
    pub(crate) tree: CallTree,
    pub(crate) basis: Basis,
    /// The run time that the tree shows; none for other metrics.
    pub(crate) run: Option<RunTime>,
}

/// What a filter keeps of a recording, in a metric that this has; the command's path may be known.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn shown_of(
    recording: &Recording,
    filter: &Filter,
    path: Option<&CommandPath>,
) -> Result<Shown, Failure> {
    let filter = fitted(recording, filter)?;
    let query = query(&filter)?;
    let run = run_time_on(recording, &filter, path)?;
    let tree = CallTree::of(run.as_ref().map_or(recording, |run| &run.recording), &query);
    Ok(Shown { tree, basis: basis(recording, run.as_ref(), &query), run })
}

/// A recording, what a filter keeps of it as a tree, and the filter; why there is nothing of it is
/// said on stderr.
pub(crate) struct View {
    /// The recording; what views do not look at need not be in it.
    pub(crate) recording: Recording,
    /// What the filter keeps.
    pub(crate) tree: CallTree,
    /// The filter.
    pub(crate) filter: Filter,
    /// The standard errors of its values, where they were estimated.
    pub(crate) errors: Option<StandardErrors>,
    /// Of a folder of recordings, what the sum is made of.
    pub(crate) fleet: Option<FleetFacts>,
    /// What the numbers are shares of.
    basis: Basis,
    /// The run time that the tree shows; none for other metrics.
    run: Option<RunTime>,
}

impl View {
    /// The recording with the rows and the stacks of the tree.
    pub(crate) fn rows(&self) -> &Recording {
        self.run.as_ref().map_or(&self.recording, |run| &run.recording)
    }

    /// What the numbers of the tree are shares of.
    pub(crate) fn heading(&self) -> String {
        self.basis.heading(&self.tree)
    }

    /// The heading as the first line of a text; below it the groups of a folder's recordings.
    pub(crate) fn head(&self, output: &Output) -> String {
        let groups =
            self.fleet.as_ref().map(|facts| groups_text(facts, self.tree.metric(), output));
        let sleeping = self.run.as_ref().and_then(|run| sleeping_line(run, &self.recording));
        Basis::line(&self.heading(), output)
            + self.blind_line()
            + &sleeping.unwrap_or_default()
            + &groups.unwrap_or_default()
    }

    /// What to look at where nobody knows who ended waits, so that run time stops at them.
    fn blind_line(&self) -> &'static str {
        let losses = &self.recording.losses;
        let is_blind = losses.iter().any(|loss| loss.kind == LossKind::WakersMissing);
        match self.tree.metric() {
            Metric::Run if is_blind => {
                "Who ended a wait was not recorded, so the work behind waits is missing: `--metric cpu` shows it.\n"
            }
            _ => "",
        }
    }
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
    shown(filter, output, |given| match given.metric {
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
    shown(filter, output, |given| match recordings.is_folder()? {
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

fn shown(
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
    if run.total() > 0 {
        return Ok(());
    }
    let filter = Filter { metric: Metric::Wall, ..filter.clone() };
    let all = CallTree::of(recording, &query(&filter)?);
    if all.total() == 0 {
        return explain_if_empty(&all, &filter, given, output);
    }
    let what = "nothing to show: the run waited for nothing that the filter keeps";
    let hint = "`--metric wall` shows the time of all threads";
    if narrows(given) {
        return Err(Failure::bad_input(what).hint(hint));
    }
    output.say(&format!("{what}; {hint}"));
    Ok(())
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
    let reasons = why_empty(tree, filter).join("; ");
    if reasons.is_empty() {
        return Ok(());
    }
    let why = format!("nothing to show: {reasons}");
    let empty = tree.index().is_some_and(|index| index.rows() == 0);
    if narrows(given) && !empty {
        return Err(Failure::bad_input(why));
    }
    output.say(&why);
    Ok(())
}

/// Whether a filter keeps less than a whole recording, by the user's wish.
fn narrows(filter: &Filter) -> bool {
    let shown_otherwise = Filter {
        metric: if filter.metric == Metric::Run { Metric::Run } else { Metric::Wall },
        root: filter.root,
        group: filter.group.clone(),
        fold: filter.fold.clone(),
        fold_pct: filter.fold_pct,
        presets: filter.presets.clone(),
        own: filter.own.clone(),
        erase_ids: filter.erase_ids,
        flat: filter.flat,
        limit: filter.limit,
        ..Filter::default()
    };
    *filter != shown_otherwise
}

/// A compiled list of patterns.
///
/// # Errors
/// When one is wrong.
pub(crate) fn patterns(list: &str) -> Result<Patterns, Failure> {
    Patterns::parse(list)
        .or_bad_input(|| "cannot read the filter".to_owned())
        .map_err(|failure| failure.hint(PATTERN_HINT))
}

/// A compiled filter.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn query(filter: &Filter) -> Result<Query, Failure> {
    Query::compile(filter)
        .or_bad_input(|| "cannot read the filter".to_owned())
        .map_err(|failure| failure.hint(PATTERN_HINT))
}

/// The findings of the time range, processes and threads that a filter selects: their time is
/// measured, and whoever they waited for is looked for everywhere. Of these, those with frames that
/// it keeps; what a finding costs is settled before.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn findings(
    recording: &Recording,
    filter: &Filter,
    all: bool,
) -> Result<Report, Failure> {
    findings_on(recording, filter, all, None)
}

/// As [`findings`], where the command's path may be known.
fn findings_on(
    recording: &Recording,
    filter: &Filter,
    all: bool,
    command_path: Option<Arc<CommandPath>>,
) -> Result<Report, Failure> {
    if !filter.activity.is_empty() {
        return Err(Failure::bad_input(
            "cannot list findings with `--activity`: it filters views only",
        )
        .hint(
            "use `--from` and `--to` for the time of one activity; `culprit activities REC` \
             prints them for the slowest activities",
        ));
    }
    let subject = Subject::of(filter)?;
    let selects = !filter.process.is_empty() || !filter.thread.is_empty();
    let threads =
        selects.then(|| query(filter).map(|query| query.threads(recording))).transpose()?;
    if threads.as_ref().is_some_and(|kept| !kept.contains(&true)) {
        let given = [("process", &filter.process), ("thread", &filter.thread)];
        let given = given.iter().filter(|(_, pattern)| !pattern.is_empty());
        let given: Vec<String> =
            given.map(|(option, pattern)| format!("`--{option} {pattern}`")).collect();
        let what = format!("cannot list findings: {} matches no thread", given.join(" with "));
        return Err(
            Failure::bad_input(what).hint("`culprit report REC --limit 0` lists the threads")
        );
    }
    let options = culprit_findings::Options {
        all,
        from: filter.from,
        to: filter.to,
        threads,
        own: patterns(&filter.own)?,
        command_path,
        as_claimed: false,
    };
    let mut report = culprit_findings::find(recording, &options);
    let kept =
        |finding: &Finding| finding.at.is_empty() || finding.at.iter().any(|at| subject.holds(at));
    report.findings.retain(|finding| {
        let kept = kept(finding);
        report.explained_share -= if kept { 0.0 } else { finding.share };
        kept
    });
    report.explained_share = report.explained_share.max(0.0);
    Ok(report)
}

/// The frames that findings must have, or must not, to be listed.
struct Subject {
    include: Patterns,
    exclude: Patterns,
}

impl Subject {
    fn of(filter: &Filter) -> Result<Self, Failure> {
        Ok(Self { include: patterns(&filter.include)?, exclude: patterns(&filter.exclude)? })
    }

    fn holds(&self, at: &Where) -> bool {
        self.include.iter().all(|pattern| at.stack.iter().any(|name| pattern.matches(name)))
            && !at.stack.iter().any(|name| self.exclude.any(name))
    }
}

/// Everything a report says about a recording.
///
/// # Errors
/// When a pattern is wrong.
pub(crate) fn digest(recording: Recording, filter: &Filter, all: bool) -> Result<Digest, Failure> {
    let query = query(&fitted(&recording, filter)?)?;
    // Both follow it, unless they are about something else than the command.
    let follow = query.metric() == Metric::Run && query.keeps_all_threads();
    let path = follow.then(|| CommandPath::of(&recording)).flatten().map(Arc::new);
    // The rest of the two has nothing in common, and findings take most of the time.
    let (report, tops) = rayon::join(
        || findings_on(&recording, filter, all, path.clone()),
        || tops(&recording, filter, path.as_deref()),
    );
    Ok(Digest::new(recording, &query, report?, tops?))
}

/// The functions of what a filter keeps, and what they are parts of.
fn tops(
    recording: &Recording,
    filter: &Filter,
    path: Option<&CommandPath>,
) -> Result<Tops, Failure> {
    let Shown { tree, basis, run: run_time } = shown_of(recording, filter, path)?;
    let causes = tree.causes(NodeId::ROOT).into_iter();
    let run = (tree.metric() == Metric::Run)
        .then(|| (causes.map(|(cause, time)| (cause, Nanos(time))).collect(), Nanos(tree.total())));
    Ok(Tops {
        functions: functions(&tree),
        weighed: Weighed::new(recording, &tree),
        heading: basis.heading(&tree),
        run,
        run_time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn findings_are_those_of_the_threads_and_frames_that_the_filter_keeps() {
        let recording = testing::recording();
        let told = |filter: Filter| findings(&recording, &filter, true).unwrap();
        let all = told(Filter::default());
        let costly = all.findings.iter().find(|finding| !finding.at.is_empty()).unwrap();
        let thread = costly.at[0].thread.to_string();
        let name = thread.split(' ').next().unwrap();
        let kept = |report: &Report| report.findings.iter().any(|f| f.title == costly.title);
        assert!(kept(&told(Filter { thread: name.to_owned(), ..Filter::default() })));
        let nobody = Filter { thread: "nobody".to_owned(), ..Filter::default() };
        assert!(findings(&recording, &nobody, true).unwrap_err().to_string().contains("nobody"));
        let leaf = costly.at[0].stack.last().unwrap().to_string();
        let excluded = told(Filter { exclude: leaf, ..Filter::default() });
        assert!(!kept(&excluded) && excluded.explained_share < all.explained_share);
        let own = Filter { own: "@(".to_owned(), ..Filter::default() };
        assert!(findings(&recording, &own, true).is_err());
        assert!(
            findings(&recording, &Filter { process: "@(".into(), ..Filter::default() }, true)
                .is_err()
        );
    }
}
