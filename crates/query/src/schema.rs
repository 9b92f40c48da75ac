//! The tables as SQL sees them: those of a recording, and three made from them.
//!
//! Every table gets the column `recording`; a table whose rows others point to by position gets
//! `id`, so that joins are on `(recording, id)`. Types differ from the file's in two ways: times,
//! lengths and counts are signed, so that differences may be negative, and words are stored once.

use std::collections::HashMap;
use std::sync::Arc;

use culprit_model::{Column, ColumnType, Row, TABLES, Table};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::tables::{PlaceFact, RecordingRow, StackPath};

/// The key of a column's unit in its metadata.
pub(crate) const UNIT: &str = "unit";
/// The column that every table has first.
pub(crate) const RECORDING: &str = "recording";
/// The column of tables that others point into.
pub(crate) const ID: &str = "id";

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlTable {
    /// Its name.
    pub name: &'static str,
    /// What one row is.
    pub doc: &'static str,
    /// Its columns in order.
    pub columns: Vec<SqlColumn>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL.
    pub ty: &'static str,
    /// True when a row may have no value.
    pub nullable: bool,
    /// Its unit, or the table that it is a row of.
    pub unit: String,
    /// Meaning.
    pub doc: String,
    /// The closed list of words that it holds, for a word.
    pub words: &'static [&'static str],
}

/// Every table, in the order in which they are documented.
#[must_use]
pub fn tables() -> Vec<SqlTable> {
    declared().iter().map(describe).collect()
}

/// The declarations behind [`tables`].
pub(crate) fn declared() -> Vec<Table> {
    let own = [RecordingRow::TABLE, PlaceFact::TABLE];
    own.into_iter().chain(TABLES).chain([StackPath::TABLE]).collect()
}

/// The declaration of a table.
pub(crate) fn table(name: &str) -> Option<Table> {
    declared().into_iter().find(|table| table.name == name)
}

/// True when rows of other tables name this table's rows by position.
pub(crate) fn has_id(table: &Table) -> bool {
    let unit = format!("row of {}", table.name);
    TABLES.iter().flat_map(|table| table.columns).any(|column| column.unit == unit)
}

fn describe(table: &Table) -> SqlTable {
    let recording = SqlColumn {
        name: RECORDING,
        ty: "text",
        nullable: false,
        unit: String::new(),
        doc: "The recording that the row is from.".to_owned(),
        words: &[],
    };
    let id = SqlColumn {
        name: ID,
        ty: "uint32",
        unit: format!("row of {}", table.name),
        doc: "The row's number in its recording. Other tables refer to it by this number."
            .to_owned(),
        ..recording.clone()
    };
    let mut columns = vec![recording];
    columns.extend(has_id(table).then_some(id));
    columns.extend(table.columns.iter().map(column));
    SqlTable { name: table.name, doc: table.doc, columns }
}

/// The columns of a table that belongs to no recording.
pub(crate) fn stored_columns(table: &Table) -> Vec<SqlColumn> {
    let stored = |stored: &Column| match fills_64_bits(stored) {
        true => SqlColumn { ty: "uint64", ..column(stored) },
        false => column(stored),
    };
    table.columns.iter().map(stored).collect()
}

/// Hashes and halves of GUIDs of datasets fill 64 bits: half of them are not below 2^63.
pub(crate) fn fills_64_bits(column: &Column) -> bool {
    const NAMES: [&str; 7] =
        ["guid_high", "guid_low", "token_high", "token_low", "hash", "network_hash", "digest"];
    column.ty == ColumnType::U64 && NAMES.contains(&column.name)
}

fn column(column: &Column) -> SqlColumn {
    let words = match column.ty {
        ColumnType::Label(words) => words,
        _ => &[],
    };
    SqlColumn {
        name: column.name,
        ty: match column.ty {
            ColumnType::Bool => "boolean",
            ColumnType::U32 => "uint32",
            ColumnType::U64 if is_address(column) => "uint64",
            ColumnType::U64 | ColumnType::I64 => "bigint",
            ColumnType::Text => "text",
            ColumnType::Label(_) => "word",
        },
        nullable: column.nullable,
        unit: column.unit.to_owned(),
        doc: column.doc.split_whitespace().collect::<Vec<_>>().join(" "),
        words,
    }
}

/// Addresses fill 64 bits; every other number is far below 2^63.
pub(crate) fn is_address(column: &Column) -> bool {
    column.name == "address"
}

/// The type of a column in Arrow.
pub(crate) fn data_type(column: &Column) -> DataType {
    match column.ty {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::U32 => DataType::UInt32,
        ColumnType::U64 if is_address(column) => DataType::UInt64,
        ColumnType::U64 | ColumnType::I64 => DataType::Int64,
        ColumnType::Text => DataType::Utf8View,
        ColumnType::Label(_) => word_type(),
    }
}

/// The type of words: a byte a row.
pub(crate) fn word_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8))
}

/// The type of `recording`: two bytes a row.
pub(crate) fn recording_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
}

/// The Arrow schema of a table.
pub(crate) fn arrow_schema(table: &Table) -> SchemaRef {
    let mut fields = vec![Field::new(RECORDING, recording_type(), false)];
    if has_id(table) {
        let unit = format!("row of {}", table.name);
        fields.push(with_unit(Field::new(ID, DataType::UInt32, false), &unit));
    }
    fields.extend(table.columns.iter().map(|column| {
        with_unit(Field::new(column.name, data_type(column), column.nullable), column.unit)
    }));
    Arc::new(Schema::new(fields))
}

fn with_unit(field: Field, unit: &str) -> Field {
    if unit.is_empty() {
        return field;
    }
    field.with_metadata(HashMap::from([(UNIT.to_owned(), unit.to_owned())]))
}
