//! The JSON that other programs read, of everything but recordings: `culprit_report::json` has those, and the
//! rules that hold for all documents.

mod bench;
mod casebook;
mod config;
mod config_roles;
mod config_running;
mod disk;
mod error;
mod observed;
mod prove;
mod report_config;
mod why;

pub(crate) use bench::{BenchDocument, VerifyDocument};
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
pub(crate) use disk::DiskDocument;
pub(crate) use error::ErrorDocument;
pub(crate) use observed::ObservedDocument;
pub(crate) use prove::ProofDocument;
pub(crate) use report_config::KeptJson;
pub(crate) use why::WhyDocument;
