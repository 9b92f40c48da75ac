//! Parquet to columns, from bytes that nobody vouches for.
//!
//! The `parquet` crate writes our tables, but does not read them: in version 59.3 its value
//! readers panic on some flipped bytes (an unset dictionary, a shift too far), and a footer that
//! announces 2^31 row groups makes it reserve room for them. What is read here are the encodings
//! that `chunk` chooses for our tables, and those of earlier versions, each bounded; that also halves the
//! time.

use std::io;

use culprit_model::{Column, ColumnData, ColumnType, Text, Values};
use rayon::prelude::*;
use thiserror::Error;

use crate::table::footer::{Chunk, FileColumn, Footer, parse_footer};
use crate::table::page::{Page, Pages, Unzstd};
use crate::table::thrift::Malformed;
use crate::table::values::{delta, hybrid};

/// Rows that a table may have for each byte of its file: runs could promise any number, and each
/// takes about 100 bytes of memory. Real tables of events need a byte a row or more, since their
/// times differ; the writer pads more regular ones until they fit.
pub(crate) const ROWS_PER_BYTE: usize = 8;

/// Bytes of a file from which on other threads help to read its columns: a thread costs some 50 us,
/// a mebibyte takes 5 ms.
const WORTH_SHARING: usize = 1 << 20;

/// Parquet's numbers of physical types.
const BOOLEAN: i32 = 0;
const INT32: i32 = 1;
const INT64: i32 = 2;
const BYTE_ARRAY: i32 = 6;

/// Parquet's numbers of encodings.
const PLAIN: i32 = 0;
const PLAIN_DICTIONARY: i32 = 2;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;

/// The code of a word that is in no list.
const UNKNOWN_WORD: u8 = u8::MAX;

