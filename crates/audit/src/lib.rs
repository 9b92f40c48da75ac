//! The analytics store: visits, page views and stored values of a web site, in a form that answers
//! questions quickly.
//!
//! An [`import`](import()) reads exports of an analytics database or access logs and writes a *store*: a folder
//! of Parquet files whose tables are declared in [`schema`]. Questions read the [`Store`] only.

mod error;
mod import;
mod json;
mod sample;
pub mod schema;
mod store;
mod time;
mod values;

pub use error::Error;
pub use import::{Counts, ImportOptions, ImportProgress, Imported, SourceFormat, import};
pub use sample::{
    FacetTruth, FileTruth, PlaceDay, RobotTruth, SampleError, SampleFormat, SampleOptions, Truth,
    Visitor, write_sample,
};
pub use store::{Store, StoreFile};
