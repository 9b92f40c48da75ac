//! Tables of SQL that no file holds: what recordings say about themselves, and their stacks written
//! out. One file a table.

mod paths;
mod place_facts;
mod recordings;

pub(crate) use paths::{PathsOf, StackPath, stream};
pub(crate) use place_facts::{PlaceFact, facts};
pub(crate) use recordings::{RecordingRow, row};
