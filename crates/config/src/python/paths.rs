//! Paths that code makes from its own place, below the project's folder.
//!
//! ```text
//! Path(__file__).resolve().parent / ".env"       the folder of the file, and a name
//! os.path.join(os.path.dirname(__file__), "x")   the same in the older form
//! Path("x"), os.getcwd()                         the program is started in the project's folder
//! ```
//!
//! A path that leads out of the project's folder is not known.

use super::expression::{Scope, Value};
use super::token_lists::{called, dotted, split_all};
use super::tokens::Token;

impl Scope<'_> {
    /// The path that an expression is; none if it is something else. What is no path is not evaluated here, because
    /// it is evaluated again then.
    pub(super) fn path(&self, tokens: &[Token], depth: usize) -> Option<Value> {
        if !self.mentions_path(tokens) {
            return None;
        }
        if let [start @ .., Token::Symbol("."), Token::Name(name)] = tokens
            && name == "parent"
            && !start.is_empty()
        {
            return Some(above(self.of(start, depth + 1), 1));
        }
        let (callee, open, inner) = called(tokens)?;
        let arguments = split_all(inner, ",");
        let values = || arguments.iter().map(|one| self.of(one, depth + 1)).collect::<Vec<_>>();
        if open == "[" {
            let [start @ .., Token::Symbol("."), Token::Name(name)] = callee else { return None };
            let number = match arguments.as_slice() {
                [[Token::Number(number)]] if name == "parents" => number.parse::<usize>().ok()?,
                _ => return None,
            };
            return Some(above(self.of(start, depth + 1), number.saturating_add(1)));
        }
        match dotted(callee).as_deref() {
            Some("Path" | "PurePath" | "pathlib.Path") => Some(joined(&values())),
            Some("Path.cwd" | "pathlib.Path.cwd" | "os.getcwd" | "getcwd") => {
                Some(Value::Path(String::new()))
            }
            Some("os.path.join" | "path.join" | "join") => Some(joined(&values())),
            Some("os.path.dirname" | "path.dirname" | "dirname") => {
                Some(above(only_path(values()), 1))
            }
            Some(
                "os.path.abspath" | "path.abspath" | "abspath" | "os.path.realpath" | "realpath"
                | "os.path.normpath" | "normpath" | "os.fspath" | "str",
            ) => Some(only_path(values())),
            _ => self.method_of_path(callee, &values, depth),
        }
    }

    /// Whether an expression has what paths are made from.
    fn mentions_path(&self, tokens: &[Token]) -> bool {
        tokens.iter().any(|token| match token {
            Token::Name(name) => {
                let is_path = matches!(self.names.get(name), Some(Value::Path(_)));
                is_path || matches!(name.as_str(), "__file__" | "Path" | "PurePath" | "getcwd")
            }
            _ => false,
        })
    }

    fn method_of_path(
        &self,
        callee: &[Token],
        arguments: &dyn Fn() -> Vec<Value>,
        depth: usize,
    ) -> Option<Value> {
        let [start @ .., Token::Symbol("."), Token::Name(name)] = callee else { return None };
        match name.as_str() {
            "resolve" | "absolute" | "as_posix" => Some(only_path(vec![self.of(start, depth + 1)])),
            "joinpath" => {
                let mut parts = vec![self.of(start, depth + 1)];
                parts.extend(arguments());
                Some(joined(&parts))
            }
            _ => None,
        }
    }
}

/// The first value, if it is a path.
fn only_path(values: Vec<Value>) -> Value {
    let first = values.into_iter().next();
    first.filter(|value| matches!(value, Value::Path(_))).unwrap_or(Value::Unknown)
}

/// The parts one behind the other; one that is absolute takes the place of those before.
pub(super) fn joined(parts: &[Value]) -> Value {
    let mut path = String::new();
    for part in parts {
        let (Value::Path(part) | Value::Text(part)) = part else { return Value::Unknown };
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    }
    normal(&path).map_or(Value::Unknown, Value::Path)
}

fn above(path: Value, levels: usize) -> Value {
    match path {
        Value::Path(path) => {
            normal(&format!("{path}{}", "/..".repeat(levels))).map_or(Value::Unknown, Value::Path)
        }
        _ => Value::Unknown,
    }
}

/// A path without `.` and `..`; none if it leads out of the folder that it starts in.
pub(crate) fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    Some(format!("{start}{}", parts.join("/")))
}
