//! Horizontal bars, each with its name before it and its value behind it.

use culprit_report::html::{Axis, Markup, area, picture, words};

/// One bar.
pub(super) struct Bar {
    /// What it is of.
    pub(super) name: String,
    /// The class of its colour.
    pub(super) class: &'static str,
    /// Its length.
    pub(super) value: f64,
    /// The value as people read it.
    pub(super) text: String,
}

const WIDTH: f64 = 960.0;
/// Where bars begin: names take the room before.
const LEFT: f64 = 420.0;
/// Where the longest ends: values take the room behind.
const RIGHT: f64 = 860.0;
const HEIGHT: f64 = 22.0;
/// Letters of a name that have room; the whole name shows on hovering.
const LETTERS: usize = 66;

/// Bars in the order that is given, as long as their values.
pub(super) fn bars(body: &mut Markup, label: &str, bars: &[Bar]) {
    let largest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let axis = Axis::linear((0.0, largest.max(f64::MIN_POSITIVE)), LEFT, RIGHT);
    let rows = bars.iter().scan(0.0, |top, bar| {
        let at = *top;
        *top += HEIGHT;
        Some((at, bar))
    });
    let rows: Vec<(f64, &Bar)> = rows.collect();
    let height = rows.last().map_or(HEIGHT, |(top, _)| top + HEIGHT);
    body.element("div", &[("class", "scroll")], |body| {
        picture(body, (WIDTH, height), label, |svg| {
            for (top, bar) in rows {
                let end = axis.at(bar.value);
                words(svg, "label end", (LEFT - 8.0, top + 15.0), &shortened(&bar.name));
                let title = format!("{}: {}", bar.name, bar.text);
                let class = format!("dot {}", bar.class);
                area(svg, &class, (LEFT, top + 3.0), (end, top + HEIGHT - 3.0), &title);
                words(svg, "tick", (end + 6.0, top + 15.0), &bar.text);
            }
        });
    });
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    // User agents of one browser differ at their ends.
    let (start, end) = (LETTERS / 3, LETTERS - LETTERS / 3 - 1);
    let rest = name.chars().count() - end;
    name.chars().take(start).chain(['…']).chain(name.chars().skip(rest)).collect()
}
