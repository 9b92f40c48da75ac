//! What a text of code asks for.
//!
//! ```text
//! process.env.PORT || "3000"           a word, a name, and its default
//! GetValue<int>("Smtp:Port", 25)       a word with `*`: any text of the line; a second argument is the default
//! const { PORT = 80 } = process.env    names that are taken from an object
//! const env = process.env; env.PORT    another name of that object
//! GetSection("Smtp")                   a group: any key below it
//! GetSection(SmtpOptions.Section)      the same: a constant stands for its literal
//! GetSection("Smtp")["Port"]           a member of a group: a key
//! @ConditionalOnProperty(name = "a")   named arguments that make a key
//! ```
//!
//! A literal behind one of the profile's signs is the default. Names that code makes are not found.

use std::collections::BTreeSet;

use super::constants::{Constants, is_constant};
use crate::Position;
use crate::position::Lines;
use crate::profile::Asks;
use crate::provenance::Op;
use crate::readers::{Entry, Segment};
use crate::value::Raw;

/// What stands for any name below a group.
pub(crate) const ANY: &str = "*";

/// What code takes where a key has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback<'a> {
    /// Nothing.
    None,
    /// A literal.
    Literal(&'a str),
    /// A literal that also stands for an empty text.
    ForEmpty(&'a str),
    /// What other code makes.
    Made,
}

/// A key that code asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// Its name; that of a group ends in [`ANY`].
    pub(super) name: String,
    pub(super) default: Fallback<'a>,
    /// How much of the start of its name the code does not write: `ConnectionStrings:`.
    unwritten: usize,
    /// Whether the program does not start without it.
    pub(super) is_required: bool,
    pub(super) at: Position,
}

impl Asked<'_> {
    pub(super) fn is_group(&self) -> bool {
        self.name.ends_with(ANY)
    }

    /// The name as the code writes it.
    pub(super) fn written(&self) -> &str {
        &self.name[self.unwritten..]
    }

    pub(super) fn entry(&self) -> Entry {
        let path = vec![Segment::Name(self.name.clone())];
        let (op, text) = match self.default {
            Fallback::Literal(text) | Fallback::ForEmpty(text) => (Op::Set, text),
            Fallback::None | Fallback::Made => (Op::Inherit, ""),
        };
        let null = op == Op::Inherit;
        let entry = Entry::unplaced(path, Raw::new(text));
        Entry { op, at: self.at, end_line: self.at.line, null, ..entry }
    }
}

/// A place, a name, its default, and how much of the name's start the code does not write.
type Found<'a> = (usize, String, Fallback<'a>, usize);

/// What a text without comments asks for, in its order: of a name that is asked for several times the first place,
/// and the first one with a default.
pub(super) fn asked<'a>(
    asks: &Asks,
    (file, text): (usize, &'a str),
    constants: &Constants,
) -> Vec<Asked<'a>> {
    let mut found: Vec<Found<'a>> = Vec::new();
    let mut required: Vec<String> = Vec::new();
    // A method of a group asks for a key below it.
    let own = |(at, _): &(usize, &str)| {
        let before = text[..*at].strip_suffix('.').map_or("", str::trim_end);
        !asks.groups_end.iter().any(|end| before.ends_with(end.as_str()))
    };
    for word in &asks.words {
        let start = asks.below.get(word).map_or("", String::as_str);
        let is_call = word.contains('(') && word.ends_with(['"', '\'']);
        let named = behind(word, text).filter(own).filter_map(|(at, rest)| {
            let (name, rest) = name(asks, rest)?;
            let default = default(asks, is_call, rest);
            let is_required = asks.required.contains(word) && default == Fallback::None;
            required.extend(is_required.then(|| format!("{start}{name}")));
            Some((at, format!("{start}{name}"), default, start.len()))
        });
        found.extend(named);
    }
    for word in &asks.groups {
        found.extend(behind(word, text).filter(own).filter_map(|(at, rest)| {
            let (name, rest) = name(asks, rest)?;
            Some(below_group(asks, (at, name.to_owned(), rest)))
        }));
        let call = word.strip_suffix('"').unwrap_or(word);
        found.extend(behind(call, text).filter(own).filter_map(|(at, rest)| {
            match constants.at(file, rest) {
                Some((name, rest)) => Some(below_group(asks, (at, name.to_owned(), rest))),
                // Any group may be meant.
                None => is_constant(rest).then(|| (at, ANY.to_owned(), Fallback::None, 0)),
            }
        }));
    }
    for call in &asks.named_arguments {
        found.extend(behind(call, text).flat_map(|(at, rest)| of_arguments(asks, at, rest)));
    }
    if let Some(object) = &asks.object {
        found.extend(taken_from(asks, object, text));
        for alias in aliases(object, text) {
            found.extend(members(asks, &alias, text));
            found.extend(taken_from(asks, &alias, text));
        }
    }
    found.retain(|(_, name, ..)| {
        let is_wanted = !asks.upper_case || name.chars().all(|c| !c.is_ascii_lowercase());
        is_wanted && asks.except.iter().all(|other| other != name)
    });
    found.sort_by_key(|(at, ..)| *at);
    let lines = Lines::new(text);
    let mut asked: Vec<Asked<'a>> = Vec::new();
    for (at, name, default, unwritten) in found {
        match asked.iter_mut().find(|one| one.name == name) {
            Some(known) if known.default == Fallback::None && default != Fallback::None => {
                (known.default, known.at) = (default, lines.at(at));
            }
            Some(_) => {}
            None => {
                let is_required = required.contains(&name);
                asked.push(Asked { name, default, at: lines.at(at), unwritten, is_required });
            }
        }
    }
    asked
}

