//! `culprit verify --before CMD --after CMD`: is the fix real?

use super::bench::measure;
use crate::args::VerifyArgs;
use crate::bench::{Answer, Plan};
use crate::failure::{Failure, Outcome};
use crate::json::VerifyDocument;
use crate::output::Output;
use crate::text::verify_text;

/// Runs it.
///
/// # Errors
/// When nothing could be measured, or the place failed; what was measured is shown before.
pub(crate) fn run(args: &VerifyArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let plan = Plan::of_verify(args)?;
    let show = |answer: &Answer, output: &mut Output| {
        if output.wants_json() {
            output.document(&VerifyDocument::new(answer))
        } else {
            let text = verify_text(answer, output);
            output.print(&text)
        }
    };
    measure(&plan, output, show, &args.measure.fail_on)
}
