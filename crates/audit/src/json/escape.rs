//! Escapes in JSON strings, undone.

use std::borrow::Cow;

use super::scan::{Quoted, special_of};

/// Appends a text without its escapes, up to the first quote that is not one of them. Where that is,
/// and whether half of a surrogate pair was in it: then U+FFFD stands for it.
pub(super) fn unescape(raw: &[u8], out: &mut Vec<u8>) -> (Option<usize>, bool) {
    let (mut at, mut lone) = (0, false);
    loop {
        let rest = &raw[at..];
        if let Some(word) = rest.first_chunk::<8>() {
            // Eight bytes at once, then back to those that count: cheaper than a copy of any length.
            let plain = special_of(*word);
            let length = out.len() + plain;
            out.extend_from_slice(word);
            out.truncate(length);
            at += plain;
            if plain == 8 {
                continue;
            }
        } else {
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count();
            out.extend_from_slice(&rest[..plain]);
            at += plain;
        }
        match raw.get(at) {
            None => return (None, lone),
            Some(b'"') => return (Some(at), lone),
            Some(_) => {}
        }
        let letter = raw.get(at + 1).copied().unwrap_or(b'\\');
        at = (at + 2).min(raw.len());
        match letter {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let (character, end) = unicode(raw, at);
                at = end;
                lone |= character.is_none();
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
}

/// Bytes as text; what is no UTF-8 is replaced.
#[inline]
pub(super) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy one goes byte by byte.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A string without its escapes, and whether half of a surrogate pair was in it: then U+FFFD stands
/// for it. Invalid UTF-8 is replaced the same way.
#[inline]
pub(crate) fn decode(Quoted { raw, escaped }: Quoted<'_>) -> (Cow<'_, str>, bool) {
    if !escaped {
        return (lossy(raw), false);
    }
    let mut out = Vec::with_capacity(raw.len() + 8);
    let (mut lone, mut rest) = (false, raw);
    loop {
        let (quote, half) = unescape(rest, &mut out);
        lone |= half;
        // A quote can be left over by an escape that is none: it is text.
        let Some(quote) = quote else { break };
        out.push(b'"');
        rest = &rest[quote + 1..];
    }
    let text = String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    (Cow::Owned(text), lone)
}

/// The character whose digits begin at `at`, with the second half of its pair; where it ends.
fn unicode(raw: &[u8], at: usize) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let end = (at + 4).min(raw.len());
    let Some(first) = unit(at) else { return (None, end) };
    if !(0xd800..0xe000).contains(&first) {
        return (char::from_u32(first), end);
    }
    let paired = raw.get(end..end + 2) == Some(b"\\u");
    match unit(end + 2).filter(|second| paired && (0xdc00..0xe000).contains(second)) {
        Some(second) if first < 0xdc00 => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(code), end + 6)
        }
        _ => (None, end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_lone_halves_are_seen() {
        let text = |raw: &str| {
            let (text, lone) = decode(Quoted { raw: raw.as_bytes(), escaped: true });
            (text.into_owned(), lone)
        };
        assert_eq!(text("a\\n\\u00e9\\ud83d\\ude00\\/"), ("a\né😀/".to_owned(), false));
        assert_eq!(text("\\ud83d!"), ("\u{fffd}!".to_owned(), true));
        assert_eq!(text("\\ude00\\ud83d"), ("\u{fffd}\u{fffd}".to_owned(), true));
        assert_eq!(text("\\u12"), ("\u{fffd}".to_owned(), true));
    }
}
