//! SVG's shapes by numbers. Colours and line widths are the style's, by class: the policy of the page
//! allows no `style` attribute, and so dark and light pages share one drawing.

use super::axis::Tick;
use super::markup::Markup;

/// A size or place in pixels.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// A picture `width` by `height` that fills what is there, and says what it shows.
pub fn picture(
    body: &mut Markup,
    (width, height): (f64, f64),
    label: &str,
    inside: impl FnOnce(&mut Markup),
) {
    let view = format!("0 0 {width:.0} {height:.0}");
    let attributes =
        [("class", "plot"), ("viewBox", view.as_str()), ("role", "img"), ("aria-label", label)];
    body.element("svg", &attributes, inside);
}

/// A line between two points.
pub fn line(svg: &mut Markup, class: &str, from: (f64, f64), to: (f64, f64)) {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
    svg.empty("line", &[("class", class), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
}

/// A box, with words that show on hovering.
pub fn area(svg: &mut Markup, class: &str, from: (f64, f64), to: (f64, f64), title: &str) {
    let [x, y] = [from.0, from.1].map(px);
    let [width, height] = [to.0 - from.0, to.1 - from.1].map(|length| px(length.max(0.0)));
    let shape = [
        ("class", class),
        ("x", x.as_str()),
        ("y", y.as_str()),
        ("width", width.as_str()),
        ("height", height.as_str()),
    ];
    svg.element("rect", &shape, |inside| inside.leaf("title", &[], title));
}

/// A point, with words that show on hovering.
pub fn point(svg: &mut Markup, class: &str, at: (f64, f64), radius: &str, title: &str) {
    let [cx, cy] = [at.0, at.1].map(px);
    let shape = [("class", class), ("cx", cx.as_str()), ("cy", cy.as_str()), ("r", radius)];
    svg.element("circle", &shape, |inside| inside.leaf("title", &[], title));
}

/// Lines from point to point.
pub fn path(svg: &mut Markup, class: &str, points: &[(f64, f64)]) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    svg.empty("polyline", &[("class", class), ("points", &points.join(" "))]);
}

/// Words whose `class` says where they begin.
pub fn words(svg: &mut Markup, class: &str, at: (f64, f64), text: &str) {
    let [x, y] = [at.0, at.1].map(px);
    svg.leaf("text", &[("class", class), ("x", &x), ("y", &y)], text);
}

/// Ticks of an axis that goes to the right, with lines from `top` down to `bottom`.
pub fn below(svg: &mut Markup, ticks: &[Tick], top: f64, bottom: f64) {
    for tick in ticks {
        line(svg, "grid", (tick.at, top), (tick.at, bottom));
        words(svg, "tick middle", (tick.at, bottom + 15.0), &tick.label);
    }
}

/// Ticks of an axis that goes upwards, with lines from `left` to `right`.
pub fn beside(svg: &mut Markup, ticks: &[Tick], left: f64, right: f64) {
    for tick in ticks {
        line(svg, "grid", (left, tick.at), (right, tick.at));
        words(svg, "tick end", (left - 6.0, tick.at + 4.0), &tick.label);
    }
}

/// What colours mean: classes of the style, each with its name.
pub fn legend<C: AsRef<str>, N: AsRef<str>>(body: &mut Markup, entries: &[(C, N)]) {
    body.element("ul", &[("class", "legend")], |list| {
        for (class, name) in entries {
            list.element("li", &[], |item| {
                item.element("svg", &[("aria-hidden", "true")], |svg| {
                    let class = format!("swatch {}", class.as_ref());
                    svg.empty("rect", &[("class", &class), ("width", "10"), ("height", "10")]);
                });
                item.text(name.as_ref());
            });
        }
    });
}
