//! A flame graph as one SVG file: no script, no style sheet, no font of its own; each box has its
//! name and numbers as a title, which browsers show on hovering and screen readers read.

mod diff;

use std::fmt::Write as _;

use culprit_engine::calls::{CallTree, FlameBox, flame};
use culprit_model::{Cause, Label as _};

use crate::html::escape;
use crate::palette::cause_color;
use crate::units::percent;
use crate::views::{box_name, guess_mark, share, value};

pub use diff::diff_svg;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const MARGIN: f64 = 12.0;
const HEAD: f64 = 64.0;
/// Width of a character of the 11-pixel fixed font, near enough for cutting.
const CHARACTER: f64 = 6.65;
/// Boxes narrower than this many pixels are left out: they could not be seen.
const NARROWEST: f64 = 0.3;

/// The picture of a call tree under a title.
#[must_use]
pub fn flame_svg(tree: &CallTree, title: &str) -> String {
    let inner = WIDTH - 2.0 * MARGIN;
    let boxes = flame(tree, NARROWEST / inner);
    let rows = boxes.iter().map(|entry| entry.depth + 1).max().unwrap_or(0);
    let used = used_causes(&boxes);
    let height = HEAD + f64::from(rows) * ROW + MARGIN;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"11\">"
    );
    element(&mut svg, "title", title);
    let _ = writeln!(svg, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    let _ = write!(
        svg,
        "<text x=\"{MARGIN}\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#1c2430\">"
    );
    escape(title, &mut svg);
    svg.push_str("</text>\n");
    legend(&mut svg, &used);
    for entry in &boxes {
        draw(&mut svg, tree, entry, inner);
    }
    svg.push_str("</svg>\n");
    svg
}

fn element(svg: &mut String, name: &str, text: &str) {
    let _ = write!(svg, "<{name}>");
    escape(text, svg);
    let _ = writeln!(svg, "</{name}>");
}

fn used_causes(boxes: &[FlameBox]) -> Vec<Cause> {
    let used: std::collections::BTreeSet<Cause> =
        boxes.iter().filter_map(|entry| entry.cause).collect();
    used.into_iter().collect()
}

fn legend(svg: &mut String, causes: &[Cause]) {
    let mut x = MARGIN;
    for cause in causes {
        let word = cause.word();
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"38\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{}\"/><text x=\"{:.1}\" y=\"47\" fill=\"#5b6675\">{word}</text>",
            cause_color(*cause).hex,
            x + 14.0
        );
        #[expect(clippy::cast_precision_loss, reason = "the length of a word")]
        let long = word.len() as f64;
        x += 14.0 + long * CHARACTER + 16.0;
    }
}

fn draw(svg: &mut String, tree: &CallTree, entry: &FlameBox, inner: f64) {
    let x = MARGIN + entry.left * inner;
    let width = (entry.right - entry.left) * inner;
    let y = HEAD + f64::from(entry.depth) * ROW;
    let node = tree.node(entry.node);
    let name = box_name(tree, entry.node);
    let metric = tree.metric();
    let (fill, opacity) = fill(entry, &name);
    svg.push_str("<g>");
    element(
        svg,
        "title",
        &format!(
            "{name}{}: {}, {}",
            guess_mark(tree, entry.node),
            value(metric, node.total),
            percent(share(node.total, tree.total()))
        ),
    );
    let _ = write!(
        svg,
        "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{:.1}\" rx=\"1.5\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>",
        (width - 0.6).max(0.3),
        ROW - 1.0
    );
    label(svg, &name, (x, y), width);
    svg.push_str("</g>\n");
}

/// A box's name, as far as it fits.
fn label(svg: &mut String, name: &str, (x, y): (f64, f64), width: f64) {
    let text = fitting(name, width - 6.0);
    if !text.is_empty() {
        let _ = write!(svg, "<text x=\"{:.2}\" y=\"{:.1}\" fill=\"#10161f\">", x + 3.5, y + 12.0);
        escape(&text, svg);
        svg.push_str("</text>");
    }
}

/// A cause's own box has its full colour, boxes above are paler.
fn fill(entry: &FlameBox, name: &str) -> (&'static str, &'static str) {
    match entry.cause {
        None => ("#b9c2cf", "1"),
        Some(cause) if cause.word() == name => (cause_color(cause).hex, "1"),
        Some(cause) => (cause_color(cause).hex, "0.5"),
    }
}

/// The name, the function alone, or its beginning: what fits into so many pixels.
fn fitting(name: &str, room: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "negative room is none"
    )]
    let room = (room / CHARACTER).floor().max(0.0) as usize;
    let bare = name.split_once('!').map_or(name, |(_, function)| function);
    let fits = |text: &str| text.chars().count() <= room;
    if fits(name) {
        name.to_owned()
    } else if fits(bare) {
        bare.to_owned()
    } else if room < 3 {
        String::new()
    } else {
        bare.chars().take(room - 1).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn hostile_names_stay_text_and_nothing_is_fetched() {
        let recording = testing::hostile();
        let tree = crate::shown::tree(&recording, &culprit_model::Filter::default()).unwrap();
        let svg = flame_svg(&tree, "</title><script>");
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
        assert!(svg.contains("&lt;img onerror"));
        let namespace = "http://www.w3.org/2000/svg";
        assert!(!svg.replace(namespace, "").contains("http"));
        assert!(svg.contains("<title>"));
    }

    #[test]
    fn a_guessed_function_says_so_in_its_title_alone() {
        let recording = testing::with_a_guess();
        let tree = crate::shown::tree(&recording, &culprit_model::Filter::default()).unwrap();
        let svg = flame_svg(&tree, "a title");
        assert!(svg.contains("<title>app!compute (guessed): "), "{svg}");
        assert_eq!(svg.matches("(guessed)").count(), svg.matches("compute (guessed): ").count());
    }

    #[test]
    fn names_are_cut_to_their_box() {
        assert_eq!(fitting("libc.so.6!read", 200.0), "libc.so.6!read");
        assert_eq!(fitting("libc.so.6!read", 40.0), "read");
        assert_eq!(fitting("libc.so.6!clock_nanosleep", 40.0), "clock…");
        assert_eq!(fitting("main", 10.0), "");
    }
}
