//! Comma-separated values as RFC 4180 has them, with a line of names.

use std::io::{self, Write};

use culprit_query::{Answer, Value};

use super::json::value_json;
use super::{Print, Told};
use crate::failure::Failure;

/// Answers as comma-separated values. A missing value is an empty field, empty text is `""`.
#[derive(Debug, Default)]
pub(crate) struct Csv;

impl Print for Csv {
    fn begin(&mut self, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
        let names = answer.columns().iter().map(|column| quoted(&column.name));
        writeln!(out, "{}", names.collect::<Vec<_>>().join(","))
    }

    fn rows(&mut self, rows: &[Vec<Value>], out: &mut dyn Write) -> io::Result<()> {
        for row in rows {
            writeln!(out, "{}", row.iter().map(field).collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }

    fn end(&mut self, _: Told, _: Option<&Failure>, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => quoted(text),
        Value::List(_) | Value::Record(_) => quoted(&value_json(value).to_string()),
    }
}

fn quoted(text: &str) -> String {
    if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let text = |text: &str| field(&Value::Text(text.to_owned()));
        assert_eq!(text("plain"), "plain");
        assert_eq!(text("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(text(""), "\"\"");
        assert_eq!(field(&Value::Null), "");
        assert_eq!(field(&Value::List(vec![Value::Int(1), Value::Null])), "\"[1,null]\"");
    }
}
