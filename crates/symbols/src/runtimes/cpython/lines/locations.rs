//! `co_linetable` from Python 3.11 on (PEP 657): entries with lines and columns. Source:
//! `InternalDocs/code_objects.md`.
//!
//! ```text
//! first byte   1 kkkk nnn      kind of entry, code units that it covers less one
//! further      0 xxxxxxx       columns, or numbers of 6 bits a byte
//! ```

use super::LineTable;

/// Bytes of a code unit.
const UNIT: u32 = 2;
/// Bytes of a number that are used; more are no number of 32 bits.
const MOST_BYTES: u32 = 6;

pub(super) fn decode(bytes: &[u8], first_line: i32) -> LineTable {
    let mut table = LineTable::default();
    let mut line = first_line;
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let length = (u32::from(first & 7) + 1) * UNIT;
        match Kind::from_first_byte(first) {
            Kind::NoLine => table.push(length, None),
            Kind::Near(lines) => {
                line = line.wrapping_add(lines);
                table.push(length, Some(line));
            }
            Kind::Far => {
                line = line.wrapping_add(signed(rest));
                table.push(length, Some(line));
            }
        }
        // Columns and numbers have their highest bit unset.
        at += 1 + rest.iter().take_while(|byte| **byte < 0x80).count();
    }
    table
}

/// What an entry says about its line.
enum Kind {
    NoLine,
    /// So many lines further on than the entry before.
    Near(i32),
    /// As many lines as a number behind the first byte says.
    Far,
}

impl Kind {
    fn from_first_byte(byte: u8) -> Self {
        match byte >> 3 & 15 {
            15 => Self::NoLine,
            13 | 14 => Self::Far,
            11 => Self::Near(1),
            12 => Self::Near(2),
            _ => Self::Near(0),
        }
    }
}

/// A number of 6 bits a byte, lowest first, each but the last with bit 6; its lowest bit is the
/// sign.
fn signed(bytes: &[u8]) -> i32 {
    let mut number = 0_u32;
    for (shift, byte) in (0..MOST_BYTES).map(|index| index * 6).zip(bytes) {
        number |= u32::from(byte & 63).wrapping_shl(shift);
        if byte & 64 == 0 {
            break;
        }
    }
    let size = (number >> 1).cast_signed();
    if number & 1 == 1 { size.wrapping_neg() } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_sign() {
        assert_eq!(signed(&[0]), 0);
        assert_eq!(signed(&[0b0000_0011]), -1);
        assert_eq!(signed(&[0b0011_1110]), 31);
        assert_eq!(signed(&[0b0100_0001, 1]), -32);
        assert_eq!(signed(&[]), 0);
        let _ = signed(&[0x7f; 40]);
    }

    #[test]
    fn each_kind_of_entry_counts() {
        let entries: [&[u8]; 6] = [
            // Short: one unit of the same line.
            &[0b1000_0000, 0x12],
            // One line on: two units.
            &[0b1101_1001, 1, 2],
            // No line: one unit.
            &[0b1111_1000],
            // Long: three units, 20 lines on.
            &[0b1111_0010, 0b0010_1000, 1, 1, 1],
            // Without columns: one unit, 3 lines back.
            &[0b1110_1000, 0b0000_0111],
            // Two lines on: one unit.
            &[0b1110_0000, 1, 2],
        ];
        let table = decode(&entries.concat(), 10);
        let lines: Vec<_> = (0..20).step_by(2).map(|at| table.line(at)).collect();
        let expected =
            [10, 11, 11, 0, 31, 31, 31, 28, 30, 0].map(|line| (line > 0).then_some(line));
        assert_eq!(lines, expected);
    }
}
