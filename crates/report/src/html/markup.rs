//! HTML as a string in which text cannot become markup.
//!
//! Recordings hold names that somebody else chose. Whatever is not a literal of this program goes
//! through [`Markup::text`] or an attribute's value, both of which escape; there is no way to add
//! raw text from a value.

use std::fmt::Write as _;

/// HTML that was put together safely.
#[derive(Debug, Clone, Default)]
pub struct Markup(String);

/// An attribute: a name that this program chose, and a value that may be anybody's.
pub type Attribute<'a> = (&'static str, &'a str);

impl Markup {
    /// Adds an element around what `inside` adds.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        inside: impl FnOnce(&mut Self),
    ) {
        self.open(name, attributes);
        inside(self);
        let _ = write!(self.0, "</{name}>");
    }

    /// Adds an element that holds text.
    pub fn leaf(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: &str) {
        self.element(name, attributes, |inside| inside.text(text));
    }

    /// Adds an element without content, as SVG's shapes are.
    pub fn empty(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.open(name, attributes);
        self.0.pop();
        self.0.push_str("/>");
    }

    fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        let _ = write!(self.0, "<{name}");
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"");
            escape(value, &mut self.0);
            self.0.push('"');
        }
        self.0.push('>');
    }

    /// Adds HTML that was put together safely, too.
    pub fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    /// Adds an element that holds prose: what stands in backticks is code, and numbers stay with
    /// their units on one line.
    pub fn prose(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: &str) {
        // An odd number of backticks is no code: then they are what they are.
        let code = text.matches('`').count().is_multiple_of(2);
        self.element(name, attributes, |inside| {
            for (index, part) in text.split('`').enumerate().filter(|_| code) {
                if index % 2 == 1 {
                    inside.leaf("code", &[], part);
                } else {
                    inside.text(&bound(part));
                }
            }
            if !code {
                inside.text(&bound(text));
            }
        });
    }

    /// Adds a part of the page that is a literal of this program.
    pub fn fixed(&mut self, html: &'static str) {
        self.0.push_str(html);
    }

    /// The HTML.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The text with no-break spaces between numbers and units.
fn bound(text: &str) -> String {
    const UNITS: [&str; 9] = ["%", "s", "ms", "us", "ns", "bytes", "KiB", "MiB", "GiB"];
    let mut bound = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let unit = word.trim_end_matches([' ', '.', ',', ';', ':', ')']);
        let after_number = bound.trim_end_matches(' ').ends_with(|c: char| c.is_ascii_digit());
        if after_number && UNITS.contains(&unit) && bound.ends_with(' ') {
            bound.pop();
            bound.push('\u{a0}');
        }
        bound.push_str(word);
    }
    bound
}

/// Escapes text for element content and for attribute values in double quotes.
pub fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in HTML or XML, not even as references (HTML 13.1.4, XML 2.2).
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// JSON that may stand in a `script` element: nothing in it can end the element or open a comment.
///
/// # Errors
/// When the value cannot be written as JSON.
pub fn script_json(value: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    // `<` never stands outside strings in JSON, so the escape is always read back as the same.
    Ok(json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_stay_text() {
        let mut markup = Markup::default();
        markup.leaf("td", &[("title", "\"><script>")], "</td><img onerror='x'>&\x1b");
        assert_eq!(
            markup.into_string(),
            "<td title=\"&quot;&gt;&lt;script&gt;\">&lt;/td&gt;&lt;img onerror=&#39;x&#39;&gt;&amp;\u{fffd}</td>"
        );
    }

    #[test]
    fn prose_has_code_and_keeps_units_with_their_numbers() {
        let prose = |text: &str| {
            let mut markup = Markup::default();
            markup.prose("p", &[], text);
            markup.into_string()
        };
        assert_eq!(
            prose("read by `a<b`, 90 % of 1.00 s."),
            "<p>read by <code>a&lt;b</code>, 90\u{a0}% of 1.00\u{a0}s.</p>"
        );
        assert_eq!(prose("one ` alone"), "<p>one ` alone</p>");
    }

    #[test]
    fn data_cannot_end_its_script() {
        let json = script_json(&["</script><!--"]).unwrap();
        assert!(!json.contains('<'));
        let back: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, ["</script><!--"]);
    }
}