/// The variables that a text without comments takes from the environment alone.
pub(super) fn variables(asks: &Asks, text: &str) -> Vec<String> {
    let places = asks.variables.iter().flat_map(|word| behind(word, text));
    places.filter_map(|(_, rest)| Some(name(asks, rest)?.0.to_owned())).collect()
}

/// The keys of a group whose name ends at a text, or the one key that is taken from it right there.
fn below_group<'a>(asks: &Asks, (at, group, rest): (usize, String, &'a str)) -> Found<'a> {
    let behind = rest.strip_prefix('"').unwrap_or(rest).strip_prefix(')').map(str::trim_start);
    let member = asks.members.iter().find_map(|word| {
        let rest = start_of(word, behind?)?;
        let (name, rest) = name(asks, rest)?;
        Some((word, format!("{group}{}{name}", asks.separator), rest))
    });
    match member {
        Some((word, key, rest)) if word.contains("Section") => below_group(asks, (at, key, rest)),
        Some((_, key, rest)) => (at, key, default(asks, true, rest), 0),
        None => (at, format!("{group}{}{ANY}", asks.separator), Fallback::None, 0),
    }
}

/// What stands behind a word at the start of a text. `*` in the word is any text of the same line.
fn start_of<'a>(word: &str, text: &'a str) -> Option<&'a str> {
    let (start, end) = word.split_once(ANY).unwrap_or((word, ""));
    let rest = text.strip_prefix(start)?;
    let at = rest.lines().next().unwrap_or_default().find(end)?;
    Some(&rest[at + end.len()..])
}

