//! Snapshots: configurations as a file that can be kept, compared and given to others.
//!
//! ```text
//! {"culprit_config_snapshot":1, "key":..., "subject":...}      the header
//! {"profile":...}                                              one line a profile: sources, findings
//! {"of":0,"key":"Logging:Level","chain":[...]}                 one line a key, in the order of profiles and keys
//! ```
//!
//! A line a key lets [`Snapshot::read_keys`] explain one key of a large snapshot without reading the rest.
//! A snapshot is made from a [`Configuration`], which has no plaintext of a secret, so it has none either.
//! It is input of others: every index in it is checked.

mod rows;
mod search;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use crate::configuration::Configuration;
use crate::value::Redactor;
use rows::{Header, KeyRow, ProfileRow};
use search::{At, KeyLines};

/// The version of the form.
pub const SNAPSHOT_VERSION: u32 = 1;
/// The largest snapshot that is read.
pub const MOST_SNAPSHOT_BYTES: u64 = 2 << 30;

/// Configurations of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What it is of: `folder app`, ``container `web` ``.
    pub subject: String,
    /// The key of its fingerprints; none if it was left out. With it, somebody can test whether a secret is
    /// a certain text.
    pub key: Option<[u8; 32]>,
    /// The configurations.
    pub configurations: Vec<Configuration>,
}

/// Why a file is not a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotASnapshot {
    /// It begins with something else.
    #[error("not a snapshot: its first line is not the header of one")]
    Header,
    /// A later version made it.
    #[error("a snapshot of version {0}; this program reads version {SNAPSHOT_VERSION}")]
    Version(u32),
    /// It cannot be read.
    #[error("{0}")]
    Unread(String),
    /// A line is malformed, or refers to something that is not there.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

impl Snapshot {
    /// A snapshot of configurations that were made with this redactor.
    #[must_use]
    pub fn new(subject: &str, redactor: &Redactor, configurations: Vec<Configuration>) -> Self {
        Self { subject: subject.to_owned(), key: Some(redactor.key()), configurations }
    }

    /// The same without the key of the fingerprints: nobody can test a guess, and secrets can no longer be
    /// compared with those of other snapshots.
    #[must_use]
    pub fn without_key(self) -> Self {
        Self { key: None, ..self }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = String::new();
        let mut line = |json: Result<String, serde_json::Error>| -> Result<(), serde_json::Error> {
            text.push_str(&json?);
            text.push('\n');
            Ok(())
        };
        line(serde_json::to_string(&Header::new(self)))?;
        for one in &self.configurations {
            line(serde_json::to_string(&ProfileRow::new(one)))?;
        }
        for (of, one) in self.configurations.iter().enumerate() {
            for effective in &one.effective {
                line(serde_json::to_string(&KeyRow::new(of, one, effective)))?;
            }
        }
        Ok(text)
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// When the text is not one, or a part of it does not fit the rest.
    pub fn read(text: &str) -> Result<Self, NotASnapshot> {
        let mut lines = text.split_terminator('\n').zip(1..);
        let mut snapshot = Self::head(|| Ok(lines.next().map(|(line, _)| line.to_owned())))?;
        lines.try_for_each(|(line, number)| snapshot.add(line, number))?;
        Ok(snapshot)
    }

    /// Reads of a snapshot only the keys that a name may mean, for [`Configuration::find`]. Costs a pass
    /// over the file on all processors, and memory for what is found.
    ///
    /// # Errors
    /// As [`Snapshot::read`], or when the file cannot be read.
    pub fn read_keys(file: &File, name: &str) -> Result<Self, NotASnapshot> {
        let length = file.metadata().map_err(|error| unread(&error))?.len();
        let mut reader = BufReader::new(At { file, offset: 0 }.take(length));
        let (mut at, mut sample) = (0, Vec::new());
        let mut snapshot = Self::head(|| {
            let mut line = String::new();
            let read = reader.read_line(&mut line).map_err(|error| unread(&error))?;
            at += read as u64;
            line.truncate(line.trim_end_matches('\n').len());
            Ok((read > 0).then_some(line))
        })?;
        reader.by_ref().take(SAMPLE).read_to_end(&mut sample).map_err(|error| unread(&error))?;
        let found = KeyLines::new(name, &sample)
            .in_file(file, at..length)
            .map_err(|error| unread(&error))?;
        for line in found {
            let added = String::from_utf8(line).ok().and_then(|line| snapshot.add(&line, 0).ok());
            if added.is_none() {
                // Only a pass over everything knows the number of the line.
                let mut text = String::new();
                let mut all = At { file, offset: 0 }.take(length);
                all.read_to_string(&mut text).map_err(|error| unread(&error))?;
                return Self::read(&text);
            }
        }
        Ok(snapshot)
    }

    /// The snapshot without keys, from its first lines.
    fn head(
        mut next: impl FnMut() -> Result<Option<String>, NotASnapshot>,
    ) -> Result<Self, NotASnapshot> {
        let first = next()?.ok_or(NotASnapshot::Header)?;
        let header: Header = serde_json::from_str(&first).map_err(|_| NotASnapshot::Header)?;
        if header.culprit_config_snapshot != SNAPSHOT_VERSION {
            return Err(NotASnapshot::Version(header.culprit_config_snapshot));
        }
        let mut snapshot = header.snapshot().ok_or(NotASnapshot::Header)?;
        for number in 2..header.profiles.saturating_add(2) {
            let Some(line) = next()? else {
                return Err(malformed(number, "the profile is missing"));
            };
            let row: ProfileRow =
                serde_json::from_str(&line).map_err(|error| malformed_json(number, &error))?;
            let one = row.configuration().map_err(|what| malformed(number, &what))?;
            snapshot.configurations.push(one);
        }
        Ok(snapshot)
    }

    /// Adds the key of a line.
    fn add(&mut self, line: &str, number: usize) -> Result<(), NotASnapshot> {
        let row: KeyRow<'_> =
            serde_json::from_str(line).map_err(|error| malformed_json(number, &error))?;
        row.add_to(&mut self.configurations).map_err(|what| malformed(number, &what))
    }
}

/// How much of a snapshot shows which bytes it has most often.
const SAMPLE: u64 = 1 << 16;

fn unread(error: &std::io::Error) -> NotASnapshot {
    NotASnapshot::Unread(error.to_string())
}

fn malformed(line: usize, what: &str) -> NotASnapshot {
    NotASnapshot::Line { line, what: what.to_owned() }
}

/// The message of a parser may quote the line, so only its place is taken.
fn malformed_json(line: usize, error: &serde_json::Error) -> NotASnapshot {
    malformed(line, &format!("malformed at column {}", error.column()))
}
