//! The analytics store: visits, page views and stored values of a web site, in a form that answers
//! questions quickly.
//!
//! An [`import`](import()) reads exports of an analytics database or access logs and writes a *store*: a folder
//! of Parquet files whose tables are declared in [`schema`]. Questions read the [`Store`] only.

mod blacklist;
mod bloat;
mod cap;
pub mod clean;
mod cost;
mod diff;
mod digests;
mod error;
mod findings;
pub mod fold;
mod guards;
mod impact;
mod import;
mod json;
pub mod lists;
mod opened;
mod orphans;
mod questions;
pub mod robots;
mod rollups;
mod sample;
pub mod schema;
mod store;
mod time;
pub mod visits;

pub use blacklist::{BlacklistEntry, BlacklistReport, Leak, blacklist};
pub use bloat::{BloatReport, FacetSizes, JunkSum, LargeValue, PathSizes, Sizes, bloat};
pub use cap::{CapPoint, CapReport, cap};
pub use cost::Price;
pub use diff::{Days, DiffGroup, DiffReport, DiffSide, DiffTotals, diff};
pub use digests::{StoreDigests, digests};
pub use guards::{WriterGuard, writer_guards};
pub use impact::{ImpactDay, ImpactReport, ImpactSums, impact};
pub use opened::{AuditError, AuditStore, LeftOut, tables_of};
pub use orphans::{OrphanFacets, OrphanReport, orphans};
pub use questions::{questions, text};
mod values;

pub use error::Error;
pub use import::{
    CopyOptions, Counts, ImportOptions, ImportProgress, Imported, LATE_MS, LogField,
    RefreshOptions, Refreshed, SourceFormat, SourceRows, SqlServerDsn, Watermark, import,
    import_postgres, import_sqlserver, read_source, refresh,
};
pub use sample::{
    FacetTruth, FileTruth, PlaceDay, RobotTruth, SampleError, SampleFormat, SampleOptions, Truth,
    Visitor, write_sample,
};
pub use store::{Store, StoreFile};
