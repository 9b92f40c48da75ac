//! A file as readers see it: unpacked, with its first bytes at hand.
//!
//! What is not packed is read as a stream, however large it is; what is packed was unpacked into
//! memory, bounded.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

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
    /// Why the rest of a packed file is missing.
    pub(crate) cut: Option<String>,
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
            let body = Body::File(BufReader::with_capacity(1 << 20, file));
            return Ok(Self { body, size: meta.len(), head, cut: None, progress, told: 0 });
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
        let bytes = unpacked.bytes;
        let head = bytes.iter().take(HEAD).copied().collect();
        let size = bytes.len() as u64;
        let body = Body::Memory(Cursor::new(bytes));
        Ok(Self { body, size, head, cut: unpacked.cut, progress, told: 0 })
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
            Body::Memory(cursor) => Ok(Cow::Borrowed(cursor.get_ref())),
            Body::File(file) => {
                let read = file.take(MOST_UNPACKED).read_to_end(&mut bytes);
                read.map_err(|error| error.to_string())?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Gives every line to `take`, with its end; longer ones in pieces of `longest` bytes.
    pub(crate) fn lines(
        &mut self,
        longest: u64,
        mut take: impl FnMut(&str),
    ) -> Result<(), Refusal> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = self.by_ref().take(longest).read_until(b'\n', &mut bytes);
            if read.map_err(|error| error.to_string())? == 0 {
                return Ok(());
            }
            take(&String::from_utf8_lossy(&bytes));
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
