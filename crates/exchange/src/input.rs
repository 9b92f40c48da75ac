//! A file as readers see it: unpacked, with its first bytes at hand.
//!
//! What is not packed is read as a stream, however large it is; what is packed was unpacked into
//! memory, bounded.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use crate::door::{self, Mark};
use crate::error::Error;
use crate::format::Refusal;
use crate::unpack::{MOST_UNPACKED, Packing, Unpacking, unpack};

/// Bytes by which formats are told apart.
const HEAD: usize = 64 << 10;

/// The beginning of a text file up to its last whole line; all of it when the file is no longer.
pub(crate) fn whole_lines(head: &[u8]) -> &[u8] {
    let cut = head.len() >= HEAD;
    let end = head.iter().rposition(|byte| *byte == b'\n').filter(|_| cut);
    end.map_or(head, |end| &head[..end])
}

/// Told how many bytes of how many have been read.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// A file under reading.
pub struct Input<'a> {
    body: Body,
    size: u64,
    head: Vec<u8>,
    /// Where readers begin: behind a mark, and behind lines of something else.
    start: u64,
    /// Why the rest of a packed file is missing.
    pub(crate) cut: Option<String>,
    /// Characters that are none in the encoding of the text.
    pub(crate) undecoded: u64,
    /// Lines of which the end was left out.
    pub(crate) long_lines: u64,
    progress: Progress<'a>,
    told: u64,
}

enum Body {
    File(BufReader<File>),
    Memory(Cursor<Vec<u8>>),
}

impl std::fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("size", &self.size).finish_non_exhaustive()
    }
}

impl<'a> Input<'a> {
    /// Opens a file and undoes its packing; `known` says whether bytes are of a format.
    pub(crate) fn open(
        path: &Path,
        known: fn(&[u8]) -> bool,
        progress: Progress<'a>,
    ) -> Result<Self, Error> {
        let failed = |doing| move |source| Error::io(doing, path, source);
        let meta = std::fs::metadata(path).map_err(failed("open"))?;
        let mut file = File::open(path).map_err(failed("open"))?;
        if meta.is_dir() {
            return Err(Error::Unrecognised { path: path.to_owned(), found: "it is a folder" });
        }
        let mut head = Vec::new();
        (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(failed("read"))?;
        if meta.is_file() && (Packing::of(&head).is_none() || known(&head)) {
            file.seek(SeekFrom::Start(0)).map_err(failed("read"))?;
            let mark = Mark::of_file(&head);
            if !matches!(mark, Some(Mark::Utf16 { .. })) {
                let body = Body::File(BufReader::with_capacity(1 << 20, file));
                let mut input = Self::new(body, meta.len(), head, progress);
                input.skip(mark.map_or(0, Mark::length)).map_err(failed("read"))?;
                return Ok(input);
            }
            head.clear();
        }
        // A pipe cannot be read twice.
        let mut bytes = head;
        let most = MOST_UNPACKED - bytes.len() as u64;
        file.take(most).read_to_end(&mut bytes).map_err(failed("read"))?;
        Self::memory(path, bytes, known, progress)
    }

    /// The same from bytes; `path` is for messages.
    pub(crate) fn memory(
        path: &Path,
        bytes: Vec<u8>,
        known: fn(&[u8]) -> bool,
        progress: Progress<'a>,
    ) -> Result<Self, Error> {
        let too_large = || Error::TooLarge { path: path.to_owned(), limit: MOST_UNPACKED };
        if bytes.len() as u64 >= MOST_UNPACKED {
            return Err(too_large());
        }
        let unpacked = unpack(bytes, known).map_err(|why| match why {
            Unpacking::TooLarge => too_large(),
            Unpacking::Damaged(why) => {
                Error::io("unpack", path, io::Error::new(io::ErrorKind::InvalidData, why))
            }
        })?;
        let mark = Mark::of_file(&unpacked.bytes);
        let mut undecoded = 0;
        let bytes = match mark {
            Some(mark @ Mark::Utf16 { little }) => {
                let (text, odd) = door::from_utf16(&unpacked.bytes[mark.length()..], little);
                undecoded = odd;
                text.into_bytes()
            }
            _ => unpacked.bytes,
        };
        let head = bytes.iter().take(HEAD).copied().collect();
        let size = bytes.len() as u64;
        let body = Body::Memory(Cursor::new(bytes));
        let mut input = Self::new(body, size, head, progress);
        (input.cut, input.undecoded) = (unpacked.cut, undecoded);
        if mark == Some(Mark::Utf8) {
            let skipped = input.skip(Mark::Utf8.length());
            skipped.map_err(|source| Error::io("read", path, source))?;
        }
        Ok(input)
    }

    fn new(body: Body, size: u64, head: Vec<u8>, progress: Progress<'a>) -> Self {
        let (cut, undecoded, long_lines) = (None, 0, 0);
        Self { body, size, head, start: 0, cut, undecoded, long_lines, progress, told: 0 }
    }

    /// Makes readers begin so many bytes later; they are among those of the head.
    pub(crate) fn skip(&mut self, bytes: usize) -> io::Result<()> {
        self.head.drain(..bytes.min(self.head.len()));
        self.start += bytes as u64;
        self.rewind()
    }

    /// Goes back to where readers begin.
    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        let start = SeekFrom::Start(self.start);
        match &mut self.body {
            Body::File(file) => file.seek(start),
            Body::Memory(cursor) => cursor.seek(start),
        }
        .map(|_| ())
    }

