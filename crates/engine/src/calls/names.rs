//! Names of call-tree nodes as small numbers: equal text, equal number.

use culprit_model::Text;
use rustc_hash::FxHashMap;

/// A name in a [`Names`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NameId(pub(super) u32);

impl NameId {
    /// The name's place in [`Names::ids`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// Every name of a call tree, each once, in the order of first use.
#[derive(Debug, Clone, Default)]
pub struct Names {
    texts: Vec<Text>,
    ids: FxHashMap<Text, NameId>,
}

impl Names {
    /// The number of a name, new or known.
    pub(super) fn intern(&mut self, name: &Text) -> NameId {
        if let Some(known) = self.find(name) {
            return known;
        }
        let id = NameId(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(name.clone());
        self.ids.insert(name.clone(), id);
        id
    }

    /// The number of a known name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    /// The name's text.
    #[must_use]
    pub fn text(&self, id: NameId) -> &Text {
        &self.texts[id.index()]
    }

    /// Every number in order.
    pub fn ids(&self) -> impl Iterator<Item = NameId> + use<> {
        (0..u32::try_from(self.texts.len()).unwrap_or(u32::MAX)).map(NameId)
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// True when there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
