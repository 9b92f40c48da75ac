//! `culprit tree REC`: the call tree from the root.

use culprit_engine::own::OwnCode;
use culprit_report::json::{OfView, TreeDocument};
use culprit_report::{View, filters, views};

use crate::args::TreeArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::Output;

/// Lines unless the user says otherwise: what a screen holds.
const LINES: usize = 50;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read.
pub(crate) fn run(args: &TreeArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let view = load::view(&args.recording, &args.filter, output)?;
    show(&view, output)?;
    Ok(Outcome::Done)
}

/// Prints a tree as the options say.
///
/// # Errors
/// When stdout cannot take it.
pub(crate) fn show(view: &View, output: &mut Output) -> Result<(), Failure> {
    let limit = view.filter.limit;
    if output.wants_json() {
        let document = TreeDocument::new(&view.tree, limit.unwrap_or(0));
        return output.document(&OfView::new(view, document));
    }
    let own = OwnCode::new(&view.recording, &filters::patterns(&view.filter.own)?);
    let origins = own.by_name(&view.recording);
    let how = views::TreeText { limit: limit.unwrap_or(LINES), origins: Some(&origins) };
    let text = views::tree_text(&view.tree, how, output.layout());
    output.print(&(view.head(output.layout()) + &text))
}
