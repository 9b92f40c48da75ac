//! The tree of elements that is patched. Each attribute knows every assignment of it.

use std::hash::{Hash, Hasher as _};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::xpath::Elements;
use crate::ledger::Ledger;

/// An element's name or an attribute's name, with its namespace; empty: none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) space: Rc<str>,
    pub(super) local: Rc<str>,
}

/// A value with its history: of an attribute, or the text of an element.
#[derive(Debug)]
pub(super) struct Cell {
    /// The attribute's name; none for the text.
    pub(super) name: Option<Name>,
    /// The value now; none if it was removed.
    pub(super) value: Option<Rc<str>>,
    /// Its assignments, weakest first.
    pub(super) chain: Vec<u32>,
    /// The one that counts.
    pub(super) winner: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: Name,
    pub(super) parent: u32,
    pub(super) children: Vec<u32>,
    pub(super) cells: Vec<Cell>,
    /// The assignment that removed it.
    pub(super) removed_by: Option<u32>,
}

/// The tree. Element 0 is its root.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) elements: Vec<Element>,
    /// Attributes that tell elements of one name apart.
    identify: Vec<Rc<str>>,
    /// Children by parent and by the hash of what they are looked for by.
    index: FxHashMap<(u32, u64), Vec<u32>>,
    names: FxHashSet<Rc<str>>,
}

/// A plain attribute of a patch: name and value.
pub(super) type Wanted<'a> = (Name, &'a str);

impl Tree {
    pub(super) fn new(root: &str, identify: &[String]) -> Self {
        let mut tree = Self {
            elements: Vec::new(),
            identify: identify.iter().map(|name| Rc::from(name.as_str())).collect(),
            index: FxHashMap::default(),
            names: FxHashSet::default(),
        };
        let name = tree.name(None, root);
        tree.elements.push(Element {
            name,
            parent: 0,
            children: Vec::new(),
            cells: Vec::new(),
            removed_by: None,
        });
        tree
    }

    /// A name, each text of which is kept once.
    pub(super) fn name(&mut self, space: Option<&str>, local: &str) -> Name {
        let mut one = |text: &str| match self.names.get(text) {
            Some(known) => Rc::clone(known),
            None => {
                let new: Rc<str> = Rc::from(text);
                self.names.insert(Rc::clone(&new));
                new
            }
        };
        Name { space: one(space.unwrap_or_default()), local: one(local) }
    }

    pub(super) fn element(&self, at: u32) -> &Element {
        &self.elements[at as usize]
    }

    pub(super) fn element_mut(&mut self, at: u32) -> &mut Element {
        &mut self.elements[at as usize]
    }

    /// Makes an element that has no place yet.
    pub(super) fn create(&mut self, name: Name, parent: u32) -> u32 {
        self.elements.push(Element {
            name,
            parent,
            children: Vec::new(),
            cells: Vec::new(),
            removed_by: None,
        });
        let at = crate::position::number(self.elements.len() - 1);
        self.index_child(at);
        at
    }

    /// Puts a new element behind all others of its parent.
    pub(super) fn append(&mut self, child: u32) {
        let parent = self.element(child).parent;
        self.element_mut(parent).children.push(child);
    }

    /// Puts an element behind or before another one of its parent, or at the end.
    pub(super) fn place(&mut self, child: u32, beside: Option<(u32, bool)>) {
        let parent = self.element(child).parent;
        self.detach(child);
        let siblings = &mut self.element_mut(parent).children;
        let at = beside.and_then(|(other, behind)| {
            Some(siblings.iter().position(|one| *one == other)? + usize::from(behind))
        });
        siblings.insert(at.unwrap_or(siblings.len()), child);
    }

    /// Takes an element out of its parent.
    pub(super) fn detach(&mut self, child: u32) {
        let parent = self.element(child).parent;
        let siblings = &mut self.element_mut(parent).children;
        // A new one stands at the end.
        if let Some(at) = siblings.iter().rposition(|one| *one == child) {
            siblings.remove(at);
        }
    }

    /// The value of a cell; `None` as the name stands for the text.
    pub(super) fn value(&self, at: u32, name: Option<&Name>) -> Option<&Rc<str>> {
        let cell = self.element(at).cells.iter().find(|cell| cell.name.as_ref() == name);
        cell.and_then(|cell| cell.value.as_ref())
    }

