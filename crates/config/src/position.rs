//! Where something stands in a text: line and column, as an editor shows them.

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1. A byte order mark does not count.
    pub column: u32,
}

impl Position {
    /// The first character of a text.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The lines of a text, to turn byte offsets into positions.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    /// The offset at which each line starts; the first is 0.
    starts: Vec<usize>,
    /// The offset that was asked for last, with its column: a file of one long line is asked for from
    /// its start to its end, and counting from the line's start each time would be quadratic.
    last: std::cell::Cell<(usize, u32)>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
        let starts = std::iter::once(0).chain(breaks.map(|at| at + 1)).collect();
        Self { text, starts, last: std::cell::Cell::new((0, 1)) }
    }

    /// The position of a byte; the nearest character before an offset inside one.
    pub(crate) fn at(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let (last, column) = self.last.get();
        let (from, column) =
            if (start..=offset).contains(&last) { (last, column) } else { (start, 1) };
        let column = column.saturating_add(count(&self.text[from..offset]));
        self.last.set((offset, column));
        Position { line: number(line), column }
    }

    /// The line of a byte.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        number(self.starts.partition_point(|start| *start <= offset).max(1))
    }
}

fn count(text: &str) -> u32 {
    number(text.chars().count())
}

/// A count as it is kept; texts of 4 billion lines or columns are refused long before.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_in_any_order_of_questions() {
        let lines = Lines::new("aé=1\nb\n");
        let at = |offset| lines.at(offset).to_string();
        assert_eq!([at(0), at(3), at(5), at(3), at(99)], ["1:1", "1:3", "1:5", "1:3", "3:1"]);
        assert_eq!((lines.at(2).to_string(), lines.line(6)), ("1:2".to_owned(), 2));
    }
}
