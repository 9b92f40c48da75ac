//! A flame graph in characters: one line a depth, callers on top, width is time.
//!
//! ```text
//! |all threads                                              |
//! |Process tail (12)                     |Process sh (10)   |
//! |tail!main                             |sh!main           |
//! ```

use culprit_engine::calls::{CallTree, FlameBox, NodeId, ROOT, flame};
use culprit_model::{Cause, Label as _, Metric, clean};

use crate::layout::{Layout, Paint, elide};

/// Lines unless the user says otherwise: what a screen holds.
const MOST_LINES: usize = 40;

/// The graph; `limit` counts lines, 0 shows every depth.
#[must_use]
pub fn flame_text(tree: &CallTree, limit: Option<usize>, layout: &Layout) -> String {
    let width = layout.width();
    #[expect(clippy::cast_precision_loss, reason = "a width in characters")]
    let boxes = flame(tree, 1.5 / width as f64);
    let deepest = boxes.iter().map(|entry| entry.depth as usize).max().unwrap_or(0);
    let lines = match limit {
        None => MOST_LINES.min(deepest + 1),
        Some(0) => deepest + 1,
        Some(limit) => limit.min(deepest + 1),
    };
    let mut text = String::new();
    for depth in 0..lines {
        let row = boxes.iter().filter(|entry| entry.depth as usize == depth);
        text.push_str(&line(tree, row, width, layout.paint()));
    }
    if lines <= deepest {
        text.push_str(&format!("{} deeper lines; `--limit 0` shows all.\n", deepest + 1 - lines));
    }
    text
}

fn line<'a>(
    tree: &CallTree,
    row: impl Iterator<Item = &'a FlameBox>,
    width: usize,
    paint: Paint,
) -> String {
    let mut text = String::new();
    let mut at = 0;
    for entry in row {
        let (from, to) = (cell(entry.left, width), cell(entry.right, width));
        // A box that rounds to no cell at all, or into its neighbour, leaves its time blank.
        if to <= from || from < at {
            continue;
        }
        text.push_str(&" ".repeat(from - at));
        text.push_str(&label(tree, entry, to - from, paint));
        at = to;
    }
    format!("{}\n", text.trim_end())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a width in characters"
)]
fn cell(edge: f64, width: usize) -> usize {
    (edge * width as f64).round() as usize
}

fn label(tree: &CallTree, entry: &FlameBox, cells: usize, paint: Paint) -> String {
    let full = box_name(tree, entry.node);
    let bare = full.split_once('!').map_or(full.as_str(), |(_, function)| function);
    let name = if full.chars().count() < cells { full.as_str() } else { bare };
    let name = match cells {
        0..4 => String::new(),
        // Too narrow for two ends of a name: its beginning says more.
        4..12 => name.chars().take(cells - 1).collect(),
        _ => elide(name, cells - 1).into_owned(),
    };
    let text = format!("|{name:<room$}", room = cells - 1);
    match entry.cause {
        Some(cause) => paint.cause(cause, &text),
        None => text,
    }
}

/// The name of the whole.
#[must_use]
pub fn root_name(metric: Metric) -> &'static str {
    if metric == Metric::Run { "run" } else { "all threads" }
}

/// What stands behind the name of a function that was guessed.
#[must_use]
pub fn guess_mark(tree: &CallTree, node: NodeId) -> &'static str {
    if tree.is_guessed(node) { " (guessed)" } else { "" }
}

/// The name as a box shows it.
#[must_use]
pub fn box_name(tree: &CallTree, node: NodeId) -> String {
    let name = tree.name(node);
    if name.as_str() == ROOT {
        return root_name(tree.metric()).to_owned();
    }
    match Cause::from_word(name) {
        Some(cause) => cause.to_string(),
        None => clean(name).into_owned(),
    }
}
