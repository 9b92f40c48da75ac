//! What the loader connects: which function a slot leads to, and where a module's own functions begin that
//! others may call. Both by name, as the dynamic linker goes by names.

use std::hash::Hasher as _;

use rustc_hash::{FxHashMap, FxHasher};

use crate::image::elf::Elf;
use crate::image::source::Source;
use crate::image::{plt, symtab, table_of};

/// The names of one module.
#[derive(Debug, Default)]
pub(super) struct Linkage {
    /// Name of the function that the loader writes into each slot.
    slots: FxHashMap<u64, Box<[u8]>>,
    /// Hash of each name that others may call, and where the function begins; in order.
    exports: Vec<(u64, u64)>,
}

impl Linkage {
    /// Reads them; what is damaged is as good as not there.
    pub(super) fn read(elf: &Elf, source: &Source) -> Self {
        let (symbols, strings) =
            table_of(elf, source, object::elf::SHT_DYNSYM.0).unwrap_or_default();
        let slots = plt::slots(elf, source, &symbols, &strings).unwrap_or_default();
        let exports = symtab::exports(elf, &symbols, &strings);
        let mut exports: Vec<_> = exports.map(|(name, start)| (hash(name), start)).collect();
        exports.sort_unstable();
        exports.dedup();
        exports.shrink_to_fit();
        Self { slots, exports }
    }

    /// The function that a slot leads to.
    pub(super) fn name_of(&self, slot: u64) -> Option<&[u8]> {
        self.slots.get(&slot).map(|name| &**name)
    }

    /// Where the functions of a name begin: several when the module has several versions of it.
    pub(super) fn exported(&self, name: &[u8]) -> impl Iterator<Item = u64> + '_ {
        let wanted = hash(name);
        let from = self.exports.partition_point(|(hash, _)| *hash < wanted);
        let all = self.exports.get(from..).unwrap_or_default();
        all.iter().take_while(move |(hash, _)| *hash == wanted).map(|(_, start)| *start)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let names: usize = self.slots.values().map(|name| name.len() + size_of::<u64>() * 3).sum();
        names + self.exports.capacity() * size_of::<(u64, u64)>()
    }
}

fn hash(name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    hasher.finish()
}
