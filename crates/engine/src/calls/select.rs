//! The rows that a filter keeps, each with its time and what is left of its stack: what is given
//! on to other programs.
//!
//! Unlike a call tree this keeps rows apart, keeps direct recursion, and knows of each name what it
//! stands for. Folding by percentage needs a whole tree and does not apply.

use culprit_model::{
    ActivityId, Cause, Label as _, Metric, Nanos, Recording, Root, SelectedRow, Selection, Source,
    StackId, Step, StepId, Text, ThreadId, Time,
};
use rustc_hash::FxHashMap;

use super::activity::{ACTIVITIES, NO_ACTIVITY};
use super::index::STACK_LOST;
use super::names::{NameId, Names};
use super::query::Query;
use crate::activities::Owners;
use crate::run_time::is_link;

/// How many activities around one are written out: what is further out, only a damaged file has.
const DEEPEST: usize = 1_000;

type Key = (Option<ThreadId>, Option<StackId>, Option<Cause>, Option<ActivityId>);

/// The rows that a filter keeps. Linear in rows, plus the frames of distinct stacks.
#[must_use]
pub fn select(recording: &Recording, query: &Query) -> Selection {
    let mut selector = Selector {
        activities: canonical(recording),
        recording,
        query,
        judged: FxHashMap::default(),
        names: Names::default(),
        steps: Vec::new(),
        known: FxHashMap::default(),
    };
    let mut leaves: FxHashMap<Key, Option<Option<StepId>>> = FxHashMap::default();
    let mut rows = Vec::new();
    kept(recording, query, |key, mut row| {
        if let Some(leaf) = *leaves.entry(key).or_insert_with(|| selector.leaf(key)) {
            row.leaf = leaf;
            rows.push(row);
        }
    });
    rows.sort_by_key(|row| row.time);
    Selection { steps: selector.steps, rows }
}

/// The first activity of the name of each activity.
fn canonical(recording: &Recording) -> Vec<ActivityId> {
    let mut first: FxHashMap<&Text, ActivityId> = FxHashMap::default();
    let rows = recording.activities.iter().enumerate();
    rows.map(|(at, row)| *first.entry(&row.name).or_insert(ActivityId::from_index(at))).collect()
}

/// Every row that a query's metric, time range and thread patterns keep, cut to the range, and where
/// its stack is.
fn kept(recording: &Recording, query: &Query, mut each: impl FnMut(Key, SelectedRow)) {
    let metric = query.metric();
    let range = query.range_to(Time(recording.meta.wall.0));
    let threads = query.threads(recording);
    let keeps = |id: ThreadId| threads.get(id.index()).copied().unwrap_or(false);
    let works = Owners::of(recording);
    let activities = query.activities(recording);
    let all_activities = query.keeps_all_activities();
    let at = |thread: ThreadId, time: Time| {
        works.at(thread, time).filter(|id| id.index() < activities.len())
    };
    let rooted = query.root() == Root::Activities;
    let wanted = |id: Option<ActivityId>| id.map_or(all_activities, |id| activities[id.index()]);
    let mut give = |key: Key, time: Time, duration: Nanos, (value, count): (u64, u64)| {
        let value = if metric == Metric::Waits { count } else { value };
        let row = SelectedRow { time, duration, thread: key.0, leaf: None, value, count };
        if let Some(row) = cut(row, range).filter(|_| wanted(key.3)) {
            let (thread, stack, cause, activity) = key;
            each((thread, stack, cause, activity.filter(|_| rooted)), row);
        }
    };
    if metric == Metric::Faults {
        for row in recording.faults.iter().filter(|row| keeps(row.thread)) {
            let key = (Some(row.thread), row.stack, None, at(row.thread, row.time));
            give(key, row.time, Nanos::ZERO, (row.count, 1));
        }
    }
    for row in recording.intervals.iter().filter(|row| keeps(row.thread)) {
        if metric.counts(row.cause) {
            let activity = at(row.thread, row.start);
            let key = (Some(row.thread), row.stack, Some(row.cause), activity);
            give(key, row.start, row.duration, (row.duration.0, 1));
        }
    }
    // A pattern on threads cannot fit what has none.
    let all = query.keeps_all_threads();
    for row in recording.costs.iter().filter(|row| row.thread.map_or(all, keeps)) {
        let of_cause = || row.cause.is_some_and(|cause| metric.counts(cause));
        let time = row.metric == Metric::Wall && !matches!(metric, Metric::Waits | Metric::Run);
        if row.metric == metric || (time && of_cause()) {
            let activity = row.thread.and_then(|thread| at(thread, row.time));
            let key = (row.thread, row.stack, row.cause, activity);
            give(key, row.time, row.duration, (row.value, row.count));
        }
    }
}

/// What a time range, both ends included, leaves of a row; the value is cut in proportion.
fn cut(row: SelectedRow, (from, to): (Time, Time)) -> Option<SelectedRow> {
    let (time, end) = (row.time.max(from), (row.time + row.duration).min(to));
    if end < time {
        return None;
    }
    let duration = end.since(time);
    if duration == row.duration {
        return Some(row);
    }
    let part = u128::from(row.value) * u128::from(duration.0) / u128::from(row.duration.0.max(1));
    Some(SelectedRow { time, duration, value: u64::try_from(part).unwrap_or(u64::MAX), ..row })
}

