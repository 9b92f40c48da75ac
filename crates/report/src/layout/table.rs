//! A table in text: columns as wide as their content, the last text column cut to the width.

use super::wrap::wrap;
use culprit_model::elide;

/// On which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a heading.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    /// Whether names stay whole, though lines are longer than the width.
    whole: bool,
    /// The column that gives way; none: the widest one of text.
    gives_way: Option<usize>,
    /// Whether all columns of text give way, the widest first.
    shared: bool,
    /// The texts of all cells, one after the other: a table can have a million.
    text: String,
    /// Where each cell ends in `text`; the first row is the heading.
    ends: Vec<usize>,
}

/// A column as it is laid out.
#[derive(Debug, Clone)]
struct Column {
    align: Align,
    /// The characters of its widest cell.
    width: usize,
}

impl Table {
    /// An empty table with these headings.
    #[must_use]
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let of = |(_, align): &(&str, Align)| Column { align: *align, width: 0 };
        let mut table = Self {
            columns: columns.iter().map(of).collect(),
            whole: false,
            gives_way: None,
            shared: false,
            text: String::new(),
            ends: Vec::new(),
        };
        table.row(columns.iter().map(|(name, _)| *name));
        table
    }

    /// Cuts no cell: for names and reasons that say nothing in part. The last column is wrapped.
    #[must_use]
    pub const fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Cuts the cells of this column alone, where lines are longer than the width.
    #[must_use]
    pub const fn cutting(mut self, column: usize) -> Self {
        self.gives_way = Some(column);
        self
    }

    /// Adds a row; one cell a column. Cells that are missing are empty.
    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells = cells.into_iter();
        for column in &mut self.columns {
            if let Some(cell) = cells.next() {
                column.width = column.width.max(characters(cell.as_ref()));
                self.text.push_str(cell.as_ref());
            }
            self.ends.push(self.text.len());
        }
    }

    /// Cuts the widest columns of text alike, where lines are longer than the width: for names that all matter.
    #[must_use]
    pub const fn sharing(mut self) -> Self {
        self.shared = true;
        self
    }

    /// The table in lines of at most `width` characters; the widest left-aligned column gives way.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        let mut text = String::new();
        self.render_into(width, &mut text);
        text
    }

    /// The same, behind a text.
    pub fn render_into(&self, width: usize, text: &mut String) {
        let widths = self.widths(width);
        let mut start = 0;
        for row in self.ends.chunks(self.columns.len().max(1)) {
            for (at, end) in row.iter().enumerate() {
                if at > 0 {
                    text.push_str("  ");
                }
                let cell = &self.text[start..*end];
                if self.whole && at + 1 == row.len() && self.columns[at].align == Align::Left {
                    // The columns before it, and two blanks behind each.
                    let left = widths[..at].iter().map(|width| width + 2).sum::<usize>();
                    add_wrapped(cell, (left, width), text);
                    start = *end;
                    continue;
                }
                let cell = elide(cell, widths[at]);
                let blanks = widths[at].saturating_sub(characters(&cell));
                let blanks = std::iter::repeat_n(' ', blanks);
                match self.columns[at].align {
                    Align::Left => {
                        text.push_str(&cell);
                        text.extend(blanks);
                    }
                    Align::Right => {
                        text.extend(blanks);
                        text.push_str(&cell);
                    }
                }
                start = *end;
            }
            text.truncate(text.trim_end_matches(is_blank).len());
            text.push('\n');
        }
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.width).collect();
        let total = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let of_text = || (0..widths.len()).filter(|i| self.columns[*i].align == Align::Left);
        let giving: Vec<usize> = match self.gives_way {
            _ if self.whole => Vec::new(),
            Some(column) => vec![column],
            None if self.shared => of_text().collect(),
            None => of_text().max_by_key(|i| widths[*i]).into_iter().collect(),
        };
        for _ in 0..total.saturating_sub(width) {
            let widest = giving.iter().copied().max_by_key(|i| (widths[*i], *i));
            // Below 12 characters a name says nothing; the terminal may wrap instead.
            let Some(widest) = widest.filter(|i| widths[*i] > LEAST_NAME) else { break };
            widths[widest] -= 1;
        }
        widths
    }
}

/// Adds a cell of the last column, which begins after `left` characters, over as many lines as it takes.
fn add_wrapped(cell: &str, (left, width): (usize, usize), text: &mut String) {
    if left + characters(cell) <= width {
        text.push_str(cell);
    } else if left + LEAST <= width {
        text.push_str(wrap(cell, width, &" ".repeat(left)).trim());
    } else {
        text.truncate(text.trim_end_matches(is_blank).len());
        text.push('\n');
        text.push_str(wrap(cell, width, BELOW).trim_end());
    }
}

/// The narrowest that a column of names is cut to.
const LEAST_NAME: usize = 12;
/// A narrower column is not wrapped, because a word or two a line are hard to read: the cell stands below its row.
const LEAST: usize = 36;
/// What stands before such a cell.
const BELOW: &str = "      ";

/// What is cut at the end of a line; its break is no blank of it.
fn is_blank(c: char) -> bool {
    c != '\n' && c.is_whitespace()
}

/// The characters of a text; those of ASCII are counted at once.
fn characters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_widest_text_gives_way() {
        let mut table = Table::new(&[("exc", Align::Right), ("name", Align::Left)]);
        table.row(["1.5 s".to_owned(), "libc.so.6!clock_nanosleep".to_owned()]);
        table.row(["12 ms".to_owned(), "main".to_owned()]);
        let text = table.render(24);
        assert_eq!(text, "  exc  name\n1.5 s  libc.so.…anosleep\n12 ms  main\n");
        assert!(table.whole().render(24).contains("libc.so.6!clock_nanosleep"));
    }

    #[test]
    fn two_wide_columns_share_what_is_too_much() {
        let mut table = Table::new(&[("function", Align::Left), ("called from", Align::Left)]);
        table.row(["libc.so.6!__futex_abstimed_wait_common64", "app.py!wait_for_the_other_one"]);
        let table = table.sharing();
        let text = table.render(50);
        let row = text.lines().nth(1).unwrap();
        assert_eq!(row.matches('…').count(), 2, "{text}");
        assert!(text.lines().all(|line| characters(line) <= 50), "{text}");
        assert!(!table.render(usize::MAX).contains('…'));
    }

    #[test]
    fn a_column_can_be_the_one_that_gives_way() {
        let mut table = Table::new(&[("value", Align::Left), ("from", Align::Left)]);
        table.row([
            "a value of forty characters and a bit more",
            "a/path/that/is/as/long/as/the/value:1",
        ]);
        let text = table.cutting(0).render(60);
        assert!(text.ends_with("  a/path/that/is/as/long/as/the/value:1\n"), "{text}");
        assert!(text.lines().all(|line| characters(line) <= 60), "{text}");
    }

    #[test]
    fn the_last_column_of_a_whole_table_is_wrapped() {
        let mut table = Table::new(&[("name", Align::Left), ("why", Align::Left)]);
        table.row(["A", "a reason that takes more than the width that a narrow terminal has"]);
        table.row(["LONG_NAME", "short"]);
        let table = table.whole();
        let text = table.render(50);
        assert_eq!(
            text,
            "name       why\n\
             A          a reason that takes more than the width\n           that a narrow terminal has\n\
             LONG_NAME  short\n"
        );
        // Where little is left, it stands below its row.
        let text = table.render(40);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| characters(line) <= 40), "{text}");
        assert_eq!(lines[1..3], ["A", "      a reason that takes more than the"]);
        assert_eq!(lines.last(), Some(&"LONG_NAME  short"));
    }
}
