//! Entries of a tar archive as images have them.

use std::io::{self, Read};

use tar::EntryType;

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

/// An entry; reading reads its content.
pub(super) struct Entry<'a, R: Read> {
    /// Its path, without a leading `./` or `/` and without a slash at the end.
    pub(super) path: String,
    /// What it is.
    pub(super) kind: Kind,
    /// Bytes of its content.
    pub(super) bytes: u64,
    content: tar::Entry<'a, R>,
    left: u64,
}

impl<'a, R: Read> Entry<'a, R> {
    /// An entry as it comes from the archive.
    ///
    /// # Errors
    /// When the archive is damaged.
    pub(super) fn of(content: io::Result<tar::Entry<'a, R>>) -> io::Result<Self> {
        let content = content?;
        let kind = match content.header().entry_type() {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Kind::File,
            EntryType::Symlink => {
                Kind::Link(text(&content.link_name_bytes().unwrap_or_default()).into_owned())
            }
            _ => Kind::Other,
        };
        let (path, bytes) = (plain(&text(&content.path_bytes())), content.size());
        Ok(Self { path, kind, bytes, content, left: bytes })
    }
}

impl<R: Read> Read for Entry<'_, R> {
    /// # Errors
    /// Also when the archive ends inside the entry, which `tar` takes for the entry's end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        if read == 0 && self.left > 0 && !into.is_empty() {
            let what = "the archive is damaged: it ends inside an entry";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

fn text(name: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(name)
}

/// A path without what says nothing.
pub(super) fn plain(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An archive of files, and of symbolic links where a path has a target.
    pub(in crate::image) fn archive(entries: &[(&str, &[u8])], links: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        let header = |kind, bytes: usize| {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(kind);
            header.set_size(bytes as u64);
            header
        };
        for (path, to) in links {
            let mut header = header(EntryType::Symlink, 0);
            archive.append_link(&mut header, path, to).unwrap();
        }
        for (path, content) in entries {
            let kind = if path.ends_with('/') { EntryType::Directory } else { EntryType::Regular };
            archive.append_data(&mut header(kind, content.len()), path, *content).unwrap();
        }
        archive.into_inner().unwrap()
    }

    fn all(bytes: &[u8]) -> io::Result<Vec<(String, u64, Vec<u8>)>> {
        let mut archive = tar::Archive::new(bytes);
        let read = |entry| {
            let mut entry = Entry::of(entry)?;
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            Ok((entry.path, entry.bytes, content))
        };
        archive.entries()?.map(read).collect()
    }

    #[test]
    fn entries_come_with_their_content_and_long_names() {
        let long = "x/".repeat(80) + "file";
        let bytes = archive(&[("./a", b"hello"), ("dir/", b""), (&long, &[7; 600])], &[]);
        let found = all(&bytes).unwrap();
        assert_eq!(found[0], ("a".to_owned(), 5, b"hello".to_vec()));
        assert_eq!(found[1].0, "dir");
        assert_eq!((found[2].0.as_str(), found[2].1), (long.as_str(), 600));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn damage_is_told() {
        let bytes = archive(&[("a", &[1; 900]), ("b", b"x")], &[]);
        assert_eq!(all(&bytes).unwrap().len(), 2);
        for cut in [100, 700, 1400, 1700] {
            assert!(all(&bytes[..cut]).is_err(), "{cut}");
        }
        let mut wrong = bytes;
        wrong[3] ^= 1;
        assert!(all(&wrong).unwrap_err().to_string().contains("checksum"));
    }
}
