//! The filter options that every view, diff and export takes, as the user typed them.

use crate::metric::Metric;
use crate::time::Time;

/// The filter options as typed; the engine compiles the patterns.
///
/// Pattern lists are the text of the option: entries separated by `;`, in the language of
/// docs/filters.md. An empty text filters nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// What stacks weigh.
    pub metric: Metric,
    /// Keep time from here on.
    pub from: Option<Time>,
    /// Keep time up to here.
    pub to: Option<Time>,
    /// Keep processes whose `NAME (PID)` matches.
    pub process: String,
    /// Keep threads whose `NAME (TID)` matches.
    pub thread: String,
    /// Group patterns: `PAT->NAME`, `PAT=>NAME`.
    pub group: String,
    /// Fold patterns: a matching frame gives its cost to its caller.
    pub fold: String,
    /// Fold nodes below this percentage of the total.
    pub fold_pct: Option<f64>,
    /// Keep stacks in which every pattern matches some frame.
    pub include: String,
    /// Drop stacks in which any pattern matches any frame.
    pub exclude: String,
    /// Rows to show; none means the view's default, 0 means all.
    pub limit: Option<usize>,
}