/// Why a table cannot be read.
#[derive(Debug, Error)]
pub(crate) enum Damage {
    /// It breaks off, or its numbers contradict each other.
    #[error("its bytes are malformed")]
    Malformed,
    /// A column that may not be missing is.
    #[error("it has no column `{0}`")]
    NoColumn(&'static str),
    /// A column has another type.
    #[error("its column `{column}` has type {found} instead of {expected} (Parquet's numbers)")]
    Type {
        /// Which.
        column: &'static str,
        /// The type that the table declares.
        expected: i32,
        /// The type found.
        found: i32,
    },
    /// More rows than a file of that size holds.
    #[error("it claims {rows} rows in {bytes} bytes")]
    Rows {
        /// Claimed rows.
        rows: i64,
        /// Bytes of the Parquet file.
        bytes: usize,
    },
    /// A column has more or fewer rows than the table.
    #[error("its column `{column}` does not have {rows} rows")]
    Length {
        /// Which.
        column: &'static str,
        /// The table's rows.
        rows: usize,
    },
    /// A kind of page that our writer never makes.
    #[error("it has pages of kind {0} (Parquet's number)")]
    PageKind(i32),
    /// A page larger than any that our writer makes.
    #[error("it has a page of {0} bytes")]
    PageSize(usize),
    /// A compression that our writer never uses.
    #[error("it is compressed with codec {0} (Parquet's number)")]
    Codec(i32),
    /// An encoding that our writer never uses for that type.
    #[error("it has values in encoding {0} (Parquet's number)")]
    Encoding(i32),
    /// Decompression failed.
    #[error("cannot decompress a page: {0}")]
    Zstd(io::Error),
}

impl From<Malformed> for Damage {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// Reads columns of a table, in the order given, from a Parquet file's bytes.
///
/// Columns are found by name; others of the file are ignored, and a nullable one
/// that is not there is all missing. A cell whose word is unknown is marked as missing, also where
/// the table requires one: the caller decides what becomes of such rows.
///
/// Threads share the columns of a large file.
pub(crate) fn decode(
    columns: &[Column],
    file: &[u8],
    zstd: &mut Unzstd,
) -> Result<Vec<ColumnData>, Damage> {
    let footer = parse_footer(file)?;
    let rows = rows(&footer, file)?;
    let read = |at: usize, zstd: &mut Unzstd| read_column(file, &footer, &columns[at], rows, zstd);
    if file.len() < WORTH_SHARING {
        return (0..columns.len()).map(|at| read(at, zstd)).collect();
    }
    let each = (0..columns.len()).into_par_iter().with_max_len(1);
    each.map_init(Unzstd::default, |zstd, at| read(at, zstd)).collect()
}

/// How many rows a Parquet file's bytes hold.
pub(crate) fn count_rows(file: &[u8]) -> Result<usize, Damage> {
    rows(&parse_footer(file)?, file)
}

/// The rows that a footer claims, if a file of that size can hold them.
fn rows(footer: &Footer, file: &[u8]) -> Result<usize, Damage> {
    let allowed = file.len().saturating_mul(ROWS_PER_BYTE);
    u32::try_from(footer.rows)
        .ok()
        .and_then(|rows| usize::try_from(rows).ok())
        .filter(|rows| *rows <= allowed)
        .ok_or(Damage::Rows { rows: footer.rows, bytes: file.len() })
}

fn read_column(
    file: &[u8],
    footer: &Footer,
    column: &Column,
    rows: usize,
    zstd: &mut Unzstd,
) -> Result<ColumnData, Damage> {
    let Some(index) = footer.columns.iter().position(|c| c.name == column.name) else {
        return if column.nullable {
            Ok(missing(column.ty, rows))
        } else {
            Err(Damage::NoColumn(column.name))
        };
    };
    let mut chunks = Chunks { file, footer, index, column, rows, zstd };
    match column.ty {
        ColumnType::Bool => chunks.read(&Bools).map(|c| c.wrap(Values::Bool)),
        ColumnType::U32 => chunks.read(&Numbers32).map(|c| c.wrap(Values::U32)),
        ColumnType::U64 => chunks.read(&Numbers64(i64::cast_unsigned)).map(|c| c.wrap(Values::U64)),
        ColumnType::I64 => chunks.read(&Numbers64(|v| v)).map(|c| c.wrap(Values::I64)),
        ColumnType::Text => chunks.read(&Texts).map(|c| c.wrap(Values::Text)),
        ColumnType::Label(words) => {
            let mut cells = chunks.read(&Words(words))?;
            cells.lose_unknown_words();
            Ok(cells.wrap(|codes| Values::Label { codes, words }))
        }
    }
}

/// A column in which no row has a value.
pub(crate) fn missing(ty: ColumnType, rows: usize) -> ColumnData {
    let values = match ty {
        ColumnType::Bool => Values::Bool(vec![false; rows]),
        ColumnType::U32 => Values::U32(vec![0; rows]),
        ColumnType::U64 => Values::U64(vec![0; rows]),
        ColumnType::I64 => Values::I64(vec![0; rows]),
        ColumnType::Text => Values::Text(vec![Text::default(); rows]),
        ColumnType::Label(words) => Values::Label { codes: vec![0; rows], words },
    };
    ColumnData { values, valid: Some(vec![false; rows]) }
}

/// How values of one type stand in a page.
trait Physical {
    /// Parquet's number of the type.
    const TYPE: i32;
    /// What a value becomes.
    type Value: Clone + Default;

    /// Appends `count` plain values.
    fn plain(&self, bytes: &[u8], count: usize, out: &mut Vec<Self::Value>) -> Result<(), Damage>;

    /// Appends `count` values that are stored as differences.
    fn delta(&self, _: &[u8], _: usize, _: &mut Vec<Self::Value>) -> Result<(), Damage> {
        Err(Damage::Encoding(DELTA_BINARY_PACKED))
    }
}

struct Bools;
struct Numbers32;
struct Numbers64<F>(F);
struct Texts;
struct Words(&'static [&'static str]);

impl Physical for Bools {
    const TYPE: i32 = BOOLEAN;
    type Value = bool;

    fn plain(&self, bytes: &[u8], count: usize, out: &mut Vec<bool>) -> Result<(), Damage> {
        let bytes = bytes.get(..count.div_ceil(8)).ok_or(Damage::Malformed)?;
        out.extend((0..count).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1));
        Ok(())
    }
}

