//! The analytics store: visits, page views and stored values of a web site, in a form that answers
//! questions quickly.
//!
//! An *import* reads exports of an analytics database or access logs and writes a *store*: a folder
//! of Parquet files whose tables are declared in [`schema`]. Questions read the store only.

mod sample;
pub mod schema;
mod time;

pub use sample::{
    FacetTruth, FileTruth, PlaceDay, RobotTruth, SampleError, SampleFormat, SampleOptions, Truth,
    Visitor, write_sample,
};
