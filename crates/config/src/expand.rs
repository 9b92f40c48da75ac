//! `$NAME` in values of `.env`, as `dotenv-expand` replaces it.
//!
//! ```text
//! $NAME  ${NAME}    the value; nothing if it is not set
//! ${NAME:-text}     text if it is not set or empty
//! \$                a dollar sign
//! ```

/// A deeper chain of values is a circle.
const MOST: usize = 32;

/// A value with the variables replaced that a lookup knows. Values that are looked up are replaced, too.
pub(crate) fn expanded(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    replaced(text, lookup, 0)
}

fn replaced(text: &str, lookup: &dyn Fn(&str) -> Option<String>, depth: usize) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        if let Some(before) = before.strip_suffix('\\') {
            made.push_str(before);
            made.push('$');
            rest = after;
            continue;
        }
        made.push_str(before);
        let is_braced = after.starts_with('{');
        let inner = if is_braced { &after[1..] } else { after };
        let name = name_of(inner);
        let end = if is_braced { inner.find('}') } else { Some(name.len()) };
        let (false, Some(end)) = (name.is_empty() || depth > MOST, end) else {
            made.push('$');
            rest = after;
            continue;
        };
        let default = inner[name.len()..end.max(name.len())].strip_prefix(":-");
        let value = lookup(name).map(|value| replaced(&value, lookup, depth + 1));
        let value = value.filter(|value| default.is_none() || !value.is_empty());
        made.push_str(&value.unwrap_or_else(|| default.unwrap_or_default().to_owned()));
        rest = &inner[end + usize::from(is_braced)..];
    }
    made.push_str(rest);
    made
}

/// The name of a variable at the start of a text.
pub(crate) fn name_of(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { &text[..end] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_as_dotenv_expand_does() {
        let lookup = |name: &str| match name {
            "API" => Some("2".to_owned()),
            "TWICE" => Some("$API$API".to_owned()),
            "LOOP" => Some("$LOOP".to_owned()),
            _ => None,
        };
        for (text, expected) in [
            ("$API", "2"),
            ("${API}x", "2x"),
            ("${NOPE:-d}", "d"),
            ("a\\$b", "a$b"),
            ("$NOPE", ""),
            ("pg$ecret", "pg"),
            ("a$$b", "a$"),
            ("$TWICE", "22"),
            ("5$", "5$"),
            ("${API", "${API"),
        ] {
            assert_eq!(expanded(text, &lookup), expected, "{text}");
        }
        assert!(expanded("$LOOP", &lookup).len() < 10);
    }
}
