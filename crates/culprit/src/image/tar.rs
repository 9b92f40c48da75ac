//! A tar archive, read as it comes (POSIX pax, "ustar Interchange Format"; the long names and large
//! numbers of GNU tar).

use std::io::{self, Read};

/// Size of everything in an archive.
const BLOCK: usize = 512;
/// The longest name that is believed; Linux knows none of more than 4096 bytes.
const MOST_NAME: u64 = 1 << 16;

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file with its content.
    File,
    /// A symbolic link to this.
    Link(String),
    /// Something without content of its own: a folder, a further name of a file, a device.
    Other,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its path, without a leading `./` or `/` and without a slash at the end.
    pub(super) path: String,
    /// What it is.
    pub(super) kind: Kind,
    /// Bytes of its content.
    pub(super) bytes: u64,
}

/// An archive; reading reads the content of the entry that came last.
#[derive(Debug)]
pub(super) struct Tar<R> {
    source: R,
    left: u64,
    padding: u64,
}

/// What stands before an entry and belongs to it.
#[derive(Debug, Default)]
struct Before {
    path: Option<String>,
    link: Option<String>,
    bytes: Option<u64>,
}

impl<R: Read> Tar<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, left: 0, padding: 0 }
    }

    /// What the archive is read from.
    pub(super) fn into_inner(self) -> R {
        self.source
    }

    /// The next entry; what is left of the last one is passed over. None at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        let mut before = Before::default();
        loop {
            self.pass()?;
            let mut header = [0; BLOCK];
            if !self.fill(&mut header)? || header.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            check(&header)?;
            let bytes = size(&header[124..136])?;
            self.left = bytes;
            self.padding = (BLOCK as u64 - bytes % BLOCK as u64) % BLOCK as u64;
            match header[156] {
                b'x' => before.read_pax(&self.content()?)?,
                b'g' => {}
                b'L' => before.path = Some(text(&self.content()?)),
                b'K' => before.link = Some(text(&self.content()?)),
                kind => return Ok(Some(self.entry(&header, kind, before))),
            }
        }
    }

    fn entry(&mut self, header: &[u8; BLOCK], kind: u8, before: Before) -> Entry {
        if let Some(bytes) = before.bytes {
            self.left = bytes;
            self.padding = (BLOCK as u64 - bytes % BLOCK as u64) % BLOCK as u64;
        }
        let path = before.path.unwrap_or_else(|| {
            let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
            let posix = &header[257..263] == b"ustar\0";
            if posix && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
        });
        let kind = match kind {
            b'0' | 0 | b'7' => Kind::File,
            b'2' => Kind::Link(before.link.unwrap_or_else(|| text(&header[157..257]))),
            _ => Kind::Other,
        };
        Entry { path: plain(&path), kind, bytes: self.left }
    }

    /// The content of an entry that describes the next one.
    fn content(&mut self) -> io::Result<Vec<u8>> {
        if self.left > MOST_NAME {
            return Err(damaged("the name of an entry is too long"));
        }
        let mut content = Vec::new();
        self.read_to_end(&mut content)?;
        Ok(content)
    }

    /// Passes over what is left of an entry.
    fn pass(&mut self) -> io::Result<()> {
        let rest = self.left.saturating_add(self.padding);
        let passed = io::copy(&mut self.source.by_ref().take(rest), &mut io::sink())?;
        (self.left, self.padding) = (0, 0);
        if passed < rest { Err(damaged("it ends inside an entry")) } else { Ok(()) }
    }

    /// Fills a block; false when the archive ends before it.
    fn fill(&mut self, block: &mut [u8; BLOCK]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < BLOCK {
            match self.source.read(&mut block[filled..])? {
                0 if filled == 0 => return Ok(false),
                0 => return Err(damaged("it ends inside a header")),
                read => filled += read,
            }
        }
        Ok(true)
    }
}

