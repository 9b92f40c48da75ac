//! `co_linetable` of Python 3.10 (PEP 626): pairs of bytes, how many bytes of instructions a range
//! has and how many lines further on it is, with a sign; -128 says that it has no line. Source:
//! `Objects/lnotab_notes.txt`.

use super::LineTable;

const NO_LINE: i8 = -128;

pub(super) fn decode(bytes: &[u8], first_line: i32) -> LineTable {
    let mut table = LineTable::default();
    let mut line = first_line;
    for pair in bytes.chunks_exact(2) {
        let &[length, lines] = pair else { continue };
        let lines = i8::from_ne_bytes([lines]);
        if lines == NO_LINE {
            table.push(u32::from(length), None);
        } else {
            line = line.wrapping_add(i32::from(lines));
            table.push(u32::from(length), Some(line));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_a_length_and_a_distance() {
        let table = decode(&[6, 0, 4, 1, 2, 0x80, 0, 127, 2, 73, 2, 0xff], 5);
        let lines: Vec<_> = (0..18).step_by(2).map(|at| table.line(at)).collect();
        let expected = [5, 5, 5, 6, 6, 0, 206, 205, 0].map(|line| (line > 0).then_some(line));
        assert_eq!(lines, expected);
    }
}
