//! Settings that are Python: what of it can be known without running it.
//!
//! Literals, names that hold literals, and variables of the environment with their defaults have a value.
//! All else is unknown, and is never guessed.

mod class;
mod classes;
mod dotenv;
mod expression;
mod import;
mod module;
mod more;
mod options;
mod paths;
mod setting;
mod token_lists;
mod tokens;
mod values;

pub(crate) use classes::collect as collect_classes;
pub(crate) use module::collect as collect_module;
pub(crate) use paths::normal as normal_path;
pub(crate) use setting::{NO_VARIABLE, TEXT_IS_TRUE};
pub(crate) use values::REFUSED;
