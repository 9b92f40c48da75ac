//! jitdump: a binary log of generated code with times, moves and lines.
//!
//! Written by Node (`--perf-prof`), Java agents, CPython 3.13+ (`-X perf_jit`), LLVM's and Wasmtime's
//! JITs as `jit-PID.dump`, which the runtime also maps so that a recorder sees it. The writer may be
//! killed at any byte: what is whole is used. Source: tools/perf/Documentation/jitdump-specification.txt.

use std::sync::Arc;

use gimli::{EndianSlice, Reader, RunTimeEndian};
use rustc_hash::FxHashMap;

use super::{JitCode, JitEntry, JitLine};
use crate::Error;

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// "JiTD" read in the writer's byte order.
const MAGIC: u32 = 0x4a69_5444;
/// Set in the header's flags when times are processor ticks, which no other clock can be compared with.
const ARCH_TIMESTAMP: u64 = 1;
const RECORD_HEADER: u32 = 16;

const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
const CODE_DEBUG_INFO: u32 = 2;

/// Reads a jitdump file. Records that do not fit are counted ([`JitCode::skipped`]).
///
/// # Errors
/// [`Error::Malformed`] when the header is not that of a jitdump file.
pub fn parse_jitdump(bytes: &[u8], path: &str) -> Result<JitCode, Error> {
    let malformed =
        |reason: &str| Error::Malformed { path: path.to_owned(), reason: reason.to_owned() };
    let magic =
        bytes.first_chunk::<4>().ok_or_else(|| malformed("the jitdump header is cut short"))?;
    let endian = match (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)) {
        (MAGIC, _) => RunTimeEndian::Little,
        (_, MAGIC) => RunTimeEndian::Big,
        _ => return Err(malformed("not a jitdump file")),
    };
    let mut input = EndianSlice::new(bytes, endian);
    let flags =
        skip_header(&mut input).map_err(|_| malformed("the jitdump header is cut short"))?;
    let mut reader = JitReader { ticks: flags & ARCH_TIMESTAMP != 0, ..JitReader::default() };
    while !input.is_empty() {
        match next_record(&mut input) {
            Ok(record) => reader.record(&record),
            Err(_) => {
                // Without a length there is no next record.
                reader.code.skipped += 1;
                break;
            }
        }
    }
    Ok(reader.code)
}

/// Goes to the first record; gives the flags.
fn skip_header(input: &mut Slice<'_>) -> gimli::Result<u64> {
    let mut header = *input;
    header.skip(8)?; // magic, version
    let size = header.read_u32()?;
    header.skip(20)?; // machine, padding, process, time
    let flags = header.read_u64()?;
    input.skip(size as usize)?;
    Ok(flags)
}

struct Record<'a> {
    kind: u32,
    time_ns: u64,
    body: Slice<'a>,
}

fn next_record<'a>(input: &mut Slice<'a>) -> gimli::Result<Record<'a>> {
    let kind = input.read_u32()?;
    let size = input.read_u32()?;
    let time_ns = input.read_u64()?;
    let body =
        size.checked_sub(RECORD_HEADER).ok_or(gimli::Error::UnexpectedEof(input.offset_id()))?;
    Ok(Record { kind, time_ns, body: input.split(body as usize)? })
}

#[derive(Default)]
struct JitReader {
    code: JitCode,
    /// Times are ticks: left out.
    ticks: bool,
    /// Lines come in a record before their code; by code address.
    pending_lines: FxHashMap<u64, Vec<JitLine>>,
    /// The entry of each code index, for moves.
    by_index: FxHashMap<u64, usize>,
}

impl JitReader {
    fn record(&mut self, record: &Record<'_>) {
        let since_ns = (!self.ticks).then_some(record.time_ns);
        let done = match record.kind {
            CODE_LOAD => self.load(record.body, since_ns),
            CODE_MOVE => self.moved(record.body, since_ns),
            CODE_DEBUG_INFO => self.debug_info(record.body),
            // Closing, unwinding information and what later versions add carry no names.
            _ => Ok(()),
        };
        self.code.skipped += usize::from(done.is_err());
    }

    fn load(&mut self, mut body: Slice<'_>, since_ns: Option<u64>) -> gimli::Result<()> {
        body.skip(16)?; // process, thread, address
        let start = body.read_u64()?;
        let size = body.read_u64()?;
        let index = body.read_u64()?;
        let name = body.read_null_terminated_slice()?;
        let lines = self.pending_lines.remove(&start).unwrap_or_default().into();
        self.by_index.insert(index, self.code.entries.len());
        self.code.add(JitEntry {
            start,
            end: start.saturating_add(size),
            since_ns,
            name: String::from_utf8_lossy(name.slice()).into(),
            lines,
        });
        Ok(())
    }

