//! A differential flame graph: what grew is red, what shrank is blue, and what vanished keeps the
//! width that it had.

use std::fmt::Write as _;

use culprit_engine::calls::{DiffBox, DiffNode, ROOT};
use culprit_model::clean;

use super::{HEAD, MARGIN, NARROWEST, ROW, WIDTH, element, label};
use crate::html::escape;
use crate::views::{DiffView, change, root_name, scaled};

/// The picture of a comparison.
#[must_use]
pub fn diff_svg(view: &DiffView) -> String {
    let inner = WIDTH - 2.0 * MARGIN;
    let boxes = view.diff.flame(NARROWEST / inner);
    let depth = |entry: &DiffBox| view.diff.nodes()[entry.node].depth;
    let rows = boxes.iter().map(|entry| depth(entry) + 1).max().unwrap_or(0);
    let height = HEAD + f64::from(rows) * ROW + MARGIN;
    let metric = view.diff.metric();
    let (before, after) = view.totals();
    let title = format!(
        "{}: before {}, after {}, {}",
        view.heading,
        scaled(metric, before),
        scaled(metric, after),
        change(metric, after - before)
    );
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"11\">"
    );
    element(&mut svg, "title", &title);
    let _ = writeln!(svg, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    let _ = write!(
        svg,
        "<text x=\"{MARGIN}\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#1c2430\">"
    );
    escape(&title, &mut svg);
    svg.push_str("</text>\n");
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"47\" fill=\"#5b6675\">red: more after; blue: less after, dashed: gone after; a box is as wide as the larger side</text>"
    );
    for entry in &boxes {
        draw(&mut svg, view, entry, inner);
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw(svg: &mut String, view: &DiffView, entry: &DiffBox, inner: f64) {
    let node = &view.diff.nodes()[entry.node];
    let x = MARGIN + entry.left * inner;
    let width = (entry.right - entry.left) * inner;
    let y = HEAD + f64::from(node.depth) * ROW;
    let name = view.diff.name(node);
    let metric = view.diff.metric();
    let name = if name.as_str() == ROOT { root_name(metric).into() } else { clean(name) };
    svg.push_str("<g>");
    let numbers = format!(
        "{name}: before {}, after {}, {}",
        scaled(metric, view.diff.before(node.before.total)),
        scaled(metric, view.diff.after(node.after.total)),
        change(metric, view.diff.net(node))
    );
    element(svg, "title", &numbers);
    let gone = node.after.count == 0;
    let _ = write!(
        svg,
        "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{:.1}\" rx=\"1.5\" fill=\"{}\"{}/>",
        (width - 0.6).max(0.3),
        ROW - 1.0,
        fill(view, node),
        if gone { " stroke=\"#2f5fb3\" stroke-dasharray=\"3 2\"" } else { "" }
    );
    label(svg, &name, (x, y), width);
    svg.push_str("</g>\n");
}

/// From blue over grey to red, by how much of the larger side the difference is.
fn fill(view: &DiffView, node: &DiffNode) -> String {
    const GREY: [f64; 3] = [222.0, 226.0, 232.0];
    const RED: [f64; 3] = [226.0, 92.0, 84.0];
    const BLUE: [f64; 3] = [104.0, 152.0, 224.0];
    let larger = view.diff.before(node.before.total).max(view.diff.after(node.after.total));
    let part = if larger > 0.0 { (view.diff.net(node) / larger).clamp(-1.0, 1.0) } else { 0.0 };
    let end = if part < 0.0 { BLUE } else { RED };
    let mut color = "#".to_owned();
    for (grey, end) in GREY.into_iter().zip(end) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a mixture of two bytes is a byte"
        )]
        let mixed = (grey + (end - grey) * part.abs()).round() as u8;
        let _ = write!(color, "{mixed:02x}");
    }
    color
}
