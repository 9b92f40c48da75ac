//! `culprit top REC`: functions by their own and total time.

use culprit_engine::own::OwnCode;
use culprit_report::json::{OfView, TopDocument};
use culprit_report::{filters, views};

use crate::args::TopArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::Output;

/// Rows unless the user says otherwise: what a screen holds.
const ROWS: usize = 30;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read.
pub(crate) fn run(args: &TopArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let view = load::view(&args.recording, &args.filter, output)?;
    let limit = view.filter.limit;
    if !args.columns.is_empty() && !output.wants_json() {
        let text =
            views::columns_text(&view.tree, &args.columns, limit.unwrap_or(ROWS), output.layout());
        output.print(&(view.head(output.layout()) + &text))?;
        return Ok(Outcome::Done);
    }
    let cpi = views::Cpi::of(&view.recording, &view.filter)?;
    let own = OwnCode::new(&view.recording, &filters::patterns(&view.filter.own)?);
    let called_from = views::CalledFrom::of(&view.tree, own.by_name(&view.recording));
    let places = views::FunctionPlaces::of(&view.recording);
    let beside = views::Beside {
        cpi: cpi.as_ref(),
        errors: view.errors.as_ref(),
        called_from: Some(&called_from),
        places: Some(&places),
    };
    if output.wants_json() {
        let document = TopDocument::new(&view.tree, beside, limit.unwrap_or(0));
        output.document(&OfView::new(&view, document))?;
    } else {
        let limit = limit.unwrap_or(ROWS);
        let text = views::top_text(&view.tree, beside, limit, output.layout());
        output.print(&(view.head(output.layout()) + &text))?;
    }
    Ok(Outcome::Done)
}
