//! Reports and findings as text for people: one screen, readable without colour.

mod findings;
mod ratio;
mod report;

pub use findings::{Detail, finding_page, findings_text};
pub use ratio::{ComparedSides, compared};
pub use report::{ThreadList, report_text, summary_text};
