//! Unique stacks as raw addresses, and what dumps teach about them.
//!
//! A recording has millions of samples and some thousand unique stacks, so each is looked up by its
//! addresses and everything later works on the unique ones. A stack found by frame pointers is one
//! *variant* per thread and stack pointer: in glibc's wrappers (built without frame pointers) the
//! chain loses a caller, and two callers then look alike; where the stack pointer stood tells them
//! apart. When a dump of the same switch is unwound by DWARF, the variant learns its true user
//! frames, for all its other samples too. Two dumps that disagree teach nothing.

use culprit_model::StackId;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher as _;

use crate::managed::ManagedCode;
use crate::space::SpaceId;

/// A unique stack of this recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RawStack(pub(crate) u32);

/// In a chain: user frames follow (include/uapi/linux/perf_event.h). The kernel's part, if there is
/// one, comes first and begins with a marker of its own.
const CONTEXT_USER: u64 = (-512_i64).cast_unsigned();
/// Anything at or above this is a marker, not an address (`PERF_CONTEXT_MAX`).
const CONTEXT_FIRST: u64 = (-4095_i64).cast_unsigned();

/// Unique stacks beyond this are no longer told apart by stack pointer. At some 300 bytes each,
/// the key included, this is the bulk of the recorder's bounded memory.
const MOST_VARIANTS: usize = 400_000;

/// What is known of the true user frames.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Learned {
    #[default]
    Nothing,
    Chain(Box<[u64]>),
    Contradiction,
}

#[derive(Debug)]
struct Entry {
    space: SpaceId,
    /// Thread and stack pointer (zeros when they do not matter), then the chain.
    key: Box<[u64]>,
    learned: Learned,
    stack: Option<StackId>,
}

/// Every unique stack.
#[derive(Debug, Default)]
pub(crate) struct RawStacks {
    table: HashTable<u32>,
    entries: Vec<Entry>,
    scratch: Vec<u64>,
    /// The first entry that may lack a `StackId`.
    unresolved: usize,
    key_words: usize,
}

/// Which of the stacks with the same frame-pointer chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Variant {
    /// The thread.
    pub(crate) thread: u32,
    /// Where its user stack pointer stood.
    pub(crate) stack_pointer: u64,
}

impl RawStacks {
    /// The unique stack of a chain.
    pub(crate) fn intern(&mut self, space: SpaceId, variant: Variant, chain: &[u64]) -> RawStack {
        let variant = if self.entries.len() < MOST_VARIANTS { variant } else { Variant::default() };
        self.scratch.clear();
        self.scratch.extend([u64::from(variant.thread), variant.stack_pointer]);
        self.scratch.extend_from_slice(chain);
        let (key, entries) = (&self.scratch, &self.entries);
        let hash = hash(space, key);
        let same = |at: &u32| {
            let entry = &entries[*at as usize];
            entry.space == space && *entry.key == **key
        };
        if let Some(at) = self.table.find(hash, same) {
            return RawStack(*at);
        }
        let at = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        self.key_words += key.len();
        self.entries.push(Entry {
            space,
            key: self.scratch.as_slice().into(),
            learned: Learned::default(),
            stack: None,
        });
        let entries = &self.entries;
        self.table.insert_unique(hash, at, |at| {
            let entry = &entries[*at as usize];
            self::hash(entry.space, &entry.key)
        });
        RawStack(at)
    }

    /// The stack with the kernel's frames of `stack` and these user frames.
    pub(crate) fn exact(&mut self, stack: RawStack, user: &[u64]) -> RawStack {
        let space = self.space(stack);
        let chain = join(split(self.chain(stack)).0, user);
        self.intern(space, Variant::default(), &chain)
    }

    /// A sample of this stack has the user frames `user`: a dump was unwound to them, or the block that was
    /// allocated has the size that is their first word.
    pub(crate) fn learn(&mut self, stack: RawStack, user: &[u64]) {
        let entry = &mut self.entries[stack.0 as usize];
        entry.learned = match std::mem::take(&mut entry.learned) {
            Learned::Nothing => Learned::Chain(user.into()),
            Learned::Chain(known) if *known == *user => Learned::Chain(known),
            // One of the two was copied before the runtime's frames were known.
            Learned::Chain(known) if has_sites(&known) && !has_sites(user) => Learned::Chain(known),
            Learned::Chain(known) if !has_sites(&known) && has_sites(user) => {
                Learned::Chain(user.into())
            }
            _ => Learned::Contradiction,
        };
    }

    /// The space that a stack's addresses belong to.
    pub(crate) fn space(&self, stack: RawStack) -> SpaceId {
        self.entries[stack.0 as usize].space
    }

    /// A stack's addresses as they were recorded.
    pub(crate) fn chain(&self, stack: RawStack) -> &[u64] {
        self.entries[stack.0 as usize].key.get(2..).unwrap_or(&[])
    }

    /// A stack's addresses with the user frames that a dump taught; none when nothing was learnt.
    pub(crate) fn repaired(&self, stack: RawStack) -> Option<Vec<u64>> {
        let Learned::Chain(user) = &self.entries[stack.0 as usize].learned else { return None };
        let (kernel, known) = split(self.chain(stack));
        if known == &**user {
            return None;
        }
        Some(join(kernel, user))
    }

