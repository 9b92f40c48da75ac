//! `culprit findings REC`: what is wrong, the dearest first.

use super::fail_on::{FailOn, outcome};
use crate::args::FindingsArgs;
use crate::failure::{Failure, Outcome};
use crate::json::{FindingsDocument, OfRecording};
use crate::load;
use crate::output::Output;
use crate::text::{Detail, findings_text};
use crate::weighed::LIMITS;

/// Runs it.
///
/// # Errors
/// When the recording or an option cannot be read.
pub(crate) fn run(args: &FindingsArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let fail_on = FailOn::parse(args.fail_on.as_deref())?;
    let filter = args.filter.filter()?;
    let recording = load::recording(&args.recording.recording, output)?;
    let mut report = load::findings(&recording, &filter, args.all)?;
    if let Some(limit) = filter.limit.filter(|limit| *limit > 0) {
        report.findings.truncate(limit);
    }
    if output.wants_json() {
        let document = FindingsDocument::new(&recording, &report);
        output.document(&OfRecording::new(&recording, document))?;
    } else {
        let text = match report.findings.is_empty() && recording.intervals.is_empty() {
            true => format!("{LIMITS}\n"),
            false => findings_text(&report.findings, Detail::Full, output),
        };
        output.print(&text)?;
    }
    Ok(outcome(fail_on.as_ref(), &report.findings))
}
