//! The values of Python expressions, as far as they are known without running them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::dotenv::{Found, Variables};
use super::paths::joined;
use super::token_lists::{
    called, closing, dotted, ends_in, has_symbol, has_word, is_name, split_all, split_last_symbol,
    split_symbol, split_word,
};
use super::tokens::Token;
use crate::readers::Segment;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A text.
    Text(String),
    /// An integer or another number, as Python prints it.
    Number(String),
    /// A truth value.
    Truth(bool),
    /// `None`.
    None,
    /// A list or a tuple.
    List(Vec<Value>),
    /// A dictionary whose keys are texts or numbers.
    Group(Vec<(String, Value)>),
    /// A path below the project's folder, which is empty: `Path(__file__).parent`.
    Path(String),
    /// Made by code that is not run.
    Unknown,
}

/// A value below another: where, and its text; none where it is unknown.
pub(super) type Leaf = (Vec<Segment>, Option<String>);

impl Value {
    /// The values without others below them.
    pub(super) fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.add_leaves(&mut Vec::new(), &mut leaves);
        leaves
    }

    fn add_leaves(&self, path: &mut Vec<Segment>, leaves: &mut Vec<Leaf>) {
        let text = match self {
            Self::Text(text) | Self::Number(text) => Some(text.clone()),
            Self::Truth(true) => Some("True".to_owned()),
            Self::Truth(false) => Some("False".to_owned()),
            Self::None => Some("None".to_owned()),
            // Where the project lies on the machine that runs it is not known.
            Self::Unknown | Self::Path(_) => None,
            Self::List(all) if all.is_empty() => Some("[]".to_owned()),
            Self::Group(all) if all.is_empty() => Some("{}".to_owned()),
            Self::List(all) => {
                for (at, value) in all.iter().enumerate() {
                    path.push(Segment::Index(at));
                    value.add_leaves(path, leaves);
                    path.pop();
                }
                return;
            }
            Self::Group(all) => {
                for (name, value) in all {
                    path.push(Segment::Name(name.clone()));
                    value.add_leaves(path, leaves);
                    path.pop();
                }
                return;
            }
        };
        leaves.push((path.clone(), text));
    }

    /// Whether Python takes it for true; none where it is unknown.
    pub(super) fn truth(&self) -> Option<bool> {
        Some(match self {
            Self::Text(text) => !text.is_empty(),
            Self::Number(number) => number.parse::<f64>().ok()? != 0.0,
            Self::Truth(truth) => *truth,
            Self::None => false,
            Self::List(all) => !all.is_empty(),
            Self::Group(all) => !all.is_empty(),
            Self::Path(_) => true,
            Self::Unknown => return None,
        })
    }

    fn is_known(&self) -> bool {
        match self {
            Self::Unknown | Self::Path(_) => false,
            Self::List(all) => all.iter().all(Self::is_known),
            Self::Group(all) => all.iter().all(|(_, value)| value.is_known()),
            _ => true,
        }
    }
}

/// What expressions are evaluated with.
pub(super) struct Scope<'a> {
    /// The file that is run, below the project's folder.
    pub(super) file: String,
    /// The names that are set so far.
    pub(super) names: BTreeMap<String, Value>,
    /// The variables of the process.
    pub(super) variables: &'a Variables<'a>,
    /// The variables that were looked up, and where each is set.
    pub(super) used: RefCell<Vec<(String, Option<String>)>>,
    /// A variable without a value and a default that was looked up: the program ends there.
    pub(super) missing: RefCell<Option<String>>,
}

/// Deeper nesting is no literal that a person writes.
const MAX_DEPTH: usize = 60;

impl<'a> Scope<'a> {
    /// A scope in which no name is set yet.
    pub(super) fn new(file: &str, variables: &'a Variables<'a>) -> Self {
        let (names, used, missing) = (BTreeMap::new(), RefCell::default(), RefCell::default());
        Self { file: file.to_owned(), names, variables, used, missing }
    }
}