/// What the filter says about one name.
#[derive(Debug, Clone)]
struct Judged {
    name: NameId,
    /// What the name stands for: nothing once it is grouped.
    grouped: bool,
    /// The entry group's own name.
    entry: Option<String>,
    excluded: bool,
    folded: bool,
    /// The include patterns that the name fits, one bit each.
    included: u64,
}

struct Selector<'a> {
    /// The first activity of the name of each.
    activities: Vec<ActivityId>,
    recording: &'a Recording,
    query: &'a Query,
    judged: FxHashMap<Source, Judged>,
    names: Names,
    steps: Vec<Step>,
    known: FxHashMap<(Option<StepId>, NameId, Source), StepId>,
}

impl Selector<'_> {
    /// What a stack is made of, outermost first.
    fn sources(&self, (thread, stack, cause, activity): Key) -> Vec<Source> {
        let time = self.query.metric().is_time();
        let mut sources = Vec::new();
        let cause = cause.filter(|_| thread.is_some() && time);
        sources.extend(cause.map(Source::Cause));
        match stack {
            None => sources.push(Source::Other),
            Some(stack) => sources.extend(self.recording.stack(stack).map(Source::Frame)),
        }
        if let Some(thread) = thread {
            let process = self.recording.thread(thread).process;
            sources.push(Source::Thread(thread));
            if self.query.root() == Root::Activities {
                sources.extend(self.activities(activity));
            }
            sources.push(Source::Process(process));
        }
        sources.reverse();
        sources
    }

    /// An activity and all that it is part of, innermost first.
    fn activities(&self, activity: Option<ActivityId>) -> Vec<Source> {
        let rows = &self.recording.activities;
        let above = |id: &ActivityId| rows[id.index()].parent.filter(|parent| parent < id);
        let path = std::iter::successors(activity, above);
        let names = path.take(DEEPEST).map(|id| Source::Activity(self.activities[id.index()]));
        names.chain([Source::Activities(activity.is_some())]).collect()
    }

    /// The name of what stands in a stack, and with its module's whole path.
    fn name(&self, source: Source) -> (String, Option<String>) {
        match source {
            Source::Process(id) => (format!("Process {}", self.recording.process_name(id)), None),
            Source::Activities(some) => {
                (if some { ACTIVITIES } else { NO_ACTIVITY }.to_owned(), None)
            }
            Source::Activity(id) => {
                (format!("Activity {}", self.recording.activity(id).name), None)
            }
            Source::Thread(id) => (format!("Thread {}", self.recording.thread_name(id)), None),
            Source::Cause(cause) => (cause.word().to_owned(), None),
            Source::Other => (STACK_LOST.to_owned(), None),
            Source::Frame(id) => {
                let frame = self.recording.frame(id);
                let module = frame.module.map(|module| self.recording.module(module));
                let long = module.map(|module| format!("{}!{}", module.path, frame.function));
                (self.recording.frame_name(id), long)
            }
        }
    }

    fn judge(&mut self, source: Source) -> Judged {
        if let Some(known) = self.judged.get(&source) {
            return known.clone();
        }
        let (mut original, long) = self.name(source);
        let numbered = match source {
            Source::Process(_) | Source::Thread(_) => true,
            Source::Frame(id) => is_link(self.recording.frame(id)),
            _ => false,
        };
        if let Some((name, _)) = original.rsplit_once(" (")
            && numbered
            && self.query.erases_ids()
        {
            original = name.to_owned();
        }
        let long = long.filter(|_| self.query.wants_paths());
        let applied = self.query.groups.apply(&original, long.as_deref());
        let (shown, long, entry, grouped) = match applied {
            Some(group) => (group.name, None, group.entry, true),
            None => (original, long, None, false),
        };
        let long = long.as_deref();
        let bits = self.query.include.iter().zip(0..);
        let fits = bits.filter(|(pattern, _)| pattern.fits(&shown, long));
        let judged = Judged {
            name: self.names.intern(&Text::from(&*shown)),
            grouped,
            entry,
            excluded: self.query.exclude.any_of(&shown, long),
            folded: self.query.fold.any_of(&shown, long),
            included: fits.fold(0, |word, (_, bit)| word | 1 << bit),
        };
        self.judged.insert(source, judged.clone());
        judged
    }

    /// The last step of what is left of a stack; none when the stack is dropped.
    fn leaf(&mut self, key: Key) -> Option<Option<StepId>> {
        let mut at: Option<StepId> = None;
        let (mut included, mut inside) = (0_u64, None);
        for source in self.sources(key) {
            let judged = self.judge(source);
            if judged.excluded {
                return None;
            }
            let entered = judged.entry.is_some() && judged.entry == inside;
            if entered || (judged.folded && at.is_some()) {
                continue;
            }
            included |= judged.included;
            inside = judged.entry;
            let same = |at: StepId| self.steps[at.index()].name == *self.names.text(judged.name);
            if judged.grouped && at.is_some_and(same) {
                continue;
            }
            let source = if judged.grouped { Source::Other } else { source };
            if self.query.flat() {
                at = None;
            }
            at = Some(self.step(at, judged.name, source));
        }
        let all = self.query.include.iter().zip(0..).fold(0_u64, |word, (_, bit)| word | 1 << bit);
        (included == all).then_some(at)
    }

    fn step(&mut self, parent: Option<StepId>, name: NameId, source: Source) -> StepId {
        let steps = &mut self.steps;
        *self.known.entry((parent, name, source)).or_insert_with(|| {
            steps.push(Step { parent, name: self.names.text(name).clone(), source });
            StepId::from_index(steps.len() - 1)
        })
    }
}
