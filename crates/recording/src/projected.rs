//! A table that stands alone in a Parquet file, outside of any recording.

use culprit_model::{Column, ColumnData};

use crate::table::{Unzstd, count_rows, decode};

/// Columns of a lone table.
#[derive(Debug)]
pub struct LoneColumns {
    /// How many rows the table has.
    pub rows: usize,
    /// One entry a column that was asked for, in that order.
    pub columns: Vec<ColumnData>,
}

/// Reads some columns of a table from the bytes of a Parquet file that this program wrote. They are
/// found by name; a nullable one that is not there has no values.
///
/// The bytes are not trusted: each length in them is checked before it is used.
///
/// # Errors
/// When the bytes are damaged, or a column is missing or has another type; the text says which.
pub fn read_columns(columns: &[Column], file: &[u8]) -> Result<LoneColumns, String> {
    let rows = count_rows(file).map_err(|damage| damage.to_string())?;
    let columns = decode(columns, file, &mut Unzstd::default());
    Ok(LoneColumns { rows, columns: columns.map_err(|damage| damage.to_string())? })
}
