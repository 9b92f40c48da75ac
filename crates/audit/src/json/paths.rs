//! Which paths a JSON text has, how many values each, how large.
//!
//! A path is a node of a tree; the children of an object's node are its keys, the only child of an
//! array's node is its elements. Objects of one kind have their keys in one order, so the child
//! that followed the last time is tried first: most keys cost one comparison.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::scan::{DEPTH, Problem, Scanner, decode, lossy};
use crate::schema::ValueKind;

/// Nodes of one tree at most. Keys beyond become one path, named [`OTHER`].
const NODES: usize = 20_000;
/// The name of keys that are numbers or GUIDs: such an object is a list.
const KEYED: &str = "{}";
/// The name of keys that came after the tree was full.
const OTHER: &str = "{other}";
/// Texts of this many bytes or more are handed out one by one.
pub(crate) const LONG: usize = 64;

/// Sums of one path and one kind of value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) values: u64,
    pub(crate) utf8: u64,
    pub(crate) utf16: u64,
    pub(crate) max_utf8: u64,
    pub(crate) elements: u64,
    pub(crate) max_elements: u64,
}

impl Totals {
    #[inline]
    fn add(&mut self, (utf8, utf16): (usize, usize), elements: u64) {
        self.values += 1;
        self.utf8 += utf8 as u64;
        self.utf16 += utf16 as u64;
        self.max_utf8 = self.max_utf8.max(utf8 as u64);
        self.elements += elements;
        self.max_elements = self.max_elements.max(elements);
    }

    /// Adds sums of the same path.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.values += other.values;
        self.utf8 += other.utf8;
        self.utf16 += other.utf16;
        self.max_utf8 = self.max_utf8.max(other.max_utf8);
        self.elements += other.elements;
        self.max_elements = self.max_elements.max(other.max_elements);
    }
}

#[derive(Debug, Default)]
struct Node {
    parent: u32,
    key: Box<str>,
    children: Vec<u32>,
    /// Where to look first.
    next: usize,
    /// Which object had this key last, to find keys that an object has twice.
    last_object: u64,
    totals: [Totals; 6],
}

/// The tree of one facet's paths.
#[derive(Debug)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    /// Children of objects with many keys.
    index: FxHashMap<(u32, Box<str>), u32>,
    objects: u64,
    /// True while the text of a walk has no other bytes: then its parts need not be looked at again.
    ascii: bool,
}

/// A value that was seen on a walk.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// A text without escapes, and its bytes in UTF-16.
    Text(Cow<'a, str>, usize),
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
    /// Bytes that were read.
    pub(crate) end: usize,
}

/// Bytes of a text in UTF-16.
pub(crate) fn utf16_bytes(text: &str) -> usize {
    if text.is_ascii() { text.len() * 2 } else { text.encode_utf16().count() * 2 }
}

fn kind_index(kind: ValueKind) -> usize {
    kind as usize
}

impl Default for Paths {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], index: FxHashMap::default(), objects: 0, ascii: false }
    }
}

impl Paths {
    /// The path of a node, such as `InteractionCaches[].Referrers[]`; empty for the root.
    pub(crate) fn name(&self, node: u32) -> String {
        let mut parts = Vec::new();
        let mut at = node;
        while at != 0 {
            let Some(found) = self.nodes.get(at as usize) else { break };
            parts.push(&*found.key);
            at = found.parent;
        }
        let mut name = String::new();
        for part in parts.iter().rev() {
            if *part != "[]" && !name.is_empty() {
                name.push('.');
            }
            name.push_str(part);
        }
        name
    }

