//! The memory of another process: what the caller provides, and reads that cannot go wrong quietly.

/// The memory of a process.
pub trait ProcessMemory {
    /// Fills `into` with the bytes from `address` on.
    ///
    /// # Errors
    /// When not all of the bytes can be read.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable>;

    /// Fills several pieces, in their order. One call of `process_vm_readv` can do it, which costs
    /// much less than one call a piece.
    ///
    /// # Errors
    /// When not all of the bytes of all pieces can be read.
    fn read_pieces(&self, pieces: &mut [MemoryPiece<'_>]) -> Result<(), Unreadable> {
        pieces.iter_mut().try_for_each(|piece| self.read(piece.address, piece.into))
    }
}

/// A part of a process's memory, and where to put it.
#[derive(Debug)]
pub struct MemoryPiece<'b> {
    /// Its first byte in the process.
    pub address: u64,
    /// Where to put it; the length says how much is wanted.
    pub into: &'b mut [u8],
}

/// Why memory of a process cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Nothing is mapped there (EFAULT).
    #[error("the process has no memory there")]
    Unmapped,
    /// The process has ended (ESRCH).
    #[error("the process has ended")]
    Ended,
    /// The process belongs to someone else (EPERM).
    #[error("this user may not read the process")]
    Denied,
}

/// The bytes of a struct of the process.
#[derive(Clone, Copy)]
pub(crate) struct Struct<'b> {
    bytes: &'b [u8],
}

impl<'b> Struct<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        let field = offset.checked_add(N).and_then(|end| self.bytes.get(offset..end));
        field.and_then(|field| field.try_into().ok()).unwrap_or([0; N])
    }

    /// A field of 8 bytes. Fields behind the end of what was read are zero: a null pointer.
    pub(crate) fn word(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.array(offset))
    }

    /// A field of 4 bytes.
    pub(crate) fn half(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.array(offset))
    }

    /// A field of 4 bytes with a sign.
    pub(crate) fn int(&self, offset: usize) -> i32 {
        i32::from_ne_bytes(self.array(offset))
    }

    /// A field of one byte.
    pub(crate) fn byte(&self, offset: usize) -> u8 {
        let [byte] = self.array(offset);
        byte
    }
}

/// The smallest page of the machines that we run on: memory is mapped in whole ones.
const PAGE: u64 = PAGE_BYTES as u64;
const PAGE_BYTES: usize = 4096;
/// Pages that are kept at once. The frames of one thread take one page for some 30 of them, up to
/// Python 3.10 for some 8.
const MOST_PAGES: usize = 1024;

/// Whole pages of a process, each read once: structs that lie close together cost one read.
///
/// A page is as old as its read, so it is good for one look only: [`clear`](Self::clear) starts
/// anew.
#[derive(Default)]
pub(crate) struct Pages {
    /// In the order of the pages in `bytes`.
    known: Vec<KnownPage>,
    bytes: Vec<u8>,
    /// The used pages, read again.
    again: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct KnownPage {
    number: u64,
    used: bool,
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages").field("known", &self.known).finish()
    }
}

