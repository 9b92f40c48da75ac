//! `culprit verify --before CMD --after CMD`: is the fix real?

use culprit_experiment::Results;
use culprit_report::experiment::{VerifyDocument, verify_text};

use super::bench::measure;
use crate::args::VerifyArgs;
use crate::bench::of_verify;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Runs it.
///
/// # Errors
/// When nothing could be measured, or the place failed; what was measured is shown before.
pub(crate) fn run(args: &VerifyArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let show = |results: &Results, output: &mut Output| {
        output.show(|| VerifyDocument::new(results), |layout| verify_text(results, layout))
    };
    measure(&of_verify(args)?, output, show, &args.measure.fail_on)
}
