//! The central directory at the end of a finished file.

use std::io;

use super::header::{Entry, Fields, IN_ZIP64, ZIP64_TAG, parse_local, put_common, put_len};
use super::source::Source;

const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
const END64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR64: [u8; 4] = *b"PK\x06\x07";
/// Bytes of the end record without a comment.
const END_SIZE: u64 = 22;
/// Bytes of the zip64 locator before it.
const LOCATOR64_SIZE: u64 = 20;
/// Bytes of the zip64 end record as we write and need it.
const END64_SIZE: u64 = 56;
/// Longest comment that the format allows after the end record.
const COMMENT_MAX: u64 = u16::MAX as u64;
/// Made by: Unix, version 4.5.
const MADE_BY: u16 = 3 << 8 | 45;
/// Unix mode of a regular file that everybody may read, in the upper half.
const ATTRIBUTES: u32 = 0o100_644 << 16;
/// Longest local header that is read; ours have less than 200 bytes, other tools' names fit too.
const HEADER_MAX: u64 = 4096;

/// Collects entries and writes the directory.
#[derive(Debug, Default)]
pub(crate) struct DirectoryWriter {
    bytes: Vec<u8>,
    entries: u64,
}

impl DirectoryWriter {
    /// Adds an entry whose local header stands at `offset`.
    pub(crate) fn add(&mut self, name: &str, offset: u64, size: u64, crc: u32) {
        let small_size = u32::try_from(size).ok().filter(|s| *s != IN_ZIP64);
        let small_offset = u32::try_from(offset).ok().filter(|o| *o != IN_ZIP64);
        let mut wide = Vec::new();
        if small_size.is_none() {
            wide.extend(size.to_le_bytes());
            wide.extend(size.to_le_bytes());
        }
        if small_offset.is_none() {
            wide.extend(offset.to_le_bytes());
        }
        let out = &mut self.bytes;
        out.extend(CENTRAL);
        out.extend(MADE_BY.to_le_bytes());
        put_common(out, small_size, crc);
        put_len(out, name.len());
        put_len(out, if wide.is_empty() { 0 } else { 4 + wide.len() });
        let [comment, disk, internal] = [0u16; 3];
        for field in [comment, disk, internal] {
            out.extend(field.to_le_bytes());
        }
        out.extend(ATTRIBUTES.to_le_bytes());
        out.extend(small_offset.unwrap_or(IN_ZIP64).to_le_bytes());
        out.extend(name.as_bytes());
        if !wide.is_empty() {
            out.extend(ZIP64_TAG.to_le_bytes());
            put_len(out, wide.len());
            out.extend(wide);
        }
        self.entries += 1;
    }

    /// The directory, to be written at `offset`, with the end records.
    pub(crate) fn finish(self, offset: u64) -> Vec<u8> {
        let size = self.bytes.len() as u64;
        let mut out = self.bytes;
        let wide = offset >= u64::from(IN_ZIP64);
        if wide {
            out.extend(END64);
            out.extend((END64_SIZE - 12).to_le_bytes());
            out.extend(MADE_BY.to_le_bytes());
            out.extend(45u16.to_le_bytes());
            out.extend([0; 8]);
            for field in [self.entries, self.entries, size, offset] {
                out.extend(field.to_le_bytes());
            }
            out.extend(LOCATOR64);
            out.extend([0; 4]);
            out.extend((offset + size).to_le_bytes());
            out.extend(1u32.to_le_bytes());
        }
        out.extend(END);
        out.extend([0; 4]);
        let entries = u16::try_from(self.entries).unwrap_or(u16::MAX);
        for field in [entries, entries] {
            out.extend(field.to_le_bytes());
        }
        let narrow = |n: u64| u32::try_from(n).ok().filter(|_| !wide).unwrap_or(IN_ZIP64);
        out.extend(narrow(size).to_le_bytes());
        out.extend(narrow(offset).to_le_bytes());
        out.extend([0; 2]);
        out
    }
}

