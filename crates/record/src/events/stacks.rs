//! Unique stacks as raw addresses, and what dumps teach about them.
//!
//! A recording has millions of samples and some thousand unique stacks, so each is looked up by its
//! addresses and everything later works on the unique ones. A stack found by frame pointers is one
//! *variant* per thread and stack pointer: in glibc's wrappers (built without frame pointers) the
//! chain loses a caller, and two callers then look alike; where the stack pointer stood tells them
//! apart. When a dump of the same switch is unwound by DWARF, the switch has the stack with these true
//! user frames, and the variant learns them for its samples without a dump (`learned`). A dump with other frames
//! begins a new *generation* of the variant: a function that was compiled meanwhile, another caller. The
//! switches before it keep what they had.
//!
//! A dump that is smaller than the stack has its innermost frames only. Frame pointers may lead further:
//!
//! ```text
//! dump             read < uv_fs_read < Read < Call |
//! frame pointers   read <              Read < Call < load < main
//! together         read < uv_fs_read < Read < Call < load < main
//! ```

use culprit_model::StackId;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher as _;

use crate::events::learned::Learned;
use crate::events::space::SpaceId;

/// A unique stack of this recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RawStack(pub(crate) u32);

/// In a chain: user frames follow (include/uapi/linux/perf_event.h). The kernel's part, if there is
/// one, comes first and begins with a marker of its own.
const CONTEXT_USER: u64 = (-512_i64).cast_unsigned();
/// Anything at or above this is a marker, not an address (`PERF_CONTEXT_MAX`).
const CONTEXT_FIRST: u64 = (-4095_i64).cast_unsigned();

/// In a chain: the caller is not known.
pub(crate) const NOWHERE: u64 = 8;

/// Generations of a variant, above which its callers are taken to be a random choice.
const MOST_GENERATIONS: usize = 8;

/// Unique stacks beyond this are no longer told apart by stack pointer. At some 300 bytes each,
/// the key included, this is the bulk of the recorder's bounded memory.
const MOST_VARIANTS: usize = 400_000;

/// How far a walk over a copied stack got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the thread's root.
    Root,
    /// To the end of what was copied.
    CopyEnd,
    /// To a frame that tells nothing of its caller.
    Lost,
}

/// User frames that were unwound, innermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnwoundFrames {
    pub(crate) chain: Vec<u64>,
    pub(crate) reach: Reach,
}

impl UnwoundFrames {
    /// What these frames and those by frame pointers tell together; none where frame pointers alone tell as
    /// much.
    pub(crate) fn with(mut self, by_pointers: &[u64]) -> Option<Self> {
        if self.reach == Reach::Root {
            return Some(self);
        }
        match above(&self.chain, by_pointers) {
            Some(above) => self.chain.extend_from_slice(above),
            None if self.chain.len() > by_pointers.len() => {}
            None => return None,
        }
        Some(self)
    }
}

/// What frame pointers found above the last frame of a walk that ended early; none where they did not come
/// by it. A function that calls itself stands in both as often.
fn above<'a>(cut: &[u64], by_pointers: &'a [u64]) -> Option<&'a [u64]> {
    let last = cut.last()?;
    let times = cut.iter().filter(|word| *word == last).count();
    let mut met = by_pointers.iter().enumerate().filter(|(_, word)| *word == last);
    let (at, _) = met.nth(times - 1)?;
    by_pointers.get(at + 1..)
}

#[derive(Debug)]
struct Entry {
    space: SpaceId,
    /// Thread and stack pointer (zeros when they do not matter), then the chain.
    key: Box<[u64]>,
    learned: Learned,
    stack: Option<StackId>,
    /// The generation before this one.
    before: Option<RawStack>,
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
    /// The unique stack of a chain that frame pointers have found. It ends at the first address that is no
    /// caller by `is_caller`: where a register that is no frame pointer led to something, it leads to something
    /// else at the next call, and stacks that are the same would never meet.
    pub(crate) fn intern_pointers(
        &mut self,
        space: SpaceId,
        variant: Variant,
        chain: &[u64],
        is_caller: impl Fn(u64) -> bool,
    ) -> RawStack {
        if let Some(known) = self.find(space, variant, chain) {
            return known;
        }
        let (kernel, user) = split(chain);
        match up_to_nowhere(user, is_caller) {
            None => self.intern(space, variant, chain),
            Some(user) => self.intern(space, variant, &join(kernel, &user)),
        }
    }

    /// The unique stack of a chain.
    pub(crate) fn intern(&mut self, space: SpaceId, variant: Variant, chain: &[u64]) -> RawStack {
        if let Some(known) = self.find(space, variant, chain) {
            return known;
        }
        let key: Box<[u64]> = self.scratch.as_slice().into();
        let hash = hash(space, &key);
        let RawStack(at) = self.push(space, key, None);
        let entries = &self.entries;
        self.table.insert_unique(hash, at, |at| {
            let entry = &entries[*at as usize];
            self::hash(entry.space, &entry.key)
        });
        RawStack(at)
    }

