//! Opening a recording: read it, and build the intervals of one whose recorder never finished it.
//!
//! A recorder writes its rows with their names as it goes, so what a killed one left shows in the
//! same way as a whole recording; its loss ledger says where it ends.

use std::path::Path;
use std::sync::Arc;

use culprit_engine::calls::{CallTree, Index, Patterns, Query};
use culprit_engine::losses;
use culprit_findings::Report;
use culprit_model::{Filter, Finding, Metric, Recording, Root, Where, main_metric};
use culprit_recording::Opened;

use crate::args::{FilterArgs, RecordingArg};
use crate::digest::{Digest, functions};
use crate::failure::{Context as _, Failure};
use crate::output::Output;
use crate::presets;
use crate::views::why_empty;
use crate::weighed::Weighed;

/// How a pattern is written, for one that is wrong.
const PATTERN_HINT: &str = "a pattern is a part of a name, as in `--inc 'libc*read;^blocked.'`; docs/filters.md has the language";

/// The recording at `path`, with its intervals; what is missing of it is said on stderr first.
///
/// # Errors
/// When the file is none, is of a later version, or cannot be read.
pub(crate) fn recording(path: &Path, output: &Output) -> Result<Recording, Failure> {
    let opened = culprit_recording::open(path).map_err(|error| not_opened(path, &error))?;
    Ok(built(path, opened, output))
}

/// An opened recording with its intervals; what is missing of it is said on stderr.
fn built(path: &Path, opened: Opened, output: &Output) -> Recording {
    let mut recording = opened.recording;
    // A damaged file may have lost its intervals. Built anew from what else is left of it they
    // would claim time that nobody measured. Only a file that never had any still has its switches.
    let never_built = opened.unfinished.is_some() || !recording.switches.is_empty();
    if never_built && recording.intervals.is_empty() {
        culprit_engine::threads::build(&mut recording);
    }
    if let Some(warning) = losses::warning(path, &losses::lines(&recording.losses)) {
        output.warn(&warning);
    }
    recording
}

/// What views look at of the recording at `path`, its index, and its main metric.
fn indexed(
    path: &Path,
    root: Root,
    output: &Output,
) -> Result<(Recording, Arc<Index>, Metric), Failure> {
    let opened = culprit_recording::open_for_views(path);
    let opened = opened.map_err(|error| not_opened(path, &error))?;
    let recording = built(path, opened.opened, output);
    let Some((intervals, costs)) = opened.columns else {
        let (index, metric) = (Index::rooted(&recording, root), recording.main_metric());
        return Ok((recording, index, metric));
    };
    let timed = !(intervals.is_empty() && recording.switches.is_empty());
    let metric = main_metric(timed, costs.metric.iter().copied());
    let index = Index::of_columns(&recording, intervals, costs, root);
    Ok((recording, index, metric))
}

fn not_opened(path: &Path, error: &culprit_recording::Error) -> Failure {
    let failure = Failure::bad_input(crate::failure::chain(error));
    if !path.exists() {
        return failure.hint("make a recording with `culprit record -- CMD`");
    }
    let foreign = culprit_exchange::format_of(path);
    let hint = |format| format!("`culprit import {}` imports it as {format}", path.display());
    failure.hints(foreign.map(hint))
}

/// The call tree of what a filter keeps.
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
        asked => asked,
    };
    Ok(Filter { metric, ..presets::applied(recording, filter)? })
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
}

/// What a view shows.
///
/// # Errors
/// When the recording or the filter cannot be read.
pub(crate) fn view(
    recording_arg: &RecordingArg,
    filter: &FilterArgs,
    output: &Output,
) -> Result<View, Failure> {
    shown(filter, output, |root| indexed(&recording_arg.recording, root, output))
}

/// As [`view`], with all of the recording.
///
/// # Errors
/// As [`view`].
pub(crate) fn whole_view(
    recording_arg: &RecordingArg,
    filter: &FilterArgs,
    output: &Output,
) -> Result<View, Failure> {
    shown(filter, output, |root| {
        let recording = recording(&recording_arg.recording, output)?;
        let index = Index::rooted(&recording, root);
        let metric = recording.main_metric();
        Ok((recording, index, metric))
    })
}

fn shown(
    filter: &FilterArgs,
    output: &Output,
    read: impl FnOnce(Root) -> Result<(Recording, Arc<Index>, Metric), Failure>,
) -> Result<View, Failure> {
    let given = filter.filter()?;
    // Wrong patterns are told before a long recording is read.
    query(&given)?;
    let (recording, index, metric) = read(given.root)?;
    let filter = fitted_to(&recording, metric, &given)?;
    let tree = index.tree(&query(&filter)?);
    explain_if_empty(&tree, &filter, &given, output)?;
    Ok(View { recording, tree, filter })
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
        root: filter.root,
        group: filter.group.clone(),
        fold: filter.fold.clone(),
        fold_pct: filter.fold_pct,
        presets: filter.presets.clone(),
        erase_ids: filter.erase_ids,
        flat: filter.flat,
        limit: filter.limit,
        ..Filter::default()
    };
    *filter != shown_otherwise
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
    let options = culprit_findings::Options { all, from: filter.from, to: filter.to, threads };
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
        let patterns = |text: &str| {
            Patterns::parse(text)
                .or_bad_input(|| "cannot read the filter".to_owned())
                .map_err(|failure| failure.hint(PATTERN_HINT))
        };
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
    // The two have nothing to do with each other, and findings take most of the time.
    let (report, top) = std::thread::scope(|scope| {
        let weigh = || {
            let tree = CallTree::of(&recording, &query);
            (functions(&tree), Weighed::new(&recording, &tree))
        };
        let top = scope.spawn(weigh);
        (findings(&recording, filter, all), top.join())
    });
    let (top, weighed) =
        top.map_err(|_| Failure::refused("cannot add up functions: a thread panicked"))?;
    Ok(Digest::new(recording, &query, report?, top, weighed))
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
        assert!(
            findings(&recording, &Filter { process: "@(".into(), ..Filter::default() }, true)
                .is_err()
        );
    }
}