    /// Lets an assignment set a cell. A value of none removes it.
    pub(super) fn set(
        &mut self,
        at: u32,
        name: Option<&Name>,
        value: Option<&str>,
        assignment: usize,
        ledger: &mut Ledger,
    ) {
        let assignment = crate::position::number(assignment);
        let value: Option<Rc<str>> = value.map(Rc::from);
        let is_known_by = name.is_some_and(|name| self.identify.contains(&name.local));
        let cells = &mut self.element_mut(at).cells;
        let cell = match cells.iter().position(|cell| cell.name.as_ref() == name) {
            Some(at) => &mut cells[at],
            None => {
                let (name, chain) = (name.cloned(), Vec::with_capacity(1));
                cells.push(Cell { name, value: None, chain, winner: None });
                let last = cells.len() - 1;
                &mut cells[last]
            }
        };
        cell.chain.push(assignment);
        let loser = cell.winner.take();
        cell.winner = value.is_some().then_some(assignment);
        cell.value = value;
        if let Some(loser) = loser {
            ledger.supersede(loser as usize, assignment as usize);
        }
        if is_known_by {
            self.index_child(at);
        }
    }

    /// The attribute that tells an element apart: name and value.
    pub(super) fn identity(&self, at: u32) -> Option<(&str, &str)> {
        let cells = &self.element(at).cells;
        self.identify.iter().find_map(|name| {
            let own = |cell: &&Cell| {
                cell.name.as_ref().is_some_and(|own| own.space.is_empty() && own.local == *name)
            };
            // An element that was removed is still called what it was.
            let cell = cells.iter().find(own)?;
            Some((name.as_ref(), cell.value.as_deref()?))
        })
    }

    fn index_child(&mut self, at: u32) {
        let element = self.element(at);
        let mut keys = vec![key(&element.name, None)];
        for cell in &element.cells {
            if let (Some(name), Some(value)) = (&cell.name, &cell.value)
                && self.identify.contains(&name.local)
            {
                keys.push(key(&element.name, Some((&name.local, value))));
            }
        }
        let parent = element.parent;
        for key in keys {
            let list = self.index.entry((parent, key)).or_default();
            // It is indexed anew each time that an attribute of it is set.
            if list.last() != Some(&at) && !(list.len() < 8 && list.contains(&at)) {
                list.push(at);
            }
        }
    }

    /// The children with this name and these attributes, in their order.
    pub(super) fn matching(&self, parent: u32, name: &Name, wanted: &[Wanted<'_>]) -> Vec<u32> {
        let known = wanted
            .iter()
            .find(|(name, _)| name.space.is_empty() && self.identify.contains(&name.local));
        let key = key(name, known.map(|(name, value)| (name.local.as_ref(), *value)));
        let Some(candidates) = self.index.get(&(parent, key)) else { return Vec::new() };
        let fits = |at: &u32| {
            let element = self.element(*at);
            element.removed_by.is_none()
                && element.name == *name
                && wanted.iter().all(|(name, value)| {
                    self.value(*at, Some(name)).is_some_and(|own| own.as_ref() == *value)
                })
        };
        let mut found: Vec<u32> = candidates.iter().copied().filter(fits).collect();
        if found.len() > 1 {
            found.sort_unstable();
            found.dedup();
            let order: FxHashMap<u32, usize> = self
                .element(parent)
                .children
                .iter()
                .enumerate()
                .map(|(at, one)| (*one, at))
                .collect();
            found.sort_by_key(|one| order.get(one).copied().unwrap_or(usize::MAX));
        }
        found
    }

    /// The children of a parent with this name and this identity.
    pub(super) fn alike(&self, parent: u32, name: &Name, identity: (&str, &str)) -> Vec<u32> {
        let candidates = self.index.get(&(parent, key(name, Some(identity))));
        let own = |at: &&u32| {
            self.element(**at).removed_by.is_none() && self.identity(**at) == Some(identity)
        };
        candidates.map(|all| all.iter().filter(own).copied().collect()).unwrap_or_default()
    }

    /// All children of a parent with this name.
    pub(super) fn named(&self, parent: u32, name: &Name) -> &[u32] {
        self.index.get(&(parent, key(name, None))).map_or(&[], Vec::as_slice)
    }

    /// An element and all below it, from the top.
    pub(super) fn subtree(&self, at: u32) -> Vec<u32> {
        let mut all = vec![at];
        let mut next = 0;
        while next < all.len() {
            all.extend(&self.element(all[next]).children);
            next += 1;
        }
        all
    }
}

/// The hash of what a child is looked for by.
fn key(name: &Name, identity: Option<(&str, &str)>) -> u64 {
    let mut hasher = FxHasher::default();
    (&name.space, &name.local, identity).hash(&mut hasher);
    hasher.finish()
}

impl Elements for Tree {
    fn children(&self, node: u32) -> &[u32] {
        &self.element(node).children
    }

    fn local_name(&self, node: u32) -> &str {
        &self.element(node).name.local
    }

    fn attribute(&self, node: u32, name: &str) -> Option<&str> {
        let own = |cell: &&Cell| cell.name.as_ref().is_some_and(|own| own.local.as_ref() == name);
        self.element(node).cells.iter().find(own).and_then(|cell| cell.value.as_deref())
    }
}
