//! Variables of the process: those of the environment, and those that code reads from a file.
//!
//! `load_dotenv` of python-dotenv and `read_env` of django-environ change the variables of the process. Which
//! file they take is known if the call names none, or names it by a text. Else nothing is guessed: variables
//! that the environment does not have are unknown from there on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;

use super::expression::{Scope, Value};
use super::token_lists::{called, dotted, is_name, split_all, split_symbol};
use super::tokens::Token;
use super::values::interpolated;
use crate::readers::{Contents, Segment};
use crate::sources::Request;

/// What is known of a variable.
pub(super) enum Found {
    /// Its value and where it is set: empty for the environment.
    Set(String, String),
    /// It is not set.
    NotSet,
    /// Whether it is set is not known.
    NotKnown,
}

/// The variables of the process.
#[derive(Default)]
pub(super) struct Variables<'a> {
    /// The request with the environment; none: nothing is known.
    request: Option<&'a Request>,
    /// What files set: value and place. The flag says that it beats the environment.
    loaded: RefCell<BTreeMap<String, (String, String, bool)>>,
    /// Whether a file was loaded that is not known.
    is_open: Cell<bool>,
    /// The variables that were asked for.
    asked: RefCell<BTreeMap<String, String>>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        Self { request: Some(request), ..Self::default() }
    }

    fn of_environment(&self, name: &str) -> Option<String> {
        Some(self.request?.variable(name)?.expose().to_owned())
    }

    pub(super) fn get(&self, name: &str) -> Found {
        self.asked.borrow_mut().entry(name.to_owned()).or_default();
        let loaded = self.loaded.borrow();
        let of_file = loaded.get(name);
        let own = self.of_environment(name).filter(|_| of_file.is_none_or(|found| !found.2));
        match (own, of_file) {
            (Some(text), _) => Found::Set(text, String::new()),
            (None, Some((text, place, _))) => Found::Set(text.clone(), place.clone()),
            (None, None) if self.is_open.get() => Found::NotKnown,
            (None, None) if self.request.is_some_and(|request| request.environment.is_some()) => {
                Found::NotSet
            }
            (None, None) => Found::NotKnown,
        }
    }

    /// Notes which key is made from a variable.
    pub(super) fn sets(&self, variable: &str, key: &str) {
        self.asked.borrow_mut().insert(variable.to_owned(), key.to_owned());
    }

    /// The variables that were asked for, each with a key that is made from it; none is an empty text.
    pub(super) fn asked(&self) -> BTreeMap<String, String> {
        self.asked.borrow().clone()
    }

    /// Whether a file beats the environment.
    pub(super) fn beat_environment(&self) -> bool {
        self.loaded.borrow().values().any(|(_, _, beats)| *beats)
    }

    /// From here on a variable that the environment does not have may be set.
    pub(super) fn open(&self) {
        self.is_open.set(true);
    }

    /// Takes the variables of a file. One that is set already stays, unless the file beats it.
    pub(super) fn take(&self, file: &str, contents: &Contents, beats: bool) {
        for entry in contents.entries.iter().filter(|entry| !entry.null) {
            let Some(Segment::Name(name)) = entry.path.first() else { continue };
            let text = interpolated(entry.value.expose(), &|name| {
                let of_file = self.loaded.borrow().get(name).map(|(text, ..)| text.clone());
                if beats {
                    of_file.or_else(|| self.of_environment(name))
                } else {
                    self.of_environment(name).or(of_file)
                }
            });
            let place = format!("{file}:{}", entry.at.line);
            let mut loaded = self.loaded.borrow_mut();
            // Of two lines of one file the later one counts.
            let is_free = |(_, place, _): &(String, String, bool)| {
                place.rsplit_once(':').is_some_and(|(other, _)| other == file)
            };
            if beats || loaded.get(name).is_none_or(is_free) {
                loaded.insert(name.clone(), (text, place, beats));
            }
        }
    }
}

/// A call that reads a file of variables.
pub(super) struct Call {
    /// The file below the folder of the program; none if it is not known.
    pub(super) path: Where,
    /// Whether its variables beat those of the environment.
    pub(super) beats: bool,
}

/// Which file a call takes.
pub(super) enum Where {
    /// `.env` in the folder of the file that calls, or in one above it if the flag says so.
    Beside(bool),
    /// A path below the project's folder.
    Root(String),
    /// Code makes the path.
    Unknown,
}

/// The call that a statement is; none if it reads no file of variables.
pub(super) fn call(tokens: &[Token], scope: &Scope<'_>) -> Option<Call> {
    let (callee, "(", arguments) = called(tokens)? else { return None };
    let name = dotted(callee)?;
    let name = name.rsplit('.').next()?;
    let searches = match name {
        "load_dotenv" => true,
        "read_env" => false,
        _ => return None,
    };
    let (mut path, mut beats) = (Where::Beside(searches), false);
    for argument in split_all(arguments, ",") {
        match split_symbol(argument, "=") {
            Some(([Token::Name(name)], value))
                if matches!(name.as_str(), "override" | "overwrite") =>
            {
                beats = value.iter().any(|token| is_name(token, "True"));
            }
            Some(([Token::Name(name)], value))
                if matches!(name.as_str(), "dotenv_path" | "env_file") =>
            {
                path = path_of(value, scope);
            }
            Some(_) => {}
            None if argument.is_empty() => {}
            None => path = path_of(argument, scope),
        }
    }
    Some(Call { path, beats })
}

fn path_of(tokens: &[Token], scope: &Scope<'_>) -> Where {
    // `load_dotenv(find_dotenv())` is `load_dotenv()`.
    if tokens.iter().any(|token| is_name(token, "find_dotenv")) {
        return Where::Beside(true);
    }
    match scope.value(tokens) {
        Value::Path(path) | Value::Text(path) => Where::Root(path),
        _ => Where::Unknown,
    }
}

/// The folders that a call looks into, for a file that calls.
pub(super) fn candidates(call: &Call, file: &str) -> Vec<String> {
    let below = |folder: &Path, name: &str| folder.join(name).to_string_lossy().into_owned();
    let above = Path::new(file).ancestors().skip(1);
    match &call.path {
        Where::Beside(true) => above.map(|folder| below(folder, ".env")).collect(),
        Where::Beside(false) => above.take(1).map(|folder| below(folder, ".env")).collect(),
        Where::Root(name) => vec![name.clone()],
        Where::Unknown => Vec::new(),
    }
}
