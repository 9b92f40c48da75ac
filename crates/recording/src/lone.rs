//! A table as a Parquet file of its own, outside of a recording: stores of other data use the same
//! declarations, the same writer, and the reader that survives damaged bytes.

use culprit_model::{ColumnData, Row, Table};

use crate::error::Error;
#[cfg(not(target_family = "wasm"))]
use crate::table::{Form, encode};
use crate::table::{Unzstd, decode};

/// Rows as a Parquet file, without the documentation that the tables of recordings carry. The same
/// rows give the same bytes.
///
/// # Errors
/// [`Error::Encode`] for 2^32 rows or more.
#[cfg(not(target_family = "wasm"))]
pub fn rows_to_parquet<R: Row>(rows: &[R]) -> Result<Vec<u8>, Error> {
    encode(&R::TABLE, &R::columns(rows), Form::Part)
}

/// Rows as a larger Parquet file that takes less time to write, for what is read once and removed.
///
/// # Errors
/// As [`rows_to_parquet`].
#[cfg(not(target_family = "wasm"))]
pub fn rows_to_passing_parquet<R: Row>(rows: &[R]) -> Result<Vec<u8>, Error> {
    encode(&R::TABLE, &R::columns(rows), Form::Passing)
}

/// The columns of a table, in the declared order, from a Parquet file that [`rows_to_parquet`] has
/// written.
///
/// # Errors
/// [`Error::Decode`] when the bytes are damaged, or hold another table.
pub fn columns_from_parquet(table: &Table, bytes: &[u8]) -> Result<Vec<ColumnData>, Error> {
    decode(table.columns, bytes, &mut Unzstd::default())
        .map_err(|damage| Error::Decode { table: table.name, why: damage.to_string() })
}

/// The rows of [`columns_from_parquet`].
///
/// # Errors
/// [`Error::Decode`], also for a missing value where the table requires one.
pub fn rows_from_parquet<R: Row>(bytes: &[u8]) -> Result<Vec<R>, Error> {
    let columns = columns_from_parquet(&R::TABLE, bytes)?;
    R::rows(columns).map_err(|shape| Error::Decode { table: R::TABLE.name, why: shape.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::Mark;

    #[test]
    fn rows_come_back_and_damage_is_an_error() {
        let rows: Vec<Mark> = Vec::new();
        let mut bytes = rows_to_parquet(&rows).unwrap();
        assert_eq!(rows_from_parquet::<Mark>(&bytes).unwrap(), rows);
        bytes.truncate(bytes.len() / 2);
        let error = rows_from_parquet::<Mark>(&bytes).unwrap_err();
        assert_eq!(error.to_string(), "cannot decode the table `marks`: its bytes are malformed");
    }
}
