//! `culprit callees F REC`: what a function calls, from it downwards.

use super::{butterfly, tree};
use crate::args::NameArgs;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or no frame has the name.
pub(crate) fn run(args: &NameArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (calls, focus) = butterfly::focused(args, output)?;
    tree::show(&calls.callees(focus), &args.filter.filter(), output)?;
    Ok(Outcome::Done)
}
