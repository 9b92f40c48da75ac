//! `culprit config drift`: the same variables from the compose file to the memory of the processes.

use culprit_config::Drift;
use culprit_report::config::json::ConfigDriftDocument;
use culprit_report::config::{html, text};

use super::config::{FailOn, write_page};
use crate::args::ConfigDriftArgs;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::running::{drifts, redactor_with};

/// Runs it.
///
/// # Errors
/// When nothing is named, or something named is not there.
pub(super) fn run(args: &ConfigDriftArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let fail_on = args.fail_on.as_deref().map(FailOn::parse).transpose()?;
    let found = drifts(args, redactor_with(None, None)?)?;
    if let Some(path) = &args.html {
        write_page(path, &html::drift_page(&found, args.all), output)?;
    }
    if output.wants_json() {
        output.document(&ConfigDriftDocument::new(&found, args.all))?;
    } else if args.html.is_none() {
        let text = text::drift(&found, args.all, output.layout());
        output.print(&text)?;
    }
    let mut findings = found.iter().flat_map(|one| &one.findings);
    if findings.any(|one| fail_on.as_ref().is_some_and(|on| on.matches(one))) {
        return Ok(Outcome::Found);
    }
    Ok(if found.iter().any(Drift::has_gaps) { Outcome::Gaps } else { Outcome::Done })
}
