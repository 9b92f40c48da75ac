//! JSON without a document: one pass over bytes, every value with its place in the text.
//!
//! Why not serde: an audit of stored values needs the bytes of every value at every path, and reads
//! text that is cut off, has a key twice or half of a surrogate pair. A deserialiser gives neither
//! positions nor what stands before the damage, and a second pass for them doubles the cost.
//!
//! ```text
//! scan      where values end
//! escape    what strings say
//! label     keys that are known by one comparison
//! paths     what stands at which path, counted
//! walk      one value, path by path
//! leaves    the values of an object with their paths
//! ```

mod escape;
mod label;
mod leaves;
mod paths;
mod scan;
mod walk;

pub(crate) use escape::decode;
pub(crate) use label::Label;
pub(crate) use leaves::{Leaf, leaves};
pub(crate) use paths::{NO_ROLE, Paths, Role, Totals};
pub(crate) use scan::{Problem, Quoted, Scanner};
pub(crate) use walk::{LONG, Seen, Walk};
