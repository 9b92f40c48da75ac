//! One order in time over all rings.
//!
//! Each ring is in order by itself (nearly: an interrupt may write while another record is half done), but a CPU's
//! ring may deliver a record that is older than one already read from another. So records are held back until a
//! *horizon*: a time at which every ring was still unread. What was written before that moment has been read by the
//! next round.
//!
//! ```text
//! ring 0   a   c     |  e
//! ring 1     b     d |    f        horizon of this round = |
//! released a b c d   held e f
//! ```
//!
//! A perf.data file has the same rounds: where one ends, everything is there up to the latest time of the round
//! before (tools/perf/util/ordered-events.c).
//!
//! Invariant: what is released is in order of time, except records older than a past horizon, which are released at
//! once and counted as late.

use crate::Malformed;
use crate::layout::Layout;
use crate::record::Header;
use crate::words::{Order, Words};

/// Where a record lies in its chunk, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// When it was written, in the ns of its clock.
    pub time: u64,
    /// First word.
    pub start: u32,
    /// Number of words, with the header.
    pub length: u32,
}

impl Place {
    /// The record's words among those of its chunk; none where they are not there.
    #[inline]
    pub fn of(self, words: &[u64]) -> Option<&[u64]> {
        words.get(self.start as usize..)?.get(..self.length as usize)
    }
}

/// A record of this machine: its header and its body.
#[inline]
pub fn split(record: &[u64]) -> Option<(Header, &[u8])> {
    let mut words = Words::new(bytemuck::cast_slice(record), Order::NATIVE);
    Some((Header::read(&mut words)?, words.rest()))
}

/// The records of a ring, one behind the other, without a look into them. Their times are where `layout` has them,
/// which all events of the ring share. Ends behind the first one that cannot be: nothing after it can be trusted.
pub fn places(words: &[u64], layout: Layout) -> impl Iterator<Item = Result<Place, Malformed>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = words.get(start..).filter(|rest| !rest.is_empty())?;
        let place = place(rest, start, &layout);
        start = place.map_or(words.len(), |place| start + place.length as usize);
        Some(place.ok_or(Malformed))
    })
}

#[inline]
fn place(rest: &[u64], start: usize, layout: &Layout) -> Option<Place> {
    let (header, _) = split(rest)?;
    let length = usize::from(header.size) / 8;
    let record = rest.get(..length).filter(|record| record.len() > 1)?;
    let time = layout.time(header, bytemuck::cast_slice(&record[1..]), Order::NATIVE)?;
    Some(Place { time, start: u32::try_from(start).ok()?, length: u32::try_from(length).ok()? })
}

/// What was read of one ring.
pub trait Chunk {
    /// Where its records are. Ends behind the first one that cannot be.
    fn places(&self) -> impl Iterator<Item = Result<Place, Malformed>>;

    /// Of records with equal times, those of the lower rank come first, then those that were added first.
    fn rank(&self) -> u8 {
        0
    }
}

/// Puts the records of many chunks into one order.
#[derive(Debug)]
pub struct Sorter<C> {
    slots: Vec<Slot<C>>,
    free: Vec<u32>,
    held: Vec<Entry>,
    released_to: u64,
    counts: SortCounts,
}

/// What did not go by the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SortCounts {
    /// Records older than a horizon that had already passed.
    pub late: u64,
    /// Chunks cut short by a record that cannot be.
    pub malformed: u64,
}

/// A chunk and how many of its records have not been released.
#[derive(Debug)]
struct Slot<C> {
    chunk: Option<C>,
    waiting: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    place: Place,
    rank: u8,
    slot: u32,
}

impl<C> Default for Sorter<C> {
    fn default() -> Self {
        let (slots, free, held) = (Vec::new(), Vec::new(), Vec::new());
        Self { slots, free, held, released_to: 0, counts: SortCounts::default() }
    }
}

impl<C: Chunk> Sorter<C> {
    /// Takes a chunk in; its records wait for [`Sorter::release`]. A chunk without records is given back.
    pub fn add(&mut self, chunk: C) -> Option<C> {
        let slot = self.free.last().copied().unwrap_or_else(|| narrow(self.slots.len()));
        let (before, rank) = (self.held.len(), chunk.rank());
        for place in chunk.places() {
            match place {
                Ok(place) => self.held.push(Entry { place, rank, slot }),
                Err(Malformed) => self.counts.malformed += 1,
            }
        }
        let waiting = self.held.len() - before;
        if waiting == 0 {
            return Some(chunk);
        }
        let filled = Slot { chunk: Some(chunk), waiting };
        match self.free.pop().and_then(|slot| self.slots.get_mut(slot as usize)) {
            Some(slot) => *slot = filled,
            None => self.slots.push(filled),
        }
        None
    }

