//! Records of a file, until they can be put in order.
//!
//! Each CPU's ring is written out by itself, so that a file is ordered only from round to round: when a round has
//! ended, everything up to the latest time of the round before it is there. The same rule is in
//! tools/perf/util/ordered-events.c.

use crate::Malformed;
use crate::order::{Chunk, Place, Sorter};

/// Records that wait at most, and bytes of them: a round is far smaller. Where a file has no rounds, order is made
/// within so many.
const MOST_RECORDS: usize = 1 << 22;
const MOST_BYTES: usize = 256 << 20;

/// Words of records that are kept together: few enough for their memory to come free soon.
const CHUNK: usize = 1 << 17;

/// The records of a file that wait for their turn.
#[derive(Debug, Default)]
pub struct Rounds {
    sorter: Sorter<Copies>,
    /// Those that came last.
    open: Copies,
    spare: Vec<Copies>,
    /// Words of all that wait.
    words: usize,
    /// The latest time so far, and up to when the rounds that have ended are whole.
    newest: u64,
    whole: u64,
}

/// Records in the order of the file, copied so that their numbers are aligned.
#[derive(Debug, Default)]
struct Copies {
    words: Vec<u64>,
    places: Vec<Place>,
}

impl Chunk for Copies {
    fn places(&self) -> impl Iterator<Item = Result<Place, Malformed>> {
        self.places.iter().copied().map(Ok)
    }
}

impl Rounds {
    /// Adds a record with its header. Its bytes may be followed by zeros when they are given back: the header has its
    /// size.
    #[inline]
    pub fn push(&mut self, time: u64, record: &[u8]) {
        let Copies { words, places } = &mut self.open;
        let (start, length) = (words.len(), record.len().div_ceil(8));
        words.resize(start + length, 0);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words[start..]);
        bytes[..record.len()].copy_from_slice(record);
        places.push(Place { time, start: narrow(start), length: narrow(length) });
        self.words += length;
        self.newest = self.newest.max(time);
        if self.open.words.len() >= CHUNK {
            self.close();
        }
    }

    /// Whether it is too much to wait for the end of a round.
    pub fn is_full(&self) -> bool {
        self.sorter.waiting() >= MOST_RECORDS || self.words * 8 >= MOST_BYTES
    }

    /// Up to when the rounds that have ended are whole.
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// A round has ended: up to when nothing more can come.
    pub fn end_round(&mut self) -> u64 {
        std::mem::replace(&mut self.whole, self.newest)
    }

    /// Hands out what is due up to a time, in order; equal times in the order of the file.
    pub fn take(&mut self, until: u64, mut each: impl FnMut(u64, &[u8])) {
        self.close();
        let Self { sorter, spare, words, .. } = self;
        let done = |mut copies: Copies| {
            *words -= copies.words.len();
            copies.words.clear();
            copies.places.clear();
            spare.push(copies);
        };
        sorter.release(until.saturating_add(1), done, |copies, place| {
            each(place.time, bytemuck::cast_slice(place.of(&copies.words).unwrap_or_default()));
        });
    }

    fn close(&mut self) {
        let next = self.spare.pop().unwrap_or_default();
        let full = std::mem::replace(&mut self.open, next);
        self.spare.extend(self.sorter.add(full));
    }
}

/// A chunk ends behind the record that fills it.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(rounds: &mut Rounds, until: u64) -> Vec<(u64, u8)> {
        let mut taken = Vec::new();
        rounds.take(until, |time, record| taken.push((time, record[0])));
        taken
    }

    #[test]
    fn rounds_are_put_in_order() {
        let mut rounds = Rounds::default();
        // Two rings a round; what is later than the round before has ended waits.
        rounds.push(10, &[1]);
        rounds.push(5, &[2]);
        let until = rounds.end_round();
        assert!(take(&mut rounds, until).is_empty());
        rounds.push(20, &[3]);
        rounds.push(7, &[4]);
        let until = rounds.end_round();
        assert_eq!(take(&mut rounds, until), [(5, 2), (7, 4), (10, 1)]);
        assert_eq!(take(&mut rounds, u64::MAX), [(20, 3)]);
    }

    #[test]
    fn equal_times_keep_the_order_of_the_file_and_records_their_bytes() {
        let mut rounds = Rounds::default();
        for (time, record) in [(9, &[1; 12][..]), (9, &[2; 8]), (8, &[3; 3]), (u64::MAX, &[4])] {
            rounds.push(time, record);
        }
        let mut taken = Vec::new();
        rounds.take(8, |time, record| taken.push((time, record.to_vec())));
        assert_eq!(taken, [(8, vec![3, 3, 3, 0, 0, 0, 0, 0])]);
        assert_eq!(take(&mut rounds, u64::MAX), [(9, 1), (9, 2), (u64::MAX, 4)]);
        assert_eq!(rounds.words, 0);
    }

    #[test]
    fn many_records_are_kept_in_pieces_and_come_out_once() {
        let mut rounds = Rounds::default();
        let record = [7; 4096];
        let all = CHUNK / (record.len() / 8) * 3 + 5;
        (0..all).for_each(|at| rounds.push(at as u64, &record));
        assert_eq!(take(&mut rounds, 99).len(), 100);
        assert_eq!(take(&mut rounds, u64::MAX).len(), all - 100);
        assert!(rounds.words == 0 && rounds.spare.len() >= 3);
    }
}
