//! What was in a ring, and the places of its records.

use culprit_kernel::{Malformed, Place, order};

use crate::events::attr::Stream;

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

impl order::Chunk for Chunk {
    fn places(&self) -> impl Iterator<Item = Result<Place, Malformed>> {
        order::places(&self.words, self.stream.layout())
    }

    fn rank(&self) -> u8 {
        self.stream as u8
    }
}

impl Chunk {
    /// Its records up to the first that cannot be, with their places.
    pub(crate) fn records(&self) -> impl Iterator<Item = (Place, &[u64])> {
        order::Chunk::places(self).map_while(|place| {
            let place = place.ok()?;
            Some((place, place.of(&self.words)?))
        })
    }
}
