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

use aho_corasick::AhoCorasick;

use crate::configuration::Configuration;
use crate::value::Redactor;
use rows::{Header, KeyRow, ProfileRow};

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
        Self::read_lines(text, &|_| true)
    }

    /// Reads of a snapshot only the keys that a name may mean, for [`Configuration::find`]. Costs a pass
    /// over the text, and memory for what is found.
    ///
    /// # Errors
    /// As [`Snapshot::read`].
    pub fn read_keys(text: &str, name: &str) -> Result<Self, NotASnapshot> {
        let quoted = serde_json::to_string(name).unwrap_or_default();
        let wanted = quoted.trim_matches('"');
        let finder = AhoCorasick::builder().ascii_case_insensitive(true).build([wanted]);
        match finder {
            Ok(finder) => {
                let matching: std::collections::BTreeSet<usize> = line_starts(text, &finder);
                Self::read_lines(text, &|start| matching.contains(&start))
            }
            Err(_) => Self::read(text),
        }
    }

    fn read_lines(text: &str, wanted: &dyn Fn(usize) -> bool) -> Result<Self, NotASnapshot> {
        let mut lines = Lines::new(text);
        let first = lines.next().ok_or(NotASnapshot::Header)?;
        let header: Header = serde_json::from_str(first.1).map_err(|_| NotASnapshot::Header)?;
        if header.culprit_config_snapshot != SNAPSHOT_VERSION {
            return Err(NotASnapshot::Version(header.culprit_config_snapshot));
        }
        let mut snapshot = header.snapshot().ok_or(NotASnapshot::Header)?;
        for _ in 0..header.profiles {
            let Some((_, line)) = lines.next() else {
                return Err(malformed(lines.number + 1, "the profile is missing"));
            };
            let row: ProfileRow =
                serde_json::from_str(line).map_err(|error| malformed_json(lines.number, &error))?;
            let one = row.configuration().map_err(|what| malformed(lines.number, &what))?;
            snapshot.configurations.push(one);
        }
        while let Some((start, line)) = lines.next() {
            if !wanted(start) {
                continue;
            }
            let row: KeyRow<'_> =
                serde_json::from_str(line).map_err(|error| malformed_json(lines.number, &error))?;
            row.add_to(&mut snapshot.configurations)
                .map_err(|what| malformed(lines.number, &what))?;
        }
        Ok(snapshot)
    }
}

fn malformed(line: usize, what: &str) -> NotASnapshot {
    NotASnapshot::Line { line, what: what.to_owned() }
}

/// The message of a parser may quote the line, so only its place is taken.
fn malformed_json(line: usize, error: &serde_json::Error) -> NotASnapshot {
    malformed(line, &format!("malformed at column {}", error.column()))
}

/// Where the lines start that hold a match.
fn line_starts(text: &str, finder: &AhoCorasick) -> std::collections::BTreeSet<usize> {
    let mut starts = std::collections::BTreeSet::new();
    let mut at = 0;
    while let Some(found) = finder.find(&text[at..]) {
        let position = at + found.start();
        starts.insert(text[..position].rfind('\n').map_or(0, |end| end + 1));
        match text[position..].find('\n') {
            Some(end) => at = position + end + 1,
            None => break,
        }
    }
    starts
}

/// Lines with where they start, and their number so far.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    const fn new(text: &'a str) -> Self {
        Self { text, at: 0, number: 0 }
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        let end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
        self.at = end + 1;
        self.number += 1;
        Some((start, &self.text[start..end]))
    }
}
