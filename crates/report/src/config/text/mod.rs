//! Configurations as text for people: one screen, readable without colour.

mod kept;
mod proof;
mod roles;
mod running;
mod show;

pub use kept::kept;
pub use proof::proof;
pub use roles::roles;
pub use running::{diff, drift};
pub(super) use running::{drift_column_remark, drift_letter};
pub use show::{explain, profiles, show, vars};
