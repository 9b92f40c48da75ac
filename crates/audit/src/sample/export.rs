//! Rows as an operational database exports them: JSON lines, CSV, or `bcp` in character mode.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use super::{SampleError, SampleFormat};
use crate::time::{put_clock, put_date, put_xdb};

/// Bytes that are collected before a write.
const BUFFER: usize = 1 << 20;

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Null,
    Text(&'a str),
    /// Valid JSON; a database has it as text.
    Json(&'a [u8]),
    Int(i64),
    Guid([u64; 2]),
    /// Milliseconds since 1970 UTC.
    Time(i64),
    /// A `binary(1)`.
    Byte(u8),
}

/// A file of one table under way.
#[derive(Debug)]
pub(crate) struct TableFile {
    format: SampleFormat,
    columns: &'static [&'static str],
    out: BufWriter<File>,
    line: Vec<u8>,
    /// Rows so far.
    pub(crate) rows: u64,
    /// Bytes so far.
    pub(crate) bytes: u64,
}

impl TableFile {
    pub(crate) fn create(
        folder: &Path,
        table: &str,
        columns: &'static [&'static str],
        format: SampleFormat,
    ) -> Result<Self, SampleError> {
        let path = folder.join(format!("{table}.{}", format.ending()));
        let file = File::create(&path).map_err(|source| SampleError { path, source })?;
        let out = BufWriter::with_capacity(BUFFER, file);
        let mut made = Self { format, columns, out, line: Vec::new(), rows: 0, bytes: 0 };
        if format == SampleFormat::XdbCsv {
            made.line.extend_from_slice(columns.join(",").as_bytes());
            made.end(folder)?;
        }
        Ok(made)
    }

    /// Appends a row, one cell a column.
    pub(crate) fn row(&mut self, folder: &Path, cells: &[Cell<'_>]) -> Result<(), SampleError> {
        match self.format {
            SampleFormat::XdbJson => self.json(cells),
            SampleFormat::XdbCsv => self.separated(cells, b',', put_csv),
            _ => self.separated(cells, b'\t', put_bcp),
        }
        self.rows += 1;
        self.end(folder)
    }

    /// Appends the first half of a row: what a broken export leaves.
    pub(crate) fn half_row(
        &mut self,
        folder: &Path,
        cells: &[Cell<'_>],
    ) -> Result<(), SampleError> {
        match self.format {
            SampleFormat::XdbJson => self.json(cells),
            SampleFormat::XdbCsv => {
                self.separated(&cells[..cells.len() / 2], b',', put_csv);
            }
            _ => {
                self.separated(&cells[..cells.len() / 2], b'\t', put_bcp);
            }
        }
        if self.format == SampleFormat::XdbJson {
            // In the middle of an ASCII run of the first columns, so that it is valid UTF-8.
            self.line.truncate(60);
        }
        self.end(folder)
    }

    /// Appends lines that are no rows.
    pub(crate) fn comments(&mut self, folder: &Path, lines: &str) -> Result<(), SampleError> {
        for line in lines.lines() {
            self.line.extend_from_slice(line.as_bytes());
            self.end(folder)?;
        }
        Ok(())
    }

    /// Appends a whole line.
    pub(crate) fn text(&mut self, folder: &Path, line: &[u8]) -> Result<(), SampleError> {
        self.line.extend_from_slice(line);
        self.rows += 1;
        self.end(folder)
    }

    pub(crate) fn finish(mut self, folder: &Path) -> Result<(u64, u64), SampleError> {
        self.out.flush().map_err(|source| SampleError { path: folder.to_owned(), source })?;
        Ok((self.rows, self.bytes))
    }

    fn end(&mut self, folder: &Path) -> Result<(), SampleError> {
        self.line.push(b'\n');
        self.bytes += self.line.len() as u64;
        let written = self.out.write_all(&self.line);
        self.line.clear();
        written.map_err(|source| SampleError { path: folder.to_owned(), source })
    }

    fn json(&mut self, cells: &[Cell<'_>]) {
        let out = &mut self.line;
        for (at, (name, cell)) in self.columns.iter().zip(cells).enumerate() {
            out.push(if at == 0 { b'{' } else { b',' });
            let _ = write!(out, "\"{name}\":");
            match cell {
                Cell::Null => out.extend_from_slice(b"null"),
                Cell::Text(text) => put_json_text(out, text),
                Cell::Json(json) => out.extend_from_slice(json),
                Cell::Int(number) => {
                    let _ = write!(out, "{number}");
                }
                Cell::Guid(guid) => {
                    out.push(b'"');
                    put_guid(out, *guid);
                    out.push(b'"');
                }
                Cell::Time(ms) => {
                    out.push(b'"');
                    put_xdb(out, *ms);
                    out.push(b'"');
                }
                // As `FOR JSON` writes `binary`: in base64.
                Cell::Byte(byte) => {
                    const SIX: &[u8; 64] =
                        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                    let digits =
                        [SIX[usize::from(byte >> 2)], SIX[usize::from(byte & 3) << 4], b'=', b'='];
                    out.push(b'"');
                    out.extend_from_slice(&digits);
                    out.push(b'"');
                }
            }
        }
        out.push(b'}');
    }

    fn separated(
        &mut self,
        cells: &[Cell<'_>],
        separator: u8,
        put: impl Fn(&mut Vec<u8>, &Cell<'_>),
    ) {
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                self.line.push(separator);
            }
            put(&mut self.line, cell);
        }
    }
}

/// Appends a GUID in lower case.
pub(crate) fn put_guid(out: &mut Vec<u8>, [high, low]: [u64; 2]) {
    let _ = write!(
        out,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    );
}

/// Appends a JSON string.
pub(crate) fn put_json_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..32 => {
                let _ = write!(out, "\\u{byte:04x}");
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

fn put_plain(out: &mut Vec<u8>, cell: &Cell<'_>) {
    match cell {
        Cell::Null => {}
        Cell::Text(text) => out.extend_from_slice(text.as_bytes()),
        Cell::Json(json) => out.extend_from_slice(json),
        Cell::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Cell::Guid(guid) => {
            let from = out.len();
            put_guid(out, *guid);
            // As the database's own tools write it.
            out[from..].make_ascii_uppercase();
        }
        Cell::Time(ms) => {
            put_date(out, *ms);
            out.push(b' ');
            put_clock(out, *ms);
            let _ = write!(out, ".{:03}0000", ms.rem_euclid(1000));
        }
        Cell::Byte(byte) => {
            let _ = write!(out, "{byte:02X}");
        }
    }
}

fn put_csv(out: &mut Vec<u8>, cell: &Cell<'_>) {
    let from = out.len();
    if matches!(cell, Cell::Byte(_)) {
        out.extend_from_slice(b"0x");
    }
    put_plain(out, cell);
    let quotes = matches!(cell, Cell::Text("") | Cell::Json(_))
        || out[from..].iter().any(|byte| b",\"\n\r".contains(byte));
    if quotes {
        let value = out.split_off(from);
        out.push(b'"');
        for byte in value {
            if byte == b'"' {
                out.push(b'"');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
}

/// `bcp` in character mode: nothing is quoted, no value is nothing, an empty text is a zero byte.
fn put_bcp(out: &mut Vec<u8>, cell: &Cell<'_>) {
    match cell {
        Cell::Text("") => out.push(0),
        cell => put_plain(out, cell),
    }
}
