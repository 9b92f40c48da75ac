//! Where visits come from: spots by latitude and longitude, as large as their visits.
//!
//! The map has no coasts, because no outline of them is shipped. Lines of latitude and longitude say where a
//! spot is, and each spot has its city.

use culprit_audit::visits::Origin;
use culprit_model::counted;
use culprit_report::html::{Axis, Markup, Tick, below, beside, legend, picture, point};

use super::{PEOPLE, ROBOTS, numbers};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 950.0;
const TOP: f64 = 10.0;
/// The radius of the spot with the most visits.
const LARGEST: f64 = 22.0;
const SMALLEST: f64 = 2.5;
/// A degree less than this many pixels wide would spread one city over the page.
const LEAST_SPAN: f64 = 4.0;
/// Free at each side, as a part of the span.
const MARGIN: f64 = 0.08;
/// Rows of the table; the rest is summed up in the last.
const ROWS: usize = 50;

/// The section.
pub(super) fn section(body: &mut Markup, origins: &[Origin]) {
    let spots: Vec<(f64, f64, &Origin)> = origins
        .iter()
        .filter_map(|origin| {
            let (latitude, longitude) = origin.at_e6?;
            Some((degrees(latitude), degrees(longitude), origin))
        })
        .collect();
    body.element("section", &[("id", "map")], |body| {
        body.leaf("h2", &[], "Where visits come from");
        let elsewhere = origins.iter().filter(|origin| origin.at_e6.is_none());
        let elsewhere: u64 = elsewhere.map(Origin::all).sum();
        let lead = format!(
            "The area of a spot is its number of visits. Visits of no known spot: {elsewhere}."
        );
        body.leaf("p", &[("class", "lead")], &lead);
        if !spots.is_empty() {
            body.element("figure", &[], |figure| {
                draw(figure, &spots);
                let words = [(PEOPLE, "mostly people"), (ROBOTS, "mostly robots")];
                legend(figure, &words);
            });
        }
        let headings = ["country", "city", "visits", "of robots"];
        numbers(body, &headings, rows(origins));
    });
}

fn rows(origins: &[Origin]) -> Vec<Vec<String>> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let row = |country: String, city: String, of: &[Origin]| {
        let all: u64 = of.iter().map(Origin::all).sum();
        let robots: u64 = of.iter().map(|origin| origin.of_robots).sum();
        vec![country, city, all.to_string(), robots.to_string()]
    };
    let (shown, rest) = origins.split_at(origins.len().min(ROWS));
    let mut rows: Vec<Vec<String>> = shown
        .iter()
        .map(|origin| row(text(&origin.country), text(&origin.city), std::slice::from_ref(origin)))
        .collect();
    if !rest.is_empty() {
        rows.push(row("others".to_owned(), format!("{} more", rest.len()), rest));
    }
    rows
}

/// The least and the greatest, with room at both sides.
fn span(values: impl Iterator<Item = f64> + Clone, most: f64) -> (f64, f64) {
    let (low, high) = (values.clone().fold(most, f64::min), values.fold(-most, f64::max));
    let room = ((high - low) * MARGIN).max((LEAST_SPAN - (high - low)) / 2.0);
    ((low - room).max(-most), (high + room).min(most))
}

fn draw(figure: &mut Markup, spots: &[(f64, f64, &Origin)]) {
    let latitudes = span(spots.iter().map(|(latitude, _, _)| *latitude), 90.0);
    let longitudes = span(spots.iter().map(|(_, longitude, _)| *longitude), 180.0);
    // As wide as high at the middle latitude, within what a page has room for.
    let narrow = ((latitudes.0 + latitudes.1) / 2.0).to_radians().cos().max(0.1);
    let degree = (RIGHT - LEFT) / ((longitudes.1 - longitudes.0) * narrow);
    let bottom = TOP + ((latitudes.1 - latitudes.0) * degree).clamp(180.0, 520.0);
    let (x, y) = (Axis::linear(longitudes, LEFT, RIGHT), Axis::linear(latitudes, bottom, TOP));
    let most = spots.iter().map(|(_, _, origin)| origin.all()).max().unwrap_or(1).max(1);
    figure.element("div", &[("class", "scroll")], |body| {
        picture(body, (WIDTH, bottom + 25.0), "Visits by place", |svg| {
            beside(svg, &lines(&y, latitudes, ["N", "S"]), LEFT, RIGHT);
            below(svg, &lines(&x, longitudes, ["E", "W"]), TOP, bottom);
            for (latitude, longitude, origin) in spots {
                let radius = (share(origin.all(), most).sqrt() * LARGEST).max(SMALLEST);
                let class = if origin.of_robots * 2 > origin.all() { ROBOTS } else { PEOPLE };
                let name = [&origin.city, &origin.country]
                    .map(|text| text.as_deref().unwrap_or("unknown"));
                let title = format!(
                    "{}: {}, {} of robots",
                    name.join(", "),
                    counted(origin.all(), "visit"),
                    origin.of_robots
                );
                let at = (x.at(*longitude), y.at(*latitude));
                point(svg, &format!("point {class}"), at, &format!("{radius:.1}"), &title);
            }
        });
    });
}

/// Lines of latitude or longitude at whole degrees.
fn lines(axis: &Axis, (low, high): (f64, f64), [plus, minus]: [&str; 2]) -> Vec<Tick> {
    let steps = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0];
    let step = steps.into_iter().find(|step| (high - low) / step <= 9.0).unwrap_or(45.0);
    let mut value = (low / step).ceil() * step;
    let mut ticks = Vec::new();
    while value <= high {
        let side = if value > 0.0 { plus } else { minus };
        let label =
            if value == 0.0 { "0°".to_owned() } else { format!("{:.0}° {side}", value.abs()) };
        ticks.push(Tick { value, at: axis.at(value), label });
        value += step;
    }
    ticks
}

#[expect(clippy::cast_precision_loss, reason = "at most 360 million")]
fn degrees(e6: i64) -> f64 {
    e6 as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a radius in pixels")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
