//! The pattern language of every filter option, compiled.
//!
//! | written | matches |
//! |---|---|
//! | `*` | any run of characters |
//! | `%` | any run of letters, digits and `_ . ? - + [ ]` |
//! | `^` | the start of the name |
//! | `a\|b` | either side; binds weakest |
//! | `{...}` | what is inside, and captures it for a group's `$1` |
//! | `"..."` | the text inside, literally; `""` is one quote |
//! | `@...` | the rest is a regular expression |
//!
//! All else is literal. Patterns match anywhere in a name and ignore case; one that holds a `/` also
//! matches the name with the whole path of its module, `/usr/lib/libc.so.6!read`. It is the language of
//! PerfView, with quotes added and `%` widened, so that `{%}!` names `libstdc++.so.6`,
//! `ld-linux-x86-64.so.2` and `[kernel]` whole.

use std::fmt;

use regex::{Captures, Regex, RegexBuilder};

use crate::error::FilterError;

/// What `%` stands for.
const WORD_RUN: &str = r"[\w.?\-+\[\]]*";

/// One compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    regex: Regex,
    /// True when it may be about a module's path.
    paths: bool,
}

impl Pattern {
    /// Compiles one entry of a pattern list.
    ///
    /// # Errors
    /// [`FilterError::Pattern`] for unbalanced braces or quotes and for bad regular expressions.
    pub fn parse(entry: &str) -> Result<Self, FilterError> {
        let fail = |reason: String| FilterError::Pattern { pattern: entry.to_owned(), reason };
        let source = match entry.strip_prefix('@') {
            Some(raw) => raw.to_owned(),
            None => translate(entry).map_err(|reason| fail(reason.to_owned()))?,
        };
        let regex = RegexBuilder::new(&source)
            .case_insensitive(true)
            .build()
            .map_err(|error| fail(error.to_string()))?;
        Ok(Self { text: entry.to_owned(), regex, paths: entry.contains('/') })
    }

    /// The entry as typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True when the pattern matches somewhere in the name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }

    /// True when the pattern matches the name, or, holding a `/`, the name with its module's path.
    pub(super) fn fits(&self, name: &str, long: Option<&str>) -> bool {
        self.matches(name) || self.paths && long.is_some_and(|long| self.matches(long))
    }

    /// The first match with its captures, as [`Pattern::fits`].
    pub(super) fn captures<'n>(
        &self,
        name: &'n str,
        long: Option<&'n str>,
    ) -> Option<Captures<'n>> {
        let long = || long.filter(|_| self.paths).and_then(|long| self.regex.captures(long));
        self.regex.captures(name).or_else(long)
    }

    /// True when the pattern may be about a module's path.
    pub(super) fn wants_paths(&self) -> bool {
        self.paths
    }
}

/// A list of patterns, of which one must match.
#[derive(Debug, Clone, Default)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Compiles a list whose entries are separated by `;`. Empty entries are ignored.
    ///
    /// # Errors
    /// As [`Pattern::parse`].
    pub fn parse(list: &str) -> Result<Self, FilterError> {
        entries(list).into_iter().map(Pattern::parse).collect::<Result<_, _>>().map(Self)
    }

    /// True when there is no pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when any pattern matches.
    #[must_use]
    pub fn any(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }

    /// As [`Patterns::any`], for a name and the same with its module's path.
    pub(crate) fn any_of(&self, name: &str, long: Option<&str>) -> bool {
        self.0.iter().any(|pattern| pattern.fits(name, long))
    }

    /// The patterns in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Pattern> {
        self.0.iter()
    }
}

impl fmt::Display for Patterns {
    /// The list as it can be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.0.iter().map(Pattern::text).collect();
        f.write_str(&texts.join(";"))
    }
}

/// A name as a pattern that matches nothing but names that hold it literally; for names that a user
/// clicked.
///
/// ```
/// use culprit_engine::calls::{Pattern, quoted};
/// let pattern = Pattern::parse(&quoted("app!run::{{closure}}"))?;
/// assert!(pattern.matches("app!run::{{closure}}"));
/// # Ok::<(), culprit_engine::FilterError>(())
/// ```
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The entries of a list, trimmed, without empty ones; a `;` in quotes separates nothing.
pub(super) fn entries(list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (at, c) in list.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ';' if !quoted => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[start..]);
    found.into_iter().map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

/// The position of a separator outside of quotes.
pub(super) fn find_unquoted(text: &str, separator: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        if c == '"' {
            quoted = !quoted;
        }
        (!quoted && text[at..].starts_with(separator)).then_some(at)
    })
}

/// The entry as a regular expression.
fn translate(entry: &str) -> Result<String, &'static str> {
    let mut source = String::with_capacity(entry.len() * 2);
    let mut depth = 0_u32;
    let mut rest = entry.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' => source.push_str(".*"),
            '%' => source.push_str(WORD_RUN),
            '^' | '|' => source.push(c),
            '{' => {
                depth += 1;
                source.push('(');
            }
            '}' => {
                depth = depth
                    .checked_sub(1)
                    .ok_or("a `}` has no `{` before it; to match it as text, quote it: \"}\"")?;
                source.push(')');
            }
            '"' => loop {
                match rest.next() {
                    None => return Err("a quote is not closed"),
                    Some('"') if rest.peek() == Some(&'"') => {
                        rest.next();
                        source.push('"');
                    }
                    Some('"') => break,
                    Some(literal) => push_literal(&mut source, literal),
                }
            },
            literal => push_literal(&mut source, literal),
        }
    }
    if depth > 0 {
        Err("a `{` is not closed; to match it as text, quote it: \"{\"")
    } else {
        Ok(source)
    }
}

fn push_literal(source: &mut String, literal: char) {
    source.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        let parsed = Pattern::parse(pattern).expect(pattern);
        assert_eq!(parsed.matches(name), expected, "{pattern} on {name}");
    }

    #[test]
    fn everything_else_is_literal_unanchored_and_ignores_case() {
        check("READ", "libc!read_all", true);
        check("a.b", "axb", false);
        check("(x)", "f(x)", true);
        check("^libc", "mylibc!f", false);
        check("^A|B", "xB", true);
    }

    #[test]
    fn stars_cross_anything_and_percents_cross_module_names() {
        check("main*read", "main < x < read", true);
        check("^%!malloc", "libstdc++.so.6!malloc", true);
        check("^%!x", "[kernel]!x", true);
        check("^%!x", "two words!x", false);
    }

    #[test]
    fn quotes_are_literal_also_in_lists() {
        check("\"g(int*)\"", "app!g(int*)", true);
        check("\"g(int*)\"", "app!g(int**)", false);
        check(&quoted("operator\"\"_x;y"), "operator\"\"_x;y", true);
        assert_eq!(entries(" a ;; \"b;c\" ;"), ["a", "\"b;c\""]);
    }

    #[test]
    fn a_rest_after_an_at_is_a_regular_expression() {
        check("@^f[0-9]+$", "F12", true);
        check("@^f[0-9]+$", "f12x", false);
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for bad in ["a{b", "a}b", "\"open", "@("] {
            let message = Pattern::parse(bad).map(|_| ()).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("cannot read the pattern `{bad}`: ")),
                "{message}"
            );
        }
    }
}