impl<R: Read> Read for Tar<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 {
            return Ok(0);
        }
        let read = self.source.read(&mut into[..most])?;
        if read == 0 {
            return Err(damaged("it ends inside an entry"));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

impl Before {
    /// Lines `LENGTH KEY=VALUE`, where the length counts the whole line.
    fn read_pax(&mut self, mut records: &[u8]) -> io::Result<()> {
        let wrong = || damaged("an extended header is malformed");
        while !records.is_empty() {
            let space = records.iter().position(|byte| *byte == b' ').ok_or_else(wrong)?;
            let length: usize = text(&records[..space]).parse().map_err(|_| wrong())?;
            let record = records.get(space + 1..length).ok_or_else(wrong)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(wrong)?;
            let value = text(record[equals + 1..].strip_suffix(b"\n").ok_or_else(wrong)?);
            match &record[..equals] {
                b"path" => self.path = Some(value),
                b"linkpath" => self.link = Some(value),
                b"size" => self.bytes = Some(value.parse().map_err(|_| wrong())?),
                _ => {}
            }
            records = &records[length..];
        }
        Ok(())
    }
}

/// The sum over the header's bytes, its own field taken as spaces.
fn check(header: &[u8; BLOCK]) -> io::Result<()> {
    let sum = |(at, byte): (usize, &u8)| match at {
        148..156 => u64::from(b' '),
        _ => u64::from(*byte),
    };
    let found: u64 = header.iter().enumerate().map(sum).sum();
    if size(&header[148..156])? == found {
        Ok(())
    } else {
        Err(damaged("the checksum of a header is wrong"))
    }
}

/// A number in octal digits, or of GNU tar in binary behind a set first bit.
fn size(field: &[u8]) -> io::Result<u64> {
    let wrong = || damaged("a number in a header is malformed");
    if field.first().is_some_and(|byte| byte & 0x80 != 0) {
        let (head, tail) = field.split_at(field.len().saturating_sub(8));
        let fits = head.iter().skip(1).all(|byte| *byte == 0);
        let number = tail.try_into().map(u64::from_be_bytes).map_err(|_| wrong())?;
        return if fits { Ok(number) } else { Err(wrong()) };
    }
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Ok(0) } else { u64::from_str_radix(digits, 8).map_err(|_| wrong()) }
}

/// Text up to its end or the first zero.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// A path without what says nothing.
pub(super) fn plain(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the archive is damaged: {what}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A header of an entry, as archives have it.
    pub(in crate::image) fn entry(path: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..path.len()].copy_from_slice(path.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[156] = kind;
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block.extend(content);
        block.resize(block.len().next_multiple_of(BLOCK), 0);
        block
    }

    fn all(bytes: &[u8]) -> io::Result<Vec<(String, u64, Vec<u8>)>> {
        let mut tar = Tar::new(bytes);
        let mut found = Vec::new();
        while let Some(entry) = tar.next()? {
            let mut content = Vec::new();
            tar.read_to_end(&mut content)?;
            found.push((entry.path, entry.bytes, content));
        }
        Ok(found)
    }

    #[test]
    fn entries_come_with_their_content_and_long_names() {
        let long = "x/".repeat(80) + "file";
        let record = format!(" path={long}\n");
        let length = record.len() + 3;
        let archive = [
            entry("./a", b'0', b"hello"),
            entry("dir/", b'5', b""),
            entry("PaxHeaders/1", b'x', format!("{length}{record}").as_bytes()),
            entry("short", b'0', &[7; 600]),
            vec![0; 2 * BLOCK],
        ]
        .concat();
        let found = all(&archive).unwrap();
        assert_eq!(found[0], ("a".to_owned(), 5, b"hello".to_vec()));
        assert_eq!(found[1].0, "dir");
        assert_eq!((found[2].0.as_str(), found[2].1), (long.as_str(), 600));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn content_that_nobody_reads_is_passed_over_and_damage_is_told() {
        let archive = [entry("a", b'0', &[1; 900]), entry("b", b'0', b"x")].concat();
        let mut tar = Tar::new(&archive[..]);
        assert_eq!(tar.next().unwrap().unwrap().path, "a");
        assert_eq!(tar.next().unwrap().unwrap().path, "b");
        assert_eq!(tar.next().unwrap(), None);
        for cut in [100, 700, 1400] {
            assert!(all(&archive[..cut]).is_err(), "{cut}");
        }
        let mut wrong = archive;
        wrong[3] ^= 1;
        assert!(all(&wrong).unwrap_err().to_string().contains("sum"));
    }
}
