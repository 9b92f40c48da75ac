//! A made-up process for tests: bytes from an address on, some of which change after so many reads.

use std::cell::{Cell, RefCell};

use super::{ProcessMemory, Unreadable};

/// A change that the process makes while it is read: before which read, where, which word.
type Change = (usize, u64, u64);

pub(super) struct Fake {
    base: u64,
    bytes: RefCell<Vec<u8>>,
    reads: Cell<usize>,
    change: Cell<Option<Change>>,
}

impl Fake {
    pub(super) fn new(base: u64, size: usize) -> Self {
        let bytes = RefCell::new(vec![0; size]);
        Self { base, bytes, reads: Cell::new(0), change: Cell::new(None) }
    }

    pub(super) fn put_bytes(&self, address: u64, bytes: &[u8]) {
        let at = usize::try_from(address - self.base).expect("small");
        self.bytes.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn put(&self, address: u64, word: u64) {
        self.put_bytes(address, &word.to_ne_bytes());
    }

    /// From now on, counts reads and changes a word before one of them, the first being 0.
    pub(super) fn change_before(&self, read: usize, address: u64, word: u64) {
        self.reads.set(0);
        self.change.set(Some((read, address, word)));
    }

    pub(super) fn reads(&self) -> usize {
        self.reads.get()
    }

    /// Every byte from a number on, as noise that is the same each time.
    pub(super) fn scramble(&self, seed: u64) {
        let mut state = seed | 1;
        for _ in 0..64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut bytes = self.bytes.borrow_mut();
            let at = usize::try_from(state >> 33).expect("small") % bytes.len();
            bytes[at] = state.to_ne_bytes()[3];
        }
    }
}

impl ProcessMemory for Fake {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let reads = self.reads.replace(self.reads.get() + 1);
        if let Some((read, at, word)) = self.change.get()
            && read == reads
        {
            self.put(at, word);
        }
        let start = address.checked_sub(self.base).and_then(|start| usize::try_from(start).ok());
        let end = start.and_then(|start| start.checked_add(into.len()));
        let bytes = self.bytes.borrow();
        let bytes = start.zip(end).and_then(|(start, end)| bytes.get(start..end));
        into.copy_from_slice(bytes.ok_or(Unreadable::Unmapped)?);
        Ok(())
    }
}
