//! Parquet's footer: which columns there are, and where their bytes stand.
//!
//! ```text
//! PAR1 [pages of column 0][pages of column 1]...  [footer][length of footer: 4][PAR1]
//! ```
//!
//! Source: apache/parquet-format, README.md and src/main/thrift/parquet.thrift.

use std::ops::Range;

use crate::table::thrift::{BINARY, I32, I64, LIST, Malformed, STRUCT, Thrift};

const MAGIC: &[u8; 4] = b"PAR1";

/// What a file says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Footer {
    /// How many rows there are.
    pub(crate) rows: i64,
    /// The columns in their order in each group.
    pub(crate) columns: Vec<FileColumn>,
    /// The row groups; each has one chunk a column.
    pub(crate) groups: Vec<Vec<Chunk>>,
}

/// A column of the schema.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct FileColumn {
    /// Its name.
    pub(crate) name: String,
    /// Its physical type, as Parquet numbers them; none for a group of columns.
    pub(crate) physical: Option<i32>,
    /// 0 required, 1 optional, 2 repeated.
    pub(crate) repetition: i32,
}

/// The bytes of one column in one row group.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The compression of its pages, as Parquet numbers them.
    pub(crate) codec: i32,
    data_start: i64,
    dictionary_start: Option<i64>,
    length: i64,
}

impl Chunk {
    /// Where its pages stand in the file; none when that is no range.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        // The dictionary's page, where there is one, comes first.
        let start = self.dictionary_start.unwrap_or(self.data_start);
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(self.length).ok()?)?;
        Some(start..end)
    }
}

/// Where the footer of a whole Parquet file begins; none when it is no such file.
pub(crate) fn footer_start(file: &[u8]) -> Option<usize> {
    let rest = file.strip_suffix(MAGIC).filter(|rest| rest.starts_with(MAGIC))?;
    let (rest, length) = rest.split_last_chunk::<4>()?;
    rest.len().checked_sub(u32::from_le_bytes(*length) as usize)
}

/// Reads the footer of a whole Parquet file.
pub(crate) fn parse_footer(file: &[u8]) -> Result<Footer, Malformed> {
    let start = footer_start(file).ok_or(Malformed)?;
    let mut thrift = Thrift(&file[start..]);
    let mut footer = Footer::default();
    let mut elements = Vec::new();
    thrift.fields(|thrift, id, ty| {
        match (id, ty) {
            (2, LIST) => elements = thrift.list(STRUCT, element)?,
            (3, I64) => footer.rows = thrift.signed()?,
            (4, LIST) => footer.groups = thrift.list(STRUCT, group)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    // The first element is the root; ours has no groups of columns below it.
    footer.columns = elements.into_iter().skip(1).collect();
    let flat = footer.columns.iter().all(|column| column.physical.is_some());
    let whole = footer.groups.iter().all(|chunks| chunks.len() == footer.columns.len());
    if flat && whole { Ok(footer) } else { Err(Malformed) }
}

fn element(thrift: &mut Thrift<'_>) -> Result<FileColumn, Malformed> {
    let mut column = FileColumn::default();
    thrift.fields(|thrift, id, ty| {
        match (id, ty) {
            (1, I32) => column.physical = Some(thrift.signed32()?),
            (3, I32) => column.repetition = thrift.signed32()?,
            (4, BINARY) => column.name = String::from_utf8_lossy(thrift.binary()?).into_owned(),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(column)
}

fn group(thrift: &mut Thrift<'_>) -> Result<Vec<Chunk>, Malformed> {
    let mut chunks = Vec::new();
    thrift.fields(|thrift, id, ty| {
        if (id, ty) != (1, LIST) {
            return Ok(false);
        }
        chunks = thrift.list(STRUCT, chunk)?;
        Ok(true)
    })?;
    Ok(chunks)
}

fn chunk(thrift: &mut Thrift<'_>) -> Result<Chunk, Malformed> {
    let mut chunk = Chunk::default();
    thrift.fields(|thrift, id, ty| {
        if (id, ty) != (3, STRUCT) {
            return Ok(false);
        }
        thrift.fields(|thrift, id, ty| {
            match (id, ty) {
                (4, I32) => chunk.codec = thrift.signed32()?,
                (7, I64) => chunk.length = thrift.signed()?,
                (9, I64) => chunk.data_start = thrift.signed()?,
                (11, I64) => chunk.dictionary_start = Some(thrift.signed()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(true)
    })?;
    Ok(chunk)
}
