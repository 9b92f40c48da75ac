//! What a text of code asks for.
//!
//! ```text
//! process.env.PORT || "3000"          a word, a name, and its default
//! GetValue<int>("Smtp:Port")          a word with `*`: any text of the line
//! const { PORT = 80 } = process.env   names that are taken from an object
//! GetSection("Smtp")                  a group: any key below it
//! ```
//!
//! A literal behind one of the profile's signs is the default. Names that code makes are not found.

use crate::Position;
use crate::position::Lines;
use crate::profile::Asks;
use crate::provenance::Op;
use crate::readers::{Entry, Segment};
use crate::value::Raw;

/// What stands for any name below a group.
pub(crate) const ANY: &str = "*";

/// A key that code asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// Its name; that of a group ends in [`ANY`].
    pub(super) name: String,
    pub(super) default: Option<&'a str>,
    pub(super) at: Position,
}

impl Asked<'_> {
    pub(super) fn is_group(&self) -> bool {
        self.name.ends_with(ANY)
    }

    pub(super) fn entry(&self) -> Entry {
        let path = vec![Segment::Name(self.name.clone())];
        let entry = Entry::unplaced(path, Raw::new(self.default.unwrap_or_default()));
        let op = if self.default.is_some() { Op::Set } else { Op::Inherit };
        Entry { op, at: self.at, end_line: self.at.line, null: self.default.is_none(), ..entry }
    }
}

/// A text with spaces in place of its comments, so that all places stay. A comment sign in a string is none.
pub(super) fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'', '`']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let end_of = |start: usize, end: &str| rest[start..].find(end).map(|at| start + at);
        let (end, is_comment) = match rest.as_bytes() {
            [b'/', b'/', ..] => (end_of(2, "\n"), true),
            [b'/', b'*', ..] => (end_of(2, "*/").map(|at| at + 2), true),
            [b'/', ..] => (Some(1), false),
            [quote, ..] => (Some(string(rest, *quote)), false),
            [] => (None, false),
        };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        match is_comment {
            true => code.extend(part.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            false => code.push_str(part),
        }
        rest = after;
    }
    code.push_str(rest);
    code
}

/// Where the string at the start of a text ends. One that its line does not end is a lone quote, in a pattern or
/// in text of a page.
fn string(text: &str, quote: u8) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'\n' if quote != b'`' => return 1,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    1
}

/// What a text without comments asks for, in its order: of a name that is asked for several times the first place,
/// and the first one with a default.
pub(super) fn asked<'a>(asks: &Asks, text: &'a str) -> Vec<Asked<'a>> {
    let mut found: Vec<(usize, String, Option<&'a str>)> = Vec::new();
    for word in &asks.words {
        let start = asks.below.get(word).map_or("", String::as_str);
        let named = behind(word, text).filter_map(|(at, rest)| {
            let (name, rest) = name(asks, rest)?;
            Some((at, format!("{start}{name}"), default(asks, rest)))
        });
        found.extend(named);
    }
    for word in &asks.groups {
        let named = behind(word, text).filter_map(|(at, rest)| {
            let (name, _) = name(asks, rest)?;
            Some((at, format!("{name}{}{ANY}", asks.separator), None))
        });
        found.extend(named);
    }
    if let Some(object) = &asks.object {
        found.extend(taken_from(asks, object, text));
    }
    found.retain(|(_, name, _)| {
        let is_other = asks.except.iter().any(|other| other == name);
        name.starts_with(&asks.start) && !is_other
    });
    found.sort_by_key(|(at, ..)| *at);
    let lines = Lines::new(text);
    let mut asked: Vec<Asked<'a>> = Vec::new();
    for (at, name, default) in found {
        match asked.iter_mut().find(|one| one.name == name) {
            Some(known) if known.default.is_none() && default.is_some() => {
                (known.default, known.at) = (default, lines.at(at));
            }
            Some(_) => {}
            None => asked.push(Asked { name, default, at: lines.at(at) }),
        }
    }
    asked
}

/// The places of a word, each with the text behind it. `*` in a word is any text of the same line.
fn behind<'w, 'a>(
    word: &'w str,
    text: &'a str,
) -> impl Iterator<Item = (usize, &'a str)> + use<'w, 'a> {
    let (start, end) = word.split_once(ANY).unwrap_or((word, ""));
    text.match_indices(start).filter_map(move |(at, _)| {
        let rest = &text[at + start.len()..];
        let line = rest.lines().next().unwrap_or_default();
        let skipped = line.find(end)?;
        Some((at, &rest[skipped + end.len()..]))
    })
}

/// The name at the start of a text, and the text behind it.
fn name<'a>(asks: &Asks, text: &'a str) -> Option<(&'a str, &'a str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || asks.letters.contains(c);
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then_some((name, rest))
}

/// Names that stand in braces before `= OBJECT`: `const { PORT, HOST: host = "::" } = process.env`.
fn taken_from<'a>(
    asks: &Asks,
    object: &str,
    text: &'a str,
) -> Vec<(usize, String, Option<&'a str>)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(object) {
        let after = text[at + object.len()..].chars().next();
        let is_whole = after.is_none_or(|c| !c.is_alphanumeric() && !"_.[".contains(c));
        let before = text[..at].trim_end().strip_suffix('=').map(str::trim_end);
        let Some(before) = before.and_then(|text| text.strip_suffix('}')).filter(|_| is_whole)
        else {
            continue;
        };
        let Some(open) = before.rfind('{') else { continue };
        let mut start = open + 1;
        for item in before[open + 1..].split(',') {
            let own = item.trim_start();
            let place = start + item.len() - own.len();
            start += item.len() + 1;
            let Some((name, rest)) = name(asks, own) else { continue };
            let value = rest.split_once('=').and_then(|(_, value)| literal(value));
            found.push((place, name.to_owned(), value));
        }
    }
    found
}