    /// How many records wait.
    pub fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Gives every record older than `horizon` to `sink`, oldest first; `u64::MAX` gives all. Chunks of which all is
    /// released go to `done`.
    pub fn release(
        &mut self,
        horizon: u64,
        mut done: impl FnMut(C),
        mut sink: impl FnMut(&C, Place),
    ) {
        // A stable sort that finds the runs which the rings already are.
        self.held.sort_by_key(|entry| (entry.place.time, entry.rank));
        let is_due = |entry: &Entry| entry.place.time < horizon || horizon == u64::MAX;
        let ready = self.held.partition_point(is_due);
        for Entry { place, slot: number, .. } in self.held.drain(..ready) {
            self.counts.late += u64::from(place.time < self.released_to);
            let slot = &mut self.slots[number as usize];
            if let Some(chunk) = &slot.chunk {
                sink(chunk, place);
            }
            slot.waiting -= 1;
            if slot.waiting == 0 {
                slot.chunk.take().into_iter().for_each(&mut done);
                self.free.push(number);
            }
        }
        self.released_to = self.released_to.max(horizon.min(u64::MAX - 1));
    }

    /// What did not go by the rules so far.
    pub fn counts(&self) -> SortCounts {
        self.counts
    }
}

/// There are far fewer chunks than 2^32.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attr::sample;

    /// Who and when, as all rings of a recorder have them.
    const LAYOUT: Layout = Layout::new(sample::TID | sample::TIME, true);

    /// Words of a ring.
    struct Ring {
        number: u32,
        rank: u8,
        words: Vec<u64>,
    }

    impl Chunk for Ring {
        fn places(&self) -> impl Iterator<Item = Result<Place, Malformed>> {
            places(&self.words, LAYOUT)
        }

        fn rank(&self) -> u8 {
            self.rank
        }
    }

    /// Switch records at these times: header, thread, time.
    fn ring(number: u32, times: &[u64]) -> Ring {
        let record = |time: &u64| [24 << 48 | 14, 7 << 32 | 7, *time];
        Ring { number, rank: 0, words: times.iter().flat_map(record).collect() }
    }

    fn released(sorter: &mut Sorter<Ring>, horizon: u64) -> Vec<(u32, u64)> {
        let mut out = Vec::new();
        sorter.release(horizon, drop, |chunk, place| out.push((chunk.number, place.time)));
        out
    }

    #[test]
    fn the_drawing_in_the_header_holds() {
        let mut sorter = Sorter::default();
        sorter.add(ring(0, &[1, 3, 6]));
        sorter.add(ring(1, &[2, 4, 7]));
        assert_eq!(released(&mut sorter, 5), [(0, 1), (1, 2), (0, 3), (1, 4)]);
        assert_eq!(released(&mut sorter, u64::MAX), [(0, 6), (1, 7)]);
        assert_eq!((sorter.counts(), sorter.waiting()), (SortCounts::default(), 0));
    }

    #[test]
    fn a_record_behind_the_horizon_is_released_and_counted() {
        let mut sorter = Sorter::default();
        sorter.add(ring(0, &[9]));
        assert_eq!(released(&mut sorter, 10), [(0, 9)]);
        sorter.add(ring(1, &[8]));
        assert_eq!(released(&mut sorter, 20), [(1, 8)]);
        assert_eq!(sorter.counts().late, 1);
    }

    #[test]
    fn equal_times_go_by_rank_and_then_as_they_were_added() {
        let mut sorter = Sorter::default();
        for (number, rank) in [(0, 1), (1, 0), (2, 1), (3, 0)] {
            assert!(sorter.add(Ring { rank, ..ring(number, &[5]) }).is_none());
        }
        let order: Vec<_> = released(&mut sorter, 6).iter().map(|(ring, _)| *ring).collect();
        assert_eq!(order, [1, 3, 0, 2]);
        assert!(sorter.add(ring(4, &[])).is_some());
    }

    #[test]
    fn a_record_of_impossible_size_ends_its_chunk_and_is_counted() {
        let mut broken = ring(0, &[1, 2]);
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
                for number in 0..2_u64 {
                    let mut times: Vec<u64> =
                        offsets.iter().filter(|t| *t % 2 == number).map(|t| base + t).collect();
                    times.sort_unstable();
                    all.extend(&times);
                    sorter.add(ring(u32::try_from(number).unwrap_or(0), &times));
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
