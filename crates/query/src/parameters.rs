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
    /// Rows of numbers, for `VALUES`; at least one.
    Rows(Vec<Vec<i64>>),
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
            Self::Rows(rows) => {
                let row = |row: &Vec<i64>| {
                    let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
                    format!("({})", cells.join(", "))
                };
                rows.iter().map(row).collect::<Vec<_>>().join(", ")
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
        let text = "SELECT :a, ':a' -- :a\nFROM (VALUES :rows) t WHERE x = :text AND y - :b < :n";
        let values = [
            ("a", Parameter::Int(-3)),
            ("b", Parameter::Float(2.0)),
            ("n", Parameter::Null),
            ("rows", Parameter::Rows(vec![vec![1, 2], vec![3, 4]])),
            ("text", Parameter::Text("'; DROP TABLE x; --:a".to_owned())),
        ];
        assert_eq!(
            with_parameters(text, &values).unwrap(),
            "SELECT -3, ':a' -- :a\nFROM (VALUES (1, 2), (3, 4)) t WHERE x = '''; DROP TABLE x; \
             --:a' AND y - CAST(2.0 AS DOUBLE) < NULL"
        );
    }

    #[test]
    fn a_parameter_without_a_value_is_an_error() {
        let error = with_parameters("SELECT :missing", &[]).unwrap_err();
        assert!(error.to_string().contains("`missing`"), "{error}");
    }
}
