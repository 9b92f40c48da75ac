//! Columns to Parquet.

use std::sync::Arc;

use bytes::Bytes;
use culprit_model::{Column, ColumnData, ColumnType, Table, Text, Values};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use crate::disk::SCHEMA;
use crate::error::Error;
use crate::table::decode::ROWS_PER_BYTE;
use crate::table::footer::footer_start;

/// Rows in a row group. Large, because everything is read at once: a group costs a dictionary and
/// a set of page headers a column.
const GROUP_ROWS: usize = 1 << 20;
/// Bytes in a page before compression. Half and double measured the same within 3 %.
const PAGE_BYTES: usize = 1 << 20;
/// Values that go to the encoder at a time.
const BATCH_ROWS: usize = 1 << 14;

/// What a table is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Finished files: other programs read them, so the table carries its documentation.
    Finished,
    /// Parts of a spool: small, and only read here.
    Part,
    /// Files that are compressed together: pages are left as they are.
    Unpacked,
    /// Files that are read once and removed: nothing is computed that only makes them smaller.
    Passing,
}

/// The Parquet file of one table.
///
/// # Errors
/// When there are more rows than a handle can name, or the Parquet library refuses.
pub(crate) fn encode(
    table: &Table,
    columns: Vec<ColumnData>,
    form: Form,
) -> Result<Vec<u8>, Error> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let failed = |why: String| Error::Encode { table: table.name, why };
    if u32::try_from(rows).is_err() {
        return Err(failed(format!("{rows} rows are more than a table can have")));
    }
    encode_columns(table, columns, rows, form).map_err(|e| failed(e.to_string()))
}

fn encode_columns(
    table: &Table,
    columns: Vec<ColumnData>,
    rows: usize,
    form: Form,
) -> Result<Vec<u8>, ParquetError> {
    let cells: Vec<Cells> =
        columns.into_iter().zip(table.columns).map(|(c, d)| Cells::new(c, d.nullable)).collect();
    let properties = Arc::new(properties(table, form).build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema(table)?, properties)?;
    let mut cursors = vec![0; cells.len()];
    for from in (0..rows).step_by(GROUP_ROWS) {
        let to = rows.min(from + GROUP_ROWS);
        let mut group = file.next_row_group()?;
        for (cells, cursor) in cells.iter().zip(&mut cursors) {
            let Some(mut writer) = group.next_column()? else { break };
            *cursor += cells.write(&mut writer, from..to, *cursor)?;
            writer.close()?;
        }
        group.close()?;
    }
    Ok(pad(file.into_inner()?, rows))
}

/// Makes the file of a very regular table long enough for the reader's bound on rows a byte. The
/// zeros stand between pages and footer, where no reader looks: offsets count from the front, and
/// the footer is found from the end.
fn pad(mut file: Vec<u8>, rows: usize) -> Vec<u8> {
    let missing = rows.div_ceil(ROWS_PER_BYTE).saturating_sub(file.len());
    let footer = footer_start(&file);
    if let Some(at) = footer.filter(|_| missing > 0) {
        file.splice(at..at, std::iter::repeat_n(0, missing));
    }
    file
}

fn schema(table: &Table) -> Result<TypePtr, ParquetError> {
    let fields = table.columns.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder(table.name).with_fields(fields).build().map(Arc::new)
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let unsigned = |bits| Some(LogicalType::integer(bits, false));
    let (physical, logical) = match column.ty {
        ColumnType::Bool => (Physical::BOOLEAN, None),
        ColumnType::U32 => (Physical::INT32, unsigned(32)),
        ColumnType::U64 => (Physical::INT64, unsigned(64)),
        ColumnType::I64 => (Physical::INT64, None),
        ColumnType::Text | ColumnType::Label(_) => {
            (Physical::BYTE_ARRAY, Some(LogicalType::String))
        }
    };
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
        .map(Arc::new)
}

