//! What other crates and the documentation rely on.

#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod docs;
mod words;
