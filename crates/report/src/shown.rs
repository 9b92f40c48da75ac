//! What a filter keeps of a recording, ready for every view.

use culprit_engine::calls::{CallTree, Query};
use culprit_engine::run_time::RunTime;
use culprit_engine::wakers::CommandPath;
use culprit_model::{Filter, LossKind, Metric, Recording};

use crate::Error;
use crate::filters::{fitted, query};
use crate::layout::Layout;
use crate::views::{Basis, FleetFacts, StandardErrors, groups_text, sleeping_line};

/// What a filter keeps of a recording.
#[derive(Debug)]
pub struct Shown {
    /// The stacks that it keeps.
    pub tree: CallTree,
    /// What the tree's values are shares of.
    pub basis: Basis,
    /// The run time that the tree shows; none for other metrics.
    pub run: Option<RunTime>,
}

impl Shown {
    /// What a filter without presets keeps, in a metric that the recording has; the command's path may be known.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn new(
        recording: &Recording,
        filter: &Filter,
        path: Option<&CommandPath>,
    ) -> Result<Self, Error> {
        let filter = fitted(recording, recording.main_metric(), filter);
        let query = query(&filter)?;
        let run = run_time_on(recording, &filter, path)?;
        let tree = CallTree::of(run.as_ref().map_or(recording, |run| &run.recording), &query);
        Ok(Self { tree, basis: basis(recording, run.as_ref(), &query), run })
    }
}

/// The call tree of what a filter without presets keeps of a recording's own rows; with the metric `run`, of all
/// thread time.
///
/// # Errors
/// When a pattern is wrong.
pub fn tree(recording: &Recording, filter: &Filter) -> Result<CallTree, Error> {
    let query = query(&fitted(recording, recording.main_metric(), filter))?;
    Ok(CallTree::of(recording, &query))
}

/// The run time that a filter asks for; none when it has another metric, or the recording no thread
/// time.
///
/// # Errors
/// When a pattern is wrong.
pub fn run_time(recording: &Recording, filter: &Filter) -> Result<Option<RunTime>, Error> {
    run_time_on(recording, filter, None)
}

/// As [`run_time`], where the command's path may be known.
fn run_time_on(
    recording: &Recording,
    filter: &Filter,
    path: Option<&CommandPath>,
) -> Result<Option<RunTime>, Error> {
    if filter.metric != Metric::Run || recording.intervals.is_empty() {
        return Ok(None);
    }
    Ok(Some(RunTime::build_on(recording, &query(filter)?, path)))
}

/// What the numbers of a view of a recording are shares of.
#[must_use]
pub fn basis(recording: &Recording, run: Option<&RunTime>, query: &Query) -> Basis {
    run.map_or_else(Basis::default, |run| Basis::of_run(run, query.range(recording)))
}

/// A recording, what a filter keeps of it as a tree, and the filter.
#[derive(Debug)]
pub struct View {
    /// The recording; what views do not look at need not be in it.
    pub recording: Recording,
    /// What the filter keeps.
    pub tree: CallTree,
    /// The filter, with its presets written out and in the metric of the tree.
    pub filter: Filter,
    /// The standard errors of its values, where they were estimated.
    pub errors: Option<StandardErrors>,
    /// Of a folder of recordings, what the sum is made of.
    pub fleet: Option<FleetFacts>,
    /// What the numbers are shares of.
    pub basis: Basis,
    /// The run time that the tree shows; none for other metrics.
    pub run: Option<RunTime>,
}

impl View {
    /// The recording with the rows and the stacks of the tree.
    #[must_use]
    pub fn rows(&self) -> &Recording {
        self.run.as_ref().map_or(&self.recording, |run| &run.recording)
    }

    /// What the numbers of the tree are shares of.
    #[must_use]
    pub fn heading(&self) -> String {
        self.basis.heading(&self.tree)
    }

    /// The heading as the first line of a text; below it the groups of a folder's recordings.
    #[must_use]
    pub fn head(&self, layout: &Layout) -> String {
        let groups =
            self.fleet.as_ref().map(|facts| groups_text(facts, self.tree.metric(), layout));
        let sleeping = self.run.as_ref().and_then(|run| sleeping_line(run, &self.recording));
        Basis::line(&self.heading(), layout)
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