    /// The row that a stack was given.
    pub(crate) fn row(&self, stack: RawStack) -> Option<StackId> {
        self.entries[stack.0 as usize].stack
    }

    /// Gives a stack its row.
    pub(crate) fn set_row(&mut self, stack: RawStack, row: Option<StackId>) {
        self.entries[stack.0 as usize].stack = row;
    }

    /// The stacks that have been seen since the last call.
    pub(crate) fn take_new(&mut self) -> impl Iterator<Item = RawStack> + use<> {
        let first = std::mem::replace(&mut self.unresolved, self.entries.len());
        let range = first..self.entries.len();
        range.map(|at| RawStack(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    /// Every stack whose addresses are still kept.
    pub(crate) fn kept(&self) -> impl Iterator<Item = RawStack> + '_ {
        let kept = self.entries.iter().enumerate().filter(|(_, entry)| !entry.key.is_empty());
        kept.map(|(at, _)| RawStack(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    /// Drops the addresses of stacks of a space that is no more; their rows stay.
    pub(crate) fn forget(&mut self, stacks: &[RawStack]) {
        for stack in stacks {
            let at = stack.0;
            let entry = &mut self.entries[at as usize];
            let hash = hash(entry.space, &entry.key);
            if let Ok(found) = self.table.find_entry(hash, |known| *known == at) {
                found.remove();
            }
            self.key_words -= entry.key.len();
            entry.key = Box::default();
            entry.learned = Learned::Nothing;
        }
    }
}

/// The kernel part and the user part of a chain, without the user marker.
pub(crate) fn split(chain: &[u64]) -> (&[u64], &[u64]) {
    match chain.iter().position(|word| *word == CONTEXT_USER) {
        Some(at) => (&chain[..at], &chain[at + 1..]),
        None => (chain, &[]),
    }
}

/// A chain of a kernel part (with its marker) and user frames.
pub(crate) fn join(kernel: &[u64], user: &[u64]) -> Vec<u64> {
    let mut chain = Vec::with_capacity(kernel.len() + 1 + user.len());
    chain.extend_from_slice(kernel);
    if !user.is_empty() {
        chain.push(CONTEXT_USER);
        chain.extend_from_slice(user);
    }
    chain
}

/// Whether frames of a chain are known by more than their addresses.
fn has_sites(chain: &[u64]) -> bool {
    ManagedCode::has_sites(chain)
}

/// Whether a word of a chain is a marker.
pub(crate) const fn is_marker(word: u64) -> bool {
    word >= CONTEXT_FIRST
}

fn hash(space: SpaceId, key: &[u64]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(space.0);
    for word in key {
        hasher.write_u64(*word);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT_KERNEL: u64 = (-128_i64).cast_unsigned();
    const SPACE: SpaceId = SpaceId(1);
    const CHAIN: [u64; 5] = [CONTEXT_KERNEL, 900, CONTEXT_USER, 10, 30];

    fn at(stack_pointer: u64) -> Variant {
        Variant { thread: 1, stack_pointer }
    }

    #[test]
    fn the_same_chain_is_one_stack_per_space_thread_and_stack_pointer() {
        let mut stacks = RawStacks::default();
        let first = stacks.intern(SPACE, at(100), &CHAIN);
        assert_eq!(stacks.intern(SPACE, at(100), &CHAIN), first);
        assert_ne!(stacks.intern(SPACE, at(200), &CHAIN), first);
        assert_ne!(stacks.intern(SpaceId(2), at(100), &CHAIN), first);
        assert_eq!(stacks.chain(first), CHAIN);
        assert_eq!(stacks.take_new().count(), 3);
        assert_eq!(stacks.take_new().count(), 0);
    }

    #[test]
    fn a_dump_restores_the_caller_that_frame_pointers_lose() {
        let mut stacks = RawStacks::default();
        let stack = stacks.intern(SPACE, at(100), &CHAIN);
        assert_eq!(stacks.repaired(stack), None);
        stacks.learn(stack, &[10, 20, 30]);
        stacks.learn(stack, &[10, 20, 30]);
        let expected = vec![CONTEXT_KERNEL, 900, CONTEXT_USER, 10, 20, 30];
        assert_eq!(stacks.repaired(stack), Some(expected));
    }

    #[test]
    fn dumps_that_disagree_teach_nothing() {
        let mut stacks = RawStacks::default();
        let stack = stacks.intern(SPACE, at(100), &CHAIN);
        stacks.learn(stack, &[10, 20, 30]);
        stacks.learn(stack, &[10, 21, 30]);
        stacks.learn(stack, &[10, 20, 30]);
        assert_eq!(stacks.repaired(stack), None);
    }

    #[test]
    fn a_forgotten_stack_keeps_its_row_and_is_not_found_again() {
        let mut stacks = RawStacks::default();
        let stack = stacks.intern(SPACE, at(100), &CHAIN);
        stacks.set_row(stack, Some(StackId(7)));
        stacks.forget(&[stack]);
        assert_eq!(stacks.row(stack), Some(StackId(7)));
        assert_eq!(stacks.kept().count(), 0);
        assert_ne!(stacks.intern(SPACE, at(100), &CHAIN), stack);
    }
}
