//! Stacks as columns of names, root on top, the way the Firefox Profiler draws its test profiles.
//!
//! ```text
//! main   main   main
//! read   serve  serve
//!        lock
//! ```

use super::write;
use crate::ids::StackId;
use crate::recording::Recording;

/// The stacks of a drawing, one a column, from left to right, added to a recording. A name belongs
/// to the column at or before which it starts in the first line.
#[must_use]
pub fn from_columns(recording: &mut Recording, text: &str) -> Vec<StackId> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let starts: Vec<usize> =
        lines.first().map(|line| words(line).map(|(at, _)| at).collect()).unwrap_or_default();
    let column = |at: usize| starts.partition_point(|start| *start <= at).saturating_sub(1);
    let mut columns: Vec<Vec<&str>> = vec![Vec::new(); starts.len()];
    for line in lines {
        for (at, name) in words(line) {
            columns[column(at)].push(name);
        }
    }
    let stacks = columns.into_iter().map(|names| write::stack(recording, names.into_iter()));
    stacks.flatten().collect()
}

/// The drawing of some stacks, one a column.
#[must_use]
pub fn columns(recording: &Recording, stacks: &[StackId]) -> String {
    let columns: Vec<Vec<String>> = stacks
        .iter()
        .map(|stack| {
            let names = recording.stack(*stack).map(|frame| recording.frame_name(frame));
            let mut names: Vec<String> = names.collect();
            names.reverse();
            names
        })
        .collect();
    let width = |column: &Vec<String>| column.iter().map(|name| name.chars().count()).max();
    let widths: Vec<usize> = columns.iter().map(|c| width(c).unwrap_or(0)).collect();
    let deepest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let line = |depth: usize| {
        let cells = columns.iter().zip(&widths).map(|(column, width)| {
            format!("{:width$}", column.get(depth).map_or("", String::as_str))
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    (0..deepest).map(|depth| line(depth) + "\n").collect()
}

/// The words of a line with where they start.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &line[at..];
        let start = at + (rest.len() - rest.trim_start().len());
        let word = line[start..].split_whitespace().next()?;
        at = start + word.len();
        Some((start, word))
    })
}