impl Physical for Numbers32 {
    const TYPE: i32 = INT32;
    type Value = u32;

    fn plain(&self, bytes: &[u8], count: usize, out: &mut Vec<u32>) -> Result<(), Damage> {
        let values = bytes.as_chunks::<4>().0.get(..count).ok_or(Damage::Malformed)?;
        out.extend(values.iter().map(|value| u32::from_le_bytes(*value)));
        Ok(())
    }
}

impl<T: Clone + Default, F: Fn(i64) -> T> Physical for Numbers64<F> {
    const TYPE: i32 = INT64;
    type Value = T;

    fn plain(&self, bytes: &[u8], count: usize, out: &mut Vec<T>) -> Result<(), Damage> {
        let values = bytes.as_chunks::<8>().0.get(..count).ok_or(Damage::Malformed)?;
        out.extend(values.iter().map(|value| (self.0)(i64::from_le_bytes(*value))));
        Ok(())
    }

    fn delta(&self, bytes: &[u8], count: usize, out: &mut Vec<T>) -> Result<(), Damage> {
        Ok(delta(bytes, count, |value| out.push((self.0)(value)))?)
    }
}

impl Physical for Texts {
    const TYPE: i32 = BYTE_ARRAY;
    type Value = Text;

    fn plain(&self, bytes: &[u8], count: usize, out: &mut Vec<Text>) -> Result<(), Damage> {
        each_text(bytes, count, |text| out.push(Text::from(&*String::from_utf8_lossy(text))))
    }
}

impl Physical for Words {
    const TYPE: i32 = BYTE_ARRAY;
    type Value = u8;

    fn plain(&self, bytes: &[u8], count: usize, out: &mut Vec<u8>) -> Result<(), Damage> {
        each_text(bytes, count, |text| {
            let at = self.0.iter().position(|word| word.as_bytes() == text);
            out.push(at.and_then(|at| u8::try_from(at).ok()).unwrap_or(UNKNOWN_WORD));
        })
    }
}

/// Takes `count` texts, each after its length.
fn each_text(bytes: &[u8], count: usize, mut take: impl FnMut(&[u8])) -> Result<(), Damage> {
    let mut rest = bytes;
    for _ in 0..count {
        let (length, tail) = rest.split_first_chunk::<4>().ok_or(Damage::Malformed)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (text, tail) = tail.split_at_checked(length).ok_or(Damage::Malformed)?;
        take(text);
        rest = tail;
    }
    Ok(())
}

/// One column of a file, about to be read.
struct Chunks<'a> {
    file: &'a [u8],
    footer: &'a Footer,
    index: usize,
    column: &'a Column,
    rows: usize,
    zstd: &'a mut Unzstd,
}

impl Chunks<'_> {
    fn read<P: Physical>(&mut self, physical: &P) -> Result<Cells<P::Value>, Damage> {
        let declared = &self.footer.columns[self.index];
        let cells = Cells::new(declared, self.rows);
        let found = declared.physical.unwrap_or_default();
        if found != P::TYPE || cells.is_none() {
            return Err(Damage::Type { column: self.column.name, expected: P::TYPE, found });
        }
        let mut cells = cells.ok_or(Damage::Malformed)?;
        for group in &self.footer.groups {
            self.read_chunk(physical, &group[self.index], &mut cells)?;
        }
        if cells.values.len() == self.rows { Ok(cells) } else { Err(self.wrong_length()) }
    }

    fn read_chunk<P: Physical>(
        &mut self,
        physical: &P,
        chunk: &Chunk,
        cells: &mut Cells<P::Value>,
    ) -> Result<(), Damage> {
        let range = chunk.range().ok_or(Damage::Malformed)?;
        let bytes = self.file.get(range).ok_or(Damage::Malformed)?;
        let wrong_length = self.wrong_length();
        let mut pages = Pages::new(bytes, chunk.codec, self.zstd)?;
        let mut dictionary = Vec::new();
        while let Some(page) = pages.next()? {
            if page.dictionary {
                // No dictionary has more values than the table has rows.
                if page.cells > self.rows - dictionary.len().min(self.rows) {
                    return Err(Damage::Malformed);
                }
                physical.plain(&page.bytes, page.cells, &mut dictionary)?;
            } else if page.cells > self.rows - cells.values.len() {
                return Err(wrong_length);
            } else {
                cells.read_page(physical, &page, &dictionary)?;
            }
        }
        Ok(())
    }

    fn wrong_length(&self) -> Damage {
        Damage::Length { column: self.column.name, rows: self.rows }
    }
}

