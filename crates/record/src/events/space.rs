//! Address spaces: what code a process has mapped where, over time.
//!
//! A space is shared by the threads of a process, and by a forked child until one of the two maps
//! something; it ends with `execve`. Stacks are kept as addresses of a space until they are named,
//! so a space never changes the meaning of an address: a mapping that covers an earlier one makes a
//! new space.

use culprit_model::{Mapping, ModuleId, ProcessId, Time};
use culprit_symbols::{Avma, CodeMap, FileOffset, UnwindSpace};

use crate::symbolize::modules::Modules;

/// A space of this recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SpaceId(pub(crate) u32);

/// The kernel's: shared by everybody, without mappings of its own.
pub(crate) const KERNEL: SpaceId = SpaceId(0);

/// An executable mapping, as it was made: a later one may have cut pieces out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MappedCode {
    /// First address.
    pub(crate) start: u64,
    /// Behind the last one.
    pub(crate) end: u64,
    /// Offset of the first byte in the file.
    pub(crate) offset: u64,
    /// What is mapped.
    pub(crate) module: ModuleId,
}

impl MappedCode {
    /// The row of the mappings table.
    pub(crate) fn row(self, time: Time, process: ProcessId) -> Mapping {
        Mapping {
            time,
            process,
            address: self.start,
            length: self.end.saturating_sub(self.start),
            offset: self.offset,
            module: self.module,
        }
    }

    /// Where an address of it lies in the file.
    pub(crate) fn in_file(self, address: u64) -> u64 {
        (address - self.start).saturating_add(self.offset)
    }
}

/// Every space of the recording.
#[derive(Debug)]
pub(crate) struct Spaces {
    spaces: Vec<Space>,
}

#[derive(Debug, Clone, Default)]
struct Space {
    code: CodeMap<MappedCode>,
    unwind: UnwindSpace,
    /// Processes that live in it.
    users: u32,
}

impl Default for Spaces {
    fn default() -> Self {
        Self { spaces: vec![Space { users: 1, ..Space::default() }] }
    }
}

impl Spaces {
    /// A space without code, for one process.
    pub(crate) fn empty(&mut self) -> SpaceId {
        self.push(Space { users: 1, ..Space::default() })
    }

    /// One more process lives in it.
    pub(crate) fn share(&mut self, id: SpaceId) -> SpaceId {
        self.at(id).users += 1;
        id
    }

    /// One process less lives in it. True when it was the last.
    pub(crate) fn leave(&mut self, id: SpaceId) -> bool {
        let space = self.at(id);
        space.users = space.users.saturating_sub(1);
        space.users == 0
    }

    /// Forgets the mappings of a space in which nobody lives any more and whose stacks are named.
    pub(crate) fn forget(&mut self, id: SpaceId) {
        *self.at(id) = Space::default();
    }

    /// A process in `id` made a mapping; gives the space that it lives in from now on.
    pub(crate) fn map(&mut self, id: SpaceId, map: MappedCode, modules: &Modules) -> SpaceId {
        let space = self.at(id);
        let range = map.start..map.end;
        if space.code.find(map.start) == Some((range.clone(), &map)) {
            return id;
        }
        let covers = space.code.overlaps(&range);
        let own = if space.users == 1 && !covers {
            id
        } else {
            let copy = Space { users: 1, ..space.clone() };
            self.leave(id);
            self.push(copy)
        };
        self.at(own).insert(map, modules);
        own
    }

    /// The mapping that holds an address.
    pub(crate) fn find(&self, id: SpaceId, address: u64) -> Option<&MappedCode> {
        self.spaces[id.0 as usize].code.find(address).map(|(_, map)| map)
    }

    /// Whether anything is mapped in a space.
    pub(crate) fn has_code(&self, id: SpaceId) -> bool {
        !self.spaces[id.0 as usize].code.is_empty()
    }

    /// Every module that has code in a space, once.
    pub(crate) fn modules(&self, id: SpaceId) -> Vec<ModuleId> {
        let pieces = self.spaces[id.0 as usize].code.iter();
        let mut modules: Vec<ModuleId> = pieces.map(|(_, map)| map.module).collect();
        modules.sort_unstable();
        modules.dedup();
        modules
    }

    /// What the unwinder needs of a space.
    pub(crate) fn unwind(&self, id: SpaceId) -> &UnwindSpace {
        &self.spaces[id.0 as usize].unwind
    }

    fn push(&mut self, space: Space) -> SpaceId {
        self.spaces.push(space);
        SpaceId(u32::try_from(self.spaces.len() - 1).unwrap_or(u32::MAX))
    }

    fn at(&mut self, id: SpaceId) -> &mut Space {
        &mut self.spaces[id.0 as usize]
    }
}

impl Space {
    fn insert(&mut self, map: MappedCode, modules: &Modules) {
        self.code.insert(map.start..map.end, map);
        let (start, length) = (Avma(map.start), map.end.saturating_sub(map.start));
        match modules.image(map.module) {
            Some(image) => {
                self.unwind.add_module(start, length, FileOffset(map.offset), image);
            }
            None => self.unwind.add_code(start, length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(start: u64, end: u64, module: u32) -> MappedCode {
        MappedCode { start, end, offset: 0, module: ModuleId(module) }
    }

    #[test]
    fn a_forked_child_gets_a_space_of_its_own_when_it_maps() {
        let (mut spaces, modules) = (Spaces::default(), Modules::default());
        let parent = spaces.empty();
        assert_eq!(spaces.map(parent, map(10, 20, 0), &modules), parent);
        let child = spaces.share(parent);
        let child = spaces.map(child, map(30, 40, 1), &modules);
        assert_ne!(child, parent);
        assert_eq!(spaces.find(child, 15).map(|map| map.module), Some(ModuleId(0)));
        assert_eq!(spaces.find(child, 30).map(|map| map.module), Some(ModuleId(1)));
        assert_eq!(spaces.find(parent, 30), None);
    }

    #[test]
    fn an_address_keeps_its_meaning_when_something_else_is_mapped_over_it() {
        let (mut spaces, modules) = (Spaces::default(), Modules::default());
        let before = spaces.empty();
        spaces.map(before, map(10, 20, 0), &modules);
        let after = spaces.map(before, map(15, 25, 1), &modules);
        assert_eq!(spaces.find(before, 16).map(|map| map.module), Some(ModuleId(0)));
        assert_eq!(spaces.find(after, 16).map(|map| map.module), Some(ModuleId(1)));
        assert_eq!(spaces.find(after, 25), None);
    }

    #[test]
    fn a_mapping_over_the_middle_of_another_leaves_its_ends_where_they_were_in_the_file() {
        let (mut spaces, modules) = (Spaces::default(), Modules::default());
        let before = spaces.empty();
        spaces.map(before, MappedCode { offset: 1000, ..map(100, 200, 0) }, &modules);
        let after = spaces.map(before, map(140, 160, 1), &modules);
        let found =
            |address| spaces.find(after, address).map(|map| (map.module.0, map.in_file(address)));
        assert_eq!(found(139), Some((0, 1039)));
        assert_eq!(found(150), Some((1, 10)));
        assert_eq!(found(160), Some((0, 1060)));
        assert_eq!(found(200), None);
    }
}
