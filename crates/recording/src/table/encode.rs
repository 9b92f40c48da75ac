//! Columns to Parquet.

use std::sync::Arc;

use culprit_model::{Column, ColumnData, ColumnType, Table};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::disk::SCHEMA;
use crate::error::Error;
use crate::table::chunk::{Part, write_chunk};
use crate::table::decode::ROWS_PER_BYTE;
use crate::table::footer::footer_start;

/// Rows in a row group. Large, because everything is read at once: a group costs a dictionary and
/// a set of page headers a column.
const GROUP_ROWS: usize = 1 << 20;

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

impl Form {
    /// True when pages are compressed.
    pub(super) fn is_packed(self) -> bool {
        matches!(self, Self::Finished | Self::Part)
    }
}

/// The Parquet file of one table.
///
/// # Errors
/// When there are more rows than a handle can name, or the Parquet library refuses.
pub(crate) fn encode(table: &Table, columns: &[ColumnData], form: Form) -> Result<Vec<u8>, Error> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let failed = |why: String| Error::Encode { table: table.name, why };
    if u32::try_from(rows).is_err() {
        return Err(failed(format!("{rows} rows are more than a table can have")));
    }
    encode_columns(table, columns, rows, form).map_err(|e| failed(e.to_string()))
}

fn encode_columns(
    table: &Table,
    columns: &[ColumnData],
    rows: usize,
    form: Form,
) -> Result<Vec<u8>, ParquetError> {
    let properties = Arc::new(properties(table, form).build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema(table)?, properties)?;
    let descriptors = file.schema_descr().columns().to_vec();
    for from in (0..rows).step_by(GROUP_ROWS) {
        let mut group = file.next_row_group()?;
        for ((data, declared), column) in columns.iter().zip(table.columns).zip(&descriptors) {
            let (bytes, chunk) = write_chunk(&Part {
                column: column.clone(),
                data,
                nullable: declared.nullable,
                rows: from..rows.min(from + GROUP_ROWS),
                form,
            })?;
            group.append_column(&bytes, chunk)?;
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
    WriterProperties::builder()
        .set_created_by(concat!("culprit ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata((form == Form::Finished).then(|| describe(table)))
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
