//! The page in one file, with a recording inside: it opens from `file://` and loads nothing.
//!
//! ```text
//! <meta policy>     the hashes of the style and of the one script; nothing is fetched
//! <script #start>   what to show first, as JSON
//! <script #engine>, #worker, #recording   bytes as base64; a browser runs none of these types
//! <script module>   the page's program; it makes its worker and the engine of those bytes
//! <noscript>        the report as text
//! ```

use std::io::{Error, Result};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use culprit_report::html::{Markup, escape, integrity, script_json};
use culprit_report::json::FilterJson;
use serde::Serialize;

use crate::assets::{Asset, asset};

/// What a page shows first.
#[derive(Debug, Serialize)]
pub struct Start {
    /// The recording's file name.
    pub name: String,
    /// The view: `overview`, `flame`.
    pub view: &'static str,
    /// The filter.
    pub filter: FilterJson,
    /// What is not in the page, and where it is; none where all is.
    pub note: Option<String>,
}

/// A page with a recording inside.
#[derive(Debug)]
pub struct OneFile<'a> {
    /// The window's title.
    pub title: &'a str,
    /// What it shows first.
    pub start: Start,
    /// The bytes of the recording.
    pub recording: &'a [u8],
    /// The report as text, for readers without scripts.
    pub text: &'a str,
    /// A section that the page shows below its overview.
    pub section: Option<Markup>,
}

impl OneFile<'_> {
    /// The page as one HTML document.
    ///
    /// # Errors
    /// When the first state cannot be written as JSON, or the program was built without the page.
    pub fn render(self) -> Result<String> {
        let [program, style] = [file("assets/app.js")?.text(), file("assets/style.css")?.text()];
        let engine = file("assets/culprit_wasm_bg.wasm")?.gzip;
        let mut out = String::with_capacity(2 * (engine.len() + self.recording.len()));
        out.push_str("<!doctype html>\n<html lang=\"en\">\n");
        out.push_str(&head(self.title, &policy(&style, &program)));
        out.push_str("<style>");
        out.push_str(&style);
        out.push_str("</style>\n</head>\n<body>\n<div id=\"app\"></div>\n<noscript><pre>");
        escape(self.text, &mut out);
        out.push_str("</pre></noscript>\n");
        if let Some(section) = self.section {
            out.push_str("<template id=\"section\">");
            out.push_str(&section.into_string());
            out.push_str("</template>\n");
        }
        let start = script_json(&self.start).map_err(Error::other)?;
        out.push_str("<script type=\"application/json\" id=\"start\">");
        out.push_str(&start);
        out.push_str("</script>\n");
        data(&mut out, "engine", engine);
        data(&mut out, "worker", file("assets/worker.js")?.gzip);
        data(&mut out, "recording", self.recording);
        out.push_str("<script type=\"module\">");
        out.push_str(&program);
        out.push_str("</script>\n</body>\n</html>\n");
        Ok(out)
    }
}

fn file(path: &str) -> Result<&'static Asset> {
    asset(path)
        .ok_or_else(|| Error::other(format!("the page lacks `{path}`: build it with `make ui`")))
}

fn head(title: &str, policy: &str) -> String {
    let mut head = Markup::default();
    head.fixed("<head>\n");
    head.empty("meta", &[("charset", "utf-8")]);
    head.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", policy)]);
    head.empty("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    head.empty("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    head.empty("meta", &[("name", "referrer"), ("content", "no-referrer")]);
    head.leaf("title", &[], title);
    head.into_string()
}

/// Nothing is fetched and nothing runs but the page's own program, the worker that it makes, and the engine.
fn policy(style: &str, program: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}' 'wasm-unsafe-eval'; worker-src blob:; style-src '{}'; \
         img-src data:; base-uri 'none'; form-action 'none'",
        integrity(program),
        integrity(style)
    )
}

/// Bytes in an element that no browser runs. Base64 has no sign that ends it.
fn data(out: &mut String, id: &str, bytes: &[u8]) {
    out.push_str("<script type=\"application/octet-stream\" id=\"");
    out.push_str(id);
    out.push_str("\">");
    STANDARD.encode_string(bytes, out);
    out.push_str("</script>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::Filter;

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>";

    fn page(name: &str, section: Option<Markup>) -> String {
        let page = OneFile {
            title: name,
            start: Start {
                name: name.to_owned(),
                view: "overview",
                filter: FilterJson::from(&Filter { include: name.to_owned(), ..Filter::default() }),
                note: Some(name.to_owned()),
            },
            recording: name.as_bytes(),
            text: name,
            section,
        };
        page.render().unwrap()
    }

    fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
        page.split_once(begin).unwrap().1.split_once(end).unwrap().0
    }

    #[test]
    fn a_hostile_recording_adds_no_element() {
        let (hostile, plain) = (page(HOSTILE, None), page("app", None));
        let count = |text: &str, what: &str| text.matches(what).count();
        for tag in ["<script", "</script", "<img", "<style", "</style", "<noscript", "<template"] {
            assert_eq!(count(&hostile, tag), count(&plain, tag), "{tag}");
        }
        assert!(
            hostile.contains("<title>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;</title>")
        );
    }

    #[test]
    fn the_policy_names_exactly_the_style_and_the_program() {
        let page = page("app", None);
        let policy = between(&page, "Content-Security-Policy\" content=\"", "\"/>");
        assert!(policy.starts_with("default-src &#39;none&#39;; "), "{policy}");
        for (begin, end) in [("<style>", "</style"), ("<script type=\"module\">", "</script")] {
            let inside = page.rsplit_once(begin).unwrap().1.split_once(end).unwrap().0;
            assert!(policy.contains(&integrity(inside)), "{begin}");
        }
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval"));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let page = page("app", None);
        let outside = page.replace("http://www.w3.org/", "");
        for word in [" src=", "<link", "@import", "url(http", "http://", "https://"] {
            assert!(!outside.contains(word), "{word}");
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_recording_and_the_text_is_there() {
        let mut section = Markup::default();
        section.leaf("h2", &[], "Configuration");
        let page = page("a run", Some(section));
        let recording = between(&page, "id=\"recording\">", "</script>");
        assert_eq!(STANDARD.decode(recording).unwrap(), b"a run");
        let engine = STANDARD.decode(between(&page, "id=\"engine\">", "</script>")).unwrap();
        assert_eq!(engine, asset("assets/culprit_wasm_bg.wasm").unwrap().gzip);
        assert!(page.contains("<noscript><pre>a run</pre></noscript>"));
        assert!(page.contains("<template id=\"section\"><h2>Configuration</h2></template>"));
        let start = between(&page, "id=\"start\">", "</script>");
        let start: serde_json::Value = serde_json::from_str(start).unwrap();
        assert_eq!((&start["name"], &start["view"]), (&"a run".into(), &"overview".into()));
        assert_eq!(start["filter"]["include"], "a run");
    }
}
