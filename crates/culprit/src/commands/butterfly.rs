//! `culprit butterfly F REC`: a function between its callers and its callees.

use std::path::Path;

use culprit_engine::calls::NameId;
use culprit_report::json::{ButterflyDocument, OfView};
use culprit_report::{View, views};

use crate::args::{FilterArgs, NameArgs, RecordingsArg};
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::{Layout, Output};

/// Rows of each side unless the user says otherwise.
const ROWS: usize = 20;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or no frame has the name.
pub(crate) fn run(args: &NameArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (view, focus) = focused(args, load::view, output)?;
    let (tree, limit) = (&view.tree, view.filter.limit.unwrap_or(ROWS));
    let document = || OfView::new(&view, ButterflyDocument::new(tree, focus));
    let text = |layout: &Layout| views::butterfly_text(tree, focus, limit, layout);
    output.show(document, |layout| view.head(layout) + &text(layout))?;
    Ok(Outcome::Done)
}

/// The view that `load` gives and the function in it that the user means; others that match are
/// named on stderr.
///
/// # Errors
/// As [`run`].
pub(crate) fn focused(
    args: &NameArgs,
    load: fn(&RecordingsArg, &FilterArgs, &Output) -> Result<View, Failure>,
    output: &Output,
) -> Result<(View, NameId), Failure> {
    let is_turned_round = || Path::new(&args.function).is_file();
    let view =
        load(&args.recording, &args.filter, output).map_err(|failure| match is_turned_round() {
            true => failure.hint("the function comes first, then the recording"),
            false => failure,
        })?;
    let (focus, others) = views::focus(&view.tree, view.rows(), &args.function)?;
    if !others.is_empty() {
        let name = view.tree.names().text(focus);
        let first: Vec<&str> = others.iter().take(3).map(String::as_str).collect();
        output.say(&format!(
            "`{}` matches {} frames; this shows {name}; other matches: {}",
            args.function,
            others.len() + 1,
            first.join(", ")
        ));
    }
    Ok((view, focus))
}
