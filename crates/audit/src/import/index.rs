//! GUIDs and their keys: the map holds numbers only, so that tens of millions take little memory.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::batch::Guid;

/// GUIDs by key, and keys by GUID.
#[derive(Debug, Default)]
pub(crate) struct GuidIndex {
    /// Keys, found by the hashes of their GUIDs.
    table: HashTable<u32>,
    guids: Vec<Guid>,
    /// The key that was asked for last: rows of one owner often follow each other.
    last: u32,
}

fn hash(guid: &Guid) -> u64 {
    FxBuildHasher.hash_one(guid)
}

impl GuidIndex {
    /// The GUID of a key; zeros for one without.
    pub(crate) fn guid(&self, key: u32) -> Guid {
        self.guids.get(key as usize).copied().unwrap_or_default()
    }

    /// The key of a GUID, and whether it is new: then it is the next one.
    pub(crate) fn key(&mut self, guid: Guid) -> (u32, bool) {
        let guids = &self.guids;
        // Zeros may stand for a gap.
        if guid != Guid::default() && guids.get(self.last as usize) == Some(&guid) {
            return (self.last, false);
        }
        let known = self.table.find(hash(&guid), |key| guids[*key as usize] == guid);
        if let Some(key) = known {
            self.last = *key;
            return (self.last, false);
        }
        self.last = u32::try_from(self.guids.len()).unwrap_or(u32::MAX);
        self.set(self.last, guid);
        (self.last, true)
    }

    /// Gives a GUID the key that it has in a store.
    pub(crate) fn set(&mut self, key: u32, guid: Guid) {
        self.reach(key as usize + 1);
        self.guids[key as usize] = guid;
        let guids = &self.guids;
        self.table.insert_unique(hash(&guid), key, |key| hash(&guids[*key as usize]));
    }

    /// Makes room for keys without a GUID: their rows were removed.
    pub(crate) fn reach(&mut self, keys: usize) {
        if keys > self.guids.len() {
            self.guids.resize(keys, Guid::default());
        }
    }

    /// True for a key that has a GUID.
    pub(crate) fn has(&self, key: u32) -> bool {
        self.table.find(hash(&self.guid(key)), |known| *known == key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_again_and_gaps_stay_gaps() {
        let mut index = GuidIndex::default();
        index.set(3, [7, 7]);
        assert_eq!((index.has(3), index.has(0)), (true, false));
        // All zeros are a GUID, too.
        assert_eq!(index.key([0, 0]), (4, true));
        assert_eq!(index.key([7, 7]), (3, false));
        assert!(index.has(4) && !index.has(1));
        for at in 0..5000 {
            assert_eq!(index.key([at, 1]), (u32::try_from(at + 5).unwrap(), true));
        }
        assert_eq!(index.key([4321, 1]), (4326, false));
        assert_eq!(index.guid(4326), [4321, 1]);
    }
}
