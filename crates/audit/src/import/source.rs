//! Sources as chunks: bytes that begin and end between two rows.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use twox_hash::XxHash64;

use crate::error::Error;

/// Bytes of a chunk: enough to be worth a thread's while, few enough to stay in its cache's reach.
pub(crate) const CHUNK: usize = 4 << 20;
/// Bytes that are read and hashed at once: they stay in a core's own cache in between.
const SLICE: usize = 256 << 10;
/// Bytes of one row at most; the rest of a longer one is skipped and the row rejected.
const LONGEST_ROW: usize = 256 << 20;
/// Bytes of a row that is too long that are kept: enough to say which one it was.
const KEPT: usize = 4096;

/// How rows are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By line breaks.
    Lines,
    /// By line breaks outside of double quotes.
    QuotedLines,
    /// Objects of one JSON array.
    JsonArray,
}

/// A source, opened.
pub(crate) struct Chunks {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    framing: Framing,
    /// What was read and not handed out, and memory for more.
    rest: Vec<u8>,
    filled: usize,
    /// Bytes that were handed out.
    pub(crate) offset: u64,
    /// Hash of the bytes that were read, those included that were skipped.
    digest: XxHash64,
    done: bool,
}

impl std::fmt::Debug for Chunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunks")
            .field("path", &self.path)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// Opens a file, plain or compressed with gzip or zstd.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>, Error> {
    let failed = |error| Error::io("read", path, error);
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        let why = "it is a folder".to_owned();
        return Err(Error::Source { path: path.to_owned(), why });
    }
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let head = reader.fill_buf().map_err(failed)?;
    if is_utf16(head) {
        let why = "it is UTF-16; export it in UTF-8 (`bcp -c -C 65001`), or convert it with \
                   `iconv -f UTF-16 -t UTF-8`";
        return Err(Error::Source { path: path.to_owned(), why: why.to_owned() });
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(reader)));
    }
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let decoder = zstd::stream::read::Decoder::with_buffer(reader).map_err(failed)?;
        return Ok(Box::new(decoder));
    }
    if head.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    // What was read goes first; the rest is read without a copy of it in between.
    let begun = reader.buffer().to_vec();
    Ok(Box::new(io::Cursor::new(begun).chain(reader.into_inner())))
}

/// Bytes of a text that show whether it is UTF-16.
const UTF16_BYTES: usize = 32;

/// True for a text in UTF-16: with its mark, or with a zero in every second byte only. Other texts of
/// sources have single zeros at most: `bcp` writes one for an empty text.
fn is_utf16(head: &[u8]) -> bool {
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return true;
    }
    let head = &head[..head.len().min(UTF16_BYTES)];
    let (pairs, rest) = head.as_chunks::<2>();
    let low_first = pairs.iter().all(|[low, high]| *low != 0 && *high == 0);
    let high_first = pairs.iter().all(|[high, low]| *low != 0 && *high == 0);
    pairs.len() > 3 && rest.is_empty() && (low_first || high_first)
}

/// The first bytes of a source, decompressed.
pub(crate) fn head(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    open(path)?.take(64 << 10).read_to_end(&mut bytes).map_err(|error| read_failed(path, error))?;
    Ok(bytes)
}

/// The error of a read. Compressed data that are cut or damaged are the source's fault.
pub(crate) fn read_failed(path: &Path, error: io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file is cut: its compressed data have no end",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            "its compressed data are damaged"
        }
        _ => return Error::io("read", path, error),
    };
    Error::Source { path: path.to_owned(), why: why.to_owned() }
}

impl Chunks {
    pub(crate) fn open(path: &Path, framing: Framing, skip: u64) -> Result<Self, Error> {
        let (path, reader) = (path.to_owned(), open(path)?);
        let (rest, digest) = (Vec::new(), XxHash64::with_seed(0));
        let mut chunks =
            Self { path, reader, framing, rest, filled: 0, offset: 0, digest, done: false };
        while chunks.offset < skip && !chunks.done {
            let left = usize::try_from(skip - chunks.offset).unwrap_or(CHUNK);
            chunks.fill(left.min(CHUNK))?;
            chunks.offset += chunks.filled as u64;
            chunks.filled = 0;
        }
        Ok(chunks)
    }

    /// The hash of all bytes of the source, once the last chunk was handed out.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// The next chunk; none at the end. The bytes that follow go to `spare`: memory that was in use
    /// before costs the kernel nothing.
    pub(crate) fn next(&mut self, mut spare: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        let mut wanted = CHUNK;
        loop {
            self.fill(wanted)?;
            if self.filled == 0 {
                return Ok(None);
            }
            let end = if self.done { Some(self.filled) } else { self.boundary() };
            if let Some(end) = end {
                let follows = &self.rest[end..self.filled];
                spare.resize(spare.len().max(follows.len()), 0);
                spare[..follows.len()].copy_from_slice(follows);
                self.filled = follows.len();
                let mut chunk = std::mem::replace(&mut self.rest, spare);
                chunk.truncate(end);
                self.offset += chunk.len() as u64;
                return Ok(Some(chunk));
            }
            if self.filled >= LONGEST_ROW {
                return self.skip_row().map(Some);
            }
            wanted = self.filled * 2;
        }
    }

