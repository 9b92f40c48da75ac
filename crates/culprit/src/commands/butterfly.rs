//! `culprit butterfly F REC`: a function between its callers and its callees.

use culprit_engine::calls::{CallTree, NameId};

use crate::args::NameArgs;
use crate::failure::{Failure, Outcome};
use crate::json::ButterflyDocument;
use crate::output::Output;
use crate::{load, views};

/// Rows of each side unless the user says otherwise.
const ROWS: usize = 20;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or no frame has the name.
pub(crate) fn run(args: &NameArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (tree, focus) = focused(args, output)?;
    if output.wants_json() {
        output.document(&ButterflyDocument::new(&tree, focus))?;
    } else {
        let limit = args.filter.limit.unwrap_or(ROWS);
        let text = views::butterfly_text(&tree, focus, limit, output);
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}

/// The tree and the function in it that the user means; others that match are named on stderr.
///
/// # Errors
/// As [`run`].
pub(crate) fn focused(args: &NameArgs, output: &Output) -> Result<(CallTree, NameId), Failure> {
    let filter = args.filter.filter();
    let recording = load::recording(&args.recording.recording)?;
    let tree = load::tree(&recording, &filter)?;
    let (focus, others) = views::focus(&tree, &args.function)?;
    if !others.is_empty() {
        let name = tree.names().text(focus);
        let first: Vec<&str> = others.iter().take(3).map(String::as_str).collect();
        output.say(&format!(
            "`{}` matches {} frames; this is {name}, others are {}",
            args.function,
            others.len() + 1,
            first.join(", ")
        ));
    }
    Ok((tree, focus))
}