/// The cells of a column that have been read so far.
struct Cells<T> {
    values: Vec<T>,
    /// Present for an optional column: which cells have a value.
    valid: Option<Vec<bool>>,
}

impl<T: Clone + Default> Cells<T> {
    /// No cells yet; none for a repeated column.
    fn new(declared: &FileColumn, rows: usize) -> Option<Self> {
        let valid = match declared.repetition {
            0 => None,
            1 => Some(Vec::with_capacity(rows)),
            _ => return None,
        };
        Some(Self { values: Vec::with_capacity(rows), valid })
    }

    fn wrap(self, wrap: impl FnOnce(Vec<T>) -> Values) -> ColumnData {
        ColumnData { values: wrap(self.values), valid: self.valid }
    }

    fn read_page<P: Physical<Value = T>>(
        &mut self,
        physical: &P,
        page: &Page<'_>,
        dictionary: &[T],
    ) -> Result<(), Damage> {
        let Some(valid) = &mut self.valid else {
            return read_values(
                physical,
                page,
                &page.bytes,
                page.cells,
                dictionary,
                &mut self.values,
            );
        };
        let (length, rest) = page.bytes.split_first_chunk::<4>().ok_or(Damage::Malformed)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (levels, body) = rest.split_at_checked(length).ok_or(Damage::Malformed)?;
        let from = valid.len();
        let mut present = 0;
        hybrid(levels, 1, page.cells, |level, run| {
            valid.extend(std::iter::repeat_n(level == 1, run));
            present += if level == 1 { run } else { 0 };
        })?;
        if present == page.cells {
            return read_values(physical, page, body, present, dictionary, &mut self.values);
        }
        let mut packed = Vec::with_capacity(present);
        read_values(physical, page, body, present, dictionary, &mut packed)?;
        let mut packed = packed.into_iter();
        let none = T::default();
        let cell = |ok: &bool| if *ok { packed.next() } else { None };
        self.values
            .extend(valid[from..].iter().map(cell).map(|c| c.unwrap_or_else(|| none.clone())));
        Ok(())
    }
}

impl Cells<u8> {
    /// Marks cells with a word that is in no list as missing.
    fn lose_unknown_words(&mut self) {
        for row in 0..self.values.len() {
            if self.values[row] == UNKNOWN_WORD {
                self.values[row] = 0;
                self.valid.get_or_insert_with(|| vec![true; self.values.len()])[row] = false;
            }
        }
    }
}

/// Appends the `count` values of a page, whatever their encoding.
fn read_values<P: Physical>(
    physical: &P,
    page: &Page<'_>,
    bytes: &[u8],
    count: usize,
    dictionary: &[P::Value],
    out: &mut Vec<P::Value>,
) -> Result<(), Damage> {
    match page.encoding {
        PLAIN => physical.plain(bytes, count, out),
        DELTA_BINARY_PACKED => physical.delta(bytes, count, out),
        RLE_DICTIONARY | PLAIN_DICTIONARY => {
            let (width, positions) = bytes.split_first().ok_or(Damage::Malformed)?;
            let mut outside = false;
            hybrid(positions, u32::from(*width), count, |position, run| {
                match dictionary.get(position as usize) {
                    Some(value) if run == 1 => out.push(value.clone()),
                    Some(value) => out.extend(std::iter::repeat_n(value.clone(), run)),
                    None => outside = true,
                }
            })?;
            if outside { Err(Damage::Malformed) } else { Ok(()) }
        }
        other => Err(Damage::Encoding(other)),
    }
}
