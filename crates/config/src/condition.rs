//! Conditions of documents: Spring's profile expressions.
//!
//! ```text
//! condition  = expression ("," expression)*      one of them must hold
//! expression = operand (("&" operand)* | ("|" operand)*)
//! operand    = "!" operand | "(" expression ")" | NAME
//! ```
//!
//! `&` and `|` side by side need parentheses, as in `org.springframework.core.env.Profiles`.

use crate::profile::{Layer, Profile};
use crate::provenance::ConditionResult;
use crate::readers::Contents;
use crate::resolve::{identity, key_of};

/// The dialect's name.
pub(crate) const DIALECT: &str = "spring-profile";

/// Documents of a source that have a condition, with its text.
pub(crate) fn guarded_documents(
    profile: &Profile,
    layer: &Layer,
    contents: &Contents,
) -> Vec<(u32, String)> {
    let mut guarded: Vec<(u32, String)> = Vec::new();
    for entry in &contents.entries {
        if !is_condition(profile, layer, &key_of(profile, &entry.path)) {
            continue;
        }
        let text = entry.value.expose();
        match guarded.iter_mut().find(|(document, _)| *document == entry.document) {
            Some((_, all)) => all.push_str(&format!(", {text}")),
            None => guarded.push((entry.document, text.to_owned())),
        }
    }
    guarded
}

/// Whether a key of a file is the condition of its document.
pub(crate) fn is_condition(profile: &Profile, layer: &Layer, key: &str) -> bool {
    let key = identity(profile, key);
    let key = key.split('[').next().unwrap_or_default();
    let mut keys = layer.activated_by.iter().flat_map(|by| &by.keys);
    keys.any(|name| identity(profile, name) == key)
}

/// Whether a condition holds for these active profiles.
pub(crate) fn evaluate(text: &str, active: &[String]) -> ConditionResult {
    let mut any = false;
    for expression in text.split(',') {
        let mut parser = Parser { rest: expression.trim(), active, depth: 0 };
        match parser.expression() {
            Some(holds) if parser.rest.is_empty() => any |= holds,
            _ => return ConditionResult::Error,
        }
    }
    if any { ConditionResult::True } else { ConditionResult::False }
}

struct Parser<'a> {
    rest: &'a str,
    active: &'a [String],
    depth: usize,
}

/// Deeper nesting is no condition that a person writes.
const MAX_DEPTH: usize = 64;

impl Parser<'_> {
    fn take(&mut self, symbol: char) -> bool {
        let taken = self.rest.strip_prefix(symbol);
        self.rest = taken.map_or(self.rest, str::trim_start);
        taken.is_some()
    }

    fn expression(&mut self) -> Option<bool> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut holds = self.operand()?;
        let mut used = None;
        while let Some(symbol) = self.rest.chars().next().filter(|c| matches!(c, '&' | '|')) {
            if used.is_some_and(|used| used != symbol) {
                return None;
            }
            used = Some(symbol);
            self.take(symbol);
            let next = self.operand()?;
            holds = if symbol == '&' { holds & next } else { holds | next };
        }
        self.depth -= 1;
        Some(holds)
    }

    fn operand(&mut self) -> Option<bool> {
        if self.take('!') {
            self.depth += 1;
            return if self.depth > MAX_DEPTH { None } else { self.operand().map(|holds| !holds) };
        }
        if self.take('(') {
            let holds = self.expression()?;
            return self.take(')').then_some(holds);
        }
        let end = self.rest.find(['&', '|', '!', '(', ')']);
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let name = name.trim();
        (!name.is_empty()).then(|| self.active.iter().any(|active| active == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated_as_spring_documents_them() {
        let active = ["prod".to_owned(), "eu".to_owned()];
        for (text, expected) in [
            ("prod", ConditionResult::True),
            ("test", ConditionResult::False),
            ("test, prod", ConditionResult::True),
            ("prod & eu", ConditionResult::True),
            ("prod & !eu", ConditionResult::False),
            ("(prod & us) | eu", ConditionResult::True),
            ("!(prod | test)", ConditionResult::False),
            ("prod & us | eu", ConditionResult::Error),
            ("prod &", ConditionResult::Error),
            ("", ConditionResult::Error),
            ("(prod", ConditionResult::Error),
        ] {
            assert_eq!(evaluate(text, &active), expected, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000), &active), ConditionResult::Error);
        assert_eq!(evaluate(&"!".repeat(100_000), &active), ConditionResult::Error);
    }
}
