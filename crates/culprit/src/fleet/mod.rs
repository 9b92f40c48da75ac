//! Folders of recordings as one: of many runs, machines, images, versions, days.
//!
//! ```text
//! FOLDER -> files, each read by itself    files.rs    what cannot be read is counted and named
//!        -> its group                     key.rs
//!        -> rows of one metric added up   sum.rs      culprit_engine::fleet
//!        -> a recording of sums, which every view shows
//!        -> or findings added up          findings.rs
//!        -> or tables in Parquet files    store.rs   for SQL and clusters
//! TABLES -> added up by SQL               tables.rs   here or on a cluster; then shown in the same way
//! ```
//!
//! One recording is in memory for each CPU, so a folder may be larger than the memory. The answer does
//! not depend on the number of CPUs.

mod files;
mod findings;
mod key;
mod store;
mod sum;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use files::readable;
pub(crate) use findings::find;
pub(crate) use key::{FleetKey, LABEL_FACT, fleet_key};
pub(crate) use store::{StoreCounts, write_store};
pub(crate) use sum::{add_up, without_selection};
pub(crate) use tables::{add_up_tables, find_in_tables, is_tables};
