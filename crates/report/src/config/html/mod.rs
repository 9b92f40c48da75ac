//! Pages of configurations: of `config show`, `config drift` and `config diff`.
//!
//! The pages have no script. Whatever a file, a variable or a process is called goes through `Markup`, as
//! everywhere.

mod diff;
mod drift;
mod kept;
mod show;
use crate::html::{Frame, Markup, PAGE_STYLE, text_table};
use culprit_config::{ConfigFinding, HIDDEN, ValueRef};

pub use diff::diff_page;
pub use drift::drift_page;
pub use kept::kept_section;
pub use show::show_page;

/// The page about a subject; the navigation is of `parts`: the id of a section and its name.
fn page(
    subject: &str,
    title: &str,
    facts: &[(&'static str, String)],
    (navigation, entries): (&'static str, &[(String, String)]),
    inside: impl FnOnce(&mut Markup),
) -> String {
    let what = format!("configuration of {subject}");
    let styles = &[PAGE_STYLE];
    let frame =
        Frame { what: &what, subject, title, sentences: &[], facts, navigation, entries, styles };
    frame.page(inside)
}

fn shown(value: &ValueRef) -> String {
    value.text.as_ref().map_or_else(|| format!("{HIDDEN} ({})", value.class), String::from)
}

/// A table; `None.` without rows. Its last columns can be left out of a row.
fn table<S: AsRef<str>, R: IntoIterator<Item = S>>(
    body: &mut Markup,
    headings: &[&str],
    rows: impl IntoIterator<Item = R>,
) {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        body.leaf("p", &[], "None.");
        return;
    }
    text_table(body, headings, rows);
}

fn card(body: &mut Markup, finding: &ConfigFinding) {
    let severity = finding.severity.to_string();
    body.element("details", &[("class", &format!("finding {severity}"))], |body| {
        body.element("summary", &[], |body| {
            body.element("div", &[], |body| {
                body.prose("div", &[("class", "title")], &finding.title);
                body.element("div", &[("class", "meta")], |body| {
                    body.leaf("span", &[("class", &format!("pill {severity}"))], &severity);
                    body.leaf("code", &[], finding.id);
                    body.text(&format!(" {}", finding.evidence.join(", ")));
                });
            });
        });
        body.element("div", &[("class", "body")], |body| {
            body.prose("p", &[], &finding.why);
            body.element("ul", &[], |list| {
                finding.fix.iter().for_each(|fix| list.prose("li", &[], fix));
            });
        });
    });
}

/// Text that somebody chose to look like markup, for tests.
#[cfg(test)]
const HOSTILE: &str = "</td><script>alert(1)</script>";
