//! The structure of JSON text (RFC 8259): where values begin and end.

use std::borrow::Cow;

use super::escape::{decode, unescape};
use super::label::Label;

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

/// A string as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quoted<'a> {
    /// What is between its quotes.
    pub(crate) raw: &'a [u8],
    pub(crate) escaped: bool,
}

/// A position in a text.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// From where the scanner was when it last looked ahead up to here, all bytes are ASCII.
    ascii_to: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, ascii_to: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The text between two positions.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// What comes next.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Goes to a position.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
        self.ascii_to = 0;
    }

    /// Goes past all of these bytes that are next.
    pub(crate) fn go_past(&mut self, bytes: &[u8]) {
        self.at += self.rest().iter().take_while(|byte| bytes.contains(byte)).count();
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

    /// Goes past this label, if it is next.
    #[inline]
    pub(crate) fn accept_label(&mut self, label: &Label) -> bool {
        let length = label.begins(self.rest());
        self.at += length;
        length > 0
    }

    /// True when a part of the text that the scanner has just gone past is ASCII. Looks ahead, so that
    /// most parts cost a comparison.
    #[inline]
    pub(crate) fn is_ascii(&mut self, part: &[u8]) -> bool {
        self.at <= self.ascii_to || self.look_ahead(part.len())
    }

    /// True when the last bytes before the scanner are ASCII, so many and a quote.
    fn look_ahead(&mut self, length: usize) -> bool {
        let begin = self.at.saturating_sub(length + 1).max(self.ascii_to);
        self.ascii_to = begin;
        let ahead = self.bytes.get(begin..).unwrap_or_default();
        for block in ahead.chunks(AHEAD) {
            if !block.is_ascii() {
                self.ascii_to += block.iter().take_while(|byte| byte.is_ascii()).count();
                return self.at <= self.ascii_to;
            }
            self.ascii_to += block.len();
            if self.at <= self.ascii_to {
                return true;
            }
        }
        true
    }

    /// Goes past a string.
    ///
    /// # Errors
    /// When there is none, or it does not end.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Quoted<'a>, Problem> {
        self.expect(b'"')?;
        let from = self.at;
        let mut escaped = false;
        loop {
            let rest = self.rest();
            let Some(next) = special(rest) else {
                self.at = self.bytes.len();
                return Err(Problem::Truncated);
            };
            self.at += next + 1;
            if rest.get(next) == Some(&b'"') {
                return Ok(Quoted { raw: self.slice(from, self.at - 1), escaped });
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
        Ok(Cow::Owned(decode(self.string()?).0.into_owned().into_bytes()))
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
/// Bytes of a text that are looked at together, whether they are ASCII.
const AHEAD: usize = 256;

/// Which of eight bytes is the first quote or backslash; 8 for none.
#[inline]
pub(super) fn special_of(word: [u8; 8]) -> usize {
    let word = u64::from_le_bytes(word);
    // The lowest high bit is set for the first byte that is zero (Mycroft); later ones may be wrong.
    let zeros = |word: u64| word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS;
    let found = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
    found.trailing_zeros() as usize / 8
}

/// Where the first quote or backslash is.
#[cfg(target_arch = "x86_64")]
#[inline]
fn special(bytes: &[u8]) -> Option<usize> {
    // Most strings are shorter than what a call of the search with wider registers costs.
    memchr::arch::x86_64::sse2::memchr::Two::new(b'"', b'\\')?.find(bytes)
}

/// Where the first quote or backslash is.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn special(bytes: &[u8]) -> Option<usize> {
    memchr::memchr2(b'"', b'\\', bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::escape::lossy;
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
                let wanted = one.string().map(|string| decode(string).0.into_owned());
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
