//! `co_lnotab` of Python 3.8 and 3.9: pairs of bytes, how far the next line's instructions are and
//! how many lines it is further on, with a sign. Source: `Objects/lnotab_notes.txt`.

use super::LineTable;

pub(super) fn decode(bytes: &[u8], first_line: i32) -> LineTable {
    let mut table = LineTable::default();
    let mut line = first_line;
    for pair in bytes.chunks_exact(2) {
        let &[distance, lines] = pair else { continue };
        table.push(u32::from(distance), Some(line));
        line = line.wrapping_add(i32::from(i8::from_ne_bytes([lines])));
    }
    // The last line reaches to the end of the code, which the table does not state.
    table.push(u32::MAX, Some(line));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_notes() {
        // Offsets and lines 0:1, 6:2, 50:7, 350:207, 361:208 of `lnotab_notes.txt`.
        let bytes = [6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1];
        let table = decode(&bytes, 1);
        let at = [0, 4, 6, 48, 50, 348, 350, 360, 361, 9999];
        let lines: Vec<_> = at.into_iter().filter_map(|at| table.line(at)).collect();
        assert_eq!(lines, [1, 1, 2, 2, 7, 7, 207, 207, 208, 208]);
    }

    #[test]
    fn lines_go_backwards_too() {
        let table = decode(&[4, 3, 2, 0xfe], 10);
        let lines: Vec<_> = [0, 4, 6].into_iter().filter_map(|at| table.line(at)).collect();
        assert_eq!(lines, [10, 13, 11]);
    }
}
