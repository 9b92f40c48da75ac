//! The analytics store: visits, page views and stored values of a web site, in a form that answers
//! questions quickly.
//!
//! An *import* reads exports of an analytics database or access logs and writes a *store*: a folder
//! of Parquet files whose tables are declared in [`schema`]. Questions read the store only.

pub mod fold;
pub mod lists;
mod questions;
pub mod robots;
pub mod schema;
mod store;
pub mod visits;

pub use questions::{questions, text};
pub use store::{AuditError, AuditStore, tables_of};
