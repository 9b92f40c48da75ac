//! Names of code that was generated at run time: perf maps (text, no times) and jitdump (binary, with
//! times).
//!
//! Both become one [`JitCode`]: pieces of memory, each with the functions that were there, in the order
//! in which the runtime reported them.
//!
//! ```text
//! reported   |-- a --|      |-- b --|     then, over their ends:   |--- c ---|
//! pieces     |  a  | a,c |  c  | b,c |  b  |
//! ```
//!
//! Which of several functions ran is decided by time where the source has it. Otherwise the last one is
//! taken (runtimes append when they reuse memory) and the answer is marked as ambiguous.

mod jitdump;
mod perf_map;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use jitdump::parse_jitdump;
pub use perf_map::parse_perf_map;

use culprit_model::parse_generated_name;

use crate::Avma;

/// Functions remembered for one piece of memory; older ones are dropped (and counted). A runtime that
/// compiles hot code again and again reuses a place some ten times.
const MOST_VERSIONS: usize = 32;

/// Pieces that one entry may touch on average. Real maps touch one or two; a hostile one that lets every
/// entry cover all others would otherwise cost the square of its length.
const TOUCHES_PER_ENTRY: usize = 64;

/// The generated code of one process.
#[derive(Clone, Debug, Default)]
pub struct JitCode {
    entries: Vec<JitEntry>,
    /// By start; without overlap.
    pieces: BTreeMap<u64, Piece>,
    touched: usize,
    skipped: usize,
}

/// One function as the runtime reported it.
#[derive(Clone, Debug)]
struct JitEntry {
    start: u64,
    end: u64,
    /// When it was put there, ns of the source's clock; `None` when the source does not say.
    since_ns: Option<u64>,
    name: Arc<str>,
    lines: Arc<[JitLine]>,
}

/// From an address on, generated code stems from this line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JitLine {
    address: u64,
    file: Arc<str>,
    line: u32,
}

#[derive(Clone, Debug)]
struct Piece {
    end: u64,
    /// Indices into the entries, in the order of reporting; never empty.
    versions: Vec<u32>,
}

/// The generated function at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitSymbol {
    /// The runtime's name for it.
    pub name: Arc<str>,
    /// First byte of its code.
    pub start: Avma,
    /// Behind its last byte.
    pub end: Avma,
    /// Source file, where the runtime gave lines.
    pub file: Option<Arc<str>>,
    /// Line in `file`, from 1.
    pub line: Option<u32>,
    /// A function of another name was at this address at some time, and nothing says which one ran.
    pub ambiguous: bool,
}

impl JitCode {
    /// The function at an address. `at_ns` is the moment in question, in the source's clock
    /// (CLOCK_MONOTONIC for jitdump); without it, or for a source without times, the last one reported.
    pub fn lookup(&self, address: Avma, at_ns: Option<u64>) -> Option<JitSymbol> {
        let (_, piece) = self.pieces.range(..=address.0).next_back()?;
        if address.0 >= piece.end {
            return None;
        }
        let versions =
            || piece.versions.iter().filter_map(|&index| self.entries.get(index as usize));
        let timed = at_ns.is_some() && versions().all(|entry| entry.since_ns.is_some());
        let there = |entry: &&JitEntry| !timed || entry.since_ns <= at_ns;
        let entry = versions().rfind(there)?;
        let line = line_at(&entry.lines, address.0);
        Some(JitSymbol {
            name: Arc::clone(&entry.name),
            start: Avma(entry.start),
            end: Avma(entry.end),
            file: line.map(|line| Arc::clone(&line.file)),
            line: line.map(|line| line.line).filter(|&line| line != 0),
            ambiguous: !timed && versions().any(|other| differs(&other.name, &entry.name)),
        })
    }

