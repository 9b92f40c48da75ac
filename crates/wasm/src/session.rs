//! One opened recording and the view that is shown of it.

use std::cell::OnceCell;
use std::fmt;

use culprit_engine::activities::Survey;
use culprit_engine::calls::{CallTree, MY_APP, NameId, Preset, my_app, stock_presets};
use culprit_engine::lanes::{Bars, Lanes, PathBars};
use culprit_engine::names::{self, Families};
use culprit_engine::own::OwnCode;
use culprit_engine::threads::build_missing;
use culprit_engine::wakers::Relevance;
use culprit_findings::Grounds;
use culprit_model::{ActivityId, Filter, Label as _, Metric, Recording, ThreadId, Time};
use culprit_report::filters::{fitted, patterns, query, run_filter};
use culprit_report::json::{
    ActivitiesDocument, EvidenceDocument, FactsDocument, FilterJson, IntervalDocument, LaneJson,
    OverviewDocument, PresetJson, ReportDocument,
};
use culprit_report::views::{
    ActivitiesView, ActivityChoice, Basis, FunctionPlaces, no_run_time, nothing_to_show,
    why_no_activities,
};
use culprit_report::{
    Digest, Error, Indexes, ThreadTime, Tops, chain, findings_with_grounds, thread_times,
};
use serde::Serialize;

use crate::columns::{DiffColumns, FunctionColumns, RunColumns, TreeColumns};
use crate::comparison::Comparison;

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

/// A recording of these bytes, with its intervals.
pub(crate) fn opened(name: &str, bytes: Vec<u8>) -> Result<Recording, Refused> {
    let opened = culprit_recording::parse(name, bytes);
    let opened = opened.map_err(|error| Refused(chain(&error)))?;
    let mut recording = opened.recording;
    build_missing(&mut recording, opened.unfinished.is_some());
    Ok(recording)
}

fn refused(what: &str, error: &dyn std::error::Error) -> Refused {
    Refused(format!("{what}: {}", chain(error)))
}

