//! Configurations as people and programs read them: what `culprit config` prints, and what a recording has kept.

pub mod html;
pub mod json;
mod kept;
pub mod text;

pub use kept::{StartVariable, by_origin, kept_by, start_variables};
