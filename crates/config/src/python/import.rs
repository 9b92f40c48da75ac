//! Imports of Python: `from MODULE import NAME as OTHER`, as they are written.

use super::token_lists::is_name;
use super::tokens::Token;

/// The module that `from MODULE import *` names.
pub(super) fn starred(tokens: &[Token]) -> Option<String> {
    let [first, module @ .., import, Token::Symbol("*")] = tokens else { return None };
    (is_name(first, "from") && is_name(import, "import")).then(|| module_name(module)).flatten()
}

/// A module as it is written, with the dots before it.
fn module_name(tokens: &[Token]) -> Option<String> {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Name(name) => text.push_str(name),
            Token::Symbol(symbol @ ("." | "...")) => text.push_str(symbol),
            _ => return None,
        }
    }
    Some(text)
}

/// What `from MODULE import NAME as OTHER` takes.
pub(super) struct Imported {
    /// The module as it is written, with the dots before it.
    pub(super) module: String,
    /// Each name in the module, and what it is called here.
    pub(super) names: Vec<(String, String)>,
}

/// What an import takes by name; none if the statement is another one.
pub(super) fn imported(tokens: &[Token]) -> Option<Imported> {
    let (_, rest) = tokens.split_first().filter(|(first, _)| is_name(first, "from"))?;
    let at = rest.iter().position(|token| is_name(token, "import"))?;
    let is_bracket = |token: &&Token| matches!(token, Token::Symbol("(" | ")"));
    let names: Vec<&Token> = rest[at + 1..].iter().filter(|token| !is_bracket(token)).collect();
    let named = |part: &[&Token]| match part {
        [Token::Name(name)] => Some((name.clone(), name.clone())),
        [Token::Name(name), Token::Name(word), Token::Name(own)] if word == "as" => {
            Some((name.clone(), own.clone()))
        }
        _ => None,
    };
    let parts = names.split(|token| matches!(token, Token::Symbol(",")));
    let parts: Vec<&[&Token]> = parts.filter(|part| !part.is_empty()).collect();
    let names = parts.into_iter().map(named).collect::<Option<Vec<_>>>()?;
    Some(Imported { module: module_name(&rest[..at])?, names })
}
