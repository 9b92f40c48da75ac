//! The user's filter, compiled once, used for every row.

use culprit_model::{Filter, Metric, ProcessId, Recording, ThreadId, Time};

use super::group::Groups;
use super::pattern::Patterns;
use crate::error::FilterError;

/// Include patterns are bits of one word.
const MOST_INCLUDES: usize = 64;

/// A compiled filter.
#[derive(Debug, Clone)]
pub struct Query {
    metric: Metric,
    from: Option<Time>,
    to: Option<Time>,
    process: Patterns,
    thread: Patterns,
    pub(super) groups: Groups,
    pub(super) fold: Patterns,
    pub(super) fold_pct: Option<f64>,
    pub(super) include: Patterns,
    pub(super) exclude: Patterns,
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
            groups: Groups::parse(&filter.group)?,
            fold: Patterns::parse(&filter.fold)?,
            fold_pct: filter.fold_pct,
            include,
            exclude: Patterns::parse(&filter.exclude)?,
        })
    }

    /// What stacks weigh.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The time range: from the recording's start to its end where the filter says nothing.
    #[must_use]
    pub fn range(&self, recording: &Recording) -> (Time, Time) {
        let to = self.to.unwrap_or(Time(recording.meta.wall.0));
        (self.from.unwrap_or(Time::START), to)
    }

    /// True when no process and no thread pattern is given.
    #[must_use]
    pub fn keeps_all_threads(&self) -> bool {
        self.process.is_empty() && self.thread.is_empty()
    }

    /// Which threads the process and thread patterns keep: one entry a thread.
    #[must_use]
    pub fn threads(&self, recording: &Recording) -> Vec<bool> {
        let processes: Vec<bool> = (0..recording.processes.len())
            .map(ProcessId::from_index)
            .map(|id| self.process.is_empty() || self.process.any(&recording.process_name(id)))
            .collect();
        let kept = |(at, thread): (usize, &culprit_model::Thread)| {
            let name = || recording.thread_name(ThreadId::from_index(at));
            processes.get(thread.process.index()).copied().unwrap_or(false)
                && (self.thread.is_empty() || self.thread.any(&name()))
        };
        recording.threads.iter().enumerate().map(kept).collect()
    }
}