    /// Reads until so many bytes are there, or all are.
    fn fill(&mut self, wanted: usize) -> Result<(), Error> {
        if self.rest.len() < wanted {
            self.rest.resize(wanted, 0);
        }
        while !self.done && self.filled < wanted {
            let slice = &mut self.rest[self.filled..wanted.min(self.filled + SLICE)];
            match self.reader.read(slice) {
                Ok(read) => {
                    self.digest.write(&slice[..read]);
                    self.filled += read;
                    self.done = read == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_failed(&self.path, error)),
            }
        }
        Ok(())
    }

    /// Goes past a row that is too long; its beginning is what is left of it.
    fn skip_row(&mut self) -> Result<Vec<u8>, Error> {
        let kept = self.rest[..KEPT].to_vec();
        loop {
            self.offset += self.filled as u64;
            self.filled = 0;
            self.fill(CHUNK)?;
            let end = memchr::memchr(b'\n', &self.rest[..self.filled]);
            if let Some(end) = end.or(self.done.then_some(self.filled)) {
                self.offset += end as u64;
                self.rest.copy_within(end..self.filled, 0);
                self.filled -= end;
                return Ok(kept);
            }
        }
    }

    /// Where the last whole row of the rest ends.
    fn boundary(&self) -> Option<usize> {
        let rest = &self.rest[..self.filled];
        match self.framing {
            Framing::Lines => memchr::memrchr(b'\n', rest).map(|at| at + 1),
            Framing::QuotedLines => {
                let (mut quoted, mut last) = (false, None);
                for at in memchr::memchr2_iter(b'"', b'\n', rest) {
                    if rest[at] == b'"' {
                        quoted = !quoted;
                    } else if !quoted {
                        last = Some(at + 1);
                    }
                }
                last
            }
            Framing::JsonArray => last_object(rest),
        }
    }
}

/// Where the last whole object of a part of an array of objects ends. The part begins between two
/// objects.
fn last_object(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut last, mut at) = (0_u32, None, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => match string_end(bytes, at) {
                Some(end) => at = end,
                None => return last,
            },
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    last = Some(at);
                }
            }
            _ => {}
        }
    }
    last
}

/// Where a string ends whose first letter is at `at`; none when it does not.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)? + 1;
        if bytes[at - 1] == b'"' {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &[u8], framing: Framing) -> Vec<Vec<u8>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut chunks = Chunks::open(file.path(), framing, 0).unwrap();
        let mut all = Vec::new();
        // Memory that has something else in it already.
        while let Some(chunk) = chunks.next(vec![7; 9]).unwrap() {
            all.push(chunk);
        }
        assert_eq!(chunks.offset, text.len() as u64);
        assert_eq!(chunks.digest(), XxHash64::oneshot(0, text));
        all
    }

    #[test]
    fn utf16_is_known_with_and_without_its_mark() {
        let text = "22DEF722-A7FA-42A4\t\t1\n";
        let low: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let high: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [&low, &high, &[&[0xff, 0xfe][..], &low].concat()] {
            assert!(is_utf16(bytes));
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), bytes).unwrap();
            let error = head(file.path()).unwrap_err().to_string();
            assert!(error.contains("it is UTF-16"), "{error}");
        }
        // An empty text of `bcp` is a zero.
        for bytes in [text.as_bytes(), b"", b"a\0b\0", b"a\t\0\t\0\tb\n", &[0; 64]] {
            assert!(!is_utf16(bytes), "{bytes:?}");
        }
    }

    /// An import that goes on where it was interrupted has the digest of the whole source.
    #[test]
    fn the_digest_is_of_all_bytes_also_of_skipped_ones() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "0123456789\n".repeat(1_000_000);
        std::fs::write(file.path(), &text).unwrap();
        for skip in [0, 11, 11 * 400_000, text.len() as u64, u64::MAX] {
            let mut chunks = Chunks::open(file.path(), Framing::Lines, skip).unwrap();
            let mut rows = 0;
            while let Some(chunk) = chunks.next(Vec::new()).unwrap() {
                rows += chunk.len() / 11;
            }
            let wanted = 1_000_000_u64.saturating_sub(skip.div_ceil(11));
            assert_eq!(rows as u64, wanted, "{skip}");
            assert_eq!(chunks.digest(), XxHash64::oneshot(0, text.as_bytes()), "{skip}");
        }
    }

    #[test]
    fn chunks_end_between_rows_and_lose_nothing() {
        let line = format!("{}\n", "x".repeat(1000));
        let text = line.repeat(10_000);
        let all = chunks(text.as_bytes(), Framing::Lines);
        assert!(all.len() > 2 && all.iter().all(|chunk| chunk.len() % line.len() == 0));
        assert!(all.concat() == text.as_bytes());
        let row = format!("a,\"b\n{}\"\n", "\"\"\n".repeat(300));
        let text = row.repeat(10_000);
        let all = chunks(text.as_bytes(), Framing::QuotedLines);
        assert!(all.len() > 1 && all.iter().all(|chunk| chunk.len() % row.len() == 0));
        let object = format!("{{\"a\":\"}}\\\"{{{}\",\"b\":[{{}}]}},", "y".repeat(900));
        let text = format!("[{}]", object.repeat(10_000));
        let all = chunks(text.as_bytes(), Framing::JsonArray);
        assert!(
            all.len() > 1 && all.iter().all(|chunk| chunk.ends_with(b"}") || chunk.ends_with(b"]"))
        );
        assert!(all.concat() == text.as_bytes());
    }
}
