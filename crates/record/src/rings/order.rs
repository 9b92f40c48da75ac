//! One order in time over all rings.
//!
//! Each ring is in order by itself (nearly: an interrupt may write while another record is half
//! done), but a CPU's ring may deliver a record that is older than one already read from another.
//! So records are held back until a *horizon*: a time at which every ring was still unread. What
//! was written before that moment has been read by the next round.
//!
//! ```text
//! ring 0   a   c     |  e
//! ring 1     b     d |    f        horizon of this round = |
//! released a b c d   held e f
//! ```
//!
//! Invariant: what is released is in order of time, except records older than a past horizon,
//! which are released at once and counted as late.

use crate::events::attr::Stream;
use crate::events::decode::{Head, head_at};

/// The unread part of one ring, copied out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Which stream.
    pub(crate) stream: Stream,
    /// Which CPU.
    pub(crate) cpu: u32,
    /// Whole records.
    pub(crate) words: Vec<u64>,
}

/// Puts the records of many rings into one order.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    slots: Vec<Slot>,
    free: Vec<usize>,
    held: Vec<Entry>,
    released_to: u64,
    counts: SortCounts,
}

/// What did not go by the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SortCounts {
    /// Records older than a horizon that had already passed.
    pub(crate) late: u64,
    /// Chunks cut short by a record of impossible size.
    pub(crate) malformed: u64,
}

/// A chunk and how many of its records have not been released.
#[derive(Debug)]
struct Slot {
    chunk: Chunk,
    waiting: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    time: u64,
    stream: Stream,
    slot: u32,
    start: u32,
    words: u32,
}

impl Sorter {
    /// Takes a chunk in; its records wait for [`Sorter::release`].
    pub(crate) fn add(&mut self, chunk: Chunk) {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let before = self.held.len();
        let mut start = 0;
        while let Some(found) = head_at(&chunk.words, start, chunk.stream) {
            let Ok(head) = found else {
                self.counts.malformed += 1;
                break;
            };
            start += head.words;
            self.held.push(Entry {
                time: head.time,
                stream: chunk.stream,
                slot: narrow(slot),
                start: narrow(head.start),
                words: narrow(head.words),
            });
        }
        let waiting = self.held.len() - before;
        let filled = Slot { chunk, waiting };
        match self.slots.get_mut(slot) {
            Some(place) => *place = filled,
            None => self.slots.push(filled),
        }
        if waiting == 0 {
            self.free.push(slot);
        }
    }

    /// Gives every record older than `horizon` to `sink`, oldest first; `u64::MAX` gives all.
    /// Buffers of chunks that are done are appended to `spare`.
    pub(crate) fn release(
        &mut self,
        horizon: u64,
        spare: &mut Vec<Vec<u64>>,
        mut sink: impl FnMut(&Chunk, Head),
    ) {
        // A stable sort that finds the runs which the rings already are.
        self.held.sort_by_key(|entry| (entry.time, entry.stream));
        let ready = self.held.partition_point(|entry| entry.time < horizon);
        for entry in self.held.drain(..ready) {
            self.counts.late += u64::from(entry.time < self.released_to);
            let slot = &mut self.slots[entry.slot as usize];
            let head =
                Head { time: entry.time, start: entry.start as usize, words: entry.words as usize };
            sink(&slot.chunk, head);
            slot.waiting -= 1;
            if slot.waiting == 0 {
                spare.push(std::mem::take(&mut slot.chunk.words));
                self.free.push(entry.slot as usize);
            }
        }
        self.released_to = self.released_to.max(horizon.min(u64::MAX - 1));
    }

    /// What did not go by the rules so far.
    pub(crate) fn counts(&self) -> SortCounts {
        self.counts
    }
}

/// Rings are far below 2^32 words; the ladder refuses larger ones.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A switch record of the accounting stream: header, thread, time.
    fn switch(time: u64) -> [u64; 3] {
        [24 << 48 | 14, 7 << 32 | 7, time]
    }

    fn chunk(cpu: u32, times: &[u64]) -> Chunk {
        let words = times.iter().flat_map(|time| switch(*time)).collect();
        Chunk { stream: Stream::Accounting, cpu, words }
    }

    fn released(sorter: &mut Sorter, horizon: u64) -> Vec<(u32, u64)> {
        let mut out = Vec::new();
        sorter.release(horizon, &mut Vec::new(), |chunk, head| out.push((chunk.cpu, head.time)));
        out
    }

    #[test]
    fn the_drawing_in_the_header_holds() {
        let mut sorter = Sorter::default();
        sorter.add(chunk(0, &[1, 3, 6]));
        sorter.add(chunk(1, &[2, 4, 7]));
        assert_eq!(released(&mut sorter, 5), [(0, 1), (1, 2), (0, 3), (1, 4)]);
        assert_eq!(released(&mut sorter, u64::MAX), [(0, 6), (1, 7)]);
        assert_eq!(sorter.counts(), SortCounts::default());
    }

    #[test]
    fn a_record_behind_the_horizon_is_released_and_counted() {
        let mut sorter = Sorter::default();
        sorter.add(chunk(0, &[9]));
        assert_eq!(released(&mut sorter, 10), [(0, 9)]);
        sorter.add(chunk(1, &[8]));
        assert_eq!(released(&mut sorter, 20), [(1, 8)]);
        assert_eq!(sorter.counts().late, 1);
    }

    #[test]
    fn a_record_of_impossible_size_ends_its_chunk_and_is_counted() {
        let mut broken = chunk(0, &[1, 2]);
        broken.words[3] = 14; // size 0
        let mut sorter = Sorter::default();
        sorter.add(broken);
        assert_eq!(released(&mut sorter, u64::MAX), [(0, 1)]);
        assert_eq!(sorter.counts().malformed, 1);
    }

    proptest! {
        /// Whatever the rings deliver round by round, everything comes out once and, when the
        /// horizons tell the truth, in order.
        #[test]
        fn everything_comes_out_once_and_in_order(
            rounds in prop::collection::vec(prop::collection::vec(0_u64..1000, 0..30), 1..8)
        ) {
            let mut sorter = Sorter::default();
            let (mut out, mut all): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
            for (round, offsets) in (0_u64..).zip(&rounds) {
                let base = round * 1000;
                for cpu in 0..2_u64 {
                    let mut times: Vec<u64> =
                        offsets.iter().filter(|t| *t % 2 == cpu).map(|t| base + t).collect();
                    times.sort_unstable();
                    all.extend(&times);
                    sorter.add(chunk(u32::try_from(cpu).unwrap_or(0), &times));
                }
                out.extend(released(&mut sorter, base).iter().map(|(_, time)| *time));
            }
            out.extend(released(&mut sorter, u64::MAX).iter().map(|(_, time)| *time));
            all.sort_unstable();
            prop_assert_eq!(out, all);
            prop_assert_eq!(sorter.counts(), SortCounts::default());
        }
    }
}
