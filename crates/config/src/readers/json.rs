//! JSON, and JSON with comments and trailing commas (`jsonc-parser`).

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::{Contents, Entry, MAX_ENTRIES, Segment, Unreadable};
use crate::position::Lines;
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str, lenient: bool) -> Result<Contents, Unreadable> {
    let lines = Lines::new(text);
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let parsed =
        parse_to_ast(text, &collect, &options(lenient)).map_err(|error| match error.kind() {
            ParseErrorKind::NestingDepthExceeded => Unreadable::too_deep(),
            kind => Unreadable::syntax(lines.at(error.range().start), &kind.to_string()),
        })?;
    let mut contents = Contents::default();
    if let Some(value) = parsed.value {
        flatten(&value, value.start(), &lines, &mut Vec::new(), &mut contents.entries);
    }
    Ok(contents)
}

/// What .NET allows (`JsonCommentHandling.Skip`, `AllowTrailingCommas`), or the standard.
fn options(lenient: bool) -> ParseOptions {
    ParseOptions {
        allow_comments: lenient,
        allow_loose_object_property_names: false,
        allow_trailing_commas: lenient,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Adds the values below `value`; the parser has bounded the depth.
fn flatten(
    value: &Value<'_>,
    key_at: usize,
    lines: &Lines<'_>,
    path: &mut Vec<Segment>,
    entries: &mut Vec<Entry>,
) {
    if entries.len() > MAX_ENTRIES {
        return;
    }
    let text = match value {
        Value::Object(object) => {
            for property in &object.properties {
                path.push(Segment::Name(property.name.as_str().to_owned()));
                flatten(&property.value, property.range.start, lines, path, entries);
                path.pop();
            }
            return;
        }
        Value::Array(array) => {
            for (at, element) in array.elements.iter().enumerate() {
                path.push(Segment::Index(at));
                flatten(element, element.start(), lines, path, entries);
                path.pop();
            }
            return;
        }
        Value::StringLit(string) => string.value.to_string(),
        Value::NumberLit(number) => number.value.to_owned(),
        Value::BooleanLit(truth) => truth.value.to_string(),
        Value::NullKeyword(_) => String::new(),
    };
    if path.is_empty() {
        return;
    }
    entries.push(Entry {
        path: path.clone(),
        value: Raw::new(text),
        op: Op::Set,
        template: false,
        null: matches!(value, Value::NullKeyword(_)),
        at: lines.at(key_at),
        end_line: lines.line(value.end()),
        document: 0,
    });
}
