//! The page of places beside each other, with a recording of each: no request leaves it, and it works from
//! `file://`. One recording has the page of the web UI instead (crate `page`).
//!
//! The page is put together from literals of this program and escaped text ([`Markup`]), JSON
//! columns for the pictures (`data.rs`) and the hand-written style and scripts in `page/`. Every
//! number is in the HTML itself as a table, so that it reads without scripts, by keyboard and by
//! screen reader; scripts add the flame graph, the thread strips and sorting. A content security
//! policy that names the hashes of its style and the one script forbids everything else.

use super::data::{PageData, TableRows, View};
use super::{Markup, PAGE_STYLE, Scripts, document, findings_section, script_json, sections};
use crate::digest::Digest;
use crate::weighed::LIMITS;

/// In the order in which they use each other.
const SCRIPTS: [&str; 5] = [
    include_str!("page/data.js"),
    include_str!("page/tip.js"),
    include_str!("page/flame.js"),
    include_str!("page/strips.js"),
    include_str!("page/main.js"),
];

/// What a page shows.
#[derive(Debug)]
pub struct Page<'a> {
    /// The sentence at the top.
    pub verdict: String,
    /// Why, in one sentence, where that is known beside the verdict.
    pub because: Option<String>,
    /// What was recorded: the command and where.
    pub what: String,
    /// Facts under the verdict: name and value.
    pub facts: Vec<(&'static str, String)>,
    /// The section `compare`, where the question is place against place.
    pub comparison: Option<Markup>,
    /// The findings to list, the dearest first.
    pub findings: &'a [culprit_model::Finding],
    /// Where the findings' costs come from, in words.
    pub findings_lead: String,
    /// The recordings to draw, each with its name.
    pub views: Vec<(String, &'a Digest)>,
    /// The section `configuration`, where a recording has kept any.
    pub configuration: Option<Markup>,
    /// The position of the one to show first.
    pub first: usize,
}

/// The page as one HTML document.
///
/// # Errors
/// When the data cannot be written as JSON.
pub fn render(page: &Page<'_>) -> Result<String, serde_json::Error> {
    let data = script_json(&page_data(page))?;
    let scripts = Some(Scripts { data: &data, program: &scripts() });
    Ok(document(&page.what, &[PAGE_STYLE], &body(page), scripts))
}

fn body(page: &Page<'_>) -> String {
    let mut body = Markup::default();
    body.fixed(concat!(
        "\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n",
        "<header class=\"bar-top\"><span class=\"brand\">Culprit</span><nav aria-label=\"Sections\">",
    ));
    if page.comparison.is_some() {
        body.fixed("<a href=\"#compare\">Places</a>");
    }
    // A recording without thread time is shown by function alone.
    let timed = page.views.iter().any(|(_, digest)| digest.tops.weighed.is_none());
    if timed {
        body.fixed(concat!(
            "<a href=\"#findings\">Findings</a><a href=\"#threads\">Threads</a>",
            "<a href=\"#flame-section\">Flame graph</a>",
        ));
    }
    body.fixed(concat!(
        "<a href=\"#functions\">Functions</a>",
        "<a href=\"#evidence\">Evidence</a>",
    ));
    if page.configuration.is_some() {
        body.fixed("<a href=\"#configuration\">Configuration</a>");
    }
    body.fixed(concat!(
        "</nav>",
        "<label class=\"needs-script\" hidden><span class=\"skip\">Recording</span><select id=\"view\" aria-label=\"Recording\"></select></label>",
        "<button id=\"theme\" class=\"needs-script\" hidden>Light / dark</button></header>\n",
        "<main id=\"main\">\n",
    ));
    verdict(&mut body, page);
    if let Some(comparison) = &page.comparison {
        body.append(comparison);
    }
    if timed || !page.findings.is_empty() {
        let lead = if timed { page.findings_lead.as_str() } else { LIMITS };
        findings_section(&mut body, page.findings, lead);
    } else {
        body.element("section", &[("id", "findings")], |body| body.prose("p", &[], LIMITS));
    }
    if timed {
        sections::threads(&mut body, &page.views);
        sections::flame(&mut body);
    }
    sections::functions(&mut body, &page.views);
    sections::evidence(&mut body, &page.views);
    if let Some(configuration) = &page.configuration {
        body.append(configuration);
    }
    body.fixed("</main>\n<footer>");
    body.text(&format!("Made by culprit {}", env!("CARGO_PKG_VERSION")));
    body.fixed("</footer>\n<div id=\"tip\" class=\"tip\" role=\"status\" hidden></div>");
    body.into_string()
}

fn verdict(body: &mut Markup, page: &Page<'_>) {
    body.element("div", &[("class", "verdict")], |body| {
        body.leaf("div", &[("class", "what mono")], &page.what);
        body.prose("h1", &[], &page.verdict);
        if let Some(because) = &page.because {
            body.prose("p", &[("class", "because")], &format!("Cause: {because}."));
        }
        body.element("dl", &[("class", "facts")], |list| {
            for (name, value) in &page.facts {
                list.element("div", &[], |pair| {
                    pair.leaf("dt", &[], name);
                    pair.leaf("dd", &[], value);
                });
            }
        });
    });
}

fn page_data(page: &Page<'_>) -> PageData {
    let view = |(label, digest): &(String, &Digest)| {
        let order: Vec<_> = digest.threads.iter().map(|thread| thread.id).collect();
        View::new(label, &digest.recording, &order).with_rows(TableRows::new(digest))
    };
    PageData::new(page.views.iter().map(view).collect(), page.first)
}

/// All scripts as one, in a scope of their own.
fn scripts() -> String {
    format!("\n(() => {{\n\"use strict\";\n{}\n}})();\n", SCRIPTS.join("\n"))
}
