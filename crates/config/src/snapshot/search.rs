//! The lines of a snapshot that may be about a key, found without reading the others as JSON.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::thread;

/// What is read at once.
const BLOCK: usize = 1 << 20;

/// A file from an offset on, with a place of its own.
pub(super) struct At<'a> {
    pub(super) file: &'a File,
    pub(super) offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Looks for lines that hold a name in any case.
#[derive(Debug, Clone)]
pub(super) struct KeyLines {
    /// The name as JSON writes it.
    name: Vec<u8>,
    /// The place of the byte that is looked for: the one that a snapshot has least often.
    at: usize,
}

impl KeyLines {
    /// A search for a name; `sample` is a part of the snapshot.
    pub(super) fn new(name: &str, sample: &[u8]) -> Self {
        let quoted = serde_json::to_string(name).unwrap_or_default();
        let name = quoted.trim_matches('"').as_bytes().to_vec();
        let mut counts = [0_u32; 256];
        sample.iter().for_each(|byte| counts[usize::from(byte.to_ascii_lowercase())] += 1);
        let often = |at: &usize| counts[usize::from(name[*at].to_ascii_lowercase())];
        let at = (0..name.len()).min_by_key(often).unwrap_or(0);
        Self { name, at }
    }

    /// The lines of a text that hold the name, without their breaks.
    fn in_text(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(byte) = self.name.get(self.at) else { return Vec::new() };
        let mut lines: Vec<Range<usize>> = Vec::new();
        let (small, capital) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        for found in memchr::memchr2_iter(small, capital, text) {
            if lines.last().is_some_and(|line| found < line.end) {
                continue;
            }
            let Some(start) = found.checked_sub(self.at) else { continue };
            let here = text.get(start..start + self.name.len());
            if here.is_some_and(|here| here.eq_ignore_ascii_case(&self.name)) {
                let start = memchr::memrchr(b'\n', &text[..found]).map_or(0, |end| end + 1);
                let end = memchr::memchr(b'\n', &text[found..]);
                lines.push(start..end.map_or(text.len(), |length| found + length));
            }
        }
        lines
    }

    /// The lines of a part of a file that hold the name, in their order.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn in_file(&self, file: &File, part: Range<u64>) -> io::Result<Vec<Vec<u8>>> {
        let processors = thread::available_parallelism().map_or(1, usize::from) as u64;
        let share = part.end.saturating_sub(part.start).div_ceil(processors).max(BLOCK as u64);
        let starts = (part.start..part.end).step_by(usize::try_from(share).unwrap_or(usize::MAX));
        thread::scope(|scope| {
            let search = |start: u64| {
                // A line that begins at the start is known by the break before it.
                let before = start.saturating_sub(1).max(part.start);
                let source = At { file, offset: before };
                self.in_part(source, start > part.start, (start + share).min(part.end) - before)
            };
            let parts: Vec<_> = starts.map(|start| scope.spawn(move || search(start))).collect();
            let mut found = Vec::new();
            for part in parts {
                let lines =
                    part.join().unwrap_or_else(|_| Err(io::Error::other("a search ended")))?;
                found.extend(lines);
            }
            Ok(found)
        })
    }

    /// The lines of a source that hold the name. `skips`: the source begins inside a line, which belongs
    /// to the part before. Lines that begin in the first `length` bytes count.
    ///
    /// # Errors
    /// When it cannot be read.
    fn in_part(&self, mut source: impl Read, skips: bool, length: u64) -> io::Result<Vec<Vec<u8>>> {
        let (mut found, mut block) = (Vec::new(), Vec::new());
        let (mut skips, mut left) = (skips, length);
        while left > 0 {
            let old = block.len();
            let read = source.by_ref().take(BLOCK as u64).read_to_end(&mut block)?;
            let is_end = read == 0;
            let whole = match memchr::memrchr(b'\n', &block[old..]) {
                Some(end) => old + end + 1,
                None if is_end => block.len(),
                None => continue,
            };
            let mut start = 0;
            if skips {
                start = memchr::memchr(b'\n', &block).map_or(whole, |end| end + 1);
                skips = false;
            }
            let text = block.get(start..whole).unwrap_or_default();
            for line in self.in_text(text) {
                if ((start + line.start) as u64) < left {
                    found.push(text[line].to_vec());
                }
            }
            block.drain(..whole);
            left = if is_end { 0 } else { left.saturating_sub(whole as u64) };
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_find_together_what_the_whole_has() {
        let line =
            |at: usize| format!("{at} {}{}\n", "x".repeat(at % 7), ["", "Key", "kEy"][at % 3]);
        let text: String = (0..40).map(line).collect();
        let text = text.trim_end();
        let search = KeyLines::new("key", text.as_bytes());
        let whole: Vec<&str> =
            text.lines().filter(|line| line.to_ascii_lowercase().contains("key")).collect();
        assert!(whole.len() > 20);
        for share in 1..text.len() + 1 {
            let mut found = Vec::new();
            for start in (0..text.len()).step_by(share) {
                let before = start.saturating_sub(1);
                let length = (start + share).min(text.len()) - before;
                let source = &text.as_bytes()[before..];
                found.extend(search.in_part(source, start > 0, length as u64).unwrap());
            }
            assert_eq!(found, whole.iter().map(|line| line.as_bytes()).collect::<Vec<_>>());
        }
    }
}
