//! Classes of Python as they are written: their bases, fields and options.

use super::dotenv::Variables;
use super::expression::{Scope, Value};
use super::token_lists::{called, dotted, is_name, split_all, split_symbol};
use super::tokens::{Statement, Token};
use super::values::UNDECODED;
use crate::position::Position;

/// A class as it is written.
pub(super) struct Class {
    pub(super) name: String,
    pub(super) bases: Vec<String>,
    pub(super) file: String,
    pub(super) fields: Vec<Written>,
    pub(super) options: Vec<(String, Value)>,
}

/// A field as it is written.
#[derive(Clone)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) kind: String,
    /// The texts that alone are taken, of `Literal["a", "b"]`; empty: any text.
    pub(super) literals: Vec<String>,
    pub(super) default: Option<Value>,
    /// Names of variables instead of the field's.
    pub(super) aliases: Vec<String>,
    /// The class of the default and its arguments: `Sub(a=1)`.
    pub(super) made: Vec<(String, Value)>,
    /// Whether some source must set it. Pydantic 1 has `None` as the default of optional fields.
    pub(super) is_required: bool,
    pub(super) at: Position,
}

/// The classes of a file.
pub(super) fn classes_of(file: &str, found: &[Statement]) -> Vec<Class> {
    let variables = Variables::default();
    let mut scope = Scope::new(file, &variables);
    let mut classes: Vec<Class> = Vec::new();
    // The indentation of the class, of its body, and whether `class Config` is open in it.
    let (mut body, mut inner): (Option<usize>, bool) = (None, false);
    for statement in found {
        let tokens = statement.tokens.as_slice();
        if statement.indent == 0 {
            (body, inner) = (None, false);
            if let Some((name, bases)) = class_head(tokens) {
                let (fields, options) = (Vec::new(), Vec::new());
                classes.push(Class { name, bases, file: file.to_owned(), fields, options });
                body = Some(usize::MAX);
            }
            if let Some(([Token::Name(name)], value)) = split_symbol(tokens, "=")
                && let path @ Value::Path(_) = scope.value(value)
            {
                scope.names.insert(name.clone(), path);
            }
            continue;
        }
        let Some(own) = body else { continue };
        let own = if own == usize::MAX { statement.indent } else { own };
        body = Some(own);
        let Some(class) = classes.last_mut() else { continue };
        if statement.indent == own {
            inner = class_head(tokens).is_some_and(|(name, _)| name == "Config");
            add_member(class, &scope, tokens, statement);
        } else if inner && let Some(([Token::Name(name)], value)) = split_symbol(tokens, "=") {
            class.options.push((name.clone(), scope.value(value)));
        }
    }
    classes
}

fn class_head(tokens: &[Token]) -> Option<(String, Vec<String>)> {
    let [Token::Name(word), Token::Name(name), rest @ ..] = tokens else { return None };
    if word != "class" {
        return None;
    }
    let inner = match rest {
        [Token::Symbol("("), inner @ .., Token::Symbol(")"), Token::Symbol(":")] => inner,
        _ => &[],
    };
    let bases = split_all(inner, ",").into_iter().filter_map(dotted);
    let last = |base: String| base.rsplit('.').next().unwrap_or_default().to_owned();
    Some((name.clone(), bases.map(last).collect()))
}

/// Adds a field, or the options of a class.
fn add_member(class: &mut Class, scope: &Scope<'_>, tokens: &[Token], statement: &Statement) {
    if let Some(([Token::Name(name)], value)) = split_symbol(tokens, "=")
        && name == "model_config"
    {
        let pairs = match (called(value), scope.value(value)) {
            (_, Value::Group(pairs)) => pairs,
            (Some((_, "(", inner)), _) => named_arguments(scope, inner),
            _ => Vec::new(),
        };
        class.options.extend(pairs);
        return;
    }
    let Some(([Token::Name(name)], rest)) = split_symbol(tokens, ":") else { return };
    if matches!(name.as_str(), "class" | "def" | "if" | "else" | "try") || name.starts_with('_') {
        return;
    }
    let (kind, value) = match split_symbol(rest, "=") {
        Some((kind, value)) => (kind, Some(value)),
        None => (rest, None),
    };
    let mut field = Written {
        name: name.clone(),
        kind: kind_of(kind),
        literals: literals_of(kind),
        default: value.map(|value| scope.value(value)),
        aliases: Vec::new(),
        made: Vec::new(),
        is_required: value.is_none() && !is_optional(kind),
        at: statement.at[0],
    };
    if field.kind == "ClassVar" {
        return;
    }
    if let Some((callee, "(", inner)) = value.and_then(called) {
        match dotted(callee).as_deref().and_then(|name| name.rsplit('.').next()) {
            Some("Field") => {
                from_field(&mut field, scope, inner);
                field.is_required &= !is_optional(kind);
            }
            Some(made) if made == field.kind => {
                field.made = named_arguments(scope, inner);
                field.default = None;
            }
            _ => {}
        }
    }
    class.fields.push(field);
}

