//! Which paths a JSON text has, how many values each, how large.
//!
//! A path is a node of a tree; the children of an object's node are its keys, the only child of an
//! array's node is its elements. Objects of one kind have their keys in one order, so the key that
//! followed the last time is expected next: most keys cost one comparison.

use rustc_hash::FxHashMap;

use super::label::Label;
use crate::schema::ValueKind;

/// Nodes of one tree at most. Keys beyond become one path, named [`OTHER`].
const NODES: usize = 20_000;
/// The name of keys that are numbers or GUIDs: such an object is a list.
const KEYED: &str = "{}";
/// The name of keys that came after the tree was full.
const OTHER: &str = "{other}";
/// The name of an array's elements.
const ELEMENTS: &str = "[]";
/// Children of a node that are looked at one by one; more are found by an index.
const FEW: usize = 16;
/// Where no node is.
pub(super) const NOTHING: u32 = u32::MAX;

/// What the values at a path are for whoever walks: its own number.
pub(crate) type Role = u8;
/// Values that nobody asked for.
pub(crate) const NO_ROLE: Role = 0;

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

/// A path.
#[derive(Debug)]
struct Node {
    /// How its key was written last.
    label: Label,
    /// The key that followed it the last time.
    follower: u32,
    /// The key that objects here began with the last time.
    first: u32,
    /// The elements of arrays here.
    elements: u32,
    role: Role,
    depth: u32,
    parent: u32,
    /// Which object had this key last, to find keys that an object has twice.
    last_object: u64,
    totals: [Totals; 6],
    key: Box<str>,
    children: Vec<u32>,
}

impl Node {
    fn new(key: &str, (parent, depth): (u32, u32), role: Role) -> Self {
        Self {
            label: Label::default(),
            follower: NOTHING,
            first: NOTHING,
            elements: NOTHING,
            role,
            depth,
            parent,
            last_object: 0,
            totals: [Totals::default(); 6],
            key: key.into(),
            children: Vec::new(),
        }
    }

    /// True when different keys have this path.
    fn is_shared(&self) -> bool {
        matches!(&*self.key, KEYED | OTHER)
    }
}

/// The tree of one facet's paths.
#[derive(Debug)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    /// Children of objects with many keys.
    index: FxHashMap<(u32, Box<str>), u32>,
    objects: u64,
    roles: fn(u32, &str) -> Role,
}

/// What stands in for a tree while it is walked.
impl Default for Paths {
    fn default() -> Self {
        let (nodes, index) = (Vec::new(), FxHashMap::default());
        Self { nodes, index, objects: 0, roles: |_, _| NO_ROLE }
    }
}

impl Paths {
    /// No paths yet. `roles` says what a path is for: it gets its depth, which is 0 for the root, and
    /// its key.
    pub(crate) fn new(roles: fn(u32, &str) -> Role) -> Self {
        let root = Node::new("", (0, 0), roles(0, ""));
        Self { nodes: vec![root], index: FxHashMap::default(), objects: 0, roles }
    }

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
            if *part != ELEMENTS && !name.is_empty() {
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

    /// Counts a value. What it is for.
    #[inline]
    pub(super) fn count(
        &mut self,
        node: u32,
        kind: ValueKind,
        sizes: (usize, usize),
        elements: u64,
    ) -> Role {
        let Some(node) = self.nodes.get_mut(node as usize) else { return NO_ROLE };
        node.totals[kind as usize].add(sizes, elements);
        node.role
    }

    /// What values of a node are for.
    #[inline]
    pub(super) fn role(&self, node: u32) -> Role {
        self.nodes.get(node as usize).map_or(NO_ROLE, |node| node.role)
    }

    /// A number for the next object.
    #[inline]
    pub(super) fn next_object(&mut self) -> u64 {
        self.objects += 1;
        self.objects
    }

    /// Notes that an object has a key. True when it has had it before.
    #[inline]
    pub(super) fn is_again(&mut self, child: u32, object: u64) -> bool {
        let Some(child) = self.nodes.get_mut(child as usize) else { return false };
        let before = std::mem::replace(&mut child.last_object, object);
        before == object && !child.is_shared()
    }

    /// The key that is expected after another one of the same object, or as its first, and how it is
    /// written; none when nothing is.
    #[inline]
    pub(super) fn expected(&self, object: u32, last: u32) -> Option<(u32, &Label)> {
        let next = match self.nodes.get(last as usize) {
            Some(last) => last.follower,
            None => self.nodes.get(object as usize)?.first,
        };
        Some((next, &self.nodes.get(next as usize)?.label))
    }

    /// The child of an object with this key, which follows another one or is the first. `written` is how
    /// its source writes the key, where that is always the same.
    pub(super) fn child(
        &mut self,
        object: u32,
        last: u32,
        key: &str,
        written: Option<Label>,
    ) -> u32 {
        let child = self.named(object, if is_listed(key) { KEYED } else { key });
        let node = &mut self.nodes[child as usize];
        if let Some(label) = written.filter(|_| !node.is_shared()) {
            node.label = label;
        }
        match self.nodes.get_mut(last as usize) {
            Some(last) => last.follower = child,
            None => self.nodes[object as usize].first = child,
        }
        child
    }

    /// The elements of an array.
    #[inline]
    pub(super) fn elements(&mut self, array: u32) -> u32 {
        match self.nodes.get(array as usize) {
            Some(node) if node.elements != NOTHING => node.elements,
            _ => {
                let elements = self.named(array, ELEMENTS);
                self.nodes[array as usize].elements = elements;
                elements
            }
        }
    }

    /// The child of this name, which is made when there is none.
    fn named(&mut self, parent: u32, key: &str) -> u32 {
        let children = &self.nodes[parent as usize].children;
        let found = match children.len() {
            0..=FEW => {
                children.iter().find(|child| *self.nodes[**child as usize].key == *key).copied()
            }
            _ => self.index.get(&(parent, Box::from(key))).copied(),
        };
        match found {
            Some(child) => child,
            None if self.nodes.len() >= NODES && key != OTHER => self.named(parent, OTHER),
            None => self.make(parent, key),
        }
    }

    fn make(&mut self, parent: u32, key: &str) -> u32 {
        let child = u32::try_from(self.nodes.len()).unwrap_or(0);
        let depth = self.nodes[parent as usize].depth + 1;
        self.nodes.push(Node::new(key, (parent, depth), (self.roles)(depth, key)));
        self.nodes[parent as usize].children.push(child);
        self.index.insert((parent, key.into()), child);
        child
    }
}

/// Whether a key is a number or a GUID.
fn is_listed(key: &str) -> bool {
    let digits = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    digits || crate::values::guid(key.as_bytes()).is_some()
}
