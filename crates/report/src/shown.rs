//! What a filter keeps of a recording, ready for every view.

use std::sync::Arc;

use culprit_engine::calls::{CallTree, Index, Query};
use culprit_engine::run_time::RunTime;
use culprit_engine::wakers::CommandPath;
use culprit_model::{Filter, LossKind, Metric, Recording, Root};

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

/// Indexes of one recording, kept from filter to filter: making one is linear in rows, asking it is not.
#[derive(Debug, Default)]
pub struct Indexes {
    rows: Option<(Root, Arc<Index>)>,
    run: Option<RunIndex>,
    /// The path of the recording's command, once somebody needed it.
    path: Option<Option<Arc<CommandPath>>>,
}

/// The index of a run time, and what that was made for.
#[derive(Debug)]
struct RunIndex {
    filter: Filter,
    run: RunTime,
    index: Arc<Index>,
}

impl Indexes {
    /// The tree of what a filter without presets keeps of the recording, in a metric that it has, and what
    /// its values are shares of. The recording is the same at each call.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn tree(
        &mut self,
        recording: &Recording,
        filter: &Filter,
    ) -> Result<(CallTree, Basis), Error> {
        let query = query(filter)?;
        if filter.metric == Metric::Run && !recording.intervals.is_empty() {
            let RunIndex { run, index, .. } = self.run(recording, filter, &query);
            return Ok((index.tree(&query), basis(recording, Some(run), &query)));
        }
        let known = self.rows.take().filter(|(root, _)| *root == filter.root);
        let (_, index) = self
            .rows
            .insert(known.unwrap_or_else(|| (filter.root, Index::rooted(recording, filter.root))));
        Ok((index.tree(&query), basis(recording, None, &query)))
    }

    /// The path of the recording's command, walked once; none where no command ended.
    pub fn path(&mut self, recording: &Recording) -> Option<Arc<CommandPath>> {
        self.path.get_or_insert_with(|| CommandPath::of(recording).map(Arc::new)).clone()
    }

    /// The path of the recording's command, where it was walked.
    #[must_use]
    pub fn known_path(&self) -> Option<&CommandPath> {
        self.path.as_ref()?.as_deref()
    }

    fn run(&mut self, recording: &Recording, filter: &Filter, query: &Query) -> &RunIndex {
        // The time range and the frames are left to the view.
        let choice = Filter {
            process: filter.process.clone(),
            thread: filter.thread.clone(),
            activity: filter.activity.clone(),
            root: filter.root,
            ..Filter::default()
        };
        let known = self.run.take().filter(|known| known.filter == choice);
        let path = query.keeps_all_threads().then(|| self.path(recording)).flatten();
        self.run.insert(known.unwrap_or_else(|| {
            let run = RunTime::build_on(recording, query, path.as_deref());
            let index = Index::rooted(&run.recording, filter.root);
            RunIndex { filter: choice, run, index }
        }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use culprit_engine::calls::by_name;
    use culprit_model::Time;

    #[test]
    fn kept_indexes_give_what_new_ones_give() {
        let recording = testing::recording();
        let mut indexes = Indexes::default();
        let filter = |metric, thread: &str, from: u64, root| Filter {
            metric,
            thread: thread.to_owned(),
            from: Some(Time(from)),
            root,
            ..Filter::default()
        };
        for filter in [
            filter(Metric::Run, "", 0, Root::Threads),
            filter(Metric::Run, "", 70_000_000, Root::Threads),
            filter(Metric::Run, "worker", 0, Root::Threads),
            filter(Metric::Run, "worker", 0, Root::Activities),
            filter(Metric::Cpu, "worker", 0, Root::Threads),
            filter(Metric::Blocked, "", 20_000_000, Root::Activities),
            filter(Metric::Run, "", 0, Root::Threads),
        ] {
            let new = Shown::new(&recording, &filter, None).unwrap();
            let (tree, basis) = indexes.tree(&recording, &filter).unwrap();
            assert_eq!(by_name(&tree), by_name(&new.tree), "{filter:?}");
            assert_eq!(basis.heading(&tree), new.basis.heading(&new.tree));
        }
        let wrong = Filter { include: "@(".to_owned(), ..Filter::default() };
        assert!(indexes.tree(&recording, &wrong).is_err());
    }
}
