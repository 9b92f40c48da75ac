//! The JSON that other programs read, of configurations and failures. `culprit_report` has that of recordings and
//! measurements, and the rules that hold for all documents.

mod config;
mod config_roles;
mod config_running;
mod error;
mod observed;
mod prove;
mod report_config;

pub(crate) use config::{
    ConfigExplainDocument, ConfigProfilesDocument, ConfigShowDocument, ConfigVarsDocument,
    Explained,
};
pub(crate) use config_roles::ConfigRolesDocument;
pub(crate) use config_running::{ConfigDiffDocument, ConfigDriftDocument};
pub(crate) use error::ErrorDocument;
pub(crate) use observed::ObservedDocument;
pub(crate) use prove::ProofDocument;
pub(crate) use report_config::KeptJson;
