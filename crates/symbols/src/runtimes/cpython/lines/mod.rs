//! Lines of a function's instructions. Each release has its own way to write them down; all become
//! one table of ranges here.

mod linetable;
mod lnotab;
mod locations;

use super::layout::LineStyle;

/// The lines of one function: from an instruction on, up to the next entry, one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LineTable {
    /// Byte offset of the first instruction, and its line; ordered by offset. No line: the compiler
    /// made these instructions up.
    starts: Vec<(u32, Option<u32>)>,
    /// Behind the last instruction of the table.
    end: u32,
}

impl LineTable {
    /// Decodes a table. Damaged ones end early.
    pub(super) fn decode(style: LineStyle, bytes: &[u8], first_line: i32) -> Self {
        match style {
            LineStyle::Lnotab => lnotab::decode(bytes, first_line),
            LineStyle::LineTable => linetable::decode(bytes, first_line),
            LineStyle::Locations => locations::decode(bytes, first_line),
        }
    }

    /// The line of the instruction at a byte offset.
    pub(super) fn line(&self, offset: u32) -> Option<u32> {
        if offset >= self.end {
            return None;
        }
        let after = self.starts.partition_point(|(start, _)| *start <= offset);
        let (_, line) = self.starts.get(after.checked_sub(1)?)?;
        *line
    }

    /// Bytes that the table takes.
    pub(super) fn bytes(&self) -> usize {
        self.starts.len() * size_of::<(u32, Option<u32>)>()
    }

    /// Appends `length` bytes of instructions.
    fn push(&mut self, length: u32, line: Option<i32>) {
        if length == 0 {
            return;
        }
        let line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
        if self.starts.last().is_none_or(|(_, last)| *last != line) {
            self.starts.push((self.end, line));
        }
        self.end = self.end.saturating_add(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_one_line_are_one_entry() {
        let mut table = LineTable::default();
        for (length, line) in
            [(4, Some(7)), (2, Some(7)), (0, Some(9)), (2, None), (2, Some(-3)), (2, Some(8))]
        {
            table.push(length, line);
        }
        assert_eq!(table.starts, [(0, Some(7)), (6, None), (10, Some(8))]);
        let lines: Vec<_> = (0..14).step_by(2).map(|offset| table.line(offset)).collect();
        assert_eq!(lines, [Some(7), Some(7), Some(7), None, None, Some(8), None]);
    }

    #[test]
    fn noise_is_decoded_without_harm() {
        let mut noise = 88172645463325252_u64;
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    noise ^= noise << 13;
                    noise ^= noise >> 7;
                    noise ^= noise << 17;
                    noise.to_le_bytes()[0]
                })
                .collect();
            for style in [LineStyle::Lnotab, LineStyle::LineTable, LineStyle::Locations] {
                for first_line in [i32::MIN, -1, 0, 1, i32::MAX] {
                    let table = LineTable::decode(style, &bytes, first_line);
                    assert!(table.starts.len() <= length + 1);
                    let _ = (table.line(0), table.line(u32::MAX));
                }
            }
        }
    }

    #[test]
    fn lines_are_those_that_python_says() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/lines.py");
        let minors = 8..=14;
        let names = minors.map(|minor| format!("python3.{minor}")).chain(["python3".to_owned()]);
        let mut answers = 0;
        for name in names {
            let output = culprit_testkit::program(&name).arg(script).output();
            let Some(output) = output.ok().filter(|output| output.status.success()) else {
                continue;
            };
            compare(&name, &culprit_testkit::stdout(&output));
            answers += 1;
        }
        if answers == 0 {
            culprit_testkit::skip("lines_are_those_that_python_says", "no python3");
        }
    }

    fn compare(interpreter: &str, text: &str) {
        let mut rows = text.lines();
        let minor = rows.next().and_then(|row| row.strip_prefix("3 ")).expect("Python 3");
        let style = match minor.parse::<u8>().expect("a number") {
            0..=9 => LineStyle::Lnotab,
            10 => LineStyle::LineTable,
            11.. => LineStyle::Locations,
        };
        let mut functions = 0;
        for row in rows {
            let mut words = row.split(' ');
            let first_line = words.next().and_then(|word| word.parse().ok()).expect("a line");
            let bytes = from_hex(words.next().expect("a table"));
            let table = LineTable::decode(style, &bytes, first_line);
            for pair in words.next().into_iter().flat_map(|pairs| pairs.split(',')) {
                let (offset, line) = pair.split_once(':').expect("a pair");
                let line = line.parse().ok().filter(|line| *line > 0);
                let offset = offset.parse().expect("an offset");
                assert_eq!(table.line(offset), line, "{interpreter}, {offset}: {row}");
            }
            functions += 1;
        }
        assert!(functions > 500, "{interpreter}: {functions}");
    }

    fn from_hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits
            .chunks_exact(2)
            .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte"))
            .collect()
    }
}
