//! A table for people: columns as wide as their first rows need, numbers on the right.

use std::io::{self, Write};

use culprit_model::clean;
use culprit_query::{Answer, AnswerColumn, Value};

use super::json::value_json;
use super::{Print, Told};
use crate::failure::Failure;

/// Columns are laid out by this many rows; later ones may stand out of them.
const LAID_OUT: usize = 1000;
/// A cell that is wider pushes what follows instead of widening its column in every row.
const WIDEST: usize = 60;

/// Answers as a table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    headings: Vec<String>,
    right: Vec<bool>,
    /// Rows that wait for the layout.
    waiting: Vec<Vec<String>>,
    /// The columns' widths, once they are known.
    widths: Option<Vec<usize>>,
}

impl Print for Table {
    fn begin(&mut self, answer: &Answer, _: &mut dyn Write) -> io::Result<()> {
        self.headings = answer.columns().iter().map(heading).collect();
        self.right = answer.columns().iter().map(is_number).collect();
        Ok(())
    }

    fn rows(&mut self, rows: &[Vec<Value>], out: &mut dyn Write) -> io::Result<()> {
        self.waiting.extend(rows.iter().map(|row| row.iter().map(cell).collect()));
        if self.widths.is_some() || self.waiting.len() >= LAID_OUT {
            self.print(out)?;
        }
        Ok(())
    }

    fn end(&mut self, _: Told, _: Option<&Failure>, out: &mut dyn Write) -> io::Result<()> {
        self.print(out)
    }
}

impl Table {
    fn print(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        let widths = match self.widths.take() {
            Some(widths) => widths,
            None => {
                let widths = widths(&self.headings, &rows);
                writeln!(out, "{}", self.line(&self.headings, &widths))?;
                widths
            }
        };
        for row in &rows {
            // A cell of several lines, such as a plan, stands in as many.
            let lines: Vec<Vec<&str>> = row.iter().map(|cell| cell.split('\n').collect()).collect();
            for at in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
                let cells = lines.iter().map(|lines| lines.get(at).copied().unwrap_or_default());
                writeln!(out, "{}", self.line(&cells.collect::<Vec<_>>(), &widths))?;
            }
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn line(&self, cells: &[impl AsRef<str>], widths: &[usize]) -> String {
        let padded = cells.iter().zip(widths).zip(&self.right).map(|((cell, width), right)| {
            let cell = cell.as_ref();
            if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

fn widths(headings: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let longest = |cell: &String| cell.split('\n').map(|line| line.chars().count()).max();
    let width = |(at, heading): (usize, &String)| {
        let cells = rows.iter().filter_map(|row| row.get(at)).filter_map(longest);
        cells.map(|width| width.min(WIDEST)).chain([heading.chars().count()]).max().unwrap_or(0)
    };
    headings.iter().enumerate().map(width).collect()
}

/// The name, with the unit where it is one of time.
fn heading(column: &AnswerColumn) -> String {
    let name = clean(&column.name);
    if column.unit.starts_with("ns") { format!("{name} (ns)") } else { name.into_owned() }
}

fn is_number(column: &AnswerColumn) -> bool {
    ["int", "double", "float", "decimal"].iter().any(|ty| column.ty.contains(ty))
        && !column.ty.ends_with(']')
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        // The lines of a plan stay lines; names have none.
        Value::Text(text) => text.lines().map(clean).collect::<Vec<_>>().join("\n"),
        Value::List(_) | Value::Record(_) => clean(&value_json(value).to_string()).into_owned(),
    }
}
