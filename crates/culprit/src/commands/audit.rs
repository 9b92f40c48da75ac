//! `culprit audit`: this program becomes its companion `culprit-data`, which knows the analytics
//! store.

use std::ffi::OsString;

use crate::args::AuditArgs;
use crate::companion::become_companion;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Runs it.
///
/// # Errors
/// When there is no companion.
pub(crate) fn run(args: &AuditArgs, output: &Output) -> Result<Outcome, Failure> {
    let mut all = vec![OsString::from("audit")];
    let flags = [("--json", output.wants_json()), ("--quiet", output.is_quiet())];
    all.extend(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| OsString::from(flag)));
    all.extend(args.words.iter().cloned());
    match become_companion(all)? {}
}
