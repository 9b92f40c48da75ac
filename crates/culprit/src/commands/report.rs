//! `culprit report REC`: one screen of text, or one page.

use std::path::Path;

use culprit_model::KeptConfiguration;
use culprit_report::json::ReportDocument;
use culprit_report::text::{ThreadList, report_text};
use culprit_report::{Digest, html};

use super::fail_on::{FailOn, outcome};
use crate::args::{FindingsArgs, ReportArgs};
use crate::failure::{Context as _, Failure, Outcome};
use crate::html::kept_section;
use crate::json::KeptJson;
use crate::output::{Output, percent};
use crate::running::{kept_by, read_snapshot};
use crate::text::configuration_text;
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
        write_page(&digest, page)?;
        output.say(&format!("wrote {}", page.display()));
    }
    if output.wants_json() {
        let kept = kept_by(&digest.recording.meta);
        output.document(&ReportDocument::new(&digest, kept.as_ref().map(KeptJson::new)))?;
    } else if args.output.is_none() {
        let list = ThreadList { most: filter.limit.unwrap_or(0), idle: args.idle };
        let kept = configuration_text(&digest.recording.meta, path, output);
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

/// Writes a recording's page.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_page(digest: &Digest, path: &Path) -> Result<(), Failure> {
    let meta = &digest.recording.meta;
    let views = vec![(meta.place.clone(), digest)];
    let page = html::Page {
        verdict: digest.verdict(),
        because: None,
        what: digest.what(),
        facts: vec![
            ("wall time", meta.wall.to_string()),
            ("threads", digest.threads.len().to_string()),
            ("place", meta.place.clone()),
            ("kernel", meta.kernel.clone()),
            ("CPUs", meta.cpus.to_string()),
            (
                "exit code",
                meta.exit_code.map_or_else(|| "none".to_owned(), |code| code.to_string()),
            ),
            ("access level", meta.rung.to_string()),
        ],
        comparison: None,
        findings: &digest.report.findings,
        findings_lead: format!(
            "Wall time of the threads that the measured work waited for. Each interval is counted \
             once. Together the findings explain {} of {}.",
            percent(digest.report.explained_share),
            digest.report.whole
        ),
        configuration: kept_section(&views),
        views,
        first: 0,
    };
    let html = html::render(&page).or_refused(|| "cannot create the HTML page".to_owned())?;
    files::write_whole(path, html.as_bytes())
}
