//! Which mapping holds an address: the one list of ranges for the recorder, the unwinder and the readers
//! of files.

use std::ops::Range;

/// What is mapped where in one address space.
///
/// Ranges never overlap. A new one cuts what it covers, as `mmap` does: of an older range that reaches
/// beyond both of its ends, two pieces stay. A piece keeps the value of the whole, so a value that holds an
/// offset must also hold the address which that offset is of.
#[derive(Clone, Debug)]
pub struct CodeMap<T> {
    /// By start, without overlap and without empty ones.
    pieces: Vec<Piece<T>>,
}

#[derive(Clone, Debug)]
struct Piece<T> {
    start: u64,
    end: u64,
    value: T,
}

impl<T> Default for CodeMap<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T: Clone> CodeMap<T> {
    /// Maps `value` at `range`. An empty range changes nothing.
    pub fn insert(&mut self, range: Range<u64>, value: T) {
        if !range.is_empty() {
            let at = self.cut(&range);
            self.pieces.insert(at, Piece { start: range.start, end: range.end, value });
        }
    }

    /// Removes whatever lies in a range.
    pub fn remove(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.cut(&range);
        }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.pieces.clear();
    }

    /// The piece that holds an address, and what is mapped there.
    pub fn find(&self, address: u64) -> Option<(Range<u64>, &T)> {
        let after = self.pieces.partition_point(|piece| piece.start <= address);
        let piece = self.pieces.get(after.checked_sub(1)?).filter(|piece| address < piece.end)?;
        Some((piece.start..piece.end, &piece.value))
    }

    /// Whether anything is mapped in a range; never in an empty one.
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        let first = self.pieces.partition_point(|piece| piece.end <= range.start);
        !range.is_empty() && self.pieces.get(first).is_some_and(|piece| piece.start < range.end)
    }

    /// Every piece, by address.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, &T)> {
        self.pieces.iter().map(|piece| (piece.start..piece.end, &piece.value))
    }

    /// The number of pieces.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Empties a range, and gives the position at which a piece for it belongs.
    fn cut(&mut self, range: &Range<u64>) -> usize {
        let first = self.pieces.partition_point(|piece| piece.end <= range.start);
        let behind = self.pieces.partition_point(|piece| piece.start < range.end);
        if first >= behind {
            return first;
        }
        let (head, tail) = (&self.pieces[first], &self.pieces[behind - 1]);
        let head = (head.start < range.start).then(|| Piece { end: range.start, ..head.clone() });
        let tail = (tail.end > range.end).then(|| Piece { start: range.end, ..tail.clone() });
        let at = first + usize::from(head.is_some());
        self.pieces.splice(first..behind, head.into_iter().chain(tail));
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(map: &CodeMap<char>) -> Vec<(u64, u64, char)> {
        map.iter().map(|(range, value)| (range.start, range.end, *value)).collect()
    }

    #[test]
    fn a_mapping_over_the_middle_of_another_leaves_both_of_its_ends() {
        let mut map = CodeMap::default();
        map.insert(100..200, 'a');
        map.insert(140..160, 'b');
        assert_eq!(shown(&map), [(100, 140, 'a'), (140, 160, 'b'), (160, 200, 'a')]);
        map.remove(110..170);
        assert_eq!(shown(&map), [(100, 110, 'a'), (170, 200, 'a')]);
    }

    #[test]
    fn a_mapping_takes_away_only_what_it_covers() {
        let mut map = CodeMap::default();
        map.insert(100..200, 'a');
        map.insert(300..400, 'b');
        map.insert(200..300, 'c');
        assert_eq!(shown(&map), [(100, 200, 'a'), (200, 300, 'c'), (300, 400, 'b')]);
        map.insert(150..350, 'd');
        assert_eq!(shown(&map), [(100, 150, 'a'), (150, 350, 'd'), (350, 400, 'b')]);
        map.insert(50..500, 'e');
        assert_eq!(shown(&map), [(50, 500, 'e')]);
    }

    #[test]
    fn the_ends_of_the_address_space_and_empty_ranges_do_no_harm() {
        let mut map = CodeMap::default();
        map.insert(u64::MAX - 5..u64::MAX, 'a');
        map.insert(0..10, 'b');
        map.insert(7..7, 'c');
        map.remove(3..3);
        assert_eq!(shown(&map), [(0, 10, 'b'), (u64::MAX - 5, u64::MAX, 'a')]);
        assert_eq!(map.find(0), Some((0..10, &'b')));
        assert!(map.find(10).is_none() && map.find(u64::MAX).is_none());
        assert!(map.overlaps(&(9..20)) && !map.overlaps(&(10..20)) && !map.overlaps(&(5..5)));
        map.clear();
        assert!(map.is_empty());
    }

    proptest::proptest! {
        /// Against the plainest possible model: one cell for each address.
        #[test]
        fn each_address_is_of_the_last_mapping_over_it(
            changes in proptest::collection::vec((0u8..64, 0u8..64, proptest::bool::ANY), 0..40)
        ) {
            let (mut map, mut cells) = (CodeMap::default(), [None; 64]);
            for (number, (from, to, maps)) in changes.into_iter().enumerate() {
                for cell in cells.iter_mut().take(to.into()).skip(from.into()) {
                    *cell = maps.then_some(number);
                }
                let range = u64::from(from)..u64::from(to);
                match maps {
                    true => map.insert(range, number),
                    false => map.remove(range),
                }
            }
            for (address, cell) in cells.iter().enumerate() {
                let found = map.find(address as u64).map(|(_, number)| *number);
                proptest::prop_assert_eq!(found, *cell);
            }
            let ordered = map.iter().zip(map.iter().skip(1)).all(|(a, b)| a.0.end <= b.0.start);
            proptest::prop_assert!(ordered);
        }
    }
}
