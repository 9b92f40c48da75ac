//! `${key:default}` in values (`PropertyPlaceholderHelper` and its successor in Spring 6.2).
//!
//! Keys and defaults may hold placeholders themselves, and so may the values that they stand for. A
//! backslash before `${` keeps the text.

/// A text with its placeholders replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Expanded {
    /// The text.
    pub(super) text: String,
    /// The keys whose values were used, with those values.
    pub(super) used: Vec<(String, String)>,
    /// The keys that have neither value nor default: their placeholders stay.
    pub(super) left: Vec<String>,
}

/// Placeholders in values of placeholders go no deeper; deeper ones are a circle.
const MAX_DEPTH: usize = 32;
/// Values that are longer were made by placeholders that double each other.
const MAX_LENGTH: usize = 1 << 20;

/// Replaces the placeholders of a text; none if they form a circle.
pub(super) fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Option<Expanded> {
    let mut expanded = Expanded::default();
    expanded.text = replace(text, lookup, &mut expanded, 0)?;
    Some(expanded)
}

fn replace(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    expanded: &mut Expanded,
    depth: usize,
) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('\\') {
            made.push_str(before);
            made.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        let Some(end) = end_of(&rest[at + 2..]) else { break };
        made.push_str(&rest[..at]);
        let inside = &rest[at + 2..at + 2 + end];
        made.push_str(&placeholder(inside, lookup, expanded, depth)?);
        if made.len() > MAX_LENGTH {
            return None;
        }
        rest = &rest[at + 2 + end + 1..];
    }
    made.push_str(rest);
    Some(made)
}

/// What stands for a placeholder.
fn placeholder(
    inside: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    expanded: &mut Expanded,
    depth: usize,
) -> Option<String> {
    let (key, default) = match separator(inside) {
        Some(at) => (&inside[..at], Some(&inside[at + 1..])),
        None => (inside, None),
    };
    let key = replace(key, lookup, expanded, depth + 1)?;
    let whole = || replace(inside, lookup, &mut Expanded::default(), depth + 1);
    let found = match default {
        // A key with a colon is looked for as it is, first.
        Some(_) => lookup(&whole()?).or_else(|| lookup(&key)),
        None => lookup(&key),
    };
    match (found, default) {
        (Some(value), _) => {
            let value = replace(&value, lookup, expanded, depth + 1)?;
            expanded.used.push((key, value.clone()));
            Some(value)
        }
        (None, Some(default)) => replace(default, lookup, expanded, depth + 1),
        (None, None) => {
            expanded.left.push(key.clone());
            Some(format!("${{{key}}}"))
        }
    }
}

/// Where the placeholder that has begun ends.
fn end_of(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '{' if last == '$' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
        last = c;
    }
    None
}

/// The colon between key and default: the first one outside of placeholders.
fn separator(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '{' if last == '$' => open += 1,
            '}' => open = open.saturating_sub(1),
            ':' if open == 0 => return Some(at),
            _ => {}
        }
        last = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced() {
        let lookup = |key: &str| match key {
            "a" => Some("1".to_owned()),
            "b" => Some("<${a}>".to_owned()),
            "which" => Some("a".to_owned()),
            "loop" => Some("${loop}".to_owned()),
            "empty" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("${a}", "1"),
            ("x${b}y", "x<1>y"),
            ("${none:d}", "d"),
            ("${none:}", ""),
            ("${empty:d}", ""),
            ("${none:${a}}", "1"),
            ("${none:${also:http://h}}", "http://h"),
            ("${${which}}", "1"),
            ("${none}", "${none}"),
            ("${a", "${a"),
            ("\\${a}", "${a}"),
            ("$a {a}", "$a {a}"),
        ] {
            assert_eq!(expand(text, &lookup).unwrap().text, expected, "{text}");
        }
        assert_eq!(expand("${loop}", &lookup), None);
        assert_eq!(expand("${none}", &lookup).unwrap().left, ["none"]);
    }
}
