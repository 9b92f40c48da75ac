//! `culprit flame REC`: a flame graph as text, as a picture or as a page.

use std::path::Path;

use culprit_engine::losses;
use culprit_report::json::{OfView, TreeDocument};
use culprit_report::{View, svg, views};

use crate::args::FlameArgs;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::recording_page::RecordingPage;
use crate::{files, load};

/// What `-o` names.
enum Picture<'a> {
    Svg(&'a Path),
    Html(&'a Path),
}

/// Runs it.
///
/// # Errors
/// When the recording or an option cannot be read, or the picture cannot be written.
pub(crate) fn run(args: &FlameArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let picture = args.output.as_deref().map(picture).transpose()?;
    let load =
        if matches!(picture, Some(Picture::Html(_))) { load::whole_view } else { load::view };
    let view = load(&args.recording, &args.filter, output)?;
    match picture {
        Some(Picture::Svg(path)) => {
            let svg = svg::flame_svg(&view.tree, &title(&view));
            files::write_whole(path, svg.as_bytes())?;
            output.say(&format!("wrote {}", path.display()));
        }
        Some(Picture::Html(path)) => {
            let digest = load::digest(view.recording, &view.filter, false)?;
            let of = RecordingPage {
                path: &args.recording.recording,
                view: "flame",
                filter: &view.filter,
            };
            files::write_whole(path, of.html(&digest)?.as_bytes())?;
            output.say(&format!("wrote {}", path.display()));
        }
        None if output.wants_json() => {
            let document = TreeDocument::new(&view.tree, view.filter.limit.unwrap_or(0));
            output.document(&OfView::new(&view, document))?;
        }
        None => {
            let text = views::flame_text(&view.tree, view.filter.limit, output.layout());
            output.print(&(view.head(output.layout()) + &text))?;
        }
    }
    Ok(Outcome::Done)
}

/// What a picture is of; a picture leaves the terminal, so it says by itself what it lacks.
pub(super) fn title(view: &View) -> String {
    let lines = losses::lines(&view.recording.losses);
    let whole = if losses::holes(&lines).next().is_some() { "incomplete recording: " } else { "" };
    let meta = &view.recording.meta;
    format!("{whole}{} in {}, {}", meta.command.join(" "), meta.place, view.heading())
}

fn picture(path: &Path) -> Result<Picture<'_>, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(Picture::Svg(path)),
        Some("html" | "htm") => Ok(Picture::Html(path)),
        _ => Err(Failure::bad_input(format!(
            "cannot write `{}`: the file name must end in `.svg` or `.html`",
            path.display()
        ))),
    }
}
