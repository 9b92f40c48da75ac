//! Stacks and their views: filter, group, fold, and the trees that every view is read from.
//!
//! ```text
//! rows -> weights (one a distinct thread, stack, cause) -> paths of names -> CallTree
//!                                                            group, exclude,    |-> by_name, flame
//!                                                            fold, include      |-> callers, callees, ...
//! ```
//!
//! Rows are many and distinct stacks few: rows are added up first, patterns judge each name once,
//! and a tree is built from what is left. Values are 64-bit integers; nothing is rounded away.

mod builder;
mod by_name;
mod flame;
mod group;
mod names;
mod paths;
mod pattern;
mod query;
mod reshape;
mod tree;
mod weights;
mod when;

pub use by_name::{NameRow, by_name};
pub use flame::{FlameBox, flame};
pub use names::{NameId, Names};
pub use paths::STACK_LOST;
pub use pattern::{Pattern, Patterns, quoted};
pub use query::Query;
pub use reshape::{Butterfly, Neighbour};
pub use tree::{CallTree, Node, NodeId, Own, ROOT, Unmet};
pub use weights::{Weight, weights};
pub use when::{BUCKETS, When};

#[cfg(test)]
mod laws;
#[cfg(test)]
mod perfview;
#[cfg(test)]
mod tests;
