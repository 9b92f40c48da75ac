//! Finds the entries of a file that has no directory, by walking from header to header.
//!
//! Where a header should stand and none does, the walk goes on at the next signature that begins
//! one with a name of ours. Each byte is looked at once, so hostile input cannot make this slow.

use std::io;

use crate::disk::META;
use crate::spool::PartName;
use crate::zip::{Entry, LOCAL, Source, parse_local};

/// Bytes read for one header; ours have less than 200.
const HEADER_MAX: u64 = 512;
/// Bytes read at a time when looking for the next header.
const SEARCH_BYTES: u64 = 1 << 20;

/// What a walk over a file found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Whole entries in file order; their checksums are not yet checked.
    pub(crate) entries: Vec<Entry>,
    /// True when the last entry's bytes go on past the end of the file.
    pub(crate) cut: bool,
    /// Bytes that had to be passed over to find a header again.
    pub(crate) garbage: u64,
}

/// Finds the entries of a file without a directory.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn scan(source: &Source) -> io::Result<Scan> {
    let mut found = Scan::default();
    let mut at = 0;
    while at < source.len() {
        let head = source.read_some(at, HEADER_MAX)?;
        match parse_local(&head, at).filter(|entry| is_ours(&entry.name)) {
            Some(entry) if entry.data.end <= source.len() => {
                at = entry.data.end;
                found.entries.push(entry);
            }
            Some(_) => {
                found.cut = true;
                at = next_header(source, at + 1)?;
            }
            None => {
                let next = next_header(source, at + 1)?;
                // A cut header at the very end is the last write of a killed recorder.
                let begins = head.starts_with(&LOCAL) || LOCAL.starts_with(&head);
                let tail = next == source.len() && begins;
                found.cut |= tail;
                found.garbage += if tail { 0 } else { next - at };
                at = next;
            }
        }
    }
    Ok(found)
}

/// True for names of a spool's and of a finished file's entries.
fn is_ours(name: &str) -> bool {
    name == META || PartName::parse(name).is_some() || is_table(name)
}

fn is_table(name: &str) -> bool {
    name.strip_suffix(".parquet")
        .is_some_and(|stem| culprit_model::TABLES.iter().any(|table| table.name == stem))
}

/// Where the next local header of ours begins, from `at` on; the end when there is none.
fn next_header(source: &Source, mut at: u64) -> io::Result<u64> {
    while at < source.len() {
        // Windows overlap, so that a header across their edge is seen whole in the second.
        let window = source.read_some(at, SEARCH_BYTES + HEADER_MAX)?;
        let fresh = window.len().min(usize::try_from(SEARCH_BYTES).unwrap_or(usize::MAX));
        let hit = window
            .windows(LOCAL.len())
            .take(fresh)
            .enumerate()
            .filter(|(_, bytes)| *bytes == LOCAL)
            .find(|(i, _)| parse_local(&window[*i..], 0).is_some_and(|entry| is_ours(&entry.name)));
        if let Some((i, _)) = hit {
            return Ok(at + i as u64);
        }
        at += fresh as u64;
    }
    Ok(source.len())
}
