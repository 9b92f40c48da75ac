//! Lists as files: patterns, one a line, or the excluded user agents of a Sitecore configuration.
//!
//! ```text
//! # name: isbot              comments; these four have a meaning
//! # version: 5.2.3
//! Googlebot\/                a pattern, without case
//! news<TAB>search,ai         with categories
//! java<TAB><TAB>java;        with what must be blanked out before it is searched
//! [exact]                    texts that match as a whole follow
//! [erased]                   patterns follow whose matches are deleted before all else
//! ```
//!
//! A bad line is rejected with its number; the others stand.

use std::collections::BTreeSet;

use super::set::Patterns;
use super::{Entry, Paired, PatternList, pattern};
use crate::fold::fold;

/// A line of a list that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedLine {
    /// Its number, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// Why.
    pub why: String,
}

/// What the lines of a section are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Patterns,
    Exact,
    Erased,
}

/// Reads a list. `name` is its name when the text gives none.
#[must_use]
pub fn parse_list(name: &str, text: &str) -> (PatternList, Vec<RejectedLine>) {
    let mut reader = Reader::new(name);
    if let Some(lines) = excluded_user_agents(text) {
        reader.section = Section::Exact;
        lines.for_each(|(number, line)| reader.exact(number, &unescaped(line)));
    } else {
        let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
        lines.enumerate().for_each(|(at, line)| reader.line(at + 1, line));
    }
    reader.finish()
}

/// The lines between `<excludedUserAgents>` and its end, with their numbers in the file.
fn excluded_user_agents(text: &str) -> Option<impl Iterator<Item = (usize, &str)>> {
    const TAG: &str = "<excludedUserAgents>";
    let start = text.find(TAG)? + TAG.len();
    let rest = &text[start..];
    let inner = &rest[..rest.find("</excludedUserAgents>").unwrap_or(rest.len())];
    let first = text[..start].lines().count();
    // A comment of XML is no user agent.
    Some(
        inner
            .lines()
            .enumerate()
            .map(move |(at, line)| (first + at, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with("<!--")),
    )
}

/// The entries of a list of whole user agents with their lines: those of a configuration, else the
/// lines of a text.
pub(crate) fn exact_lines(text: &str) -> Vec<(usize, String)> {
    if let Some(lines) = excluded_user_agents(text) {
        return lines.map(|(line, text)| (line, unescaped(text))).collect();
    }
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let entries = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    entries.map(|(line, text)| (line, text.to_owned())).collect()
}

/// Text of XML as the program that reads it sees it.
pub(crate) fn unescaped(text: &str) -> String {
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let text = with_characters(text);
    entities.iter().fold(text, |text, (entity, plain)| text.replace(entity, plain))
}

/// A text with the characters that `&#43;` and `&#x2b;` name.
fn with_characters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("&#") {
        out.push_str(before);
        let named = after.split_once(';').and_then(|(number, after)| {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => number.parse().ok(),
            };
            Some((char::from_u32(code?)?, after))
        });
        match named {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push_str("&#");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Gathers entries line by line.
struct Reader {
    name: String,
    version: String,
    section: Section,
    entries: Vec<Entry>,
    exact: BTreeSet<String>,
    plain: Vec<usize>,
    paired: Vec<Paired>,
    erased: Vec<String>,
    rejected: Vec<RejectedLine>,
}

impl Reader {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: String::new(),
            section: Section::Patterns,
            entries: Vec::new(),
            exact: BTreeSet::new(),
            plain: Vec::new(),
            paired: Vec::new(),
            erased: Vec::new(),
            rejected: Vec::new(),
        }
    }

    fn line(&mut self, number: usize, line: &str) {
        if let Some(comment) = line.strip_prefix('#') {
            return self.comment(comment);
        }
        match line.trim() {
            "" => {}
            "[exact]" => self.section = Section::Exact,
            "[patterns]" => self.section = Section::Patterns,
            "[erased]" => self.section = Section::Erased,
            _ if self.section == Section::Exact => self.exact(number, line),
            _ => self.pattern(number, line),
        }
    }

    fn comment(&mut self, comment: &str) {
        match comment.trim().split_once(": ") {
            Some(("name", name)) => name.trim().clone_into(&mut self.name),
            Some(("version", version)) => version.trim().clone_into(&mut self.version),
            _ => {}
        }
    }

    fn exact(&mut self, number: usize, text: &str) {
        self.exact.insert(fold(text.trim()));
        self.entries.push(Entry { line: number, text: text.trim().to_owned(), tags: Vec::new() });
    }

    fn pattern(&mut self, number: usize, line: &str) {
        let mut fields = line.split('\t');
        let text = fields.next().unwrap_or_default();
        let tags = fields.next().unwrap_or_default().split(',').filter(|tag| !tag.is_empty());
        let excepted = fields.next().filter(|excepted| !excepted.is_empty());
        if self.section == Section::Erased {
            return match pattern(text) {
                Ok(_) => self.erased.push(text.to_owned()),
                Err(error) => self.reject(number, text, &error),
            };
        }
        let entry = self.entries.len();
        match excepted.map(|excepted| Ok::<_, regex::Error>((pattern(text)?, pattern(excepted)?))) {
            None => self.plain.push(entry),
            Some(Ok((searched, excepted))) => {
                self.paired.push(Paired { entry, searched, excepted });
            }
            Some(Err(error)) => return self.reject(number, text, &error),
        }
        let tags = tags.map(str::to_owned).collect();
        self.entries.push(Entry { line: number, text: text.to_owned(), tags });
    }

    fn reject(&mut self, line: usize, text: &str, error: &regex::Error) {
        let why = reason(error);
        self.rejected.push(RejectedLine { line, text: text.to_owned(), why });
    }

    /// The patterns without exception as one set. Compiling them one by one takes ten times as long
    /// as all together, so that is done only to find those that do not compile.
    fn set(&mut self) -> Patterns {
        let texts = |reader: &Self| -> Vec<String> {
            reader.plain.iter().map(|at| reader.entries[*at].text.clone()).collect()
        };
        if let Ok(whole) = Patterns::new(&texts(self)) {
            return whole;
        }
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for at in std::mem::take(&mut self.plain) {
            match pattern(&self.entries[at].text) {
                Ok(_) => good.push(at),
                Err(error) => bad.push((self.entries[at].clone(), error)),
            }
        }
        self.plain = good;
        bad.iter().for_each(|(entry, error)| self.reject(entry.line, &entry.text, error));
        Patterns::new(&texts(self)).unwrap_or_else(|error| {
            let why = format!("the list as a whole cannot be compiled: {error}");
            self.rejected.push(RejectedLine { line: 1, text: self.name.clone(), why });
            Patterns::none()
        })
    }

    fn finish(mut self) -> (PatternList, Vec<RejectedLine>) {
        let plain = self.set();
        self.rejected.sort_by_key(|rejected| rejected.line);
        let bad: BTreeSet<usize> = self.rejected.iter().map(|rejected| rejected.line).collect();
        let erased = (!self.erased.is_empty()).then(|| self.erased.join("|"));
        let list = PatternList {
            name: self.name,
            version: self.version,
            exact: self.exact,
            plain,
            plain_of: self.plain,
            paired: self.paired,
            erased: erased.and_then(|text| pattern(&text).ok()),
            rejected: bad,
            entries: self.entries,
        };
        (list, self.rejected)
    }
}

