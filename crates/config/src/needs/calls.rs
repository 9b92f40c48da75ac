//! Calls of code that read a file of variables: `require("dotenv").config({ path: "x", override: true })`.
//!
//! A path is known if it is a text, or is joined from texts and the folder of the file that calls. Else nothing is
//! guessed.

use std::path::Path;

use super::FileUse;
use crate::asks;
use crate::profile::{Asks, Needs};
use crate::python::normal_path;
use crate::sources::Root;

/// What calls read.
pub(super) struct Calls {
    /// The files, the weakest first.
    pub(super) files: Vec<FileUse>,
    /// Calls whose file is not known: where, and whether it beats the environment.
    pub(super) unknown: Vec<(String, bool)>,
    /// Whether there is any code.
    pub(super) has_code: bool,
}

impl Calls {
    /// The calls of the code that a profile searches, else of the files that its needs name.
    pub(super) fn new(needs: &Needs, default: &str, asks: Option<&Asks>, root: &Root) -> Self {
        let files = match asks.filter(|_| root.is_of_this_machine()) {
            Some(asks) => asks::files(asks, root),
            None => needs.code.iter().flat_map(|pattern| root.matching(pattern)).collect(),
        };
        let mut calls =
            Self { files: Vec::new(), unknown: Vec::new(), has_code: !files.is_empty() };
        let mut groups: Vec<Vec<FileUse>> = Vec::new();
        for file in files {
            let Some(bytes) = root.read(Path::new(&file)).bytes else { continue };
            let text = asks::without_comments(&String::from_utf8_lossy(&bytes));
            if !needs.code_words.iter().any(|word| text.contains(word.as_str())) {
                continue;
            }
            let found = calls_of(needs, &text);
            if found.is_empty() {
                groups.push(vec![FileUse { by: file.clone(), ..FileUse::new(default) }]);
            }
            for (line, arguments) in found {
                let by = format!("{file}:{line}");
                match read_by(default, (&file, &by), arguments) {
                    Ok(files) => groups.push(files),
                    Err(beats) => calls.unknown.push((by, beats)),
                }
            }
        }
        calls.add(groups);
        calls
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unknown.is_empty()
    }

    /// Takes the files of all calls. Of two calls that read different files, which is the first is not known.
    fn add(&mut self, groups: Vec<Vec<FileUse>>) {
        let named = |files: &[FileUse]| -> Vec<(String, bool)> {
            files.iter().map(|file| (file.file.clone(), file.beats)).collect()
        };
        let mut kept: Vec<Vec<FileUse>> = Vec::new();
        for group in groups {
            if kept.iter().all(|other| named(other) != named(&group)) {
                kept.push(group);
            }
        }
        let places: Vec<String> =
            kept.iter().filter_map(|group| group.first()).map(|file| file.by.clone()).collect();
        let doubt = match places.as_slice() {
            [_, _, ..] => format!(
                "{} read different files; which comes first is not known",
                places.join(", ")
            ),
            _ => String::new(),
        };
        // What is set stays: the first call is the strongest.
        for mut file in kept.into_iter().rev().flatten() {
            file.doubt.push_str(&doubt);
            self.files.retain(|other| other.file != file.file);
            self.files.push(file);
        }
    }
}

/// The calls of a text, each with its line and its arguments.
fn calls_of<'t>(needs: &Needs, text: &'t str) -> Vec<(usize, &'t str)> {
    let mut found = Vec::new();
    for word in &needs.calls {
        for (at, _) in text.match_indices(word.as_str()) {
            let is_whole =
                !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
            if is_whole {
                let line = text[..at].matches('\n').count() + 1;
                found.push((line, inner(&text[at + word.len()..])));
            }
        }
    }
    found.sort_by_key(|(line, _)| *line);
    found
}

