//! Who ended the waits: a line a place and waker, below it the chain of the longest such wait.

use culprit_engine::calls::CallTree;
use culprit_model::{Cause, Nanos, clean};

use super::{Basis, share, value};
use crate::layout::Layout;
use crate::units::percent;

/// Waits of one thread at one place that were ended alike.
#[derive(Debug)]
pub struct WakerRow {
    /// What they add up to, in the unit of the tree's metric.
    pub value: u64,
    /// How many waits.
    pub count: u64,
    /// `NAME (TID)` of the thread that waited.
    pub thread: String,
    /// What it waited for.
    pub cause: Cause,
    /// The innermost function outside the kernel.
    pub function: String,
    /// Root first.
    pub stack: Vec<String>,
    /// In words.
    pub woken_by: String,
    /// `thread`, `exit`, the kind of interrupt, `not` or `unknown`.
    pub kind: String,
    /// Where the waker was, root first; empty where wakeups have no stacks.
    pub waker_stack: Vec<String>,
    /// The longest of the waits.
    pub longest: Nanos,
    /// Its chain: the wait itself, what its waker waited for meanwhile, and so on.
    pub chain: Vec<WakerLink>,
}

/// One wait of a chain.
#[derive(Debug)]
pub struct WakerLink {
    /// `NAME (TID)` of the thread that waited.
    pub thread: String,
    /// What it waited for.
    pub cause: Cause,
    /// The innermost function outside the kernel.
    pub function: String,
    /// How long it waited.
    pub duration: Nanos,
    /// Who ended the wait, in words.
    pub woken_by: String,
}

/// The rows in lines.
#[must_use]
pub fn wakers_text(tree: &CallTree, rows: &[WakerRow], left_out: usize, layout: &Layout) -> String {
    let metric = tree.metric();
    let paint = layout.paint();
    let mut text = Basis::line(&Basis::default().heading(tree), layout);
    for row in rows {
        text.push_str(&format!(
            "\n{:>9} {:>6}  {} x  {} {} {}\n",
            value(metric, row.value),
            percent(share(row.value, tree.total())),
            row.count,
            clean(&row.thread),
            paint.cause(row.cause, &row.cause.to_string()),
            clean(&row.function),
        ));
        text.push_str(&format!("{:>18}ended by {}\n", "", clean(&row.woken_by)));
        for link in row.chain.iter().skip(1) {
            text.push_str(&format!(
                "{:>18}{} waited {} of the longest wait ({}): {} {}, ended by {}\n",
                "",
                clean(&link.thread),
                link.duration,
                row.longest,
                paint.cause(link.cause, &link.cause.to_string()),
                clean(&link.function),
                clean(&link.woken_by)
            ));
        }
    }
    if left_out > 0 {
        text.push_str(&format!("\n{left_out} more; `--limit 0` shows all.\n"));
    }
    text
}
