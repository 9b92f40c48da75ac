//! JSON without a document: one pass over bytes, every value with its place in the text.
//!
//! Why not serde: an audit of stored values needs the bytes of every value at every path, and reads
//! text that is cut off, has a key twice or half of a surrogate pair. A deserialiser gives neither
//! positions nor what stands before the damage, and a second pass for them doubles the cost.
//!
//! `scan` finds where values end, `paths` walks a value and counts what stands at which path.
//! `leaves` gives the values of an object with their paths.

mod leaves;
mod paths;
mod scan;

pub(crate) use leaves::{Leaf, leaves};
pub(crate) use paths::{LONG, Paths, Seen, Totals, Walk};
pub(crate) use scan::{Problem, Scanner, decode};