/// What stands before the bracket that closes an open one.
fn inner(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return &text[..at],
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// The files of a call; whether it beats the environment where they are not known.
fn read_by(default: &str, (file, by): (&str, &str), arguments: &str) -> Result<Vec<FileUse>, bool> {
    let arguments = arguments.trim();
    let option = |names: &[&str]| names.iter().find_map(|name| value_of(arguments, name));
    let beats = option(&["override"]).is_some_and(|value| value == "true");
    let is_open = option(&["override"]).is_some_and(|value| !matches!(value, "true" | "false"));
    let is_object = arguments.is_empty() || arguments.starts_with('{');
    let path = match option(&["path", "envFilePath"]) {
        Some(path) => Some(path),
        // `config(options)`; `loadEnvFile("x")`.
        None if !is_object => Some(arguments),
        None => None,
    };
    let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_string_lossy().into_owned();
    let mut names = match path {
        None => vec![default.to_owned()],
        Some(path) => paths(&folder, path).ok_or(beats)?,
    };
    if is_open || arguments.contains("...") {
        return Err(true);
    }
    // Without `override` the first file that sets a variable counts.
    if !beats {
        names.reverse();
    }
    let make = |name: String| FileUse { beats, by: by.to_owned(), ..FileUse::new(&name) };
    Ok(names.into_iter().map(make).collect())
}

/// The value of an option in the text of an object.
fn value_of<'t>(arguments: &'t str, name: &str) -> Option<&'t str> {
    let at = arguments.match_indices(name).find(|(at, _)| {
        let is_start = arguments[..*at].trim_end().ends_with(['{', ',']);
        is_start && arguments[at + name.len()..].trim_start().starts_with([':', ',', '}'])
    })?;
    let rest = arguments[at.0 + name.len()..].trim_start();
    // `{ path }` is a variable of that name.
    let Some(rest) = rest.strip_prefix(':') else {
        return Some(&arguments[at.0..at.0 + name.len()]);
    };
    let value = inner(rest);
    Some(parts(value).first().map_or("", |part| part.trim()))
}

/// The parts between commas outside brackets and strings.
fn parts(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found
}

/// The paths that an expression is; none if code makes one.
fn paths(folder: &str, text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let parts = parts(list).into_iter().filter(|part| !part.trim().is_empty());
        return parts.map(|part| path(folder, part)).collect();
    }
    Some(vec![path(folder, text)?])
}

/// The path below the root that an expression is.
fn path(folder: &str, text: &str) -> Option<String> {
    let text = text.trim();
    let joined = ["path.join(", "path.resolve(", "join(", "resolve("];
    let call = joined.iter().find_map(|start| text.strip_prefix(*start)?.strip_suffix(')'));
    let all = match call {
        Some(arguments) => parts(arguments),
        None => text.split('+').collect(),
    };
    let mut whole = String::new();
    for part in all {
        let part = match part.trim() {
            "__dirname" | "import.meta.dirname" => folder.to_owned(),
            "process.cwd()" => String::new(),
            part => literal(folder, part)?,
        };
        if call.is_some() && !whole.is_empty() {
            whole.push('/');
        }
        whole.push_str(&part);
    }
    let is_absolute =
        whole.starts_with('/') && text.starts_with(['"', '\'', '`']) && !text.contains("__dirname");
    match is_absolute {
        true => Some(whole),
        false => normal_path(whole.trim_start_matches('/')),
    }
}

/// A text, in which the folder of the file may stand: `${__dirname}/x`.
fn literal(folder: &str, text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inner = text[1..].strip_suffix(quote).filter(|inner| !inner.contains(quote))?;
    let inner = match quote {
        '`' => inner.replace("${__dirname}", folder).replace("${process.cwd()}", "."),
        _ => inner.to_owned(),
    };
    (!inner.contains(['\\', '$']) || quote != '`' && !inner.contains('\\')).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_texts_and_folders_are_known() {
        for (text, expected) in [
            ("'.env.local'", Some(vec![".env.local"])),
            ("['.env.local', './.env']", Some(vec![".env.local", ".env"])),
            ("path.join(__dirname, 'cfg', '.env')", Some(vec!["src/cfg/.env"])),
            ("path.resolve(__dirname, '../.env')", Some(vec![".env"])),
            ("path.resolve(process.cwd(), 'x/.env')", Some(vec!["x/.env"])),
            ("__dirname + '/.env'", Some(vec!["src/.env"])),
            ("`${__dirname}/../.env`", Some(vec![".env"])),
            ("`.env.${process.env.NODE_ENV}`", None),
            ("process.env.DOTENV || '.env'", None),
            ("file", None),
            ("path.join(__dirname, '../../.env')", None),
        ] {
            let found = paths("src", text);
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn options_of_a_call_are_read() {
        let of = |arguments: &str| {
            read_by(".env", ("i.js", "i.js:1"), arguments).map(|files| {
                files.into_iter().map(|file| (file.file, file.beats)).collect::<Vec<_>>()
            })
        };
        let one = |file: &str, beats| Ok(vec![(file.to_owned(), beats)]);
        assert_eq!(of(""), one(".env", false));
        assert_eq!(of("{ quiet: true, override: true }"), one(".env", true));
        assert_eq!(of("{ path: 'a/.env' }"), one("a/.env", false));
        assert_eq!(of("{ path }"), Err(false));
        assert_eq!(of("options"), Err(false));
        assert_eq!(of("{ path: make(1, 2), override: true }"), Err(true));
        let two = Ok(vec![("b".to_owned(), false), ("a".to_owned(), false)]);
        assert_eq!(of("{ path: ['a', 'b'] }"), two, "the first is the strongest");
    }
}
