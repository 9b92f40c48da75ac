//! JSON, JSON with comments and trailing commas, and JSON5 (`jsonc-parser`).

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::{Contents, Entry, Format, MAX_ENTRIES, Segment, Unreadable};
use crate::position::{Lines, Position};
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str, format: Format) -> Result<Contents, Unreadable> {
    let lines = Lines::new(text);
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let parsed =
        parse_to_ast(text, &collect, &options(format)).map_err(|error| match error.kind() {
            ParseErrorKind::NestingDepthExceeded => Unreadable::too_deep(),
            kind => Unreadable::syntax(lines.at(error.range().start), &kind.to_string()),
        })?;
    let mut contents = Contents::default();
    if let Some(value) = parsed.value {
        flatten(&value, value.start(), &lines, &mut Vec::new(), &mut contents);
    }
    Ok(contents)
}

/// The same as .NET reads it into its configuration: no key may stand twice, in upper or lower case.
/// Source: `JsonConfigurationFileParser`.
pub(super) fn read_once(text: &str) -> Result<Contents, Unreadable> {
    let contents = read(text, Format::Jsonc)?;
    let mut all: Vec<&Entry> = contents.entries.iter().chain(&contents.empties).collect();
    all.sort_by_key(|entry| entry.at);
    let mut first: BTreeMap<String, Position> = BTreeMap::new();
    for entry in all {
        let names = entry.path.iter().map(|segment| match segment {
            Segment::Name(name) => name.to_lowercase(),
            Segment::Index(at) => at.to_string(),
        });
        let before = first.insert(names.collect::<Vec<_>>().join(":"), entry.at);
        let is_group = entry.null && matches!(entry.value.expose(), "{}" | "[]");
        // An empty group takes the value away.
        if let Some(before) = before.filter(|_| !is_group) {
            return Err(Unreadable::repeated(entry.at, before, ".NET"));
        }
    }
    Ok(contents)
}

/// What .NET allows (`JsonCommentHandling.Skip`, `AllowTrailingCommas`), JSON5, or the standard.
fn options(format: Format) -> ParseOptions {
    let (lenient, json5) = (format != Format::Json, format == Format::Json5);
    ParseOptions {
        allow_comments: lenient,
        allow_loose_object_property_names: json5,
        allow_trailing_commas: lenient,
        allow_missing_commas: false,
        allow_single_quoted_strings: json5,
        allow_hexadecimal_numbers: json5,
        allow_unary_plus_numbers: json5,
        allow_bare_decimal_point_numbers: json5,
        allow_non_finite_numbers: json5,
        allow_extended_string_escapes: json5,
    }
}

/// Adds the values below `value`; the parser has bounded the depth.
fn flatten(
    value: &Value<'_>,
    key_at: usize,
    lines: &Lines<'_>,
    path: &mut Vec<Segment>,
    contents: &mut Contents,
) {
    if contents.entries.len() + contents.empties.len() > MAX_ENTRIES {
        return;
    }
    let text = match value {
        Value::Object(object) if object.properties.is_empty() => "{}".to_owned(),
        Value::Array(array) if array.elements.is_empty() => "[]".to_owned(),
        Value::Object(object) => {
            for property in &object.properties {
                path.push(Segment::Name(property.name.as_str().to_owned()));
                flatten(&property.value, property.range.start, lines, path, contents);
                path.pop();
            }
            return;
        }
        Value::Array(array) => {
            for (at, element) in array.elements.iter().enumerate() {
                path.push(Segment::Index(at));
                flatten(element, element.start(), lines, path, contents);
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
    let is_empty = matches!(value, Value::Object(_) | Value::Array(_));
    let entries = if is_empty { &mut contents.empties } else { &mut contents.entries };
    entries.push(Entry {
        path: path.clone(),
        value: Raw::new(text),
        op: Op::Set,
        template: false,
        null: is_empty || matches!(value, Value::NullKeyword(_)),
        retyped: None,
        at: lines.at(key_at),
        end_line: lines.line(value.end()),
        document: 0,
    });
}
