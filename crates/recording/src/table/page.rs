//! The pages of a column chunk: a header, then values, compressed or not.

use std::borrow::Cow;
use std::io;

use crate::table::decode::Damage;
use crate::table::thrift::{I32, STRUCT, Thrift};

/// Bytes of a page after decompression at most. Pages of ours have 1 MiB, or one value where that
/// is longer; the longest values are command lines, 2 MiB by the kernel's limit (`ARG_MAX`).
const PAGE_MAX: usize = 64 << 20;

const UNCOMPRESSED: i32 = 0;
const ZSTD: i32 = 6;

/// One page, decompressed.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// True for the dictionary that later pages point into.
    pub(crate) dictionary: bool,
    /// How many cells, missing ones included.
    pub(crate) cells: usize,
    /// How the values are encoded, as Parquet numbers encodings.
    pub(crate) encoding: i32,
    /// Levels and values.
    pub(crate) bytes: Cow<'a, [u8]>,
}

/// Takes the pages of one chunk one after the other.
pub(crate) struct Pages<'a, 'z> {
    rest: &'a [u8],
    codec: i32,
    zstd: &'z mut Unzstd,
}

/// A decompressor. Making one costs more than unpacking a small page, so one serves a whole file.
#[cfg(not(target_family = "wasm"))]
#[derive(Default)]
pub(crate) struct Unzstd(Option<zstd::bulk::Decompressor<'static>>);

/// A decompressor in Rust alone: half as fast as the one in C, which a browser's target cannot have.
#[cfg(target_family = "wasm")]
#[derive(Default)]
pub(crate) struct Unzstd(ruzstd::decoding::FrameDecoder);

#[cfg(not(target_family = "wasm"))]
impl Unzstd {
    fn unpack(&mut self, packed: &[u8], size: usize) -> io::Result<Vec<u8>> {
        let decompressor = match &mut self.0 {
            Some(decompressor) => decompressor,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        decompressor.decompress(packed, size)
    }
}

#[cfg(target_family = "wasm")]
impl Unzstd {
    fn unpack(&mut self, packed: &[u8], size: usize) -> io::Result<Vec<u8>> {
        let mut unpacked = vec![0; size];
        let length = self.0.decode_all(packed, &mut unpacked).map_err(io::Error::other)?;
        unpacked.truncate(length);
        Ok(unpacked)
    }
}

impl std::fmt::Debug for Unzstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unzstd")
    }
}

#[derive(Default)]
struct Header {
    kind: i32,
    unpacked: i32,
    packed: i32,
    cells: i32,
    encoding: i32,
}

impl<'a, 'z> Pages<'a, 'z> {
    /// The pages in `bytes`, compressed with `codec`.
    pub(crate) fn new(bytes: &'a [u8], codec: i32, zstd: &'z mut Unzstd) -> Result<Self, Damage> {
        if codec != UNCOMPRESSED && codec != ZSTD {
            return Err(Damage::Codec(codec));
        }
        Ok(Self { rest: bytes, codec, zstd })
    }

    /// The next page; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Page<'a>>, Damage> {
        const DATA: i32 = 0;
        const DICTIONARY: i32 = 2;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut thrift = Thrift(self.rest);
        let header = header(&mut thrift)?;
        if header.kind != DATA && header.kind != DICTIONARY {
            return Err(Damage::PageKind(header.kind));
        }
        let size = |n: i32| usize::try_from(n).map_err(|_| Damage::Malformed);
        let (packed, rest) =
            thrift.0.split_at_checked(size(header.packed)?).ok_or(Damage::Malformed)?;
        self.rest = rest;
        Ok(Some(Page {
            dictionary: header.kind == DICTIONARY,
            cells: size(header.cells)?,
            encoding: header.encoding,
            bytes: self.unpack(packed, size(header.unpacked)?)?,
        }))
    }

    fn unpack(&mut self, packed: &'a [u8], size: usize) -> Result<Cow<'a, [u8]>, Damage> {
        if self.codec == UNCOMPRESSED {
            return Ok(Cow::Borrowed(packed));
        }
        if size > PAGE_MAX {
            return Err(Damage::PageSize(size));
        }
        self.zstd.unpack(packed, size).map(Cow::Owned).map_err(Damage::Zstd)
    }
}

fn header(thrift: &mut Thrift<'_>) -> Result<Header, Damage> {
    let mut header = Header::default();
    thrift.fields(|thrift, id, ty| {
        match (id, ty) {
            (1, I32) => header.kind = thrift.signed32()?,
            (2, I32) => header.unpacked = thrift.signed32()?,
            (3, I32) => header.packed = thrift.signed32()?,
            // The header of a data page (5) and of a dictionary page (7) begin alike.
            (5 | 7, STRUCT) => thrift.fields(|thrift, id, ty| {
                match (id, ty) {
                    (1, I32) => header.cells = thrift.signed32()?,
                    (2, I32) => header.encoding = thrift.signed32()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(header)
}
