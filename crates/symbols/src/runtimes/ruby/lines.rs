//! Which line an instruction belongs to.
//!
//! A function has one entry for each run of instructions of one line. Where each run begins is a set
//! of numbers, kept as the number of members up to each number (`succ_index_table` in `iseq.c`):
//!
//! ```text
//! numbers 0 to 53     six words of nine counts, 7 bits each
//! from 54 on          blocks of 512: count before the block, counts before each of its 64 bits
//!                     (8 of 9 bits each), the set's bits
//! ```

use super::super::Struct;

/// Numbers whose counts stand in the first words.
const DIRECT: usize = 54;
const DIRECT_PER_WORD: usize = 9;
/// Bytes of the first words.
const DIRECT_BYTES: usize = 48;
/// Numbers of a block, and its bytes.
const BLOCK: usize = 512;
const BLOCK_BYTES: usize = 80;
/// Where a block has its small counts and its bits.
const SMALL_COUNTS: usize = 8;
const BITS: usize = 16;

/// Lines of a function: where each run of instructions begins, and its line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lines(Vec<(u32, u32)>);

/// Bytes of the index of a function with so many words of instructions.
pub(super) fn index_bytes(size: usize) -> usize {
    match size.checked_sub(DIRECT) {
        Some(behind) => DIRECT_BYTES + behind.div_ceil(BLOCK) * BLOCK_BYTES,
        None => size.div_ceil(DIRECT_PER_WORD) * 8,
    }
}

impl Lines {
    /// From the function's entries, which are of `width` bytes with the line first, and its index.
    pub(super) fn from_index(entries: &[u8], width: usize, index: &[u8], size: usize) -> Self {
        let index = Struct::new(index);
        let starts = (0..size).map(|position| count(&index, position));
        Self::from_counts(entries, width, starts)
    }

    /// From entries and the positions where each begins.
    pub(super) fn from_positions(entries: &[u8], width: usize, positions: &[u8]) -> Self {
        let positions = positions.chunks_exact(4).map(|bytes| Struct::new(bytes).half(0));
        let lines = entries.chunks_exact(width).map(line);
        Self(positions.zip(lines).collect())
    }

    /// From the number of entries up to each position.
    fn from_counts(entries: &[u8], width: usize, counts: impl Iterator<Item = usize>) -> Self {
        let lines: Vec<u32> = entries.chunks_exact(width).map(line).collect();
        let mut runs = Vec::new();
        let mut before = None;
        for (position, count) in (0..).zip(counts) {
            // A function of one entry may have an empty index.
            let entry = count.saturating_sub(1);
            if before != Some(entry)
                && let Some(line) = lines.get(entry)
            {
                runs.push((position, *line));
                before = Some(entry);
            }
        }
        Self(runs)
    }

    /// The line of the instruction at a position, in words.
    pub(super) fn line(&self, position: u32) -> Option<u32> {
        let after = self.0.partition_point(|(start, _)| *start <= position);
        let (_, line) = self.0.get(after.checked_sub(1)?)?;
        (*line > 0).then_some(*line)
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<(u32, u32)>()
    }
}

fn line(entry: &[u8]) -> u32 {
    Struct::new(entry).half(0)
}

/// Members of the set up to a number.
fn count(index: &Struct<'_>, number: usize) -> usize {
    let Some(behind) = number.checked_sub(DIRECT) else {
        let counts = index.word(number / DIRECT_PER_WORD * 8);
        return bits(counts, number % DIRECT_PER_WORD, 7);
    };
    let block = DIRECT_BYTES + behind / BLOCK * BLOCK_BYTES;
    let (word, bit) = (behind % BLOCK / 64, behind % 64);
    let small = match word.checked_sub(1) {
        Some(before) => bits(index.word(block + SMALL_COUNTS), before, 9),
        None => 0,
    };
    let within = index.word(block + BITS + word * 8) << (63 - bit);
    let rank = usize::try_from(index.half(block)).unwrap_or_default();
    rank.saturating_add(small + within.count_ones() as usize)
}

/// One of several numbers of `width` bits in a word.
fn bits(word: u64, at: usize, width: usize) -> usize {
    usize::try_from(word >> (at * width) & ((1 << width) - 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of a set, built as the format is described.
    fn index(starts: &[usize], size: usize) -> Vec<u8> {
        let mut bytes = vec![0; index_bytes(size)];
        let up_to = |number: usize| starts.iter().filter(|start| **start <= number).count() as u64;
        let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        for word in 0..size.div_ceil(9).min(6) {
            let counts = (0..9).map(|at| up_to(word * 9 + at) << (at * 7));
            put(word * 8, counts.sum());
        }
        for block in 0..size.saturating_sub(DIRECT).div_ceil(BLOCK) {
            let (at, first) = (DIRECT_BYTES + block * BLOCK_BYTES, DIRECT + block * BLOCK);
            let before = up_to(first - 1);
            put(at, before);
            put(
                at + 8,
                (1..8).map(|n| (up_to(first + n * 64 - 1) - before) << ((n - 1) * 9)).sum(),
            );
            for word in 0..8 {
                let first = first + word * 64;
                let bit = |bit: &usize| starts.contains(&(first + bit));
                put(at + 16 + word * 8, (0..64).filter(bit).map(|bit| 1 << bit).sum());
            }
        }
        bytes
    }

    fn entries(lines: &[u32], width: usize) -> Vec<u8> {
        let entry = |line: &u32| {
            let mut bytes = vec![0xee; width];
            bytes[..4].copy_from_slice(&line.to_ne_bytes());
            bytes
        };
        lines.iter().flat_map(entry).collect()
    }

    #[test]
    fn positions_have_the_line_of_the_entry_before_them() {
        let starts: Vec<usize> = (0..1500).filter(|n| n % 37 == 0 || n % 50 == 3).collect();
        let lines: Vec<u32> =
            (0..starts.len()).map(|at| 10 + u32::try_from(at).expect("few")).collect();
        for (size, width) in
            [(1500, 12), (1500, 8), (20, 8), (54, 12), (55, 8), (566, 12), (567, 12)]
        {
            let decoded =
                Lines::from_index(&entries(&lines, width), width, &index(&starts, size), size);
            for position in 0..size {
                let entry = starts.iter().filter(|start| **start <= position).count() - 1;
                let position = u32::try_from(position).expect("few");
                assert_eq!(decoded.line(position), Some(lines[entry]), "{position} of {size}");
            }
        }
    }

    #[test]
    fn plain_positions_are_read_too() {
        let positions: Vec<u8> = [0_u32, 5, 9].iter().flat_map(|at| at.to_ne_bytes()).collect();
        let lines = Lines::from_positions(&entries(&[3, 4, 0], 12), 12, &positions);
        let line = |position| lines.line(position);
        assert_eq!(
            [line(0), line(4), line(5), line(8), line(9)],
            [Some(3), Some(3), Some(4), Some(4), None]
        );
    }

    #[test]
    fn noise_has_no_lines_and_no_panic() {
        assert_eq!(Lines::from_index(&[], 12, &[], 100).line(7), None);
        let noise = vec![0xff; index_bytes(700)];
        assert_eq!(Lines::from_index(&entries(&[1, 2], 12), 12, &noise, 700).line(650), None);
        assert_eq!(Lines::default().line(0), None);
    }
}
