//! One opened recording and the view that is shown of it.

use std::fmt;

use culprit_engine::calls::{CallTree, NameId};
use culprit_engine::lanes::{Bars, Lanes};
use culprit_engine::threads::build_missing;
use culprit_engine::wakers::Relevance;
use culprit_model::{Filter, Label as _, Metric, Recording, ThreadId, Time};
use culprit_report::filters::{fitted, query, run_filter};
use culprit_report::json::{
    FilterJson, IntervalDocument, LaneJson, OverviewDocument, ReportDocument,
};
use culprit_report::views::{Basis, FunctionPlaces, no_run_time, nothing_to_show};
use culprit_report::{Digest, Error, Indexes, ThreadTime, answers, chain, thread_times};
use serde::Serialize;

use crate::columns::{FunctionColumns, TreeColumns};

/// Why something cannot be answered: what failed and why, then the ways out, a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let hint = error.hint().map(|hint| format!("\n{hint}"));
        Self(chain(&error) + &hint.unwrap_or_default())
    }
}

fn refused(what: &str, error: &dyn std::error::Error) -> Refused {
    Refused(format!("{what}: {}", chain(error)))
}

fn json(document: &impl Serialize) -> Result<String, Refused> {
    serde_json::to_string(document).map_err(|error| refused("cannot write the answer", &error))
}

/// What a filter keeps, in numbers that are few.
#[derive(Debug, Serialize)]
struct Filtered {
    metric: String,
    unit: &'static str,
    total: u64,
    /// Rows of the recording behind the total.
    rows: u64,
    heading: String,
    /// Why nothing is shown; null where something is.
    empty: Option<String>,
}

/// One opened recording and the view that is shown of it.
#[derive(Debug)]
pub struct Session {
    recording: Recording,
    places: FunctionPlaces,
    indexes: Indexes,
    lanes: Lanes,
    /// Made when it is first asked for: it takes as long as the first view.
    relevance: Option<Relevance>,
    /// The filter as it was given.
    filter: Filter,
    tree: CallTree,
    basis: Basis,
    /// The threads that the filter keeps, in the order of their lanes; none before they are asked for.
    threads: Option<Vec<ThreadTime>>,
}

impl Session {
    /// Opens a recording from its bytes and shows the run time of all. The name is for messages.
    ///
    /// # Errors
    /// When the bytes are no recording, or of a later version.
    pub fn open(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        let opened = culprit_recording::parse(name, bytes);
        let opened = opened.map_err(|error| Refused(chain(&error)))?;
        let mut recording = opened.recording;
        build_missing(&mut recording, opened.unfinished.is_some());
        let lanes = Lanes::of(&recording);
        let places = FunctionPlaces::of(&recording);
        let filter = run_filter();
        let mut indexes = Indexes::default();
        let fitting = fitted(&recording, recording.main_metric(), &filter);
        let (tree, basis) = indexes.tree(&recording, &fitting)?;
        let (relevance, threads) = (None, None);
        Ok(Self { recording, places, indexes, lanes, relevance, filter, tree, basis, threads })
    }

    /// The report of the recording under the filter, with all causes, as JSON.
    ///
    /// # Errors
    /// When the filter is by activity, or keeps no thread.
    pub fn overview(&mut self) -> Result<String, Refused> {
        let (query, report, tops) = answers(&self.recording, &self.filter, false)?;
        // The recording is lent to the digest and comes back.
        let digest = Digest::new(std::mem::take(&mut self.recording), &query, report, tops);
        let document = json(&OverviewDocument::new(ReportDocument::<()>::new(&digest, None)));
        self.recording = digest.recording;
        document
    }

