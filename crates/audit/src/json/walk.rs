//! One walk over a JSON value: every value is counted at its path, and handed out where somebody asked
//! for it.

use std::borrow::Cow;

use super::escape::{decode, lossy};
use super::label::Label;
use super::paths::{NO_ROLE, NOTHING, Paths, Role};
use super::scan::{DEPTH, Problem, Quoted, Scanner};
use crate::schema::ValueKind;

/// Texts of this many bytes or more are handed out one by one.
pub(crate) const LONG: usize = 64;

/// A value that was seen on a walk.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// A text without escapes, in UTF-8, and its bytes in UTF-16.
    Text(Cow<'a, [u8]>, usize),
    /// A number, a truth value or null, as it is written.
    Plain(&'a [u8]),
    /// An object begins.
    Begin,
    /// An object ends that has this text.
    End(&'a [u8]),
}

/// What a walk found besides values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) lone_surrogate: bool,
    pub(crate) duplicate_key: bool,
    pub(crate) problem: Option<Problem>,
    /// How many more bytes in UTF-8 than characters the text has.
    chars_less: usize,
    /// How many bytes less than two for each byte in UTF-8 the text has in UTF-16.
    utf16_less: usize,
}

impl Walk {
    /// Characters of the text that was walked over to its end, and its bytes in UTF-16.
    pub(crate) fn sizes(&self, text: &[u8]) -> (usize, usize) {
        if self.problem.is_some() {
            return text_sizes(text);
        }
        (text.len() - self.chars_less, text.len() * 2 - self.utf16_less)
    }

    /// Notes a string that is not ASCII.
    fn note(&mut self, raw: &[u8]) {
        let (chars, utf16) = text_sizes(raw);
        self.chars_less += raw.len() - chars;
        self.utf16_less += raw.len() * 2 - utf16;
    }
}

/// Bytes of a text in UTF-16.
fn utf16_bytes(text: &str) -> usize {
    if text.is_ascii() { text.len() * 2 } else { text.encode_utf16().count() * 2 }
}

/// Characters of a text, and its bytes in UTF-16; what is no UTF-8 counts as U+FFFD.
fn text_sizes(text: &[u8]) -> (usize, usize) {
    if text.is_ascii() {
        return (text.len(), text.len() * 2);
    }
    let text = lossy(text);
    (text.chars().count(), text.encode_utf16().count() * 2)
}

impl Paths {
    /// Walks the value that a text is, and calls `take` with every value that has a role or is a long
    /// text: the role, the node, and what it is. Elements of arrays have the key `[]`.
    pub(crate) fn walk<'a>(
        &mut self,
        text: &'a [u8],
        take: &mut impl FnMut(Role, u32, Seen<'a>),
    ) -> Walk {
        let mut scanner = Scanner::new(text);
        let mut walk = self.walk_next(&mut scanner, take);
        if walk.problem.is_none() && scanner.peek().is_some() {
            walk.problem = Some(Problem::Malformed(scanner.at()));
        }
        walk
    }

    /// Walks the next value of a text, as [`Paths::walk`] does.
    pub(crate) fn walk_next<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
        take: &mut impl FnMut(Role, u32, Seen<'a>),
    ) -> Walk {
        let mut walker = Walker { paths: self, scanner, walk: Walk::default(), take };
        let result = walker.value((0, 0));
        Walk { problem: result.err(), ..walker.walk }
    }
}

struct Walker<'w, 'a, T> {
    paths: &'w mut Paths,
    scanner: &'w mut Scanner<'a>,
    walk: Walk,
    take: &'w mut T,
}

/// A path's node, and how many objects and arrays are around it.
type Place = (u32, u32);

impl<'a, T: FnMut(Role, u32, Seen<'a>)> Walker<'_, 'a, T> {
    #[inline]
    fn value(&mut self, (node, depth): Place) -> Result<(), Problem> {
        if depth > DEPTH {
            return Err(Problem::TooDeep);
        }
        match self.scanner.peek() {
            Some(b'"') => {
                let string = self.scanner.string()?;
                self.text(node, string);
                Ok(())
            }
            Some(b'{') => self.object((node, depth)),
            Some(b'[') => self.array((node, depth)),
            Some(_) => {
                let text = self.scanner.plain()?;
                let kind = match text.first() {
                    Some(b't' | b'f') => ValueKind::Bool,
                    Some(b'n') => ValueKind::Null,
                    _ => ValueKind::Number,
                };
                let role = self.paths.count(node, kind, (text.len(), text.len() * 2), 0);
                if role != NO_ROLE {
                    (self.take)(role, node, Seen::Plain(text));
                }
                Ok(())
            }
            None => Err(Problem::Truncated),
        }
    }

