//! A second recording beside the opened one, and what changed between the two.

use culprit_engine::wakers::CommandPath;
use culprit_findings::{RunSummary, find_changes};
use culprit_model::{Filter, Recording};
use culprit_report::json::{CompareDocument, FindingChangeJson};
use culprit_report::views::{DiffGroup, DiffRun, DiffRuns, DiffScale, DiffView, common_metric};

use crate::columns::{DiffColumns, RunColumns, length};
use crate::session::{Refused, json, opened};

/// What a page shows of a difference.
const GROUPS: [DiffGroup; 2] = [DiffGroup::Cause, DiffGroup::Function];

/// The second recording, and the difference that is shown.
#[derive(Debug)]
pub(crate) struct Comparison {
    name: String,
    other: Recording,
    /// Findings of the opened recording and of the other one: they do not depend on the filter.
    summaries: Option<[RunSummary; 2]>,
    view: Option<DiffView>,
}

impl Comparison {
    /// Opens the second recording.
    pub(crate) fn open(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        let other = opened(name, bytes)?;
        Ok(Self { name: name.to_owned(), other, summaries: None, view: None })
    }

    /// Compares under a filter; the other recording is the one after, unless it is `first`.
    pub(crate) fn compare(
        &mut self,
        recording: (&str, &Recording),
        filter: &Filter,
        first: bool,
    ) -> Result<String, Refused> {
        let mut filter = Filter { erase_ids: true, ..filter.clone() };
        let other = (self.name.as_str(), &self.other);
        let (before, after) = if first { (other, recording) } else { (recording, other) };
        let mut runs = (side(before, &filter)?, side(after, &filter)?);
        let mut why = String::new();
        // The metric is the page's default, not the user's wish.
        if let Some((metric, because)) = common_metric(None, &runs)? {
            filter.metric = metric;
            why = because;
            runs = (side(before, &filter)?, side(after, &filter)?);
        }
        let scale =
            DiffScale { work: (1.0, 1.0), unit_of_work: "run".into(), fold_pct: filter.fold_pct };
        let mut view = DiffView::new(&GROUPS, scale, runs);
        view.heading.push_str(&why);
        let document = json(&CompareDocument::new(&view, (before.1, after.1)));
        self.view = Some(view);
        document
    }

    /// What became of the findings.
    pub(crate) fn findings(
        &mut self,
        recording: &Recording,
        first: bool,
    ) -> Result<String, Refused> {
        let [opened, other] = self
            .summaries
            .get_or_insert_with(|| [RunSummary::of(recording), RunSummary::of(&self.other)]);
        let (before, after) = if first { (other, opened) } else { (opened, other) };
        let changes = find_changes(std::slice::from_ref(before), std::slice::from_ref(after));
        json(&changes.iter().map(FindingChangeJson::from).collect::<Vec<_>>())
    }

    /// What both commands were waiting for over time, the one before first: from the start of each on, on one
    /// scale, so many pixels wide. None where one of them did not end.
    pub(crate) fn runs(
        &self,
        (recording, path): (&Recording, Option<&CommandPath>),
        pixels: u32,
        first: bool,
    ) -> Option<(u64, [RunColumns; 2])> {
        let (opened, other) = (path?, CommandPath::of(&self.other)?);
        let longest = length(opened).max(length(&other));
        let opened = RunColumns::of(recording, opened, longest, pixels);
        let other = RunColumns::of(&self.other, &other, longest, pixels);
        Some((longest.0, if first { [other, opened] } else { [opened, other] }))
    }

    /// Both sides in one tree.
    pub(crate) fn tree(&self) -> DiffColumns {
        self.view.as_ref().map(|view| DiffColumns::of(&view.diff)).unwrap_or_default()
    }

    /// The names that the tree's columns number.
    pub(crate) fn names(&self) -> Vec<String> {
        let Some(view) = &self.view else { return Vec::new() };
        let names = view.diff.names();
        names.ids().map(|id| names.text(id).to_string()).collect()
    }
}

fn side((name, recording): (&str, &Recording), filter: &Filter) -> Result<DiffRuns, Refused> {
    let mut runs = DiffRuns::default();
    runs.add(name.into(), DiffRun::new(recording, 1, filter, &GROUPS)?);
    Ok(runs)
}
