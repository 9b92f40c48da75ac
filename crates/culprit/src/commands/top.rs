//! `culprit top REC`: functions by their own and total time.

use crate::args::ViewArgs;
use crate::failure::{Failure, Outcome};
use crate::json::TopDocument;
use crate::output::Output;
use crate::{load, views};

/// Rows unless the user says otherwise: what a screen holds.
const ROWS: usize = 30;

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
    if output.wants_json() {
        output.document(&TopDocument::new(&tree, filter.limit.unwrap_or(0)))?;
    } else {
        let text = views::top_text(&tree, filter.limit.unwrap_or(ROWS), output);
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}
