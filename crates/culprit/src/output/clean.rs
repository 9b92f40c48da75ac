//! Text from outside, made safe for a terminal: a process may call itself anything.
//!
//! Control characters could move the cursor or retitle the window, and direction overrides could
//! show a name backwards. They are shown as escapes; everything else stays as it is.

use std::borrow::Cow;

/// The text with control characters and direction overrides shown as `\u{..}`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// As [`clean`], for text of several lines.
pub(crate) fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

fn is_unsafe(c: char) -> bool {
    // The Unicode bidirectional controls, see UAX #9, table "Directional Formatting Characters".
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text in at most `width` characters; what is cut in the middle shows as `…`, because module
/// and function at the two ends tell names apart.
pub(crate) fn elide(text: &str, width: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= width {
        return Cow::Borrowed(text);
    }
    if width < 3 {
        return Cow::Owned(text.chars().take(width).collect());
    }
    let head = (width - 1) / 2;
    let tail = width - 1 - head;
    let mut cut: String = text.chars().take(head).collect();
    cut.push('…');
    cut.extend(text.chars().skip(length - tail));
    Cow::Owned(cut)
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

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(elide("libc.so.6!__libc_start_main", 12), "libc.…t_main");
        assert_eq!(elide("short", 12), "short");
        assert_eq!(elide("abcdef", 2), "ab");
    }
}
