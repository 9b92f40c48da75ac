//! The documents of configurations that other programs read. [`crate::json`] has the rules that hold for all.

mod kept;
mod observed;
mod proof;
mod roles;
mod running;
mod show;

pub use kept::KeptJson;
pub use observed::ObservedDocument;
pub use proof::ProofDocument;
pub use roles::ConfigRolesDocument;
pub use running::{ConfigDiffDocument, ConfigDriftDocument};
pub use show::{
    ConfigExplainDocument, ConfigProfilesDocument, ConfigShowDocument, ConfigVarsDocument,
    Explained,
};
