//! Parts of a list of tokens: what stands outside brackets, between symbols, and within a call.

use super::tokens::Token;

pub(super) fn is_name(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Name(name) if name == wanted)
}

pub(super) fn ends_in(tokens: &[Token], symbol: &str) -> bool {
    matches!(tokens.last(), Some(Token::Symbol(last)) if *last == symbol)
}

/// The places of tokens outside brackets.
fn top_level(tokens: &[Token]) -> impl Iterator<Item = (usize, &Token)> {
    let mut depth = 0_i32;
    tokens.iter().enumerate().filter(move |(_, token)| match token {
        Token::Symbol("(" | "[" | "{") => {
            depth += 1;
            false
        }
        Token::Symbol(")" | "]" | "}") => {
            depth -= 1;
            false
        }
        _ => depth == 0,
    })
}

pub(super) fn has_word(tokens: &[Token], words: &[&str]) -> bool {
    top_level(tokens).any(|(_, token)| words.iter().any(|word| is_name(token, word)))
}

pub(super) fn has_symbol(tokens: &[Token], symbols: &[&str]) -> bool {
    top_level(tokens).any(|(_, token)| matches!(token, Token::Symbol(s) if symbols.contains(s)))
}

pub(super) fn split_word<'t>(
    tokens: &'t [Token],
    word: &str,
) -> Option<(&'t [Token], &'t [Token])> {
    let (at, _) = top_level(tokens).find(|(_, token)| is_name(token, word))?;
    Some((&tokens[..at], &tokens[at + 1..]))
}

/// What stands before and behind the first symbol of a kind outside brackets.
pub(super) fn split_symbol<'t>(
    tokens: &'t [Token],
    symbol: &str,
) -> Option<(&'t [Token], &'t [Token])> {
    let (at, _) =
        top_level(tokens).find(|(_, token)| matches!(token, Token::Symbol(s) if *s == symbol))?;
    Some((&tokens[..at], &tokens[at + 1..]))
}

pub(super) fn split_last_symbol<'t>(
    tokens: &'t [Token],
    symbol: &str,
) -> Option<(&'t [Token], &'t [Token])> {
    let found =
        top_level(tokens).filter(|(_, token)| matches!(token, Token::Symbol(s) if *s == symbol));
    let (at, _) = found.last()?;
    (at > 0).then(|| (&tokens[..at], &tokens[at + 1..]))
}

/// The parts between symbols outside brackets; an empty last part is left out.
pub(super) fn split_all<'t>(tokens: &'t [Token], symbol: &str) -> Vec<&'t [Token]> {
    let mut parts = Vec::new();
    let mut rest = tokens;
    while let Some((part, after)) = split_symbol(rest, symbol) {
        parts.push(part);
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

/// The place of the bracket that closes the one at a place.
pub(super) fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Symbol("(" | "[" | "{") => depth += 1,
            Token::Symbol(")" | "]" | "}") => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// What is called or indexed, by which bracket, and with what.
pub(super) fn called(tokens: &[Token]) -> Option<(&[Token], &'static str, &[Token])> {
    let mut at = 0;
    // The last bracket pair at the top level reaches the end.
    while at < tokens.len() {
        if matches!(tokens[at], Token::Symbol("(" | "[" | "{")) {
            let end = closing(tokens, at)?;
            if end + 1 == tokens.len() {
                let Token::Symbol(open) = tokens[at] else { return None };
                return (at > 0).then(|| (&tokens[..at], open, &tokens[at + 1..end]));
            }
            at = end;
        }
        at += 1;
    }
    None
}

/// `a.b.c`; none if it is something else.
pub(super) fn dotted(tokens: &[Token]) -> Option<String> {
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Name(name) if at % 2 == 0 => text.push_str(name),
            Token::Symbol(".") if at % 2 == 1 => text.push('.'),
            _ => return None,
        }
    }
    (!text.is_empty()).then_some(text)
}
