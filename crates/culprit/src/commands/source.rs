//! `culprit source F REC`: what each source line of a function weighs.

use culprit_report::json::{OfView, SourceDocument};
use culprit_report::views::source_text;

use super::butterfly;
use crate::args::NameArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::{Layout, Output};

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or no function has the name.
pub(crate) fn run(args: &NameArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (view, focus) = butterfly::focused(args, load::whole_view, output)?;
    let tree = &view.tree;
    let name = tree.names().text(focus).clone();
    let lines = tree.lines(view.rows(), &name);
    if lines.is_empty() {
        return Err(Failure::bad_input(format!(
            "cannot show the source of `{name}`: it is not a function"
        ))
        .hint("groups rename functions: remove `--group`"));
    }
    let document = || OfView::new(&view, SourceDocument::new(&name, tree, &lines));
    let read = |file: &str| std::fs::read_to_string(file).ok();
    let text = |layout: &Layout| source_text(&name, tree, &lines, read, layout);
    output.show(document, |layout| view.head(layout) + &text(layout))?;
    Ok(Outcome::Done)
}
