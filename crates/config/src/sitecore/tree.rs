//! The tree of elements that is patched. Each attribute knows every assignment of it.

use std::hash::{Hash as _, Hasher as _};
use std::ops::Deref;
use std::sync::Arc;

use culprit_model::Text;
use rustc_hash::{FxHashMap, FxHasher};

use super::xpath::Elements;
use crate::ledger::Ledger;
use crate::provenance::Op;

/// An element's name or an attribute's name, kept once a tree.
#[derive(Debug, Clone)]
pub(super) struct Name(Arc<NameParts>);

/// What a name is made of.
#[derive(Debug)]
pub(super) struct NameParts {
    /// The namespace; empty: none.
    pub(super) space: Text,
    pub(super) local: Text,
    /// Its number in the tree.
    number: u32,
}

impl Deref for Name {
    type Target = NameParts;
    fn deref(&self) -> &NameParts {
        &self.0
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// A value with its history: of an attribute, or the text of an element.
#[derive(Debug)]
pub(super) struct Cell {
    /// The attribute's name; none for the text.
    pub(super) name: Option<Name>,
    /// The value now; none if it was removed.
    pub(super) value: Option<Text>,
    /// Its strongest assignment.
    last: u32,
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
    identify: Vec<Text>,
    /// Children by parent and by the hash of what they are looked for by.
    index: FxHashMap<(u32, u64), Few>,
    /// The names of each local name.
    names: FxHashMap<Text, Vec<Name>>,
    /// How many names there are.
    name_count: u32,
    /// The assignment of the same cell before an assignment, where there is one: most cells have one alone.
    before: FxHashMap<u32, u32>,
}

/// Elements, of which most keys have one.
#[derive(Debug)]
enum Few {
    One([u32; 1]),
    More(Vec<u32>),
}

impl Few {
    fn all(&self) -> &[u32] {
        match self {
            Self::One(one) => one,
            Self::More(more) => more,
        }
    }

    fn push(&mut self, at: u32) {
        match self {
            Self::One([first]) => *self = Self::More(vec![*first, at]),
            Self::More(more) => more.push(at),
        }
    }
}

/// A plain attribute of a patch: name and value.
pub(super) type Wanted<'a> = (Name, &'a str);

impl Tree {
    pub(super) fn new(root: &str, identify: &[String]) -> Self {
        let mut tree = Self {
            elements: Vec::new(),
            identify: identify.iter().map(Text::from).collect(),
            index: FxHashMap::default(),
            names: FxHashMap::default(),
            name_count: 0,
            before: FxHashMap::default(),
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

    /// A name, each of which is kept once.
    pub(super) fn name(&mut self, space: Option<&str>, local: &str) -> Name {
        let space = space.unwrap_or_default();
        let known = self.names.get(local).map_or(&[][..], Vec::as_slice);
        if let Some(known) = known.iter().find(|name| name.space == *space) {
            return known.clone();
        }
        let (space, number) = (Text::from(space), self.name_count);
        let name = Name(Arc::new(NameParts { space, local: Text::from(local), number }));
        self.name_count += 1;
        self.names.entry(name.local.clone()).or_default().push(name.clone());
        name
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
    pub(super) fn value(&self, at: u32, name: Option<&Name>) -> Option<&Text> {
        let cell = self.element(at).cells.iter().find(|cell| cell.name.as_ref() == name);
        cell.and_then(|cell| cell.value.as_ref())
    }

    /// Lets an assignment set or remove a cell.
    pub(super) fn set(
        &mut self,
        at: u32,
        name: Option<&Name>,
        assignment: usize,
        ledger: &mut Ledger,
    ) {
        let removes = ledger.assignments[assignment].op == Op::DeleteAttribute;
        let value = (!removes).then(|| ledger.shared(assignment));
        let assignment = crate::position::number(assignment);
        let is_known_by = name.is_some_and(|name| self.identify.contains(&name.local));
        let cells = &mut self.elements[at as usize].cells;
        let cell = match cells.iter().position(|cell| cell.name.as_ref() == name) {
            Some(at) => {
                self.before.insert(assignment, cells[at].last);
                &mut cells[at]
            }
            None => {
                let name = name.cloned();
                cells.push(Cell { name, value: None, last: assignment, winner: None });
                let last = cells.len() - 1;
                &mut cells[last]
            }
        };
        cell.last = assignment;
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
            Some((name.as_str(), cell.value.as_deref()?))
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
            let Some(few) = self.index.get_mut(&(parent, key)) else {
                self.index.insert((parent, key), Few::One([at]));
                continue;
            };
            // It is indexed anew each time that an attribute of it is set.
            let list = few.all();
            if list.last() != Some(&at) && !(list.len() < 8 && list.contains(&at)) {
                few.push(at);
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
                    self.value(*at, Some(name)).is_some_and(|own| *own == **value)
                })
        };
        let mut found: Vec<u32> = candidates.all().iter().copied().filter(fits).collect();
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
        candidates.map(|all| all.all().iter().filter(own).copied().collect()).unwrap_or_default()
    }

    /// All children of a parent with this name.
    pub(super) fn named(&self, parent: u32, name: &Name) -> &[u32] {
        self.index.get(&(parent, key(name, None))).map_or(&[], Few::all)
    }

    /// The assignments of a cell, weakest first.
    pub(super) fn chain(&self, cell: &Cell) -> Vec<usize> {
        let strongest_first =
            std::iter::successors(Some(cell.last), |at| self.before.get(at).copied());
        let mut chain: Vec<usize> = strongest_first.map(|at| at as usize).collect();
        chain.reverse();
        chain
    }

    /// The assignment of a cell that has one alone.
    pub(super) fn only_assignment(&self, cell: &Cell) -> Option<usize> {
        (!self.before.contains_key(&cell.last)).then_some(cell.last as usize)
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
    (name.number, identity).hash(&mut hasher);
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
        let own = |cell: &&Cell| cell.name.as_ref().is_some_and(|own| own.local == *name);
        self.element(node).cells.iter().find(own).and_then(|cell| cell.value.as_deref())
    }
}
