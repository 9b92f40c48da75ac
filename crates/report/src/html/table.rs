//! Tables: they scroll by themselves where they are too wide.

use super::markup::{Attribute, Markup};

/// Headings that stand over numbers, and so at their right edge.
const NUMBERS: [&str; 16] = [
    "wall",
    "on CPU",
    "own",
    "own share",
    "total",
    "total share",
    "measured",
    "expected",
    "difference",
    "count",
    "runs",
    "median",
    "rate",
    "extra time per run",
    "share",
    "value",
];

/// A table of numbers and names, whose rows are elements of their own; headings of numbers stand at their right
/// edge. Of the class `sortable`, scripts can sort it.
pub fn table(
    body: &mut Markup,
    class: &'static str,
    headings: &[&'static str],
    rows: impl FnOnce(&mut Markup),
) {
    let heading = |row: &mut Markup, heading: &&'static str| {
        let class = if NUMBERS.contains(heading) { "num" } else { "" };
        row.leaf("th", &[("scope", "col"), ("class", class)], heading);
    };
    framed(
        body,
        &[("class", class)],
        |row| headings.iter().for_each(|one| heading(row, one)),
        rows,
    );
}

/// A table of text: a row a line, a cell a column. The last cells of a row can be left out.
pub fn text_table<S: AsRef<str>, R: IntoIterator<Item = S>>(
    body: &mut Markup,
    headings: &[&str],
    rows: impl IntoIterator<Item = R>,
) {
    let head = |row: &mut Markup| headings.iter().for_each(|one| row.leaf("th", &[], one));
    framed(body, &[], head, |body| {
        for cells in rows {
            body.element("tr", &[], |row| {
                for cell in cells {
                    row.leaf("td", &[("class", "name")], cell.as_ref());
                }
            });
        }
    });
}

fn framed(
    body: &mut Markup,
    attributes: &[Attribute<'_>],
    head: impl FnOnce(&mut Markup),
    rows: impl FnOnce(&mut Markup),
) {
    body.element("div", &[("class", "scroll")], |body| {
        body.element("table", attributes, |table| {
            table.element("thead", &[], |thead| thead.element("tr", &[], head));
            table.element("tbody", &[], rows);
        });
    });
}