    fn push(&mut self, space: SpaceId, key: Box<[u64]>, before: Option<RawStack>) -> RawStack {
        let at = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.key_words += key.len();
        self.entries.push(Entry { space, key, learned: Learned::Nothing, stack: None, before });
        RawStack(at)
    }

    /// The unique stack of a chain that was met before. Leaves the chain's key in `scratch`.
    fn find(&mut self, space: SpaceId, variant: Variant, chain: &[u64]) -> Option<RawStack> {
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
        self.table.find(hash, same).map(|at| RawStack(*at))
    }

    /// What a dump tells of the user frames of a stack; none where frame pointers tell as much.
    pub(crate) fn user_frames(
        &self,
        stack: RawStack,
        dumped: UnwoundFrames,
    ) -> Option<UnwoundFrames> {
        dumped.with(split(self.chain(stack)).1)
    }

    /// The stack with the kernel's frames of `stack` and these user frames. Where they do not reach the
    /// root, it stays the variant that `stack` is: threads that wait in the same function may have come
    /// there in different ways.
    pub(crate) fn exact(&mut self, stack: RawStack, user: &UnwoundFrames) -> RawStack {
        let space = self.space(stack);
        let chain = join(split(self.chain(stack)).0, &user.chain);
        let variant = match user.reach {
            Reach::Root => Variant::default(),
            Reach::CopyEnd | Reach::Lost => self.variant(stack),
        };
        self.intern(space, variant, &chain)
    }

    fn variant(&self, stack: RawStack) -> Variant {
        match *self.entries[stack.0 as usize].key {
            [thread, stack_pointer, ..] => {
                Variant { thread: u32::try_from(thread).unwrap_or_default(), stack_pointer }
            }
            _ => Variant::default(),
        }
    }

    /// A sample of this stack has these user frames: a dump was unwound to them, or the block that was
    /// allocated has the size that is their first word.
    pub(crate) fn learn(&mut self, stack: RawStack, unwound: &UnwoundFrames) {
        let entry = &mut self.entries[stack.0 as usize];
        entry.learned = std::mem::take(&mut entry.learned).merge(unwound);
    }

    /// As [`RawStacks::learn`], of a switch: what is known of the switches before it stays if it has other frames.
    pub(crate) fn learn_from_now_on(&mut self, stack: RawStack, unwound: &UnwoundFrames) {
        if !self.entries[stack.0 as usize].learned.is_another(unwound) {
            return self.learn(stack, unwound);
        }
        let before = |stack: &RawStack| self.entries[stack.0 as usize].before;
        let all: Vec<RawStack> = std::iter::successors(Some(stack), before).collect();
        let had = |stack: &RawStack| self.entries[stack.0 as usize].learned.has(&unwound.chain);
        if all.len() >= MOST_GENERATIONS || all.iter().any(had) {
            return self.take_turns(&all, unwound);
        }
        let Entry { space, ref key, .. } = self.entries[stack.0 as usize];
        let hash = hash(space, key);
        let next = self.push(space, key.clone(), Some(stack));
        // An older generation's dump came late; then nothing is found by the new one.
        if let Ok(mut found) = self.table.find_entry(hash, |known| *known == stack.0) {
            *found.get_mut() = next.0;
        }
        self.learn(next, unwound);
    }

    /// All generations of a variant know what all of them, and these frames, have in common.
    fn take_turns(&mut self, generations: &[RawStack], unwound: &UnwoundFrames) {
        let mut known = Vec::with_capacity(generations.len());
        for stack in generations {
            known.push(std::mem::take(&mut self.entries[stack.0 as usize].learned));
        }
        let mut common = Learned::Nothing.merge(unwound);
        for learned in known {
            if let Learned::Chain { user, .. } = learned {
                let (chain, reach) = (user.into_vec(), Reach::Root);
                common = common.merge(&UnwoundFrames { chain, reach });
            }
        }
        for stack in generations {
            self.entries[stack.0 as usize].learned = common.clone();
        }
    }

    /// Whether another dump could tell more of the user frames of a stack.
    pub(crate) fn is_open(&self, stack: RawStack) -> bool {
        self.entries[stack.0 as usize].learned.is_open()
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
        let (kernel, known) = split(self.chain(stack));
        let user = self.entries[stack.0 as usize].learned.frames(known)?;
        Some(join(kernel, &user))
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

/// User frames that frame pointers have found, up to the first that is no caller by `is_caller`; none where
/// all are. The innermost one is where the thread was.
pub(crate) fn up_to_nowhere(user: &[u64], is_caller: impl Fn(u64) -> bool) -> Option<Vec<u64>> {
    let at = user.iter().skip(1).position(|word| !is_caller(*word))?;
    Some([&user[..=at], &[NOWHERE]].concat())
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
mod tests;