    fn moved(&mut self, mut body: Slice<'_>, since_ns: Option<u64>) -> gimli::Result<()> {
        body.skip(24)?; // process, thread, address, old address
        let start = body.read_u64()?;
        let size = body.read_u64()?;
        let index = body.read_u64()?;
        let old = self.by_index.get(&index).and_then(|&at| self.code.entries.get(at));
        let Some(old) = old else {
            self.code.skipped += 1;
            return Ok(());
        };
        let distance = start.wrapping_sub(old.start);
        let lines = old
            .lines
            .iter()
            .map(|line| JitLine { address: line.address.wrapping_add(distance), ..line.clone() });
        let (name, lines) = (Arc::clone(&old.name), lines.collect());
        self.by_index.insert(index, self.code.entries.len());
        self.code.add(JitEntry { start, end: start.saturating_add(size), since_ns, name, lines });
        Ok(())
    }

    fn debug_info(&mut self, mut body: Slice<'_>) -> gimli::Result<()> {
        let code_address = body.read_u64()?;
        let count = body.read_u64()?;
        let mut lines: Vec<JitLine> = Vec::new();
        for _ in 0..count {
            let address = body.read_u64()?;
            let line = body.read_u32()?;
            body.skip(4)?; // discriminator
            let file = body.read_null_terminated_slice()?;
            // A name of one byte 0xff repeats the one before.
            let file = match lines.last() {
                Some(last) if file.slice() == [0xff] => Arc::clone(&last.file),
                _ => String::from_utf8_lossy(file.slice()).into(),
            };
            lines.push(JitLine { address, file, line });
        }
        lines.sort_by_key(|line| line.address);
        self.pending_lines.insert(code_address, lines);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Avma;

    fn record(kind: u32, time_ns: u64, body: &[u8]) -> Vec<u8> {
        let size = RECORD_HEADER + u32::try_from(body.len()).expect("small");
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &time_ns.to_le_bytes(), body].concat()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn load(time_ns: u64, start: u64, index: u64, name: &str) -> Vec<u8> {
        let body =
            [&words(&[0, start, start, 0x10, index])[..], name.as_bytes(), &[0], &[0x90; 16]]
                .concat();
        record(CODE_LOAD, time_ns, &body)
    }

    fn sample() -> Vec<u8> {
        let header =
            [&MAGIC.to_le_bytes()[..], &1u32.to_le_bytes(), &40u32.to_le_bytes(), &[0; 28]]
                .concat();
        let line = |address: u64, line: u32, file: &[u8]| {
            [&address.to_le_bytes()[..], &line.to_le_bytes(), &[0; 4], file, &[0]].concat()
        };
        let lines =
            [&words(&[0x1000, 2])[..], &line(0x1000, 3, b"a.js"), &line(0x1008, 5, &[0xff])]
                .concat();
        [
            header,
            record(CODE_DEBUG_INFO, 5, &lines),
            load(10, 0x1000, 1, "first"),
            load(20, 0x1000, 2, "second"),
            record(CODE_MOVE, 30, &words(&[0, 0x1000, 0x1000, 0x2000, 0x10, 1])),
            record(3, 40, &[]),
        ]
        .concat()
    }

    #[test]
    fn loads_moves_lines_and_times() {
        let code = parse_jitdump(&sample(), "jit-1.dump").expect("a whole file");
        let at = |address, time| {
            let symbol = code.lookup(Avma(address), Some(time))?;
            Some((symbol.name.to_string(), symbol.file.map(|file| file.to_string()), symbol.line))
        };
        let in_file =
            |name: &str, line| Some((name.to_owned(), Some("a.js".to_owned()), Some(line)));
        assert_eq!(at(0x1009, 15), in_file("first", 5));
        assert_eq!(at(0x1009, 25), Some(("second".to_owned(), None, None)));
        assert_eq!(at(0x2001, 35), in_file("first", 3));
        assert_eq!(at(0x2001, 25), None, "not moved yet");
        assert_eq!(code.skipped(), 0);
    }

    #[test]
    fn a_file_cut_anywhere_gives_what_is_whole() {
        let whole = sample();
        for length in 0..whole.len() {
            match parse_jitdump(&whole[..length], "cut") {
                Ok(code) => assert!(length >= 40 && code.len() <= 3),
                Err(_) => assert!(length < 40),
            }
        }
    }
}
