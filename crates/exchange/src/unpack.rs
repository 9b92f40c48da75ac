//! Undoes what files are packed in: gzip, zstd, zip, also one in the other.
//!
//! What comes out is bounded, because a kilobyte can unpack to gigabytes.

use std::io::{self, Cursor, Read};

/// The most that is unpacked in memory. Exchange files of an hour are far below it.
pub(crate) const MOST_UNPACKED: u64 = 2 << 30;

/// Layers, as in a gzip file in a zip.
const MOST_LAYERS: usize = 3;

/// Entries of a zip that are looked at for one of a known format.
const MOST_ENTRIES: usize = 64;

/// Bytes of an entry that are looked at.
const HEAD: u64 = 64 << 10;

/// Why it could not be undone.
#[derive(Debug)]
pub(crate) enum Unpacking {
    /// Larger than [`MOST_UNPACKED`].
    TooLarge,
    /// Damaged, encrypted, or of a kind that is not read.
    Damaged(String),
}

/// What a file is packed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
    Zip,
}

impl Packing {
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            _ => None,
        }
    }
}

/// What is inside, and whether its end is missing.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) bytes: Vec<u8>,
    /// Why the rest could not be unpacked.
    pub(crate) cut: Option<String>,
}

/// What is inside `bytes`, as long as that is packed again. `known` says whether bytes are of a
/// format that is read: a zip gives its first such entry, else its first.
pub(crate) fn unpack(bytes: Vec<u8>, known: fn(&[u8]) -> bool) -> Result<Unpacked, Unpacking> {
    let mut unpacked = Unpacked { bytes, cut: None };
    for _ in 0..MOST_LAYERS {
        let Some(packing) = Packing::of(&unpacked.bytes) else { break };
        if known(&unpacked.bytes) {
            break;
        }
        let inner = match packing {
            Packing::Gzip => whole(flate2::read::MultiGzDecoder::new(&*unpacked.bytes))?,
            Packing::Zstd => whole(zstd(&unpacked.bytes)?)?,
            Packing::Zip => entry(&unpacked.bytes, known)?,
        };
        unpacked = Unpacked { cut: unpacked.cut.or(inner.cut), ..inner };
    }
    Ok(unpacked)
}

fn zstd(bytes: &[u8]) -> Result<impl Read, Unpacking> {
    zstd::stream::read::Decoder::new(bytes).map_err(|error| damaged(&error))
}

/// Everything that a packed stream holds up to where it is damaged.
fn whole(mut stream: impl Read) -> Result<Unpacked, Unpacking> {
    let mut bytes = Vec::new();
    let read = (&mut stream).take(MOST_UNPACKED).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 == MOST_UNPACKED => Err(Unpacking::TooLarge),
        Ok(_) => Ok(Unpacked { bytes, cut: None }),
        Err(error) if bytes.is_empty() => Err(damaged(&error)),
        Err(error) => Ok(Unpacked { bytes, cut: Some(error.to_string()) }),
    }
}

/// The first entry of a known format, else the first that is a file.
fn entry(bytes: &[u8], known: fn(&[u8]) -> bool) -> Result<Unpacked, Unpacking> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| Unpacking::Damaged(error.to_string()))?;
    let mut chosen = None;
    for at in 0..archive.len().min(MOST_ENTRIES) {
        let Ok(file) = archive.by_index(at) else { continue };
        if !file.is_file() {
            continue;
        }
        let mut head = Vec::new();
        let read = file.take(HEAD).read_to_end(&mut head);
        if read.is_ok() && (known(&head) || Packing::of(&head).is_some()) {
            chosen = Some(at);
            break;
        }
        chosen = chosen.or(Some(at));
    }
    let at = chosen.ok_or_else(|| Unpacking::Damaged("the zip contains no file".to_owned()))?;
    let file = archive.by_index(at).map_err(|error| Unpacking::Damaged(error.to_string()))?;
    whole(file)
}

fn damaged(error: &io::Error) -> Unpacking {
    Unpacking::Damaged(error.to_string())
}
