//! A table in text: columns as wide as their content, the last text column cut to the width.

use super::clean::elide;

/// On which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a heading.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    /// Whether names stay whole, though lines are longer than the width.
    whole: bool,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these headings.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Self { columns, whole: false, rows: Vec::new() }
    }

    /// Cuts no cell: for names that say nothing in part, where the terminal may wrap instead.
    pub(crate) const fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Adds a row; one cell a column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table in lines of at most `width` characters; the widest left-aligned column gives way.
    pub(crate) fn render(&self, width: usize) -> String {
        let widths = self.widths(width);
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut text = String::new();
        for row in std::iter::once(&heading).chain(&self.rows) {
            text.push_str(self.line(row, &widths).trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let cell = |column: usize| {
            self.rows.iter().filter_map(move |row| row.get(column)).map(|cell| cell.chars().count())
        };
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, (name, _))| cell(i).chain([name.chars().count()]).max().unwrap_or(0))
            .collect();
        let total = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let widest = (0..widths.len())
            .filter(|i| self.columns[*i].1 == Align::Left)
            .max_by_key(|i| widths[*i]);
        if let Some(widest) = widest.filter(|_| !self.whole) {
            // Below 12 characters a name says nothing; the terminal may wrap instead.
            widths[widest] = widths[widest].saturating_sub(total.saturating_sub(width)).max(12);
        }
        widths
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).zip(&self.columns).map(|((cell, width), (_, align))| {
            let cell = elide(cell, *width);
            match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ")
    }
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
}
