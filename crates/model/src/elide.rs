//! Names cut to a width.

use std::borrow::Cow;

/// The text in at most `width` characters; what is cut in the middle shows as `…`, because module
/// and function at the two ends tell names apart.
#[must_use]
pub fn elide(text: &str, width: usize) -> Cow<'_, str> {
    // A text has at most as many characters as bytes.
    if text.len() <= width {
        return Cow::Borrowed(text);
    }
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
    fn long_names_keep_both_ends() {
        assert_eq!(elide("libc.so.6!__libc_start_main", 12), "libc.…t_main");
        assert_eq!(elide("short", 12), "short");
        assert_eq!(elide("abcdef", 2), "ab");
    }
}