    /// Number of functions reported.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no function was reported.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Lines or records that could not be read, and reports that were given up as there were too many for
    /// one place.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    fn add(&mut self, entry: JitEntry) {
        let Ok(index) = u32::try_from(self.entries.len()) else {
            self.skipped += 1;
            return;
        };
        if entry.start >= entry.end
            || self.touched > (self.entries.len() + 1024) * TOUCHES_PER_ENTRY
        {
            self.skipped += 1;
            return;
        }
        let (start, end) = (entry.start, entry.end);
        self.entries.push(entry);
        self.split(start);
        self.split(end);
        let mut gaps = Vec::new();
        let mut at = start;
        for (&piece_start, piece) in self.pieces.range_mut(start..end) {
            self.touched += 1;
            if at < piece_start {
                gaps.push((at, piece_start));
            }
            at = piece.end;
            if piece.versions.len() == MOST_VERSIONS {
                piece.versions.remove(0);
                self.skipped += 1;
            }
            piece.versions.push(index);
        }
        if at < end {
            gaps.push((at, end));
        }
        for (start, end) in gaps {
            self.pieces.insert(start, Piece { end, versions: vec![index] });
        }
    }

    /// Cuts the piece around an address in two.
    fn split(&mut self, at: u64) {
        let Some((_, piece)) = self.pieces.range_mut(..at).next_back() else { return };
        if piece.end <= at {
            return;
        }
        let upper = Piece { end: piece.end, versions: piece.versions.clone() };
        piece.end = at;
        self.pieces.insert(at, upper);
    }
}

/// Whether two names are of different functions: one that was compiled again is the same.
fn differs(one: &str, other: &str) -> bool {
    one != other && parse_generated_name(one) != parse_generated_name(other)
}

fn line_at(lines: &[JitLine], address: u64) -> Option<&JitLine> {
    let after = lines.partition_point(|line| line.address <= address);
    lines.get(after.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(entries: &[(u64, u64, Option<u64>, &str)]) -> JitCode {
        let mut code = JitCode::default();
        for &(start, end, since_ns, name) in entries {
            code.add(JitEntry { start, end, since_ns, name: name.into(), lines: Arc::new([]) });
        }
        code
    }

    fn names(
        code: &JitCode,
        addresses: impl IntoIterator<Item = u64>,
        at_ns: Option<u64>,
    ) -> String {
        let name = |address| match code.lookup(Avma(address), at_ns) {
            Some(symbol) => format!("{}{}", symbol.name, if symbol.ambiguous { "?" } else { "" }),
            None => "-".to_owned(),
        };
        addresses.into_iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_last_report_wins_and_says_when_it_is_a_guess() {
        let code = code(&[
            (10, 20, None, "a"),
            (25, 35, None, "b"),
            (15, 30, None, "c"),
            (10, 12, None, "a"),
        ]);
        assert_eq!(
            names(&code, [9, 10, 12, 15, 19, 20, 24, 25, 29, 30, 34, 35], None),
            "- a a c? c? c c c? c? b b -"
        );
    }

    #[test]
    fn time_tells_which_one_ran() {
        let code = code(&[(10, 20, Some(100), "old"), (10, 20, Some(200), "new")]);
        assert_eq!(names(&code, [15], Some(99)), "-");
        assert_eq!(names(&code, [15], Some(150)), "old");
        assert_eq!(names(&code, [15], Some(200)), "new");
        assert_eq!(names(&code, [15], None), "new?");
    }

    #[test]
    fn a_function_that_was_compiled_again_is_no_guess() {
        let code = code(&[(10, 20, None, "JS:~f /a.js:1:1"), (10, 20, None, "JS:*f /a.js:1:1")]);
        assert_eq!(names(&code, [15], None), "JS:*f /a.js:1:1");
    }

    #[test]
    fn a_hostile_map_is_cut_short() {
        let mut all = JitCode::default();
        for index in 0..20_000 {
            // Every entry covers all places so far and adds one of its own.
            let (start, end) = (0, 10 + index * 2);
            all.add(JitEntry { start, end, since_ns: None, name: "x".into(), lines: Arc::new([]) });
        }
        assert!(all.skipped() > 0);
        assert!(all.lookup(Avma(5), None).is_some());
    }
}