    /// Shows what a filter, as JSON, keeps, and says how much that is.
    ///
    /// # Errors
    /// When it is no filter, or a pattern is wrong. What was shown before stays.
    pub fn filter(&mut self, given: &str) -> Result<String, Refused> {
        let filter: FilterJson = serde_json::from_str(given)
            .map_err(|error| refused("cannot read the filter", &error))?;
        let filter =
            Filter::try_from(filter).map_err(|error| refused("cannot read the filter", &error))?;
        if !filter.presets.is_empty() {
            let names = filter.presets.join(", ");
            return Err(Refused(format!(
                "cannot use the preset `{names}` here: its settings are not known"
            )));
        }
        let fitting = fitted(&self.recording, self.recording.main_metric(), &filter);
        let (tree, basis) = self.indexes.tree(&self.recording, &fitting)?;
        let is_run = fitting.metric == Metric::Run && !self.recording.intervals.is_empty();
        let nothing = match is_run {
            true => no_run_time(&self.recording, &tree, &fitting)?,
            false => nothing_to_show(&tree, &fitting),
        };
        let kept = filter.process == self.filter.process
            && filter.thread == self.filter.thread
            && (filter.from, filter.to) == (self.filter.from, self.filter.to);
        if !kept {
            self.threads = None;
        }
        (self.filter, self.tree, self.basis) = (filter, tree, basis);
        json(&Filtered {
            metric: self.tree.metric().word().to_owned(),
            unit: self.tree.metric().unit(),
            total: self.tree.total(),
            rows: self.tree.nodes().first().map_or(0, |root| root.count),
            heading: self.basis.heading(&self.tree),
            empty: nothing.map(|nothing| {
                nothing.hint.map_or(nothing.why.clone(), |hint| format!("{}; {hint}", nothing.why))
            }),
        })
    }

    /// The names that columns number.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let names = self.tree.names();
        names.ids().map(|id| names.text(id).to_string()).collect()
    }

    /// Functions, processes, threads and causes.
    #[must_use]
    pub fn functions(&self) -> FunctionColumns {
        FunctionColumns::of(&self.tree, &self.places)
    }

    /// The call tree.
    #[must_use]
    pub fn tree(&self) -> TreeColumns {
        TreeColumns::of(&self.tree)
    }

    /// Who calls a name, from it upwards.
    ///
    /// # Errors
    /// When no name has the number.
    pub fn callers(&self, name: u32) -> Result<TreeColumns, Refused> {
        Ok(TreeColumns::of(&self.tree.callers(self.name(name)?)))
    }

    /// What a name calls.
    ///
    /// # Errors
    /// When no name has the number.
    pub fn callees(&self, name: u32) -> Result<TreeColumns, Refused> {
        Ok(TreeColumns::of(&self.tree.callees(self.name(name)?)))
    }

    /// The lanes' threads as JSON, in their order.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn threads(&mut self) -> Result<String, Refused> {
        self.find_threads()?;
        json(&LaneJson::all(&self.recording, self.listed()))
    }

    /// The bars of a range of time that is so many pixels wide, and the rows of their threads;
    /// `busy_only` leaves out the idle ones.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn lanes(
        &mut self,
        (from, to): (u64, u64),
        pixels: u32,
        busy_only: bool,
    ) -> Result<(Vec<u32>, Bars), Refused> {
        self.find_threads()?;
        let shown = (0_u32..).zip(self.listed()).filter(|(_, time)| !(busy_only && time.idle));
        let (rows, threads): (Vec<u32>, Vec<ThreadId>) =
            shown.map(|(row, time)| (row, time.id)).unzip();
        Ok((rows, self.lanes.bars(&threads, (Time(from), Time(to)), pixels)))
    }

    /// The interval of a lane at a time as JSON; `null` where its thread did not live.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn at(&mut self, row: usize, time: u64) -> Result<String, Refused> {
        self.find_threads()?;
        let threads = self.listed();
        let thread = threads.get(row).map(|thread| thread.id);
        let at = thread.and_then(|thread| self.lanes.row_at(thread, Time(time)));
        let interval =
            at.map(|at| IntervalDocument::new(&self.recording, &self.lanes, at, threads));
        json(&interval)
    }

    fn listed(&self) -> &[ThreadTime] {
        self.threads.as_deref().unwrap_or_default()
    }

    fn find_threads(&mut self) -> Result<(), Refused> {
        if self.threads.is_none() {
            let query = query(&self.filter)?;
            let recording = &self.recording;
            let relevance = self.relevance.get_or_insert_with(|| Relevance::of(recording));
            self.threads = Some(thread_times(recording, &query, relevance));
        }
        Ok(())
    }

    fn name(&self, name: u32) -> Result<NameId, Refused> {
        let found = self.tree.names().ids().nth(name as usize);
        found.ok_or_else(|| {
            Refused(format!("cannot find the function {name}: there is no such name"))
        })
    }
}
