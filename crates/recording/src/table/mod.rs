//! One table as one Parquet file in memory: [`encode`] and [`decode`] are inverse.
//!
//! | column holds | Parquet type |
//! |---|---|
//! | `Bool` | `BOOLEAN` |
//! | `U32` | `INT32`, unsigned 32 |
//! | `U64` | `INT64`, unsigned 64 |
//! | `I64` | `INT64` |
//! | `Text`, `Label` | `BYTE_ARRAY`, string |
//!
//! A nullable column is `OPTIONAL`. The table's and its columns' meaning and unit stand in the
//! file's key-value metadata, so that a lone table still explains itself.

#[cfg(not(target_family = "wasm"))]
mod chunk;
mod decode;
#[cfg(not(target_family = "wasm"))]
mod encode;
mod footer;
#[cfg(not(target_family = "wasm"))]
mod packing;
mod page;
mod thrift;
mod values;

pub(crate) use decode::{count_rows, decode, missing};
#[cfg(not(target_family = "wasm"))]
pub(crate) use encode::{Form, encode};
pub(crate) use page::Unzstd;

#[cfg(test)]
mod tests;
