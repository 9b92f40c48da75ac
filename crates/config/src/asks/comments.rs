//! Code without its comments.

/// A text with spaces in place of its comments, so that all places stay. A comment sign in a string is none.
pub(crate) fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'', '`']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let end_of = |start: usize, end: &str| rest[start..].find(end).map(|at| start + at);
        let (end, is_comment) = match rest.as_bytes() {
            [b'/', b'/', ..] => (end_of(2, "\n"), true),
            [b'/', b'*', ..] => (end_of(2, "*/").map(|at| at + 2), true),
            [b'/', ..] => (Some(1), false),
            [quote, ..] => (Some(string(rest, *quote)), false),
            [] => (None, false),
        };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        match is_comment {
            true => code.extend(part.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            false => code.push_str(part),
        }
        rest = after;
    }
    code.push_str(rest);
    code
}

/// Where the string at the start of a text ends. One that its line does not end is a lone quote, in a pattern or
/// in text of a page.
fn string(text: &str, quote: u8) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'\n' if quote != b'`' => return 1,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_spaces_and_strings_stay() {
        for (text, code) in [
            ("a // é\nb /* x\ny */ c", "a      \nb     \n     c"),
            ("f(\"http://x\") // y", "f(\"http://x\")     "),
            ("'/*' + `//\n//` + \"\\\"//\"", "'/*' + `//\n//` + \"\\\"//\""),
            ("don't // y\n'a'", "don't     \n'a'"),
            ("a / b /* open", "a / b        "),
        ] {
            assert_eq!(without_comments(text), code, "{text}");
        }
    }
}