    /// The first 64 KiB, unpacked.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Everything that is left, for formats that cannot be read as a stream.
    ///
    /// # Errors
    /// When the file is larger than 2 GiB, or the system refuses it.
    pub fn bytes(&mut self) -> Result<Cow<'_, [u8]>, String> {
        if self.size >= MOST_UNPACKED {
            return Err(format!("it is larger than {MOST_UNPACKED} bytes"));
        }
        let mut bytes = Vec::new();
        match &mut self.body {
            Body::Memory(cursor) => Ok(Cow::Borrowed(rest(cursor))),
            Body::File(file) => {
                let read = file.take(MOST_UNPACKED).read_to_end(&mut bytes);
                read.map_err(|error| error.to_string())?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// The same as text; what is no UTF-8 in it is replaced and counted.
    ///
    /// # Errors
    /// As [`Input::bytes`].
    pub(crate) fn text(&mut self) -> Result<Cow<'_, str>, String> {
        let undecoded = match &self.body {
            // Counted first: what is given out borrows from here.
            Body::Memory(cursor) => invalid(rest(cursor)),
            Body::File(_) => 0,
        };
        self.undecoded += undecoded;
        if let Body::File(_) = &self.body {
            let bytes = self.bytes()?.into_owned();
            self.undecoded += invalid(&bytes);
            let text = String::from_utf8(bytes);
            return Ok(Cow::Owned(
                text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ));
        }
        match self.bytes()? {
            Cow::Borrowed(bytes) => Ok(String::from_utf8_lossy(bytes)),
            Cow::Owned(bytes) => Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())),
        }
    }

    /// Gives every line to `take`, with its end, and whether it is whole: of longer ones the first
    /// `longest` bytes.
    pub(crate) fn lines(
        &mut self,
        longest: u64,
        mut take: impl FnMut(&str, bool),
    ) -> Result<(), Refusal> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = self.by_ref().take(longest).read_until(b'\n', &mut bytes);
            let read = read.map_err(|error| error.to_string())? as u64;
            if read == 0 {
                return Ok(());
            }
            let whole = read < longest || bytes.ends_with(b"\n") || self.pass_line()?;
            self.long_lines += u64::from(!whole);
            self.undecoded += invalid(&bytes);
            take(&String::from_utf8_lossy(&bytes), whole);
        }
    }

    /// Passes over the rest of a line; true when there was none.
    fn pass_line(&mut self) -> Result<bool, Refusal> {
        let mut none = true;
        loop {
            let bytes = self.fill_buf().map_err(|error| error.to_string())?;
            let end = memchr::memchr(b'\n', bytes);
            let length = end.map_or(bytes.len(), |end| end + 1);
            none &= length == 0;
            self.consume(length);
            if end.is_some() || length == 0 {
                return Ok(none);
            }
        }
    }

    /// Says how far reading has come.
    fn tell(&mut self, more: u64) {
        /// Often enough for a bar, seldom enough to cost nothing.
        const STEP: u64 = 4 << 20;
        let before = self.told / STEP;
        self.told += more;
        if self.told / STEP != before {
            (self.progress)(self.told, self.size);
        }
    }
}

/// What is left of a file in memory.
fn rest(cursor: &Cursor<Vec<u8>>) -> &[u8] {
    let at = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
    cursor.get_ref().get(at..).unwrap_or_default()
}

/// How many times bytes of a text are no UTF-8.
fn invalid(bytes: &[u8]) -> u64 {
    if std::str::from_utf8(bytes).is_ok() {
        return 0;
    }
    bytes.utf8_chunks().filter(|piece| !piece.invalid().is_empty()).count() as u64
}

impl Read for Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.body {
            Body::File(file) => file.read(into),
            Body::Memory(cursor) => cursor.read(into),
        }?;
        self.tell(read as u64);
        Ok(read)
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.body {
            Body::File(file) => file.fill_buf(),
            Body::Memory(cursor) => cursor.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match &mut self.body {
            Body::File(file) => file.consume(amount),
            Body::Memory(cursor) => cursor.consume(amount),
        }
        self.tell(amount as u64);
    }
}

impl Seek for Input<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.body {
            // Within what is already buffered this costs no system call.
            Body::File(file) => match to {
                SeekFrom::Current(by) => {
                    file.seek_relative(by).and_then(|()| file.stream_position())
                }
                other => file.seek(other),
            },
            Body::Memory(cursor) => cursor.seek(to),
        }
    }
}
