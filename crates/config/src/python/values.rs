//! The values of fields of pydantic: texts, and documents in JSON.

use crate::readers::{Entry, Format, Segment, read};

/// How the reason ends why a value is none that the program takes.
pub(crate) const REFUSED: &str = ": the program does not start";

/// The kind of a field whose text code decodes, and not the library.
pub(super) const UNDECODED: &str = "NoDecode";

/// A value for a key, or why there is none.
type Set = (Vec<Segment>, Result<String, String>);

/// The values that a text sets, each below the key.
pub(super) fn values_of(kind: &str, literals: &[String], is_json: bool, text: &str) -> Vec<Set> {
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
        "bool" => match text.to_lowercase().as_str() {
            "1" | "true" | "t" | "yes" | "y" | "on" => Ok("True".to_owned()),
            "0" | "false" | "f" | "no" | "n" | "off" => Ok("False".to_owned()),
            _ => Err("the value is no truth value: the program does not start".to_owned()),
        },
        "int" => match integer(text) {
            Some(number) => Ok(number),
            None => Err("the value is no integer: the program does not start".to_owned()),
        },
        "float" if !is_number(text) => {
            Err("the value is no number: the program does not start".to_owned())
        }
        _ if !literals.is_empty() && !literals.iter().any(|one| one == text) => {
            let known = literals.join("`, `");
            Err(format!("the value is not one of `{known}`: the program does not start"))
        }
        UNDECODED => Err("the value is decoded by code".to_owned()),
        _ => Ok(text.to_owned()),
    };
    vec![(Vec::new(), value)]
}

/// An integer as pydantic reads it: of any size, with `_` between digits, and with zeros behind a point.
fn integer(text: &str) -> Option<String> {
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, zeros) = rest.split_once('.').unwrap_or((rest, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = whole.split('_').all(is_digits);
    let digits = whole.replace('_', "");
    let digits = digits.trim_start_matches('0');
    let is_zeros = !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0');
    (is_whole && is_zeros).then(|| match digits {
        "" => "0".to_owned(),
        digits => format!("{sign}{digits}"),
    })
}

/// Whether a text is a number as pydantic reads it.
fn is_number(text: &str) -> bool {
    let text = text.trim();
    !text.starts_with('_') && !text.contains("__") && text.replace('_', "").parse::<f64>().is_ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_pydantic_reads_them() {
        // As pydantic 2.14 reads them.
        for (text, number) in [
            ("8080.0", "8080"),
            ("1_000", "1000"),
            ("99999999999999999999", "99999999999999999999"),
            ("+5", "5"),
            (" 7 ", "7"),
            ("07", "7"),
            ("-0", "0"),
        ] {
            assert_eq!(integer(text).as_deref(), Some(number), "{text}");
        }
        for text in ["0x10", "1e3", "1__0", "5.5", "", ".0", "5.", "٣"] {
            assert_eq!(integer(text), None, "{text}");
        }
        for text in ["1e3", "5.", ".0", "1_000", " 7 "] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "0x10", "1__0", "5s"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
