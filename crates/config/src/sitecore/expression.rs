//! Expressions of `require`: words, `!`, `&` or `and`, `|` or `or`, parentheses.
//!
//! There is no precedence: `a|b&c` is `(a|b)&c`. After an operator, `!` starts an expression that takes
//! all that follows: `a&!b|c` is `a&((!b)|c)`. What is left after an expression is ignored. (Parser.cs
//! and Tokenizer.cs of the Configuration-Roles module.)

use crate::provenance::ConditionResult;

/// Deeper nesting is no condition that a person writes.
const MAX_DEPTH: usize = 64;

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expression {
    /// `true` or `false`.
    Constant(bool),
    /// Whether the word is among the values of the rule, in lower case.
    Word(String),
    /// The opposite.
    Not(Box<Self>),
    /// Both.
    And(Box<Self>, Box<Self>),
    /// One of them.
    Or(Box<Self>, Box<Self>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Not,
    And,
    Or,
    Open,
    Close,
}

impl Expression {
    /// Parses a text; none if the program refuses it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
        parser.expression()
    }

    /// Whether it holds for these values, which are in lower case.
    pub(crate) fn holds(&self, values: &[String]) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Word(word) => values.contains(word),
            Self::Not(one) => !one.holds(values),
            Self::And(one, other) => one.holds(values) && other.holds(values),
            Self::Or(one, other) => one.holds(values) || other.holds(values),
        }
    }

    /// Its words, each once, in their order.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        self.add_words(&mut words);
        words
    }

    fn add_words(&self, words: &mut Vec<String>) {
        match self {
            Self::Constant(_) => {}
            Self::Word(word) if words.contains(word) => {}
            Self::Word(word) => words.push(word.clone()),
            Self::Not(one) => one.add_words(words),
            Self::And(one, other) | Self::Or(one, other) => {
                one.add_words(words);
                other.add_words(words);
            }
        }
    }

    /// How it is understood, with all parentheses.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Constant(value) => value.to_string(),
            Self::Word(word) => word.clone(),
            Self::Not(one) => format!("not {}", one.operand()),
            Self::And(one, other) => format!("{} and {}", one.operand(), other.operand()),
            Self::Or(one, other) => format!("{} or {}", one.operand(), other.operand()),
        }
    }

    fn operand(&self) -> String {
        match self {
            Self::And(..) | Self::Or(..) => format!("({})", self.describe()),
            _ => self.describe(),
        }
    }
}

/// What a text is for the values of a rule.
pub(crate) fn evaluate(text: &str, values: &[String]) -> ConditionResult {
    match Expression::parse(text) {
        // A word that is no keyword is looked for among values; without any, it is refused.
        Some(expression) if values.is_empty() && !expression.words().is_empty() => {
            ConditionResult::Error
        }
        Some(expression) if expression.holds(values) => ConditionResult::True,
        Some(_) => ConditionResult::False,
        None => ConditionResult::Error,
    }
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '!' | '&' | '|' | '(' | ')' => 1,
            c if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            _ => return None,
        };
        let (word, next) = rest.split_at(length);
        tokens.push(match word.to_lowercase().as_str() {
            "!" => Token::Not,
            "&" | "and" => Token::And,
            "|" | "or" => Token::Or,
            "(" => Token::Open,
            ")" => Token::Close,
            word => Token::Word(word.to_owned()),
        });
        rest = next.trim_start();
    }
    Some(tokens)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn current(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn expression(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.current()?;
        let is_negated = self.current() == Some(&Token::Not);
        if is_negated {
            self.at += 1;
        }
        let mut one = self.operand()?;
        if is_negated {
            one = Expression::Not(Box::new(one));
        }
        while let Some(operator) = self.current().filter(|t| matches!(t, Token::And | Token::Or)) {
            let is_and = *operator == Token::And;
            self.at += 1;
            self.current()?;
            let other = Box::new(self.operand()?);
            one = match is_and {
                true => Expression::And(Box::new(one), other),
                false => Expression::Or(Box::new(one), other),
            };
        }
        self.depth -= 1;
        Some(one)
    }

    fn operand(&mut self) -> Option<Expression> {
        match self.current()?.clone() {
            Token::Word(word) => {
                self.at += 1;
                Some(match word.as_str() {
                    "true" => Expression::Constant(true),
                    "false" => Expression::Constant(false),
                    _ => Expression::Word(word),
                })
            }
            Token::Open => {
                self.at += 1;
                let inner = self.expression()?;
                let closes = self.current() == Some(&Token::Close);
                self.at += 1;
                closes.then_some(inner)
            }
            Token::Close => None,
            // `!` after an operator, or an operator without an operand: an expression of its own.
            _ => self.expression(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &[&str]) -> Vec<String> {
        list.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn there_is_no_precedence_and_a_later_negation_takes_the_rest() {
        for (text, meaning) in [
            ("a|b&c", "(a or b) and c"),
            ("a or b AND c", "(a or b) and c"),
            ("!a&b", "not a and b"),
            ("a&!b|c", "a and (not b or c)"),
            ("!(a|b)", "not (a or b)"),
            ("a b", "a"),
            ("Content-Delivery_1/x.y", "content-delivery_1/x.y"),
            ("true & a", "true and a"),
        ] {
            assert_eq!(Expression::parse(text).unwrap().describe(), meaning, "{text}");
        }
        for wrong in ["", "a &", "(a", "a, b", "a;b", ")", "& a", "a$"] {
            assert_eq!(Expression::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Expression::parse(&"(".repeat(100_000)), None);
        assert_eq!(Expression::parse(&"!".repeat(100_000)), None);
    }

    #[test]
    fn words_are_compared_without_case_and_need_some_value() {
        let both = values(&["delivery", "web"]);
        assert_eq!(evaluate("Delivery", &both), ConditionResult::True);
        assert_eq!(evaluate("!Delivery", &both), ConditionResult::False);
        assert_eq!(evaluate("Delivery", &[]), ConditionResult::Error);
        assert_eq!(evaluate("true", &[]), ConditionResult::True);
        assert_eq!(evaluate("Production", &values(&[""])), ConditionResult::False);
    }
}
