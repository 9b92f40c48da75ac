//! The values of fields of pydantic: texts, and documents in JSON.

use crate::readers::{Entry, Format, Segment, read};

/// How the reason ends why a value is none that the program takes.
pub(crate) const REFUSED: &str = ": the program does not start";

/// A value for a key, or why there is none.
type Set = (Vec<Segment>, Result<String, String>);

/// The values that a text sets, each below the key.
pub(super) fn values_of(kind: &str, is_json: bool, text: &str) -> Vec<Set> {
    if is_json {
        let wrapped = format!("{{\"v\":{text}\n}}");
        return match read(Format::Json, wrapped.as_bytes()) {
            Ok(found) => {
                let entries = found.entries.into_iter().chain(found.empties);
                entries.map(|entry| (entry.path[1..].to_vec(), Ok(as_python(&entry)))).collect()
            }
            Err(_) => vec![(
                Vec::new(),
                Err("the value is no JSON: the program does not start".to_owned()),
            )],
        };
    }
    let value = match kind {
        "bool" => match text.trim().to_lowercase().as_str() {
            "1" | "true" | "t" | "yes" | "y" | "on" => Ok("True".to_owned()),
            "0" | "false" | "f" | "no" | "n" | "off" => Ok("False".to_owned()),
            _ => Err("the value is no truth value: the program does not start".to_owned()),
        },
        "int" => match text.trim().parse::<i64>() {
            Ok(number) => Ok(number.to_string()),
            Err(_) => Err("the value is no integer: the program does not start".to_owned()),
        },
        _ => Ok(text.to_owned()),
    };
    vec![(Vec::new(), value)]
}

/// A value of JSON as Python prints it.
fn as_python(entry: &Entry) -> String {
    match entry.value.expose() {
        "" if entry.null => "None".to_owned(),
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        text => text.to_owned(),
    }
}

/// `${NAME}` and `${NAME:-default}` replaced, as python-dotenv does.
pub(super) fn interpolated(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let Some(end) = rest[at..].find('}') else { break };
        let inner = &rest[at + 2..at + end];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, default),
            None => (inner, ""),
        };
        replaced.push_str(&rest[..at]);
        if name.contains(':') {
            replaced.push_str(&rest[at..=at + end]);
        } else {
            replaced.push_str(&lookup(name).unwrap_or_else(|| default.to_owned()));
        }
        rest = &rest[at + end + 1..];
    }
    replaced + rest
}
