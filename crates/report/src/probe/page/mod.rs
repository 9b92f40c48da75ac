//! The page of a probe: points of every round, ratios with their intervals, latency curves.
//!
//! All of it is HTML and SVG that is made here; the page has no script. Tables repeat what the
//! pictures show. Whatever places and folders are called goes through `Markup`, as everywhere.

mod latency;
mod numbers;
mod panels;
mod rounds;
use culprit_engine::stats::{Interval, Verdict};
use culprit_findings::MeasuredFindings;
use culprit_probe::{Answer, Better, Metric, Part};

use crate::html::{self, Frame, Markup, PAGE_STYLE, PLOT_STYLE, findings_section};
use crate::probe::text::verdicts;

/// So many colours does the style have; a further arm begins again, and has its name beside it.
const COLOURS: usize = 8;
const SECTIONS: [(&str, &str); 6] = [
    ("metrics", "Places"),
    ("rounds", "Rounds"),
    ("latency", "Latencies"),
    ("numbers", "Numbers"),
    ("findings", "Findings"),
    ("conditions", "Conditions"),
];

/// The page of an answer as one HTML document, with what it says about its places.
#[must_use]
pub fn probe_page(answer: &Answer, findings: &MeasuredFindings) -> String {
    let entries = SECTIONS.map(|(id, name)| (id.to_owned(), name.to_owned()));
    let frame = Frame {
        what: &format!("bench {}", answer.probe),
        subject: concat!("culprit ", env!("CARGO_PKG_VERSION")),
        title: &format!("Probe {}", answer.probe),
        sentences: &verdicts(answer),
        facts: &[],
        navigation: "Sections",
        entries: &entries,
        styles: &[PAGE_STYLE, PLOT_STYLE],
    };
    frame.page(|body| {
        metrics(body, answer);
        rounds::section(body, answer);
        latency::section(body, answer);
        numbers::section(body, answer);
        if !findings.causes.is_empty() {
            findings_section(
                body,
                &findings.causes,
                "Causes of the differences between the places.",
            );
        }
        numbers::conditions(body, answer);
    })
}

/// The plots of every metric that is shown and compared.
fn metrics(body: &mut Markup, answer: &Answer) {
    let shown = |metric: &Metric| metric.is_compared() && metric.part != Part::Detail;
    if !answer.metrics.iter().any(shown) {
        return;
    }
    let baseline = answer.arms.first().map_or("the baseline", |arm| arm.arm.label.as_str());
    body.element("section", &[("id", "metrics")], |body| {
        body.leaf("h2", &[], "Place against place");
        let lead = format!(
            "Left: one point per round; the bar is the median. Right: the ratio to {baseline}, \
             paired by round, with its interval, on a logarithmic axis. A ratio within the shaded \
             band counts as the same. The paler band shows how much identical runs differ."
        );
        body.leaf("p", &[("class", "lead")], &lead);
        for (at, metric) in answer.metrics.iter().enumerate().filter(|(_, metric)| shown(metric)) {
            body.element("figure", &[], |figure| {
                figure.element("figcaption", &[], |caption| {
                    caption.leaf("b", &[], metric.name);
                    caption.text(&format!(" · {}", panels::better(metric)));
                });
                figure.element("div", &[("class", "panels")], |pair| {
                    pair.element("div", &[("class", "scroll")], |left| {
                        panels::values(left, answer, metric);
                    });
                    pair.element("div", &[("class", "scroll")], |right| {
                        panels::ratios(right, answer, at);
                    });
                });
            });
        }
    });
}

/// The arms by their colours.
fn legend(body: &mut Markup, answer: &Answer, shown: impl Fn(usize) -> bool) {
    let arms = answer.arms.iter().enumerate().filter(|(at, _)| shown(*at));
    let entries: Vec<_> = arms.map(|(at, arm)| (arm_class(at), &arm.arm.label)).collect();
    html::legend(body, &entries);
}

/// The class of an arm's colour.
fn arm_class(at: usize) -> String {
    format!("arm-{}", at % COLOURS)
}

const fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "said bad",
        Verdict::Faster => "said good",
        Verdict::Same => "said",
        Verdict::Unclear => "note",
    }
}

/// What the baseline differs from itself by. Floors are of times: of a rate it is turned over here,
/// so that all ratios read alike.
fn floor_ratio(answer: &Answer, metric: usize) -> Option<(f64, Interval)> {
    let ratio = &answer.floor(metric)?.ratio;
    let interval = ratio.interval;
    if answer.metrics.get(metric)?.better != Better::Higher {
        return Some((ratio.value, interval));
    }
    let turned = Interval { low: 1.0 / interval.high, high: 1.0 / interval.low, ..interval };
    Some((1.0 / ratio.value, turned))
}

#[expect(clippy::cast_precision_loss, reason = "53 bits hold 104 days of nanoseconds")]
const fn exactly(ns: u64) -> f64 {
    ns as f64
}

#[cfg(test)]
mod tests;
