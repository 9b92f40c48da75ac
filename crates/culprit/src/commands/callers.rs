//! `culprit callers F REC`: who calls a function, from it upwards.

use super::{butterfly, tree};
use crate::args::NameArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::Output;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or no frame has the name.
pub(crate) fn run(args: &NameArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (mut view, focus) = butterfly::focused(args, load::view, output)?;
    view.tree = view.tree.callers(focus);
    tree::show(&view, output)?;
    Ok(Outcome::Done)
}
