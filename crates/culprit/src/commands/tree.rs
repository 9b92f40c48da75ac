//! `culprit tree REC`: the call tree from the root.

use culprit_engine::calls::CallTree;
use culprit_model::Filter;

use crate::args::ViewArgs;
use crate::failure::{Failure, Outcome};
use crate::json::TreeDocument;
use crate::output::Output;
use crate::{load, views};

/// Lines unless the user says otherwise: what a screen holds.
const LINES: usize = 50;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read.
pub(crate) fn run(args: &ViewArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let filter = args.filter.filter();
    let recording = load::recording(&args.recording.recording)?;
    let tree = load::tree(&recording, &filter)?;
    for reason in views::why_empty(&tree, &filter, &recording) {
        output.say(&format!("nothing to show: {reason}"));
    }
    show(&tree, &filter, output)?;
    Ok(Outcome::Done)
}

/// Prints a tree as the options say.
///
/// # Errors
/// When stdout cannot take it.
pub(crate) fn show(tree: &CallTree, filter: &Filter, output: &mut Output) -> Result<(), Failure> {
    if output.wants_json() {
        return output.document(&TreeDocument::new(tree, filter.limit.unwrap_or(0)));
    }
    let text = views::tree_text(tree, filter.limit.unwrap_or(LINES), output);
    output.print(&text)
}
