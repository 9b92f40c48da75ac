//! The user's filter, compiled once, used for every row.

use culprit_model::{Drill, Filter, Metric, Recording, Root, Text, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::group::Groups;
use super::pattern::Patterns;
use crate::error::FilterError;

/// Include patterns are bits of one word.
const MOST_INCLUDES: usize = 64;

/// A compiled filter.
#[derive(Debug, Clone, Default)]
pub struct Query {
    metric: Metric,
    from: Option<Time>,
    to: Option<Time>,
    process: Patterns,
    thread: Patterns,
    activity: Patterns,
    root: Root,
    pub(super) groups: Groups,
    pub(super) fold: Patterns,
    pub(super) fold_pct: Option<f64>,
    pub(super) include: Patterns,
    pub(super) exclude: Patterns,
    erase_ids: bool,
    drill: Drill,
    flat: bool,
}

impl Query {
    /// Compiles a filter. A range that ends before it begins is swapped.
    ///
    /// # Errors
    /// When a pattern is none, when there are more than 64 include patterns, or when the fold
    /// percentage is outside of 0 to 100.
    pub fn compile(filter: &Filter) -> Result<Self, FilterError> {
        let include = Patterns::parse(&filter.include)?;
        if include.iter().len() > MOST_INCLUDES {
            let found = include.iter().len();
            return Err(FilterError::TooMany { found, most: MOST_INCLUDES });
        }
        if let Some(found) = filter.fold_pct.filter(|pct| !(0.0..=100.0).contains(pct)) {
            return Err(FilterError::Percent { found });
        }
        let (from, to) = match (filter.from, filter.to) {
            (Some(from), Some(to)) if to < from => (Some(to), Some(from)),
            range => range,
        };
        Ok(Self {
            metric: filter.metric,
            from,
            to,
            process: Patterns::parse(&filter.process)?,
            thread: Patterns::parse(&filter.thread)?,
            activity: Patterns::parse(&filter.activity)?,
            root: filter.root,
            groups: Groups::parse(&filter.group)?,
            fold: Patterns::parse(&filter.fold)?,
            fold_pct: filter.fold_pct,
            include,
            exclude: Patterns::parse(&filter.exclude)?,
            erase_ids: filter.erase_ids,
            drill: filter.drill.clone(),
            flat: filter.flat,
        })
    }

    /// What stacks weigh.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The same metric, time range and threads without a choice of frames.
    pub(super) fn plain(&self) -> Self {
        Self {
            metric: self.metric,
            from: self.from,
            to: self.to,
            process: self.process.clone(),
            thread: self.thread.clone(),
            activity: self.activity.clone(),
            root: self.root,
            erase_ids: self.erase_ids,
            flat: self.flat,
            ..Self::default()
        }
    }

    /// The time range: from the recording's start to its end where the filter says nothing.
    #[must_use]
    pub fn range(&self, recording: &Recording) -> (Time, Time) {
        self.range_to(Time(recording.meta.wall.0))
    }

    /// As [`Query::range`], for a recording that ends at a time.
    pub(super) fn range_to(&self, end: Time) -> (Time, Time) {
        (self.from.unwrap_or(Time::START), self.to.unwrap_or(end))
    }

    /// True when no process and no thread pattern is given.
    #[must_use]
    pub fn keeps_all_threads(&self) -> bool {
        self.process.is_empty() && self.thread.is_empty()
    }

    /// True when a process pattern is given.
    pub(crate) fn selects_processes(&self) -> bool {
        !self.process.is_empty()
    }

    /// True when a thread pattern is given.
    pub(crate) fn selects_threads(&self) -> bool {
        !self.thread.is_empty()
    }

    /// Which threads the process and thread patterns keep: one entry a thread.
    #[must_use]
    pub fn threads(&self, recording: &Recording) -> Vec<bool> {
        let kept = |(at, thread): (usize, &culprit_model::Thread)| {
            let process = recording.process_name(thread.process);
            self.keeps(&process, &recording.thread_name(ThreadId::from_index(at)))
        };
        recording.threads.iter().enumerate().map(kept).collect()
    }

    /// True when the process and thread patterns keep a thread, `NAME (PID)` and `NAME (TID)`.
    pub(super) fn keeps(&self, process: &str, thread: &str) -> bool {
        let kept = |patterns: &Patterns, name| patterns.is_empty() || patterns.any(name);
        kept(&self.process, process) && kept(&self.thread, thread)
    }

    /// What stands between processes and threads.
    #[must_use]
    pub fn root(&self) -> Root {
        self.root
    }

    /// Which activities the activity patterns keep: one entry an activity.
    #[must_use]
    pub fn activities(&self, recording: &Recording) -> Vec<bool> {
        let mut kept: Vec<bool> = Vec::with_capacity(recording.activities.len());
        let mut names: FxHashMap<&Text, bool> = FxHashMap::default();
        for activity in &recording.activities {
            let above = activity.parent.and_then(|parent| kept.get(parent.index()).copied());
            let own = names.entry(&activity.name);
            let own = *own.or_insert_with(|| self.keeps_activity(&activity.name));
            kept.push(self.activity.is_empty() || own || above.unwrap_or(false));
        }
        kept
    }

    /// True when time counts whatever its thread worked on.
    pub(crate) fn keeps_all_activities(&self) -> bool {
        self.activity.is_empty()
    }

    /// True when the activity patterns keep what a thread did for an activity of this name.
    pub(super) fn keeps_activity(&self, name: &str) -> bool {
        self.activity.any(name)
    }

    /// True when a pattern may be about a module's path.
    pub(super) fn wants_paths(&self) -> bool {
        let lists = [&self.fold, &self.include, &self.exclude];
        let listed = lists.into_iter().flat_map(Patterns::iter).any(super::Pattern::wants_paths);
        listed || self.groups.want_paths()
    }

    /// True when processes and threads go by their names alone.
    pub(super) fn erases_ids(&self) -> bool {
        self.erase_ids
    }

    /// True when a pattern may drop stacks.
    pub(super) fn drops(&self) -> bool {
        !(self.include.is_empty() && self.exclude.is_empty())
    }

    /// True when no name changes and none is folded away.
    pub(super) fn keeps_names(&self) -> bool {
        self.groups.is_empty() && self.fold.is_empty() && !self.erase_ids
    }

    /// Which samples of a node are wanted.
    pub(super) fn drill(&self) -> &Drill {
        &self.drill
    }

    /// True when each sample is its last frame alone.
    pub(super) fn flat(&self) -> bool {
        self.flat
    }
}
