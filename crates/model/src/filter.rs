//! The filter options that every view, diff and export takes, as the user typed them.

use crate::metric::Metric;
use crate::time::Time;

/// Which samples of a node a view is narrowed to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Drill {
    /// No node was chosen.
    #[default]
    No,
    /// Those that pass through the node or end there.
    Through(String),
    /// Those that end there.
    At(String),
}

crate::label::labels! {
    /// What stands at the root end of stacks.
    Root ("root") {
        /// The process, then the thread.
        Threads = "threads",
        /// The process, then the activities that the thread worked on, the innermost last, then the
        /// thread.
        Activities = "activities",
    }
}

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
    /// Keep what threads did for activities whose name matches, or which are part of such.
    pub activity: String,
    /// What stands at the root end of stacks.
    pub root: Root,
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
    /// Named groups and folds that come before the filter's own. Whoever knows the names writes them
    /// out; the engine leaves them.
    pub presets: Vec<String>,
    /// What counts as the program's own code instead of what the rule says: the preset for the
    /// program's own code, comparisons and findings read it.
    pub own: String,
    /// Treat processes of one program, and threads of one name, as one: their numbers are left out
    /// of the frames that stand for them.
    pub erase_ids: bool,
    /// Keep only the samples of the nodes of this shown name (text, or a pattern), and show them
    /// without groups and folds: what is behind a node. The other options choose the samples.
    pub drill: Drill,
    /// One frame a sample: its last.
    pub flat: bool,
    /// Rows to show; none means the view's default, 0 means all.
    pub limit: Option<usize>,
}
