//! `culprit report REC`: one screen of text, or one page.

use std::path::Path;

use culprit_model::KeptConfiguration;
use culprit_report::config;
use culprit_report::config::json::KeptJson;
use culprit_report::json::ReportDocument;
use culprit_report::text::{ThreadList, report_text};

use super::fail_on::{FailOn, outcome};
use crate::args::{FindingsArgs, ReportArgs};
use crate::failure::{Context as _, Failure, Outcome};
use crate::output::Output;
use crate::recording_page::RecordingPage;
use crate::running::read_snapshot;
use crate::{files, load};

/// Runs it.
///
/// # Errors
/// When the recording or an option cannot be read, or the page cannot be written.
pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let FindingsArgs { recording, fail_on, all, filter } = &args.findings;
    let fail_on = FailOn::parse(fail_on.as_deref())?;
    let filter = filter.filter()?;
    // Groups of a file are wrong input; a folder is refused where it is opened.
    recording.is_folder()?;
    let path = &recording.recording;
    let mut recording = load::recording(path, output)?;
    if let Some(config) = &args.config {
        recording.meta.configuration = Some(snapshot_of(config)?);
    }
    load::check_metric(&args.findings.filter, &recording)?;
    let digest = load::digest(recording, &filter, *all)?;
    if digest.threads.is_empty() {
        let tree = load::tree(&digest.recording, &filter)?;
        load::explain_if_empty(&tree, &filter, &filter, output)?;
    }
    if let Some(page) = &args.output {
        let html = RecordingPage { path, view: "overview", filter: &filter }.html(&digest)?;
        files::write_whole(page, html.as_bytes())?;
        output.say(&format!("wrote {}", page.display()));
    }
    if output.wants_json() {
        let kept = config::kept_by(&digest.recording.meta);
        output.document(&ReportDocument::new(&digest, kept.as_ref().map(KeptJson::new)))?;
    } else if args.output.is_none() {
        let list = ThreadList { most: filter.limit.unwrap_or(0), idle: args.idle };
        let kept = config::text::kept(&digest.recording.meta, path, output.layout());
        let text = report_text(&digest, path, list, kept.as_deref(), output.layout());
        output.print(&text)?;
    }
    Ok(outcome(fail_on.as_ref(), &digest.report.findings))
}

/// A snapshot in place of what a recording has kept.
fn snapshot_of(path: &Path) -> Result<KeptConfiguration, Failure> {
    let text = read_snapshot(path, None)?.without_key().to_text();
    let what = || format!("cannot use `--config {}`", path.display());
    text.map(KeptConfiguration::Snapshot).or_bad_input(what)
}
