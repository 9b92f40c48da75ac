//! The tables of recordings as SQL: the only crate that knows DataFusion.
//!
//! A [`Store`] names recordings; a question is parsed, the tables that it names (through any
//! number of [`views()`]) are read from each recording, and the [`Answer`] comes row by row.
//!
//! ```text
//! question -> parsed, refused if it would change anything    question.rs
//!          -> the tables that it names                       question.rs, views.rs
//!          -> these tables of every recording, as Arrow      load.rs, columns.rs
//!          -> plan, rows                                     engine.rs
//!          -> values                                         answer.rs, value.rs
//! ```
//!
//! Tables are read with the recording's own bounded reader, not by DataFusion's: it is the one that
//! survives damaged files, checks every handle, and says what it left out. They are held in memory,
//! 42 bytes an interval, and count towards the limit that the caller sets; while one recording's
//! table is read, its rows are there too.
//!
//! A [`Dataset`] names tables in Parquet files that belong to no recording. Its questions may use the
//! disk, and take typed parameters ([`with_parameters`]).
//!
//! A dataset's questions can be put to a cluster instead: [`Dataset::on`], an Apache Spark over Spark
//! Connect. A slice of each answer is computed here as well.
//!
//! Schema, views and worked questions are declared here; docs/sql.md is generated from them.

mod answer;
mod columns;
mod dataset;
mod engine;
mod error;
mod files;
mod load;
mod near;
mod parameters;
mod question;
mod questions;
mod runtime;
mod schema;
mod sources;
mod spark;
mod store;
mod tables;
mod value;
mod views;

pub use answer::{Answer, AnswerColumn, Opened};
pub use dataset::{Dataset, Rows, TableFile, TableFiles};
pub use error::Error;
pub use near::near;
pub use parameters::{Parameter, with_parameters};
pub use questions::{Question, questions};
pub use runtime::Stop;
pub use schema::{SqlColumn, SqlTable, tables};
pub use sources::{Source, sources};
pub use spark::{Checked, Engine, SparkAddress};
pub use store::{Limits, Store};
pub use value::Value;
pub use views::{View, ViewColumn, documented, views};
