//! From raw addresses to frames with names.

pub(crate) mod modules;
pub(crate) mod resolve;
pub(crate) mod unnamed;
