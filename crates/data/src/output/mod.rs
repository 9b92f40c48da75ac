//! Everything that reaches the user: stdout is data, stderr is talk.
//!
//! An answer is printed as its rows come, in one of three forms; none of them holds more than a
//! screen of rows. One file a form.

mod csv;
mod json;
mod table;
mod talk;

use std::io::{self, BufWriter, Write};

use culprit_query::{Answer, Error, Value};

use crate::failure::Failure;

pub(crate) use csv::Csv;
pub(crate) use json::{Json, engine_json, failure_document, value_json};
pub(crate) use table::Table;
pub(crate) use talk::Talk;

/// Rows behind the limit that are counted, so that one can be told how many there are; more take
/// too long for a number that nobody asked for.
const COUNTED: u64 = 1_000_000;

/// How many rows are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    rows: Option<u64>,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Rows that were printed.
    pub(crate) shown: u64,
    /// Rows that there are, as far as they were counted.
    pub(crate) rows: u64,
    /// True when all of them were counted.
    pub(crate) exact: bool,
}

impl Limit {
    /// This many, or all.
    pub(crate) fn new(rows: Option<u64>) -> Self {
        Self { rows }
    }

    fn left(self, shown: u64) -> usize {
        let left = self.rows.map_or(u64::MAX, |rows| rows.saturating_sub(shown));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    fn is_counted(self, rows: u64) -> bool {
        self.rows.is_some_and(|limit| rows >= limit.saturating_add(COUNTED))
    }
}

impl Told {
    /// True when there are rows that were not printed.
    pub(crate) fn is_cut(self) -> bool {
        self.rows > self.shown
    }
}

/// A form of answers.
pub(crate) trait Print {
    /// Prints what comes before the rows.
    ///
    /// # Errors
    /// When stdout cannot take it.
    fn begin(&mut self, answer: &Answer, out: &mut dyn Write) -> io::Result<()>;

    /// Prints rows.
    ///
    /// # Errors
    /// When stdout cannot take them.
    fn rows(&mut self, rows: &[Vec<Value>], out: &mut dyn Write) -> io::Result<()>;

    /// Prints what comes after the last row; `failed` says why there are no more.
    ///
    /// # Errors
    /// When stdout cannot take it.
    fn end(&mut self, told: Told, failed: Option<&Failure>, out: &mut dyn Write) -> io::Result<()>;

    /// True when a failure after the first row is told within what is printed.
    fn tells_failures(&self) -> bool {
        false
    }
}

/// Prints an answer.
///
/// # Errors
/// When its rows cannot be had, or stdout cannot take them.
pub(crate) fn print(
    answer: &mut Answer,
    mut form: impl Print,
    limit: Limit,
    talk: &Talk,
) -> Result<(), Failure> {
    // What fails mostly does so before the first row; then only the failure is printed.
    let mut next = answer.next_rows()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut told = Told::default();
    let mut failed = None;
    let result = (|| {
        form.begin(answer, &mut out)?;
        while let Some(rows) = next.take() {
            let shown = rows.len().min(limit.left(told.shown));
            form.rows(&rows[..shown], &mut out)?;
            told.shown += shown as u64;
            told.rows += rows.len() as u64;
            if limit.is_counted(told.rows) {
                break;
            }
            match answer.next_rows() {
                Ok(rows) => next = rows,
                // All that was asked for is there: nobody needs to know how many more would come.
                Err(error) if limit.left(told.shown) == 0 && !matches!(error, Error::Stopped) => {
                    break;
                }
                Err(error) => failed = Some(Failure::from(error)),
            }
            told.exact = next.is_none();
        }
        told.exact |= told.rows == 0;
        form.end(told, failed.as_ref(), &mut out)?;
        out.flush()
    })();
    match result {
        // A reader that goes away (`| head`) is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
        Err(error) => return Err(Failure::refused(format!("cannot write to stdout: {error}"))),
        Ok(()) => {}
    }
    if told.is_cut() {
        talk.say(&cut(told));
    }
    match failed {
        Some(failure) if form.tells_failures() => Err(failure.told()),
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

fn cut(told: Told) -> String {
    let more = if told.exact { "" } else { "more than " };
    format!("printed {} of {more}{} rows; `--limit 0` prints all", told.shown, told.rows)
}
