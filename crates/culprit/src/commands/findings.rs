//! `culprit findings REC`: what is wrong, the dearest first.

use culprit_report::LIMITS;
use culprit_report::json::{FindingsDocument, FleetFindingsDocument, OfRecording};
use culprit_report::text::{Detail, findings_text};
use culprit_report::views::fleet_findings_text;

use super::fail_on::{FailOn, outcome};
use crate::args::FindingsArgs;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::{fleet, load};

/// Findings of a folder that a text shows unless the user says otherwise.
const FLEET_FINDINGS: usize = 20;

/// Runs it.
///
/// # Errors
/// When the recording or an option cannot be read.
pub(crate) fn run(args: &FindingsArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let fail_on = FailOn::parse(args.fail_on.as_deref())?;
    if args.recording.is_folder()? {
        return run_folder(args, fail_on.as_ref(), output);
    }
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
            false => findings_text(&report.findings, Detail::Full, output.layout()),
        };
        output.print(&text)?;
    }
    Ok(outcome(fail_on.as_ref(), &report.findings))
}

/// The same for a folder of recordings.
fn run_folder(
    args: &FindingsArgs,
    fail_on: Option<&FailOn>,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let filter = args.filter.filter()?;
    let (folder, by) = (&args.recording.recording, args.recording.by.as_ref());
    let all = match fleet::is_tables(folder) {
        true => {
            let engine = &args.recording.engine;
            fleet::find_in_tables(folder, by, (&filter, args.all), engine, output)?
        }
        false => fleet::find(folder, by, (&filter, args.all), output)?,
    };
    let by = by.map(ToString::to_string);
    if output.wants_json() {
        let document = FleetFindingsDocument::new(&all, by, filter.limit.unwrap_or(0));
        output.document(&document)?;
    } else {
        let limit = filter.limit.unwrap_or(FLEET_FINDINGS);
        output.print(&fleet_findings_text(&all, by.as_deref(), limit, output.layout()))?;
    }
    let worst: Vec<_> = all.findings.into_iter().map(|found| found.worst).collect();
    Ok(outcome(fail_on, &worst))
}
