//! The JSON that other programs read, of recordings and what there is to say about them: the shapes of the
//! contract, one type each, with their conversions written out.
//!
//! Durations are whole ns and end in `_ns`, sizes end in `_bytes`, shares are 0 to 1, times count
//! ns from the recording's start. A change here is a breaking change and raises [`SCHEMA`].

mod activities;
mod compare;
mod diff;
mod evidence;
mod filter;
mod findings;
mod fleet;
mod missing;
mod page;
mod path;
mod phases;
mod report;
mod source;
mod timeline;
mod views;
mod wakers;

pub use activities::ActivitiesDocument;
pub use compare::{CompareDocument, FindingChangeJson};
pub use diff::DiffDocument;
pub use evidence::EvidenceDocument;
pub use filter::{FilterJson, PresetJson};
pub use findings::{Document as FindingsDocument, FindingJson, finding_document};
pub use fleet::FleetFindingsDocument;
pub use missing::{LeftOutJson, MissingJson, OfRecording, OfView};
pub use page::{FactsDocument, OverviewDocument};
pub use path::PathDocument;
pub use phases::PhasesDocument;
pub use report::ReportDocument;
pub use source::SourceDocument;
pub use timeline::{IntervalDocument, LaneJson};
pub use views::{ButterflyDocument, TopDocument, TreeDocument};
pub use wakers::WakersDocument;

/// The version of every JSON document.
pub const SCHEMA: u32 = 1;
