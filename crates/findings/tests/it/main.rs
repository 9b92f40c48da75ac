//! What other crates and the documentation rely on.

mod docs;
