//! `culprit wakers REC`: who ended the waits, where they were, and what they had waited for.

use culprit_report::json::{OfRecording, WakersDocument};
use culprit_report::views::{waits_of, waker_rows, wakers_text};

use crate::args::ViewArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::{Layout, Output};

/// Rows unless the user says otherwise.
const ROWS: usize = 15;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or the metric weighs no waits.
pub(crate) fn run(args: &ViewArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let given = args.filter.filter()?;
    let filter = waits_of(given.clone())?;
    let recording = load::recording(&args.recording.recording, output)?;
    let tree = load::tree(&recording, &filter)?;
    load::explain_if_empty(&tree, &filter, &given, output)?;
    let json = output.wants_json();
    let limit = filter.limit.unwrap_or(if json { 0 } else { ROWS });
    let (rows, left_out) = waker_rows(&recording, &tree, limit);
    let document = || WakersDocument::new(&tree, &rows, left_out);
    let text = |layout: &Layout| wakers_text(&tree, &rows, left_out, layout);
    output.show(|| OfRecording::new(&recording, document()), text)?;
    Ok(Outcome::Done)
}
