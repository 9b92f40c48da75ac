//! Parquet to columns, from bytes that nobody vouches for.

use bytes::Bytes;
use culprit_model::{Column, ColumnData, ColumnType, Table, Text, Values};
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use rustc_hash::FxHashMap;
use thiserror::Error;

/// Rows that a table may have however small its file is.
const FREE_ROWS: u64 = 1 << 20;
/// Rows that a table may have for each byte of its file. Real tables of events need a byte a row
/// or more, since their times differ; a bomb of runs would promise thousands.
const ROWS_PER_BYTE: u64 = 16;

/// A table's columns, in the declared order.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// The columns. A cell whose word is unknown is marked as missing, also where the table
    /// requires one: [`crate::read`] decides what becomes of such rows.
    pub(crate) columns: Vec<ColumnData>,
}

/// Why a table cannot be read.
#[derive(Debug, Error)]
pub(crate) enum Damage {
    /// The Parquet library's word.
    #[error("{0}")]
    Parquet(#[from] ParquetError),
    /// A column that may not be missing is.
    #[error("it has no column `{0}`")]
    NoColumn(&'static str),
    /// A column has another type.
    #[error("its column `{column}` holds {found}")]
    Type {
        /// Which.
        column: &'static str,
        /// The Parquet type found.
        found: Physical,
    },
    /// More rows than a file of that size holds.
    #[error("it claims {rows} rows in {bytes} bytes")]
    Bomb {
        /// Claimed rows.
        rows: i64,
        /// Bytes of the Parquet file.
        bytes: usize,
    },
    /// A column has more or fewer rows than the table.
    #[error("its column `{column}` has {found} rows instead of {expected}")]
    Length {
        /// Which.
        column: &'static str,
        /// The table's rows.
        expected: usize,
        /// The column's.
        found: usize,
    },
}

/// Reads a table from the bytes of a Parquet file. Columns are found by name; ones that the table
/// does not declare are ignored, and a nullable one that is not there is all missing.
pub(crate) fn decode(table: &Table, bytes: Bytes) -> Result<Decoded, Damage> {
    let size = bytes.len();
    let file = SerializedFileReader::new(bytes)?;
    let claimed = file.metadata().file_metadata().num_rows();
    let allowed = (size as u64).saturating_mul(ROWS_PER_BYTE).max(FREE_ROWS).min(u32::MAX.into());
    let rows = u64::try_from(claimed)
        .ok()
        .filter(|rows| *rows <= allowed)
        .and_then(|rows| usize::try_from(rows).ok())
        .ok_or(Damage::Bomb { rows: claimed, bytes: size })?;
    let columns = table
        .columns
        .iter()
        .map(|column| read_column(&file, column, rows))
        .collect::<Result<_, _>>()?;
    Ok(Decoded { columns })
}

type File = SerializedFileReader<Bytes>;

fn read_column(file: &File, column: &Column, rows: usize) -> Result<ColumnData, Damage> {
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let Some(index) = schema.columns().iter().position(|c| c.path().string() == column.name) else {
        return if column.nullable {
            Ok(missing(column.ty, rows))
        } else {
            Err(Damage::NoColumn(column.name))
        };
    };
    let found = schema.column(index).physical_type();
    let wanted = match column.ty {
        ColumnType::Bool => Physical::BOOLEAN,
        ColumnType::U32 => Physical::INT32,
        ColumnType::U64 | ColumnType::I64 => Physical::INT64,
        ColumnType::Text | ColumnType::Label(_) => Physical::BYTE_ARRAY,
    };
    if found != wanted {
        return Err(Damage::Type { column: column.name, found });
    }
    let cells = Cells { file, index, column, rows };
    match column.ty {
        ColumnType::Bool => cells.read::<BoolType, _>(Values::Bool, |v| v),
        ColumnType::U32 => cells.read::<Int32Type, _>(Values::U32, i32::cast_unsigned),
        ColumnType::U64 => cells.read::<Int64Type, _>(Values::U64, i64::cast_unsigned),
        ColumnType::I64 => cells.read::<Int64Type, _>(Values::I64, |v| v),
        ColumnType::Text => {
            let mut texts = Interner::default();
            cells.read::<ByteArrayType, _>(Values::Text, |bytes| texts.text(&bytes))
        }
        ColumnType::Label(words) => cells.read_words(words),
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

/// One column of a file, about to be read.
struct Cells<'a> {
    file: &'a File,
    index: usize,
    column: &'a Column,
    rows: usize,
}

impl Cells<'_> {
    fn read<T: DataType, A: Default + Clone>(
        &self,
        wrap: impl FnOnce(Vec<A>) -> Values,
        mut convert: impl FnMut(T::T) -> A,
    ) -> Result<ColumnData, Damage> {
        let mut values = Vec::with_capacity(self.rows);
        let mut valid: Option<Vec<bool>> = None;
        for group in 0..self.file.num_row_groups() {
            let (packed, levels) = self.read_group::<T>(group)?;
            let mut packed = packed.into_iter().map(&mut convert);
            match levels {
                None => values.extend(packed),
                Some(levels) => {
                    let valid = valid.get_or_insert_with(|| Vec::with_capacity(self.rows));
                    valid.extend(levels.iter().map(|level| *level == 1));
                    values.extend(levels.iter().map(|level| {
                        if *level == 1 { packed.next().unwrap_or_default() } else { A::default() }
                    }));
                }
            }
        }
        let found = values.len();
        if found != self.rows || valid.as_ref().is_some_and(|v| v.len() != found) {
            return Err(Damage::Length { column: self.column.name, expected: self.rows, found });
        }
        Ok(ColumnData { values: wrap(values), valid })
    }

    /// The values that exist in one row group and, for an optional column, a level a row.
    fn read_group<T: DataType>(
        &self,
        group: usize,
    ) -> Result<(Vec<T::T>, Option<Vec<i16>>), Damage> {
        let reader = self.file.get_row_group(group)?;
        let optional = reader.metadata().column(self.index).column_descr().max_def_level() > 0;
        let mut reader: ColumnReaderImpl<T> =
            get_typed_column_reader(reader.get_column_reader(self.index)?);
        let mut values = Vec::new();
        let mut levels = optional.then(Vec::new);
        while reader
            .read_records(
                self.rows + 1 - values.len().min(self.rows),
                levels.as_mut(),
                None,
                &mut values,
            )?
            .0
            > 0
        {}
        Ok((values, levels))
    }

    fn read_words(&self, words: &'static [&'static str]) -> Result<ColumnData, Damage> {
        const UNKNOWN: u8 = u8::MAX;
        let mut codes = Interner::default();
        let wrap = |codes| Values::Label { codes, words };
        let mut column = self.read::<ByteArrayType, u8>(wrap, |bytes| {
            codes.code(&bytes, words).unwrap_or(UNKNOWN)
        })?;
        if let Values::Label { codes, .. } = &mut column.values {
            for row in 0..codes.len() {
                if codes[row] == UNKNOWN {
                    codes[row] = 0;
                    column.valid.get_or_insert_with(|| vec![true; self.rows])[row] = false;
                }
            }
        }
        Ok(column)
    }
}

/// Converts each distinct value once.
#[derive(Default)]
struct Interner<T> {
    seen: FxHashMap<Bytes, T>,
}

impl Interner<Text> {
    fn text(&mut self, bytes: &ByteArray) -> Text {
        if let Some(text) = self.seen.get(bytes.data()) {
            return text.clone();
        }
        let text = Text::from(&*String::from_utf8_lossy(bytes.data()));
        self.seen.insert(Bytes::copy_from_slice(bytes.data()), text.clone());
        text
    }
}

impl Interner<Option<u8>> {
    fn code(&mut self, bytes: &ByteArray, words: &[&str]) -> Option<u8> {
        if let Some(code) = self.seen.get(bytes.data()) {
            return *code;
        }
        let at = words.iter().position(|word| word.as_bytes() == bytes.data());
        let code = at.and_then(|at| u8::try_from(at).ok());
        self.seen.insert(Bytes::copy_from_slice(bytes.data()), code);
        code
    }
}
