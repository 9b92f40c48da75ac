//! Why a view is empty: the filter to lift is named, never an empty screen.

use std::sync::Arc;

use culprit_engine::calls::{CallTree, Index, Query};
use culprit_model::{Filter, Metric, Nanos, Recording, Time};

use crate::Error;
use crate::filters::query;

/// A view that would be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NothingToShow {
    /// `nothing to show: ` and the reasons.
    pub why: String,
    /// What shows something instead, where the reasons do not say.
    pub hint: Option<&'static str>,
    /// True where not the filter is the reason: the recording has no rows.
    pub no_rows: bool,
}

/// Why a tree is empty; none when it is not.
pub fn nothing_to_show(tree: &CallTree, filter: &Filter) -> Option<NothingToShow> {
    let reasons = why_empty(tree, filter).join("; ");
    let no_rows = tree.index().is_some_and(|index| index.rows() == 0);
    let why = format!("nothing to show: {reasons}");
    (!reasons.is_empty()).then_some(NothingToShow { why, hint: None, no_rows })
}

/// As [`nothing_to_show`], for a tree of run time: there is none where there is no thread time, and where the
/// run waited for nothing of what the filter keeps.
///
/// # Errors
/// When a pattern is wrong.
pub fn no_run_time(
    recording: &Recording,
    run: &CallTree,
    filter: &Filter,
) -> Result<Option<NothingToShow>, Error> {
    if run.total() > 0 {
        return Ok(None);
    }
    let filter = Filter { metric: Metric::Wall, ..filter.clone() };
    let all = CallTree::of(recording, &query(&filter)?);
    let nothing = nothing_to_show(&all, &filter).unwrap_or_else(|| NothingToShow {
        why: "nothing to show: the run waited for nothing that the filter keeps".to_owned(),
        hint: Some("`--metric wall` shows the time of all threads"),
        no_rows: false,
    });
    Ok(Some(nothing))
}

/// One sentence a reason; empty when the tree is not.
fn why_empty(tree: &CallTree, filter: &Filter) -> Vec<String> {
    let Some(index) = tree.index().filter(|_| tree.total() == 0) else { return Vec::new() };
    let mut reasons: Vec<String> = tree
        .unmet()
        .iter()
        .map(|unmet| {
            let pattern = &unmet.pattern;
            if unmet.hidden {
                format!(
                    "`--inc {pattern}` matches only frames that `--fold` or `--group` took away"
                )
            } else {
                format!("`--inc {pattern}` matches no frame")
            }
        })
        .collect();
    let end = index.end();
    if filter.from.is_some_and(|from| from >= end) {
        reasons.push(format!("`--from` lies after the recording's end at {}", Nanos(end.0)));
    }
    if !filter.activity.is_empty() && !index.has_activities() {
        reasons.push("`--activity`: the recording has no activities".to_owned());
    }
    if reasons.is_empty() {
        reasons.extend(lifted(filter, index));
    }
    if reasons.is_empty() {
        reasons.push(format!("the recording has no values of the metric `{}`", filter.metric));
    }
    reasons
}

/// The options without which there would be something to show: each alone, else all together.
fn lifted(filter: &Filter, index: &Arc<Index>) -> Vec<String> {
    let shows =
        |filter: &Filter| Query::compile(filter).is_ok_and(|query| index.tree(&query).total() > 0);
    let given: Vec<Lift> =
        lifts(filter).into_iter().filter(|lift| lift.filter != *filter).collect();
    let alone: Vec<&Lift> = given.iter().filter(|lift| shows(&lift.filter)).collect();
    if !alone.is_empty() {
        return alone.into_iter().map(|lift| format!("`{}` leaves nothing", lift.typed)).collect();
    }
    if !shows(&Filter { metric: filter.metric, ..Filter::default() }) {
        return Vec::new();
    }
    let all: Vec<&str> = given.iter().map(|lift| lift.typed.as_str()).collect();
    vec![format!("`{}` together leave nothing", all.join(" "))]
}

/// A filter without one of its options.
struct Lift {
    typed: String,
    filter: Filter,
}

fn lifts(filter: &Filter) -> [Lift; 7] {
    let lift = |option: &str, value: &str, without: fn(&mut Filter)| {
        let mut filter = filter.clone();
        without(&mut filter);
        Lift { typed: format!("--{option} {value}"), filter }
    };
    let time = |time: Option<Time>| time.map(|time| Nanos(time.0).to_string().replace(' ', ""));
    [
        lift("process", &filter.process, |filter| filter.process.clear()),
        lift("thread", &filter.thread, |filter| filter.thread.clear()),
        lift("activity", &filter.activity, |filter| filter.activity.clear()),
        lift("inc", &filter.include, |filter| filter.include.clear()),
        lift("exc", &filter.exclude, |filter| filter.exclude.clear()),
        lift("from", &time(filter.from).unwrap_or_default(), |filter| filter.from = None),
        lift("to", &time(filter.to).unwrap_or_default(), |filter| filter.to = None),
    ]
}
