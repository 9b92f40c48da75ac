//! A whole page: its head with the policy, and what stands around its sections.
//!
//! A content security policy that names the hashes of the styles and of the one script forbids
//! everything else. Nothing is loaded from elsewhere.

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use super::markup::Markup;

/// What runs in a page.
#[derive(Debug, Clone, Copy)]
pub struct Scripts<'a> {
    /// The data as JSON that may stand in a `script` element: see [`super::script_json`].
    pub data: &'a str,
    /// The program, a literal of ours.
    pub program: &'a str,
}

/// A page as one document. `body` begins with `<body>` and does not end it.
#[must_use]
pub fn document(
    what: &str,
    styles: &[&'static str],
    body: &str,
    scripts: Option<Scripts<'_>>,
) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n");
    out.push_str(&head(what, styles, scripts));
    out.push_str(body);
    if let Some(scripts) = scripts {
        out.push_str("\n<script type=\"application/json\" id=\"data\">");
        out.push_str(scripts.data);
        out.push_str("</script>\n<script>");
        out.push_str(scripts.program);
        out.push_str("</script>");
    }
    out.push_str("\n</body>\n</html>\n");
    out
}

fn head(what: &str, styles: &[&'static str], scripts: Option<Scripts<'_>>) -> String {
    let policy = policy(styles, scripts);
    let mut head = Markup::default();
    head.element("head", &[], |head| {
        head.empty("meta", &[("charset", "utf-8")]);
        head.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
        head.empty(
            "meta",
            &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")],
        );
        head.empty("meta", &[("name", "referrer"), ("content", "no-referrer")]);
        head.leaf("title", &[], &format!("Culprit: {what}"));
        for style in styles {
            head.element("style", &[], |inside| inside.fixed(style));
        }
    });
    head.into_string()
}

fn policy(styles: &[&'static str], scripts: Option<Scripts<'_>>) -> String {
    let styles: Vec<String> =
        styles.iter().map(|style| format!("'{}'", integrity(style))).collect();
    let styles = styles.join(" ");
    let scripts = scripts
        .map(|scripts| format!("; script-src '{}'; img-src data:", integrity(scripts.program)));
    format!(
        "default-src 'none'; style-src {styles}{}; base-uri 'none'; form-action 'none'",
        scripts.unwrap_or_default()
    )
}

/// The source expression of a content security policy for exactly this text.
#[must_use]
pub fn integrity(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(hash))
}

/// What stands around the sections of a page without scripts.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The window's title.
    pub what: &'a str,
    /// What the page is about; above the heading.
    pub subject: &'a str,
    /// The sentence at the top.
    pub title: &'a str,
    /// Sentences under it.
    pub sentences: &'a [String],
    /// Facts under them: name and value.
    pub facts: &'a [(&'static str, String)],
    /// What the navigation is of.
    pub navigation: &'static str,
    /// Its entries: the id of a section and its name. Those that the page lacks are left out.
    pub entries: &'a [(String, String)],
    /// Styles.
    pub styles: &'a [&'static str],
}

impl Frame<'_> {
    /// The page as one HTML document.
    #[must_use]
    pub fn page(&self, inside: impl FnOnce(&mut Markup)) -> String {
        let mut main = Markup::default();
        main.fixed("\n<main id=\"main\">\n");
        self.verdict(&mut main);
        inside(&mut main);
        main.fixed("</main>\n<footer>");
        main.text(&format!("Made by culprit {}", env!("CARGO_PKG_VERSION")));
        main.fixed("</footer>");
        let main = main.into_string();
        document(self.what, self.styles, &(self.top(&main) + &main), None)
    }

    fn top(&self, main: &str) -> String {
        let mut top = Markup::default();
        top.fixed("\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
        top.element("header", &[("class", "bar-top")], |bar| {
            bar.leaf("span", &[("class", "brand")], "Culprit");
            bar.element("nav", &[("aria-label", self.navigation)], |nav| {
                // No name can look like an `id`, because quotes are escaped.
                let has = |id: &str| main.contains(&format!("<section id=\"{id}\""));
                for (id, name) in self.entries.iter().filter(|(id, _)| has(id)) {
                    nav.leaf("a", &[("href", &format!("#{id}"))], name);
                }
            });
        });
        top.into_string()
    }

    fn verdict(&self, body: &mut Markup) {
        body.element("div", &[("class", "verdict")], |body| {
            body.leaf("div", &[("class", "what mono")], self.subject);
            body.prose("h1", &[], self.title);
            for sentence in self.sentences {
                body.prose("p", &[("class", "sentence")], sentence);
            }
            if self.facts.is_empty() {
                return;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_hash_of_each_style_and_only_sections_that_it_has() {
        let entries = [("here", "Here"), ("gone", "Gone")];
        let entries = entries.map(|(id, name)| (id.to_owned(), name.to_owned()));
        let frame = Frame {
            what: "a store",
            subject: "<store>",
            title: "10 % are robots",
            sentences: &[],
            facts: &[("rows", "3".to_owned())],
            navigation: "Sections",
            entries: &entries,
            styles: &["a{}", "b{}"],
        };
        let page = frame.page(|body| {
            body.element("section", &[("id", "here")], |body| body.text("x"));
        });
        for style in ["a{}", "b{}"] {
            // Quotes are escaped in an attribute.
            assert!(page.contains(&integrity(style)), "{style}");
        }
        assert!(page.contains("href=\"#here\"") && !page.contains("href=\"#gone\""));
        assert!(page.contains("&lt;store&gt;") && !page.contains("<store>"));
        assert!(!page.contains("script-src"));
    }
}