/// The keys of a call that has their start and their ends as arguments: `prefix = "a", name = {"b", "c"}`.
/// The program starts without a value for them.
fn of_arguments<'a>(asks: &Asks, at: usize, rest: &'a str) -> Vec<Found<'a>> {
    let inner = rest.split(')').next().unwrap_or_default();
    let texts = |part: &str| -> Vec<String> {
        part.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (mut prefix, mut names) = (String::new(), Vec::new());
    let mut open = inner;
    while !open.is_empty() {
        // An argument ends at a comma outside of braces.
        let mut depth = 0_i32;
        let end = open.find(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        let (part, after) = open.split_at(end.unwrap_or(open.len()));
        open = after.strip_prefix(',').unwrap_or_default();
        match part.split_once('=').map(|(word, value)| (word.trim(), value)) {
            Some(("prefix", value)) => prefix = texts(value).into_iter().next().unwrap_or_default(),
            Some(("name" | "value", value)) => names.extend(texts(value)),
            Some(_) => {}
            None => names.extend(texts(part)),
        }
    }
    let prefix = prefix.trim_end_matches(asks.separator.as_str());
    let key = |name: String| match prefix {
        "" => name,
        prefix => format!("{prefix}{}{name}", asks.separator),
    };
    names.into_iter().map(|name| (at, key(name), Fallback::Made, 0)).collect()
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

/// Other names that code gives an object: `const env = process.env;`, `import { env } from "node:process"`.
fn aliases(object: &str, text: &str) -> BTreeSet<String> {
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(is_name_part);
    let assigned = behind_whole(object, text).filter_map(|(at, rest)| {
        let is_all = rest.trim_start_matches([' ', '\t']).starts_with([';', ',', '\n', '\r']);
        let before =
            text[..at].trim_end().strip_suffix('=').filter(|_| is_all || rest.is_empty())?;
        let mut words = before.split_whitespace().rev();
        let (name, kind) = (words.next()?, words.next()?);
        matches!(kind, "const" | "let" | "var").then_some(name).filter(is_name)
    });
    let (module, member) = object.split_once('.').unwrap_or((object, ""));
    let imported = text.match_indices('}').filter_map(|(at, _)| {
        let (before, after) = (&text[..at], text[at + 1..].trim_start());
        let after = after.strip_prefix("from").or_else(|| after.strip_prefix('='))?.trim_start();
        let after = after.strip_prefix("require(").unwrap_or(after);
        let after = after.trim_start_matches(['"', '\'']);
        let after = after.strip_prefix("node:").unwrap_or(after).strip_prefix(module)?;
        let is_module = after.is_empty() || after.starts_with(['"', '\'', ';', '\n', '\r', ' ']);
        let items = before[before.rfind('{').filter(|_| is_module)? + 1..].split(',');
        items
            .filter_map(|item| {
                let mut words = item.split([' ', ':', '\n', '\t']).filter(|word| !word.is_empty());
                (words.next()? == member).then(|| words.next_back().unwrap_or(member))
            })
            .next()
            .filter(is_name)
    });
    assigned.chain(imported).map(str::to_owned).collect()
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The places of an object that are no part of a longer name or of another object, each with the text behind it.
fn behind_whole<'w, 'a>(
    object: &'w str,
    text: &'a str,
) -> impl Iterator<Item = (usize, &'a str)> + use<'w, 'a> {
    let places = text.match_indices(object).map(|(at, _)| (at, &text[at + object.len()..]));
    places.filter(|(at, rest)| {
        let is_end = |c: char| is_name_part(c) || c == '.';
        !text[..*at].ends_with(is_end) && !rest.starts_with(is_name_part)
    })
}

/// The members of an object that code reads: `env.PORT`, `env["PORT"]`.
fn members<'a>(asks: &Asks, object: &str, text: &'a str) -> Vec<Found<'a>> {
    let signs = ["?.", ".", "[\"", "['"];
    let places = behind_whole(object, text);
    let named = places.filter_map(|(at, rest)| {
        let rest = signs.iter().find_map(|sign| rest.strip_prefix(sign))?;
        let (name, rest) = name(asks, rest)?;
        // `env.PORT = 1` sets it, and `env.toString()` is another object's.
        let then = rest.trim_start();
        let is_set = then.starts_with('=') && !then.starts_with("==");
        (!is_set && !then.starts_with('('))
            .then(|| (at, name.to_owned(), default(asks, false, rest), 0))
    });
    named.collect()
}

/// Names that stand in braces before `= OBJECT`: `const { PORT, HOST: host = "::" } = process.env`.
fn taken_from<'a>(asks: &Asks, object: &str, text: &'a str) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for (at, rest) in behind_whole(object, text) {
        let is_whole = !rest.starts_with(['.', '[']);
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
            let value = rest.split_once('=').map_or(Fallback::None, |(_, value)| of_text(value));
            found.push((place, name.to_owned(), value, 0));
        }
    }
    found
}

/// The default that stands behind a name: a literal, or all of it where the profile says how it ends. Behind the
/// name of a call it may be the next argument.
fn default<'a>(asks: &Asks, is_call: bool, rest: &'a str) -> Fallback<'a> {
    if let Some(next) = argument(rest).filter(|_| is_call) {
        return of_text(next);
    }
    let signs = |rest: &'a str| {
        asks.defaults.iter().find_map(|word| Some((word, rest.strip_prefix(word.as_str())?)))
    };
    let sign = |rest: &'a str| signs(rest).map(|(_, rest)| rest);
    if let Some(end) = &asks.default_end {
        let Some(rest) = sign(rest) else { return Fallback::None };
        let Some(at) = rest.find(end.as_str()) else { return Fallback::Made };
        let text = &rest[..at];
        return if text.contains(['$', '\n']) { Fallback::Made } else { Fallback::Literal(text) };
    }
    let closes = |c: char| matches!(c, '\'' | '"' | '`' | ']') || is_call && c == ')';
    let found = signs(rest.trim_start_matches(closes).trim_start());
    match found.map(|(word, rest)| (asks.empty_defaults.contains(word), of_text(rest))) {
        Some((true, Fallback::Literal(text))) => Fallback::ForEmpty(text),
        found => found.map_or(Fallback::None, |(_, default)| default),
    }
}

/// The last argument behind a name that a quote ends; none if the name is the last one.
fn argument(rest: &str) -> Option<&str> {
    let next = rest.strip_prefix(['"', '\''])?.trim_start().strip_prefix(',')?.trim_start();
    // `getProperty("a", Integer.class, 3)`; the type alone is no default.
    match next.split_once(".class") {
        Some((kind, rest)) if kind.chars().all(|c| c.is_alphanumeric() || "_.".contains(c)) => {
            rest.trim_start().strip_prefix(',')
        }
        _ => Some(next),
    }
}

/// A default at the start of a text.
fn of_text(text: &str) -> Fallback<'_> {
    match literal(text) {
        Some(text) => Fallback::Literal(text),
        // `?? throw new ...`: the program ends.
        None if text.trim_start().starts_with("throw") => Fallback::None,
        None => Fallback::Made,
    }
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
mod tests;
