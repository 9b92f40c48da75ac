//! The stacks of a recording as a prefix tree of names, whoever's they are.
//!
//! ```text
//! stacks  parent  frame                 nodes  parent  name
//!   0       -     main (at 0x10)          0      -     main
//!   1       0     f                       1      0     f
//!   2       -     main (at 0x18)          2      0     g
//!   3       2     g                       of_stack: 0 1 0 2
//! ```
//!
//! Frames that differ but in their address are one name, and a name that calls itself directly is
//! one node: that is what every view makes of them. Nodes stand in preorder, so that a walk over a
//! part of them stays within the processor's caches.

use std::hash::{BuildHasher as _, BuildHasherDefault};

use culprit_model::{FrameId, Recording, Text};
use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

use super::index::{NONE, RawName};
use crate::run_time::is_link;

/// The module of names that are no frames.
const NO_MODULE: u32 = u32::MAX;
/// The module of frames whose module is unknown.
const UNKNOWN_MODULE: u32 = u32::MAX - 1;

/// Every name of an index, each once.
#[derive(Debug, Default)]
pub(super) struct RawNames {
    pub(super) list: Vec<RawName>,
    known: FxHashMap<(u32, Text), u32>,
}

impl RawNames {
    /// The number of a name that is no frame.
    pub(super) fn text(&mut self, text: &str, numbered: bool) -> u32 {
        let text = Text::from(text);
        self.intern(NO_MODULE, text.clone(), || RawName { text, path: None, numbered })
    }

    /// The number of a frame's name.
    fn frame(&mut self, recording: &Recording, id: FrameId) -> u32 {
        let frame = recording.frame(id);
        let module = frame.module.map(|module| recording.module(module));
        let number = frame.module.map_or(UNKNOWN_MODULE, |module| module.0);
        self.intern(number, frame.function.clone(), || RawName {
            text: recording.frame_name(id).into(),
            path: module.filter(|m| m.path != m.name).map(|m| m.path.clone()),
            numbered: is_link(frame),
        })
    }

    fn intern(&mut self, module: u32, text: Text, name: impl FnOnce() -> RawName) -> u32 {
        let list = &mut self.list;
        *self.known.entry((module, text)).or_insert_with(|| {
            list.push(name());
            u32::try_from(list.len() - 1).unwrap_or(NONE)
        })
    }
}

/// The prefix tree.
#[derive(Debug)]
pub(super) struct Trie {
    /// Caller of each node, [`NONE`] for the outermost.
    pub(super) parent: Vec<u32>,
    /// Name of each node.
    pub(super) name: Vec<u32>,
    /// The node of each stack of the recording.
    pub(super) of_stack: Vec<u32>,
    /// Of each node, whether its frames were guessed in all stacks; empty where none was in any.
    pub(super) guessed: Vec<bool>,
}

impl Trie {
    /// The tree of a recording's stacks. Linear in them.
    pub(super) fn of(recording: &Recording, names: &mut RawNames) -> Self {
        let mut trie = Self::in_order_of_stacks(recording, names);
        let place = places(&trie.parent);
        let mut parent = vec![NONE; place.len()];
        let mut name = vec![NONE; place.len()];
        for (at, new) in place.iter().enumerate() {
            parent[*new as usize] = place.get(trie.parent[at] as usize).copied().unwrap_or(NONE);
            name[*new as usize] = trie.name[at];
        }
        (trie.parent, trie.name) = (parent, name);
        if !trie.guessed.is_empty() {
            let mut guessed = vec![false; place.len()];
            for (own, new) in trie.guessed.iter().zip(&place) {
                guessed[*new as usize] = *own;
            }
            trie.guessed = guessed;
        }
        trie.of_stack.iter_mut().for_each(|node| *node = place[*node as usize]);
        trie
    }

    fn in_order_of_stacks(recording: &Recording, names: &mut RawNames) -> Self {
        let stacks = recording.stacks.len();
        let hasher = BuildHasherDefault::<FxHasher>::default();
        let mut frames = vec![NONE; recording.frames.len()];
        let mut known: HashTable<u32> = HashTable::with_capacity(stacks);
        let mut parent: Vec<u32> = Vec::with_capacity(stacks);
        let mut name: Vec<u32> = Vec::with_capacity(stacks);
        let mut of_stack: Vec<u32> = Vec::with_capacity(stacks);
        for stack in &recording.stacks {
            let own = &mut frames[stack.frame.index()];
            if *own == NONE {
                *own = names.frame(recording, stack.frame);
            }
            let own = *own;
            let above = stack.parent.and_then(|above| of_stack.get(above.index()).copied());
            let above = above.unwrap_or(NONE);
            if above != NONE && name[above as usize] == own {
                of_stack.push(above);
                continue;
            }
            let same = |at: &u32| (parent[*at as usize], name[*at as usize]) == (above, own);
            let hash =
                |above: u32, own: u32| hasher.hash_one(u64::from(above) << 32 | u64::from(own));
            let node = match known.find(hash(above, own), same) {
                Some(node) => *node,
                None => {
                    let node = u32::try_from(parent.len()).unwrap_or(NONE);
                    parent.push(above);
                    name.push(own);
                    let again = |at: &u32| hash(parent[*at as usize], name[*at as usize]);
                    known.insert_unique(hash(above, own), node, again);
                    node
                }
            };
            of_stack.push(node);
        }
        let guessed = guessed(recording, &of_stack, parent.len());
        Self { parent, name, of_stack, guessed }
    }
}

/// Of each node, whether its frames were guessed in all stacks; nothing where none was in any.
fn guessed(recording: &Recording, of_stack: &[u32], nodes: usize) -> Vec<bool> {
    let is_guess = |frame: FrameId| recording.frame(frame).guessed.is_some();
    if recording.frames.iter().all(|frame| frame.guessed.is_none()) {
        return Vec::new();
    }
    let mut guessed = vec![true; nodes];
    for (stack, node) in recording.stacks.iter().zip(of_stack) {
        guessed[*node as usize] &= is_guess(stack.frame);
    }
    guessed
}

/// The place of each node of a forest in preorder; a parent comes before its children there and
/// here, and children keep their order.
pub(super) fn places(parent: &[u32]) -> Vec<u32> {
    let mut size = vec![1_u32; parent.len()];
    for at in (0..parent.len()).rev() {
        let own = size[at];
        if let Some(above) = size.get_mut(parent[at] as usize) {
            *above += own;
        }
    }
    // From here on, of the nodes that have a place: where their next child goes.
    let mut next = size;
    let mut top = 0;
    let mut place = Vec::with_capacity(parent.len());
    for (at, above) in parent.iter().enumerate() {
        let size = next[at];
        let free = next.get_mut(*above as usize).unwrap_or(&mut top);
        let own = *free;
        *free += size;
        next[at] = own + 1;
        place.push(own);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_placed_before_all_that_hang_on_them() {
        //  0 < 2 < 3, 0 < 5, 1 < 4
        assert_eq!(places(&[NONE, NONE, 0, 2, 1, 0]), [0, 4, 1, 2, 5, 3]);
        assert!(places(&[]).is_empty());
    }
}
