//! The structure of JSON text (RFC 8259): where values begin and end.

use std::borrow::Cow;

/// Objects and arrays inside of each other at most. The vendor's own reader allows 64.
pub(crate) const DEPTH: u32 = 128;

/// Why a text cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It ends in the middle of a value.
    Truncated,
    /// It is no JSON from this byte on.
    Malformed(usize),
    /// Values are nested more deeply than [`DEPTH`].
    TooDeep,
}

/// A position in a text.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The text between two positions.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The next byte that is no white space; none at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                other => return Some(*other),
            }
        }
    }

    fn wrong(&self) -> Problem {
        if self.at >= self.bytes.len() { Problem::Truncated } else { Problem::Malformed(self.at) }
    }

    /// Goes past this byte, after white space.
    ///
    /// # Errors
    /// When another one is there.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.wrong())
    }

    /// Goes past this byte when it is next.
    #[inline]
    pub(crate) fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Goes past a string. What is between its quotes, and whether it has escapes.
    ///
    /// # Errors
    /// When there is none, or it does not end.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<(&'a [u8], bool), Problem> {
        self.expect(b'"')?;
        let from = self.at;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(next) = special(rest) else {
                self.at = self.bytes.len();
                return Err(Problem::Truncated);
            };
            self.at += next + 1;
            if rest.get(next) == Some(&b'"') {
                return Ok((self.slice(from, self.at - 1), escaped));
            }
            escaped = true;
            if self.at >= self.bytes.len() {
                return Err(Problem::Truncated);
            }
            self.at += 1;
        }
    }

    /// Goes past a string. What it says, without its escapes; bytes that are no UTF-8 stay.
    ///
    /// # Errors
    /// When there is none, or it does not end.
    pub(crate) fn text(&mut self) -> Result<Cow<'a, [u8]>, Problem> {
        self.expect(b'"')?;
        let from = self.at;
        let rest = self.bytes.get(from..).unwrap_or_default();
        match special(rest) {
            Some(end) if rest.get(end) == Some(&b'"') => {
                self.at = from + end + 1;
                return Ok(Cow::Borrowed(self.slice(from, from + end)));
            }
            Some(first) => {
                // Columns of JSON within JSON have an escape every few bytes: finding the end first
                // would go over all of them twice.
                let mut out = Vec::with_capacity((first * 2).max(512));
                let (end, lone) = unescape(rest, &mut out);
                if let Some(end) = end.filter(|_| !lone) {
                    self.at = from + end + 1;
                    return Ok(Cow::Owned(out));
                }
            }
            None => {}
        }
        // It has no end, or an escape that is none: where it ends decides what that one is.
        self.at = from - 1;
        let (raw, escaped) = self.string()?;
        Ok(Cow::Owned(decode(raw, escaped).0.into_owned().into_bytes()))
    }

    /// Goes past a number or a word: all up to the next structural byte.
    ///
    /// # Errors
    /// When it is neither.
    pub(crate) fn plain(&mut self) -> Result<&'a [u8], Problem> {
        let from = self.at;
        while let Some(byte) = self.bytes.get(self.at) {
            if !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte) {
                break;
            }
            self.at += 1;
        }
        let text = self.slice(from, self.at);
        let number = text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
        if number || matches!(text, b"true" | b"false" | b"null") {
            return Ok(text);
        }
        let words = [&b"true"[..], b"false", b"null"];
        let cut = self.at >= self.bytes.len() && words.iter().any(|word| word.starts_with(text));
        Err(if cut { Problem::Truncated } else { Problem::Malformed(from) })
    }

    /// Goes past an object or array by its brackets, without a look at what is between them. Its
    /// text, which may be no JSON.
    ///
    /// # Errors
    /// When there is none, or it does not end.
    pub(crate) fn nested(&mut self) -> Result<&'a [u8], Problem> {
        if !matches!(self.peek(), Some(b'{' | b'[')) {
            return Err(self.wrong());
        }
        let (from, mut depth) = (self.at, 0_u32);
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(self.slice(from, self.at));
            }
        }
        Err(Problem::Truncated)
    }

    /// Goes past a value. Its text.
    ///
    /// # Errors
    /// When it is malformed or does not end.
    pub(crate) fn skip(&mut self) -> Result<&'a [u8], Problem> {
        self.peek();
        let from = self.at;
        self.skip_within(0)?;
        Ok(self.slice(from, self.at))
    }

    fn skip_within(&mut self, depth: u32) -> Result<(), Problem> {
        if depth > DEPTH {
            return Err(Problem::TooDeep);
        }
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => {
                self.at += 1;
                if self.accept(b'}') {
                    return Ok(());
                }
                loop {
                    self.peek();
                    self.string()?;
                    self.expect(b':')?;
                    self.skip_within(depth + 1)?;
                    if !self.accept(b',') {
                        return self.expect(b'}');
                    }
                }
            }
            Some(b'[') => {
                self.at += 1;
                if self.accept(b']') {
                    return Ok(());
                }
                loop {
                    self.skip_within(depth + 1)?;
                    if !self.accept(b',') {
                        return self.expect(b']');
                    }
                }
            }
            Some(_) => self.plain().map(drop),
            None => Err(Problem::Truncated),
        }
    }
}

