//! Texts of the interpreter: names and files.
//!
//! A text is a struct with the characters behind it, all of one size: 1, 2 or 4 bytes, whichever
//! the largest needs (PEP 393). Plain ASCII has a smaller struct than the others.

use super::super::{ProcessMemory, Struct};
use super::InterpreterError;
use super::layout::TextLayout;

/// Characters of a text that are kept. Paths have at most 4096 bytes; names of that length are made
/// up.
const MOST_CHARACTERS: u64 = 4096;

/// The text at an address, cut after [`MOST_CHARACTERS`]. Bytes that are no characters (of a file
/// name that is not UTF-8) become U+FFFD.
pub(super) fn read(
    memory: &dyn ProcessMemory,
    layout: &TextLayout,
    what: &'static str,
    address: u64,
) -> Result<String, InterpreterError> {
    let mut head = vec![0; layout.state.max(layout.length) + 8];
    memory.read(address, &mut head).map_err(InterpreterError::memory(what, address))?;
    let fields = Struct::new(&head);
    let Some(kind) = Kind::from_state(fields.half(layout.state)) else {
        return Err(InterpreterError::malformed(what, address, "it is not a text"));
    };
    let length = fields.word(layout.length).min(MOST_CHARACTERS);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default() * kind.width];
    let start = if kind.ascii { layout.ascii } else { layout.compact };
    let start = address.wrapping_add(start as u64);
    memory.read(start, &mut bytes).map_err(InterpreterError::memory(what, start))?;
    Ok(kind.decode(&bytes))
}

/// What `PyASCIIObject.state` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    /// Bytes of a character.
    width: usize,
    ascii: bool,
}

impl Kind {
    /// `interned` takes the lowest 2, 8 or 16 bits, depending on release and build, and never has a
    /// value above 3: where `kind` begins can be seen. Behind its 3 bits are `compact` and `ascii`.
    fn from_state(state: u32) -> Option<Self> {
        let at = |bit: u32| {
            let (kind, compact, ascii) = (state >> bit & 7, state >> (bit + 3) & 1, bit + 4);
            let width = matches!(kind, 1 | 2 | 4).then_some(kind as usize)?;
            let ascii = state >> ascii & 1 == 1;
            (compact == 1 && (width == 1 || !ascii)).then_some(Self { width, ascii })
        };
        [2, 8, 16].into_iter().find_map(at)
    }

    fn decode(self, bytes: &[u8]) -> String {
        let character = |bytes: &[u8]| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            char::from_u32(u32::from_le_bytes(word)).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        bytes.chunks_exact(self.width).map(character).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_marks_texts_in_its_own_way() {
        let kind = |width, ascii| Some(Kind { width, ascii });
        // Interned ASCII: 3.8 to 3.11 with `ready`, 3.12 and 3.13, 3.14.
        assert_eq!(Kind::from_state(0b1110_0101), kind(1, true));
        assert_eq!(Kind::from_state(0b1_0110_0111), kind(1, true));
        assert_eq!(Kind::from_state(0b1_1001 << 16 | 3), kind(1, true));
        // Latin-1, 2 and 4 bytes.
        assert_eq!(Kind::from_state(0b1010_0100), kind(1, false));
        assert_eq!(Kind::from_state(0b1010_1000), kind(2, false));
        assert_eq!(Kind::from_state(0b1100 << 16), kind(4, false));
        // Neither a text of two parts, nor ASCII of 2 bytes, nor noise.
        for state in [0, 0b0110_0101 & !0b10_0000, 0b1110_1000, 0b1110_1100] {
            assert_eq!(Kind::from_state(state), None, "{state:#b}");
        }
    }

    #[test]
    fn characters_have_one_to_four_bytes() {
        let text = |width, bytes: &[u8]| Kind { width, ascii: false }.decode(bytes);
        assert_eq!(text(1, &[0x61, 0xe4]), "aä");
        assert_eq!(text(2, &[0xac, 0x20, 0x61, 0]), "€a");
        assert_eq!(text(4, &[0x0d, 0xf4, 0x01, 0, 0x61, 0, 0, 0]), "🐍a");
        // Half of a pair, and a byte of a file name that was not UTF-8.
        assert_eq!(text(2, &[0x00, 0xd8, 0x80, 0xdc]), "\u{fffd}\u{fffd}");
        assert_eq!(text(4, &[0xff; 4]), "\u{fffd}");
    }
}