    #[inline]
    fn text(&mut self, node: u32, string: Quoted<'a>) {
        let raw = string.raw;
        if string.escaped || !self.scanner.is_ascii(raw) {
            return self.other_text(node, string);
        }
        let sizes = (raw.len(), raw.len() * 2);
        let role = self.paths.count(node, ValueKind::Text, sizes, 0);
        if role != NO_ROLE || raw.len() >= LONG {
            (self.take)(role, node, Seen::Text(Cow::Borrowed(raw), sizes.1));
        }
    }

    /// A text with escapes, or not in ASCII.
    fn other_text(&mut self, node: u32, string: Quoted<'a>) {
        if !self.scanner.is_ascii(string.raw) {
            self.walk.note(string.raw);
        }
        let (text, lone) = decode(string);
        self.walk.lone_surrogate |= lone;
        let utf16 = utf16_bytes(&text);
        let role = self.paths.count(node, ValueKind::Text, (text.len(), utf16), 0);
        if role != NO_ROLE || text.len() >= LONG {
            let text = match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            };
            (self.take)(role, node, Seen::Text(text, utf16));
        }
    }

    fn array(&mut self, (node, depth): Place) -> Result<(), Problem> {
        let (from, less) = (self.scanner.at(), self.walk.utf16_less);
        self.scanner.expect(b'[')?;
        let mut elements = 0;
        if !self.scanner.accept(b']') {
            let child = self.paths.elements(node);
            loop {
                elements += 1;
                self.value((child, depth + 1))?;
                if !self.scanner.accept(b',') {
                    self.scanner.expect(b']')?;
                    break;
                }
            }
        }
        let sizes = self.sizes(from, less);
        self.paths.count(node, ValueKind::Array, sizes, elements);
        Ok(())
    }

    fn object(&mut self, (node, depth): Place) -> Result<(), Problem> {
        let (from, less) = (self.scanner.at(), self.walk.utf16_less);
        self.scanner.expect(b'{')?;
        let role = self.paths.role(node);
        if role != NO_ROLE {
            (self.take)(role, node, Seen::Begin);
        }
        let object = self.paths.next_object();
        let mut fields = 0;
        if !self.scanner.accept(b'}') {
            let mut last = NOTHING;
            loop {
                last = self.key(node, last)?;
                self.walk.duplicate_key |= self.paths.is_again(last, object);
                fields += 1;
                self.value((last, depth + 1))?;
                if !self.scanner.accept(b',') {
                    self.scanner.expect(b'}')?;
                    break;
                }
            }
        }
        let sizes = self.sizes(from, less);
        self.paths.count(node, ValueKind::Object, sizes, fields);
        if role != NO_ROLE {
            let text = self.scanner.slice(from, self.scanner.at());
            (self.take)(role, node, Seen::End(text));
        }
        Ok(())
    }

    /// Goes past the next key of an object and its colon. The key's node.
    #[inline]
    fn key(&mut self, object: u32, last: u32) -> Result<u32, Problem> {
        self.scanner.peek();
        match self.paths.expected(object, last) {
            Some((next, label)) if self.scanner.accept_label(label) => Ok(next),
            _ => self.other_key(object, last),
        }
    }

    /// A key that was not expected.
    fn other_key(&mut self, object: u32, last: u32) -> Result<u32, Problem> {
        let from = self.scanner.at();
        let string = self.scanner.string()?;
        if !self.scanner.is_ascii(string.raw) {
            self.walk.note(string.raw);
        }
        let (key, lone) = decode(string);
        self.walk.lone_surrogate |= lone;
        self.scanner.expect(b':')?;
        self.scanner.peek();
        let written = Label::of(self.scanner.slice(from, self.scanner.at()));
        Ok(self.paths.child(object, last, &key, written.filter(|_| !string.escaped)))
    }

    /// Bytes in UTF-8 and in UTF-16 of what begins at `from` and ends here; `less` is what was noted
    /// before it.
    #[inline]
    fn sizes(&self, from: usize, less: usize) -> (usize, usize) {
        let length = self.scanner.at() - from;
        (length, length * 2 - (self.walk.utf16_less - less))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(text: &str) -> (Walk, Vec<String>) {
        let mut paths = Paths::new(|_, _| NO_ROLE);
        let walk = paths.walk(text.as_bytes(), &mut |_, _, _| {});
        let all = paths.totals().map(|(node, kind, totals)| {
            format!(
                "{}:{kind} {}x {}/{} max {} elements {}",
                paths.name(node),
                totals.values,
                totals.utf8,
                totals.utf16,
                totals.max_utf8,
                totals.max_elements
            )
        });
        (walk, all.collect())
    }

    #[test]
    fn every_path_has_its_sums() {
        let (walk, paths) = walked(r#"{"a":["x","né"],"b":{"c":12},"b2":null,"a2":true}"#);
        assert_eq!(walk, Walk { chars_less: 1, utf16_less: 2, ..Walk::default() });
        assert_eq!(
            paths,
            [
                ":object 1x 50/98 max 50 elements 4",
                "a:array 1x 11/20 max 11 elements 2",
                "a[]:text 2x 4/6 max 3 elements 0",
                "b:object 1x 8/16 max 8 elements 1",
                "b.c:number 1x 2/4 max 2 elements 0",
                "b2:null 1x 4/8 max 4 elements 0",
                "a2:bool 1x 4/8 max 4 elements 0",
            ]
        );
    }

    #[test]
    fn damage_is_said_and_what_stands_before_it_counts() {
        let (walk, paths) = walked(r#"{"a":"x","b":"#);
        assert_eq!(walk.problem, Some(Problem::Truncated));
        assert_eq!(paths, ["a:text 1x 1/2 max 1 elements 0"]);
        assert!(walked(r#"{"a":1,"a":2}"#).0.duplicate_key);
        assert!(!walked(r#"[{"a":1},{"a":2}]"#).0.duplicate_key);
        assert!(walked(r#""\ud800""#).0.lone_surrogate);
        assert_eq!(walked("{} x").0.problem, Some(Problem::Malformed(3)));
        assert_eq!(walked(&"{\"a\":".repeat(1000)).0.problem, Some(Problem::TooDeep));
    }

    #[test]
    fn objects_with_any_number_of_keys_have_few_paths() {
        let fields: Vec<_> = (0..30_000).map(|at| format!("\"k{at}\":{at}")).collect();
        let (_, paths) = walked(&format!("{{{}}}", fields.join(",")));
        // One more than the limit: the name that stands for all others.
        assert_eq!(paths.len(), 20_001);
        assert!(paths.last().unwrap().starts_with("{other}:number 10001x"), "{:?}", paths.last());
        let (_, paths) = walked(r#"{"12":1,"110d559f-dea5-42ea-9c1c-8a5df7e70ef9":2}"#);
        assert_eq!(paths[1], "{}:number 2x 2/4 max 1 elements 0");
    }
}