/// A default and names of variables of `Field(...)`.
fn from_field(field: &mut Written, scope: &Scope<'_>, inner: &[Token]) {
    field.default = None;
    field.is_required = true;
    for argument in split_all(inner, ",") {
        let (name, value) = match split_symbol(argument, "=") {
            Some(([Token::Name(name)], value)) => (name.as_str(), value),
            _ => ("default", argument),
        };
        match name {
            "default" if value != [Token::Symbol("...")] => {
                (field.default, field.is_required) = (Some(scope.value(value)), false);
            }
            "default_factory" => {
                (field.default, field.is_required) = (Some(Value::Unknown), false);
            }
            "alias" | "validation_alias" => {
                let texts: Vec<String> = value
                    .iter()
                    .filter_map(|token| match token {
                        Token::Text(text) => text.clone(),
                        _ => None,
                    })
                    .collect();
                if !texts.is_empty() {
                    field.aliases = texts;
                }
            }
            _ => {}
        }
    }
}

fn is_optional(kind: &[Token]) -> bool {
    kind.iter().any(|token| is_name(token, "Optional") || is_name(token, "None"))
}

/// The texts of `Literal["a", "b"]`, also in `Optional[...]` and beside `None`. Empty where another type is allowed, or
/// where something else than a text stands there.
fn literals_of(tokens: &[Token]) -> Vec<String> {
    let none = [Token::Name("None".to_owned())];
    let parts = split_all(tokens, "|").into_iter();
    let parts: Vec<&[Token]> = parts.filter(|part| *part != none).collect();
    let [part] = parts.as_slice() else { return Vec::new() };
    let Some((callee, "[", inner)) = called(part) else { return Vec::new() };
    match dotted(callee).as_deref().and_then(|name| name.rsplit('.').next()) {
        Some("Optional") => literals_of(inner),
        Some("Literal") => {
            let items = split_all(inner, ",").into_iter().filter(|item| !item.is_empty());
            let text = |item: &[Token]| match item {
                [Token::Text(text)] => text.clone(),
                _ => None,
            };
            items.map(text).collect::<Option<Vec<String>>>().unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn named_arguments(scope: &Scope<'_>, inner: &[Token]) -> Vec<(String, Value)> {
    let arguments = split_all(inner, ",").into_iter();
    let named = arguments.filter_map(|argument| match split_symbol(argument, "=") {
        Some(([Token::Name(name)], value)) => Some((name.clone(), scope.value(value))),
        _ => None,
    });
    named.collect()
}

/// The word of a type that decides how a text is read: without `Optional`, `| None` and parts.
fn kind_of(tokens: &[Token]) -> String {
    let parts = split_all(tokens, "|").into_iter();
    let mut words = parts.filter(|part| *part != [Token::Name("None".to_owned())]);
    let part = words.next().unwrap_or_default();
    match called(part) {
        Some((callee, "[", inner)) => match dotted(callee).unwrap_or_default().rsplit('.').next() {
            Some("Optional") => kind_of(inner),
            Some("Annotated") => {
                let parts = split_all(inner, ",");
                let is_undecoded = parts.iter().skip(1).any(|part| {
                    dotted(part).is_some_and(|word| word.rsplit('.').next() == Some(UNDECODED))
                });
                match is_undecoded {
                    true => UNDECODED.to_owned(),
                    false => kind_of(parts.first().copied().unwrap_or_default()),
                }
            }
            Some(word) => word.to_owned(),
            None => String::new(),
        },
        _ => dotted(part).unwrap_or_default().rsplit('.').next().unwrap_or_default().to_owned(),
    }
}
