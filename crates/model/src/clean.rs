//! Text from outside, made safe for a terminal: a process may call itself anything.
//!
//! Control characters could move the cursor or retitle the window, and direction overrides could
//! show a name backwards. They are shown as escapes; everything else stays as it is.

use std::borrow::Cow;

/// The text with control characters and direction overrides shown as `\u{..}`.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~');
    if text.bytes().all(is_printable) || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// As [`clean`], for text of several lines.
#[must_use]
pub fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

fn is_unsafe(c: char) -> bool {
    // The Unicode bidirectional controls, see UAX #9, table "Directional Formatting Characters".
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_cannot_reach_the_terminal() {
        assert_eq!(clean("\x1b]0;owned\x07"), "\\u{1b}]0;owned\\u{7}");
        assert_eq!(clean("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(clean("naïve 中"), "naïve 中");
    }
}
