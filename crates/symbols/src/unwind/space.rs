//! What code a process has where: the maps that unwinding needs, changed as the process maps and unmaps.
//!
//! Ranges never overlap: a new one cuts what it covers, as `mmap` does. Tables are shared with all other
//! processes, so a clone for `fork` copies a short list.

use std::sync::Arc;

use super::tables::UnwindTables;
use crate::{Avma, FileOffset, ModuleImage};

/// The executable mappings of one process.
#[derive(Clone, Debug, Default)]
pub struct UnwindSpace {
    /// Sorted by start, without overlap.
    ranges: Vec<CodeRange>,
}

#[derive(Clone, Debug)]
pub(super) struct CodeRange {
    start: u64,
    end: u64,
    /// Process address minus module address, modulo 2^64.
    pub(super) bias: u64,
    /// `None` for generated code, which is walked by frame pointers.
    pub(super) tables: Option<Arc<UnwindTables>>,
}

impl UnwindSpace {
    /// A process without code.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an executable mapping of a file: `length` bytes at `start`, from `offset` of the file. Whatever
    /// was there is gone. `false` when the file loads no code from that offset; the range then counts as
    /// code without unwind information.
    pub fn add_module(
        &mut self,
        start: Avma,
        length: u64,
        offset: FileOffset,
        image: &ModuleImage,
    ) -> bool {
        let Some(svma) = image.mapping_svma(offset) else {
            self.add_code(start, length);
            return false;
        };
        let bias = start.0.wrapping_sub(svma.0);
        self.insert(start, length, bias, Some(Arc::clone(image.unwind_tables())));
        true
    }

    /// Adds executable memory without unwind information: code made by a JIT compiler, or a file that could
    /// not be read. It is walked by frame pointers.
    pub fn add_code(&mut self, start: Avma, length: u64) {
        self.insert(start, length, 0, None);
    }

    /// Removes whatever lies in a range (`munmap`, or a mapping over it that is not executable).
    pub fn remove(&mut self, start: Avma, length: u64) {
        let (start, end) = (start.0, start.0.saturating_add(length));
        if start >= end {
            return;
        }
        let mut kept = Vec::with_capacity(self.ranges.len() + 1);
        for range in self.ranges.drain(..) {
            if range.end <= start || range.start >= end {
                kept.push(range);
                continue;
            }
            if range.start < start {
                kept.push(CodeRange { end: start, ..range.clone() });
            }
            if range.end > end {
                kept.push(CodeRange { start: end, ..range });
            }
        }
        self.ranges = kept;
    }

    /// Removes everything (`execve`).
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Number of distinct ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether no code is known.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    fn insert(&mut self, start: Avma, length: u64, bias: u64, tables: Option<Arc<UnwindTables>>) {
        self.remove(start, length);
        let end = start.0.saturating_add(length);
        if start.0 < end {
            let at = self.ranges.partition_point(|range| range.start < start.0);
            self.ranges.insert(at, CodeRange { start: start.0, end, bias, tables });
        }
    }

    /// Whether a return address lies behind an instruction of known code.
    pub(super) fn returns_into(&self, return_address: u64) -> bool {
        return_address.checked_sub(1).is_some_and(|call| self.find(call).is_some())
    }

    pub(super) fn find(&self, address: u64) -> Option<&CodeRange> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        self.ranges.get(after.checked_sub(1)?).filter(|range| address < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(space: &UnwindSpace) -> Vec<(u64, u64)> {
        space.ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn a_new_mapping_cuts_what_it_covers() {
        let mut space = UnwindSpace::new();
        space.add_code(Avma(100), 100);
        space.add_code(Avma(300), 100);
        space.add_code(Avma(150), 200);
        assert_eq!(shown(&space), [(100, 150), (150, 350), (350, 400)]);
        space.remove(Avma(160), 10);
        assert_eq!(shown(&space), [(100, 150), (150, 160), (170, 350), (350, 400)]);
        assert!(
            space.find(165).is_none() && space.find(170).is_some() && space.find(400).is_none()
        );
        space.add_code(Avma(u64::MAX - 5), 100);
        space.remove(Avma(0), 0);
        assert_eq!(space.len(), 5);
        space.clear();
        assert!(space.is_empty());
    }
}
