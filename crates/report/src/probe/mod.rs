//! Answers of probes as text, JSON, tables and a page. What an answer says about its places is handed in.

mod disk;
mod json;
mod page;
mod tables;
mod text;

pub use disk::DiskDocument;
pub use json::ProbeDocument;
pub use page::probe_page;
pub use tables::{csv, markdown, quoted};
pub use text::{disturbance_facts, of_rounds, probe_text};