fn properties(table: &Table, form: Form) -> WriterPropertiesBuilder {
    let compression = match form {
        Form::Unpacked | Form::Passing => Compression::UNCOMPRESSED,
        Form::Finished | Form::Part => Compression::ZSTD(ZstdLevel::default()),
    };
    let mut properties = WriterProperties::builder()
        .set_compression(compression)
        .set_created_by(concat!("culprit ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(BATCH_ROWS)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_offset_index_disabled(true)
        .set_statistics_enabled(match form {
            Form::Passing => EnabledStatistics::None,
            _ => EnabledStatistics::Chunk,
        })
        .set_key_value_metadata((form == Form::Finished).then(|| describe(table)));
    for column in table.columns {
        // Times and lengths hardly repeat: a dictionary of them costs a hash a value and is then
        // thrown away. Differences of times in order are small.
        if matches!(column.ty, ColumnType::U64 | ColumnType::I64) {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        } else if form == Form::Passing && column.ty == ColumnType::U32 {
            properties = properties.set_column_dictionary_enabled(column.name.into(), false);
        }
    }
    properties
}

/// What the table and its columns mean, for readers that show key-value metadata.
fn describe(table: &Table) -> Vec<KeyValue> {
    let mut pairs = vec![
        KeyValue::new("culprit.schema".to_owned(), SCHEMA.to_string()),
        KeyValue::new("culprit.table".to_owned(), one_line(table.doc)),
    ];
    for column in table.columns {
        let key = |what| format!("culprit.{what}.{}", column.name);
        pairs.push(KeyValue::new(key("doc"), one_line(column.doc)));
        if !column.unit.is_empty() {
            pairs.push(KeyValue::new(key("unit"), column.unit.to_owned()));
        }
    }
    pairs
}

/// A doc comment as one paragraph.
fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One column in the shape that Parquet's writer takes: values that exist, and a level a row.
struct Cells {
    packed: Packed,
    /// 1 where there is a value; absent when the column is not nullable.
    levels: Option<Vec<i16>>,
}

enum Packed {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Text(Vec<ByteArray>),
}

impl Cells {
    fn new(column: ColumnData, nullable: bool) -> Self {
        let rows = column.values.len();
        let valid = column.valid.as_deref().filter(|_| nullable);
        let packed = match column.values {
            Values::Bool(values) => Packed::Bool(existing(values, valid, |v| v)),
            Values::U32(values) => Packed::I32(existing(values, valid, u32::cast_signed)),
            Values::U64(values) => Packed::I64(existing(values, valid, u64::cast_signed)),
            Values::I64(values) => Packed::I64(existing(values, valid, |v| v)),
            Values::Text(values) => Packed::Text(existing(values, valid, |v: Text| {
                ByteArray::from(v.as_bytes().to_vec())
            })),
            Values::Label { codes, words } => {
                let words: Vec<ByteArray> = words
                    .iter()
                    .map(|word| ByteArray::from(Bytes::from_static(word.as_bytes())))
                    .collect();
                Packed::Text(existing(codes, valid, |code| words[usize::from(code)].clone()))
            }
        };
        let levels = nullable.then(|| match valid {
            None => vec![1; rows],
            Some(valid) => valid.iter().map(|ok| i16::from(*ok)).collect(),
        });
        Self { packed, levels }
    }

    /// Writes the rows of `range`; the first value of theirs is the one at `cursor`. How many
    /// values there were.
    fn write(
        &self,
        writer: &mut SerializedColumnWriter<'_>,
        range: std::ops::Range<usize>,
        cursor: usize,
    ) -> Result<usize, ParquetError> {
        let levels = self.levels.as_ref().map(|levels| &levels[range.clone()]);
        let count = levels.map_or(range.len(), |l| l.iter().filter(|level| **level == 1).count());
        let values = cursor..cursor + count;
        match &self.packed {
            Packed::Bool(all) => put::<BoolType>(writer, &all[values], levels),
            Packed::I32(all) => put::<Int32Type>(writer, &all[values], levels),
            Packed::I64(all) => put::<Int64Type>(writer, &all[values], levels),
            Packed::Text(all) => put::<ByteArrayType>(writer, &all[values], levels),
        }
    }
}

fn put<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<usize, ParquetError> {
    writer.typed::<T>().write_batch(values, levels, None)
}

/// The values of rows that have one, converted.
fn existing<A, B>(values: Vec<A>, valid: Option<&[bool]>, convert: impl Fn(A) -> B) -> Vec<B> {
    match valid {
        None => values.into_iter().map(convert).collect(),
        Some(valid) => values
            .into_iter()
            .zip(valid)
            .filter(|(_, ok)| **ok)
            .map(|(value, _)| convert(value))
            .collect(),
    }
}
