//! Typed parameters of a question: `:name` in its text becomes a literal.
//!
//! Engines differ in how they bind parameters, and some cannot bind a list or a column. A literal
//! is the same for all, so the text that one engine runs can be run by any other.

use crate::error::Error;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// A whole number.
    Int(i64),
    /// A fraction.
    Float(f64),
    /// A text.
    Text(String),
    /// No value.
    Null,
    /// A column or another part of the text; never from outside of the program.
    Part(&'static str),
    /// Numbers, for `IN (:name)`; of none, nothing is in.
    Ints(Vec<i64>),
    /// A number that changes with a column: below each bound its value, after all of them the last.
    Steps {
        /// The column, or another part of the text.
        column: &'static str,
        /// Bounds in rising order, each with the value below it.
        below: Vec<(i64, i64)>,
        /// The value from the last bound on.
        last: i64,
    },
}

impl Parameter {
    fn literal(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            // A fraction without a point would be a whole number, and divide as one.
            Self::Float(value) => format!("CAST({value:?} AS DOUBLE)"),
            Self::Text(value) => format!("'{}'", value.replace('\'', "''")),
            Self::Null => "NULL".to_owned(),
            Self::Part(text) => (*text).to_owned(),
            Self::Ints(values) if values.is_empty() => "NULL".to_owned(),
            Self::Ints(values) => {
                values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            }
            Self::Steps { below, last, .. } if below.is_empty() => last.to_string(),
            Self::Steps { column, below, last } => {
                let when =
                    |(bound, value): &(i64, i64)| format!(" WHEN {column} < {bound} THEN {value}");
                let cases: String = below.iter().map(when).collect();
                format!("CASE{cases} ELSE {last} END")
            }
        }
    }
}

/// The text with every `:name` replaced. Texts in quotes and comments stay as they are.
///
/// # Errors
/// When a parameter of the text has no value.
pub fn with_parameters(sql: &str, values: &[(&str, Parameter)]) -> Result<String, Error> {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find([':', '\'', '-']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match rest.as_bytes() {
            [b'\'', ..] => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            [b'-', b'-', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b':', after, ..] if after.is_ascii_alphabetic() => {
                let part = |c: char| !c.is_ascii_alphanumeric() && c != '_';
                let end = rest[1..].find(part).map_or(rest.len(), |end| end + 1);
                let name = &rest[1..end];
                let value = values.iter().find(|(known, _)| *known == name);
                let Some((_, value)) = value else {
                    let why = format!("its parameter `{name}` has no value");
                    return Err(Error::Plan { why });
                };
                out.push_str(&value.literal());
                rest = &rest[end..];
                continue;
            }
            _ => 1,
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_literals_and_cannot_leave_them() {
        let text = "SELECT :a, ':a' -- :a\nFROM t WHERE x = :text AND y - :b < :n AND z IN (:z) \
                    AND w IN (:none) AND :steps";
        let values = [
            ("a", Parameter::Int(-3)),
            ("b", Parameter::Float(2.0)),
            ("n", Parameter::Null),
            ("none", Parameter::Ints(Vec::new())),
            ("steps", Parameter::Steps { column: "t", below: vec![(5, 1)], last: 2 }),
            ("text", Parameter::Text("'; DROP TABLE x; --:a".to_owned())),
            ("z", Parameter::Ints(vec![1, 2])),
        ];
        let expected = "SELECT -3, ':a' -- :a\nFROM t WHERE x = \
            \x27\x27\x27; DROP TABLE x; --:a\x27 AND y - CAST(2.0 AS DOUBLE) < NULL AND z IN \
            (1, 2) AND w IN (NULL) AND CASE WHEN t < 5 THEN 1 ELSE 2 END";
        assert_eq!(with_parameters(text, &values).unwrap(), expected);
    }

    #[test]
    fn a_parameter_without_a_value_is_an_error() {
        let error = with_parameters("SELECT :missing", &[]).unwrap_err();
        assert!(error.to_string().contains("`missing`"), "{error}");
    }
}
