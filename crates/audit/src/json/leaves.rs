//! The values of an object with their paths, for logs of any shape: `request.headers.User-Agent`.

use super::scan::{Problem, Quoted, Scanner};

/// Objects and arrays inside of each other at most; values below are left out.
const DEEP: u32 = 8;

/// What stands at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Leaf<'a> {
    /// An object begins.
    Object,
    /// A text.
    Text(Quoted<'a>),
    /// A number, a truth value or null.
    Plain(&'a [u8]),
}

/// Walks the object that a text begins with and calls `take` with each path and what stands there.
/// Elements of an array have the path of the array.
///
/// # Errors
/// When it is no object, is malformed, or does not end.
pub(crate) fn leaves<'a>(
    text: &'a [u8],
    path: &mut String,
    take: &mut impl FnMut(&str, Leaf<'a>),
) -> Result<(), Problem> {
    let mut scanner = Scanner::new(text);
    path.clear();
    if scanner.peek() != Some(b'{') {
        return Err(if text.is_empty() { Problem::Truncated } else { Problem::Malformed(0) });
    }
    value(&mut scanner, path, 0, take)?;
    match scanner.peek() {
        None => Ok(()),
        Some(_) => Err(Problem::Malformed(scanner.at())),
    }
}

fn value<'a>(
    scanner: &mut Scanner<'a>,
    path: &mut String,
    depth: u32,
    take: &mut impl FnMut(&str, Leaf<'a>),
) -> Result<(), Problem> {
    match scanner.peek() {
        Some(b'{' | b'[') if depth >= DEEP => scanner.skip().map(drop),
        Some(b'{') => object(scanner, path, depth, take),
        Some(b'[') => {
            scanner.expect(b'[')?;
            if scanner.accept(b']') {
                return Ok(());
            }
            loop {
                value(scanner, path, depth + 1, take)?;
                if !scanner.accept(b',') {
                    return scanner.expect(b']');
                }
            }
        }
        Some(b'"') => {
            take(path, Leaf::Text(scanner.string()?));
            Ok(())
        }
        _ => {
            take(path, Leaf::Plain(scanner.plain()?));
            Ok(())
        }
    }
}

fn object<'a>(
    scanner: &mut Scanner<'a>,
    path: &mut String,
    depth: u32,
    take: &mut impl FnMut(&str, Leaf<'a>),
) -> Result<(), Problem> {
    scanner.expect(b'{')?;
    take(path, Leaf::Object);
    if scanner.accept(b'}') {
        return Ok(());
    }
    loop {
        scanner.peek();
        let key = scanner.string()?.raw;
        scanner.expect(b':')?;
        let length = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(std::str::from_utf8(key).unwrap_or("\u{fffd}"));
        value(scanner, path, depth + 1, take)?;
        path.truncate(length);
        if !scanner.accept(b',') {
            return scanner.expect(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_path() {
        let text = br#"{"a":1,"b":{"c":["x","y"],"d":[{"e":null}]},"f":"z"}"#;
        let mut found = Vec::new();
        leaves(text, &mut String::new(), &mut |path, leaf| {
            found.push(match leaf {
                Leaf::Object => format!("{path} {{"),
                Leaf::Text(text) => format!("{path} {}", String::from_utf8_lossy(text.raw)),
                Leaf::Plain(text) => format!("{path} {}", String::from_utf8_lossy(text)),
            });
        })
        .unwrap();
        assert_eq!(found, [" {", "a 1", "b {", "b.c x", "b.c y", "b.d {", "b.d.e null", "f z"]);
        for end in 0..text.len() {
            assert!(leaves(&text[..end], &mut String::new(), &mut |_, _| {}).is_err(), "{end}");
        }
    }
}
