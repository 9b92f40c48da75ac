//! Columns of a recording's tables as Arrow arrays.

use std::sync::Arc;

use culprit_model::{Column, ColumnData, ColumnType, Row, Table, Values};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray,
    StringViewBuilder, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, SchemaRef, UInt8Type, UInt16Type};
use datafusion::error::{DataFusionError, Result};

use crate::schema::{arrow_schema, data_type, fills_64_bits, has_id, is_address};

/// Rows of one batch: large enough that what a batch costs does not count, small enough that the
/// columns of one are nothing beside the table.
const BATCH: usize = 1 << 16;

/// Turns rows of one table into Arrow's batches. Words and the names of recordings are stored once
/// for all of them.
#[derive(Debug, Clone)]
pub(crate) struct Batches {
    table: Table,
    schema: SchemaRef,
    recordings: ArrayRef,
    /// The words of each column, for one that holds words.
    words: Vec<Option<ArrayRef>>,
}

impl Batches {
    /// For a table of recordings with these names.
    pub(crate) fn of(table: Table, recordings: ArrayRef) -> Self {
        let words = table.columns.iter().map(words).collect();
        Self { table, schema: arrow_schema(&table), recordings, words }
    }

    /// The table's schema.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// All rows of one recording.
    ///
    /// # Errors
    /// When a row is not of the table.
    pub(crate) fn all<R: Row>(&self, recording: u16, rows: &[R]) -> Result<Vec<RecordBatch>> {
        let chunks = rows.chunks(BATCH).zip((0..).step_by(BATCH));
        chunks.map(|(rows, first)| self.batch(recording, first, rows)).collect()
    }

    /// Some rows of one recording, the first of which is its row `first`.
    ///
    /// # Errors
    /// As [`Batches::all`].
    pub(crate) fn batch<R: Row>(
        &self,
        recording: u16,
        first: usize,
        rows: &[R],
    ) -> Result<RecordBatch> {
        let keys = UInt16Array::from_value(recording, rows.len());
        let names = DictionaryArray::<UInt16Type>::try_new(keys, self.recordings.clone())?;
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(names)];
        if has_id(&self.table) {
            let ids = (first..).take(rows.len()).map(|id| u32::try_from(id).unwrap_or(u32::MAX));
            arrays.push(Arc::new(UInt32Array::from_iter_values(ids)));
        }
        let declared = self.table.columns.iter().zip(&self.words);
        for ((column, words), data) in declared.zip(R::columns(rows)) {
            arrays.push(array(column, words.as_ref(), data)?);
        }
        Ok(RecordBatch::try_new(self.schema.clone(), arrays)?)
    }
}

/// The closed list of a column that holds words.
fn words(column: &Column) -> Option<ArrayRef> {
    match column.ty {
        ColumnType::Label(words) => Some(Arc::new(StringArray::from(words.to_vec()))),
        _ => None,
    }
}

/// What becomes of the numbers of a dataset that fill 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WideNumbers {
    /// Their bits count, as in engines that know only numbers with a sign.
    #[default]
    Bits,
    /// They have no sign.
    Unsigned,
}

/// A column of a dataset as an array of its stored type.
///
/// # Errors
/// When a cell holds no word of the column's list.
pub(crate) fn stored_array(
    column: &Column,
    data: ColumnData,
    wide: WideNumbers,
) -> Result<ArrayRef> {
    let unsigned = stored_type(column, wide) == DataType::UInt64;
    let values = match data.values {
        Values::U64(values) if unsigned => {
            let nulls = data.valid.map(NullBuffer::from).filter(|nulls| nulls.null_count() > 0);
            return Ok(Arc::new(UInt64Array::new(values.into(), nulls)));
        }
        Values::U64(values) => Values::I64(values.into_iter().map(u64::cast_signed).collect()),
        other => other,
    };
    array(column, words(column).as_ref(), ColumnData { values, ..data })
}

/// The type of a dataset's column in Arrow.
pub(crate) fn stored_type(column: &Column, wide: WideNumbers) -> DataType {
    match column.ty {
        ColumnType::U64 if wide == WideNumbers::Unsigned && fills_64_bits(column) => {
            DataType::UInt64
        }
        ColumnType::U64 => DataType::Int64,
        _ => data_type(column),
    }
}

/// A column as an array of the type that the schema gives it.
fn array(column: &Column, words: Option<&ArrayRef>, data: ColumnData) -> Result<ArrayRef> {
    let nulls = data.valid.map(NullBuffer::from).filter(|nulls| nulls.null_count() > 0);
    Ok(match data.values {
        Values::Bool(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
        Values::U32(values) => Arc::new(UInt32Array::new(values.into(), nulls)),
        Values::U64(values) if is_address(column) => {
            Arc::new(UInt64Array::new(values.into(), nulls))
        }
        Values::U64(values) => {
            // A damaged file may hold anything; 292 years are as good as for ever.
            let signed: Vec<i64> =
                values.into_iter().map(|value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
            Arc::new(Int64Array::new(signed.into(), nulls))
        }
        Values::I64(values) => Arc::new(Int64Array::new(values.into(), nulls)),
        Values::Text(values) => {
            let texts = StringViewBuilder::with_capacity(values.len());
            let mut texts = texts.with_deduplicate_strings();
            for (row, value) in values.iter().enumerate() {
                let valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                texts.append_option(valid.then_some(value.as_str()));
            }
            Arc::new(texts.finish())
        }
        Values::Label { codes, .. } => {
            let Some(words) = words else {
                return Err(DataFusionError::Internal(format!("{} holds no words", column.name)));
            };
            let keys = UInt8Array::new(codes.into(), nulls);
            Arc::new(DictionaryArray::<UInt8Type>::try_new(keys, words.clone())?)
        }
    })
}
