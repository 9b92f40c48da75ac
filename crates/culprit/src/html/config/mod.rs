//! Pages of configurations: of `config show`, `config drift` and `config diff`.
//!
//! The pages have no script. Whatever a file, a variable or a process is called goes through `Markup`, as
//! everywhere.

mod diff;
mod drift;
mod kept;
mod show;

use culprit_config::{ConfigFinding, HIDDEN, ValueRef};

use super::markup::Markup;
use super::{STYLE, head, integrity};

pub(crate) use diff::config_diff_page;
pub(crate) use drift::config_drift_page;
pub(super) use kept::section as kept_section;
pub(crate) use show::config_page;

/// What stands around the sections of a page.
struct Frame<'a> {
    /// What the page is about.
    subject: &'a str,
    /// The sentence at the top.
    title: &'static str,
    /// Facts under it: name and value.
    facts: &'a [(&'static str, String)],
    /// What the navigation is of, and its entries: the id of a section and its name.
    parts: (&'static str, &'a [(String, String)]),
}

impl Frame<'_> {
    /// The page as one HTML document.
    fn page(&self, inside: impl FnOnce(&mut Markup)) -> String {
        let policy = format!(
            "default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'",
            integrity(STYLE)
        );
        let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n");
        out.push_str(&head(&format!("configuration of {}", self.subject), &policy, STYLE));
        out.push_str(&self.body(inside));
        out.push_str("\n</body>\n</html>\n");
        out
    }

    fn body(&self, inside: impl FnOnce(&mut Markup)) -> String {
        let mut body = Markup::default();
        body.fixed("\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
        body.element("header", &[("class", "bar-top")], |bar| {
            bar.leaf("span", &[("class", "brand")], "Culprit");
            let (label, parts) = self.parts;
            bar.element("nav", &[("aria-label", label)], |nav| {
                for (id, name) in parts {
                    nav.leaf("a", &[("href", &format!("#{id}"))], name);
                }
            });
        });
        body.fixed("\n<main id=\"main\">\n");
        self.verdict(&mut body);
        inside(&mut body);
        body.fixed("</main>\n<footer>");
        body.text(&format!("Made by culprit {}", env!("CARGO_PKG_VERSION")));
        body.fixed("</footer>");
        body.into_string()
    }

    fn verdict(&self, body: &mut Markup) {
        body.element("div", &[("class", "verdict")], |body| {
            body.leaf("div", &[("class", "what mono")], self.subject);
            body.leaf("h1", &[], self.title);
            body.element("dl", &[("class", "facts")], |list| {
                for (name, value) in self.facts {
                    list.element("div", &[], |pair| {
                        pair.leaf("dt", &[], name);
                        pair.leaf("dd", &[], value);
                    });
                }
            });
        });
    }
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
    body.element("div", &[("class", "scroll")], |body| {
        body.element("table", &[], |table| {
            table.element("thead", &[], |head| {
                head.element("tr", &[], |row| {
                    headings.iter().for_each(|heading| row.leaf("th", &[], heading));
                });
            });
            table.element("tbody", &[], |body| {
                for cells in rows {
                    body.element("tr", &[], |row| {
                        for cell in cells {
                            row.leaf("td", &[("class", "name")], cell.as_ref());
                        }
                    });
                }
            });
        });
    });
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