/// The entries of a file that has a directory; none when there is no (whole) directory.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read_directory(source: &Source) -> io::Result<Option<Vec<Entry>>> {
    let Some((offset, size)) = find_directory(source)? else { return Ok(None) };
    let Ok(bytes) = source.read(offset, size) else { return Ok(None) };
    let mut fields = Fields(&bytes);
    let mut entries = Vec::new();
    while !fields.0.is_empty() {
        let Some(header) = parse_central(&mut fields) else { return Ok(None) };
        let local = source.read_some(header, HEADER_MAX)?;
        let entry = parse_local(&local, header).filter(|entry| entry.data.end <= source.len());
        let Some(entry) = entry else { return Ok(None) };
        entries.push(entry);
    }
    // No byte is read twice: a directory that names one entry a thousand times gets it once.
    entries.sort_by_key(|entry| entry.header);
    let mut end = 0;
    entries.retain(|entry| {
        let apart = entry.header >= end;
        end = if apart { entry.data.end } else { end };
        apart
    });
    Ok(Some(entries))
}

/// Offset and size of the directory, from the end record.
fn find_directory(source: &Source) -> io::Result<Option<(u64, u64)>> {
    let tail_size = source.len().min(END_SIZE + COMMENT_MAX);
    let tail_start = source.len() - tail_size;
    let tail = source.read(tail_start, tail_size)?;
    let Some(at) = tail.windows(4).rposition(|window| window == END) else { return Ok(None) };
    let end = tail_start + at as u64;
    Ok(parse_end(&tail[at..]).and_then(|found| match found {
        (offset, _) if offset == u64::from(IN_ZIP64) => find_directory64(source, end),
        found => Some(found),
    }))
}

fn parse_end(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut fields = Fields(bytes);
    fields.bytes(12)?;
    let (size, offset, _comment) = (fields.u32()?, fields.u32()?, fields.u16()?);
    Some((u64::from(offset), u64::from(size)))
}

fn find_directory64(source: &Source, end: u64) -> Option<(u64, u64)> {
    let locator = source.read(end.checked_sub(LOCATOR64_SIZE)?, LOCATOR64_SIZE).ok()?;
    let mut fields = Fields(&locator);
    if fields.bytes(4)? != LOCATOR64 {
        return None;
    }
    fields.u32()?;
    let record = source.read(fields.u64()?, END64_SIZE).ok()?;
    let mut fields = Fields(&record);
    if fields.bytes(4)? != END64 {
        return None;
    }
    fields.bytes(36)?;
    let (size, offset) = (fields.u64()?, fields.u64()?);
    Some((offset, size))
}

/// Takes one directory entry; the offset of its local header.
fn parse_central(fields: &mut Fields<'_>) -> Option<u64> {
    if fields.bytes(4)? != CENTRAL {
        return None;
    }
    // Versions, flags, method, time, date, checksum, packed size.
    fields.bytes(20)?;
    let unpacked = fields.u32()?;
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.bytes(8)?;
    let offset = fields.u32()?;
    fields.bytes(usize::from(name))?;
    let extra = Fields(fields.bytes(usize::from(extra))?);
    fields.bytes(usize::from(comment))?;
    if offset != IN_ZIP64 {
        return Some(u64::from(offset));
    }
    // Only the fields that do not fit stand there: both sizes before the offset, or none.
    let skip = if unpacked == IN_ZIP64 { 16 } else { 0 };
    Fields(extra.extra(ZIP64_TAG)?.get(skip..)?).u64()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;
    use std::sync::Arc;

    use super::*;
    use crate::zip::local_header;

    /// A sparse file with entries at these offsets, each of two bytes.
    fn archive(offsets: &[u64]) -> Source {
        let file: File = tempfile::tempfile().unwrap();
        let mut directory = DirectoryWriter::default();
        let mut end = 0;
        for (i, offset) in offsets.iter().enumerate() {
            let name = format!("entry-{i}");
            let header = local_header(&name, 2, 0, None);
            file.write_all_at(&header, *offset).unwrap();
            directory.add(&name, *offset, 2, 0);
            end = end.max(offset + header.len() as u64 + 2);
        }
        file.write_all_at(&directory.finish(end), end).unwrap();
        let length = file.metadata().unwrap().len();
        Source::File(Arc::new(file), length)
    }

    fn names(source: &Source) -> Vec<String> {
        let entries = read_directory(source).unwrap().unwrap();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn entries_past_4_gib_are_found() {
        assert_eq!(names(&archive(&[0, 100, 5 << 30])), ["entry-0", "entry-1", "entry-2"]);
        assert_eq!(names(&archive(&[0])), ["entry-0"]);
    }

    #[test]
    fn entries_that_overlap_are_found_once() {
        assert_eq!(names(&archive(&[0, 0, 0])).len(), 1);
    }
}
