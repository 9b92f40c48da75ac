//! `culprit flame REC`: a flame graph as text, as a picture or as a page.

use std::path::Path;

use crate::args::FlameArgs;
use crate::failure::{Failure, Outcome};
use crate::json::TreeDocument;
use crate::output::Output;
use crate::{files, load, svg, views};

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
    let filter = args.filter.filter();
    let recording = load::recording(&args.recording.recording)?;
    let tree = load::tree(&recording, &filter)?;
    for reason in views::why_empty(&tree, &filter, &recording) {
        output.say(&format!("nothing to show: {reason}"));
    }
    match picture {
        Some(Picture::Svg(path)) => {
            let place = &recording.meta.place;
            let title =
                format!("{} in {place}, {} time", recording.meta.command.join(" "), filter.metric);
            files::write_whole(path, svg::flame_svg(&tree, &title).as_bytes())?;
            output.say(&format!("wrote {}", path.display()));
        }
        Some(Picture::Html(path)) => {
            let digest = load::digest(recording, &filter, false)?;
            super::report::write_page(&digest, path)?;
            output.say(&format!("wrote {}", path.display()));
        }
        None if output.wants_json() => {
            output.document(&TreeDocument::new(&tree, filter.limit.unwrap_or(0)))?;
        }
        None => {
            let text = views::flame_text(&tree, filter.limit, output);
            output.print(&text)?;
        }
    }
    Ok(Outcome::Done)
}

fn picture(path: &Path) -> Result<Picture<'_>, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(Picture::Svg(path)),
        Some("html" | "htm") => Ok(Picture::Html(path)),
        _ => Err(Failure::bad_input(format!(
            "write `{}`: its ending is neither `.svg` nor `.html`",
            path.display()
        ))),
    }
}
