//! One cell of an answer.

use datafusion::arrow::array::{Array, AsArray as _, StructArray};
use datafusion::arrow::datatypes::{
    DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// One cell of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A fraction.
    Float(f64),
    /// Text, and whatever has no form of its own here: dates, decimals, bytes.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// Named values.
    Record(Vec<(String, Self)>),
}

/// The values of one column.
///
/// # Errors
/// When a value has no text.
pub(crate) fn values(array: &dyn Array) -> Result<Vec<Value>, ArrowError> {
    let DataType::Dictionary(..) = array.data_type() else {
        return (0..array.len()).map(|row| value(array, row)).collect();
    };
    let words = array.as_any_dictionary();
    if words.values().is_empty() {
        return Ok(vec![Value::Null; array.len()]);
    }
    let (keys, words) = (words.normalized_keys(), values(words.values().as_ref())?);
    let word = |(row, key): (usize, &usize)| match words.get(*key) {
        Some(word) if array.is_valid(row) => word.clone(),
        _ => Value::Null,
    };
    Ok(keys.iter().enumerate().map(word).collect())
}

macro_rules! number {
    ($array:expr, $row:expr, $type:ty, $variant:ident) => {
        Value::$variant($array.as_primitive::<$type>().value($row).into())
    };
}

fn value(array: &dyn Array, row: usize) -> Result<Value, ArrowError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => number!(array, row, Int8Type, Int),
        DataType::Int16 => number!(array, row, Int16Type, Int),
        DataType::Int32 => number!(array, row, Int32Type, Int),
        DataType::Int64 => number!(array, row, Int64Type, Int),
        DataType::UInt8 => number!(array, row, UInt8Type, Unsigned),
        DataType::UInt16 => number!(array, row, UInt16Type, Unsigned),
        DataType::UInt32 => number!(array, row, UInt32Type, Unsigned),
        DataType::UInt64 => number!(array, row, UInt64Type, Unsigned),
        DataType::Float16 => Value::Float(array.as_primitive::<Float16Type>().value(row).to_f64()),
        DataType::Float32 => number!(array, row, Float32Type, Float),
        DataType::Float64 => number!(array, row, Float64Type, Float),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::List(_) => Value::List(values(&array.as_list::<i32>().value(row))?),
        DataType::LargeList(_) => Value::List(values(&array.as_list::<i64>().value(row))?),
        DataType::FixedSizeList(..) => Value::List(values(&array.as_fixed_size_list().value(row))?),
        DataType::Struct(_) => record(array.as_struct(), row)?,
        DataType::Dictionary(..) => {
            values(array.slice(row, 1).as_ref())?.pop().unwrap_or(Value::Null)
        }
        _ => {
            let options = FormatOptions::default();
            Value::Text(ArrayFormatter::try_new(array, &options)?.value(row).try_to_string()?)
        }
    })
}

fn record(array: &StructArray, row: usize) -> Result<Value, ArrowError> {
    let named = array.fields().iter().zip(array.columns());
    let values = named.map(|(field, column)| Ok((field.name().clone(), value(column, row)?)));
    Ok(Value::Record(values.collect::<Result<_, ArrowError>>()?))
}

/// The name of a type as SQL writes it.
pub(crate) fn type_name(ty: &DataType) -> String {
    match ty {
        DataType::Boolean => "boolean".to_owned(),
        DataType::Int64 => "bigint".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Dictionary(_, values) => type_name(values),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            format!("{}[]", type_name(field.data_type()))
        }
        DataType::Struct(_) => "record".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}
