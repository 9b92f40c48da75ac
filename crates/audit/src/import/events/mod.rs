//! Exports of analytics tools: rows of events become visits.
//!
//! ```text
//! snowplow, ga4, matomo      one file a form of rows
//! hit                        one event, whatever wrote it
//! visits                     events of one session to visits
//! ```
//!
//! Events of a session may stand anywhere in the sources, so all are in memory until the last one is
//! read: about 130 bytes each.

mod ga4;
mod hit;
mod matomo;
mod snowplow;
mod table;
mod visits;

pub(crate) use ga4::read_ga4;
pub(crate) use hit::Hits;
pub(crate) use matomo::{MatomoJoin, MatomoTable, MatomoTables, read_matomo};
pub(crate) use snowplow::{COLUMNS as SNOWPLOW_COLUMNS, read_snowplow};
pub(crate) use table::{TableHeader, table_header};
pub(crate) use visits::HitVisits;
