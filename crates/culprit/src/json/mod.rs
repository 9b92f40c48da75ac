//! The JSON that other programs read: the shapes of the contract, one type each, with their
//! conversions written out.
//!
//! Durations are whole ns and end in `_ns`, sizes end in `_bytes`, shares are 0 to 1, times count
//! ns from the recording's start. A change here is a breaking change and raises [`SCHEMA`].

mod activities;
mod bench;
mod bench_compare;
mod casebook;
mod config;
mod config_roles;
mod config_running;
mod diff;
mod disk;
mod error;
mod findings;
mod fleet;
mod missing;
mod observed;
mod path;
mod phases;
mod probe;
mod prove;
mod report;
mod report_config;
mod views;
mod wakers;
mod why;

pub(crate) use activities::ActivitiesDocument;
pub(crate) use bench::{BenchDocument, VerifyDocument};
pub(crate) use bench_compare::BenchCompareDocument;
pub(crate) use casebook::{
    CaseJson, ListDocument as CasesDocument, RunDocument as CaseRunDocument,
    ShowDocument as CaseDocument,
};
pub(crate) use config::{
    ConfigExplainDocument, ConfigProfilesDocument, ConfigShowDocument, ConfigVarsDocument,
    Explained,
};
pub(crate) use config_roles::ConfigRolesDocument;
pub(crate) use config_running::{ConfigDiffDocument, ConfigDriftDocument};
pub(crate) use diff::DiffDocument;
pub(crate) use disk::DiskDocument;
pub(crate) use error::ErrorDocument;
pub(crate) use findings::{Document as FindingsDocument, FindingJson, finding_document};
pub(crate) use fleet::FleetFindingsDocument;
pub(crate) use missing::{LeftOutJson, MissingJson, OfRecording, OfView};
pub(crate) use observed::ObservedDocument;
pub(crate) use path::PathDocument;
pub(crate) use phases::PhasesDocument;
pub(crate) use probe::ProbeDocument;
pub(crate) use prove::ProofDocument;
pub(crate) use report::ReportDocument;
pub(crate) use views::{ButterflyDocument, TopDocument, TreeDocument};
pub(crate) use wakers::WakersDocument;
pub(crate) use why::WhyDocument;

/// The version of every JSON document.
pub(crate) const SCHEMA: u32 = 1;
