//! Damage: the same seed gives the same files.

/// A small generator of numbers that only look random (xorshift64*, Vigna 2016).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Its state must not be 0.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`; 0 where there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from((self.next() >> 16) % end).unwrap_or(0)
    }
}

/// Texts that readers of numbers and of structure trip over.
const PIECES: &[&[u8]] = &[
    b"0",
    b"-1",
    b"4294967295",
    b"4294967296",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e308",
    b"-1e-308",
    b"0.0000000000000000000001",
    b"null",
    b"\"\"",
    b"[]",
    b"{}",
    b"[",
    b"}",
    b",",
    b";",
    b"!",
    b"(",
    b")",
    b"<",
    b"= ",
    b"\\u0000",
    b"\xff\xfe",
    b"\0\0\0\0\0\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80",
    b"\n",
];

/// Most changes of one file.
const CHANGES: usize = 6;

/// A damaged copy of `file`; pieces of `other` may be put into it.
pub(crate) fn damaged(file: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=random.below(CHANGES) {
        change(&mut bytes, other, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(64)).min(bytes.len());
    match random.below(9) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => insert(bytes, at, PIECES[random.below(PIECES.len())]),
        3 => {
            let from = random.below(other.len());
            let until = (from + 1 + random.below(256)).min(other.len());
            insert(bytes, at, &other[from..until]);
        }
        4 => {
            let copy = bytes[at..end].to_vec();
            insert(bytes, at, &copy);
        }
        // A number for another, which keeps a text well-formed.
        5 | 6 => {
            let digits = number_behind(bytes, at);
            bytes.splice(digits, PIECES[random.below(10)].iter().copied());
        }
        7 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = u8::try_from(random.below(256)).unwrap_or(0);
            }
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// The next run of digits.
fn number_behind(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let digit = |from: usize, wanted: bool| {
        let found = bytes[from..].iter().position(|byte| byte.is_ascii_digit() == wanted);
        found.map_or(bytes.len(), |found| from + found)
    };
    let start = digit(at.min(bytes.len()), true);
    start..digit(start, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_damage() {
        let make = |seed| {
            let mut random = Random::new(seed);
            (0..50)
                .map(|_| damaged(b"{\"a\":[1,2.5]}", b"main;a 1\n", &mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(make(7), make(7));
        assert_ne!(make(7), make(8));
        let mut random = Random::new(3);
        let _ = damaged(b"", b"", &mut random);
    }

    #[test]
    fn numbers_are_found() {
        assert_eq!(number_behind(b"ab 123,", 0), 3..6);
        assert_eq!(number_behind(b"ab", 1), 2..2);
    }
}