impl Pages {
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    /// Forgets all pages and takes these, which the caller reads now. Where that fails, it calls
    /// [`clear`](Self::clear).
    pub(crate) fn expect(&mut self, numbers: &[u64]) -> impl Iterator<Item = MemoryPiece<'_>> {
        let numbers = numbers.get(..MOST_PAGES).unwrap_or(numbers);
        let known = numbers.iter().map(|number| KnownPage { number: *number, used: false });
        self.known.clear();
        self.known.extend(known);
        self.make_room(numbers.len());
        let places = self.bytes.chunks_exact_mut(PAGE_BYTES);
        let piece = |(number, into)| MemoryPiece { address: number * PAGE, into };
        numbers.iter().zip(places).map(piece)
    }

    /// Replaces `numbers` by those of the pages that something was read from.
    pub(crate) fn used(&self, numbers: &mut Vec<u64>) {
        numbers.clear();
        numbers.extend(self.known.iter().filter(|page| page.used).map(|page| page.number));
    }

    /// The pages that something was read from, for the caller to read them again.
    pub(crate) fn again(&mut self) -> impl Iterator<Item = MemoryPiece<'_>> {
        let size = PAGE_BYTES;
        self.again.resize(self.again.len().max(self.known.len() * size), 0);
        let places = self.known.iter().zip(self.again.chunks_exact_mut(size));
        places.filter(|(page, _)| page.used).map(|(page, into)| {
            let address = page.number * PAGE;
            MemoryPiece { address, into }
        })
    }

    /// Whether bytes of the pages were the same when they were read again. Bytes of pages that are
    /// no longer kept count as the same.
    pub(crate) fn is_same(&self, address: u64, length: usize) -> bool {
        let size = PAGE_BYTES;
        let end = address.saturating_add(length as u64);
        let mut at = address;
        while at < end {
            let (number, within) = (at / PAGE, usize::try_from(at % PAGE).unwrap_or_default());
            let length = usize::try_from(end - at).unwrap_or(size).min(size - within);
            if let Some(index) = self.known.iter().position(|page| page.number == number) {
                let range = index * size + within..index * size + within + length;
                if self.bytes.get(range.clone()) != self.again.get(range) {
                    return false;
                }
            }
            at += length as u64;
        }
        true
    }

    /// As [`ProcessMemory::read`], out of the pages.
    pub(crate) fn read(
        &mut self,
        memory: &dyn ProcessMemory,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Unreadable> {
        let (mut address, mut rest) = (address, into);
        while !rest.is_empty() {
            let page = self.page(memory, address / PAGE)?;
            let within = usize::try_from(address % PAGE).unwrap_or_default();
            let there = page.get(within..).unwrap_or_default();
            let length = there.len().min(rest.len());
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(there.get(..length).unwrap_or_default());
            rest = later;
            address = address.checked_add(length as u64).ok_or(Unreadable::Unmapped)?;
        }
        Ok(())
    }

    fn page(&mut self, memory: &dyn ProcessMemory, number: u64) -> Result<&[u8], Unreadable> {
        let size = PAGE_BYTES;
        // The latest page is the likeliest.
        let index = match self.known.iter().rposition(|page| page.number == number) {
            Some(index) => index,
            None => self.add(memory, number)?,
        };
        if let Some(page) = self.known.get_mut(index) {
            page.used = true;
        }
        Ok(self.bytes.get(index * size..(index + 1) * size).unwrap_or_default())
    }

    fn add(&mut self, memory: &dyn ProcessMemory, number: u64) -> Result<usize, Unreadable> {
        let size = PAGE_BYTES;
        if self.known.len() >= MOST_PAGES {
            self.known.clear();
        }
        let index = self.known.len();
        self.make_room(index + 1);
        let place = self.bytes.get_mut(index * size..(index + 1) * size);
        memory.read(number * PAGE, place.unwrap_or_default())?;
        self.known.push(KnownPage { number, used: false });
        Ok(index)
    }

    fn make_room(&mut self, pages: usize) {
        self.bytes.resize(self.bytes.len().max(pages * PAGE_BYTES), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Bytes from an address on, as many as there are.
    struct Fake {
        start: u64,
        bytes: Vec<u8>,
        reads: Cell<usize>,
    }

    impl ProcessMemory for Fake {
        fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
            self.reads.set(self.reads.get() + 1);
            let start = address.checked_sub(self.start).ok_or(Unreadable::Unmapped)?;
            let start = usize::try_from(start).expect("small");
            let there = self.bytes.get(start..start + into.len()).ok_or(Unreadable::Unmapped)?;
            into.copy_from_slice(there);
            Ok(())
        }
    }

    fn pages(count: usize) -> Fake {
        let bytes = (0..count * PAGE_BYTES).map(|at| (at / 7).to_le_bytes()[0]).collect();
        Fake { start: 0x10_000, bytes, reads: Cell::new(0) }
    }

    #[test]
    fn a_page_is_read_once() {
        let (memory, mut pages) = (pages(3), Pages::default());
        let mut into = [0; 300];
        for at in [0_usize, 50, 4000, 4096, 8000, 8192 - 150, 12288 - 300] {
            pages.read(&memory, memory.start + at as u64, &mut into).expect("mapped");
            assert_eq!(into[..], memory.bytes[at..at + 300]);
        }
        assert_eq!(memory.reads.get(), 3);
        pages.clear();
        pages.read(&memory, memory.start, &mut into).expect("mapped");
        assert_eq!(memory.reads.get(), 4);
    }

    #[test]
    fn many_pages_do_not_grow_without_end() {
        let (memory, mut pages) = (pages(2 * MOST_PAGES), Pages::default());
        let mut into = [0; 8];
        for page in 0..2 * MOST_PAGES {
            let at = page * PAGE_BYTES + 8;
            pages.read(&memory, memory.start + at as u64, &mut into).expect("mapped");
            assert_eq!(into[..], memory.bytes[at..at + 8]);
        }
        assert!(pages.bytes.len() <= MOST_PAGES * PAGE_BYTES);
    }

    #[test]
    fn pages_can_be_read_ahead() {
        let (memory, mut pages) = (pages(3), Pages::default());
        let first = memory.start / PAGE;
        for piece in pages.expect(&[first + 1, first]) {
            memory.read(piece.address, piece.into).expect("mapped");
        }
        let (mut into, mut used) = ([0; 8], Vec::new());
        pages.read(&memory, memory.start + 16, &mut into).expect("mapped");
        assert_eq!((into[..].to_vec(), memory.reads.get()), (memory.bytes[16..24].to_vec(), 2));
        pages.used(&mut used);
        assert_eq!(used, [first]);
    }

    #[test]
    fn a_change_between_two_reads_is_seen() {
        let (mut memory, mut pages) = (pages(3), Pages::default());
        let (start, mut into) = (memory.start + PAGE - 4, [0; 8]);
        pages.read(&memory, start, &mut into).expect("mapped");
        memory.bytes[PAGE_BYTES + 3] ^= 1;
        for piece in pages.again() {
            memory.read(piece.address, piece.into).expect("mapped");
        }
        assert_eq!(memory.reads.get(), 4);
        assert!(pages.is_same(start, 7) && pages.is_same(start + 8, 100));
        assert!(!pages.is_same(start, 8) && !pages.is_same(start + 7, 1));
        assert!(pages.is_same(memory.start + 2 * PAGE, 8), "it was never read");
    }

    #[test]
    fn what_is_not_mapped_is_an_error_and_leaves_no_page() {
        let (memory, mut pages) = (pages(1), Pages::default());
        let mut into = [0; 8];
        for address in [0, 8, memory.start - 4, memory.start + PAGE - 4, u64::MAX - 3, u64::MAX] {
            assert_eq!(pages.read(&memory, address, &mut into), Err(Unreadable::Unmapped));
        }
        assert!(pages.read(&memory, memory.start, &mut into).is_ok());
    }

    #[test]
    fn fields_behind_the_end_are_zero() {
        let bytes = [0xff; 12];
        let fields = Struct::new(&bytes);
        assert_eq!((fields.word(0), fields.word(5), fields.half(8)), (u64::MAX, 0, u32::MAX));
        assert_eq!((fields.int(8), fields.byte(11), fields.byte(12)), (-1, 0xff, 0));
        assert_eq!(fields.word(usize::MAX), 0);
    }
}