    /// All sums: node, kind, totals; nodes in the order of first sight.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (u32, ValueKind, &Totals)> {
        use culprit_model::Label as _;
        (0_u32..).zip(&self.nodes).flat_map(|(at, node)| {
            let kinds = ValueKind::ALL.iter().zip(&node.totals);
            kinds.filter(|(_, totals)| totals.values > 0).map(move |(kind, t)| (at, *kind, t))
        })
    }

    /// Walks the value that a text begins with, and calls `take` with every value: the depth of its
    /// object, the key in it, its node, and what it is. Elements of arrays have the key `[]`.
    pub(crate) fn walk<'a>(
        &mut self,
        text: &'a [u8],
        take: &mut impl FnMut(u32, &str, u32, Seen<'a>),
    ) -> Walk {
        let mut scanner = Scanner::new(text);
        let mut walk = Walk::default();
        self.ascii = text.is_ascii();
        let result = self.value(&mut scanner, (0, 0), &mut walk, take);
        walk.problem = result.err();
        if walk.problem.is_none() && scanner.peek().is_some() {
            walk.problem = Some(Problem::Malformed(scanner.at()));
        }
        walk.end = scanner.at();
        walk
    }

    fn value<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
        (node, depth): (u32, u32),
        walk: &mut Walk,
        take: &mut impl FnMut(u32, &str, u32, Seen<'a>),
    ) -> Result<(), Problem> {
        if depth > DEPTH {
            return Err(Problem::TooDeep);
        }
        match scanner.peek() {
            Some(b'"') => {
                let (raw, escaped) = scanner.string()?;
                let (text, lone) = decode(raw, escaped);
                walk.lone_surrogate |= lone;
                let utf16 = match self.ascii && !escaped {
                    true => text.len() * 2,
                    false => utf16_bytes(&text),
                };
                self.count(node, ValueKind::Text, (text.len(), utf16), 0);
                take(depth, self.key(node), node, Seen::Text(text, utf16));
            }
            Some(b'{') => self.object(scanner, (node, depth), walk, take)?,
            Some(b'[') => {
                let from = scanner.at();
                scanner.expect(b'[')?;
                let mut elements = 0;
                if !scanner.accept(b']') {
                    let child = self.child(node, "[]");
                    loop {
                        elements += 1;
                        self.value(scanner, (child, depth + 1), walk, take)?;
                        if !scanner.accept(b',') {
                            scanner.expect(b']')?;
                            break;
                        }
                    }
                }
                let text = scanner.slice(from, scanner.at());
                self.count(node, ValueKind::Array, self.sizes(text), elements);
            }
            Some(_) => {
                let text = scanner.plain()?;
                let kind = match text.first() {
                    Some(b't' | b'f') => ValueKind::Bool,
                    Some(b'n') => ValueKind::Null,
                    _ => ValueKind::Number,
                };
                self.count(node, kind, (text.len(), text.len() * 2), 0);
                take(depth, self.key(node), node, Seen::Plain(text));
            }
            None => return Err(Problem::Truncated),
        }
        Ok(())
    }

    fn object<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
        (node, depth): (u32, u32),
        walk: &mut Walk,
        take: &mut impl FnMut(u32, &str, u32, Seen<'a>),
    ) -> Result<(), Problem> {
        let from = scanner.at();
        scanner.expect(b'{')?;
        take(depth, self.key(node), node, Seen::Begin);
        self.objects += 1;
        let own = self.objects;
        let mut fields = 0;
        if !scanner.accept(b'}') {
            loop {
                scanner.peek();
                let (raw, escaped) = scanner.string()?;
                let child = match self.expected(node, raw).filter(|_| !escaped) {
                    Some(child) => child,
                    None => {
                        let (key, lone) = decode(raw, escaped);
                        walk.lone_surrogate |= lone;
                        self.child(node, &key)
                    }
                };
                if let Some(found) = self.nodes.get_mut(child as usize) {
                    let listed = matches!(&*found.key, KEYED | OTHER);
                    walk.duplicate_key |= found.last_object == own && !listed;
                    found.last_object = own;
                }
                fields += 1;
                scanner.expect(b':')?;
                self.value(scanner, (child, depth + 1), walk, take)?;
                if !scanner.accept(b',') {
                    scanner.expect(b'}')?;
                    break;
                }
            }
        }
        let text = scanner.slice(from, scanner.at());
        self.count(node, ValueKind::Object, self.sizes(text), fields);
        take(depth, self.key(node), node, Seen::End(text));
        Ok(())
    }

    /// Bytes of a text in UTF-8 and in UTF-16; what is no UTF-8 counts as U+FFFD.
    #[inline]
    fn sizes(&self, text: &[u8]) -> (usize, usize) {
        if self.ascii || text.is_ascii() {
            return (text.len(), text.len() * 2);
        }
        (text.len(), utf16_bytes(&lossy(text)))
    }

    fn key(&self, node: u32) -> &str {
        self.nodes.get(node as usize).map_or("", |node| &node.key)
    }

    #[inline]
    fn count(&mut self, node: u32, kind: ValueKind, sizes: (usize, usize), elements: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.totals[kind_index(kind)].add(sizes, elements);
        }
    }

    /// The child that is expected next, if it has this key.
    #[inline]
    fn expected(&mut self, node: u32, key: &[u8]) -> Option<u32> {
        let parent = self.nodes.get(node as usize)?;
        let child = *parent.children.get(parent.next)?;
        if self.key(child).as_bytes() != key {
            return None;
        }
        let parent = self.nodes.get_mut(node as usize)?;
        parent.next = if parent.next + 1 < parent.children.len() { parent.next + 1 } else { 0 };
        Some(child)
    }

    /// The child of a node with this key.
    fn child(&mut self, node: u32, key: &str) -> u32 {
        self.expected(node, key.as_bytes()).unwrap_or_else(|| self.other_child(node, key))
    }

    fn other_child(&mut self, node: u32, key: &str) -> u32 {
        let key = if is_listed(key) { KEYED } else { key };
        let full = self.nodes.len() >= NODES;
        let found = self.index.get(&(node, Box::from(key))).copied();
        let child = match found {
            Some(child) => child,
            None if full && key != OTHER => return self.other_child(node, OTHER),
            None => {
                let child = u32::try_from(self.nodes.len()).unwrap_or(0);
                self.nodes.push(Node { parent: node, key: key.into(), ..Node::default() });
                self.nodes[node as usize].children.push(child);
                self.index.insert((node, key.into()), child);
                child
            }
        };
        let parent = &mut self.nodes[node as usize];
        let at = parent.children.iter().position(|one| *one == child).unwrap_or(0);
        parent.next = if at + 1 < parent.children.len() { at + 1 } else { 0 };
        child
    }
}

/// Whether a key is a number or a GUID.
fn is_listed(key: &str) -> bool {
    let digits = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    digits || crate::values::guid(key.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(text: &str) -> (Walk, Vec<String>) {
        let mut paths = Paths::default();
        let walk = paths.walk(text.as_bytes(), &mut |_, _, _, _| {});
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
        assert_eq!(walk, Walk { end: 50, ..Walk::default() });
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
        assert_eq!(paths.len(), NODES + 1);
        assert!(paths.last().unwrap().starts_with("{other}:number 10001x"), "{:?}", paths.last());
        let (_, paths) = walked(r#"{"12":1,"110d559f-dea5-42ea-9c1c-8a5df7e70ef9":2}"#);
        assert_eq!(paths[1], "{}:number 2x 2/4 max 1 elements 0");
    }
}