pub(crate) fn json(document: &impl Serialize) -> Result<String, Refused> {
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

/// The activities that a filter keeps, or why there are none.
#[derive(Debug, Serialize)]
struct Activities {
    empty: Option<String>,
    #[serde(flatten)]
    document: ActivitiesDocument,
}

/// Slow activities that a page lists: some screens.
const SLOWEST: usize = 200;

/// Reads the tables that rules and causes share: every session needs them, and none has to wait for them then.
pub fn prepare() {
    let _ = names::kernel("");
    let _ = names::library("", Families::NONE);
    let _ = culprit_findings::callers();
    let _ = culprit_findings::calibrated("", 0.0);
}

fn other(comparison: &mut Option<Comparison>) -> Result<&mut Comparison, Refused> {
    comparison.as_mut().ok_or_else(|| Refused("no second recording is open".to_owned()))
}

/// One opened recording and the view that is shown of it.
#[derive(Debug)]
pub struct Session {
    name: String,
    recording: Recording,
    indexes: Indexes,
    // What the first view does not need is made when it is first asked for.
    places: OnceCell<FunctionPlaces>,
    lanes: OnceCell<Lanes>,
    relevance: OnceCell<Relevance>,
    /// The filter as it was given.
    filter: Filter,
    tree: CallTree,
    basis: Basis,
    /// The threads that the filter keeps, in the order of their lanes.
    threads: OnceCell<Vec<ThreadTime>>,
    /// What the findings of the last report rest on, in their order.
    grounds: Vec<Grounds>,
    comparison: Option<Comparison>,
}

impl Session {
    /// Opens a recording from its bytes and shows the run time of all. The name is for messages.
    ///
    /// # Errors
    /// When the bytes are no recording, or of a later version.
    pub fn open(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        let recording = opened(name, bytes)?;
        let filter = run_filter();
        let mut indexes = Indexes::default();
        let fitting = fitted(&recording, recording.main_metric(), &filter);
        let (tree, basis) = indexes.tree(&recording, &fitting)?;
        Ok(Self {
            name: name.to_owned(),
            recording,
            indexes,
            places: OnceCell::new(),
            lanes: OnceCell::new(),
            relevance: OnceCell::new(),
            filter,
            tree,
            basis,
            threads: OnceCell::new(),
            grounds: Vec::new(),
            comparison: None,
        })
    }

    /// The recording's facts, which need no rule, as JSON. They are of the view that is shown.
    ///
    /// # Errors
    /// None that is expected.
    pub fn facts(&self) -> Result<String, Refused> {
        let tops = Tops::of_tree(&self.recording, &self.tree, &self.basis);
        json(&FactsDocument::new(&self.recording, &tops))
    }

    /// The report of the recording under the filter as JSON.
    ///
    /// # Errors
    /// When the filter is by activity, or keeps no thread.
    pub fn overview(&mut self) -> Result<String, Refused> {
        let fitting = fitted(&self.recording, self.recording.main_metric(), &self.filter);
        let query = query(&fitting)?;
        let path = self.indexes.path(&self.recording);
        self.grounds.clear();
        let (report, grounds) = findings_with_grounds(&self.recording, &self.filter, false, path)?;
        self.grounds = grounds;
        let tops = Tops::of_tree(&self.recording, &self.tree, &self.basis);
        let threads = self.threads()?.to_vec();
        // The recording is lent to the digest and comes back.
        let recording = std::mem::take(&mut self.recording);
        let digest = Digest::with_threads(recording, &query, report, tops, threads);
        let document = json(&OverviewDocument::new(ReportDocument::<()>::new(&digest, None)));
        self.recording = digest.recording;
        document
    }

    /// The time that a finding of the last [`overview`](Self::overview) rests on, as JSON.
    ///
    /// # Errors
    /// When that had no such finding.
    pub fn evidence(&self, finding: usize) -> Result<String, Refused> {
        let grounds = self.grounds.get(finding);
        let grounds = grounds.ok_or_else(|| {
            Refused(format!("cannot show the evidence of finding {finding}: there is none"))
        })?;
        json(&EvidenceDocument::new(&self.recording, grounds))
    }

    /// The activities that the filter's activity, process, thread and time range keep, as JSON.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn activities(&self) -> Result<String, Refused> {
        let (recording, choice) = (&self.recording, ActivityChoice::of(&self.filter)?);
        let survey = Survey::of(recording);
        let rows = survey.by_name(|_, activity| choice.holds(recording, activity));
        let ended: Vec<ActivityId> =
            rows.iter().flat_map(|row| row.ended.iter().copied()).collect();
        let slowest = survey.slowest(ended, SLOWEST);
        let view = ActivitiesView {
            recording,
            survey: &survey,
            rows: &rows,
            rows_left_out: 0,
            slowest: &slowest,
        };
        let empty = rows.is_empty().then(|| why_no_activities(recording));
        json(&Activities { empty, document: ActivitiesDocument::new(&view) })
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
        if filter != self.filter {
            self.show(filter, &fitting)?;
        }
        self.filtered(&fitting)
    }

    fn show(&mut self, filter: Filter, fitting: &Filter) -> Result<(), Refused> {
        (self.tree, self.basis) = self.indexes.tree(&self.recording, fitting)?;
        let kept = filter.process == self.filter.process
            && filter.thread == self.filter.thread
            && (filter.from, filter.to) == (self.filter.from, self.filter.to);
        if !kept {
            self.threads = OnceCell::new();
        }
        self.filter = filter;
        Ok(())
    }

    /// What is shown, in numbers that are few.
    fn filtered(&self, fitting: &Filter) -> Result<String, Refused> {
        let is_run = fitting.metric == Metric::Run && !self.recording.intervals.is_empty();
        let nothing = match is_run {
            true => no_run_time(&self.recording, &self.tree, fitting)?,
            false => nothing_to_show(&self.tree, fitting),
        };
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
        let places = self.places.get_or_init(|| FunctionPlaces::of(&self.recording));
        FunctionColumns::of(&self.tree, places)
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
    pub fn lane_threads(&self) -> Result<String, Refused> {
        json(&LaneJson::all(&self.recording, self.threads()?))
    }

    /// The bars of a range of time that is so many pixels wide, and the rows of their threads;
    /// `busy_only` leaves out the idle ones.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn lanes(
        &self,
        (from, to): (u64, u64),
        pixels: u32,
        busy_only: bool,
    ) -> Result<(Vec<u32>, Bars), Refused> {
        let shown = (0_u32..).zip(self.threads()?).filter(|(_, time)| !(busy_only && time.idle));
        let (rows, threads): (Vec<u32>, Vec<ThreadId>) =
            shown.map(|(row, time)| (row, time.id)).unzip();
        Ok((rows, self.all_lanes().bars(&threads, (Time(from), Time(to)), pixels)))
    }

    /// What the command was waiting for in a range of time that is so many pixels wide, whatever the filter
    /// keeps: bars, and the rows of their threads, `u32::MAX` where that has no lane. Empty where no command ended.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn run_bars(
        &mut self,
        (from, to): (u64, u64),
        pixels: u32,
    ) -> Result<(Vec<u32>, PathBars), Refused> {
        let Some(path) = self.indexes.path(&self.recording) else {
            return Ok(Default::default());
        };
        let range = (Time(from), Time(to));
        let bars = self.all_lanes().path_bars(path.segments(), range, pixels);
        let threads = self.threads()?;
        let mut rows = vec![u32::MAX; self.recording.threads.len()];
        for (row, time) in (0_u32..).zip(threads) {
            rows[time.id.index()] = row;
        }
        Ok((bars.thread.iter().map(|thread| rows[thread.index()]).collect(), bars))
    }

    /// The interval of a lane at a time as JSON; `null` where its thread did not live.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn at(&self, row: usize, time: u64) -> Result<String, Refused> {
        let (threads, lanes) = (self.threads()?, self.all_lanes());
        let thread = threads.get(row).map(|thread| thread.id);
        let at = thread.and_then(|thread| lanes.row_at(thread, Time(time)));
        json(&at.map(|at| IntervalDocument::new(&self.recording, lanes, at, threads)))
    }

    /// The presets that everybody has, with the groups that they are of this recording, as JSON. `own` says
    /// what counts as the program's own code.
    ///
    /// # Errors
    /// When `own` is no list of patterns.
    pub fn presets(&self, own: &str) -> Result<String, Refused> {
        let own = OwnCode::new(&self.recording, &patterns(own)?);
        let written = |mut preset: Preset| {
            if preset.name == MY_APP {
                preset.group = my_app(&self.recording, &own)?;
            }
            Some(PresetJson::from(preset))
        };
        json(&stock_presets().into_iter().filter_map(written).collect::<Vec<_>>())
    }

    /// Opens a second recording, to be compared with this one. It replaces the one before.
    ///
    /// # Errors
    /// When the bytes are no recording, or of a later version.
    pub fn open_other(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), Refused> {
        self.comparison = None;
        self.comparison = Some(Comparison::open(name, bytes)?);
        Ok(())
    }

    /// What changed from this recording to the other one under the filter, as JSON; from the other one to
    /// this if it comes `first`.
    ///
    /// # Errors
    /// When there is no other one, or the two have no metric in common.
    pub fn compare(&mut self, first: bool) -> Result<String, Refused> {
        let recording = (self.name.as_str(), &self.recording);
        other(&mut self.comparison)?.compare(recording, &self.filter, first)
    }

    /// What became of the findings, as JSON. It takes as long as the rules do for both.
    ///
    /// # Errors
    /// When there is no other recording.
    pub fn compare_findings(&mut self, first: bool) -> Result<String, Refused> {
        other(&mut self.comparison)?.findings(&self.recording, first)
    }

    /// What both commands were waiting for over time, the one before first, in so many pixels, and the ns that
    /// these are; none where one of them did not end.
    ///
    /// # Errors
    /// When there is no other recording.
    pub fn compared_runs(
        &mut self,
        first: bool,
        pixels: u32,
    ) -> Result<Option<(u64, [RunColumns; 2])>, Refused> {
        let path = self.indexes.path(&self.recording);
        let comparison = other(&mut self.comparison)?;
        Ok(comparison.runs((&self.recording, path.as_deref()), pixels, first))
    }

    /// Both sides of the last comparison in one tree, and the names that its columns number.
    #[must_use]
    pub fn compared_tree(&self) -> (DiffColumns, Vec<String>) {
        let of = |compared: &Comparison| (compared.tree(), compared.names());
        self.comparison.as_ref().map(of).unwrap_or_default()
    }

    fn all_lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::of(&self.recording))
    }

    fn threads(&self) -> Result<&[ThreadTime], Refused> {
        let query = query(&self.filter)?;
        Ok(self.threads.get_or_init(|| {
            let path = self.indexes.known_path();
            let relevance = || Relevance::on_path(&self.recording, path);
            thread_times(&self.recording, &query, self.relevance.get_or_init(relevance))
        }))
    }

    fn name(&self, name: u32) -> Result<NameId, Refused> {
        let found = self.tree.names().ids().nth(name as usize);
        found.ok_or_else(|| {
            Refused(format!("cannot find the function {name}: there is no such name"))
        })
    }
}
