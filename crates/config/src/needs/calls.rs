//! Calls of code that read a file of variables: `require("dotenv").config({ path: "x", override: true })`.
//!
//! A path is known if it is a text, or is joined from texts, variables that are set and the folder of the file that
//! calls. Else nothing is guessed.

use std::path::Path;

use super::FileUse;
use crate::asks;
use crate::profile::{Asks, Cascade, Needs};
use crate::python::normal_path;
use crate::secret::classify;
use crate::sources::{Request, Root};
use crate::value::{Class, Raw};

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
    pub(super) fn new(
        needs: &Needs,
        default: &str,
        asks: Option<&Asks>,
        (root, request): (&Root, Option<&Request>),
    ) -> Self {
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
            let cascade = needs.cascades.iter().find(|one| text.contains(&one.package));
            for (line, arguments) in found {
                let by = format!("{file}:{line}");
                if let Some(cascade) = cascade {
                    match cascaded(cascade, &by, arguments, request) {
                        Some(mut files) => {
                            let is_there = |name: &str| !root.matching(name).is_empty();
                            files.retain(|one| one.file == default || is_there(&one.file));
                            groups.push(files);
                        }
                        None => calls.unknown.push((by, false)),
                    }
                    continue;
                }
                match read_by(default, (&file, &by), arguments, request) {
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

/// The value of a variable that makes a path, none inside if it is not set; none at all if it is a secret, because
/// paths are shown.
fn set_variable<'r>(request: Option<&'r Request>, name: &str) -> Option<Option<&'r str>> {
    let value = request.and_then(|request| request.variable(name)).map(Raw::expose);
    let value = value.filter(|value| !value.is_empty());
    value.is_none_or(|value| classify(&[name], value).0 == Class::Plain).then_some(value)
}

/// The files that the call of a package with several files reads; none where its options or a variable hide them.
fn cascaded(
    cascade: &Cascade,
    by: &str,
    arguments: &str,
    request: Option<&Request>,
) -> Option<Vec<FileUse>> {
    let arguments = arguments.trim();
    let is_open = !arguments.is_empty() && !arguments.starts_with('{') || arguments.contains("...");
    let is_own = cascade.options.iter().any(|name| value_of(arguments, name).is_some());
    if is_open || is_own {
        return None;
    }
    let value = set_variable(request, &cascade.variable)?;
    let files = cascade.files_for(value).into_iter();
    Some(files.map(|file| FileUse { by: by.to_owned(), ..FileUse::new(&file) }).collect())
}

/// The files of a call; whether it beats the environment where they are not known.
fn read_by(
    default: &str,
    (file, by): (&str, &str),
    arguments: &str,
    request: Option<&Request>,
) -> Result<Vec<FileUse>, bool> {
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
        Some(path) => Paths { folder: &folder, request }.of(path).ok_or(beats)?,
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

/// How a path is made.
struct Paths<'a> {
    /// The folder of the file that calls, below the root.
    folder: &'a str,
    /// Who knows the variables; none: no variable is set.
    request: Option<&'a Request>,
}

impl Paths<'_> {
    /// The paths that an expression is; none if code makes one.
    fn of(&self, text: &str) -> Option<Vec<String>> {
        let text = text.trim();
        if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            let parts = parts(list).into_iter().filter(|part| !part.trim().is_empty());
            return parts.map(|part| self.path(part)).collect();
        }
        Some(vec![self.path(text)?])
    }

    /// The path below the root that an expression is.
    fn path(&self, text: &str) -> Option<String> {
        let text = text.trim();
        let joined = ["path.join(", "path.resolve(", "join(", "resolve("];
        let call = joined.iter().find_map(|start| text.strip_prefix(*start)?.strip_suffix(')'));
        let all = match call {
            Some(arguments) => parts(arguments),
            None => text.split('+').collect(),
        };
        let mut whole = String::new();
        for part in all {
            let part = self.text(part)?;
            if call.is_some() && !whole.is_empty() {
                whole.push('/');
            }
            whole.push_str(&part);
        }
        let is_text = text.starts_with(['"', '\'', '`']) && !text.contains("__dirname");
        match whole.starts_with('/') && is_text {
            true => Some(whole),
            false => normal_path(whole.trim_start_matches('/')),
        }
    }

    /// What a part of a path is.
    fn text(&self, text: &str) -> Option<String> {
        let text = text.trim();
        match text {
            "__dirname" | "import.meta.dirname" => return Some(self.folder.to_owned()),
            "process.cwd()" => return Some(String::new()),
            _ => {}
        }
        let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) else {
            return self.variable(text);
        };
        let inner = text[1..].strip_suffix(quote).filter(|inner| !inner.contains(['\\', quote]))?;
        if quote != '`' {
            return Some(inner.to_owned());
        }
        let mut whole = String::new();
        let mut rest = inner;
        while let Some((before, after)) = rest.split_once("${") {
            let (expression, after) = after.split_once('}')?;
            whole.push_str(before);
            match expression.trim() {
                "process.cwd()" => whole.push('.'),
                expression => whole.push_str(&self.text(expression)?),
            }
            rest = after;
        }
        whole.push_str(rest);
        Some(whole)
    }

    /// The value of a variable, or of the text that counts without it: `(process.env.NODE_ENV || "development")`.
    fn variable(&self, text: &str) -> Option<String> {
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        let text = inner.unwrap_or(text).trim();
        let rest = text.strip_prefix("process.env.")?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let rest = rest.trim_start();
        let for_empty = rest.strip_prefix("||");
        let other = for_empty.or_else(|| rest.strip_prefix("??"));
        if other.is_none() && !rest.is_empty() {
            return None;
        }
        let variable = self.request.and_then(|request| request.variable(name)).map(Raw::expose);
        match set_variable(self.request, name)? {
            // `??` and a variable alone take an empty text as it is.
            None if variable.is_some() && for_empty.is_none() => Some(String::new()),
            Some(value) => Some(value.to_owned()),
            None => self.text(other?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(variables: &[(&str, &str)]) -> Request {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), Raw::new(*value));
        let environment = Some(variables.iter().map(own).collect());
        Request { environment, ..Request::default() }
    }

    #[test]
    fn paths_of_texts_variables_and_folders_are_known() {
        let secret = ("API_TOKEN", "q8Zk2PvW9xLr4TbN");
        let request = request(&[("NODE_ENV", "test"), secret, ("EMPTY", "")]);
        for (text, expected) in [
            ("'.env.local'", Some(vec![".env.local"])),
            ("['.env.local', './.env']", Some(vec![".env.local", ".env"])),
            ("path.join(__dirname, 'cfg', '.env')", Some(vec!["src/cfg/.env"])),
            ("path.resolve(__dirname, '../.env')", Some(vec![".env"])),
            ("path.resolve(process.cwd(), 'x/.env')", Some(vec!["x/.env"])),
            ("__dirname + '/.env'", Some(vec!["src/.env"])),
            ("`${__dirname}/../.env`", Some(vec![".env"])),
            ("`.env.${process.env.NODE_ENV}`", Some(vec![".env.test"])),
            ("'.env.' + process.env.NODE_ENV", Some(vec![".env.test"])),
            ("'.env.' + (process.env.STAGE || 'dev')", Some(vec![".env.dev"])),
            ("`.env.${process.env.STAGE ?? 'dev'}`", Some(vec![".env.dev"])),
            ("`.env.${process.env.EMPTY ?? 'dev'}`", Some(vec![".env."])),
            ("`.env.${process.env.EMPTY || 'dev'}`", Some(vec![".env.dev"])),
            ("`.env${process.env.EMPTY}`", Some(vec![".env"])),
            ("process.env.DOTENV || '.env'", Some(vec![".env"])),
            ("`.env.${process.env.STAGE}`", None),
            ("`.env.${process.env.STAGE || pick()}`", None),
            ("`.env.${stage}`", None),
            ("`.env.${process.env.API_TOKEN}`", None),
            ("file", None),
            ("path.join(__dirname, '../../.env')", None),
        ] {
            let found = Paths { folder: "src", request: Some(&request) }.of(text);
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_package_with_several_files_reads_those_of_the_value() {
        let profiles = crate::profile::stock_profiles().unwrap();
        let needs =
            profiles.iter().flat_map(|one| &one.layers).find_map(|layer| layer.needs.as_ref());
        let cascade = &needs.unwrap().cascades[0];
        let of = |value: &str, arguments: &str| {
            let request = request(&[("NODE_ENV", value)]);
            let files = cascaded(cascade, "i.js:1", arguments, Some(&request))?;
            Some(files.into_iter().map(|file| file.file).collect::<Vec<_>>().join(" "))
        };
        let all = ".env.defaults .env .env.local .env.prod .env.prod.local";
        assert_eq!(of("prod", "").as_deref(), Some(all));
        assert_eq!(of("prod", "{ silent: true }").as_deref(), Some(all));
        assert_eq!(of("test", "").as_deref(), Some(".env.defaults .env .env.test .env.test.local"));
        assert_eq!(of("", "").as_deref(), Some(".env.defaults .env .env.local"));
        assert_eq!(of("prod", "{ path: 'cfg' }"), None);
        assert_eq!(of("prod", "options"), None);
    }

    #[test]
    fn options_of_a_call_are_read() {
        let of = |arguments: &str| {
            read_by(".env", ("i.js", "i.js:1"), arguments, Some(&request(&[]))).map(|files| {
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
