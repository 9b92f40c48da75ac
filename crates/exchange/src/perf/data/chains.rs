//! Call chains as they stand in a file, each kept once.
//!
//! A chain is kept without its leaf: clock samples stop at any instruction, but the calls that led
//! there are few, so that this table stays small and near.

use std::hash::{BuildHasher as _, Hasher as _};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// From here on an entry of a call chain says whose frames follow (`PERF_CONTEXT_MAX`).
pub(super) const MARKERS: u64 = u64::MAX - 4094;
pub(super) const HYPERVISOR: u64 = 0_u64.wrapping_sub(32);
pub(super) const KERNEL: u64 = 0_u64.wrapping_sub(128);
pub(super) const USER: u64 = 0_u64.wrapping_sub(512);
pub(super) const GUEST: u64 = 0_u64.wrapping_sub(2048);
pub(super) const GUEST_KERNEL: u64 = 0_u64.wrapping_sub(2176);
pub(super) const GUEST_USER: u64 = 0_u64.wrapping_sub(2560);

/// Frames of one sample that are kept.
pub(super) const DEEPEST: usize = 4096;

/// A chain without its leaf, and what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ChainId(pub(super) u32);

/// Numbers that stand in front of a chain's own.
pub(super) mod front {
    /// The cgroup, counted from 1; else 0.
    pub(crate) const CGROUP: usize = 0;
    /// Whose the leaf is: a marker.
    pub(crate) const CONTEXT: usize = 1;
    /// How many they are.
    pub(crate) const LENGTH: usize = 2;
}

/// All chains of a file.
#[derive(Debug, Default)]
pub(super) struct Chains {
    words: Vec<u64>,
    /// Where each chain ends.
    ends: Vec<usize>,
    known: HashTable<u32>,
}

impl Chains {
    /// The number of a chain.
    #[inline]
    pub(super) fn intern(&mut self, chain: &[u64]) -> ChainId {
        let Self { words, ends, known } = self;
        let same = |id: &u32| words[range(ends, *id)] == *chain;
        let hash = hash(chain);
        if let Some(id) = known.find(hash, same) {
            return ChainId(*id);
        }
        let id = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        words.extend_from_slice(chain);
        ends.push(words.len());
        known.insert_unique(hash, id, |id| self::hash(&words[range(ends, *id)]));
        ChainId(id)
    }

    /// What was interned.
    pub(super) fn get(&self, id: ChainId) -> &[u64] {
        &self.words[range(&self.ends, id.0)]
    }
}

#[inline]
fn range(ends: &[usize], id: u32) -> std::ops::Range<usize> {
    let id = id as usize;
    let start = id.checked_sub(1).map_or(0, |before| ends[before]);
    start..ends[id]
}

#[inline]
fn hash(chain: &[u64]) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    for word in chain {
        hasher.write_u64(*word);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_chains_are_one() {
        let mut chains = Chains::default();
        let made: Vec<_> = (0..1000_u64).map(|at| chains.intern(&[0, 0, KERNEL, at])).collect();
        assert_eq!(chains.intern(&[0, 0, KERNEL, 7]), made[7]);
        assert_eq!(chains.get(made[999]), [0, 0, KERNEL, 999]);
        assert_ne!(chains.intern(&[0, 0, KERNEL]), made[0]);
    }
}