const LOW_BITS: u64 = u64::from_ne_bytes([1; 8]);
const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);
/// Words of 8 bytes in which a mark is looked for before the search for long texts begins, whose
/// start costs as much as that.
const SHORT: usize = 4;

/// Which of eight bytes is the first quote or backslash; 8 for none.
#[inline]
fn special_of(word: [u8; 8]) -> usize {
    let word = u64::from_le_bytes(word);
    // The lowest high bit is set for the first byte that is zero (Mycroft); later ones may be wrong.
    let zeros = |word: u64| word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS;
    let found = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
    found.trailing_zeros() as usize / 8
}

/// Where the first quote or backslash is.
#[inline]
fn special(bytes: &[u8]) -> Option<usize> {
    let (words, _) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().take(SHORT).enumerate() {
        let found = special_of(*word);
        if found < 8 {
            return Some(at * 8 + found);
        }
    }
    let from = words.len().min(SHORT) * 8;
    memchr::memchr2(b'"', b'\\', &bytes[from..]).map(|found| from + found)
}

/// Appends a text without its escapes, up to the first quote that is not one of them. Where that is,
/// and whether half of a surrogate pair was in it: then U+FFFD stands for it.
fn unescape(raw: &[u8], out: &mut Vec<u8>) -> (Option<usize>, bool) {
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
pub(crate) fn decode(raw: &[u8], escaped: bool) -> (Cow<'_, str>, bool) {
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
    use proptest::prelude::*;

    use super::*;

    fn skip(text: &str) -> Result<&[u8], Problem> {
        Scanner::new(text.as_bytes()).skip()
    }

    #[test]
    fn values_end_where_they_end() {
        for text in [
            "1",
            "-1.5e+3",
            "\"a\\\"b\"",
            "{}",
            "[]",
            "[1,{\"a\":[null]},true]",
            "{\"a\":{\"b\":\"}\"}}",
        ] {
            assert_eq!(skip(&format!("  {text} ,")), Ok(text.as_bytes()), "{text}");
            for cut in 1..text.len() {
                if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                    assert_eq!(skip(&text[..cut]), Err(Problem::Truncated), "{}", &text[..cut]);
                }
            }
        }
        let nested = |text: &'static str| Scanner::new(text.as_bytes()).nested();
        assert_eq!(nested(" {\"}\":[{},\"\\\"]\"]} ,"), Ok(&b"{\"}\":[{},\"\\\"]\"]}"[..]));
        assert_eq!(nested("[wrong},1"), Ok(&b"[wrong}"[..]));
        for cut in ["", "[", "[\"", "{[]", "[\"]"] {
            assert_eq!(nested(cut), Err(Problem::Truncated), "{cut}");
        }
        assert_eq!(nested("1"), Err(Problem::Malformed(0)));
        assert_eq!(skip("{a:1}"), Err(Problem::Malformed(1)));
        assert_eq!(skip("[1 2]"), Err(Problem::Malformed(3)));
        assert_eq!(skip(&"[".repeat(100_000)), Err(Problem::TooDeep));
    }

    #[test]
    fn escapes_are_undone_and_lone_halves_are_seen() {
        let text = |raw: &str| {
            let (text, lone) = decode(raw.as_bytes(), true);
            (text.into_owned(), lone)
        };
        assert_eq!(text("a\\n\\u00e9\\ud83d\\ude00\\/"), ("a\né😀/".to_owned(), false));
        assert_eq!(text("\\ud83d!"), ("\u{fffd}!".to_owned(), true));
        assert_eq!(text("\\ude00\\ud83d"), ("\u{fffd}\u{fffd}".to_owned(), true));
        assert_eq!(text("\\u12"), ("\u{fffd}".to_owned(), true));
    }

    proptest! {
        /// Both ways to undo escapes agree, wherever the text ends.
        #[test]
        fn a_text_is_what_its_string_says(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "\\\"", "\\\\", "\\n", "\\u00e9", "\\ud83d", "\\ude00", "\\u12", "\\/", "a", "0d8",
                    "eight letters", "é😀", "", "a text that is longer than the short search goes",
                ]),
                0..12,
            ),
            cut in 0_usize..40,
        ) {
            let text = format!("\"{}\" , \"next\"", parts.concat());
            for text in [text.as_bytes(), &text.as_bytes()[..text.len().saturating_sub(cut)]] {
                let (mut one, mut other) = (Scanner::new(text), Scanner::new(text));
                let wanted = one.string().map(|(raw, escaped)| decode(raw, escaped).0.into_owned());
                // Cut in the middle of a letter, the bytes differ and both are the same damage.
                let found = other.text().map(|text| lossy(&text).into_owned());
                prop_assert_eq!(found, wanted);
                prop_assert_eq!(one.at(), other.at());
            }
        }

        /// Marks are found wherever they stand, whatever is around them.
        #[test]
        fn the_first_mark_is_found(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let wanted = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            prop_assert_eq!(special(&bytes), wanted);
        }
    }
}