/// The default that stands behind a name: a literal, or all of it where the profile says how it ends.
fn default<'a>(asks: &Asks, rest: &'a str) -> Option<&'a str> {
    if let Some(end) = &asks.default_end {
        let rest = asks.defaults.iter().find_map(|word| rest.strip_prefix(word.as_str()))?;
        let text = &rest[..rest.find(end.as_str())?];
        return (!text.contains(['$', '\n'])).then_some(text);
    }
    let rest = rest.trim_start_matches(['\'', '"', '`', ']']).trim_start();
    literal(asks.defaults.iter().find_map(|word| rest.strip_prefix(word.as_str()))?)
}

/// The literal at the start of a text, which is the whole value.
fn literal(text: &str) -> Option<&str> {
    let rest = text.trim_start();
    let quote = rest.chars().next()?;
    if matches!(quote, '\'' | '"' | '`') {
        let end = rest[1..].find(quote)?;
        let text = &rest[1..=end];
        return (!text.contains(['\\', '$', '\n'])).then_some(text);
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
    let word = &rest[..end];
    let is_literal =
        word.starts_with(|c: char| c.is_ascii_digit()) || matches!(word, "true" | "false");
    let is_whole = !rest[end..].trim_start().starts_with(['*', '+', '-', '/', '(', '[']);
    (is_literal && is_whole).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the code of a profile asks for: names, defaults and lines.
    fn rows(profile: &str, text: &str) -> Vec<(String, Option<String>, u32)> {
        let profiles = crate::profile::stock_profiles().unwrap();
        let profile = profiles.into_iter().find(|one| one.name == profile).unwrap();
        let asks = profile.layers.iter().find_map(|layer| layer.asks.as_ref()).unwrap();
        let row = |one: Asked<'_>| (one.name, one.default.map(str::to_owned), one.at.line);
        asked(asks, &without_comments(text)).into_iter().map(row).collect()
    }

    fn row(name: &str, default: Option<&str>, line: u32) -> (String, Option<String>, u32) {
        (name.to_owned(), default.map(str::to_owned), line)
    }

    #[test]
    fn comments_become_spaces_and_strings_stay() {
        for (text, code) in [
            ("a // é\nb /* x\ny */ c", "a      \nb     \n     c"),
            ("f(\"http://x\") // y", "f(\"http://x\")     "),
            ("'/*' + `//\n//` + \"\\\"//\"", "'/*' + `//\n//` + \"\\\"//\""),
            ("don't // y\n'a'", "don't     \n'a'"),
            ("a / b /* open", "a / b        "),
        ] {
            assert_eq!(without_comments(text), code, "{text}");
        }
    }

    #[test]
    fn names_and_their_literal_defaults_are_found() {
        let text = "const port = normalizePort(process.env.PORT || '3000');\n\
                    // process.env.OLD\n\
                    const a = process.env[\"A_B\"] ?? 12, b = process.env.B || make();\n\
                    if (process.env.C) run(process.env.C ?? 'x'); x(process.env.D || 60 * 1000);\n";
        let found = [
            row("PORT", Some("3000"), 1),
            row("A_B", Some("12"), 3),
            row("B", None, 3),
            row("C", Some("x"), 4),
            row("D", None, 4),
        ];
        assert_eq!(rows("dotenv", text), found);
    }

    #[test]
    fn names_that_are_made_are_no_names() {
        assert_eq!(rows("dotenv", "process.env[name]; process.env.1; f(process.env)"), []);
    }

    #[test]
    fn names_that_are_taken_from_an_object_are_found() {
        let text = "const { PORT, DB_URL: url = 'x', // the address, of all\n  \
                    /* how much */ LEVEL = \"info\", ...rest } = process.env;\n\
                    const { A } = process.env.B; if ({ C } == process.env) {}\n";
        let found = [
            row("PORT", None, 1),
            row("DB_URL", Some("x"), 1),
            row("LEVEL", Some("info"), 2),
            row("B", None, 3),
        ];
        assert_eq!(rows("dotenv", text), found);
    }

    #[test]
    fn keys_that_spring_code_asks_for_are_found() {
        let text = "@Value(\"${app.name:demo}\") String name;\n@Value(\"${app.url}\")\n\
                    env.getProperty(\"app.mode\"); System.getProperty(\"user.home\");\n\
                    @ConfigurationProperties(prefix = \"app.mail\")\n";
        let found = [
            row("app.name", Some("demo"), 1),
            row("app.url", None, 2),
            row("app.mode", None, 3),
            row("app.mail.*", None, 4),
        ];
        assert_eq!(rows("spring", text), found);
    }

    #[test]
    fn keys_that_dotnet_code_asks_for_are_found() {
        let text = "builder.Configuration.GetConnectionString(\"Main\");\n\
                    var a = builder.Configuration[\"Feature:Search\"];\n\
                    config.GetValue<int>(\"Smtp:Port\", 25);\n\
                    services.Configure<Smtp>(builder.Configuration.GetSection(\"Smtp\"));\n";
        let found = [
            row("ConnectionStrings:Main", None, 1),
            row("Feature:Search", None, 2),
            row("Smtp:Port", None, 3),
            row("Smtp:*", None, 4),
        ];
        assert_eq!(rows("dotnet", text), found);
    }
}