/// The last line of the engine's message, and the way out where it has no look-around.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    if last.contains("look-around") {
        return format!("{last}; write what must be blanked out first as the third field instead");
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_by_their_numbers_are_read() {
        assert_eq!(unescaped("a&#43;b&#x2B;&amp;lt;"), "a+b+&lt;");
        // What names none stays.
        assert_eq!(unescaped("&#;&#xzz; &#43"), "&#;&#xzz; &#43");
    }

    #[test]
    fn bad_lines_are_rejected_with_their_number_and_the_others_stand() {
        let (list, rejected) = parse_list("mine", "good\n(open\nnews(?!sapphire)\n\\bfine\\b\n");
        let lines: Vec<usize> = rejected.iter().map(|rejected| rejected.line).collect();
        assert_eq!(lines, [2, 3]);
        assert!(rejected[1].why.contains("third field"), "{}", rejected[1].why);
        assert!(list.is_match("a GOOD one") && list.is_match("fine") && !list.is_match("refined"));
        let lines: Vec<usize> = list.entries().map(|entry| entry.line).collect();
        assert_eq!(lines, [1, 4]);
    }

    #[test]
    fn an_exception_holds_where_it_stands_and_not_elsewhere() {
        let (list, _) = parse_list("mine", "bots?(?:\\b|_)\tsearch\t cubots?\n");
        assert!(!list.is_match("Android; CUBOT_X") && !list.is_match("phone cubot"));
        assert!(list.is_match("phone cubot; Bot/1"), "another one in the same text");
        assert_eq!(list.find("SomeBot").unwrap().entries[0].tags, ["search"]);
    }

    #[test]
    fn a_configuration_s_user_agents_match_as_a_whole() {
        let text = "<a>\n<excludedUserAgents>\n  Evil/1.0 (&amp; more)\n  <!-- old -->\n  Second\n\
                    </excludedUserAgents></a>";
        let (list, rejected) = parse_list("config", text);
        assert!(rejected.is_empty());
        assert!(list.is_match("evil/1.0 (& MORE)") && !list.is_match("Evil/1.0 (& more) x"));
        let lines: Vec<usize> = list.entries().map(|entry| entry.line).collect();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn what_is_erased_is_not_found() {
        let (list, _) = parse_list("mine", "scan\n[erased]\ncamscan\n");
        assert!(list.is_match("netscan") && !list.is_match("CamScan"));
        assert!(list.is_match("camscan scan"));
    }
}