impl Scope<'_> {
    /// The value of an expression.
    pub(super) fn value(&self, tokens: &[Token]) -> Value {
        self.of(tokens, 0)
    }

    pub(super) fn of(&self, tokens: &[Token], depth: usize) -> Value {
        if depth > MAX_DEPTH || tokens.is_empty() {
            return Value::Unknown;
        }
        let of = |tokens: &[Token]| self.of(tokens, depth + 1);
        if has_word(tokens, &["lambda", "for", "await", "yield"]) {
            return Value::Unknown;
        }
        if let Some((value, rest)) = split_word(tokens, "if") {
            let Some((condition, other)) = split_word(rest, "else") else { return Value::Unknown };
            return match of(condition).truth() {
                Some(true) => of(value),
                Some(false) => of(other),
                None => Value::Unknown,
            };
        }
        for (word, ends_at) in [("or", true), ("and", false)] {
            if let Some((first, rest)) = split_word(tokens, word) {
                let first = of(first);
                return match first.truth() {
                    Some(truth) if truth == ends_at => first,
                    Some(_) => of(rest),
                    None => Value::Unknown,
                };
            }
        }
        if is_name(&tokens[0], "not") {
            return of(&tokens[1..]).truth().map_or(Value::Unknown, |truth| Value::Truth(!truth));
        }
        self.compared(tokens, depth)
            .or_else(|| self.calculated(tokens, depth))
            .unwrap_or_else(|| self.atom(tokens, depth))
    }

    fn compared(&self, tokens: &[Token], depth: usize) -> Option<Value> {
        let of = |tokens: &[Token]| self.of(tokens, depth + 1);
        for symbol in ["==", "!=", "<", ">", "<=", ">="] {
            if let Some((left, right)) = split_symbol(tokens, symbol) {
                let (left, right) = (of(left), of(right));
                let known = left.is_known() && right.is_known() && same_kind(&left, &right);
                return Some(match symbol {
                    "==" if known => Value::Truth(left == right),
                    "!=" if known => Value::Truth(left != right),
                    _ => Value::Unknown,
                });
            }
        }
        if has_word(tokens, &["is"]) {
            return Some(Value::Unknown);
        }
        let (left, right) = split_word(tokens, "in")?;
        let (left, negated) = match left.split_last() {
            Some((last, rest)) if is_name(last, "not") => (rest, true),
            _ => (left, false),
        };
        let found = match (of(left), of(right)) {
            (Value::Text(part), Value::Text(text)) => text.contains(&part),
            (left, Value::List(all)) if left.is_known() && all.iter().all(Value::is_known) => {
                all.contains(&left)
            }
            _ => return Some(Value::Unknown),
        };
        Some(Value::Truth(found != negated))
    }

    fn calculated(&self, tokens: &[Token], depth: usize) -> Option<Value> {
        let of = |tokens: &[Token]| self.of(tokens, depth + 1);
        if let Some((left, right)) = split_last_symbol(tokens, "+") {
            return Some(match (of(left), of(right)) {
                (Value::Text(a), Value::Text(b)) => Value::Text(a + &b),
                (Value::List(a), Value::List(b)) => Value::List(a.into_iter().chain(b).collect()),
                (Value::Number(a), Value::Number(b)) => number(&a, &b, i64::checked_add),
                _ => Value::Unknown,
            });
        }
        if tokens.len() == 2 && tokens[0] == Token::Symbol("-") {
            return Some(match of(&tokens[1..]) {
                Value::Number(text) => Value::Number(format!("-{text}")),
                _ => Value::Unknown,
            });
        }
        if let Some((left, right)) = split_last_symbol(tokens, "/")
            && let left @ Value::Path(_) = of(left)
        {
            return Some(joined(&[left, of(right)]));
        }
        if has_symbol(
            tokens,
            &["-", "/", "//", "%", "**", "|", "&", "^", "<<", ">>", "~", ":=", "@"],
        ) {
            return Some(Value::Unknown);
        }
        let (left, right) = split_last_symbol(tokens, "*")?;
        Some(match (of(left), of(right)) {
            (Value::Number(a), Value::Number(b)) => number(&a, &b, i64::checked_mul),
            _ => Value::Unknown,
        })
    }

    fn atom(&self, tokens: &[Token], depth: usize) -> Value {
        match tokens {
            [Token::Number(text)] => canonical_number(text),
            [Token::Name(name)] => match name.as_str() {
                "True" => Value::Truth(true),
                "False" => Value::Truth(false),
                "None" => Value::None,
                "__file__" => Value::Path(self.file.clone()),
                name => self.names.get(name).cloned().unwrap_or(Value::Unknown),
            },
            _ if tokens.iter().all(|token| matches!(token, Token::Text(_))) => {
                let texts = tokens.iter().map(|token| match token {
                    Token::Text(text) => text.clone(),
                    _ => None,
                });
                texts.collect::<Option<String>>().map_or(Value::Unknown, Value::Text)
            }
            [Token::Symbol(open @ ("(" | "[" | "{")), .., Token::Symbol(_)]
                if closing(tokens, 0) == Some(tokens.len() - 1) =>
            {
                self.display(open, &tokens[1..tokens.len() - 1], depth)
            }
            _ => self.path(tokens, depth).unwrap_or_else(|| self.call(tokens, depth)),
        }
    }

    /// What stands in brackets.
    fn display(&self, open: &str, inner: &[Token], depth: usize) -> Value {
        let parts = split_all(inner, ",");
        // `[x for x in ...]` is as many values as its loop makes.
        if parts.iter().any(|part| has_word(part, &["for"])) {
            return Value::Unknown;
        }
        match open {
            "(" if parts.len() == 1 && !inner.is_empty() && !ends_in(inner, ",") => {
                self.of(inner, depth + 1)
            }
            "{" => {
                let pair = |part: &&[Token]| {
                    let (key, value) = split_symbol(part, ":")?;
                    match self.of(key, depth + 1) {
                        Value::Text(key) | Value::Number(key) => {
                            Some((key, self.of(value, depth + 1)))
                        }
                        _ => None,
                    }
                };
                let pairs = parts.iter().map(pair).collect::<Option<Vec<_>>>();
                pairs.map_or(Value::Unknown, |pairs| Value::Group(without_earlier(pairs)))
            }
            _ if parts.iter().any(|part| part.first() == Some(&Token::Symbol("*"))) => {
                Value::Unknown
            }
            _ => Value::List(parts.iter().map(|part| self.of(part, depth + 1)).collect()),
        }
    }

    fn call(&self, tokens: &[Token], depth: usize) -> Value {
        let Some((callee, open, inner)) = called(tokens) else { return Value::Unknown };
        let words = dotted(callee);
        let arguments = split_all(inner, ",");
        let of = |at: usize| arguments.get(at).map(|tokens| self.of(tokens, depth + 1));
        match (words.as_deref(), open) {
            (Some("os.environ.get" | "environ.get" | "os.getenv" | "getenv"), "(") => {
                let default = match arguments.get(1) {
                    Some([Token::Name(_), Token::Symbol("="), rest @ ..]) => {
                        self.of(rest, depth + 1)
                    }
                    Some(tokens) => self.of(tokens, depth + 1),
                    None => Value::None,
                };
                self.variable(of(0), Some(default))
            }
            (Some("os.environ" | "environ"), "[") => self.variable(of(0), None),
            (Some(kind @ ("int" | "float" | "str" | "bool" | "list" | "tuple")), "(")
                if arguments.len() == 1 =>
            {
                of(0).map_or(Value::Unknown, |value| converted(kind, value))
            }
            _ => self.method(callee, open, &arguments, depth),
        }
    }

    fn method(&self, callee: &[Token], open: &str, arguments: &[&[Token]], depth: usize) -> Value {
        let [start @ .., Token::Symbol("."), Token::Name(name)] = callee else {
            return Value::Unknown;
        };
        if open != "(" || start.is_empty() {
            return Value::Unknown;
        }
        let Value::Text(text) = self.of(start, depth + 1) else { return Value::Unknown };
        match (name.as_str(), arguments) {
            ("lower", []) => Value::Text(text.to_lowercase()),
            ("upper", []) => Value::Text(text.to_uppercase()),
            ("strip", []) => Value::Text(text.trim().to_owned()),
            ("split", [by]) => match self.of(by, depth + 1) {
                Value::Text(by) if !by.is_empty() => {
                    Value::List(text.split(&by).map(|part| Value::Text(part.to_owned())).collect())
                }
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    /// The variable whose text an expression is, where its default is a truth value: `os.getenv("DEBUG", False)`.
    /// So the program takes the text for a truth value.
    pub(super) fn text_for_truth(&self, tokens: &[Token]) -> Option<(String, String)> {
        let (callee, "(", inner) = called(tokens)? else { return None };
        let name = dotted(callee)?;
        // `bool("False")` is true, too.
        let (call, is_converted) = match name.as_str() {
            "bool" => (inner, true),
            _ => (tokens, false),
        };
        let (callee, "(", inner) = called(call)? else { return None };
        let name = dotted(callee)?;
        if !matches!(name.as_str(), "os.environ.get" | "environ.get" | "os.getenv" | "getenv") {
            return None;
        }
        let arguments = split_all(inner, ",");
        let default = match arguments.get(1) {
            Some([Token::Name(_), Token::Symbol("="), rest @ ..]) => self.value(rest),
            Some(tokens) => self.value(tokens),
            None => Value::None,
        };
        let Value::Text(name) = self.value(arguments.first()?) else { return None };
        match (default, self.value(call)) {
            (Value::Truth(_), Value::Text(text)) => Some((name, text)),
            (_, Value::Text(text)) if is_converted => Some((name, text)),
            _ => None,
        }
    }

    /// The value of a variable; without one, the default.
    fn variable(&self, name: Option<Value>, default: Option<Value>) -> Value {
        let Some(Value::Text(name)) = name else { return Value::Unknown };
        let (value, place) = match self.variables.get(&name) {
            Found::Set(text, place) => (Some(text), Some(place)),
            Found::NotSet => (None, None),
            Found::NotKnown => return Value::Unknown,
        };
        self.used.borrow_mut().push((name.clone(), place));
        match (value, default) {
            (Some(text), _) => Value::Text(text),
            (None, Some(default)) => default,
            (None, None) => {
                self.missing.borrow_mut().get_or_insert(name);
                Value::Unknown
            }
        }
    }
}

fn same_kind(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
        || matches!((a, b), (Value::None | Value::Text(_), Value::None | Value::Text(_)))
}

/// An integer in decimal digits; other numbers only where Python prints them as they are written.
fn canonical_number(text: &str) -> Value {
    if let Ok(number) = text.parse::<i64>() {
        return Value::Number(number.to_string());
    }
    let is_plain = text.split_once('.').is_some_and(|(whole, part)| {
        let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let canonical = whole == "0" || !whole.starts_with('0');
        let short = whole.len() + part.len() < 15 && (part == "0" || !part.ends_with('0'));
        digits(whole) && digits(part) && canonical && short && !part.starts_with("0000")
    });
    if is_plain { Value::Number(text.to_owned()) } else { Value::Unknown }
}

fn number(a: &str, b: &str, of: fn(i64, i64) -> Option<i64>) -> Value {
    let numbers = a.parse::<i64>().ok().zip(b.parse::<i64>().ok());
    let result = numbers.and_then(|(a, b)| of(a, b));
    result.map_or(Value::Unknown, |number| Value::Number(number.to_string()))
}

fn converted(kind: &str, value: Value) -> Value {
    match (kind, value) {
        ("bool", value) => value.truth().map_or(Value::Unknown, Value::Truth),
        ("int", Value::Text(text)) => {
            let number = text.trim().parse::<i64>();
            number.map_or(Value::Unknown, |number| Value::Number(number.to_string()))
        }
        ("int", Value::Number(text)) if text.parse::<i64>().is_ok() => Value::Number(text),
        ("int", Value::Truth(truth)) => Value::Number(i32::from(truth).to_string()),
        ("float", Value::Text(text)) => canonical_number(text.trim()),
        ("float", Value::Number(text)) if text.contains('.') => Value::Number(text),
        ("str", Value::Text(text) | Value::Number(text)) => Value::Text(text),
        ("list" | "tuple", Value::List(all)) => Value::List(all),
        _ => Value::Unknown,
    }
}

/// Pairs of a dictionary: the last one of a name counts, at the place of the first.
fn without_earlier(pairs: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let mut kept: Vec<(String, Value)> = Vec::new();
    for (name, value) in pairs {
        match kept.iter_mut().find(|(other, _)| *other == name) {
            Some(other) => other.1 = value,
            None => kept.push((name, value)),
        }
    }
    kept
}
