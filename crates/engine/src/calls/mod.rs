//! Stacks and their views: filter, group, fold, and the trees that every view is read from.
//!
//! ```text
//! recording -> Index (prefix tree of names, rows as numbers) -> CallTree
//!                     group, exclude, fold, include              |-> by_name, flame
//!                     once a name, then once a node              |-> callers, callees, ...
//! ```
//!
//! Rows are many and distinct stacks few: the [`Index`] is made once and asked often, see there.
//! Values are 64-bit integers; nothing is rounded away.

mod activity;
mod builder;
mod by_name;
mod diff;
mod flame;
mod group;
mod index;
mod layout;
mod names;
mod node;
mod pattern;
mod presets;
mod query;
mod reshape;
mod rows;
mod select;
mod shape;
mod source;
mod tree;
mod trie;
mod when;

pub use by_name::{NameRow, by_name};
pub use diff::{
    Amount, Change, Diff, DiffBox, DiffNode, Overweight, Side, changes, inclusive,
    when_of_difference,
};
pub use flame::{FlameBox, flame};
pub use index::{Index, RowKind, STACK_LOST};
pub use names::{NameId, Names};
pub use node::{Node, NodeId, Own, ROOT};
pub use pattern::{Pattern, Patterns, quoted};
pub use presets::{MY_APP, Preset, my_app, stock_presets};
pub use query::Query;
pub use reshape::{Butterfly, Neighbour};
pub use select::select;
pub use source::{LineValue, Lines};
pub use tree::{CallTree, Unmet};
pub use when::{BUCKETS, When};

#[cfg(test)]
mod laws;
#[cfg(test)]
mod perfview;
#[cfg(test)]
mod tests;
